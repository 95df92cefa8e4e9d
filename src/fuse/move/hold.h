/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Holds the kernel's requests back, so that the mount can move to another graph, or end an old
 * one. A request is held by the thread that has read it: the thread waits before libfuse sees
 * it. */
#ifndef WINDLASS_FUSE_MOVE_HOLD_H
#define WINDLASS_FUSE_MOVE_HOLD_H

#include "core/edge/sync.h"
#include "fuse/state.h"

/* Waits while requests are held, and then has libfuse handle the request in buf. Each thread that
 * takes requests from the kernel calls it for each request. */
void hold_process (struct request_thread *thread, struct fuse_buf *buf);

/* Holds new requests, and waits until no thread handles an earlier one, or until a time of
 * clock_now. Returns whether no thread does. A request may be unanswered when its thread has
 * handled it. In any case requests are held until the caller calls hold_end. The caller has the
 * turn. */
bool hold_begin (struct bridge *bridge, int64_t until);
void hold_end (struct bridge *bridge);

/* Only one thread at a time holds requests, or changes bridge->graph or the lists of old graphs. It
 * has the turn meanwhile. hold_idle takes it, and hold_over gives it back. */
void hold_take_turn (struct bridge *bridge);
void hold_give_turn (struct bridge *bridge);

/* What hold_idle needs to know. */
struct hold_plan {
    void (*settle) (void *data); /* called in each try, once all requests are answered. It may make
                                  * requests of its own */
    void *data;
    const xlator_t *asker;       /* of a pause: requests that it has set aside do not count. NULL: a
                                  * move */
    int64_t patience;            /* maximum nanoseconds of all tries */
    const char *hindered;        /* for the message, such as "the move" */
};

/* Holds new requests until all earlier ones are answered, and no translator keeps a call aside.
 * Requests that wait for callers' locks do not count, nor those about an inode for which a job
 * rests (stack_rest_waits). Tries so for 10 ms, then for 20, 40 ms ..., up to the patience;
 * between two tries held requests go on, so that callers wait for a short time if something hinders
 * the hold. Each graph of the mount gets XLATOR_HOLDING before a try. If no try succeeds, appends a
 * line about the request in the way to answer, and returns -EAGAIN. Returns -ESHUTDOWN, with a
 * line, if a pause is too late, as the mount ends. After success, returns 0, and requests are held
 * until the caller calls hold_over; *ret_since is the time of clock_now when the hold began. Called
 * on the main thread for a move, and on a thread of core/work for a pause. */
int hold_idle (struct bridge *bridge, const struct hold_plan *plan, int64_t *ret_since,
               GString *answer);

/* Lets requests go on, and sends XLATOR_HOLD_OVER to each graph of the mount. */
void hold_over (struct bridge *bridge);

/* For settle: returns the set of the inodes that requests under way are about, with references; not
 * those that wait for locks. In a move these requests wait for a job that rests, or are about the
 * inode of one that does; a flush of the inode would wait, too. */
GHashTable *hold_waiting_inodes (struct bridge *bridge);

/* Has the graph of client write an open file's data that its translators keep in memory, while
 * requests are held. An error goes to fd->owed, and the next close or fsync of the file returns it.
 * A flush also drops record locks of its lock owner, but no process has that of client. */
void hold_flush (struct client *client, fd_t *fd);

#endif
