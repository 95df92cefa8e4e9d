/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parts of the report of a crash. All of it runs in a signal handler, in a process whose memory may
 * be damaged: no function here takes a lock, allocates memory, or waits without an end.
 */
#ifndef WINDLASS_DAEMON_CRASH_H
#define WINDLASS_DAEMON_CRASH_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* --- crash.c: write to the log's file --- */

#define CRASH_NUMBER_SIZE 21 /* UINT64_MAX in decimal, and the end */

/* Writes a number in base 10 or 16 to the end of the buffer. Returns where it begins there. */
char *crash_number_text (uint64_t value, unsigned base, char buffer[CRASH_NUMBER_SIZE]);

void crash_say (const char *text);
void crash_say_number (uint64_t number);
void crash_say_hex (uint64_t number);
void crash_say_safely (const char *text); /* bytes that are no text are escaped */

/* --- crash-lines.c: source lines of a backtrace --- */

/* Makes the state of libbacktrace, while memory is sound. */
void crash_lines_init (void);
/* context: the third argument of a signal handler, where the first frames are the handler's own. */
void crash_say_lines (void *const *frames, int n, const void *context);

/* --- crash-core.c --- */

/* Remembers the program's path. */
void crash_core_init (void);
/* Says who sent the signal, or which address or system call was the reason. */
void crash_say_sender (const siginfo_t *info);
/* Says where the kernel is going to put the core, why there is none, and how gdb reads it. */
void crash_say_core (int signal_number);

#endif
