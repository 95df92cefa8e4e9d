/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/edge/fan-out.h"
#include "core/table/fops-rows.h"

void
fan_init (struct fan_out *fan, call_frame_t *frame, unsigned n)
{
    fan->frame = frame;
    fan->n = n;
    fan->answers = g_new0 (struct fan_answer, n);
}

static void
answer_drop (struct fan_answer *answer)
{
    switch (answer->op) {
#define DROP(fop)                                                                                  \
    case FOP_##fop:                                                                                \
        fop##_reply_drop (&answer->fop);                                                           \
        break;
        FOP_LIST (DROP)
    default:
        break;
    }
    answer->op = FOP_NONE;
}

static void
answers_drop (struct fan_out *fan)
{
    for (unsigned i = 0; i < fan->n; i++)
        answer_drop (&fan->answers[i]);
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

void
fan_end (struct fan_out *fan)
{
    if (__atomic_sub_fetch (&fan->waiting, 1, __ATOMIC_ACQ_REL) == 0)
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
