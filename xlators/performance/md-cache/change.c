/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests that change something. While one is under way nothing is used that is kept of what it changes, and nothing is kept that is
 * answered meanwhile; what its own answer says is kept if nobody else changed the same.
 */
#include "md-cache.h"

#include <stdio.h>

/* --- beginning ---------------------------------------------------------------------------------- */

static void
target_begin (xlator_t *this, struct mdc_target *target, inode_t *inode, bool xattrs)
{
    if (!inode)
        return;
    target->inode = inode_ref (inode);
    target->xattrs = xattrs;
    target->begun = mdc_change_begin (this, inode, xattrs);
}

/* Nobody knows which file the change is about. forget: nor will the answer tell. */
static void
unsure (xlator_t *this, struct mdc_change *change, bool forget)
{
    if (!change->paused)
        mdc_pause (this);
    change->paused = true;
    change->forget = change->forget || forget;
}

/* stood_for: what the table believes. Returns whether that, or nothing, is what the name stands for. */
static bool
name_begin (xlator_t *this, struct mdc_name_change *name, const loc_t *loc, inode_t *stood_for)
{
    uint64_t asked;
    bool sure, absent, known;

    name->hash = mdc_name_hash (this, loc->parent, loc->name);
    known = stood_for && mdc_is_known_by (this, stood_for, name->hash, &asked);
    name->begun = mdc_name_begin (this, name->hash, known, known ? asked : 0, &sure, &absent);
    return sure;
}

static void
begin_remove (xlator_t *this, struct mdc_change *change, const loc_t *loc)
{
    if (!name_begin (this, &change->name, loc, loc->inode))
        unsure (this, change, true);
    target_begin (this, &change->file, loc->inode, false);
    target_begin (this, &change->parent, loc->parent, false);
}

static void
begin_rename (xlator_t *this, struct mdc_change *change, const struct call *call)
{
    const loc_t *from = call->loc, *to = call->newloc;

    if (!name_begin (this, &change->name, from, from->inode))
        unsure (this, change, true);
    if (!name_begin (this, &change->newname, to, to->inode) && !(call->flags & RENAME_NOREPLACE))
        unsure (this, change, true);
    target_begin (this, &change->file, from->inode, false);
    target_begin (this, &change->other, to->inode, false);
    target_begin (this, &change->parent, from->parent, false);
    if (to->parent != from->parent)
        target_begin (this, &change->newparent, to->parent, false);
}

/* A create may cut a file off that is there. */
static void
begin_make (xlator_t *this, struct mdc_change *change, const struct call *call)
{
    const loc_t *loc = call->loc;
    const bool cuts = call->op == FOP_create && call->flags & O_TRUNC && !(call->flags & O_EXCL);
    g_autoptr (inode_t) there = cuts ? inode_grep (loc->parent, loc->name) : NULL;

    if (!name_begin (this, &change->name, loc, there) && cuts)
        unsure (this, change, false);
    target_begin (this, &change->file, there, false);
    target_begin (this, &change->parent, loc->parent, false);
}

static void
begin (xlator_t *this, struct mdc_change *change, const struct call *call)
{
    const bool xattrs = opset_has (MDC_ON_XATTRS, call->op);

    if (opset_has (MDC_ON_LOC, call->op) || call->op == FOP_open)
        target_begin (this, &change->file, call->loc->inode, xattrs);
    else if (opset_has (MDC_ON_FD, call->op))
        target_begin (this, &change->file, call->fd->inode, xattrs);
    else if (opset_has (MDC_MAKES, call->op))
        begin_make (this, change, call);
    else if (opset_has (MDC_REMOVES, call->op))
        begin_remove (this, change, call->loc);
    else if (call->op == FOP_rename)
        begin_rename (this, change, call);
    else if (call->op == FOP_copy_file_range)
        target_begin (this, &change->file, call->fd_out->inode, false);
    else if (call->op == FOP_link) {
        name_begin (this, &change->name, call->newloc, NULL);
        target_begin (this, &change->file, call->loc->inode, false);
        target_begin (this, &change->parent, call->newloc->parent, false);
    }
}

void
mdc_every (const struct call *call)
{
    struct mdc_change *change;

    if (call->op == FOP_open && !(call->flags & O_TRUNC)) {
        call_pass (call);
        return;
    }
    change = frame_local_new (call->frame, sizeof *change);
    change->local.at = mdc_now (call->this);
    change->local.change = change;
    if (call->op == FOP_copy_file_range)
        change->local.inode = inode_ref (call->fd->inode);
    begin (call->this, change, call);
    call_wind (call, FIRST_CHILD (call->this), GUINT_TO_POINTER (call->flags));
}

/* --- end ---------------------------------------------------------------------------------------- */

static void
target_end (xlator_t *this, const struct mdc_target *target, const struct iatt *post)
{
    if (target->inode)
        mdc_change_end (this, target->inode, target->xattrs, target->begun, post);
}

/* Attributes of the file that was changed. */
static const struct iatt *
post_of (const struct answer *answer)
{
    return answer->op == FOP_link || answer->op == FOP_rename || answer->op == FOP_create ? answer->buf : answer->post;
}

/* Is there no such name afterwards? A rename between two names of one file does nothing; where it isn't known what the new one stood for it
 * may have been such a one. */
static bool
is_gone (const struct mdc_change *change, const struct answer *answer)
{
    const uint32_t flags = GPOINTER_TO_UINT (answer->cookie);

    if (answer->op_ret < 0 || answer->op != FOP_rename)
        return answer->op_ret >= 0 && opset_has (MDC_REMOVES, answer->op);
    return !(flags & (RENAME_EXCHANGE | RENAME_WHITEOUT)) && !change->forget && change->file.inode != change->other.inode;
}

/* Which name stands for what is known by the one who changed it alone. */
static void
names_end (xlator_t *this, struct mdc_change *change, const struct answer *answer)
{
    const uint32_t flags = GPOINTER_TO_UINT (answer->cookie);
    const bool done = answer->op_ret >= 0, exchange = answer->op == FOP_rename && flags & RENAME_EXCHANGE;
    const int64_t now = clock_roughly ();
    uint64_t at;

    if (change->newname.hash) {
        at = mdc_name_end (this, change->newname.hash, change->newname.begun, false);
        if (done && at && change->file.inode && answer->buf && gfid_equal (&answer->buf->ia_gfid, &change->file.inode->gfid))
            mdc_keep_name (this, change->file.inode, change->newname.hash, (struct mdc_asked){ at, now });
    }
    if (!change->name.hash)
        return;
    at = mdc_name_end (this, change->name.hash, change->name.begun, is_gone (change, answer));
    if (done && at && exchange && change->other.inode && !change->forget)
        mdc_keep_name (this, change->other.inode, change->name.hash, (struct mdc_asked){ at, now });
    else if (done && at && answer->op == FOP_link)
        mdc_keep_name (this, change->file.inode, change->name.hash, (struct mdc_asked){ at, now });
    change->name.begun = at;
}

/* What was made, or turned out to be there. */
static void
made_end (xlator_t *this, struct mdc_change *change, const struct answer *answer)
{
    g_autoptr (inode_t) other = NULL;
    inode_t *known;

    if (change->paused && !change->forget) { /* it may have been cut off */
        other = inode_find (answer->inode->table, &answer->buf->ia_gfid);
        if (other)
            mdc_changed (this, other, true, false);
        else
            mdc_changed_gfid (this, &answer->buf->ia_gfid);
        return;
    }
    known = mdc_keep (this, answer->inode, answer->buf, change->local.at, &other);
    if (known && change->name.hash && change->name.begun)
        mdc_keep_name (this, known, change->name.hash, (struct mdc_asked){ change->name.begun, change->local.at.time });
}

static const struct iatt *
post_newparent (const struct answer *answer)
{
    return answer->op == FOP_rename ? ((const struct rename_answer *) answer->rets)->postnewparent : NULL;
}

static void
end (xlator_t *this, struct mdc_change *change, const struct answer *answer)
{
    const bool done = answer->op_ret >= 0;

    names_end (this, change, answer);
    target_end (this, &change->other, NULL);
    target_end (this, &change->file, done ? post_of (answer) : NULL);
    target_end (this, &change->parent, done ? answer->postparent : NULL);
    target_end (this, &change->newparent, done ? post_newparent (answer) : NULL);
    if (done && (opset_has (MDC_MAKES, answer->op) || answer->op == FOP_tmpfile))
        made_end (this, change, answer);
    if (answer->op == FOP_copy_file_range)
        mdc_was_read (this, change->local.inode);
    if (change->paused)
        mdc_resume (this, change->forget);
}

void
mdc_every_cbk (const struct answer *answer)
{
    struct mdc_local *local = answer->frame->local;

    end (answer->this, local->change, answer);
    answer_pass (answer);
}
