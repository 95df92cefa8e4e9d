/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations on an inode or an open file: they go to the first slot that has the inode. One that
 * changes something waits until the object is in the upper.
 */
#include "overlay.h"

static inode_t *
overlay_subject (const struct call *call)
{
    if (call->op == FOP_copy_file_range)
        return call->fd_out->inode;
    if (call->op == FOP_open || call->op == FOP_opendir || call->op == FOP_tmpfile)
        return call->loc->inode;
    return call->fd ? call->fd->inode : call->loc->inode;
}

/* Operations on bytes. */
static bool
overlay_reads_data (const struct call *call)
{
    return call->op == FOP_readv || call->op == FOP_seek;
}

/* An open that truncates needs the upper, too (copy/empty.c). Locks of a file are in one layer, and
 * a lower's file is open to be read only. */
static bool
overlay_needs_upper (const struct call *call)
{
    return call->op == FOP_tmpfile || opset_has (OPS_CHANGE_LOCKS, call->op) || call_changes (call);
}

/* --- open files ------------------------------------------------------------------------------- */

/* An open of an fd in a slot, before a call that needs it. */
struct overlay_open {
    xlator_t *this;
    call_stub_t *stub;
    fd_t *fd, *below; /* with references */
    unsigned slot;
};

static open_cbk overlay_opened;
static opendir_cbk overlay_dir_opened;

/* After an apply the slot may have another object than the one that was opened in it. */
static bool
overlay_fd_is_open (xlator_t *this, fd_t *fd, unsigned slot)
{
    const fd_t *below = realm_fd (this, fd, slot);

    return below && below->inode == realm_below (this, fd->inode, slot);
}

static void
overlay_open_end (call_frame_t *frame, struct overlay_open *open, int error)
{
    overlay_private_t *priv = overlay_priv (open->this);
    call_stub_t *stub = open->stub;

    pthread_mutex_lock (&priv->lock);
    if (error == 0 && !overlay_fd_is_open (open->this, open->fd, open->slot))
        realm_fd_replace (open->this, open->fd, open->slot, open->below);
    pthread_mutex_unlock (&priv->lock);
    fd_unref (open->fd);
    fd_unref (open->below);
    g_free (open);
    stack_done (frame->root);
    call_resume_or_fail (stub, error);
}

static void
overlay_opened (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                fd_t *fd, dict_t *xdata)
{
    overlay_open_end (frame, cookie, op_ret < 0 ? op_errno : 0);
}

static void
overlay_dir_opened (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno, fd_t *fd, dict_t *xdata)
{
    overlay_open_end (frame, cookie, op_ret < 0 ? op_errno : 0);
}

/* A lower's file is opened to be read only. */
static uint32_t
overlay_flags_in (unsigned slot, uint32_t flags)
{
    flags &= ~(uint32_t) (O_CREAT | O_EXCL | O_TRUNC);
    return slot == OVERLAY_UPPER ? flags : flags & ~(uint32_t) (O_ACCMODE | O_APPEND);
}

/* The caller's rights were checked when the file was opened above. */
static void
overlay_open_below (const struct call *call, fd_t *fd, unsigned slot)
{
    xlator_t *layer = overlay_priv (call->this)->layers[slot].xlator;
    inode_t *below = realm_below (call->this, fd->inode, slot);
    struct overlay_open *open = g_new0 (struct overlay_open, 1);
    const uint32_t flags = overlay_flags_in (slot, fd->flags);
    call_stack_t *root;
    loc_t loc = { .inode = below };

    open->stub = call_keep (call);
    if (!open->stub) {
        g_free (open);
        call_fail (call, ENOMEM);
        return;
    }
    open->this = call->this;
    open->fd = fd_ref (fd);
    open->below = fd_new (layer->fd_maker, below, flags, fd->pid);
    open->slot = slot;
    root = stack_new_internal (call->this, call->frame);
    root->op = below->ia_type == IA_IFDIR ? FOP_opendir : FOP_open;
    if (below->ia_type == IA_IFDIR)
        STACK_WIND_COOKIE (&root->frames[0], overlay_dir_opened, open, layer, opendir, &loc,
                           open->below, NULL);
    else
        STACK_WIND_COOKIE (&root->frames[0], overlay_opened, open, layer, open, &loc, flags,
                           open->below, NULL);
}

/* Returns whether the call's fds are open in the slot; else the call goes on once they are. */
static bool
overlay_fds_open (const struct call *call, unsigned slot)
{
    static const opset_t opening =
        OPSET_OF (FOP_open) | OPSET_OF (FOP_opendir) | OPSET_OF (FOP_tmpfile);
    fd_t *const fds[] = { call->fd, call->fd_out };

    for (size_t i = 0; !opset_has (opening, call->op) && i < G_N_ELEMENTS (fds); i++)
        if (fds[i] && !overlay_fd_is_open (call->this, fds[i], slot)) {
            overlay_open_below (call, fds[i], slot);
            return false;
        }
    return true;
}

/* --- opens to write --------------------------------------------------------------------------- */

static access_cbk overlay_may_open;

/* A lower's file that is opened to be written, or that has its bytes in another layer: type and
 * rights are checked now, and the file is opened in a layer when the fd is used. */
static void
overlay_open_later (const struct call *call, unsigned slot)
{
    const uint32_t mode = call->flags & O_ACCMODE;
    const int32_t mask = mode == O_WRONLY ? W_OK : mode == O_RDONLY ? R_OK : R_OK | W_OK;
    loc_t loc = { .inode = realm_below (call->this, call->loc->inode, slot) };

    if (loc.inode->ia_type == IA_IFDIR || loc.inode->ia_type == IA_IFLNK) {
        call_fail (call, loc.inode->ia_type == IA_IFDIR ? EISDIR : ELOOP);
        return;
    }
    overlay_local_of (call->frame)->opens = fd_ref (call->fd);
    STACK_WIND (call->frame, overlay_may_open, overlay_priv (call->this)->layers[slot].xlator,
                access, &loc, mask, NULL);
}

/* A read-only file system below does not hinder a change: the upper gets it. */
static void
overlay_may_open (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, dict_t *xdata)
{
    if (op_ret < 0 && op_errno != EROFS)
        STACK_UNWIND (open, frame, -1, op_errno, NULL, NULL);
    else
        STACK_UNWIND (open, frame, 0, 0, ((struct overlay_local *) frame->local)->opens, NULL);
}

static void
overlay_pass_to (const struct call *call, inode_t *inode, unsigned slot)
{
    struct overlay_local *local = overlay_local_of (call->frame);

    if (!local->inode && call->op != FOP_tmpfile)
        local->inode = inode_ref (inode);
    if (call->op == FOP_copy_file_range && !local->source)
        local->source = inode_ref (call->fd->inode);
    local->slot = slot;
    realm_wind (call, slot, NULL);
}

/* --- attributes of ours ----------------------------------------------------------------------- */

static bool
overlay_sets_mark (const dict_t *dict)
{
    const char *name;
    const void *value;
    size_t size;

    for (size_t i = 0; i < dict_count (dict); i++) {
        dict_nth (dict, i, &name, &value, &size);
        if (overlay_attribute_has_prefix (name))
            return true;
    }
    return false;
}

static bool
overlay_gets (const struct call *call)
{
    return call->op == FOP_getxattr || call->op == FOP_fgetxattr;
}

/* Marks are not shown, and not for callers to set. Returns the errno, or 0. */
static int
overlay_refuses (const struct call *call)
{
    const dict_t *set = NULL;

    if (call->op == FOP_setxattr)
        set = ((const struct setxattr_call *) call->args)->dict;
    else if (call->op == FOP_fsetxattr)
        set = ((const struct fsetxattr_call *) call->args)->dict;
    if (set)
        return overlay_sets_mark (set) ? EOPNOTSUPP : 0;
    return overlay_attribute_has_prefix (call->name) && !overlay_gets (call) ? ENODATA : 0;
}

/* The layer has a mark of the view under another name. */
static void
overlay_get_mark (const struct call *call, inode_t *inode, unsigned slot)
{
    g_autofree char *name = overlay_attribute_escape (call->name);
    struct changed_call changed;

    call_change (call, &changed);
    changed.call.name = name;
    if (call->op == FOP_getxattr)
        changed.args.getxattr.name = name;
    else
        changed.args.fgetxattr.name = name;
    overlay_pass_to (&changed.call, inode, slot);
}

static dict_t *
overlay_names_shown (const dict_t *names)
{
    dict_t *left = dict_new ();
    const char *name;
    const void *value;
    size_t size;

    for (size_t i = 0; i < dict_count (names); i++) {
        dict_nth (names, i, &name, &value, &size);
        if (overlay_attribute_is_escaped (name)) {
            g_autofree char *shown = overlay_attribute_unescape (name);

            dict_set (left, shown, value, size);
        } else if (!overlay_attribute_is_mark (name)) {
            dict_set (left, name, value, size);
        }
    }
    return left;
}

/* --- passing ---------------------------------------------------------------------------------- */

static void
overlay_statfs (const struct call *call)
{
    struct changed_call changed;
    loc_t root = { .inode = itable_root (call->loc->inode ? call->loc->inode->table
                                                           : call->loc->parent->table) };

    call_change (call, &changed);
    changed.args.statfs.loc = changed.call.loc = &root;
    overlay_pass_to (&changed.call, root.inode, overlay_slot (call->this, root.inode));
    loc_wipe_path (&root);
}

/* Two layers can't be asked for one copy: the kernel reads and writes then. */
static bool
overlay_copies_between (const struct call *call)
{
    return call->op == FOP_copy_file_range
           && overlay_slot (call->this, call->fd->inode) != OVERLAY_UPPER;
}

static void
overlay_pass_after_copy (const struct call *call, inode_t *inode)
{
    if (overlay_empties (call, inode) && !overlay_local_of (call->frame)->emptied)
        overlay_empty (call, inode);
    else
        overlay_copy_up_wait (call, inode);
}

void
overlay_pass (const struct call *call)
{
    inode_t *inode = overlay_subject (call);
    const unsigned slot = inode ? overlay_slot (call->this, inode) : overlay_priv (call->this)->n;
    const unsigned data = inode ? overlay_data_slot (call->this, inode, slot) : slot;
    const int refused = overlay_refuses (call);
    const bool later = call->op == FOP_open
                       && ((call->flags & O_ACCMODE) != O_RDONLY || data != slot);

    if (call->op == FOP_statfs)
        overlay_statfs (call);
    else if (refused)
        call_fail (call, refused);
    else if (slot == overlay_priv (call->this)->n)
        call_fail (call, ESTALE);
    else if (overlay_needs_upper (call) && slot != OVERLAY_UPPER)
        overlay_pass_after_copy (call, inode);
    else if (later && slot != OVERLAY_UPPER)
        overlay_open_later (call, slot);
    else if (overlay_copies_between (call))
        call_fail (call, EXDEV);
    else if (!overlay_fds_open (call, overlay_reads_data (call) ? data : slot))
        return;
    else if (overlay_attribute_has_prefix (call->name) && overlay_gets (call))
        overlay_get_mark (call, inode, slot);
    else
        overlay_pass_to (call, inode, overlay_reads_data (call) ? data : slot);
}

static void
overlay_iatts_above (struct realm_answered *above, const struct overlay_local *local)
{
    struct iatt *source =
        above->answer.op == FOP_copy_file_range ? above->rets.copy_file_range.stbuf : NULL;

    for (unsigned i = 0; i < above->n_iatts && local->inode; i++)
        overlay_iatt_above (above->answer.this,
                            &above->iatts[i] == source ? local->source : local->inode,
                            local->slot, &above->iatts[i]);
}

void
overlay_pass_cbk (const struct answer *answer)
{
    const struct overlay_local *local = answer->frame->local;
    g_autoptr (dict_t) names = NULL;
    struct realm_answered above;

    realm_answered (answer, &above);
    overlay_iatts_above (&above, local);
    if (answer->op == FOP_readv
        && overlay_slot (answer->this, local->inode) != local->slot)
        above.rets.readv.stbuf = NULL; /* that of the data */
    if (answer->op_ret >= 0 && answer->op == FOP_getxattr)
        above.rets.getxattr.dict = names = overlay_names_shown (above.rets.getxattr.dict);
    if (answer->op_ret >= 0 && answer->op == FOP_fgetxattr)
        above.rets.fgetxattr.dict = names = overlay_names_shown (above.rets.fgetxattr.dict);
    realm_answered_pass (&above);
}
