/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * open with O_TRUNC, and truncate to no bytes, of a lower's file: the copy gets no bytes. The
 * caller empties it before anybody sees it, so nothing is lost if the caller may not, or the copy
 * fails.
 * A call that finds another thread copying the file waits for that copy, as any change does.
 */
#include "up.h"

bool
overlay_empties (const struct call *call, const inode_t *inode)
{
    if (inode->ia_type != IA_IFREG)
        return false;
    if (call->op == FOP_open)
        return call->flags & O_TRUNC;
    if (call->op == FOP_truncate)
        return call->offset == 0;
    return call->op == FOP_ftruncate && call->offset == 0
           && (call->fd->flags & O_ACCMODE) != O_RDONLY;
}

/* Opens the file in the upper, which has the emptied copy. */
static void
overlay_emptied_open (const struct call *call)
{
    struct changed_call changed;

    call_change (call, &changed);
    changed.args.open.flags &= ~(uint32_t) O_TRUNC;
    changed.call.flags = changed.args.open.flags;
    overlay_pass (&changed.call);
}

static void
overlay_emptied_answer (const struct call *call, inode_t *inode, struct iatt *before)
{
    struct overlay_act act;
    struct iatt after;
    int r;

    overlay_act_begin (&act, call->this, call->frame, inode);
    r = overlay_stat_upper (&act, inode, &after);
    overlay_act_end (&act);
    if (r == 0)
        overlay_iatt_above (call->this, inode, OVERLAY_UPPER, &after);
    if (r < 0)
        call_fail (call, -r);
    else if (call->op == FOP_truncate)
        STACK_UNWIND (truncate, call->frame, 0, 0, before, &after, NULL);
    else
        STACK_UNWIND (ftruncate, call->frame, 0, 0, before, &after, NULL);
}

void
overlay_empty (const struct call *call, inode_t *inode)
{
    struct overlay_local *local = overlay_local_of (call->frame);
    struct overlay_emptying emptying = { .call = call };
    int r;

    if (!local->on_thread) {
        overlay_to_thread (call, NULL);
        return;
    }
    local->emptied = true;
    r = overlay_copy_up_empty (call->this, inode, &emptying);
    if (r < 0)
        call_fail (call, -r);
    else if (!emptying.done)
        overlay_pass (call);
    else if (call->op == FOP_open)
        overlay_emptied_open (call);
    else
        overlay_emptied_answer (call, inode, &emptying.before);
}
