/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A question about a path, to a file system that may never answer.
 *
 * When a daemon has read a request, the caller waits in the kernel for its answer, even if the
 * caller is killed; and a process with a thread that waits so does not end. So a process of its own
 * asks. If no answer comes, that process is left behind.
 */
#ifndef WINDLASS_CORE_BASE_PATH_QUESTION_H
#define WINDLASS_CORE_BASE_PATH_QUESTION_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct path_answer {
    int error;           /* an errno, or 0 */
    int fd;              /* a descriptor, which whoever takes the answer closes; -1: none */
    char text[PATH_MAX]; /* ends with NUL */
};

/* Asks the file system, in the other process, which has no descriptors of this one. data: the
 * argument of path_question_begin. answer is empty before. */
typedef void path_question_fn (const char *path, const void *data, struct path_answer *answer);

struct path_question {
    int error; /* an errno: no process could be started; or 0 */
    pid_t pid; /* 0: reaped */
    int fd;    /* the reading end of the connection with the process */
};

void path_question_begin (struct path_question *ret_question, path_question_fn *ask,
                          const char *path, const void *data);

/* Waits for the answer for so many milliseconds. Returns whether it came; a question that could not
 * be asked is answered with the error. Not to be called again after that. */
bool path_question_wait (struct path_question *question, int milliseconds,
                         struct path_answer *ret_answer);

/* Without an answer, kills the other process. It ends at once if the daemon has not read its
 * request, else when the daemon answers or its connection is aborted. */
void path_question_end (struct path_question *question);

/* All three: asks, and waits for so many milliseconds. Returns whether the answer came. */
bool path_ask (path_question_fn *ask, const char *path, const void *data, int milliseconds,
               struct path_answer *ret_answer);

#endif
