/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The threads that read requests from /dev/fuse: fuse-0, fuse-1, ...; ring/workers.c has those of
 * io_uring, fuse-ring-N. A reader takes a request from the kernel, runs it to storage and back, and
 * returns for the next. A few readers wait at a time, since the kernel then wakes one that ran last
 * where the caller runs. More waiting readers would have cold caches, so the rest is parked. When
 * the last waiting reader takes a request, it wakes a parked reader or starts a new one. If it
 * can't, it leaves work that may block to core/work. Readers that aren't needed for a while end.
 */
#include "fuse/internal.h"
#include "fuse/move/hold.h"

#include "core/report/watchdog.h"

#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Interrupts a thread's wait for a request. */
#define SIGNAL_WAKE (SIGRTMIN + 1)

/* one more than reader-thread-count: the extra reader takes the next request while the others
 * wait */
#define WAITING 4
#define GATHER 2000 /* microseconds */
/* nanoseconds; surplus readers end this long after the last reader was added */
#define KEEP INT64_C (10000000000)

/* The buffer of this thread's current request, its number, and the group that came with it. */
static __thread struct iobref *lent;
static __thread uint64_t number;
static __thread gid_t group = NO_GROUP;

struct iobref *
loop_iobref (void)
{
    return lent;
}

uint64_t
loop_number (void)
{
    return number;
}

gid_t
loop_group (void)
{
    return group;
}

void
loop_lend (struct iobref *iobref, const void *message, size_t size)
{
    lent = iobref;
    number = ((const struct fuse_in_header *) message)->unique;
    group = groups_sent (message, size);
}

void
bridge_timer_begins (struct bridge *bridge)
{
    pthread_mutex_lock (&bridge->lock);
    bridge->timers++;
    pthread_mutex_unlock (&bridge->lock);
}

void
bridge_timer_ends (struct bridge *bridge)
{
    pthread_mutex_lock (&bridge->lock);
    bridge->timers--;
    pthread_cond_broadcast (&bridge->changed);
    pthread_mutex_unlock (&bridge->lock);
}

void
loop_set_state (struct bridge *bridge, enum bridge_state state)
{
    pthread_mutex_lock (&bridge->lock);
    if (state > bridge->state)
        bridge->state = state;
    pthread_cond_broadcast (&bridge->changed);
    pthread_mutex_unlock (&bridge->lock);
}

int
bridge_wait_ready (struct bridge *bridge)
{
    pthread_mutex_lock (&bridge->lock);
    while (bridge->state == BRIDGE_WAITING)
        pthread_cond_wait (&bridge->changed, &bridge->lock);
    pthread_mutex_unlock (&bridge->lock);
    /* The mount may have ended already, if it was unmounted quickly. */
    if (!__atomic_load_n (&bridge->terms.session_up, __ATOMIC_ACQUIRE))
        return -EIO;
    session_read_ahead (bridge);
    return 0;
}

/* Makes sure that no other code uses the buffer: reuses the last one, unless a translator kept
 * it. */
bool
loop_buffer (struct reader *reader)
{
    struct iobuf *iobuf;

    if (reader->iobref && iobref_writable (reader->iobref))
        return true;
    iobref_unref (reader->iobref);
    reader->iobref = NULL;
    iobuf = iobuf_new (PAYLOAD_OFFSET + MAX_PAYLOAD);
    if (!iobuf)
        return false;
    reader->iobref = iobref_new ();
    iobref_add (reader->iobref, iobuf);
    iobuf_unref (iobuf);
    return true;
}

/* Takes a request into buf. Returns its size; 0 if the mount is gone; or a negative errno. */
static int
reader_receive (struct reader *reader, struct fuse_buf *buf)
{
    if (!loop_buffer (reader))
        return -ENOMEM;
    memset (buf, 0, sizeof *buf);
    buf->mem = (char *) reader->iobref->bufs[0]->ptr + PAYLOAD_OFFSET - WRITE_HEADER;
    return fuse_session_receive_buf (reader->bridge->session, buf);
}

static void *reader_run (void *data);

static int
reader_start_locked (struct bridge *bridge)
{
    struct reader *reader = bridge->threads.readers;
    char name[16];
    int r;

    while (reader->running)
        reader++; /* there are fewer than READERS_MAX */
    reader->bridge = bridge;
    snprintf (name, sizeof name, "fuse-%u", (unsigned) (reader - bridge->threads.readers));
    r = loop_start_locked (reader, name);
    if (r == 0)
        bridge->threads.n_readers++;
    return r;
}

/* Adds a reader if the maximum isn't reached. Returns whether there is one more. */
static bool
reader_add_locked (struct bridge *bridge)
{
    if (bridge->threads.n_readers == READERS_MAX || bridge->stopping
        || !attempt_is_due (&bridge->threads.starts))
        return false;
    bridge->threads.grown = clock_now ();
    return attempt_ended (&bridge->threads.starts, &bridge->xlator, reader_start_locked (bridge),
                          "thread for requests")
        == 0;
}

/* With a ring, only forgets and interrupts are read from the device. */
static unsigned
waiting_most (const struct bridge *bridge)
{
    if (bridge_uses_io_uring (bridge))
        return 1;
    return bridge->settings.reader_threads ? (unsigned) bridge->settings.reader_threads + 1
                                           : WAITING;
}

static bool
enough_wait (const struct bridge *bridge)
{
    return __atomic_load_n (&bridge->threads.idle, __ATOMIC_SEQ_CST) >= waiting_most (bridge);
}

/* Counts this reader as waiting, unless enough readers wait. A surplus one would keep its memory
 * while no requests come. */
static bool
wait_begins (struct bridge *bridge)
{
    const unsigned most = waiting_most (bridge);
    unsigned idle = __atomic_load_n (&bridge->threads.idle, __ATOMIC_SEQ_CST);

    do
        if (idle >= most)
            return false;
    while (!__atomic_compare_exchange_n (&bridge->threads.idle, &idle, idle + 1, true,
                                         __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return true;
}

static void
reader_leave_locked (struct reader *reader)
{
    struct bridge *bridge = reader->bridge;

    iobref_unref (g_steal_pointer (&reader->iobref));
    reader->running = false;
    bridge->threads.n_readers--;
    bridge->threads.n_running--;
    pthread_detach (reader->thread);
}

/* Waits until readers are needed. Returns true if this reader has been surplus for long enough. */
static bool
wait_to_be_needed_locked (struct bridge *bridge)
{
    if (bridge->threads.n_readers <= waiting_most (bridge)) {
        pthread_cond_wait (&bridge->threads.needed, &bridge->lock);
        return false;
    }
    return thread_cond_wait_until (&bridge->threads.needed, &bridge->lock,
                                   bridge->threads.grown + KEEP)
            == -ETIMEDOUT
        && bridge->threads.n_readers > waiting_most (bridge) && enough_wait (bridge)
        && !__atomic_load_n (&bridge->stopping, __ATOMIC_ACQUIRE);
}

/* Parks the reader until it is needed. Returns false if it must end; another thread may then use
 * its struct. */
static bool
reader_park (struct reader *reader)
{
    struct bridge *bridge = reader->bridge;
    bool leaves = false;

    pthread_mutex_lock (&bridge->lock);
    __atomic_add_fetch (&bridge->threads.parked, 1, __ATOMIC_SEQ_CST);
    thread_set_idle (true);
    while (!leaves && enough_wait (bridge)
           && !__atomic_load_n (&bridge->stopping, __ATOMIC_ACQUIRE))
        leaves = wait_to_be_needed_locked (bridge);
    thread_set_idle (false);
    __atomic_sub_fetch (&bridge->threads.parked, 1, __ATOMIC_SEQ_CST);
    if (leaves)
        reader_leave_locked (reader);
    pthread_mutex_unlock (&bridge->lock);
    return !leaves;
}

/* Called if no reader waits any more: wakes a parked reader or adds one. Returns whether one will
 * wait. A reader that parks increments `parked` before it checks whether it is needed: either this
 * function sees it, or it sees that no reader waits. */
static bool
reader_call (struct bridge *bridge)
{
    bool called;

    pthread_mutex_lock (&bridge->lock);
    called = __atomic_load_n (&bridge->threads.parked, __ATOMIC_SEQ_CST) > 0
          || reader_add_locked (bridge);
    pthread_cond_signal (&bridge->threads.needed);
    pthread_mutex_unlock (&bridge->lock);
    return called;
}

/* With a ring: returns whether the message is a forget or an interrupt, for which no caller waits
 * and which can't block its thread. */
static bool
is_aside (const struct bridge *bridge, const struct fuse_buf *buf)
{
    const uint32_t opcode = ((const struct fuse_in_header *) buf->mem)->opcode;

    return bridge_uses_io_uring (bridge)
        && (opcode == FUSE_FORGET || opcode == FUSE_BATCH_FORGET || opcode == FUSE_INTERRUPT);
}

/* Waits a moment, so that several forgets come in one request. Otherwise the kernel sends them one
 * by one, and each wakes a thread. An interrupt can wait that long. */
static void
let_gather (const struct bridge *bridge)
{
    if (!__atomic_load_n (&bridge->stopping, __ATOMIC_ACQUIRE))
        g_usleep (GATHER);
}

/* Returns false if another thread may use the struct reader now. */
static bool
reader_loop (struct reader *reader)
{
    struct bridge *bridge = reader->bridge;
    const bool follows = bridge->settings.follow_callers;
    struct fuse_buf buf;

    if (follows)
        place_begin (&reader->place);
    while (!__atomic_load_n (&bridge->stopping, __ATOMIC_ACQUIRE)
           && !fuse_session_exited (bridge->session)) {
        if (!wait_begins (bridge)) {
            if (!reader_park (reader))
                return false;
            continue;
        }
        int n = reader_receive (reader, &buf);
        unsigned idle = __atomic_sub_fetch (&bridge->threads.idle, 1, __ATOMIC_SEQ_CST);
        if (n == 0)
            break;
        if (n == -EINTR || n == -EAGAIN)
            continue;
        if (n < 0) {
            gf_log (&bridge->xlator, GF_LOG_WARNING, "can't take a request from the kernel: %s",
                    g_strerror (-n));
            g_usleep (10000);
            continue;
        }
        const bool aside = is_aside (bridge, &buf);
        thread_may_not_block = idle == 0 && !aside && !reader_call (bridge);
        if (follows)
            place_taken (&reader->place, ((const struct fuse_in_header *) buf.mem)->pid);
        if (bridge_uses_io_uring (bridge))
            ring_interrupt (bridge, buf.mem, n);
        loop_lend (reader->iobref, buf.mem, buf.size);
        hold_process (reader, &buf);
        if (follows)
            place_answered (&reader->place);
        if (aside)
            let_gather (bridge);
    }
    return true;
}

/* Called by each reader that finds the mount gone; the first one reports it, since others may hang
 * below for ever. */
static void
mount_is_gone (struct bridge *bridge)
{
    bool known;

    pthread_mutex_lock (&bridge->lock);
    known = __atomic_exchange_n (&bridge->stopping, true, __ATOMIC_ACQ_REL);
    if (!known)
        ring_gone_locked (bridge);
    pthread_cond_broadcast (&bridge->threads.needed);
    pthread_mutex_unlock (&bridge->lock);
    if (!known)
        bridge->hooks->gone ();
}

static void
reader_end (struct reader *reader)
{
    struct bridge *bridge = reader->bridge;

    iobref_unref (g_steal_pointer (&reader->iobref));
    if (!reader->in_ring)
        mount_is_gone (bridge);
    pthread_mutex_lock (&bridge->lock);
    if (--bridge->threads.n_running == 0)
        bridge->state = BRIDGE_OVER;
    pthread_cond_broadcast (&bridge->changed);
    pthread_mutex_unlock (&bridge->lock);
}

static void *
reader_run (void *data)
{
    struct reader *reader = data;
    sigset_t wake;
    bool ours = true;

    sigemptyset (&wake);
    sigaddset (&wake, SIGNAL_WAKE);
    pthread_sigmask (SIG_UNBLOCK, &wake, NULL);
    if (reader->in_ring)
        ring_run (reader);
    else
        ours = reader_loop (reader);
    if (ours)
        reader_end (reader);
    return NULL;
}

int
loop_start_locked (struct reader *reader, const char *name)
{
    struct bridge *bridge = reader->bridge;
    int r = bridge->stopping ? -ESHUTDOWN : thread_new (&reader->thread, name, reader_run, reader);

    if (r < 0)
        return r;
    reader->running = true;
    bridge->threads.n_running++;
    return 0;
}

static void
wake_up (int signal_number)
{
}

int
bridge_start (struct bridge *bridge, const struct bridge_hooks *hooks)
{
    struct sigaction action = { .sa_handler = wake_up }; /* without SA_RESTART, so that the read
                                                          * ends */
    int r;

    sigaction (SIGNAL_WAKE, &action, NULL);
    bridge->hooks = hooks;
    pthread_mutex_lock (&bridge->lock);
    r = reader_start_locked (bridge);
    for (unsigned i = 1; r == 0 && i < waiting_most (bridge); i++)
        r = reader_start_locked (bridge);
    pthread_mutex_unlock (&bridge->lock);
    if (r == 0)
        watchdog_set (bridge->settings.stuck_after);
    return r;
}

static void
signal_all_locked (struct bridge *bridge)
{
    for (unsigned i = 0; i < READERS_MAX; i++)
        if (bridge->threads.readers[i].running)
            pthread_kill (bridge->threads.readers[i].thread, SIGNAL_WAKE);
    ring_signal_locked (bridge, SIGNAL_WAKE);
}

/* Wakes the threads until all have ended. If the mount is gone, no thread waits for the kernel, and
 * a signal could only interrupt an operation below. If files are still open, threads do wait. A
 * signal between a thread's check of `stopping` and its read is lost, so signals are repeated. */
static bool
loop_wake_locked (struct bridge *bridge, int64_t until)
{
    while (bridge->threads.n_running > 0 && clock_now () < until) {
        if (bridge_connection_is_gone (bridge))
            ring_gone_locked (bridge);
        else
            signal_all_locked (bridge);
        thread_cond_wait_until (&bridge->changed, &bridge->lock, clock_now () + 20000000);
    }
    return bridge->threads.n_running == 0;
}

/* The remaining requests are logged later. */
static void
report_left (const struct bridge *bridge, unsigned running, int64_t patience)
{
    const int s = (int) (patience / 1000000000);

    if (running > 0)
        gf_log (&bridge->xlator, GF_LOG_WARNING,
                "%u of the threads that take requests didn't end within %d s", running, s);
    else
        gf_log (&bridge->xlator, GF_LOG_WARNING,
                "operations on other threads (work-N) didn't end within %d s", s);
}

bool
loop_stop (struct bridge *bridge, int64_t patience)
{
    const int64_t until = clock_now () + patience;
    unsigned running;
    bool stopped;

    pthread_mutex_lock (&bridge->lock);
    __atomic_store_n (&bridge->stopping, true, __ATOMIC_RELEASE);
    pthread_cond_broadcast (&bridge->threads.needed);
    pthread_cond_broadcast (&bridge->changed);
    stopped = loop_wake_locked (bridge, until);
    running = bridge->threads.n_running;
    ring_unwatch_locked (bridge);
    while (stopped && bridge->timers)
        stopped = thread_cond_wait_until (&bridge->changed, &bridge->lock, until) == 0;
    pthread_mutex_unlock (&bridge->lock);
    stopped = stopped && limits_stop (bridge, until);
    if (!stopped) {
        report_left (bridge, running, patience);
        return false;
    }
    watchdog_set (0);
    for (unsigned i = 0; i < READERS_MAX; i++)
        if (bridge->threads.readers[i].running)
            pthread_join (bridge->threads.readers[i].thread, NULL);
    bridge->threads.n_readers = 0;
    ring_join (bridge);
    return true;
}
