/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests that other threads work on, as a report sees them: a copy, taken without a lock, checked
 * afterwards. Nothing that it looks at is ever unmapped: call_stack_t and strands are used again,
 * and translators live as long as their graph. So the worst is that a request is not seen, or half
 * of it is a moment older than the other half.
 *
 * Reasons:
 *
 * - call_stack_t and strands are never freed, only used again, and names are read only where they
 *   lie in the request's own memory. So asking costs requests nothing.
 * - What a request waits for is its translator's to say, or found in /proc/self/task: the thread
 *   that took it last (one store for each request) and its system call. Paths come from
 *   /proc/self/fd and, for openat and the like, /proc/self/mem. No file system is asked, since it
 *   may be the one that hangs. For the same reason posix reads /proc/locks and fdinfo, not
 *   F_OFD_GETLK.
 */
#ifndef WINDLASS_CORE_REPORT_REQUEST_SNAPSHOT_H
#define WINDLASS_CORE_REPORT_REQUEST_SNAPSHOT_H

#include "core/edge/frame.h"

#define SEEN_FRAMES 48 /* that are told of one request */
#define SEEN_PATH 1024 /* bytes of a path; a longer one begins with "..." */

/* A frame that is not answered yet. */
struct seen_frame {
    xlator_t *xl;
    enum fop op;
    const struct call_site *from;        /* where it was wound, or NULL */
    const call_frame_t *frame, *parent;  /* to be compared, not to be followed */
    bool last;                           /* it waits for no other frame: here the request is now */
};

struct seen_request {
    const call_stack_t *root;
    const xlator_t *maker; /* who made it: the bridge, or a translator */
    uint64_t unique, about, caused_by, lk_owner;
    enum fop op;
    uid_t uid;
    gid_t gid;
    pid_t pid, thread;
    struct timespec ctime;
    int64_t age; /* ns */
    unsigned n, more; /* frames here, and those that have no place */
    struct seen_frame frames[SEEN_FRAMES]; /* parents first */
    char path[SEEN_PATH]; /* from the root of the mount; "" where it isn't known */
};

/* false: the request ended meanwhile. may_wait: for the lock of the inodes' names, which nobody
 * holds for long; a crash report may not. Takes no memory. */
bool stack_see (const call_stack_t *root, bool may_wait, struct seen_request *ret_seen);

/* What a request is about, "" where it isn't known: the field path alone. */
void stack_path (const call_stack_t *root, bool may_wait, char ret_path[SEEN_PATH]);

/* What a frame that is last waits for, as a phrase: what its translator says, else what the thread
 * does that took the request last. Any thread but those that serve requests; reads /proc. */
void seen_waits_for (const struct seen_request *seen, const struct seen_frame *frame, GString *out);

/* "cat (4711)" */
void process_append (GString *out, pid_t pid);

#endif
