/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/edge/fan-out.h"
#include "core/data/dict.h"
#include "core/table/fops-rows.h"
#include "core/edge/call-fields.h"

void
fan_init (struct fan_out *fan, call_frame_t *frame, unsigned n)
{
    fan->frame = frame;
    fan->n = n;
    fan->answers = g_new0 (struct fan_answer, n);
}

/* All replies begin with op_ret. */
static void *
fan_reply (const struct fan_out *fan, unsigned i)
{
    return &fan->answers[i].op_ret;
}

static void
answers_drop (struct fan_out *fan)
{
    for (unsigned i = 0; i < fan->n; i++) {
        reply_drop (fan->answers[i].op, fan_reply (fan, i));
        fan->answers[i].op = FOP_NONE;
    }
}

void
fan_clear (struct fan_out *fan)
{
    answers_drop (fan);
    g_free (fan->answers);
    *fan = (struct fan_out){ 0 };
}

void
fan_begin (struct fan_out *fan, void (*next) (call_frame_t *frame))
{
    answers_drop (fan);
    fan->next = next;
    __atomic_store_n (&fan->waiting, 1, __ATOMIC_RELAXED);
}

struct fan_answer *
fan_ask (struct fan_out *fan, unsigned i, enum fop op)
{
    struct fan_answer *answer = &fan->answers[i];

    g_assert (i < fan->n && answer->op == FOP_NONE);
    answer->fan = fan;
    answer->op = op;
    __atomic_add_fetch (&fan->waiting, 1, __ATOMIC_RELAXED);
    return answer;
}

bool
fan_is_answered (struct fan_out *fan)
{
    return __atomic_sub_fetch (&fan->waiting, 1, __ATOMIC_ACQ_REL) == 0;
}

void
fan_end (struct fan_out *fan)
{
    if (fan_is_answered (fan))
        fan->next (fan->frame);
}

unsigned
fan_successes (const struct fan_out *fan)
{
    unsigned n = 0;

    for (unsigned i = 0; i < fan->n; i++)
        n += fan->answers[i].op != FOP_NONE && fan->answers[i].op_ret >= 0;
    return n;
}

struct fan_answer *
fan_success (const struct fan_out *fan)
{
    for (unsigned i = 0; i < fan->n; i++)
        if (fan->answers[i].op != FOP_NONE && fan->answers[i].op_ret >= 0)
            return &fan->answers[i];
    return NULL;
}

int
fan_error (const struct fan_out *fan)
{
    for (unsigned i = 0; i < fan->n; i++)
        if (fan->answers[i].op != FOP_NONE && fan->answers[i].op_ret < 0)
            return -fan->answers[i].op_errno;
    return 0;
}

#define DECLARE(kind, name) , C_##kind name
#define NAME(kind, name) , name

#define ANSWERED(fop)                                                                              \
    void fanned_##fop##_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,    \
                             int32_t op_errno FOP_RETS_##fop (DECLARE))                            \
    {                                                                                              \
        struct fan_answer *answer = cookie;                                                        \
        fop##_reply_keep (&answer->fop, op_ret, op_errno FOP_RETS_##fop (NAME));                   \
        fan_end (answer->fan);                                                                     \
    }
FOP_LIST (ANSWERED)

/* --- calls of any operation ------------------------------------------------------------------- */

#define CALLBACK(fop) [FOP_##fop] = (ret_fn_t) fanned_##fop##_cbk,
static const ret_fn_t fanned_cbks[FOP_MAX] = { FOP_LIST (CALLBACK) };

void
fan_call_at (struct fan_out *fan, unsigned i, xlator_t *child, const struct call *call,
             const struct call_site *site)
{
    call_wind_to (call, child, fanned_cbks[call->op], fan_ask (fan, i, call->op), site);
}

struct answer
fan_seen (const struct fan_out *fan, unsigned i)
{
    const struct fan_answer *kept = &fan->answers[i];
    struct answer answer = { .op = kept->op,
                             .frame = fan->frame,
                             .this = fan->frame->this,
                             .op_ret = kept->op_ret,
                             .op_errno = kept->op_errno };

    reply_fields (kept->op, fan_reply (fan, i), &answer);
    return answer;
}

void
fan_pass_at (const struct fan_out *fan, unsigned i, const struct call_site *site)
{
    reply_unwind (fan->answers[i].op, fan_reply (fan, i), fan->frame, site);
}

const char *
fan_text (const struct fan_answer *answer, const char *name)
{
    return answer->op == FOP_getxattr && answer->op_ret >= 0
               ? dict_get_str (answer->getxattr.dict, name)
               : NULL;
}
