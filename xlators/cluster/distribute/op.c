/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions that begin and end an operation of several steps, and functions that many operations
 * need. */
#include "distribute.h"

#include <string.h>

/* Process ID in the requests that distribute makes itself. A brick grants such a request the
 * rights of root, and takes it for one of GlusterFS itself, not of a user. */
#define OWN_PID (-4)

#define OWN_SLOTS 8 /* answer slots besides two for each subvolume: a rename has up to 6 locks */

/* --- begin and end ---------------------------------------------------------------------------- */

void *
op_new (call_frame_t *frame, xlator_t *this, size_t size, const loc_t *loc, const loc_t *newloc,
        dict_t *xdata)
{
    struct op *op = frame_local_new (frame, size);

    op->this = this;
    op->priv = this->private;
    op->frame = frame;
    op->xdata = dict_ref (xdata);
    if (loc)
        loc_copy (&op->loc, loc);
    if (newloc)
        loc_copy (&op->newloc, newloc);
    return op;
}

/* Returns the frame of a request of distribute's own. The first call makes the request. The
 * address of the request is the lock owner of the operation's locks, as in GlusterFS. */
call_frame_t *
op_own (struct op *op)
{
    call_stack_t *root;

    if (op->seq.own)
        return op->seq.own;
    root = stack_new_internal (op->this, op->frame);
    root->pid = OWN_PID;
    root->lk_owner = (uint64_t) (uintptr_t) root;
    root->frames[0].local = op;
    __atomic_store_n (&op->seq.own, &root->frames[0], __ATOMIC_RELAXED);
    return op->seq.own;
}

void
step_begin (struct op *op, void (*next) (call_frame_t *frame))
{
    if (!op->fan.answers)
        fan_init (&op->fan, op->frame, op->priv->n);
    fan_begin (&op->fan, next);
}

unsigned
op_slots (const struct op *op)
{
    return 2 * op->priv->n + OWN_SLOTS;
}

void
op_run (struct op *op, const struct step *steps, void (*answer) (void *op))
{
    sequence_start (&op->seq, op->frame, steps, op_slots (op), op->loc.inode, answer);
}

void
op_fail (struct op *op, int op_errno)
{
    frame_fail (op->frame, op_errno > 0 ? op_errno : EIO);
}

void
op_drop (xlator_t *this, void *local)
{
    struct op *op = local;

    if (op->clear)
        op->clear (op);
    sequence_clear (&op->seq);
    fan_clear (&op->fan);
    locks_clear (op);
    following_clear (op);
    loc_wipe (&op->loc);
    loc_wipe (&op->newloc);
    dict_unref (op->xdata);
}

void
op_look (struct op *op, loc_t *loc)
{
    op->names_at = names_now ();
    AS_SELF_AT (op, SELF (op), op->this, lookup, loc, NULL);
}

void
op_link_found (struct op *op)
{
    const struct lookup_reply *found = &op->seq.fan.answers[SELF (op)].lookup;

    inode_unref (op->loc.inode);
    op->loc.inode = inode_link_asked (found->inode, op->loc.parent, op->loc.name, &found->buf,
                                      op->names_at);
}

bool
op_is_again (void *local)
{
    return ((const struct op *) local)->seq.tries > 0;
}

void
op_refresh (void *local)
{
    struct op *op = local;
    loc_t parent = { .inode = op->loc.parent };

    op_look (op, &parent);
    loc_wipe_path (&parent);
}

void
op_guard (struct op *op, unsigned child, dict_t *xdata)
{
    struct layout *layout = inode_layout (op->this, op->loc.parent);
    uint8_t range[LAYOUT_DISK_SIZE];

    if (layout && layout->ranges[child].state == RANGE_SET) {
        layout_write (layout, child, range);
        dict_set_str (xdata, "glusterfs.preop.parent.key", op->priv->layout_key);
        dict_set (xdata, op->priv->layout_key, range, sizeof range);
    }
    layout_unref (layout);
}

bool
op_guard_refused (dict_t *xdata)
{
    return dict_has (xdata, "glusterfs.preop.check.failed");
}

/* --- linktos ---------------------------------------------------------------------------------- */

bool
iatt_may_be_linkto (const struct iatt *buf)
{
    return buf->ia_type == IA_IFREG && buf->ia_prot == S_ISVTX;
}

int
linkto_target (xlator_t *this, const struct iatt *buf, dict_t *xdata, bool *ret_is_linkto)
{
    const dht_private_t *priv = this->private;
    size_t size = 0;
    const char *name = dict_get (xdata, priv->linkto_key, &size);

    *ret_is_linkto = iatt_may_be_linkto (buf) && name;
    if (!*ret_is_linkto)
        return NO_CHILD;
    size = strnlen (name, size);
    for (unsigned i = 0; i < priv->n; i++)
        if (strlen (priv->children[i]->name) == size
            && memcmp (priv->children[i]->name, name, size) == 0)
            return (int) i;
    return NO_CHILD;
}

/* --- subvolumes ------------------------------------------------------------------------------- */

bool
child_is_up (const dht_private_t *priv, unsigned i)
{
    return __atomic_load_n (&priv->children[i]->up, __ATOMIC_RELAXED);
}

bool
children_are_up (const dht_private_t *priv)
{
    for (unsigned i = 0; i < priv->n; i++)
        if (!child_is_up (priv, i))
            return false;
    return true;
}

bool
child_is_leaving (const dht_private_t *priv, unsigned i)
{
    return __atomic_load_n (&priv->leaving[i], __ATOMIC_RELAXED);
}

int
child_first_up (const dht_private_t *priv)
{
    for (unsigned i = 0; i < priv->n; i++)
        if (child_is_up (priv, i))
            return (int) i;
    return NO_CHILD;
}

bool
is_missing (int op_errno)
{
    return op_errno == ENOENT || op_errno == ESTALE;
}
