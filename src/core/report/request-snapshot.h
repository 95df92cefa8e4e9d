/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests that other threads work on, as seen by a report: a copy, taken without a lock and
 * checked afterwards. All memory read here stays mapped: call_stack_t and strands are reused, and
 * whoever takes a copy, and uses it, does so between xlators_pin and xlators_unpin, so that no
 * translator in it is freed. In the worst case a request is missed, or half of the copy is a moment
 * older than the other half.
 *
 * Reasons:
 *
 * - call_stack_t and strands are never freed, only reused, and names are read only where they lie
 *   in the request's own memory. A report therefore costs requests nothing.
 * - The translator of a waiting request tells what the request waits for. If it doesn't,
 *   /proc/self/task tells the system call of the thread that took the request last (one store for
 *   each request). Paths come from /proc/self/fd and, for openat and the like, /proc/self/mem. No
 *   file system is asked, since it may be the one that hangs. For the same reason posix reads
 *   /proc/locks and fdinfo, not F_OFD_GETLK.
 */
#ifndef WINDLASS_CORE_REPORT_REQUEST_SNAPSHOT_H
#define WINDLASS_CORE_REPORT_REQUEST_SNAPSHOT_H

#include "core/edge/frame.h"
#include "core/edge/steps.h"

#define SEEN_FRAMES 48 /* frames recorded for a request */
#define SEEN_PATH 1024 /* bytes of a path; a longer one begins with "..." */

/* A frame that is not answered yet. */
struct seen_frame {
    xlator_t *xl;
    enum fop op;
    const struct call_site *from;        /* where it was wound, or NULL */
    const call_frame_t *frame, *parent;  /* only for comparison; must not be dereferenced */
    bool last;                           /* no other frame is its child: the request is here now */
    struct step_seen step;               /* of the sequence that answers it */
};

struct seen_request {
    const call_stack_t *root;
    const xlator_t *maker; /* its creator: the bridge, or a translator */
    const char *internal;  /* as in the request */
    uint64_t unique, about, caused_by, lk_owner;
    enum fop op;
    uid_t uid;
    gid_t gid;
    pid_t pid, thread;
    struct timespec ctime;
    int64_t age; /* nanoseconds */
    unsigned n, more; /* n: frames recorded; more: frames without room */
    struct seen_frame frames[SEEN_FRAMES]; /* parents first */
    char path[SEEN_PATH]; /* from the root of the mount; "" if unknown */
};

/* Returns false if the request ended meanwhile. may_wait: whether to wait for the lock of the
 * inodes' names, which no thread holds for long; a crash report must not wait. Allocates no
 * memory. */
bool stack_see (const call_stack_t *root, bool may_wait, struct seen_request *ret_seen);

/* Finds the path that a request is about, "" if unknown: the field path alone. */
void stack_path (const call_stack_t *root, bool may_wait, char ret_path[SEEN_PATH]);

/* Appends what a frame that is last waits for, as a phrase: from its translator, else from the
 * state of the thread that took the request last. Reads /proc; call it on any thread that serves no
 * requests. */
void seen_waits_for (const struct seen_request *seen, const struct seen_frame *frame, GString *out);

/* Appends a process as "cat (4711)"; a negative number is a translator's own request. */
void process_append (GString *out, pid_t pid);

#endif
