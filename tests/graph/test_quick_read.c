/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug */
/* performance/quick-read above performance/open-behind: which reads are answered from memory, for
 * which callers, and how long. */
#include "posix_world.h"

#define STACK(options)                                                                             \
    "end-volume\nvolume ob\ntype performance/open-behind\nsubvolumes posix\nend-volume\n"          \
    "volume qr\ntype performance/quick-read\noption content-with-lookup on\n" options              \
    "subvolumes ob\n"
#define STACK_OF_READS \
    "end-volume\nvolume qr\ntype performance/quick-read\nsubvolumes posix\n"
#define STACK_LATE                                                                                 \
    "end-volume\nvolume late\ntype test/errno\nsubvolumes posix\nend-volume\n"                    \
    "volume qr\ntype performance/quick-read\noption cache-timeout 600\nsubvolumes late\n"
#define SOMEBODY 65534

static int
qr_number (struct world *w, xlator_t *xl, const char *key)
{
    g_autoptr (GString) out = g_string_new ("\n");
    g_autofree char *line = g_strdup_printf ("\n%s=", key);
    const char *at;

    xl->api->dumpops.priv (xl, out);
    at = strstr (out->str, line);
    ck_assert_msg (at != NULL, "%s isn't told", key);
    return atoi (at + strlen (line));
}

static int
counted (struct world *w, const char *key)
{
    return qr_number (w, w->graph->top, key);
}

static int
sent (struct world *w)
{
    return qr_number (w, FIRST_CHILD (w->graph->top), "sent")
         + qr_number (w, FIRST_CHILD (w->graph->top), "passed_through");
}

/* Creates a file behind the mount, and waits, so that its times differ from all later ones. */
static void
put_old (struct world *w, const char *name, const char *text, mode_t mode)
{
    g_autofree char *path = world_path (w, name);

    ck_assert (g_file_set_contents (path, text, -1, NULL));
    ck_assert_int_eq (chmod (path, mode), 0);
    g_usleep (60000);
}

static void
expect_cat (struct world *w, inode_t *inode, const char *text)
{
    fd_t *fd = world_open (w, inode, O_RDONLY);
    g_autofree char *got = NULL;

    ck_assert_int_eq (w->r, 0);
    got = world_read (w, fd, 100000, 0);
    ck_assert_str_eq (got, text);
    fd_unref (fd);
}

/* --- served ----------------------------------------------------------------------------------- */

static const size_t qr_sizes[] = { 0, 1, 100, 4096, 4097, 65536 };

START_TEST (any_part_of_a_file_is_as_in_storage)
{
    g_auto (world) w = posix_world_begin (STACK (""));
    const size_t size = qr_sizes[_i];
    g_autofree char *text = g_malloc0 (size + 1);
    const off_t offsets[] = {
        0, 1, (off_t) size / 2, (off_t) size - 1, (off_t) size, (off_t) size + 1, 1 << 20
    };
    g_autoptr (inode_t) inode = NULL;
    fd_t *fd;

    for (size_t i = 0; i < size; i++)
        text[i] = (char) ('a' + i % 23);
    put_old (&w, "f", text, 0644);
    inode = posix_world_look (&w, w.root, "f");
    fd = world_open (&w, inode, O_RDONLY);
    for (unsigned i = 0; i < G_N_ELEMENTS (offsets); i++) {
        const size_t from = offsets[i] < 0 ? 0 : (size_t) offsets[i],
                     there = from < size ? size - from : 0;
        g_autofree char *got = world_read (&w, fd, 50, (off_t) from);

        ck_assert_int_eq (w.r, (int) MIN (there, 50));
        ck_assert_int_eq (memcmp (got, text + MIN (from, size), MIN (there, 50)), 0);
    }
    ck_assert_int_eq (counted (&w, "cache-hit"), G_N_ELEMENTS (offsets));
    ck_assert_int_eq (sent (&w), 0);
    fd_unref (fd);
}
END_TEST

START_TEST (what_is_too_large_is_read)
{
    g_auto (world) w = posix_world_begin (STACK ("option max-file-size 1KB\n"));
    g_autofree char *text = g_strnfill (1025, 'x');
    g_autoptr (inode_t) inode = NULL;

    put_old (&w, "f", text, 0644);
    inode = posix_world_look (&w, w.root, "f");
    expect_cat (&w, inode, text);
    expect_cat (&w, inode, text);
    ck_assert_int_eq (counted (&w, "cache-hit"), 0);
    ck_assert_int_eq (counted (&w, "total_files_cached"), 0);
}
END_TEST

START_TEST (memory_is_bounded_and_priorities_count)
{
    g_auto (world) w = posix_world_begin (
        STACK ("option cache-size 64KB\noption priority *.keep:3,*:1,*.never:0\n"));
    g_autofree char *text = g_strnfill (5000, 'x');

    for (int i = 0; i < 40; i++) {
        g_autofree char *name = g_strdup_printf (i == 0 ? "0.keep" : i == 1 ? "1.never" : "%d", i);
        g_autoptr (inode_t) inode = NULL;
        g_autofree char *path = world_path (&w, name);

        ck_assert (g_file_set_contents (path, text, -1, NULL));
        inode = posix_world_look (&w, w.root, name);
        expect_cat (&w, inode, text);
        ck_assert_int_le (counted (&w, "total_cache_used"), 64 << 10);
    }
    ck_assert_int_gt (counted (&w, "total_files_cached"), 4);
    int hits = counted (&w, "cache-hit");
    g_autoptr (inode_t) keep = posix_world_look (&w, w.root, "0.keep"),
                        never = posix_world_look (&w, w.root, "1.never");
    expect_cat (&w, keep, text);
    ck_assert_int_eq (counted (&w, "cache-hit"), hits + 1);
    expect_cat (&w, never, text);
    ck_assert_int_eq (counted (&w, "cache-hit"), hits + 1);
}
END_TEST

/* --- to whom ---------------------------------------------------------------------------------- */

/* lookup returns content only to callers that could open the file, and does not change the access
 * time. */
START_TEST (a_lookup_brings_what_the_caller_may_read)
{
    g_auto (world) w = posix_world_begin (STACK (""));
    g_autoptr (dict_t) xdata = dict_new ();
    g_autofree char *path = world_path (&w, "f");
    loc_t loc = { .name = "f", .parent = w.root };
    struct stat before, after;

    if (geteuid () != 0)
        return;
    put_old (&w, "f", "secret", 0600);
    ck_assert_int_eq (chmod (w.dir, 0755), 0);
    dict_set_u64 (xdata, "glusterfs.content", 100);
    stat (path, &before);
    for (int i = 0; i < 2; i++) {
        G_GNUC_UNUSED g_autoptr (inode_t) inode = loc.inode = inode_new (w.graph->itable);
        struct lookup_reply reply;
        size_t size = 0;

        w.client->uid = w.client->gid = i ? SOMEBODY : 0;
        ck_assert_int_eq (sync_lookup (w.client, &loc, xdata, &reply), 0);
        const char *got = dict_get (reply.xdata, "glusterfs.content", &size);
        ck_assert_int_eq (got != NULL, !i);
        ck_assert_int_eq ((int) size, i ? 0 : 6);
        lookup_reply_drop (&reply);
    }
    stat (path, &after);
    ck_assert_int_eq (before.st_atim.tv_sec == after.st_atim.tv_sec
                          && before.st_atim.tv_nsec == after.st_atim.tv_nsec,
                      1);
}
END_TEST

/* Content that root has read is in memory. A caller without the right to read gets nothing. A
 * caller with this right is answered from memory after its first open. */
START_TEST (who_may_not_open_is_not_served)
{
    g_auto (world) w = posix_world_begin (STACK ("option cache-timeout 600\n"));
    g_autoptr (inode_t) secret = NULL, open = NULL;
    int hits;

    if (geteuid () != 0)
        return;
    ck_assert_int_eq (chmod (w.dir, 0755), 0);
    put_old (&w, "secret", "secret", 0600);
    put_old (&w, "open", "open", 0644);
    secret = posix_world_look (&w, w.root, "secret");
    open = posix_world_look (&w, w.root, "open");
    expect_cat (&w, secret, "secret");
    expect_cat (&w, open, "open");
    hits = counted (&w, "cache-hit");
    ck_assert_int_eq (hits, 2);
    w.client->uid = w.client->gid = SOMEBODY;
    ck_assert_ptr_null (world_open (&w, secret, O_RDONLY));
    ck_assert_int_eq (w.r, -EACCES);
    expect_cat (&w, open, "open");
    ck_assert_int_eq (counted (&w, "cache-hit"), hits);
    expect_cat (&w, open, "open");
    ck_assert_int_eq (counted (&w, "cache-hit"), hits + 1);
    w.client->uid = w.client->gid = 0;
    inode_unref (posix_world_look (&w, w.root, "open")); /* this thread is root again */
    g_autofree char *path = world_path (&w, "open");
    ck_assert_int_eq (chmod (path, 0600), 0);
    inode_unref (posix_world_look (&w, w.root, "open"));
    w.client->uid = w.client->gid = SOMEBODY;
    ck_assert_ptr_null (world_open (&w, open, O_RDONLY));
}
END_TEST

START_TEST (direct_reads_go_down)
{
    g_auto (world) w = posix_world_begin (STACK (""));
    g_autoptr (inode_t) inode = NULL;
    fd_t *fd;

    put_old (&w, "f", "text", 0644);
    inode = posix_world_look (&w, w.root, "f");
    fd = world_open (&w, inode, O_RDONLY | O_DIRECT);
    if (fd) { /* not all file systems support it */
        g_free (world_read (&w, fd, 4096, 0));
        ck_assert_int_eq (counted (&w, "cache-hit"), 0);
        fd_unref (fd);
    }
}
END_TEST

/* --- how long --------------------------------------------------------------------------------- */

static void
change_write (struct world *w, inode_t *inode)
{
    fd_t *fd = world_open (w, inode, O_RDWR);

    world_write (w, fd, "NEW", 0);
    fd_unref (fd);
}

static void
change_truncate (struct world *w, inode_t *inode)
{
    ck_assert_int_eq (sync_truncate (w->client, &(loc_t){ .inode = inode }, 1, NULL, NULL), 0);
}

static void
change_open (struct world *w, inode_t *inode)
{
    fd_unref (world_open (w, inode, O_RDWR | O_TRUNC));
}

static void
change_create (struct world *w, inode_t *inode)
{
    fd_unref (world_create (w, w->root, "f", O_RDWR | O_TRUNC, 0644));
}

static void
change_ftruncate (struct world *w, inode_t *inode)
{
    fd_t *fd = world_open (w, inode, O_RDWR);

    sync_ftruncate (w->client, fd, 0, NULL, NULL);
    fd_unref (fd);
}

static const struct {
    void (*change) (struct world *w, inode_t *inode);
    const char *left;
} qr_changes[] = { { change_write, "NEWginal" }, { change_truncate, "o" },    { change_open, "" },
                { change_create, "" },        { change_ftruncate, "" } };

START_TEST (a_change_through_the_mount_is_seen)
{
    g_auto (world) w = posix_world_begin (STACK ("option cache-timeout 600\n"));
    g_autoptr (inode_t) inode = NULL;
    fd_t *fd;

    put_old (&w, "f", "original", 0644);
    inode = posix_world_look (&w, w.root, "f");
    fd = world_open (&w, inode, O_RDONLY);
    g_free (world_read (&w, fd, 100, 0));
    ck_assert_int_eq (counted (&w, "cache-hit"), 1);
    qr_changes[_i].change (&w, inode);
    g_autofree char *got = world_read (&w, fd, 100, 0);
    ck_assert_str_eq (got, qr_changes[_i].left);
    expect_cat (&w, inode, qr_changes[_i].left);
    expect_cat (&w, inode, qr_changes[_i].left);
    fd_unref (fd);
}
END_TEST

/* A create that fails after storage has emptied the file. */
START_TEST (a_change_that_is_answered_with_an_error_is_seen)
{
    g_auto (world) w = posix_world_begin (STACK_LATE);
    g_autoptr (inode_t) inode = NULL;
    fd_t *fd;

    put_old (&w, "late", "original", 0644);
    inode = posix_world_look (&w, w.root, "late");
    fd = world_open (&w, inode, O_RDONLY);
    for (unsigned i = 0; i < 2; i++)
        g_free (world_read (&w, fd, 100, 0));
    ck_assert_int_eq (counted (&w, "cache-hit"), 1);
    ck_assert_ptr_null (world_create (&w, w.root, "late", O_RDWR | O_TRUNC, 0644));
    ck_assert_int_eq (w.r, -EIO);
    g_autofree char *got = world_read (&w, fd, 100, 0);
    ck_assert_str_eq (got, "");
    fd_unref (fd);
}
END_TEST

static void
overwrite (struct world *w, const char *name, const char *text)
{
    g_autofree char *path = world_path (w, name);
    int fd = open (path, O_WRONLY);

    g_usleep (60000); /* more than a tick of the clock for file times */
    ck_assert_int_eq (pwrite (fd, text, strlen (text), 0), (ssize_t) strlen (text));
    close (fd);
}

/* A change to content of the same size is not seen within the timeout, and seen after it. It is
 * seen at once through any answer with the times of the file, or if storage reports the change. */
START_TEST (a_change_behind_the_mount_is_seen)
{
    g_auto (world) w = posix_world_begin (STACK ("option cache-timeout 600\n"));
    g_autoptr (inode_t) inode = NULL;

    put_old (&w, "f", "first", 0644);
    inode = posix_world_look (&w, w.root, "f");
    expect_cat (&w, inode, "first");
    overwrite (&w, "f", "2nd..");
    expect_cat (&w, inode, "first");
    world_stat (&w, inode);
    expect_cat (&w, inode, "2nd..");
    overwrite (&w, "f", "third");
    inode_unref (posix_world_look (&w, w.root, "f"));
    expect_cat (&w, inode, "third");
    overwrite (&w, "f", "4th..");
    xlator_notify (w.graph->top, XLATOR_INVALIDATE,
                   &(struct invalidation){ .inode = inode, .what = INVALIDATE_DATA });
    expect_cat (&w, inode, "4th..");
    overwrite (&w, "f", "fifth");
    xlator_notify (w.graph->top, XLATOR_INVALIDATE,
                   &(struct invalidation){ .what = INVALIDATE_ALL });
    expect_cat (&w, inode, "fifth");
}
END_TEST

START_TEST (without_a_timeout_nothing_is_served)
{
    g_auto (world) w = posix_world_begin (STACK ("option cache-timeout 0\n"));
    g_autoptr (inode_t) inode = NULL;

    put_old (&w, "f", "first", 0644);
    inode = posix_world_look (&w, w.root, "f");
    expect_cat (&w, inode, "first");
    overwrite (&w, "f", "2nd..");
    expect_cat (&w, inode, "2nd..");
    ck_assert_int_eq (counted (&w, "cache-hit"), 0);
}
END_TEST

/* By default a lookup costs no more than without the translator, and keeps nothing. */
START_TEST (what_is_only_looked_up_is_not_kept)
{
    g_auto (world) w = posix_world_begin (STACK_OF_READS);
    g_autoptr (inode_t) inode = NULL;

    put_old (&w, "f", "text", 0644);
    inode = posix_world_look (&w, w.root, "f");
    ck_assert_int_eq (counted (&w, "lookups_for_content"), 0);
    ck_assert_int_eq (counted (&w, "total_files_cached"), 0);
    expect_cat (&w, inode, "text");
    ck_assert_int_eq (counted (&w, "total_files_cached"), 1);
    expect_cat (&w, inode, "text");
    ck_assert_int_eq (counted (&w, "cache-hit"), 1);
}
END_TEST

TEST_PROGRAM (test_quick_read)
{
    Suite *suite = suite_create ("quick-read");
    TCase *tcase = tcase_create ("quick-read");

    tcase_set_timeout (tcase, 240);
    tcase_add_loop_test (tcase, any_part_of_a_file_is_as_in_storage, 0, G_N_ELEMENTS (qr_sizes));
    tcase_add_test (tcase, what_is_too_large_is_read);
    tcase_add_test (tcase, memory_is_bounded_and_priorities_count);
    tcase_add_test (tcase, a_lookup_brings_what_the_caller_may_read);
    tcase_add_test (tcase, who_may_not_open_is_not_served);
    tcase_add_test (tcase, direct_reads_go_down);
    tcase_add_loop_test (tcase, a_change_through_the_mount_is_seen, 0, G_N_ELEMENTS (qr_changes));
    tcase_add_test (tcase, a_change_that_is_answered_with_an_error_is_seen);
    tcase_add_test (tcase, a_change_behind_the_mount_is_seen);
    tcase_add_test (tcase, without_a_timeout_nothing_is_served);
    tcase_add_test (tcase, what_is_only_looked_up_is_not_kept);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
