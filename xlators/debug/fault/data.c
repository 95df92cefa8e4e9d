/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data that are cut short, changed or torn. A change is made in a copy, unless there is no other
 * reference to the bytes. */
#include "fault.h"

#include <errno.h>

/* Flips bits of the vector. The seed and the number of the match select them. */
static void
flip_bits (const struct iovec *vector, int count, const struct fault_local *local)
{
    const uint64_t size = iov_length (vector, count);

    for (uint64_t i = 0; i < local->data->number && size > 0; i++) {
        const uint64_t bit = chance_number (~local->seed, local->number * RULE_FLIPS_MAX + i)
                           % (size * 8);
        uint64_t at = bit / 8;
        int part = 0;

        for (; at >= vector[part].iov_len; part++)
            at -= vector[part].iov_len;
        ((unsigned char *) vector[part].iov_base)[at] ^= 1u << bit % 8;
    }
}

/* --- writes ----------------------------------------------------------------------------------- */

/* The number of bytes of a torn write that reach storage. The rule gives a number, or it is drawn.
 * It is rounded down to a whole sector of the file, and is always less than the whole write. */
static size_t
torn_size (const struct call *call, const struct fault_local *local)
{
    const uint64_t offset = call->offset < 0 ? 0 : (uint64_t) call->offset, size = call->size;
    uint64_t left = local->data->number, end;

    if (left == UINT64_MAX)
        left = size ? chance_number (~local->seed, local->number) % size : 0;
    if (left >= size)
        left = size ? size - 1 : 0;
    end = (offset + left) / SECTOR * SECTOR;
    return end > offset ? end - offset : 0;
}

/* size 0: a write of no bytes, which answers with the expected attributes. */
static void
write_first (const struct call *call, size_t size)
{
    struct writev_call args = *(const struct writev_call *) call->args;
    struct iovec vector[MAX (args.count, 1)];
    struct call first = *call;

    args.count = MAX (iov_first (args.vector, args.count, size, vector), 1);
    if (size == 0)
        vector[0] = (struct iovec){ args.vector ? args.vector->iov_base : NULL, 0 };
    args.vector = vector;
    first.args = &args;
    call_wind (&first, FIRST_CHILD (call->this), NULL);
}

static void
write_torn (const struct call *call, struct fault_local *local)
{
    local->size = call->size;
    write_first (call, torn_size (call, local));
}

static void
write_flipped (const struct call *call, const struct fault_local *local)
{
    struct writev_call args = *(const struct writev_call *) call->args;
    struct iovec vector[MAX (args.count, 1)];
    struct iobref *held = NULL;
    struct call flipped = *call;
    int count = 0;

    if (iov_writable (args.vector, args.count, args.iobref, vector, &count, &held) < 0) {
        call_fail (call, ENOMEM);
        return;
    }
    flip_bits (vector, count, local);
    args.vector = vector;
    args.count = count;
    args.iobref = held;
    flipped.args = &args;
    call_wind (&flipped, FIRST_CHILD (call->this), NULL);
    iobref_unref (held);
}

/* --- reads ------------------------------------------------------------------------------------ */

static void
read_first (const struct call *call, size_t size)
{
    struct readv_call args = *(const struct readv_call *) call->args;
    struct call first = *call;

    args.size = MIN (args.size, size);
    first.args = &args;
    call_wind (&first, FIRST_CHILD (call->this), NULL);
}

static void
answer_flipped (const struct answer *answer, const struct fault_local *local)
{
    struct readv_answer rets = *(const struct readv_answer *) answer->rets;
    struct iovec vector[MAX (rets.count, 1)];
    struct iobref *held = NULL;
    struct answer flipped = *answer;
    int count = 0;

    if (iov_writable (rets.vector, rets.count, rets.iobref, vector, &count, &held) < 0) {
        answer_fail (answer, ENOMEM);
        return;
    }
    flip_bits (vector, count, local);
    rets.vector = vector;
    rets.count = count;
    rets.iobref = held;
    flipped.rets = &rets;
    answer_pass (&flipped);
    iobref_unref (held);
}

/* --- reads and writes ------------------------------------------------------------------------- */

void
fault_wind_data (const struct call *call, struct fault_local *local)
{
    const struct fault_step *step = local->data;

    if (call->op == FOP_writev && step->kind == STEP_TORN)
        write_torn (call, local);
    else if (call->op == FOP_writev && step->kind == STEP_FLIP)
        write_flipped (call, local);
    else if (call->op == FOP_writev)
        write_first (call, step->number);
    else if (step->kind == STEP_SHORT)
        read_first (call, step->number);
    else
        call_wind (call, FIRST_CHILD (call->this), NULL);
}

void
fault_answer_data (const struct answer *answer, const struct fault_local *local)
{
    struct answer whole = *answer;

    whole.op_ret = (int32_t) local->size;
    if (answer->op_ret < 0)
        answer_pass (answer);
    else if (local->error)
        answer_fail (answer, local->error);
    else if (local->data->kind == STEP_TORN)
        answer_pass (&whole);
    else if (answer->op == FOP_readv && local->data->kind == STEP_FLIP && answer->op_ret > 0)
        answer_flipped (answer, local);
    else
        answer_pass (answer);
}
