/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* Calls of cluster/overlay that wait for the copy of a lower's file. */
#include "overlay_world.h"

#include "core/edge/stack.h"
#include "core/time/clock.h"
#include "core/time/thread.h"

#include <sys/syscall.h>

/* --- copies by the kernel --------------------------------------------------------------------- */

static enum { KERNEL_COPIES_GO_ON, KERNEL_COPIES_HANG, KERNEL_COPIES_HUNG } kernel_copies_state;

static int
kernel_copies (void)
{
    return (int) __atomic_load_n (&kernel_copies_state, __ATOMIC_ACQUIRE);
}

static void
kernel_copies_set (int state)
{
    __atomic_store_n (&kernel_copies_state, state, __ATOMIC_RELEASE);
}

/* In the place of libc's. */
ssize_t
copy_file_range (int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags)
{
    if (kernel_copies () == KERNEL_COPIES_HANG)
        kernel_copies_set (KERNEL_COPIES_HUNG);
    while (kernel_copies () != KERNEL_COPIES_GO_ON)
        g_usleep (1000);
    return syscall (SYS_copy_file_range, in, from, out, to, size, flags);
}

/* --- callers ---------------------------------------------------------------------------------- */

/* A caller of its own, which writes a line at a place of the file. */
struct waits_writer {
    struct world w;
    inode_t *inode;
    unsigned number;
    pthread_t thread;
    int r;     /* of the write */
    bool done; /* atomic */
};

#define LINE 8 /* bytes of a line */

static void *
waits_write (void *data)
{
    struct waits_writer *writer = data;
    g_autofree char *line = g_strdup_printf ("line%03u\n", writer->number);
    fd_t *fd;

    writer->w.client = client_new (writer->w.graph->top);
    fd = world_open (&writer->w, writer->inode, O_RDWR);
    writer->r = fd ? world_write (&writer->w, fd, line, writer->number * LINE) : writer->w.r;
    fd_unref (fd);
    client_free (writer->w.client);
    __atomic_store_n (&writer->done, true, __ATOMIC_RELEASE);
    return NULL;
}

static void
waits_start (const struct world *w, inode_t *inode, struct waits_writer *writers, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        writers[i] = (struct waits_writer){ .w = *w, .inode = inode, .number = i };
        ck_assert_int_eq (thread_new (&writers[i].thread, "writer", waits_write, &writers[i]), 0);
    }
}

static void
waits_join (struct waits_writer *writers, unsigned n, int expected)
{
    for (unsigned i = 0; i < n; i++) {
        pthread_join (writers[i].thread, NULL);
        ck_assert_int_eq (writers[i].r, expected);
    }
}

static struct world
waits_begin (const char *rules, inode_t **ret_inode)
{
    struct world w = overlay_world_new ();

    overlay_put (&w, "lower/file", "the lower's");
    overlay_world_start (&w, &overlay_faulty);
    *ret_inode = posix_world_look (&w, w.root, "file");
    ck_assert_ptr_nonnull (*ret_inode);
    g_free (overlay_tell (&w, "fault", "rules", rules));
    return w;
}

static void
waits_end (struct world *w, inode_t *inode)
{
    inode_unref (inode);
    overlay_world_end (w);
}

/* --- conditions ------------------------------------------------------------------------------- */

/* A write that was set aside waits for the copy; another one is about to, or has its answer. */
static void
waits_count_write (const call_stack_t *root, void *count)
{
    if (root->op == FOP_writev && !root->internal
        && __atomic_load_n (&root->kept, __ATOMIC_RELAXED) > 0)
        ++*(unsigned *) count;
}

static unsigned
waits_writes (void)
{
    unsigned n = 0;

    stack_foreach (waits_count_write, &n);
    return n;
}

static void
waits_interrupt_write (const call_stack_t *root, void *data)
{
    if (root->op == FOP_writev && !root->internal)
        stack_interrupt ((call_stack_t *) root);
}

static void
waits_interrupt_of (const call_stack_t *root, void *graph)
{
    if (root->frames[0].this->graph == graph)
        waits_interrupt_write (root, NULL);
}

static bool
waits_job_has_ended (const char *number)
{
    g_autoptr (GString) said = g_string_new (NULL);
    struct job_read read = { 0 };
    const int r = job_read ((unsigned) strtoul (number, NULL, 10), 0, 1000, said, &read);

    g_free (read.error);
    return r < 0 || read.ended;
}

static void
assert_file (const struct world *w, const char *expected)
{
    g_autofree char *upper = overlay_got (w, "changes/layers/0/file");

    ck_assert_str_eq (upper ? upper : "(none)", expected ? expected : "(none)");
}

static bool
waits_work_is_clean (const struct world *w)
{
    g_autofree char *path = world_path (w, "changes/work");
    GDir *dir = g_dir_open (path, 0, NULL);
    const char *name;
    bool clean = true;

    while ((name = g_dir_read_name (dir)))
        clean &= strcmp (name, "index") == 0 || strcmp (name, "lock") == 0
                 || strcmp (name, "records") == 0;
    g_dir_close (dir);
    return clean;
}

/* A caller of its own, which makes or renames a directory. */
struct waits_namer {
    struct world w;
    inode_t *directory; /* in which "a" is made; NULL: "e" is renamed to "d" */
    pthread_t thread;
    int r;
    bool done; /* atomic */
};

static void *
waits_name (void *data)
{
    struct waits_namer *namer = data;

    namer->w.client = client_new (namer->w.graph->top);
    if (namer->directory)
        inode_unref (world_mkdir (&namer->w, namer->directory, "a", 0755));
    else
        world_rename (&namer->w, namer->w.root, "e", namer->w.root, "d", 0);
    namer->r = namer->w.r;
    client_free (namer->w.client);
    __atomic_store_n (&namer->done, true, __ATOMIC_RELEASE);
    return NULL;
}

/* --- tests ------------------------------------------------------------------------------------ */

#define WRITERS 64

START_TEST (sixty_four_writers_make_one_copy)
{
    struct waits_writer writers[WRITERS];
    g_autoptr (GString) expected = g_string_new (NULL);
    inode_t *inode;
    struct world w = waits_begin ("", &inode);

    waits_start (&w, inode, writers, WRITERS);
    waits_join (writers, WRITERS, LINE);
    for (unsigned i = 0; i < WRITERS; i++)
        g_string_append_printf (expected, "line%03u\n", i);
    assert_file (&w, expected->str);
    ck_assert (waits_work_is_clean (&w));
    waits_end (&w, inode);
}
END_TEST

START_TEST (an_error_goes_to_all_writers_and_the_lower_stays)
{
    struct waits_writer writers[8];
    inode_t *inode;
    struct world w = waits_begin ("writev times 1 -> hang then error ENOSPC", &inode);
    g_autofree char *text = NULL;

    waits_start (&w, inode, writers, 8);
    OVERLAY_UNTIL (overlay_hangs (&w) && waits_writes () == 8);
    OVERLAY_UNTIL (overlay_release (&w));
    waits_join (writers, 8, -ENOSPC);
    assert_file (&w, NULL);
    ck_assert (waits_work_is_clean (&w));
    g_autoptr (fd_t) fd = world_open (&w, inode, O_RDWR);
    text = world_read (&w, fd, 100, 0);
    ck_assert_str_eq (text, "the lower's");
    ck_assert_int_eq (world_write (&w, fd, "our", 0), 3);
    assert_file (&w, "our lower's");
    g_clear_pointer (&fd, fd_unref);
    waits_end (&w, inode);
}
END_TEST

/* The file can be read meanwhile, and the copy is dropped once nobody waits for it. */
START_TEST (an_interrupted_writer_ends_at_once)
{
    struct waits_writer writers[3];
    inode_t *inode;
    struct world w = waits_begin ("writev times 1 -> hang", &inode);
    g_autofree char *text = NULL;

    waits_start (&w, inode, writers, 3);
    OVERLAY_UNTIL (overlay_hangs (&w) && waits_writes () == 3);
    g_autoptr (fd_t) fd = world_open (&w, inode, O_RDONLY);
    text = world_read (&w, fd, 100, 0);
    ck_assert_str_eq (text, "the lower's");
    stack_foreach (waits_interrupt_write, NULL);
    waits_join (writers, 3, -EINTR);
    ck_assert (!waits_work_is_clean (&w)); /* the copy still hangs */
    OVERLAY_UNTIL (overlay_release (&w));
    OVERLAY_UNTIL (waits_work_is_clean (&w));
    assert_file (&w, NULL);
    g_clear_pointer (&fd, fd_unref);
    waits_end (&w, inode);
}
END_TEST

/* A writer that comes while the dropped copy ends gets a copy. */
START_TEST (a_writer_that_comes_later_gets_its_copy)
{
    struct waits_writer writers[2];
    inode_t *inode;
    struct world w = waits_begin ("writev times 1 -> hang", &inode);

    waits_start (&w, inode, writers, 1);
    OVERLAY_UNTIL (overlay_hangs (&w) && waits_writes () == 1);
    stack_foreach (waits_interrupt_write, NULL);
    waits_join (writers, 1, -EINTR);
    waits_start (&w, inode, writers + 1, 1);
    OVERLAY_UNTIL (waits_writes () == 1);
    OVERLAY_UNTIL (overlay_release (&w));
    waits_join (writers + 1, 1, LINE);
    assert_file (&w, "line000\nr's");
    ck_assert (waits_work_is_clean (&w));
    waits_end (&w, inode);
}
END_TEST

START_TEST (a_lower_that_changes_while_it_is_copied_fails_the_change)
{
    struct waits_writer writers[2];
    inode_t *inode;
    struct world w = waits_begin ("writev times 1 -> hang", &inode);
    g_autofree char *path = world_path (&w, "lower/file"), *text = NULL;

    waits_start (&w, inode, writers, 2);
    OVERLAY_UNTIL (overlay_hangs (&w) && waits_writes () == 2);
    ck_assert_int_eq (truncate (path, 3), 0);
    OVERLAY_UNTIL (overlay_release (&w));
    waits_join (writers, 2, -EBUSY);
    assert_file (&w, NULL);
    g_autoptr (fd_t) fd = world_open (&w, inode, O_RDONLY);
    text = world_read (&w, fd, 100, 0);
    ck_assert_str_eq (text, "the");
    g_clear_pointer (&fd, fd_unref);
    waits_end (&w, inode);
}
END_TEST

/* The graph that comes after the world's. */
static struct world
waits_next (const struct world *w, const struct overlay_graph *with)
{
    struct world next = *w;

    next.graph = overlay_graph_load (w->dir, with);
    ck_assert (graph_join (next.graph, w->graph));
    ck_assert_int_eq (graph_activate (next.graph), 0);
    next.client = client_new (next.graph->top);
    inode_unref (posix_world_look (&next, w->root, "file"));
    graph_take_over (next.graph);
    return next;
}

/* Ends both graphs. */
static void
waits_next_end (struct world *w, const struct world *next)
{
    overlay_world_stop (w);
    w->graph = next->graph;
    w->client = next->client;
    overlay_world_end (w);
}

/* The graph that goes copies; the one that comes waits for that copy and uses it. */
START_TEST (the_next_graph_waits_for_a_copy_that_runs)
{
    struct waits_writer first[1], second[2];
    inode_t *inode;
    struct world w = waits_begin ("writev times 1 -> hang", &inode), next;

    waits_start (&w, inode, first, 1);
    OVERLAY_UNTIL (overlay_hangs (&w) && waits_writes () == 1);
    next = waits_next (&w, &overlay_faulty);
    waits_start (&next, inode, second, 2);
    OVERLAY_UNTIL (waits_writes () == 3);
    OVERLAY_UNTIL (overlay_release (&w));
    waits_join (first, 1, LINE);
    waits_join (second, 2, LINE);
    assert_file (&w, "line000\nline001\n");
    ck_assert (waits_work_is_clean (&w));
    g_clear_pointer (&inode, inode_unref);
    waits_next_end (&w, &next);
}
END_TEST

/* The kernel copies, without a request: neither the request that the old graph's copy was for, nor
 * one that it makes, hinders a pause. */
START_TEST (a_discard_waits_for_a_copy_of_an_old_graph)
{
    struct waits_writer first[1], second[1];
    struct world w = overlay_world_new (), next;
    g_autofree char *number = NULL;
    inode_t *inode;

    overlay_put (&w, "lower/file", "the lower's");
    overlay_world_start (&w, &(struct overlay_graph){});
    inode = posix_world_look (&w, w.root, "file");
    inode_unref (world_mkdir (&w, w.root, "new", 0755));
    kernel_copies_set (KERNEL_COPIES_HANG);
    waits_start (&w, inode, first, 1);
    OVERLAY_UNTIL (kernel_copies () == KERNEL_COPIES_HUNG);
    next = waits_next (&w, &(struct overlay_graph){});
    waits_start (&next, inode, second, 1);
    OVERLAY_UNTIL (waits_writes () == 2);
    stack_foreach (waits_interrupt_of, w.graph);
    waits_join (first, 1, -EINTR);
    number = overlay_tell (&next, "overlay", "discard", "");
    for (unsigned ms = 0; ms < 100; ms++) {
        ck_assert (!waits_job_has_ended (number));
        g_usleep (1000);
    }
    kernel_copies_set (KERNEL_COPIES_GO_ON);
    waits_join (second, 1, LINE);
    OVERLAY_UNTIL (waits_job_has_ended (number));
    g_clear_pointer (&inode, inode_unref);
    waits_next_end (&w, &next);
}
END_TEST

/* A write as the kernel makes it: its request is about the inode. */
struct waits_call {
    call_stack_t *root;
    struct iovec iov;
    int r;
    bool done; /* atomic */
};

static void
waits_call_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                int32_t op_errno, struct iatt *before, struct iatt *after, dict_t *xdata)
{
    struct waits_call *call = cookie;

    call->r = op_ret < 0 ? -op_errno : op_ret;
    stack_done (frame->root);
    __atomic_store_n (&call->done, true, __ATOMIC_RELEASE);
}

static void
waits_call (const struct world *w, fd_t *fd, off_t offset, struct waits_call *call)
{
    *call = (struct waits_call){ .iov = { (char *) "changed", 7 } };
    call->root = client_stack_new (w->client, FOP_writev);
    call->root->about = inode_nodeid (fd->inode);
    STACK_WIND_COOKIE (&call->root->frames[0], waits_call_cbk, call, w->graph->top, writev, fd,
                       &call->iov, 1, offset, 0, NULL, NULL);
}

static bool
waits_call_is_done (const struct waits_call *call)
{
    return __atomic_load_n (&call->done, __ATOMIC_ACQUIRE);
}

/* A file that the kernel copies in several pieces. It hangs in the first one. */
static struct world
waits_long_begin (inode_t **ret_inode, fd_t **ret_fd)
{
    struct world w = overlay_world_new ();
    g_autofree char *text = g_strnfill (4 << 20, 'a');

    overlay_put (&w, "lower/file", text);
    overlay_world_start (&w, &(struct overlay_graph){});
    *ret_inode = posix_world_look (&w, w.root, "file");
    *ret_fd = world_open (&w, *ret_inode, O_RDWR);
    kernel_copies_set (KERNEL_COPIES_HANG);
    return w;
}

#define WAITS_LONG INT64_C (60000000000) /* nanoseconds */

/* After the hold the copy goes on where it was. Neither a caller that is interrupted while the job
 * rests nor one that comes then hinders the hold. */
START_TEST (a_hold_waits_for_a_piece_of_a_copy_alone)
{
    struct waits_call first, second;
    inode_t *inode;
    fd_t *fd;
    struct world w = waits_long_begin (&inode, &fd);

    waits_call (&w, fd, 0, &first);
    OVERLAY_UNTIL (kernel_copies () == KERNEL_COPIES_HUNG);
    jobs_pause ();
    ck_assert (!stack_wait_for_end (STACKS_ANSWERED, clock_now ()));
    kernel_copies_set (KERNEL_COPIES_GO_ON);
    ck_assert (stack_wait_for_end (STACKS_IDLE, clock_now () + WAITS_LONG));
    assert_file (&w, NULL);
    waits_call (&w, fd, 10, &second);
    ck_assert (stack_wait_for_end (STACKS_IDLE, clock_now ()));
    ck_assert (!waits_call_is_done (&first));
    stack_interrupt (first.root);
    OVERLAY_UNTIL (waits_call_is_done (&first));
    ck_assert_int_eq (first.r, -EINTR);
    ck_assert (stack_wait_for_end (STACKS_IDLE, clock_now () + WAITS_LONG));
    ck_assert (!waits_work_is_clean (&w));
    jobs_go_on ();
    OVERLAY_UNTIL (waits_call_is_done (&second));
    ck_assert_int_eq (second.r, 7);
    g_autofree char *upper = overlay_got (&w, "changes/layers/0/file");
    ck_assert (g_str_has_prefix (upper, "aaaaaaaaaachangeda"));
    fd_unref (fd);
    waits_end (&w, inode);
}
END_TEST

/* A request that is not about the file: a move may not leave it where it is. */
START_TEST (a_copy_does_not_rest_if_a_hold_has_to_wait_for_it)
{
    struct waits_writer first[1];
    struct waits_call second;
    inode_t *inode;
    fd_t *fd;
    struct world w = waits_long_begin (&inode, &fd);

    waits_start (&w, inode, first, 1);
    OVERLAY_UNTIL (kernel_copies () == KERNEL_COPIES_HUNG);
    waits_call (&w, fd, LINE, &second);
    jobs_pause ();
    kernel_copies_set (KERNEL_COPIES_GO_ON);
    waits_join (first, 1, LINE);
    OVERLAY_UNTIL (waits_call_is_done (&second));
    jobs_go_on ();
    ck_assert_int_eq (second.r, 7);
    fd_unref (fd);
    waits_end (&w, inode);
}
END_TEST

/* The name would be lost with the directory. A rename that does not wait ends within the time that
 * it gets here. */
START_TEST (a_directory_in_which_a_name_is_being_made_is_not_replaced)
{
    struct world w = overlay_world_new ();
    struct waits_namer maker = { 0 }, renamer = { 0 };
    inode_t *e;

    overlay_world_start (&w, &overlay_faulty);
    maker.directory = world_mkdir (&w, w.root, "d", 0755);
    e = world_mkdir (&w, w.root, "e", 0755);
    g_free (overlay_tell (&w, "fault", "rules", "mkdir times 1 -> hang"));
    maker.w = renamer.w = w;
    ck_assert_int_eq (thread_new (&maker.thread, "maker", waits_name, &maker), 0);
    OVERLAY_UNTIL (overlay_hangs (&w));
    ck_assert_int_eq (thread_new (&renamer.thread, "renamer", waits_name, &renamer), 0);
    for (unsigned ms = 0; ms < 100 && !__atomic_load_n (&renamer.done, __ATOMIC_ACQUIRE); ms++)
        g_usleep (1000);
    OVERLAY_UNTIL (overlay_release (&w));
    pthread_join (maker.thread, NULL);
    pthread_join (renamer.thread, NULL);
    ck_assert_int_eq (maker.r, 0);
    ck_assert_int_eq (renamer.r, -ENOTEMPTY);
    inode_unref (maker.directory);
    inode_unref (e);
    overlay_world_end (&w);
}
END_TEST

TEST_PROGRAM (test_overlay_waits)
{
    Suite *suite = suite_create ("overlay waits");
    TCase *tcase = tcase_create ("waits");

    tcase_add_test (tcase, sixty_four_writers_make_one_copy);
    tcase_add_test (tcase, an_error_goes_to_all_writers_and_the_lower_stays);
    tcase_add_test (tcase, an_interrupted_writer_ends_at_once);
    tcase_add_test (tcase, a_writer_that_comes_later_gets_its_copy);
    tcase_add_test (tcase, a_lower_that_changes_while_it_is_copied_fails_the_change);
    tcase_add_test (tcase, a_directory_in_which_a_name_is_being_made_is_not_replaced);
    tcase_add_test (tcase, the_next_graph_waits_for_a_copy_that_runs);
    tcase_add_test (tcase, a_discard_waits_for_a_copy_of_an_old_graph);
    tcase_add_test (tcase, a_hold_waits_for_a_piece_of_a_copy_alone);
    tcase_add_test (tcase, a_copy_does_not_rest_if_a_hold_has_to_wait_for_it);
    tcase_set_timeout (tcase, 120);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
