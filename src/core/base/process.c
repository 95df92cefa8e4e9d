/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/process.h"

#include "core/base/fnv.h"
#include "core/base/process-mark.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IOPRIO_OF_PROCESS 1 /* from linux/ioprio.h, which some systems lack */
#define IOPRIO_CLASS(value) ((value) >> 13)
#define IOPRIO_IDLE 3

/* The cached facts of a thread are one word, which is read and written without a lock. Two threads
 * that share a place replace each other's word. From the low end: the thread's number, its
 * process's (0: not known), its I/O class, the time. */
#define PLACES 1024
#define NUMBER_BITS 22 /* PID_MAX_LIMIT */
#define NUMBER_MASK ((UINT64_C (1) << NUMBER_BITS) - 1)
#define IDLE_BIT (UINT64_C (1) << (2 * NUMBER_BITS))
#define TIME_SHIFT (2 * NUMBER_BITS + 1)
/* the time in units of about a quarter of a second */
#define MOMENT(now) ((uint64_t) (now) >> 28 & ((UINT64_C (1) << (64 - TIME_SHIFT)) - 1))

#define SECOND INT64_C (1000000000) /* in nanoseconds */

bool processes_are_known = true;

static uint64_t remembered[PLACES]; /* atomic */

static bool
process_is_known (pid_t thread)
{
    return thread > 0 && (uint64_t) thread <= NUMBER_MASK && processes_are_known;
}

char *
process_status (pid_t thread)
{
    char path[64], *status = NULL;

    snprintf (path, sizeof path, "/proc/%d/status", thread);
    return process_is_known (thread) && g_file_get_contents (path, &status, NULL, NULL) ? status
                                                                                        : NULL;
}

char *
process_comm (pid_t thread)
{
    char path[64], *name = NULL;

    snprintf (path, sizeof path, "/proc/%d/comm", thread);
    return process_is_known (thread) && g_file_get_contents (path, &name, NULL, NULL)
               ? g_strchomp (name)
               : NULL;
}

pid_t
process_parent (pid_t process)
{
    g_autofree char *status = process_status (process);
    const char *parent = status ? strstr (status, "\nPPid:\t") : NULL,
               *state = status ? strstr (status, "\nState:\t") : NULL;

    if (!parent || !state || strchr ("ZX", state[strlen ("\nState:\t")]))
        return 0;
    return (pid_t) strtol (parent + strlen ("\nPPid:\t"), NULL, 10);
}

/* Descriptors of /proc/NUMBER/comm. Two threads that share a place replace each other's. */
#define NAMES 64

static struct kept_name {
    pthread_mutex_t lock; /* a leaf; guards the place */
    pid_t thread;         /* 0: none */
    int fd;
    int64_t began; /* process_began_ticks; 0: not known yet */
} kept_names[NAMES] = { [0 ... NAMES - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER } };

/* Returns the number of bytes, with the newline; 0 or less: the thread has ended, or there is no
 * descriptor. */
static ssize_t
kept_name_read (const struct kept_name *kept, pid_t thread, char *ret_name)
{
    return kept->thread == thread ? pread (kept->fd, ret_name, PROCESS_NAME_SIZE, 0) : -1;
}

static void
kept_name_open (struct kept_name *kept, pid_t thread)
{
    char path[64];

    if (kept->thread)
        close (kept->fd);
    snprintf (path, sizeof path, "/proc/%d/comm", thread);
    kept->fd = open (path, O_RDONLY | O_CLOEXEC);
    kept->thread = kept->fd < 0 ? 0 : thread;
    kept->began = 0;
}

bool
process_name (pid_t thread, char *ret_name)
{
    struct kept_name *kept = &kept_names[(unsigned) thread % NAMES];
    ssize_t n;

    if (!process_is_known (thread))
        return false;
    pthread_mutex_lock (&kept->lock);
    n = kept_name_read (kept, thread, ret_name);
    if (n <= 0) {
        kept_name_open (kept, thread);
        n = kept_name_read (kept, thread, ret_name);
    }
    pthread_mutex_unlock (&kept->lock);
    if (n <= 0)
        return false;
    ret_name[n - 1] = '\0';
    return true;
}

/* In /proc/NUMBER/stat, the ticks from the start of the machine to that of the process are the 20th
 * number after the name, which may contain anything. Returns 0 if they are not known. */
static int64_t
process_began_ticks (pid_t process)
{
    char path[32];
    g_autofree char *text = NULL;
    g_auto (GStrv) numbers = NULL;
    const char *end;

    snprintf (path, sizeof path, "/proc/%d/stat", (int) process);
    if (process <= 0 || !g_file_get_contents (path, &text, NULL, NULL))
        return 0;
    end = strrchr (text, ')');
    numbers = g_strsplit (end ? end : "", " ", -1);
    return g_strv_length (numbers) < 21 ? 0 : g_ascii_strtoll (numbers[20], NULL, 10);
}

/* The name is read last. It can be read only while the process lives, so the start was that of the
 * same process. */
uint64_t
process_mark (pid_t process)
{
    struct kept_name *kept = &kept_names[(unsigned) process % NAMES];
    char name[PROCESS_NAME_SIZE];
    int64_t began = 0;
    ssize_t n;

    if (!process_is_known (process))
        return 0;
    pthread_mutex_lock (&kept->lock);
    n = kept_name_read (kept, process, name);
    if (n <= 0)
        kept_name_open (kept, process);
    if (kept->thread == process && kept->began == 0) {
        kept->began = process_began_ticks (process);
        n = kept_name_read (kept, process, name);
    }
    began = kept->began;
    pthread_mutex_unlock (&kept->lock);
    return n <= 0 || began == 0
             ? 0
             : fnv64 (fnv64 (FNV64_START, &began, sizeof began), name, (size_t) n) | 1;
}

/* Returns the number after "\nName:\t", or 0. */
static uint64_t
process_status_number (const char *status, const char *name, int base)
{
    const char *line = strstr (status, name);

    return line ? strtoull (line + strlen (name), NULL, base) : 0;
}

/* Returns the cached word of the thread, or a new word with its I/O class. */
static uint64_t
recall (pid_t thread, int64_t now)
{
    uint64_t *place = &remembered[(unsigned) thread % PLACES],
             word = __atomic_load_n (place, __ATOMIC_RELAXED);

    if ((word & NUMBER_MASK) == (uint64_t) thread && word >> TIME_SHIFT == MOMENT (now))
        return word;
    const long priority = syscall (SYS_ioprio_get, IOPRIO_OF_PROCESS, thread);
    word = MOMENT (now) << TIME_SHIFT | (uint64_t) thread;
    if (priority >= 0 && IOPRIO_CLASS (priority) == IOPRIO_IDLE)
        word |= IDLE_BIT;
    __atomic_store_n (place, word, __ATOMIC_RELAXED);
    return word;
}

pid_t
process_of_thread (pid_t thread, int64_t now)
{
    if (!process_is_known (thread))
        return thread;
    const uint64_t word = recall (thread, now), process = word >> NUMBER_BITS & NUMBER_MASK;
    if (process)
        return (pid_t) process;
    g_autofree char *status = process_status (thread);
    uint64_t found = status ? process_status_number (status, "\nTgid:", 10) : 0;
    if (!found || found > NUMBER_MASK)
        found = (uint64_t) thread;
    __atomic_store_n (&remembered[(unsigned) thread % PLACES], word | found << NUMBER_BITS,
                      __ATOMIC_RELAXED);
    return (pid_t) found;
}

bool
process_is_idle_class (pid_t thread, int64_t now)
{
    return process_is_known (thread) && recall (thread, now) & IDLE_BIT;
}

static uint64_t
bit_of (int signal_number)
{
    return UINT64_C (1) << (signal_number - 1);
}

/* Returns the pending signals that the thread neither blocks nor ignores. */
static uint64_t
process_pending (const char *status)
{
    return (process_status_number (status, "\nSigPnd:", 16)
            | process_status_number (status, "\nShdPnd:", 16))
         & ~process_status_number (status, "\nSigBlk:", 16)
         & ~process_status_number (status, "\nSigIgn:", 16);
}

bool
process_has_signal (pid_t thread)
{
    g_autofree char *status = process_status (thread);

    return status && process_pending (status);
}

bool
process_gives_up (pid_t thread)
{
    const uint64_t harmless = bit_of (SIGALRM) | bit_of (SIGVTALRM) | bit_of (SIGPROF)
                            | bit_of (SIGCHLD) | bit_of (SIGWINCH) | bit_of (SIGURG)
                            | bit_of (SIGIO) | bit_of (SIGCONT) | bit_of (SIGSTOP)
                            | bit_of (SIGTSTP) | bit_of (SIGTTIN) | bit_of (SIGTTOU);
    g_autofree char *status = process_status (thread);

    return !status || process_pending (status) & ~harmless;
}

/* When a signal ends a process, the kernel gives each of its threads a SIGKILL of its own. */
bool
process_is_dying (pid_t thread)
{
    g_autofree char *status = process_status (thread);

    return status && process_status_number (status, "\nSigPnd:", 16) & bit_of (SIGKILL);
}

bool
process_was_killed (pid_t process)
{
    g_autofree char *status = process_status (process);
    const char *state = status ? strstr (status, "\nState:\t") : NULL;

    return state && (strchr ("ZX", state[strlen ("\nState:\t")])
                     || process_status_number (status, "\nSigPnd:", 16) & bit_of (SIGKILL));
}

bool
process_is_stopped (pid_t process)
{
    g_autofree char *status = process_status (process);

    return status && strstr (status, "\nState:\tT");
}

static int64_t
process_clock (clockid_t clock)
{
    struct timespec now = { 0 };

    clock_gettime (clock, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

/* Returns the time at which the machine began, in nanoseconds since 1970. It is the same at each
 * call, but for the time between looks at two clocks, if nobody sets the time: this thread may not
 * run in between, so the shortest of a few looks counts. */
static int64_t
machine_began (void)
{
    int64_t began = 0, shortest = INT64_MAX;

    for (int i = 0; i < 5; i++) {
        const int64_t up = process_clock (CLOCK_BOOTTIME), now = process_clock (CLOCK_REALTIME),
                      length = process_clock (CLOCK_BOOTTIME) - up;

        if (length < shortest) {
            shortest = length;
            began = now - up - length / 2;
        }
    }
    return began;
}

int64_t
process_began (pid_t process)
{
    const int64_t ticks = process_began_ticks (process);

    return ticks ? (machine_began () + ticks * (SECOND / sysconf (_SC_CLK_TCK))) / SECOND : 0;
}

/* /proc/self/uid_map can't tell: a namespace below may map all ids to themselves. */
bool
process_has_first_user_namespace (void)
{
    g_autofree char *own = g_file_read_link ("/proc/self/ns/user", NULL);

    return !own || strcmp (own, PROCESS_FIRST_USER_NAMESPACE) == 0;
}

bool
process_was_upgraded (void)
{
    g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);

    return program && g_str_has_suffix (program, " (deleted)");
}

bool
process_is_under_valgrind (void)
{
    const char *preloaded = g_getenv ("LD_PRELOAD");

    return preloaded && strstr (preloaded, "vgpreload");
}
