/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is slow is done elsewhere: winds that land in another thread (core/elsewhere.h), and reads of storage that wait for a disk. */
#include "core/elsewhere.h"
#include "flow.h"

#include <sys/mman.h>
#include <sys/uio.h>

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
    if (asked->here)
        elsewhere_note (elsewhere, FOP_readv, begin, ticks_now ());
    flow_wait (flow, 0);
}

START_TEST (what_gets_slow_goes_and_what_is_quick_again_comes_back)
{
    struct flow *flow = flow_begin (BLOCKING ("2000"));
    struct elsewhere *elsewhere = elsewhere_new (flow->w.graph->top, MS / 2, false);
    struct asked asked = { .here = true };
    unsigned here;

    for (here = 0; asked.here; here++) {
        read_measured (flow, elsewhere, &asked);
        ck_assert_uint_le (here, 2); /* it may have been in doubt */
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

/* It is on the disk, or in memory: the one is read by another thread, the other at once. */
START_TEST (a_thread_that_hurries_reads_what_is_in_memory_itself_and_nothing_else)
{
    struct flow *flow = flow_begin ("");
    g_autofree char *path = world_path (&flow->w, "cold"), *zeros = g_malloc0 (COLD);
    g_autoptr (inode_t) inode = NULL;
    g_autoptr (fd_t) fd = NULL;
    struct asked asked;

    ck_assert (g_file_set_contents (path, zeros, COLD, NULL));
    inode = world_look (&flow->w, flow->w.root, "cold");
    fd = world_open (&flow->w, inode, O_RDONLY);
    thread_hurries = true;
    if (make_cold (path)) {
        ask_far (flow, &asked, fd);
        flow_wait (flow, 0);
        ck_assert (!asked.here);
        ck_assert_int_eq (asked.r, 4096);
    }
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
    g_clear_pointer (&inode, inode_unref);
    flow_end (flow);
}
END_TEST

int
main (void)
{
    Suite *suite = suite_create ("elsewhere");
    TCase *tcase = tcase_create ("elsewhere");

    tcase_set_timeout (tcase, 60);
    tcase_add_test (tcase, who_hangs_keeps_nobody_who_asks_for_something_else);
    tcase_add_test (tcase, what_gets_slow_goes_and_what_is_quick_again_comes_back);
    tcase_add_test (tcase, the_end_waits_for_what_is_elsewhere);
    tcase_add_test (tcase, a_thread_that_hurries_reads_what_is_in_memory_itself_and_nothing_else);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
