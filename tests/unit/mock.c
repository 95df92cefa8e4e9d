/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mock.h"

#include <errno.h>

gulong mock_leaf_nap, mock_pass_nap;
int mock_leaf_errno;

void
mock_leaf_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct iatt buf = { .ia_size = 42, .ia_type = IA_IFREG };

    if (mock_leaf_nap)
        g_usleep (mock_leaf_nap);
    if (mock_leaf_errno)
        STACK_UNWIND (stat, frame, -1, mock_leaf_errno, NULL, NULL);
    else
        STACK_UNWIND (stat, frame, 0, 0, &buf, NULL);
}

static void
mock_leaf_access (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t mask, dict_t *xdata)
{
    STACK_UNWIND (access, frame, -1, EACCES, NULL);
}

const struct xlator_api mock_leaf_api = {
    .type = "test/leaf",
    .fops = { .stat = mock_leaf_stat, .access = mock_leaf_access },
};

void
mock_pass_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    if (mock_pass_nap)
        g_usleep (mock_pass_nap);
    STACK_WIND (frame, mock_pass_stat_cbk, FIRST_CHILD (this), stat, loc, xdata);
}

void
mock_pass_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno, struct iatt *buf, dict_t *xdata)
{
    STACK_UNWIND (stat, frame, op_ret, op_errno, buf, xdata);
}

const struct xlator_api mock_pass_api = { .type = "test/pass", .fops = { .stat = mock_pass_stat } };

static void
mock_tail_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), stat, loc, xdata);
}

const struct xlator_api mock_tail_api = { .type = "test/tail", .fops = { .stat = mock_tail_stat } };
