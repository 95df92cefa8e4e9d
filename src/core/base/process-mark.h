/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a process is still the one that it was: not a later one with its number, and the same
 * program. */
#ifndef WINDLASS_CORE_BASE_PROCESS_MARK_H
#define WINDLASS_CORE_BASE_PROCESS_MARK_H

#include <stdint.h>
#include <sys/types.h>

/* Returns a number that stands for the process's start, which the kernel counts in hundredths of a
 * second, and its present name, so exec(2) of another program changes it; 0: unknown, which is
 * equal to no process. For a process whose thread waits for a request, as process_name
 * (core/base/process.h), with which it shares the descriptors: it costs a read of
 * /proc/NUMBER/comm, and for a process that is new here one of /proc/NUMBER/stat. */
uint64_t process_mark (pid_t process);

#endif
