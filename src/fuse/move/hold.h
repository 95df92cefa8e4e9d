/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Holds the kernel's requests back, so that the mount can move to another graph, or end an old
 * one. A request is held by the thread that has read it: the thread waits before libfuse sees
 * it. */
#ifndef WINDLASS_FUSE_MOVE_HOLD_H
#define WINDLASS_FUSE_MOVE_HOLD_H

#include "fuse/state.h"

/* Waits while requests are held, and then has libfuse handle the request in buf. Each thread that
 * takes requests from the kernel calls it for each request. */
void hold_process (struct request_thread *thread, struct fuse_buf *buf);

/* Holds new requests, and waits until no thread handles an earlier one, or until a time of
 * clock_now. Returns whether no thread does. A request may be unanswered when its thread has
 * handled it. In any case requests are held until the caller calls hold_end. */
bool hold_begin (struct bridge *bridge, int64_t until);
void hold_end (struct bridge *bridge);

/* Holds new requests until all earlier ones are answered, and no translator keeps a call aside.
 * Before that, but once all are answered, calls settle (data), which may make requests of its own.
 * Callers' waits for locks go on. Tries so for 10 ms, then for 20, 40 ms ..., for 10 s in all;
 * between two tries held requests go on, so that callers wait for a short time if something hinders
 * the hold. Each graph of the mount gets XLATOR_HOLDING before a try. If no try succeeds, appends a
 * line about the request in the way to answer, and returns -EAGAIN. After success, returns 0, and
 * requests are held until the caller calls hold_over; *ret_since is the time of clock_now when the
 * hold began. Called on the main thread. */
int hold_idle (struct bridge *bridge, void (*settle) (void *data), void *data, int64_t *ret_since,
               GString *answer);

/* Lets requests go on, and sends XLATOR_HOLD_OVER to each graph of the mount. */
void hold_over (struct bridge *bridge);

#endif
