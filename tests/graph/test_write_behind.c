/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* performance/write-behind: when writes are answered, what waits for them, and how many writes are
 * combined. */
#include "write_behind_world.h"

/* --- asking about it -------------------------------------------------------------------------- */

/* Returns whether an operation waits for a write of the inode. */
static bool
is_waited_for (struct world *w, inode_t *inode)
{
    g_autoptr (GString) out = g_string_new (NULL);

    w->graph->top->api->dumpops.inodectx (w->graph->top, inode, out);
    for (const char *at = out->str; (at = strstr (at, "blocks ")); at++)
        if (atoi (at + strlen ("blocks ")) > 0)
            return true;
    return false;
}

static char
stored_at (const struct world *w, const char *name, gsize offset)
{
    g_autofree char *path = world_path (w, name), *bytes = NULL;
    gsize size;

    ck_assert (g_file_get_contents (path, &bytes, &size, NULL));
    return offset < size ? bytes[offset] : '\0';
}

/* --- what waits ------------------------------------------------------------------------------- */

/* An operation on its own thread, on a file with a pending write of PAGE bytes of 'b' onto PAGE
 * bytes of 'a', followed by as many more. */
struct wb_asked {
    struct world *w;
    inode_t *inode;
    fd_t *fd, *other;
    struct client *client;
    bool done; /* atomic */
};

static void
wb_ask_stat (struct wb_asked *a)
{
    loc_t loc = { .inode = a->inode };
    struct stat_reply reply;

    ck_assert_int_eq (sync_stat (a->client, &loc, NULL, &reply), 0);
    ck_assert_uint_eq (reply.buf.ia_size, 2 * PAGE);
    stat_reply_drop (&reply);
}

/* Through another name, whose inode is not known yet. */
static void
ask_lookup (struct wb_asked *a)
{
    g_autoptr (inode_t) fresh = inode_new (a->w->graph->itable);
    loc_t loc = { .name = "link", .parent = a->w->root, .inode = fresh };
    struct lookup_reply reply;

    ck_assert_int_eq (sync_lookup (a->client, &loc, NULL, &reply), 0);
    ck_assert_uint_eq (reply.buf.ia_size, 2 * PAGE);
    lookup_reply_drop (&reply);
}

static void
ask_readv (struct wb_asked *a)
{
    struct readv_reply reply;

    ck_assert_int_eq (sync_readv (a->client, a->fd, PAGE, PAGE, 0, NULL, &reply), PAGE);
    ck_assert_int_eq (((char *) reply.vector->iov_base)[0], 'b');
    readv_reply_drop (&reply);
}

static void
ask_seek (struct wb_asked *a)
{
    struct seek_reply reply;

    ck_assert_int_eq (sync_seek (a->client, a->fd, PAGE, SEEK_DATA, NULL, &reply), 0);
    ck_assert_int_eq (reply.offset, PAGE);
    seek_reply_drop (&reply);
}

static void
ask_copy_from (struct wb_asked *a)
{
    ck_assert_int_eq (
        sync_copy_file_range (a->client, a->fd, PAGE, a->other, 0, PAGE, 0, NULL, NULL), PAGE);
    ck_assert_int_eq (stored_at (a->w, "other", 0), 'b');
}

static void
ask_copy_to (struct wb_asked *a)
{
    ck_assert_int_eq (sync_copy_file_range (a->client, a->other, 0, a->fd, 0, PAGE, 0, NULL, NULL),
                      PAGE);
    ck_assert_int_eq (stored_at (a->w, "f", 0), 'o');
    ck_assert_int_eq (stored_at (a->w, "f", PAGE), 'b');
}

static void
ask_ftruncate (struct wb_asked *a)
{
    ck_assert_int_eq (sync_ftruncate (a->client, a->fd, 10, NULL, NULL), 0);
    ck_assert_uint_eq (stored_size (a->w, "f"), 10);
}

static void
ask_open_truncating (struct wb_asked *a)
{
    loc_t loc = { .inode = a->inode };
    g_autoptr (fd_t) fd = fd_new (&a->w->graph->fd_maker, a->inode, O_RDWR | O_TRUNC, 1);

    ck_assert_int_eq (sync_open (a->client, &loc, O_RDWR | O_TRUNC, fd, NULL, NULL), 0);
    ck_assert_uint_eq (stored_size (a->w, "f"), 0);
}

static void
ask_create_truncating (struct wb_asked *a)
{
    g_autoptr (inode_t) fresh = inode_new (a->w->graph->itable);
    loc_t loc = { .name = "link", .parent = a->w->root, .inode = fresh };
    g_autoptr (fd_t) fd = fd_new (&a->w->graph->fd_maker, NULL, O_RDWR | O_TRUNC, 1);

    ck_assert_int_eq (sync_create (a->client, &loc, O_RDWR | O_TRUNC, 0644, 022, fd, NULL, NULL),
                      0);
    ck_assert_uint_eq (stored_size (a->w, "f"), 0);
}

static void
ask_utime (struct wb_asked *a)
{
    loc_t loc = { .inode = a->inode };
    struct iatt times = { .ia_mtime = 1000 };
    g_autofree char *path = world_path (a->w, "f");
    struct stat st;

    ck_assert_int_eq (sync_setattr (a->client, &loc, &times, IATT_MTIME, NULL, NULL), 0);
    ck_assert_int_eq (stat (path, &st), 0);
    ck_assert_int_eq (st.st_mtime, 1000);
    ck_assert_uint_eq (st.st_size, 2 * PAGE);
}

static void
ask_rename (struct wb_asked *a)
{
    loc_t from = { .name = "f", .parent = a->w->root, .inode = a->inode },
          to = { .name = "g", .parent = a->w->root };

    ck_assert_int_eq (sync_rename (a->client, &from, &to, 0, NULL, NULL), 0);
    ck_assert_uint_eq (stored_size (a->w, "g"), 2 * PAGE);
}

static void
ask_fsync (struct wb_asked *a)
{
    ck_assert_int_eq (sync_fsync (a->client, a->fd, 0, NULL, NULL), 0);
    ck_assert_uint_eq (stored_size (a->w, "f"), 2 * PAGE);
}

static void
ask_write_over (struct wb_asked *a)
{
    struct iovec iov = { (char *) "x", 1 };

    ck_assert_int_eq (sync_writev (a->client, a->fd, &iov, 1, PAGE, O_SYNC, NULL, NULL, NULL), 1);
    ck_assert_int_eq (stored_at (a->w, "f", PAGE), 'x');
}

static void
ask_unlock (struct wb_asked *a)
{
    struct gf_flock lock = { .l_type = F_UNLCK };

    ck_assert_int_eq (sync_lk (a->client, a->fd, F_SETLK, &lock, NULL, NULL), 0);
    ck_assert_uint_eq (stored_size (a->w, "f"), 2 * PAGE);
}

static void
wb_ask_flush (struct wb_asked *a)
{
    ck_assert_int_eq (sync_flush (a->client, a->fd, NULL, NULL), 0);
    ck_assert_uint_eq (stored_size (a->w, "f"), 2 * PAGE);
}

/* The kernel may send bytes of its page cache through any description that is open for writing. */
static void
ask_flush_of_another (struct wb_asked *a)
{
    g_autoptr (fd_t) fd = world_open (a->w, a->inode, O_WRONLY);

    ck_assert_int_eq (sync_flush (a->client, fd, NULL, NULL), 0);
    ck_assert_uint_eq (stored_size (a->w, "f"), 2 * PAGE);
}

static void (*const questions[]) (struct wb_asked *a) = {
    wb_ask_stat,       ask_lookup,          ask_readv,
    ask_seek,       ask_copy_from,       ask_copy_to,
    ask_ftruncate,  ask_open_truncating, ask_create_truncating,
    ask_utime,      ask_rename,          ask_fsync,
    ask_write_over, ask_unlock,          wb_ask_flush,
    ask_flush_of_another,
};

static const char *const flushing[] = {
    OVER_FAULT ("option flush-behind off\n"),
    OVER_FAULT ("option flush-behind on\n"),
};

struct asking {
    struct wb_asked *a;
    void (*ask) (struct wb_asked *a);
};

static gpointer
wb_ask (gpointer data)
{
    struct asking *asking = data;

    asking->ask (asking->a);
    __atomic_store_n (&asking->a->done, true, __ATOMIC_RELEASE);
    return NULL;
}

/* The directory itself has a second name of the file. */
static struct wb_asked
asked_begin (struct world *w)
{
    g_autofree char *f = world_path (w, "f"), *other_name = world_path (w, "link");
    struct wb_asked a = { .w = w };

    a.fd = world_create (w, w->root, "f", O_RDWR, 0644);
    a.other = world_create (w, w->root, "other", O_RDWR, 0644);
    a.inode = a.fd->inode;
    a.client = client_new (w->graph->top);
    wb_put (w, a.fd, 'a', PAGE, 0);
    wb_put (w, a.other, 'o', PAGE, 0);
    ck_assert_int_eq (do_fsync (w, a.fd), 0);
    ck_assert_int_eq (do_fsync (w, a.other), 0);
    ck_assert_int_eq (link (f, other_name), 0);
    return a;
}

START_TEST (whatever_has_to_see_a_write_waits_for_it)
{
    struct world w = wb_begin (flushing[_i % 2], "");
    struct wb_asked a = asked_begin (&w);
    struct asking asking = { &a, questions[_i / 2] };
    GThread *thread;

    wb_tell (&w, "rules", "writev times 1 -> hang name w");
    ck_assert_int_eq (wb_put (&w, a.fd, 'b', PAGE, PAGE), PAGE);
    ck_assert_uint_eq (stored_size (&w, "f"), PAGE);
    thread = g_thread_new ("asks", wb_ask, &asking);
    while (!is_waited_for (&w, a.inode) && !__atomic_load_n (&a.done, __ATOMIC_ACQUIRE))
        g_usleep (1000);
    ck_assert (!__atomic_load_n (&a.done, __ATOMIC_ACQUIRE));
    wb_release (&w, "w");
    g_thread_join (thread);
    client_free (a.client);
    fd_unref (a.fd);
    fd_unref (a.other);
    posix_world_end (&w);
}
END_TEST

START_TEST (what_need_not_see_it_does_not_wait)
{
    struct world w = wb_begin (OVER_FAULT ("option flush-behind on\n"), "");
    struct wb_asked a = asked_begin (&w);
    fd_t *reader = world_open (&w, a.inode, O_RDONLY);

    wb_tell (&w, "rules", "writev times 1 -> hang name w");
    wb_put (&w, a.fd, 'b', PAGE, PAGE);
    ck_assert_uint_eq (world_stat (&w, a.other->inode).ia_size, PAGE);
    ck_assert_int_eq (wb_put (&w, a.fd, 'c', 10, 3 * PAGE), 10); /* elsewhere in the file */
    ck_assert_int_eq (do_flush (&w, reader), 0);
    wb_release (&w, "w");
    ck_assert_int_eq (do_fsync (&w, a.fd), 0);
    ck_assert_uint_eq (stored_size (&w, "f"), 3 * PAGE + 10);
    client_free (a.client);
    fd_unref (reader);
    fd_unref (a.fd);
    fd_unref (a.other);
    posix_world_end (&w);
}
END_TEST

/* --- order and size --------------------------------------------------------------------------- */

START_TEST (small_writes_become_one)
{
    struct world w = wb_begin (OVER_FAULT (""), "writev times 1 -> hang name w");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    for (int i = 0; i < 33; i++)
        ck_assert_int_eq (wb_put (&w, fd, 'a' + i % 26, PAGE, i * PAGE), PAGE);
    ck_assert_int_eq (wb_dumped (&w, NULL, "sent"), 2); /* the second has 128 KB */
    wb_release (&w, "w");
    ck_assert_int_eq (do_fsync (&w, fd), 0);
    ck_assert_int_eq (wb_dumped (&w, NULL, "joined_another"), 31);
    ck_assert_int_eq (wb_dumped (&w, NULL, "sent"), 2);
    ck_assert_int_eq (wb_dumped (&w, NULL, "memory_held"), 0);
    for (int i = 0; i < 33; i++)
        ck_assert_int_eq (stored_at (&w, "f", i * PAGE + 7), 'a' + i % 26);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* The first write is in flight. The second waits to be combined, and is combined with a write that
 * overlaps the first. */
START_TEST (what_joins_waits_for_what_it_overlaps)
{
    struct world w = wb_begin (OVER_FAULT (""),
                               "writev offset 4096..4096 times 1 -> hang name w");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    wb_put (&w, fd, 'a', PAGE, PAGE);
    wb_put (&w, fd, 'b', PAGE, 0);
    wb_put (&w, fd, 'c', PAGE, PAGE);
    ck_assert_int_eq (wb_dumped (&w, NULL, "joined_another"), 1);
    wb_put (&w, fd, 'd', 10, 4 * PAGE); /* releases all writes that may go */
    ck_assert_int_eq (wb_dumped (&w, NULL, "sent"), 1);
    wb_release (&w, "w");
    ck_assert_int_eq (do_fsync (&w, fd), 0);
    ck_assert_int_eq (stored_at (&w, "f", 0), 'b');
    ck_assert_int_eq (stored_at (&w, "f", PAGE), 'c');
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

START_TEST (appended_bytes_keep_their_order)
{
    struct world w = wb_begin (OVER_FAULT (""), "writev times 1 -> hang name w");
    fd_t *fd = world_create (&w, w.root, "f", O_WRONLY | O_APPEND, 0644),
         *other = world_open (&w, fd->inode, O_WRONLY | O_APPEND);
    g_autofree char *path = world_path (&w, "f"), *text = NULL;

    world_write (&w, fd, "one ", 0);
    world_write (&w, fd, "two ", 0);
    world_write (&w, other, "three ", 0);
    world_write (&w, fd, "four", 0);
    wb_release (&w, "w");
    ck_assert_int_eq (do_fsync (&w, fd), 0);
    ck_assert (g_file_get_contents (path, &text, NULL, NULL));
    ck_assert_str_eq (text, "one two three four");
    fd_unref (fd);
    fd_unref (other);
    posix_world_end (&w);
}
END_TEST

/* A full window, and several writers, each on its own thread. */
#define CHUNK (128 << 10)
#define WINDOW "option cache-size 512KB\n"

struct pressed {
    struct world *w;
    fd_t *fd;
    int number, r;
};

static gpointer
press (gpointer data)
{
    struct pressed *p = data;
    struct client *client = client_new (p->w->graph->top);
    struct world own = *p->w;

    own.client = client;
    p->r = wb_put (&own, p->fd, 'a' + p->number, CHUNK, p->number * CHUNK);
    client_free (client);
    return NULL;
}

/* Each write is stored before the next is made. */
static void
press_all (struct world *w, fd_t *fd, struct pressed *p, GThread **threads, int n)
{
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq (wb_put (w, fd, 'a' + i, CHUNK, i * CHUNK), CHUNK);
    for (int i = 0; i < n; i++) {
        p[i] = (struct pressed){ w, fd, 4 + i, 0 };
        threads[i] = g_thread_new ("writes", press, &p[i]);
        while (wb_dumped (w, fd->inode, "waiting_for_room") < i + 1)
            g_usleep (1000);
    }
    ck_assert_int_eq (wb_dumped (w, NULL, "passed_through"), 0);
}

START_TEST (a_window_that_is_full_has_writes_wait_for_room)
{
    struct world w = wb_begin (OVER_FAULT (WINDOW), "writev times 4 -> hang name w");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    struct pressed p[9];
    GThread *threads[9];

    press_all (&w, fd, p, threads, 9);
    wb_release (&w, "w");
    for (int i = 0; i < 9; i++) {
        g_thread_join (threads[i]);
        ck_assert_int_eq (p[i].r, CHUNK);
    }
    ck_assert_int_eq (do_fsync (&w, fd), 0);
    ck_assert_int_eq (wb_dumped (&w, NULL, "waited_for_room"), 9);
    /* If space becomes available just before a write would wait again, the write goes down
     * itself. */
    ck_assert_int_eq (wb_dumped (&w, NULL, "answered_early")
                          + wb_dumped (&w, NULL, "passed_through"),
                      13);
    ck_assert_int_ge (wb_dumped (&w, NULL, "answered_early"), 5);
    ck_assert_int_eq (wb_dumped (&w, fd->inode, "window_current"), 0);
    for (int i = 0; i < 13; i++)
        ck_assert_int_eq (stored_at (&w, "f", i * CHUNK + 5), 'a' + i);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* After an error, or at the end of the mount, writes no longer wait for space: each is answered
 * with its own result. */
START_TEST (who_waits_for_room_goes_on_in_any_case)
{
    static const char *const rules[] = {
        "writev times 4 -> hang name w then error ENOSPC\nwritev -> error EDQUOT",
        "writev times 4 -> delay 60s"
    };
    struct world w = wb_begin (OVER_FAULT (WINDOW), rules[_i]);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    struct pressed p[3];
    GThread *threads[3];

    press_all (&w, fd, p, threads, 3);
    if (_i == 1)
        xlator_notify (w.graph->top, XLATOR_ENDING, NULL); /* debug/fault releases all */
    else
        wb_release (&w, "w");
    for (int i = 0; i < 3; i++) {
        g_thread_join (threads[i]);
        ck_assert_int_eq (p[i].r, _i == 0 ? -EDQUOT : CHUNK);
    }
    ck_assert_int_eq (wb_dumped (&w, NULL, "passed_through"), 3);
    ck_assert_int_eq (do_fsync (&w, fd), _i == 0 ? -ENOSPC : 0);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

START_TEST (memory_is_limited_for_all_files_together)
{
    struct world w = wb_begin (OVER_FAULT ("option memory-limit 1MB\n"), "writev -> hang name w");
    fd_t *fds[16];
    int n = 0;

    for (int i = 0; i < 16; i++) {
        g_autofree char *name = g_strdup_printf ("f%d", i);
        fds[i] = world_create (&w, w.root, name, O_RDWR, 0644);
        if (wb_dumped (&w, NULL, "memory_held") <= (1 << 20) - (128 << 10))
            n += wb_put (&w, fds[i], 'a', 128 << 10, 0) > 0;
    }
    ck_assert_int_eq (n, 8);
    wb_tell (&w, "rules", "");
    ck_assert_int_eq (wb_dumped (&w, NULL, "passed_through"), 0);
    for (int i = 0; i < 16; i++) {
        ck_assert_int_eq (do_fsync (&w, fds[i]), 0);
        fd_unref (fds[i]);
    }
    ck_assert_int_eq (wb_dumped (&w, NULL, "memory_held"), 0);
    posix_world_end (&w);
}
END_TEST

START_TEST (a_short_write_goes_on)
{
    struct world w = wb_begin (OVER_FAULT (""), "writev times 7 -> short 100");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644),
         *append = world_open (&w, fd->inode, O_RDWR | O_APPEND);

    wb_put (&w, fd, 'a', PAGE, 0);
    wb_put (&w, append, 'b', PAGE, 0);
    ck_assert_int_eq (do_fsync (&w, fd), 0);
    ck_assert_uint_eq (stored_size (&w, "f"), 2 * PAGE);
    ck_assert_int_eq (stored_at (&w, "f", PAGE - 1), 'a');
    ck_assert_int_eq (stored_at (&w, "f", PAGE), 'b');
    fd_unref (fd);
    fd_unref (append);
    posix_world_end (&w);
}
END_TEST

/* A translator below may change bytes in place if nothing else refers to them. write-behind refers
 * to bytes that it sends again. */
START_TEST (what_goes_on_after_a_short_write_is_as_it_was)
{
    struct world w = wb_begin (OVER_ROT_13, "writev times 3 -> short 100");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    g_autofree char *path = world_path (&w, "f"), *bytes = NULL;
    gsize size;

    wb_put (&w, fd, 'a', PAGE, 0);
    wb_put (&w, fd, 'a', CHUNK, PAGE);
    ck_assert_int_eq (do_fsync (&w, fd), 0);
    ck_assert (g_file_get_contents (path, &bytes, &size, NULL) && size == PAGE + CHUNK);
    for (gsize at = 0; at < size; at++)
        ck_assert_int_eq (bytes[at], 'n');
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

START_TEST (without_trickling_a_small_write_waits_a_second)
{
    struct world w = wb_begin (OVER_FAULT ("option trickling-writes off\n"), "");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    const gint64 begun = g_get_monotonic_time ();

    wb_put (&w, fd, 'a', 10, 0);
    wb_put (&w, fd, 'b', 10, 10);
    if (g_get_monotonic_time () < begun + 500000)
        ck_assert_int_eq (wb_dumped (&w, NULL, "sent"), 0);
    while (stored_size (&w, "f") < 20)
        g_usleep (10000);
    ck_assert_int_eq (wb_dumped (&w, NULL, "sent"), 1);
    wb_put (&w, fd, 'c', 10, 20);
    /* the test does not wait for the end of the second */
    ck_assert_uint_eq (world_stat (&w, fd->inode).ia_size, 30);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* Written data is in storage when the graph has ended. */
START_TEST (the_end_waits_for_all)
{
    struct world w = wb_begin (OVER_FAULT ("option trickling-writes off\n"),
                               "writev -> delay 50ms");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    for (int i = 0; i < 40; i++)
        wb_put (&w, fd, 'a', 10, i * PAGE);
    fd_unref (fd);
    graph_deactivate (w.graph);
    ck_assert_uint_eq (stored_size (&w, "f"), 39 * PAGE + 10);
    posix_world_end (&w);
}
END_TEST

TEST_PROGRAM (test_write_behind)
{
    Suite *suite = suite_create ("write-behind");
    TCase *tcase = tcase_create ("write-behind");

    tcase_set_timeout (tcase, 240);
    tcase_add_loop_test (tcase, whatever_has_to_see_a_write_waits_for_it, 0,
                         2 * G_N_ELEMENTS (questions));
    tcase_add_test (tcase, what_need_not_see_it_does_not_wait);
    tcase_add_test (tcase, small_writes_become_one);
    tcase_add_test (tcase, what_joins_waits_for_what_it_overlaps);
    tcase_add_test (tcase, appended_bytes_keep_their_order);
    tcase_add_test (tcase, a_window_that_is_full_has_writes_wait_for_room);
    tcase_add_loop_test (tcase, who_waits_for_room_goes_on_in_any_case, 0, 2);
    tcase_add_test (tcase, memory_is_limited_for_all_files_together);
    tcase_add_test (tcase, a_short_write_goes_on);
    tcase_add_test (tcase, what_goes_on_after_a_short_write_is_as_it_was);
    tcase_add_test (tcase, without_trickling_a_small_write_waits_a_second);
    tcase_add_test (tcase, the_end_waits_for_all);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
