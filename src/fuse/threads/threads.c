/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/threads/threads.h"

#include "core/report/watchdog.h"
#include "fuse/groups.h"
#include "fuse/state.h"
#include "fuse/threads/limits.h"
#include "fuse/transport.h"

#include <linux/fuse.h>

#define SIGNAL_AGAIN INT64_C (20000000) /* nanoseconds */

/* --- the message that this thread handles ----------------------------------------------------- */

static __thread struct iobref *lent_iobref;
static __thread uint64_t lent_number;
static __thread gid_t lent_group = NO_GROUP;

struct iobref *
message_iobref (void)
{
    return lent_iobref;
}

uint64_t
message_number (void)
{
    return lent_number;
}

gid_t
message_group (void)
{
    return lent_group;
}

void
message_lend (struct iobref *iobref, const void *message, size_t size)
{
    lent_iobref = iobref;
    lent_number = ((const struct fuse_in_header *) message)->unique;
    lent_group = groups_sent (message, size);
}

/* --- a thread --------------------------------------------------------------------------------- */

/* Reuses the last buffer, unless a translator has kept it. */
bool
request_thread_buffer (struct request_thread *thread)
{
    struct iobuf *iobuf;

    if (thread->iobref && iobref_writable (thread->iobref))
        return true;
    iobref_unref (thread->iobref);
    thread->iobref = NULL;
    iobuf = iobuf_new (PAYLOAD_OFFSET + MAX_PAYLOAD);
    if (!iobuf)
        return false;
    thread->iobref = iobref_new ();
    iobref_add (thread->iobref, iobuf);
    iobuf_unref (iobuf);
    return true;
}

static void *
request_thread_run (void *data)
{
    struct request_thread *thread = data;
    struct bridge *bridge = thread->bridge;

    if (!thread->run (thread))
        return NULL;
    iobref_unref (g_steal_pointer (&thread->iobref));
    pthread_mutex_lock (&bridge->lock);
    if (--bridge->threads.n_running == 0)
        bridge->state = BRIDGE_OVER;
    pthread_cond_broadcast (&bridge->changed);
    pthread_mutex_unlock (&bridge->lock);
    return NULL;
}

int
request_thread_start_locked (struct request_thread *thread, const char *name)
{
    struct bridge *bridge = thread->bridge;
    int r = bridge->stopping ? -ESHUTDOWN
                             : thread_new (&thread->thread, name, request_thread_run, thread);

    if (r < 0)
        return r;
    thread->running = true;
    thread->next = bridge->threads.all;
    bridge->threads.all = thread;
    bridge->threads.n_running++;
    return 0;
}

void
request_thread_leave_locked (struct request_thread *thread)
{
    struct bridge *bridge = thread->bridge;
    struct request_thread **at = &bridge->threads.all;

    while (*at != thread)
        at = &(*at)->next;
    *at = thread->next;
    iobref_unref (g_steal_pointer (&thread->iobref));
    thread->running = false;
    bridge->threads.n_running--;
    pthread_detach (thread->thread);
}

/* --- the end ---------------------------------------------------------------------------------- */

void
request_threads_signal_locked (struct bridge *bridge)
{
    for (unsigned i = 0; i < G_N_ELEMENTS (bridge->transports) && bridge->transports[i]; i++)
        bridge->transports[i]->signal_locked (bridge);
}

static bool
wait_for_threads_locked (struct bridge *bridge, int64_t until)
{
    while (bridge->threads.n_running > 0 && clock_now () < until) {
        if (bridge_connection_is_gone (bridge))
            __atomic_store_n (&bridge->gone, true, __ATOMIC_RELEASE);
        request_threads_signal_locked (bridge);
        thread_cond_wait_until (&bridge->changed, &bridge->lock, clock_now () + SIGNAL_AGAIN);
    }
    return bridge->threads.n_running == 0;
}

/* The remaining requests are logged later. */
static void
report_running (const struct bridge *bridge, unsigned running, int64_t patience)
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
request_threads_stop (struct bridge *bridge, int64_t patience)
{
    const int64_t until = clock_now () + patience;
    unsigned running;
    bool stopped;

    pthread_mutex_lock (&bridge->lock);
    __atomic_store_n (&bridge->stopping, true, __ATOMIC_RELEASE);
    pthread_cond_broadcast (&bridge->changed);
    request_threads_signal_locked (bridge);
    stopped = wait_for_threads_locked (bridge, until);
    running = bridge->threads.n_running;
    while (stopped && bridge->timers)
        stopped = thread_cond_wait_until (&bridge->changed, &bridge->lock, until) == 0;
    pthread_mutex_unlock (&bridge->lock);
    stopped = stopped && limits_stop (bridge, until);
    if (!stopped) {
        report_running (bridge, running, patience);
        return false;
    }
    watchdog_set (0);
    for (unsigned i = 0; i < G_N_ELEMENTS (bridge->transports) && bridge->transports[i]; i++)
        bridge->transports[i]->stop (bridge);
    return true;
}
