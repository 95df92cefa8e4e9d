/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/time/thread.h"
#include "core/base/malloc-trim.h"
#include "core/time/scheduler.h"

#include <errno.h>
#include <glib.h>
#include <linux/capability.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Processors on which this thread could run before thread_stay_on. */
static __thread cpu_set_t anywhere;
static __thread bool stays;

/* This thread's nice value before thread_come_first. */
static __thread int nice_before;
static __thread bool comes_first;

struct start {
    char name[16];
    bool anywhere_else; /* the creator is bound to a processor; the new thread runs on `anywhere` */
    cpu_set_t anywhere;
    bool comes_later; /* the creator called thread_come_first; the new thread gets its nice value
                       * from before */
    int nice;
    void *(*run) (void *data);
    void *data;
};

__thread pid_t thread_id;
__thread bool thread_may_not_block;
__thread void (*thread_before_other) (void);

#define IDLE_MAX 2048
#define CRASH_STACK (64 * 1024)

static pid_t idle_threads[IDLE_MAX]; /* atomic; 0: unused */

void
thread_set_idle (bool idle)
{
    for (unsigned i = 0; thread_id && i < IDLE_MAX; i++) {
        pid_t from = idle ? 0 : thread_id;

        if (__atomic_compare_exchange_n (&idle_threads[i], &from, idle ? thread_id : 0, false,
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
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
    /* Fails in a sandbox that forbids the call. The umask is then the process's; code that relies
     * on its own umask checks that. */
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

/* The kernel's struct sched_attr. The kernel's header conflicts with older headers of the C
 * library. */
struct schedule {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

#define SLICE 100000        /* nanoseconds; the shortest slice that the kernel allows */
#define RESET_ON_FORK 0x01

/* Does nothing for a thread with another scheduling policy, which the administrator chose. */
int
thread_come_first (int nice)
{
    struct schedule schedule = { 0 };
    int r;

    if (syscall (SYS_sched_getattr, 0, &schedule, sizeof schedule, 0) < 0)
        return -errno;
    if (schedule.policy != SCHED_OTHER)
        return 0;
    nice_before = schedule.nice;
    comes_first = true;
    schedule.runtime = SLICE;
    schedule.flags |= RESET_ON_FORK;
    schedule.nice = CLAMP (nice_before - nice, -20, 19);
    r = syscall (SYS_sched_setattr, 0, &schedule, 0) < 0 ? -errno : 0;
    if (r < 0) {
        schedule.nice = nice_before;
        (void) syscall (SYS_sched_setattr, 0, &schedule, 0);
    }
    return r;
}

/* A signal stack for the crash report, in case the stack overflows. A sanitizer's thread has its
 * own already, and expects it when the thread ends. */
struct crash_stack {
    stack_t mine, before;
};

static void
crash_stack_begin (struct crash_stack *ret_stack)
{
    ret_stack->mine = (stack_t){ .ss_sp = g_malloc (CRASH_STACK), .ss_size = CRASH_STACK };
    sigaltstack (&ret_stack->mine, &ret_stack->before);
}

static void
crash_stack_end (struct crash_stack *stack)
{
    sigaltstack (&stack->before, NULL);
    g_free (stack->mine.ss_sp);
}

static bool powerless; /* set before there is another thread */

void
thread_others_powerless (void)
{
    powerless = true;
}

static void
capabilities_give_up (void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    const struct __user_cap_data_struct none[2] = { 0 };

    (void) syscall (SYS_capset, &head, none); /* a thread may always give up its own */
}

static void *
thread_run (void *data)
{
    struct start start = *(struct start *) data;
    struct crash_stack crash_stack;
    void *result;

    g_free (data);
    if (powerless)
        capabilities_give_up ();
    if (start.anywhere_else)
        (void) sched_setaffinity (0, sizeof start.anywhere, &start.anywhere);
    if (start.comes_later)
        (void) setpriority (PRIO_PROCESS, 0, start.nice);
    thread_adopt (start.name);
    heaps_join ();
    crash_stack_begin (&crash_stack);
    result = start.run (start.data);
    crash_stack_end (&crash_stack);
    return result;
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
    start->comes_later = comes_first;
    start->nice = nice_before;
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

static bool
membarrier_works (int command)
{
    return syscall (SYS_membarrier, command, 0, 0) == 0;
}

/* The system call fails with EPERM if the process isn't registered. */
bool
thread_barrier (void)
{
    if (membarrier_works (MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        return true;
    return errno == EPERM && membarrier_works (MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
        && membarrier_works (MEMBARRIER_CMD_PRIVATE_EXPEDITED);
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
