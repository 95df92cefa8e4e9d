/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts about calling processes, from the system. A request's number (call_stack_t.pid) is that of
 * a thread, or 0 if the request comes from the kernel or from another pid namespace. The number may
 * belong to another process by now, so nothing here may decide about rights.
 */
#ifndef WINDLASS_CORE_BASE_PROCESS_H
#define WINDLASS_CORE_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* false while the numbers of requests are invented, as under a scheduler, or /proc has the numbers
 * of another pid namespace: then the system isn't asked. Set while the process has one thread. */
extern bool processes_are_known;

/* Returns /proc/NUMBER/status, or NULL. g_free it. */
char *process_status (pid_t thread);

/* Returns the name of a process or thread, or NULL. g_free it. */
char *process_comm (pid_t thread);

/* The same for the thread of a request that waits, at each request: stores the present name, at
 * most PROCESS_NAME_SIZE bytes with the NUL, and returns true; or false if it isn't known. The
 * descriptor of /proc/NUMBER/comm is kept: it stands for that thread, and not for a later one with
 * its number, so a name is never another's; and a name that exec(2) changes is seen. */
#define PROCESS_NAME_SIZE 17
bool process_name (pid_t thread, char *ret_name);

/* Returns the parent of a process, or 0: it has ended, or isn't known. */
pid_t process_parent (pid_t process);

/* Returns the process of a thread; the thread's number if it isn't known. now: clock_now or
 * clock_roughly; results are cached for half a second or less. */
pid_t process_of_thread (pid_t thread, int64_t now);

/* Returns whether the thread's input and output is to come last: ionice -c idle. Cached in the same
 * way; a cached result costs a few nanoseconds. */
bool process_is_idle_class (pid_t thread, int64_t now);

/* For a thread whose request was interrupted. Returns whether its system call may fail with EINTR.
 * true if the thread is being killed, or if a signal with a handler is pending. false if no signal
 * is pending (a debugger, a freezer), if the thread was stopped, or if all pending signals come
 * from timers or concern children and windows: programs don't expect those to make open or stat
 * fail. true if it isn't known. */
bool process_gives_up (pid_t thread);

/* Returns whether a signal is pending that the thread neither blocks nor ignores: the kernel then
 * reports an interrupt of the thread's request. false if it isn't known. */
bool process_has_signal (pid_t thread);

/* Returns whether the thread is being killed, or ends by another signal. false if it isn't
 * known. */
bool process_is_dying (pid_t thread);

/* Returns whether the process has been killed and some of its threads cannot end: a SIGKILL is
 * pending for the first thread, or that thread has ended. false if it isn't known. */
bool process_was_killed (pid_t process);

/* Returns whether the process was stopped, by SIGSTOP or Ctrl-Z, and not by a debugger. false if it
 * isn't known. */
bool process_is_stopped (pid_t process);

/* Returns the time at which the process began, in seconds since 1970, or 0 if it isn't known. */
int64_t process_began (pid_t process);

/* Returns whether the file of this program was replaced or removed since the process began, as an
 * upgrade does. The process goes on with the old one. false if it isn't known. */
bool process_was_upgraded (void);

/* Returns whether valgrind(1) runs this process: its preloaded library is in the environment. */
bool process_is_under_valgrind (void);

/* What /proc/self/ns/user links to in the machine's first user namespace: a constant number,
 * PROC_USER_INIT_INO of the kernel. */
#define PROCESS_FIRST_USER_NAMESPACE "user:[4026531837]"

/* Returns whether this process is in the machine's first user namespace. In another one, root and
 * its capabilities count only for what belongs to that namespace, and ids that it doesn't map are
 * those of nobody. true if it isn't known. */
bool process_has_first_user_namespace (void);

#endif
