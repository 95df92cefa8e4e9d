/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/threads/device.h"

#include "fuse/move/hold.h"
#include "fuse/state.h"
#include "fuse/threads/threads.h"

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

/* --- taking requests -------------------------------------------------------------------------- */

/* Takes a request into buf. Returns its size; 0 if the mount is gone; or a negative errno. */
static int
reader_receive (struct device_reader *reader, struct fuse_buf *buf)
{
    struct request_thread *thread = &reader->thread;

    if (!request_thread_buffer (thread))
        return -ENOMEM;
    memset (buf, 0, sizeof *buf);
    buf->mem = (char *) thread->iobref->bufs[0]->ptr + PAYLOAD_OFFSET - WRITE_HEADER;
    return fuse_session_receive_buf (thread->bridge->session, buf);
}

static bool reader_run (struct request_thread *thread);

static int
reader_start_locked (struct bridge *bridge)
{
    struct device_reader *reader = bridge->device.readers;
    char name[16];
    int r;

    while (reader->thread.running)
        reader++; /* there are fewer than READERS_MAX */
    reader->thread.bridge = bridge;
    reader->thread.run = reader_run;
    snprintf (name, sizeof name, "fuse-%u", (unsigned) (reader - bridge->device.readers));
    r = request_thread_start_locked (&reader->thread, name);
    if (r == 0)
        bridge->device.n_readers++;
    return r;
}

/* Adds a reader if the maximum isn't reached. Returns whether there is one more. */
static bool
reader_add_locked (struct bridge *bridge)
{
    if (bridge->device.n_readers == READERS_MAX || bridge->stopping
        || !attempt_is_due (&bridge->threads.starts))
        return false;
    bridge->device.grown = clock_now ();
    return attempt_ended (&bridge->threads.starts, &bridge->xlator, reader_start_locked (bridge),
                          "thread for requests")
        == 0;
}

static bool
brings_only_asides (const struct bridge *bridge)
{
    return __atomic_load_n (&bridge->device.only_asides, __ATOMIC_ACQUIRE);
}

static unsigned
waiting_most (const struct bridge *bridge)
{
    if (brings_only_asides (bridge))
        return 1;
    return bridge->settings.reader_threads ? (unsigned) bridge->settings.reader_threads + 1
                                           : WAITING;
}

static bool
enough_wait (const struct bridge *bridge)
{
    return __atomic_load_n (&bridge->device.idle, __ATOMIC_SEQ_CST) >= waiting_most (bridge);
}

/* Counts this reader as waiting, unless enough readers wait. A surplus one would keep its memory
 * while no requests come. */
static bool
wait_begins (struct bridge *bridge)
{
    const unsigned most = waiting_most (bridge);
    unsigned idle = __atomic_load_n (&bridge->device.idle, __ATOMIC_SEQ_CST);

    do
        if (idle >= most)
            return false;
    while (!__atomic_compare_exchange_n (&bridge->device.idle, &idle, idle + 1, true,
                                         __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return true;
}

/* Waits until readers are needed. Returns true if this reader has been surplus for long enough. */
static bool
wait_to_be_needed_locked (struct bridge *bridge)
{
    if (bridge->device.n_readers <= waiting_most (bridge)) {
        pthread_cond_wait (&bridge->device.needed, &bridge->lock);
        return false;
    }
    return thread_cond_wait_until (&bridge->device.needed, &bridge->lock,
                                   bridge->device.grown + KEEP)
            == -ETIMEDOUT
        && bridge->device.n_readers > waiting_most (bridge) && enough_wait (bridge)
        && !__atomic_load_n (&bridge->stopping, __ATOMIC_ACQUIRE);
}

/* Parks the reader until it is needed. Returns false if it must end; another thread may then use
 * its struct. */
static bool
reader_park (struct device_reader *reader)
{
    struct bridge *bridge = reader->thread.bridge;
    bool leaves = false;

    pthread_mutex_lock (&bridge->lock);
    __atomic_add_fetch (&bridge->device.parked, 1, __ATOMIC_SEQ_CST);
    thread_set_idle (true);
    while (!leaves && enough_wait (bridge)
           && !__atomic_load_n (&bridge->stopping, __ATOMIC_ACQUIRE))
        leaves = wait_to_be_needed_locked (bridge);
    thread_set_idle (false);
    __atomic_sub_fetch (&bridge->device.parked, 1, __ATOMIC_SEQ_CST);
    if (leaves) {
        bridge->device.n_readers--;
        request_thread_leave_locked (&reader->thread);
    }
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
    called = __atomic_load_n (&bridge->device.parked, __ATOMIC_SEQ_CST) > 0
          || reader_add_locked (bridge);
    pthread_cond_signal (&bridge->device.needed);
    pthread_mutex_unlock (&bridge->lock);
    return called;
}

/* Returns whether the message is a forget or an interrupt on a device that brings nothing else. No
 * caller waits for these, and they can't block their thread. */
static bool
is_aside (const struct bridge *bridge, uint32_t opcode)
{
    return brings_only_asides (bridge)
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
reader_loop (struct device_reader *reader)
{
    struct bridge *bridge = reader->thread.bridge;
    const bool follows = bridge->settings.follow_callers;
    struct fuse_buf buf;

    if (follows)
        thread_place_begin (&reader->place);
    while (!__atomic_load_n (&bridge->stopping, __ATOMIC_ACQUIRE)
           && !fuse_session_exited (bridge->session)) {
        if (!wait_begins (bridge)) {
            if (!reader_park (reader))
                return false;
            continue;
        }
        int n = reader_receive (reader, &buf);
        unsigned idle = __atomic_sub_fetch (&bridge->device.idle, 1, __ATOMIC_SEQ_CST);
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
        const struct fuse_in_header *header = buf.mem;
        const bool aside = is_aside (bridge, header->opcode);
        thread_may_not_block = idle == 0 && !aside && !reader_call (bridge);
        if (follows)
            thread_place_taken (&reader->place, header->pid);
        if (header->opcode == FUSE_INTERRUPT)
            bridge_transport (bridge)->interrupt (bridge, buf.mem, n);
        message_lend (reader->thread.iobref, buf.mem, buf.size);
        hold_process (&reader->thread, &buf);
        if (follows)
            thread_place_answered (&reader->place);
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
    if (!known) {
        __atomic_store_n (&bridge->gone, true, __ATOMIC_RELEASE);
        request_threads_signal_locked (bridge);
    }
    pthread_mutex_unlock (&bridge->lock);
    if (!known)
        bridge->hooks->gone ();
}

static bool
reader_run (struct request_thread *thread)
{
    sigset_t wake;

    sigemptyset (&wake);
    sigaddset (&wake, SIGNAL_WAKE);
    pthread_sigmask (SIG_UNBLOCK, &wake, NULL);
    if (!reader_loop ((struct device_reader *) thread))
        return false;
    mount_is_gone (thread->bridge);
    return true;
}

/* --- the transport ---------------------------------------------------------------------------- */

static void
reader_woken (int signal_number)
{
}

static int
device_start (struct bridge *bridge)
{
    struct sigaction action = { .sa_handler = reader_woken }; /* without SA_RESTART, so that the
                                                               * read ends */
    int r;

    sigaction (SIGNAL_WAKE, &action, NULL);
    pthread_mutex_lock (&bridge->lock);
    r = reader_start_locked (bridge);
    for (unsigned i = 1; r == 0 && i < waiting_most (bridge); i++)
        r = reader_start_locked (bridge);
    pthread_mutex_unlock (&bridge->lock);
    return r;
}

/* If the mount is gone, no reader waits for the kernel, and a signal could only interrupt an
 * operation below. If files are still open, readers do wait. A signal between a reader's check of
 * `stopping` and its read is lost. */
static void
device_signal_locked (struct bridge *bridge)
{
    pthread_cond_broadcast (&bridge->device.needed);
    if (__atomic_load_n (&bridge->gone, __ATOMIC_ACQUIRE))
        return;
    for (unsigned i = 0; i < READERS_MAX; i++)
        if (bridge->device.readers[i].thread.running)
            pthread_kill (bridge->device.readers[i].thread.thread, SIGNAL_WAKE);
}

static void
device_stop (struct bridge *bridge)
{
    for (unsigned i = 0; i < READERS_MAX; i++)
        if (bridge->device.readers[i].thread.running)
            pthread_join (bridge->device.readers[i].thread.thread, NULL);
    bridge->device.n_readers = 0;
}

static ssize_t
device_answer (struct bridge *bridge, int fd, const struct iovec *iov, int count)
{
    return writev (fd, iov, count);
}

/* libfuse knows requests of the device by the kernel's numbers. */
static void
device_interrupt (struct bridge *bridge, void *message, size_t size)
{
}

void
device_brings_asides (struct bridge *bridge)
{
    __atomic_store_n (&bridge->device.only_asides, true, __ATOMIC_RELEASE);
}

/* --- reports ---------------------------------------------------------------------------------- */

static void
device_describe (const struct bridge *bridge, GString *out)
{
    g_string_append_printf (
        out, "requests are read from the device, not taken from an io_uring: %s (io-uring)\n",
        bridge->why_device ? bridge->why_device : "the kernel hasn't agreed to it");
}

static void
device_dump_as_transport (const struct bridge *bridge, GString *out)
{
    g_string_append (out, "io_uring=off\n");
    if (bridge->why_device)
        g_string_append_printf (out, "no_io_uring=%s\n", bridge->why_device);
}

void
device_dump (struct bridge *bridge, GString *out)
{
    unsigned readers;

    pthread_mutex_lock (&bridge->lock);
    readers = bridge->device.n_readers;
    pthread_mutex_unlock (&bridge->lock);
    g_string_append_printf (out, "readers=%u\nreaders_waiting=%u\nreaders_parked=%u\n", readers,
                            __atomic_load_n (&bridge->device.idle, __ATOMIC_RELAXED),
                            __atomic_load_n (&bridge->device.parked, __ATOMIC_RELAXED));
}

const struct transport device_transport = {
    .start = device_start,
    .signal_locked = device_signal_locked,
    .stop = device_stop,
    .answer = device_answer,
    .interrupt = device_interrupt,
    .describe = device_describe,
    .dump = device_dump_as_transport,
};
