/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mkdir: under the lock of the name, first on the hashed subvolume, which decides whether it works,
 * then on all others with the same gfid; then each gets its range of hashes. */
#include "../distribute.h"

#include <string.h>

struct mkdir {
    struct op op;
    mode_t mode, umask;
    unsigned hashed;
    inode_t *inode;
    struct iatt buf, preparent, postparent;
    dict_t *xdata;
    struct layout *layout;
    bool whole; /* all subvolumes have it */
    bool exists; /* a subvolume answered EEXIST: it has the directory, or a stale linkto */
};

static void
mkdir_clear (struct op *op)
{
    struct mkdir *mkdir = (struct mkdir *) op;

    inode_unref (mkdir->inode);
    dict_unref (mkdir->xdata);
    layout_unref (mkdir->layout);
}

static void
mkdir_answer (struct op *op)
{
    struct mkdir *mkdir = (struct mkdir *) op;

    directory_attributes (op->this, mkdir->inode, &mkdir->buf);
    STACK_UNWIND (mkdir, op->frame, 0, 0, mkdir->inode, &mkdir->buf,
                  directory_attributes_of_one (op->this, op->loc.parent, &mkdir->preparent),
                  directory_attributes_of_one (op->this, op->loc.parent, &mkdir->postparent),
                  mkdir->xdata);
}

/* --- the layout ------------------------------------------------------------------------------- */

static void
mkdir_healed (call_frame_t *own)
{
    op_end (OP_OF (own), mkdir_answer);
}

/* The lookup heals the directory, and remembers its layout. */
static void
mkdir_heal (call_frame_t *own)
{
    struct mkdir *mkdir = OP_OF (own);
    struct op *op = &mkdir->op;
    loc_t loc = { .inode = mkdir->inode, .parent = op->loc.parent, .name = op->loc.name };

    own_lookup (op, &loc, mkdir_healed);
    loc_wipe_path (&loc);
}

static void
mkdir_divided (call_frame_t *own)
{
    struct mkdir *mkdir = OP_OF (own);
    struct op *op = &mkdir->op;
    bool in_the_way = false;

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct fan_answer *answer = &op->own_fan.answers[i];

        if (answer->op == FOP_NONE || answer->op_ret >= 0)
            continue;
        gf_log (op->this, op->priv->n == 1 ? GF_LOG_DEBUG : GF_LOG_WARNING,
                "new directory '%s' gets no range of hashes on %s: %s; the next lookup tries again",
                loc_path (&op->loc), op->priv->children[i]->name, g_strerror (answer->op_errno));
        layout_fail (mkdir->layout, i, RANGE_UNSET);
        in_the_way |= mkdir->exists && is_missing (answer->op_errno);
    }
    layout_seal (mkdir->layout);
    inode_set_layout (op->this, mkdir->inode, mkdir->layout, (int) mkdir->hashed);
    if (in_the_way)
        locks_drop (op, mkdir_heal);
    else
        op_end (op, mkdir_answer);
}

static void
mkdir_divide (call_frame_t *own)
{
    struct mkdir *mkdir = OP_OF (own);
    struct op *op = &mkdir->op;
    g_autoptr (dict_t) xdata = xdata_internal ();
    loc_t loc = { .inode = mkdir->inode };
    const uint32_t commit = mkdir->whole ? __atomic_load_n (&op->priv->commit, __ATOMIC_RELAXED)
                                         : LAYOUT_UNSURE;

    layout_assign (op->this, mkdir->layout, &op->loc, &mkdir->buf.ia_gfid, commit);
    own_begin (op, mkdir_divided);
    for (unsigned i = 0; i < op->priv->n; i++) {
        g_autoptr (dict_t) value = layout_value (op->this, mkdir->layout, i);

        if (mkdir->layout->ranges[i].state == RANGE_SET)
            OWN (op, i, setxattr, &loc, value, 0, xdata);
    }
    own_end (op);
}

/* Other operations need an inode that has the gfid. */
static void
mkdir_link_inode (struct mkdir *mkdir)
{
    const loc_t *loc = &mkdir->op.loc;
    inode_t *linked = inode_link (mkdir->inode, loc->parent, loc->name, &mkdir->buf);

    inode_unref (mkdir->inode);
    mkdir->inode = linked;
}

static void
mkdir_unlocked (call_frame_t *own)
{
    struct mkdir *mkdir = OP_OF (own);

    mkdir_link_inode (mkdir);
    lock_layout (&mkdir->op, mkdir->hashed, mkdir->inode, true);
    locks_take (&mkdir->op, mkdir_divide);
}

/* --- on all subvolumes ------------------------------------------------------------------------ */

/* A subvolume that is down says so itself. */
static void
mkdir_tell (const struct mkdir *mkdir, unsigned i, int op_errno)
{
    const struct op *op = &mkdir->op;

    gf_log (op->this, op_errno == ENOTCONN ? GF_LOG_DEBUG : GF_LOG_WARNING,
            "the new directory '%s' could not be made on %s: %s; its files go to other subvolumes "
            "until a lookup has made it there", loc_path ((loc_t *) &op->loc),
            op->priv->children[i]->name, g_strerror (op_errno));
}

/* A directory that exists already was made by another client's lookup, which healed it. A stale
 * linkto shows when the directory's range can't be set; mkdir_heal removes the linkto. */
static void
mkdir_made (call_frame_t *frame)
{
    struct mkdir *mkdir = OP_OF (frame);
    struct op *op = &mkdir->op;

    mkdir->whole = true;
    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct mkdir_reply *reply = &op->fan.answers[i].mkdir;

        if (i == mkdir->hashed)
            continue;
        if (reply->op_ret < 0 && reply->op_errno != EEXIST) {
            mkdir_tell (mkdir, i, reply->op_errno);
            layout_fail (mkdir->layout, i, RANGE_DOWN);
            mkdir->whole = false;
            continue;
        }
        layout_fail (mkdir->layout, i, RANGE_UNSET);
        mkdir->exists |= reply->op_ret < 0;
        iatt_merge (&mkdir->buf, &reply->buf);
        iatt_merge (&mkdir->preparent, &reply->preparent);
        iatt_merge (&mkdir->postparent, &reply->postparent);
    }
    locks_drop (op, mkdir_unlocked);
}

static void
mkdir_on_others (struct mkdir *mkdir)
{
    struct op *op = &mkdir->op;
    g_autoptr (dict_t) xdata = dict_copy (op->xdata);

    dict_set (xdata, "gfid-req", mkdir->buf.ia_gfid.b, sizeof mkdir->buf.ia_gfid.b);
    step_begin (op, mkdir_made);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (i != mkdir->hashed)
            ASK (op, i, mkdir, &op->loc, mkdir->mode, mkdir->umask, xdata);
    step_end (op);
}

/* --- on the hashed subvolume ------------------------------------------------------------------ */

static void mkdir_begin (struct mkdir *mkdir);

static void
mkdir_refreshed (call_frame_t *own)
{
    struct mkdir *mkdir = OP_OF (own);
    const struct lookup_reply *reply = &mkdir->op.own_fan.answers[SELF (&mkdir->op)].lookup;

    if (reply->op_ret < 0)
        op_fail (&mkdir->op, reply->op_errno);
    else
        mkdir_begin (mkdir);
}

static void
mkdir_refresh (call_frame_t *own)
{
    struct op *op = OP_OF (own);
    loc_t parent = { .inode = op->loc.parent };

    own_lookup (op, &parent, mkdir_refreshed);
}

static void
mkdir_hashed_made (call_frame_t *frame)
{
    struct mkdir *mkdir = OP_OF (frame);
    struct op *op = &mkdir->op;
    const struct mkdir_reply *reply = &op->fan.answers[mkdir->hashed].mkdir;

    if (reply->op_ret < 0 && dict_has (reply->xdata, "glusterfs.preop.check.failed")
        && op->tries++ < TRIES) {
        locks_drop (op, mkdir_refresh);
        return;
    }
    if (reply->op_ret < 0) {
        name_no_room (op->this, &op->loc, mkdir->hashed, reply->op_errno);
        op_fail (op, reply->op_errno);
        return;
    }
    mkdir->inode = inode_ref (reply->inode);
    mkdir->buf = reply->buf;
    mkdir->preparent = reply->preparent;
    mkdir->postparent = reply->postparent;
    mkdir->xdata = dict_ref (reply->xdata);
    mkdir->layout = layout_new (op->priv->n);
    layout_fail (mkdir->layout, mkdir->hashed, RANGE_UNSET);
    mkdir_on_others (mkdir);
}

static void
mkdir_locked (call_frame_t *own)
{
    static const uint8_t none[4];
    struct mkdir *mkdir = OP_OF (own);
    struct op *op = &mkdir->op;
    g_autoptr (dict_t) xdata = dict_copy (op->xdata);
    struct layout *layout = inode_layout (op->this, op->loc.parent);
    uint8_t range[LAYOUT_DISK_SIZE];

    if (layout && layout->ranges[mkdir->hashed].state == RANGE_SET) {
        layout_write (layout, mkdir->hashed, range);
        dict_set_str (xdata, "glusterfs.preop.parent.key", op->priv->layout_key);
        dict_set (xdata, op->priv->layout_key, range, sizeof range);
    }
    layout_unref (layout);
    if (op->priv->n > 1)
        dict_set (xdata, op->priv->mds_key, none, sizeof none);
    ASK_ONE (op, mkdir_hashed_made, mkdir->hashed, mkdir, &op->loc, mkdir->mode, mkdir->umask,
             xdata);
}

static void
mkdir_begin (struct mkdir *mkdir)
{
    struct op *op = &mkdir->op;
    const int hashed = name_hashed (op->this, op->loc.parent, op->loc.name);

    if (hashed == NO_CHILD && op->tries++ < TRIES) {
        mkdir_refresh (op_own (op));
        return;
    }
    if (hashed == NO_CHILD) {
        op_fail (op, name_unhashed (op->this, &op->loc));
        return;
    }
    mkdir->hashed = (unsigned) hashed;
    lock_name (op, mkdir->hashed, &op->loc);
    locks_take (op, mkdir_locked);
}

void
dht_mkdir (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask,
           dict_t *xdata)
{
    struct mkdir *mkdir = op_new (frame, this, sizeof *mkdir, loc, NULL, xdata);

    mkdir->op.clear = mkdir_clear;
    mkdir->mode = mode;
    mkdir->umask = umask;
    space_refresh (&mkdir->op);
    mkdir_begin (mkdir);
}
