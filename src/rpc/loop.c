/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/loop.h"

#include "core/base/log.h"
#include "core/time/attempt.h"
#include "core/time/scheduler.h"
#include "core/time/thread.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BATCH 64 /* largest number of events that the loop takes from one epoll_wait(2) */

static struct {
    pthread_mutex_t users_lock; /* also held while the event loop's thread is started or ended */
    unsigned users;             /* number of users of the event loop; guarded by `users_lock` */
    struct attempt start;
    pthread_t thread;
    int epoll, wake;            /* constant while the thread runs */
    pthread_mutex_t lock;
    pthread_cond_t stirred; /* signalled by loop_stir */
    struct loop_task *first, **last; /* guarded by `lock` */
    bool ending;                     /* guarded by `lock` */
} loop = { .users_lock = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER,
           .stirred = PTHREAD_COND_INITIALIZER };

void
loop_stir (void)
{
    if (G_UNLIKELY (scheduler_on))
        thread_cond_signal (&loop.stirred);
}

static void
loop_wake (void)
{
    const uint64_t one = 1;

    if (write (loop.wake, &one, sizeof one) < 0)
        (void) errno; /* the eventfd's counter is full; then the thread wakes without this write */
    loop_stir ();
}

/* Waits until a watched socket or the eventfd is ready, and gets the events. Under a scheduler, the
 * thread waits by thread_cond_wait instead of in epoll_wait. No other thread runs between the two
 * calls there, so loop_stir can't signal between them and be missed. */
static int
loop_wait (struct epoll_event *events)
{
    int n;

    if (G_LIKELY (!scheduler_on))
        return epoll_wait (loop.epoll, events, BATCH, -1);
    while ((n = epoll_wait (loop.epoll, events, BATCH, 0)) == 0) {
        pthread_mutex_lock (&loop.lock);
        thread_cond_wait (&loop.stirred, &loop.lock);
        pthread_mutex_unlock (&loop.lock);
    }
    return n;
}

static struct loop_task *
tasks_take (bool *ret_ending)
{
    struct loop_task *tasks;
    uint64_t count;

    if (read (loop.wake, &count, sizeof count) < 0)
        (void) errno; /* EAGAIN: an earlier read has set the eventfd's counter to 0 */
    pthread_mutex_lock (&loop.lock);
    tasks = loop.first;
    loop.first = NULL;
    loop.last = &loop.first;
    *ret_ending = loop.ending && !tasks;
    pthread_mutex_unlock (&loop.lock);
    return tasks;
}

/* Runs the posted tasks. Returns false if the event loop's thread has to end. */
static bool
tasks_run (void)
{
    struct loop_task *task, *next;
    bool ending;

    while ((task = tasks_take (&ending)))
        for (; task; task = next) {
            next = task->next;
            task->run (task);
        }
    return !ending;
}

/* The event loop's thread. In each round it calls the watches of all events first, and runs the
 * posted tasks afterwards, because a task may free a connection whose watch has an event in that
 * round. */
static void *
loop_run (void *unused)
{
    struct epoll_event events[BATCH];
    bool woken, running = true;
    int n;

    thread_may_not_block = true;
    while (running) {
        thread_set_idle (true);
        n = loop_wait (events);
        thread_set_idle (false);
        woken = false;
        for (int i = 0; i < n; i++) {
            struct loop_watch *watch = events[i].data.ptr;

            if (watch)
                watch->ready (watch, events[i].events);
            else
                woken = true;
        }
        if (woken)
            running = tasks_run ();
    }
    return NULL;
}

static void
loop_close (void)
{
    if (loop.wake >= 0)
        close (loop.wake);
    if (loop.epoll >= 0)
        close (loop.epoll);
}

static int
loop_start (void)
{
    struct epoll_event event = { .events = EPOLLIN };
    int r = 0;

    loop.first = NULL;
    loop.last = &loop.first;
    loop.ending = false;
    loop.epoll = epoll_create1 (EPOLL_CLOEXEC);
    loop.wake = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop.epoll < 0 || loop.wake < 0
        || epoll_ctl (loop.epoll, EPOLL_CTL_ADD, loop.wake, &event) < 0)
        r = -errno;
    if (r == 0)
        r = thread_new (&loop.thread, "network", loop_run, NULL);
    if (r < 0)
        loop_close ();
    return attempt_ended (&loop.start, NULL, r, "thread for connections to servers");
}

int
loop_use (void)
{
    int r = 0;

    pthread_mutex_lock (&loop.users_lock);
    if (loop.users == 0)
        r = loop_start ();
    if (r == 0)
        loop.users++;
    pthread_mutex_unlock (&loop.users_lock);
    return r;
}

void
loop_leave (void)
{
    pthread_mutex_lock (&loop.users_lock);
    if (--loop.users == 0) {
        pthread_mutex_lock (&loop.lock);
        loop.ending = true;
        pthread_mutex_unlock (&loop.lock);
        loop_wake ();
        thread_join (loop.thread);
        loop_close ();
    }
    pthread_mutex_unlock (&loop.users_lock);
}

static int
loop_control (int what, struct loop_watch *watch, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = watch };

    return epoll_ctl (loop.epoll, what, watch->fd, &event) < 0 ? -errno : 0;
}

int
loop_add (struct loop_watch *watch, uint32_t events)
{
    return loop_control (EPOLL_CTL_ADD, watch, events);
}

void
loop_change (struct loop_watch *watch, uint32_t events)
{
    (void) loop_control (EPOLL_CTL_MOD, watch, events);
}

void
loop_remove (struct loop_watch *watch)
{
    (void) loop_control (EPOLL_CTL_DEL, watch, 0);
}

void
loop_post (struct loop_task *task)
{
    bool first;

    task->next = NULL;
    pthread_mutex_lock (&loop.lock);
    first = !loop.first;
    *loop.last = task;
    loop.last = &task->next;
    pthread_mutex_unlock (&loop.lock);
    if (first)
        loop_wake ();
}
