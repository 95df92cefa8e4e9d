/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Holding the kernel's requests back, while the mount moves to another graph. */
#ifndef WINDLASS_FUSE_MOVE_HOLD_H
#define WINDLASS_FUSE_MOVE_HOLD_H

#include "fuse/state.h"

/* Has libfuse handle a request, as soon as requests aren't held. Called by each thread that takes
 * requests. */
void hold_process (struct request_thread *thread, struct fuse_buf *buf);

/* hold_begin holds new requests, and waits until no thread handles one. hold_answered waits until
 * every request is answered. hold_idle waits until every request is answered and no translator
 * keeps a call for later. These three wait until the time `until` of clock_now at most, and return
 * false if that was too short; then requests are still held. hold_end lets requests go on. */
bool hold_begin (struct bridge *bridge, int64_t until);
bool hold_answered (int64_t until);
bool hold_idle (int64_t until);
void hold_end (struct bridge *bridge);

#endif
