/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sends access and flush to both children, and answers with the first child's answer when both have
 * answered; with a single mistake: the option `defect`. All other operations go to the first child,
 * so both must be the same storage.
 */
#include "xlator.h"

#include <errno.h>

enum defect { NONE, ORDER, FIRST_ANSWER };

typedef struct {
    int defect;
} two_private_t;

typedef struct {
    int waiting;      /* atomic */
    int answers;      /* atomic */
    int op_ret, op_errno;
} two_local_t;

static const struct option_choice two_defects[] = {
    { "none", NONE }, { "order", ORDER }, { "first-answer", FIRST_ANSWER }, {},
};

static const struct xlator_option two_options[] = {
    { OPTION ("defect", ENUM, two_private_t, defect, "none"), .values = two_defects,
      .help = "the mistake" },
    {},
};

static bool
has (xlator_t *this, enum defect defect)
{
    return ((two_private_t *) this->private)->defect == (int) defect;
}

static access_cbk two_access_cbk;

static void
two_access (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t mask, dict_t *xdata)
{
    two_local_t *local = frame_local_new (frame, sizeof *local);
    xlator_t *first = FIRST_CHILD (this), *second = this->children->next->xlator;

    local->waiting = 2;
    STACK_WIND_COOKIE (frame, two_access_cbk, first, first, access, loc, mask, xdata);
    /* The second child gets another request, so that the answers differ. */
    STACK_WIND_COOKIE (frame, two_access_cbk, second, second, access, loc, 1 << 10, xdata);
}

static void
two_access_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                dict_t *xdata)
{
    two_local_t *local = frame->local;
    const int answers = __atomic_add_fetch (&local->answers, 1, __ATOMIC_ACQ_REL);
    const bool first = has (this, ORDER) ? answers == 1 : cookie == FIRST_CHILD (this);

    if (first) {
        local->op_ret = op_ret;
        local->op_errno = op_errno;
    }
    if (has (this, FIRST_ANSWER) && answers == 1) {
        STACK_UNWIND (access, frame, op_ret, op_errno, xdata);
        return;
    }
    if (has (this, FIRST_ANSWER) || __atomic_sub_fetch (&local->waiting, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    STACK_UNWIND (access, frame, local->op_ret, local->op_errno, local->op_ret < 0 ? NULL : xdata);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "defects/two",
    .about = "asks two children at once, with a mistake",
    .children = { .min = 2, .max = 2 },
    .priv_size = sizeof (two_private_t),
    .options = two_options,
    .fops = { .access = two_access },
};
