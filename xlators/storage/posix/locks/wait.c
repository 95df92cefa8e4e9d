/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Waiting for locks, each in a thread of its own: the system has no other way. A signal wakes a
 * waiting thread; its handler does nothing. A signal that comes just before the system call would
 * be lost. So a timer sends it repeatedly, from the interrupt until the thread has noticed it.
 */
#include "../posix.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#define WAIT_SIGNAL (SIGRTMIN + 1)
#define WAIT_PERIOD 10000000 /* nanoseconds between signals */

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

struct posix_waiter {
    call_frame_t *frame;
    xlator_t *this;
    int (*wait) (void *data);
    void (*tell) (const void *data, GString *out);
    void (*answer) (call_frame_t *frame, void *data, int r);
    void *data;
    struct interrupt_watch interrupt;
    bool cancelled; /* atomic */
    bool has_timer; /* waiters.lock */
    timer_t timer;
};

static void
wait_woken (int sig)
{
}

static int
wait_make_timer (timer_t *ret_timer)
{
    struct sigaction action = { .sa_handler = wait_woken };
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = WAIT_SIGNAL };
    sigset_t set;

    sigaction (WAIT_SIGNAL, &action, NULL);
    sigemptyset (&set);
    sigaddset (&set, WAIT_SIGNAL);
    pthread_sigmask (SIG_UNBLOCK, &set, NULL);
    event.sigev_notify_thread_id = (pid_t) syscall (SYS_gettid);
    return posix_result (timer_create (CLOCK_MONOTONIC, &event, ret_timer));
}

/* Takes no lock: it is called under the request's lock. */
static void
wait_cancel (void *data)
{
    struct posix_waiter *waiter = data;
    const struct itimerspec soon = { { 0, WAIT_PERIOD }, { 0, 1 } };

    __atomic_store_n (&waiter->cancelled, true, __ATOMIC_RELEASE);
    timer_settime (waiter->timer, 0, &soon, NULL);
}

/* From now on PARENT_DOWN ends the wait, or it has come before. */
static void
wait_begin (struct posix_waiters *waiters, struct posix_waiter *waiter)
{
    pthread_mutex_lock (&waiters->lock);
    waiter->has_timer = true;
    if (waiters->down)
        wait_cancel (waiter);
    pthread_mutex_unlock (&waiters->lock);
}

static int
wait_until (struct posix_waiter *waiter)
{
    int r;

    do
        r = __atomic_load_n (&waiter->cancelled, __ATOMIC_ACQUIRE) ? -EINTR
                                                                   : waiter->wait (waiter->data);
    while (r == -EINTR && !__atomic_load_n (&waiter->cancelled, __ATOMIC_ACQUIRE));
    return r;
}

static void
wait_end (struct posix_waiters *waiters, struct posix_waiter *waiter)
{
    pthread_mutex_lock (&waiters->lock);
    waiters->list = g_list_remove (waiters->list, waiter);
    waiter->has_timer = false;
    pthread_mutex_unlock (&waiters->lock);
    timer_delete (waiter->timer);
}

static void *
wait_run (void *data)
{
    struct posix_waiter *waiter = data;
    struct posix_waiters *waiters = &posix_priv (waiter->this)->waiters;
    call_stack_t *root = waiter->frame->root;
    int r = wait_make_timer (&waiter->timer);

    pthread_detach (pthread_self ());
    stack_taken (root);
    if (r == 0) {
        wait_begin (waiters, waiter);
        waiter->interrupt = (struct interrupt_watch){ .fn = wait_cancel, .data = waiter };
        stack_on_interrupt (root, &waiter->interrupt);
        r = wait_until (waiter);
        stack_off_interrupt (root, &waiter->interrupt);
        wait_end (waiters, waiter);
    } else {
        pthread_mutex_lock (&waiters->lock);
        waiters->list = g_list_remove (waiters->list, waiter);
        pthread_mutex_unlock (&waiters->lock);
    }
    stack_lock_waits (root, -1);
    waiter->answer (waiter->frame, waiter->data, r);
    g_free (waiter);
    pthread_mutex_lock (&waiters->lock);
    if (--waiters->count == 0)
        pthread_cond_broadcast (&waiters->none);
    pthread_mutex_unlock (&waiters->lock);
    return NULL;
}

int
posix_wait (call_frame_t *frame, int (*wait) (void *data),
            void (*tell) (const void *data, GString *out),
            void (*answer) (call_frame_t *frame, void *data, int r), void *data)
{
    struct posix_waiters *waiters = &posix_priv (frame->this)->waiters;
    struct posix_waiter *waiter = g_new0 (struct posix_waiter, 1);
    pthread_t thread;
    int r = 0;

    *waiter = (struct posix_waiter){ .frame = frame,
                                     .this = frame->this,
                                     .wait = wait,
                                     .tell = tell,
                                     .answer = answer,
                                     .data = data };
    stack_lock_waits (frame->root, 1);
    pthread_mutex_lock (&waiters->lock);
    if (waiters->down)
        r = -EINTR;
    if (r == 0)
        r = thread_new (&thread, "posix-lock", wait_run, waiter);
    if (r == 0) {
        waiters->list = g_list_prepend (waiters->list, waiter);
        waiters->count++;
    } else {
        g_free (waiter);
        stack_lock_waits (frame->root, -1);
    }
    pthread_mutex_unlock (&waiters->lock);
    return r == -EAGAIN ? -ENOLCK : r;
}

/* A waiter is in the list until its wait is over; the data it waits with live longer. */
void
posix_waits_for (xlator_t *this, const call_frame_t *frame, GString *out)
{
    struct posix_waiters *waiters = &posix_priv (this)->waiters;

    pthread_mutex_lock (&waiters->lock);
    for (GList *at = waiters->list; at; at = at->next) {
        const struct posix_waiter *waiter = at->data;

        if (waiter->frame == frame)
            waiter->tell (waiter->data, out);
    }
    pthread_mutex_unlock (&waiters->lock);
}

void
posix_waiters_init (struct posix_waiters *waiters)
{
    pthread_mutex_init (&waiters->lock, NULL);
    pthread_cond_init (&waiters->none, NULL);
}

/* Makes all waiters give up, and waits for their threads. */
void
posix_waiters_down (struct posix_waiters *waiters)
{
    pthread_mutex_lock (&waiters->lock);
    waiters->down = true;
    for (GList *at = waiters->list; at; at = at->next)
        if (((struct posix_waiter *) at->data)->has_timer)
            wait_cancel (at->data);
    while (waiters->count > 0)
        pthread_cond_wait (&waiters->none, &waiters->lock);
    pthread_mutex_unlock (&waiters->lock);
}

void
posix_waiters_destroy (struct posix_waiters *waiters)
{
    pthread_mutex_destroy (&waiters->lock);
    pthread_cond_destroy (&waiters->none);
}
