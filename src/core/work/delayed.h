/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls that are held back without a waiting thread: for a time, until they are released, until the
 * caller is interrupted, or until the graph ends. A thread of core/work then continues them. The
 * timer thread does so only while core/work can't start a thread, since the translators below may
 * block.
 *
 *   held_add (priv->held, call_keep_to_pass (call), 100 * 1000000, NULL);
 */
#ifndef WINDLASS_CORE_WORK_DELAYED_H
#define WINDLASS_CORE_WORK_DELAYED_H

#include "core/edge/stub.h"
#include "core/edge/translator.h"

/* Why the holding of a call ended. */
enum held_end {
    HELD_DUE,         /* the time is over */
    HELD_RELEASED,    /* held_release; or the mount moves to another graph */
    HELD_INTERRUPTED, /* the caller no longer waits */
    HELD_STOPPED,     /* the graph ends */
};

#define HELD_FOR_EVER (-1)

struct held_calls;

/* go_on is called once for each call, without a lock. go_on owns the stub from then on: call_resume
 * (stub), or call_resume_or_fail. data: the argument of held_add. */
struct held_calls *held_new (void (*go_on) (call_stub_t *stub, enum held_end why, void *data));

/* Releases all calls, waits until they have gone on, and ends the use of core/work. No call may be
 * added any more. Takes NULL. */
void held_free (struct held_calls *calls);

/* Holds the call for so many nanoseconds, or HELD_FOR_EVER. data must live at least as long. The
 * call may go on before this returns: on the path of a request this is the last statement. stub
 * must not be NULL. */
void held_add (struct held_calls *calls, call_stub_t *stub, int64_t nanoseconds, void *data);

/* Releases the calls for whose data `which` returns true (NULL: all), in the order in which they
 * were added; returns their number. which is called under a lock. */
unsigned held_release (struct held_calls *calls, bool (*which) (const void *data, const void *arg),
                       const void *arg);

/* Returns the number of those calls. */
unsigned held_count (struct held_calls *calls, bool (*which) (const void *data, const void *arg),
                     const void *arg);

/* Appends what the call of a frame waits for, if it is held: as dumpops.waits_for. more, which may
 * be NULL, appends a text about data; more is called under a lock. */
void held_waits_for (struct held_calls *calls, const call_frame_t *frame,
                     void (*more) (const void *data, GString *out), GString *out);

/* For the translator's notify, which passes the event on afterwards. XLATOR_HOLDING releases all
 * calls (HELD_RELEASED), and until XLATOR_HOLD_OVER added calls go on at once. XLATOR_ENDING and
 * XLATOR_PARENT_DOWN release them for good (HELD_STOPPED); PARENT_DOWN also waits until all
 * released calls have gone on. */
void held_notify (struct held_calls *calls, enum xlator_event event);

#endif
