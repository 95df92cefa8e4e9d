/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Work of several steps, each of which asks some children and waits for all their answers:
 *
 *   fan_begin (fan, made_everywhere);                    the next step
 *   for (unsigned i = 0; i < priv->n; i++)
 *       FAN_WIND (fan, i, priv->children[i], mkdir, loc, mode, umask, xdata);
 *   fan_end (fan);                                       the last statement of this step
 *
 *   static void
 *   made_everywhere (call_frame_t *frame)
 *   {
 *       if (fan->answers[0].op_ret < 0) ...              answers[i].mkdir.buf, .inode, ...
 *
 * The next step runs on the thread that brought the last answer, or inside fan_end if all came
 * before. Answers live until the next fan_begin. Only one thread works on a step, so a step needs
 * no lock.
 *
 * The calls are winds of one frame: the translator's own in a request, or the first frame of a
 * request that the translator made. A fan-out lies in a local; local_drop calls fan_clear.
 */
#ifndef WINDLASS_CORE_EDGE_FAN_OUT_H
#define WINDLASS_CORE_EDGE_FAN_OUT_H

#include "core/edge/any-fop.h"
#include "core/edge/frame.h"
#include "core/edge/reply.h"

/* One child's answer. All replies begin with op_ret and op_errno. */
struct fan_answer {
    struct fan_out *fan;
    enum fop op; /* FOP_NONE: the child was not asked in this step */
    union {
        struct {
            int32_t op_ret, op_errno;
        };
#define FOP(name) struct name##_reply name;
#include "fops.def"
    };
};

struct fan_out {
    call_frame_t *frame;
    void (*next) (call_frame_t *frame);
    unsigned waiting; /* answers to come, and 1 before fan_end; atomic */
    unsigned n;
    struct fan_answer *answers; /* n of them */
};

/* Prepares fan, which is all zeros, for winds of frame to at most n children. */
void fan_init (struct fan_out *fan, call_frame_t *frame, unsigned n);

/* Drops the answers and their memory; takes a fan-out that is all zeros. */
void fan_clear (struct fan_out *fan);

/* Drops the answers of the step before, and begins a step, after which next runs. */
void fan_begin (struct fan_out *fan, void (*next) (call_frame_t *frame));
void fan_end (struct fan_out *fan);

/* In place of fan_end: returns true if all answers are there, and does not call next then. */
bool fan_is_answered (struct fan_out *fan);

/* Returns the text of an extended attribute in a child's answer to a getxattr; NULL: the child was
 * not asked, has failed, or has no such attribute. */
const char *fan_text (const struct fan_answer *answer, const char *name);

/* Calls fop_ of child_, whose answer is fan_->answers[i_] in the next step. */
#define FAN_WIND(fan_, i_, child_, fop_, ...)                                                      \
    do {                                                                                           \
        struct fan_out *const own_fan_ = (fan_);                                                   \
        FAN_WIND_FROM (own_fan_, own_fan_->frame, i_, child_, fop_, __VA_ARGS__);                  \
    } while (0)

/* The same, as a wind of frame_, which may be of another request than the fan-out's frame. */
#define FAN_WIND_FROM(fan_, frame_, i_, child_, fop_, ...)                                         \
    STACK_WIND_AT (frame_, fanned_##fop_##_cbk, fan_ask (fan_, i_, FOP_##fop_), CALL_SITE,         \
                   child_, fop_, __VA_ARGS__)

/* The same with a call of any operation (core/edge/any-fop.h) in the fan-out's frame. */
#define fan_call(fan_, i_, child_, call_) fan_call_at (fan_, i_, child_, call_, CALL_SITE)
void fan_call_at (struct fan_out *fan, unsigned i, xlator_t *child, const struct call *call,
                  const struct call_site *site);

/* Returns answers[i] with the fields that any_fop_cbk would have seen; rets is NULL. They point
 * into answers[i], so changes of them are passed on. */
struct answer fan_seen (const struct fan_out *fan, unsigned i);

/* Answers the parent of the fan-out's frame, whose operation the call was, with answers[i]. */
#define fan_pass(fan_, i_) fan_pass_at (fan_, i_, CALL_SITE)
void fan_pass_at (const struct fan_out *fan, unsigned i, const struct call_site *site);

/* Returns how many of the children that were asked succeeded. */
unsigned fan_successes (const struct fan_out *fan);

/* Returns the answer of a child that succeeded, the first one; NULL: none did. */
struct fan_answer *fan_success (const struct fan_out *fan);

/* Returns the negative errno of the first child that failed, or 0. */
int fan_error (const struct fan_out *fan);

/* For FAN_WIND only. */
struct fan_answer *fan_ask (struct fan_out *fan, unsigned i, enum fop op);
#define FOP(name) name##_cbk fanned_##name##_cbk;
#include "fops.def"

#endif
