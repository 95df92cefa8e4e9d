/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/thread.h"
#include "core/scheduler.h"

#include <glib.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where this thread might run before it stayed somewhere. */
static __thread cpu_set_t anywhere;
static __thread bool stays;

struct start {
    char name[16];
    bool anywhere_else; /* than where its maker stays: in `anywhere` */
    cpu_set_t anywhere;
    void *(*run) (void *data);
    void *data;
};

__thread pid_t thread_id;
__thread bool thread_hurries;
__thread void (*thread_before_other) (void);

#define IDLE_MAX 256

static pid_t idle_threads[IDLE_MAX]; /* atomic; 0: nobody */

void
thread_set_idle (bool idle)
{
    for (unsigned i = 0; thread_id && i < IDLE_MAX; i++) {
        pid_t from = idle ? 0 : thread_id;

        if (__atomic_compare_exchange_n (&idle_threads[i], &from, idle ? thread_id : 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return;
    }
}

bool
thread_is_idle (pid_t thread)
{
    bool found = false;

    for (unsigned i = 0; i < IDLE_MAX && !found; i++)
        found = __atomic_load_n (&idle_threads[i], __ATOMIC_RELAXED) == thread;
    return found;
}

void
thread_adopt (const char *name)
{
    thread_id = (pid_t) syscall (SYS_gettid);
    pthread_setname_np (pthread_self (), name);
    /* Can fail in a sandbox that forbids it. Then umasks are the process's, and whoever relies on its own finds out by asking. */
    (void) unshare (CLONE_FS);
}

bool
thread_stay_on (int cpu)
{
    cpu_set_t one;

    if (!stays && sched_getaffinity (0, sizeof anywhere, &anywhere) < 0)
        return false;
    if (cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET (cpu, &anywhere))
        return false;
    CPU_ZERO (&one);
    CPU_SET (cpu, &one);
    if (sched_setaffinity (0, sizeof one, &one) < 0)
        return false;
    stays = true;
    return true;
}

static void *
thread_run (void *data)
{
    struct start start = *(struct start *) data;

    g_free (data);
    if (start.anywhere_else)
        (void) sched_setaffinity (0, sizeof start.anywhere, &start.anywhere);
    thread_adopt (start.name);
    return start.run (start.data);
}

int
thread_new (pthread_t *ret_thread, const char *name, void *(*run) (void *data), void *data)
{
    struct start *start = g_new0 (struct start, 1);
    sigset_t all, before;
    int r;

    g_strlcpy (start->name, name, sizeof start->name);
    start->run = run;
    start->data = data;
    start->anywhere_else = stays;
    start->anywhere = anywhere;
    sigfillset (&all);
    sigdelset (&all, SIGSEGV);
    sigdelset (&all, SIGBUS);
    sigdelset (&all, SIGFPE);
    sigdelset (&all, SIGILL);
    sigdelset (&all, SIGABRT);
    pthread_sigmask (SIG_SETMASK, &all, &before);
    if (G_UNLIKELY (scheduler_on))
        r = scheduler_thread_new (ret_thread, thread_run, start);
    else
        r = pthread_create (ret_thread, NULL, thread_run, start);
    pthread_sigmask (SIG_SETMASK, &before, NULL);
    if (r != 0)
        g_free (start);
    return -r;
}

void
thread_join (pthread_t thread)
{
    if (G_UNLIKELY (scheduler_on))
        scheduler_join (thread);
    pthread_join (thread, NULL);
}

void
thread_cond_init (pthread_cond_t *ret_cond)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init (&monotonic);
    pthread_condattr_setclock (&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init (ret_cond, &monotonic);
    pthread_condattr_destroy (&monotonic);
}

void
thread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock)
{
    if (G_UNLIKELY (scheduler_on))
        scheduler_wait (cond, lock, -1);
    else
        pthread_cond_wait (cond, lock);
}

void
thread_cond_signal (pthread_cond_t *cond)
{
    if (G_UNLIKELY (scheduler_on))
        scheduler_signal (cond, false);
    else
        pthread_cond_signal (cond);
}

void
thread_cond_broadcast (pthread_cond_t *cond)
{
    if (G_UNLIKELY (scheduler_on))
        scheduler_signal (cond, true);
    else
        pthread_cond_broadcast (cond);
}

int
thread_cond_wait_until (pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until)
{
    if (G_UNLIKELY (scheduler_on))
        return scheduler_wait (cond, lock, until);
    struct timespec end = { until / 1000000000, until % 1000000000 };

    return -pthread_cond_timedwait (cond, lock, &end);
}
