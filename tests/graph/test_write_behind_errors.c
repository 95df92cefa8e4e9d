/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* performance/write-behind: which callers receive the error of a write that was already
 * answered. */
#include "write_behind_world.h"

START_TEST (an_error_is_told_once_to_each_who_wrote)
{
    struct world w = wb_begin (OVER_FAULT (""), "");
    fd_t *one = world_create (&w, w.root, "f", O_RDWR, 0644),
         *two = world_open (&w, one->inode, O_RDWR);

    wb_put (&w, two, 'a', 10, 0);
    ck_assert_int_eq (do_fsync (&w, two), 0);
    wb_tell (&w, "rules", "writev times 1 -> error ENOSPC");
    ck_assert_int_eq (wb_put (&w, one, 'b', 10, 10), 10);
    ck_assert_int_eq (do_fsync (&w, one), -ENOSPC);
    ck_assert_int_eq (do_fsync (&w, one), 0);
    ck_assert_int_eq (do_flush (&w, two), -ENOSPC);
    ck_assert_int_eq (do_flush (&w, two), 0);
    fd_t *three = world_open (&w, one->inode, O_RDWR);
    wb_put (&w, three, 'c', 10, 0);
    ck_assert_int_eq (do_fsync (&w, three), 0); /* opened after the error was reported */
    ck_assert_int_eq (wb_dumped (&w, NULL, "failed_later"), 1);
    fd_unref (one);
    fd_unref (two);
    fd_unref (three);
    posix_world_end (&w);
}
END_TEST

/* No close follows the write: it comes from a mapping that outlives its descriptor. */
START_TEST (an_error_that_nobody_knows_of_waits_for_whoever_asks)
{
    struct world w = wb_begin (OVER_FAULT (""), "writev times 1 -> hang then error EIO");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644),
         *reader = world_open (&w, fd->inode, O_RDONLY), *next;

    wb_put (&w, fd, 'a', 10, 0);
    fd_unref (fd);
    wb_release (&w, "");
    ck_assert_uint_eq (world_stat (&w, reader->inode).ia_size, 0);
    ck_assert_int_eq (do_flush (&w, reader), 0); /* it can't have written */
    next = world_open (&w, reader->inode, O_RDWR);
    wb_tell (&w, "rules", "writev -> error EDQUOT");
    ck_assert_int_eq (wb_put (&w, next, 'b', 10, 0), -EDQUOT); /* answered when complete */
    ck_assert_int_eq (do_fsync (&w, reader), -EIO);
    ck_assert_int_eq (do_fsync (&w, reader), 0);
    ck_assert_int_eq (wb_put (&w, next, 'b', 10, 0), 10);
    ck_assert_int_eq (do_fsync (&w, next), -EDQUOT);
    fd_unref (reader);
    fd_unref (next);
    posix_world_end (&w);
}
END_TEST

static const char *const closing[] = {
    OVER_FAULT ("option flush-behind off\n"),
    OVER_FAULT ("option flush-behind on\n"),
    OVER_FAULT (""),
};

START_TEST (close_tells_what_became_of_the_writes)
{
    struct world w = wb_begin (closing[_i], "writev times 1 -> delay 20ms then error ENOSPC");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    ck_assert_int_eq (wb_put (&w, fd, 'a', 10, 0), 10);
    ck_assert_int_eq (do_flush (&w, fd), -ENOSPC);
    ck_assert_int_eq (do_flush (&w, fd), 0);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* The kernel may have sent the bytes through another description than the one that is closed. */
START_TEST (close_tells_what_another_description_wrote)
{
    struct world w = wb_begin (closing[_i], "writev times 1 -> delay 20ms then error ENOSPC");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644),
         *other = world_open (&w, fd->inode, O_WRONLY);

    ck_assert_int_eq (wb_put (&w, fd, 'a', 10, 0), 10);
    ck_assert_int_eq (do_flush (&w, other), -ENOSPC);
    ck_assert_int_eq (do_flush (&w, other), 0);
    ck_assert_int_eq (do_flush (&w, fd), -ENOSPC);
    ck_assert_int_eq (do_flush (&w, fd), 0);
    fd_unref (fd);
    fd_unref (other);
    posix_world_end (&w);
}
END_TEST

static fd_t *
written (struct world *w)
{
    fd_t *fd = world_create (w, w->root, "f", O_RDWR, 0644);

    ck_assert_int_eq (wb_put (w, fd, 'a', 10, 0), 10);
    return fd;
}

START_TEST (the_flush_itself_is_behind)
{
    struct world w = wb_begin (OVER_FAULT ("option flush-behind on\n"),
                               "flush times 1 -> hang then error EDQUOT");
    fd_t *fd = written (&w);
    int r;

    ck_assert_int_eq (do_flush (&w, fd), 0);
    ck_assert_uint_eq (stored_size (&w, "f"), 10);
    wb_release (&w, "");
    while ((r = do_fsync (&w, fd)) == 0) /* does not wait for a flush that is behind */
        g_usleep (1000);
    ck_assert_int_eq (r, -EDQUOT);
    ck_assert_int_eq (do_fsync (&w, fd), 0);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* A process that has closed the file, and opens and locks it again, keeps the lock when the flush
 * of that close arrives. */
START_TEST (a_flush_that_is_behind_ends_no_later_lock)
{
    struct world w = wb_begin (OVER_FAULT ("option flush-behind on\n"), "flush times 1 -> hang");
    fd_t *fd = written (&w);
    struct client *other = client_new (w.graph->top);
    struct gf_flock lock = { .l_type = F_WRLCK };

    w.client->lk_owner = 1;
    other->lk_owner = 2;
    ck_assert_int_eq (do_flush (&w, fd), 0);
    ck_assert_int_eq (sync_lk (w.client, fd, F_SETLK, &lock, NULL, NULL), 0);
    wb_release (&w, "");
    ck_assert_int_eq (do_fsync (&w, fd), 0);
    ck_assert_int_eq (sync_lk (other, fd, F_SETLK, &lock, NULL, NULL), -EAGAIN);
    client_free (other);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* A caller that locked the file also receives all errors, and the unlock follows the writes. */
START_TEST (close_waits_where_there_were_locks)
{
    struct world w = wb_begin (OVER_FAULT ("option flush-behind on\n"),
                               "writev times 1 -> delay 20ms\nflush times 1 -> error EIO");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    struct gf_flock lock = { .l_type = F_WRLCK };

    ck_assert_int_eq (sync_lk (w.client, fd, F_SETLK, &lock, NULL, NULL), 0);
    wb_put (&w, fd, 'a', 10, 0);
    ck_assert_int_eq (do_flush (&w, fd), -EIO);
    ck_assert_uint_eq (stored_size (&w, "f"), 10);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

static const uint32_t sync_flags[] = { O_SYNC, O_DSYNC, O_DIRECT };

START_TEST (a_synchronous_write_tells_itself)
{
    struct world w = wb_begin (OVER_FAULT ("option strict-O_DIRECT on\n"), "writev -> error EIO");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR | sync_flags[_i], 0644);

    if (w.r == 0) {
        ck_assert_int_eq (wb_put (&w, fd, 'a', PAGE, 0), -EIO);
        ck_assert_int_eq (do_fsync (&w, fd), 0);
    }
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* Storage can refuse this write, since it is not aligned to blocks of the disk. */
START_TEST (a_misaligned_direct_write_tells_itself)
{
    struct world w = wb_begin (OVER_FAULT (""), "writev times 1 -> error EINVAL");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR | O_DIRECT, 0644);

    if (w.r == 0) {
        ck_assert_int_eq (wb_put (&w, fd, 'a', 100, 3), -EINVAL);
        ck_assert_int_eq (wb_put (&w, fd, 'a', PAGE, 0), PAGE);
        ck_assert_int_eq (do_fsync (&w, fd), 0);
    }
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* Each write is executed as its user: writes of two users are not combined, and only those of one
 * user fail. */
START_TEST (each_goes_as_who_wrote)
{
    struct world w = wb_begin (OVER_FAULT (""),
                               "writev uid 12345 -> error EDQUOT\nwritev times 1 -> hang name w");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0666);

    wb_put (&w, fd, 'a', 10, 0);
    wb_put (&w, fd, 'b', 10, 10);
    w.client->uid = 12345;
    ck_assert_int_eq (wb_put (&w, fd, 'c', 10, 20), 10);
    ck_assert_int_eq (wb_dumped (&w, NULL, "joined_another"), 0);
    wb_release (&w, "w");
    ck_assert_int_eq (do_fsync (&w, fd), -EDQUOT);
    ck_assert_uint_eq (stored_size (&w, "f"), 20);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* --- what becomes of the bytes, and of the error ---------------------------------------------- */

/* A translator above that caches data, and drops it after a delay. */
static struct {
    bool may, begun, done; /* atomic */
    unsigned what;
} memory;

static void
memory_notify (xlator_t *this, enum xlator_event event, void *data)
{
    const struct invalidation *gone = data;

    if (event != XLATOR_INVALIDATE)
        return;
    memory.what = gone->what;
    __atomic_store_n (&memory.begun, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n (&memory.may, __ATOMIC_ACQUIRE))
        g_usleep (1000);
    __atomic_store_n (&memory.done, true, __ATOMIC_RELEASE);
}

static gpointer
let_forget (gpointer data)
{
    while (!__atomic_load_n (&memory.begun, __ATOMIC_ACQUIRE))
        g_usleep (1000);
    g_usleep (20000);
    __atomic_store_n (&memory.may, true, __ATOMIC_RELEASE);
    return NULL;
}

START_TEST (who_is_told_finds_the_bytes_forgotten)
{
    static const struct xlator_api api = { .type = "test/memory", .notify = memory_notify };
    struct xlator above = { .name = "memory", .type = "test/memory", .api = &api, .ready = true };
    xlator_list_t parent = { .xlator = &above };
    struct world w = wb_begin (OVER_FAULT (""), "writev times 1 -> error EIO");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    GThread *thread;

    w.graph->top->parents = &parent;
    thread = g_thread_new ("forgets", let_forget, NULL);
    ck_assert_int_eq (wb_put (&w, fd, 'a', 10, 0), 10);
    ck_assert_int_eq (do_fsync (&w, fd), -EIO);
    ck_assert (__atomic_load_n (&memory.done, __ATOMIC_ACQUIRE));
    ck_assert_uint_eq (memory.what, INVALIDATE_DATA | INVALIDATE_ATTRIBUTES);
    g_thread_join (thread);
    w.graph->top->parents = NULL;
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

START_TEST (what_nobody_asked_for_is_counted)
{
    struct world w = wb_begin (OVER_FAULT (""), "writev times 1 -> hang then error EIO");
    fd_t *fd = written (&w), *other;

    fd_unref (fd);
    wb_release (&w, "");
    while (wb_dumped (&w, NULL, "errors_nobody_knows_yet") != 1)
        g_usleep (1000);
    /* More files than are remembered; even more while the writing thread holds the file. */
    for (int i = 0; i < 20 || wb_dumped (&w, NULL, "errors_nobody_knows_yet") == 1; i++) {
        g_autofree char *name = g_strdup_printf ("other%d", i);
        other = world_create (&w, w.root, name, O_RDWR, 0644);
        fd_unref (other);
    }
    ck_assert_int_eq (wb_dumped (&w, NULL, "errors_nobody_asked_for"), 1);
    ck_assert_int_eq (wb_dumped (&w, NULL, "errors_nobody_knows_yet"), 0);
    posix_world_end (&w);
}
END_TEST

TEST_PROGRAM (test_write_behind_errors)
{
    Suite *suite = suite_create ("write-behind-errors");
    TCase *tcase = tcase_create ("write-behind-errors");

    tcase_set_timeout (tcase, 240);
    tcase_add_test (tcase, an_error_is_told_once_to_each_who_wrote);
    tcase_add_test (tcase, an_error_that_nobody_knows_of_waits_for_whoever_asks);
    tcase_add_loop_test (tcase, close_tells_what_became_of_the_writes, 0, G_N_ELEMENTS (closing));
    tcase_add_loop_test (tcase, close_tells_what_another_description_wrote, 0,
                         G_N_ELEMENTS (closing));
    tcase_add_test (tcase, the_flush_itself_is_behind);
    tcase_add_test (tcase, a_flush_that_is_behind_ends_no_later_lock);
    tcase_add_test (tcase, who_is_told_finds_the_bytes_forgotten);
    tcase_add_test (tcase, what_nobody_asked_for_is_counted);
    tcase_add_test (tcase, close_waits_where_there_were_locks);
    tcase_add_loop_test (tcase, a_synchronous_write_tells_itself, 0, G_N_ELEMENTS (sync_flags));
    tcase_add_test (tcase, a_misaligned_direct_write_tells_itself);
    tcase_add_test (tcase, each_goes_as_who_wrote);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
