/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls that are held back without a thread that waits: for a time, until somebody lets them go,
 * until whoever asked is interrupted, or until the graph ends. Then one of a few threads goes on
 * with them. The timers' thread does so only while no other could be started: what is below may
 * take its time.
 *
 *   held_add (priv->held, call_keep_to_pass (call), 100 * 1000000, NULL);
 */
#ifndef WINDLASS_CORE_WORK_DELAYED_H
#define WINDLASS_CORE_WORK_DELAYED_H

#include "core/edge/stub.h"

/* Why a call is held no more. */
enum held_end {
    HELD_DUE,         /* its time is over */
    HELD_RELEASED,    /* held_release */
    HELD_INTERRUPTED, /* whoever asked no longer waits */
    HELD_STOPPED,     /* held_stop: the graph ends */
};

#define HELD_FOR_EVER (-1)

struct held_calls;

/* go_on is called once for each call, without a lock, and has the stub from then on: call_resume
 * (stub), or call_stub_destroy (stub) and frame_fail. data: of held_add. */
struct held_calls *held_new (void (*go_on) (call_stub_t *stub, enum held_end why, void *data));

/* Stops and waits first; ends its threads. No call may come any more. Takes NULL. */
void held_free (struct held_calls *calls);

/* Holds the call for so many nanoseconds, or for ever; data lives at least as long. It may go on
 * before this returns: on the path of a request it is the last statement. The stub isn't NULL. */
void held_add (struct held_calls *calls, call_stub_t *stub, int64_t nanoseconds, void *data);

/* Lets those go for whose data which says so (NULL: all), in the order in which they came; returns
 * how many. which is called under a lock. */
unsigned held_release (struct held_calls *calls, bool (*which) (const void *data, const void *arg),
                       const void *arg);

/* How many of those are held. */
unsigned held_count (struct held_calls *calls, bool (*which) (const void *data, const void *arg),
                     const void *arg);

/* What the call of that frame waits for, if it is held: as dumpops.waits_for. more: appends what
 * data has to say, or NULL; under a lock. */
void held_waits_for (struct held_calls *calls, const call_frame_t *frame,
                     void (*more) (const void *data, GString *out), GString *out);

/* Lets all go, and from now on holds none. held_wait waits until they have gone on. */
void held_stop (struct held_calls *calls);
void held_wait (struct held_calls *calls);

#endif
