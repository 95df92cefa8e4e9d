/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes the operation of a call, and later sends the call to the copies.
 *
 * change_any_fop gets each call twice. The first time it makes a struct changing, keeps the call,
 * and begins the checks and the transaction. After these, changing_run resumes the kept call:
 * change_any_fop gets it again, and sends it to the copies.
 */
#include "changes.h"

#include <errno.h>
#include <fcntl.h>

#define MAKES                                                                                      \
    (OPSET_OF (FOP_create) | OPSET_OF (FOP_mknod) | OPSET_OF (FOP_mkdir) | OPSET_OF (FOP_symlink))

/* --- what replicate refuses ------------------------------------------------------------------- */

/* Returns whether callers must not change an extended attribute: it is a counter of the changelog,
 * or belongs to GlusterFS's healer. */
static bool
xattr_is_of_replicate (const char *name)
{
    return g_str_has_prefix (name, "trusted.afr.")
        || g_str_has_prefix (name, "trusted.glusterfs.afr.");
}

static bool
dict_is_of_replicate (const dict_t *dict)
{
    const char *key;
    const void *value;
    size_t size;

    for (size_t i = 0; i < dict_count (dict); i++) {
        dict_nth (dict, i, &key, &value, &size);
        if (xattr_is_of_replicate (key))
            return true;
    }
    return false;
}

/* Returns the errno of an operation that replicate refuses, else 0. It refuses tmpfile, since a
 * heal finds a file by its name, and such a file has none. It refuses copy_file_range, since a
 * brick with an accused copy of the source file would copy old bytes into a good copy of the other
 * file; after EOPNOTSUPP the caller reads and writes instead. */
static int
change_refusal (const struct call *call)
{
    switch (call->op) {
    case FOP_tmpfile: case FOP_copy_file_range:
        return EOPNOTSUPP;
    case FOP_ioctl:
        return ENOTTY;
    case FOP_rename:
        return call->flags ? EINVAL : 0;
    case FOP_setxattr:
        return dict_is_of_replicate (((const struct setxattr_call *) call->args)->dict) ? EPERM : 0;
    case FOP_fsetxattr:
        return dict_is_of_replicate (((const struct fsetxattr_call *) call->args)->dict) ? EPERM
                                                                                         : 0;
    case FOP_removexattr: case FOP_fremovexattr:
        return xattr_is_of_replicate (call->name) ? EPERM : 0;
    default:
        return 0;
    }
}

/* --- the operation ---------------------------------------------------------------------------- */

static enum counter_kind
change_kind (enum fop fop)
{
    if (opset_has (OPS_CHANGE_NAMES, fop))
        return COUNTER_ENTRY;
    return opset_has (OPS_CHANGE_DATA, fop) || fop == FOP_fsync ? COUNTER_DATA : COUNTER_METADATA;
}

/* Makes the operation of a call that changes names. A rename has two subjects, whose changelogs
 * record a failure: the old and the new directory. If both are the same directory, its counters are
 * raised twice, as in GlusterFS. */
static struct changing *
names_op_new (const struct call *call)
{
    const loc_t *loc = call->op == FOP_link ? call->newloc : call->loc, *to = call->newloc;
    struct changing *op = changing_new (call->frame, call->this, call->op, COUNTER_ENTRY,
                                        loc->parent);

    op->makes = opset_has (MAKES, call->op);
    op->flags = call->flags;
    op->entry[0] = g_strdup (loc->name);
    changing_lock (op, loc->parent, true, loc->name);
    if (to)
        op->object = inode_ref (call->loc->inode);
    if (call->op == FOP_create)
        op->answer = create_answer;
    if (call->op == FOP_rename) {
        op->subject[1] = inode_ref (to->parent);
        op->entry[1] = g_strdup (to->name);
        changing_lock (op, to->parent, true, to->name);
        loc = to;
    }
    if (loc->inode && (call->op == FOP_rmdir
                       || (call->op == FOP_rename && loc->inode->ia_type == IA_IFDIR)))
        changing_empties (op, loc->inode);
    return op;
}

/* Makes the operation of a call that changes data or attributes. An append claims the whole file,
 * so that all copies append at the same offset. An fsync claims it, too: if the fsync fails on a
 * copy, that copy has lost earlier writes, so none may run beside it. */
static struct changing *
inode_op_new (const struct call *call)
{
    const enum counter_kind kind = change_kind (call->op);
    const bool appends = call->op == FOP_writev && call->fd->flags & O_APPEND
                      && !(call->flags & WRITE_AT_OFFSET);
    struct changing *op = changing_new (call->frame, call->this, call->op, kind,
                                        call->fd ? call->fd->inode : call->loc->inode);

    op->fd = fd_ref (call->fd);
    if (kind == COUNTER_DATA)
        op->claim = byte_claim_of (appends ? 0 : call->offset, appends ? 0 : call->size, true, op);
    else
        changing_lock (op, op->subject[0], false, NULL);
    return op;
}

/* --- to the copies ---------------------------------------------------------------------------- */

/* Returns the xdata to send to the copies, with a reference. For a write it asks each brick to
 * report how many clients have the lock or wait for it, and whether the write was an append. For a
 * new object it has the gfid, which must be the same on all copies. */
static dict_t *
change_xdata (const struct call *call)
{
    const bool writes = call->op == FOP_writev;
    replicate_t *priv = call->this->private;
    dict_t *xdata;
    gfid_t gfid;

    if (!writes && (!opset_has (MAKES, call->op) || dict_has (call->xdata, NEW_GFID_KEY)))
        return dict_ref (call->xdata);
    xdata = call->xdata ? dict_copy (call->xdata) : dict_new ();
    if (writes) {
        dict_set_str (xdata, "glusterfs.inodelk-dom-count", call->this->name);
        dict_set_u64 (xdata, "glusterfs.write-is-append", 1);
    } else {
        gfid = random_gfid (&priv->random);
        dict_set (xdata, NEW_GFID_KEY, gfid.b, sizeof gfid.b);
    }
    return xdata;
}

/* Shortens a write to one byte, for the arbiter, which keeps no data. One byte changes the
 * attributes of its copy just as the whole write would. */
static void
make_arbiters (struct changed_call *changed, struct iovec *byte)
{
    struct writev_call *args = &changed->args.writev;

    *byte = (struct iovec){ args->vector->iov_base, MIN (args->vector->iov_len, 1) };
    args->vector = byte;
    args->count = 1;
}

/* Sends the call to the copies. The arbiter is the last child, so the loop may shorten a write for
 * it in place. O_TRUNC is removed from a create: create_answer truncates the file in another
 * step. */
static void
change_wind (const struct call *call)
{
    struct changing *op = call->frame->local;
    replicate_t *priv = call->this->private;
    g_autoptr (dict_t) xdata = change_xdata (call);
    struct changed_call changed;
    struct iovec byte;

    call_change (call, &changed);
    call_change_xdata (&changed, xdata);
    if (call->op == FOP_create)
        changed.args.create.flags &= ~(uint32_t) O_TRUNC;
    fan_begin (&op->fan, changing_done);
    for (unsigned i = 0; i < priv->n; i++) {
        if (call->op == FOP_writev && (int) i == priv->arbiter)
            make_arbiters (&changed, &byte);
        if (op->children & COPY (i))
            fan_call (&op->fan, i, priv->children[i], &changed.call);
    }
    fan_end (&op->fan);
}

void
change_any_fop (const struct call *call)
{
    const int refusal = change_refusal (call);
    struct changing *op;

    if (refusal) {
        call_fail (call, refusal);
    } else if (call->frame->local) {
        change_wind (call);
    } else if (call->op != FOP_setxattr
               || !choice_takes (call->frame, call->this, call->loc,
                                 ((const struct setxattr_call *) call->args)->dict)) {
        op = change_kind (call->op) == COUNTER_ENTRY ? names_op_new (call) : inode_op_new (call);
        changing_begin (op, call_keep (call));
    }
}

/* --- O_TRUNC ---------------------------------------------------------------------------------- */

/* Truncates by the path if the file is open with O_RDONLY: O_TRUNC applies then, too, but ftruncate
 * needs a file that is open for writing. */
void
open_truncate (call_frame_t *frame, xlator_t *this, fd_t *fd, struct changing *create,
               void (*answer) (struct changing *op))
{
    const bool by_fd = (fd->flags & O_ACCMODE) != O_RDONLY;
    struct changing *op = changing_new (frame, this, by_fd ? FOP_ftruncate : FOP_truncate,
                                        COUNTER_DATA, fd->inode);
    loc_t loc = { .inode = fd->inode };

    op->answer = answer;
    op->fd = fd_ref (fd);
    op->claim = byte_claim_of (0, 0, true, op);
    op->create = create;
    changing_begin (op, by_fd ? fop_ftruncate_stub (frame, any_fop_ftruncate, fd, 0, NULL)
                        : fop_truncate_stub (frame, any_fop_truncate, &loc, 0, NULL));
}

static void
create_truncated (struct changing *op)
{
    struct changing *create = op->create;
    struct iatt *buf = fan_seen (&create->fan, (unsigned) create->best).buf;

    buf->ia_size = 0;
    buf->ia_blocks = 0;
    fan_pass (&create->fan, (unsigned) create->best);
}

/* Returns whether the file of a create existed before, and is not empty on some copy. */
static bool
create_found_data (const struct changing *op)
{
    for (unsigned i = 0; i < op->fan.n; i++)
        if (op->succeeded & COPY (i) && op->fan.answers[i].create.buf.ia_size > 0)
            return true;
    return false;
}

void
create_answer (struct changing *op)
{
    fd_t *fd = op->fan.answers[op->best].create.fd;

    fd_was_opened (op->this, fd, op->flags, false, op->succeeded);
    if (op->flags & O_TRUNC && create_found_data (op))
        open_truncate (op->frame, op->this, fd, op, create_truncated);
    else
        fan_pass (&op->fan, (unsigned) op->best);
}
