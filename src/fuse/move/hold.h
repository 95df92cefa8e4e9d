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

/* hold_begin holds new requests, and waits until no thread handles an earlier one; a request may be
 * unanswered when its thread has handled it. hold_answered waits until every request is answered.
 * hold_idle waits until every request is answered, and no translator keeps a call for later. These
 * three wait until the time `until` of clock_now at most. They return false if the condition is not
 * met by then. In any case requests are held until the caller calls hold_end. */
bool hold_begin (struct bridge *bridge, int64_t until);
bool hold_answered (int64_t until);
bool hold_idle (int64_t until);
void hold_end (struct bridge *bridge);

#endif
