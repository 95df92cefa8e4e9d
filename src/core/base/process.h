/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who asks: what the system tells of a process. The number that a request has (call_stack_t.pid) is
 * one thread's, and 0 where it is the kernel's own or of another pid namespace. What it was once
 * may be somebody else's by now, so nothing here decides about rights.
 */
#ifndef WINDLASS_CORE_BASE_PROCESS_H
#define WINDLASS_CORE_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* false while the numbers of requests are made up, as under a scheduler: then the system is asked
 * of none. Set while the process has one thread. */
extern bool processes_are_known;

/* /proc/NUMBER/status as text, or NULL. g_free it. */
char *process_status (pid_t thread);

/* The process that a thread is of; its own number where that isn't known. now: clock_now or
 * clock_roughly; what was found is remembered for half a second or less. */
pid_t process_of_thread (pid_t thread, int64_t now);

/* Its input and output is to come last: ionice -c idle. Remembered as well; costs a few nanoseconds
 * then. */
bool process_is_idle_class (pid_t thread, int64_t now);

/* After its request was interrupted: may its system call fail with EINTR? Yes if it is being
 * killed, or a signal waits that it handles. No if there is none (a debugger, a freezer), it was
 * stopped, or all come by the clock or tell of children and windows: programs expect those never to
 * make an open or a stat fail. Yes where it isn't known. */
bool process_gives_up (pid_t thread);

/* It is being killed, or ends by another signal. false where it isn't known. */
bool process_is_dying (pid_t thread);

/* valgrind(1) runs this process: its preloaded library is in the environment. */
bool process_is_under_valgrind (void);

/* No thread has the number any more. false where it isn't known. */
bool process_is_gone (pid_t thread);

#endif
