/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug */
/* What is slow is done elsewhere: winds that land in another thread (core/elsewhere.h), and reads of storage that wait for a disk. */
#include "core/elsewhere.h"
#include "flow.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define MEET(n) "end-volume\nvolume slow\ntype test/meet\noption readers " n "\nsubvolumes posix\n"

/* Sixteen are held below until there are seventeen. */
START_TEST (who_hangs_keeps_nobody_who_asks_for_something_else)
{
    struct flow *flow = flow_begin (MEET ("17"));
    struct elsewhere *elsewhere = elsewhere_new (flow->w.graph->top, 500 * MS, true);
    struct asked reads[17], stats[40];

    for (unsigned i = 0; i < 16; i++)
        ask_read (flow, &reads[i], 1001);
    for (unsigned i = 0; i < 40; i++) {
        ask_stat (flow, &stats[i], 1002);
        flow_wait (flow, 16);
        ck_assert_int_eq (stats[i].r, 0);
    }
    ck_assert (stats[39].here); /* the first was quick */
    ask_read (flow, &reads[16], 1001);
    flow_wait (flow, 0);
    for (unsigned i = 0; i < 17; i++)
        ck_assert_int_eq (reads[i].r, 4);
    elsewhere_free (elsewhere);
    flow_end (flow);
}
END_TEST

static void
read_measured (struct flow *flow, struct elsewhere *elsewhere, struct asked *asked)
{
    const uint64_t begin = ticks_now ();

    ask_read (flow, asked, 1001);
    const uint64_t end = ticks_now ();
    flow_wait (flow, 0);
    if (asked->here)
        elsewhere_note (elsewhere, FOP_readv, begin, end);
}

START_TEST (what_gets_slow_goes_and_what_is_quick_again_comes_back)
{
    struct flow *flow = flow_begin (BLOCKING ("2000"));
    struct elsewhere *elsewhere = elsewhere_new (flow->w.graph->top, MS / 2, false);
    struct asked asked = { .here = true };
    unsigned here;

    for (here = 0; asked.here; here++) {
        read_measured (flow, elsewhere, &asked);
        ck_assert_uint_le (here, 50); /* it may have been in doubt, again where this thread lost the processor between two */
    }
    for (unsigned i = 0; i < 5; i++) {
        read_measured (flow, elsewhere, &asked);
        ck_assert (!asked.here);
    }
    quick_set (&elsewhere->quick, 3600 * 1000 * MS);
    while (!asked.here)
        read_measured (flow, elsewhere, &asked);
    ck_assert_uint_ge (elsewhere->handed, 6);
    elsewhere_free (elsewhere);
    flow_end (flow);
}
END_TEST

/* As the bridge does, whose answer wakes somebody, who takes the processor. */
static void
answer_and_lose_processor (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct iovec *vector, int32_t count,
                           struct iatt *stbuf, struct iobref *iobref, dict_t *xdata)
{
    elsewhere_answers ();
    read_cbk (frame, cookie, this, op_ret, op_errno, vector, count, stbuf, iobref, xdata);
    g_usleep (30000);
}

static void
compute_and_answer (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct iovec *vector, int32_t count,
                    struct iatt *stbuf, struct iobref *iobref, dict_t *xdata)
{
    const int64_t until = thread_ran () + 2 * MS;

    while (thread_ran () < until)
        ;
    elsewhere_answers ();
    read_cbk (frame, cookie, this, op_ret, op_errno, vector, count, stbuf, iobref, xdata);
}

/* What is slow. The machine may be so slow itself now and then. */
static void
comes_back (readv_cbk *answer, int64_t limit)
{
    struct flow *flow = flow_begin ("");
    xlator_t *top = flow->w.graph->top;
    struct elsewhere *elsewhere = elsewhere_new (top, limit, true);
    struct asked asked;

    for (unsigned i = 0; i < 500 && !quick_is (&elsewhere->quick, FOP_readv); i++) {
        call_frame_t *frame = ask_begin (flow, &asked, 1001, FOP_readv);

        STACK_WIND_COOKIE (frame, answer, &asked, top, readv, flow->fd, 4, 0, 0, NULL);
        flow_wait (flow, 0);
        ck_assert (pool_wait (elsewhere->pool, -1));
    }
    ck_assert (quick_is (&elsewhere->quick, FOP_readv));
    elsewhere_free (elsewhere);
    flow_end (flow);
}

/* Else it would be slow for good. */
START_TEST (what_is_elsewhere_took_as_long_as_until_its_answer)
{
    comes_back (answer_and_lose_processor, 20 * MS);
}
END_TEST

/* No other thread does it more quickly. */
START_TEST (what_is_elsewhere_took_as_long_as_it_waited)
{
    comes_back (compute_and_answer, MS);
}
END_TEST

START_TEST (the_end_waits_for_what_is_elsewhere)
{
    struct flow *flow = flow_begin (BLOCKING ("20000"));
    struct elsewhere *elsewhere = elsewhere_new (flow->w.graph->top, 0, true);
    struct asked asked[30];

    for (unsigned i = 0; i < 30; i++)
        ask_read (flow, &asked[i], 1001);
    elsewhere_free (elsewhere);
    pthread_mutex_lock (&flow->lock);
    ck_assert_uint_eq (flow->answered, 30);
    pthread_mutex_unlock (&flow->lock);
    ask_read (flow, &asked[0], 1001);
    flow_wait (flow, 0);
    ck_assert (asked[0].here);
    flow_end (flow);
}
END_TEST

/* Until it is told to go: stopped, so that signals wait. */
static pid_t
stopped_process (void)
{
    pid_t pid = fork ();
    int status;

    if (pid == 0) {
        signal (SIGUSR1, (void (*) (int)) _exit);
        raise (SIGSTOP);
        pause ();
        _exit (1);
    }
    ck_assert_int_gt (pid, 0);
    ck_assert_int_eq (waitpid (pid, &status, WUNTRACED), pid);
    return pid;
}

static void
end_process (pid_t pid)
{
    int status;

    kill (pid, SIGKILL);
    ck_assert_int_eq (waitpid (pid, &status, 0), pid);
}

/* The one thread hangs, and four wait for it: who is to be killed goes; who was told of a tick does so when he is killed after that; what is
 * owed is done, and so is what nobody interrupted. */
START_TEST (who_waits_for_a_thread_may_lose_patience)
{
    struct flow *flow = flow_begin (HELD);
    struct elsewhere *elsewhere = elsewhere_new (flow->w.graph->top, 0, true);
    struct asked hangs, killed, flush, ticking, other;
    const pid_t process = stopped_process ();

    pool_free (elsewhere->pool);
    elsewhere->pool = pool_new ("slow", 1);
    ask_read (flow, &hangs, 0);
    while (pool_count (elsewhere->pool).busy == 0)
        g_usleep (1000);
    ask_read (flow, &killed, 0);
    ask_flush (flow, &flush, 0);
    ask_read (flow, &ticking, process);
    ask_stat (flow, &other, 0);
    stack_interrupt (ticking.root);
    stack_interrupt (flush.root);
    stack_interrupt (killed.root);
    flow_wait (flow, 4);
    ck_assert_uint_eq (killed.turn, 1);
    ck_assert_int_eq (killed.r, -EINTR);
    kill (process, SIGUSR1);
    flow_wait (flow, 3);
    ck_assert_uint_eq (ticking.turn, 2);
    ck_assert_int_eq (ticking.r, -EINTR);
    ck_assert_uint_eq (pool_count (elsewhere->pool).waiting, 2);
    let_go (flow); /* nothing hangs any more */
    flow_wait (flow, 0);
    ck_assert_int_eq (hangs.r, 4);
    ck_assert_int_eq (flush.r, 0);
    ck_assert_int_eq (other.r, 0);
    end_process (process);
    elsewhere_free (elsewhere);
    flow_end (flow);
}
END_TEST

/* As a mount does, none is interrupted that was answered: hence the lock. */
START_TEST (interrupts_race_with_threads_and_each_is_answered_once)
{
    struct flow *flow = flow_begin (BLOCKING ("0"));
    struct elsewhere *elsewhere = elsewhere_new (flow->w.graph->top, 0, true);
    struct asked *asked = g_new0 (struct asked, 400);
    pthread_t thread;

    pool_free (elsewhere->pool);
    elsewhere->pool = pool_new ("slow", 2);
    for (unsigned i = 0; i < 400; i++)
        ask_read (flow, &asked[i], 0);
    ck_assert_int_eq (thread_new (&thread, "interrupts", interrupt_all, asked), 0);
    thread_join (thread);
    flow_wait (flow, 0);
    for (unsigned i = 0; i < 400; i++)
        ck_assert (asked[i].r == 4 || asked[i].r == -EINTR);
    g_free (asked);
    elsewhere_free (elsewhere);
    flow_end (flow);
}
END_TEST

static void *
route_again (void *data)
{
    xlator_t *top = data;

    for (unsigned i = 0; i < 100000; i++)
        xlator_route (top);
    __atomic_store_n (&top->elsewhere->handed, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Requests are wound while routes are made anew, as they are whenever something gets slow or quick, or is watched. */
START_TEST (what_is_slow_is_not_routed_in_place_for_a_moment)
{
    struct flow *flow = flow_begin ("");
    xlator_t *top = flow->w.graph->top;
    struct elsewhere *elsewhere = elsewhere_new (top, 0, true);
    unsigned in_place = 0;
    pthread_t thread;

    ck_assert_int_eq (thread_new (&thread, "router", route_again, top), 0);
    while (!__atomic_load_n (&elsewhere->handed, __ATOMIC_ACQUIRE))
        in_place += __atomic_load_n (&top->routes.lookup.call, __ATOMIC_RELAXED) != elsewhere_lookup;
    thread_join (thread);
    ck_assert_uint_eq (in_place, 0);
    elsewhere_free (elsewhere);
    flow_end (flow);
}
END_TEST

/* --- storage -------------------------------------------------------------------------------------- */

#define COLD (1 << 20)

/* Out of memory with it; false where that can't be had, as on tmpfs. Looked at without reading, which would have it read ahead. */
static bool
make_cold (const char *path)
{
    char byte;
    unsigned char in_memory = 1;
    const struct iovec one = { &byte, 1 };
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    void *last;

    ck_assert_int_ge (fd, 0);
    fsync (fd);
    const bool can_tell = preadv2 (fd, &one, 1, 0, RWF_NOWAIT) == 1 || errno == EAGAIN;
    posix_fadvise (fd, 0, 0, POSIX_FADV_DONTNEED);
    last = mmap (NULL, 4096, PROT_READ, MAP_SHARED, fd, COLD - 4096);
    ck_assert_ptr_ne (last, MAP_FAILED);
    ck_assert_int_eq (mincore (last, 4096, &in_memory), 0);
    munmap (last, 4096);
    close (fd);
    return can_tell && !(in_memory & 1);
}

static void
ask_far (struct flow *flow, struct asked *asked, fd_t *fd)
{
    call_frame_t *frame = ask_begin (flow, asked, 1001, FOP_readv);

    STACK_WIND_COOKIE (frame, read_cbk, asked, flow->w.graph->top, readv, fd, 4096, COLD - 4096, 0, NULL);
}

/* Whether a thread of storage's read it. To find out has the system ask the disk, which may be done before this thread has the processor again: on
 * a virtual machine whose hypervisor is busy, hundreds of times in a row. */
static bool
ask_cold (struct flow *flow, struct asked *asked, fd_t *fd, const char *path)
{
    const int64_t until = clock_now () + INT64_C (20000000000);
    bool late = false, cold = true;

    while (!late && clock_now () < until && (cold = make_cold (path))) {
        ask_far (flow, asked, fd);
        flow_wait (flow, 0);
        ck_assert_int_eq (asked->r, 4096);
        late = g_str_has_prefix (asked->by, "disk-");
    }
    return !cold || late;
}

static fd_t *
open_large (struct flow *flow, char **ret_path)
{
    g_autofree char *zeros = g_malloc0 (COLD);
    g_autoptr (inode_t) inode = NULL;

    *ret_path = world_path (&flow->w, "cold");
    ck_assert (g_file_set_contents (*ret_path, zeros, COLD, NULL));
    inode = world_look (&flow->w, flow->w.root, "cold");
    return world_open (&flow->w, inode, O_RDONLY);
}

/* It is on the disk, or in memory: the one is read by another thread, the other at once. */
START_TEST (a_thread_that_hurries_reads_what_is_in_memory_itself_and_nothing_else)
{
    struct flow *flow = flow_begin ("");
    g_autofree char *path = NULL;
    g_autoptr (fd_t) fd = open_large (flow, &path);
    struct asked asked;

    thread_hurries = true;
    ck_assert (ask_cold (flow, &asked, fd, path));
    ask_far (flow, &asked, fd);
    flow_wait (flow, 0);
    ck_assert (asked.here);
    ck_assert_int_eq (asked.r, 4096);
    thread_hurries = false;
    if (make_cold (path)) {
        ask_far (flow, &asked, fd); /* another thread waits for the disk itself */
        flow_wait (flow, 0);
        ck_assert (asked.here);
    }
    g_clear_pointer (&fd, fd_unref);
    flow_end (flow);
}
END_TEST

/* Else one read that was slow would have all after it wait here for the disk, and be slow. */
START_TEST (what_is_done_elsewhere_is_done_in_as_much_of_a_hurry)
{
    struct flow *flow = flow_begin ("");
    struct elsewhere *elsewhere = elsewhere_new (flow->w.graph->top, 0, true);
    g_autofree char *path = NULL;
    g_autoptr (fd_t) fd = open_large (flow, &path);
    struct asked asked;

    ck_assert (ask_cold (flow, &asked, fd, path));
    ask_far (flow, &asked, fd);
    flow_wait (flow, 0);
    ck_assert (g_str_has_prefix (asked.by, "slow-"));
    g_clear_pointer (&fd, fd_unref);
    elsewhere_free (elsewhere);
    flow_end (flow);
}
END_TEST

TEST_PROGRAM (test_elsewhere)
{
    Suite *suite = suite_create ("elsewhere");
    TCase *tcase = tcase_create ("elsewhere");

    tcase_set_timeout (tcase, 60);
    tcase_add_test (tcase, who_hangs_keeps_nobody_who_asks_for_something_else);
    tcase_add_test (tcase, what_gets_slow_goes_and_what_is_quick_again_comes_back);
    tcase_add_test (tcase, what_is_elsewhere_took_as_long_as_until_its_answer);
    tcase_add_test (tcase, what_is_elsewhere_took_as_long_as_it_waited);
    tcase_add_test (tcase, the_end_waits_for_what_is_elsewhere);
    tcase_add_test (tcase, who_waits_for_a_thread_may_lose_patience);
    tcase_add_test (tcase, interrupts_race_with_threads_and_each_is_answered_once);
    tcase_add_test (tcase, what_is_slow_is_not_routed_in_place_for_a_moment);
    tcase_add_test (tcase, a_thread_that_hurries_reads_what_is_in_memory_itself_and_nothing_else);
    tcase_add_test (tcase, what_is_done_elsewhere_is_done_in_as_much_of_a_hurry);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
