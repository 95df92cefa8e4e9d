/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug */
/* performance/open-behind: reports while opens are sent. */
#include "posix_world.h"

#define OPENS 300
#define OVER_POSIX "end-volume\nvolume ob\ntype performance/open-behind\nsubvolumes posix\n"

static int
reported (const struct world *w, const char *key)
{
    g_autoptr (GString) out = g_string_new ("\n");
    g_autofree char *line = g_strdup_printf ("\n%s=", key);
    const char *at;

    w->graph->top->api->dumpops.priv (w->graph->top, out);
    at = strstr (out->str, line);
    ck_assert_ptr_nonnull (at);
    return atoi (at + strlen (line));
}

struct opener {
    struct world *w;
    inode_t *inode;
    bool done; /* atomic */
};

/* Opens the file again and again. Each open is answered early, and sent with the read. */
static gpointer
open_and_read (gpointer data)
{
    struct opener *opener = data;
    struct client *client = client_new (opener->w->graph->top);
    loc_t loc = { .inode = opener->inode };

    for (int i = 0; i < OPENS; i++) {
        g_autoptr (fd_t) fd = fd_new (&opener->w->graph->fd_maker, opener->inode, O_RDONLY, 1);
        struct readv_reply reply;

        ck_assert_int_eq (sync_open (client, &loc, O_RDONLY, fd, NULL, NULL), 0);
        ck_assert_int_eq (sync_readv (client, fd, 10, 0, 0, NULL, &reply), 4);
        readv_reply_drop (&reply);
    }
    client_free (client);
    __atomic_store_n (&opener->done, true, __ATOMIC_RELEASE);
    return NULL;
}

START_TEST (reports_count_opens_while_they_are_sent)
{
    struct world w = posix_world_begin (OVER_POSIX);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    struct opener opener = { &w, fd->inode, false };
    GThread *thread;

    world_write (&w, fd, "text", 0);
    inode_unref (posix_world_look (&w, w.root, "f"));
    thread = g_thread_new ("opens", open_and_read, &opener);
    while (!__atomic_load_n (&opener.done, __ATOMIC_ACQUIRE))
        ck_assert_int_le (reported (&w, "on_their_way"), 1);
    g_thread_join (thread);
    ck_assert_int_eq (reported (&w, "sent"), OPENS);
    ck_assert_int_eq (reported (&w, "on_their_way"), 0);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

TEST_PROGRAM (test_open_behind)
{
    Suite *suite = suite_create ("open-behind");
    TCase *tcase = tcase_create ("open-behind");

    tcase_set_timeout (tcase, 240);
    tcase_add_test (tcase, reports_count_opens_while_they_are_sent);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
