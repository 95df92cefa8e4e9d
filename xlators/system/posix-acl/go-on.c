/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Permitted calls: winds them down, and keeps or drops data about rights from their answers. */
#include "posix-acl.h"

#include <linux/xattr.h>

#define ACL_CREATES 16 /* attempts, for a name that appears and disappears repeatedly */

static create_cbk posix_acl_create_cbk;
static create_cbk posix_acl_create_there_cbk;
static open_cbk posix_acl_create_open_cbk;
static fstat_cbk posix_acl_create_fstat_cbk;
static lookup_cbk posix_acl_create_lookup_cbk;
static setxattr_cbk posix_acl_setxattr_cbk;
static stat_cbk posix_acl_setxattr_stat_cbk;
static setattr_cbk posix_acl_setxattr_setattr_cbk;

/* The time before the call passes as the cookie. */
static void
wind_to_learn (const struct call *call)
{
    call_wind (call, FIRST_CHILD (call->this), (void *) (uintptr_t) acl_keep_now (call->this));
}

static void
note_inode (const struct call *call, inode_t *inode)
{
    struct acl_local *local = acl_local_of (call->frame);

    inode_unref (local->inode);
    local->inode = inode_ref (inode);
}

static inode_t *
acl_inode_of (const struct call *call)
{
    return call->loc ? call->loc->inode : call->fd->inode;
}

/* --- changes of rights ------------------------------------------------------------------------ */

/* Drops the data before the call goes down, and again when it is done: an answer requested in
 * between may be from before or after. */
static void
changes_rights (const struct call *call)
{
    note_inode (call, acl_inode_of (call));
    acl_keep_drop (call->this, acl_inode_of (call));
}

static void
changed_rights (xlator_t *this, call_frame_t *frame)
{
    struct acl_local *local = frame->local;

    acl_keep_drop (this, local->inode);
}

static void
go_on_setattr (const struct call *call, bool drop_setgid)
{
    struct setattr_call args = *(const struct setattr_call *) call->args;
    struct iatt to = *args.stbuf;
    struct call changed = *call;

    if (drop_setgid)
        to.ia_prot &= ~(uint32_t) S_ISGID;
    args.stbuf = &to;
    changed.args = &args;
    changes_rights (call);
    call_wind (&changed, FIRST_CHILD (call->this), NULL);
}

static void
go_on_fsetattr (const struct call *call, bool drop_setgid)
{
    struct fsetattr_call args = *(const struct fsetattr_call *) call->args;
    struct iatt to = *args.stbuf;
    struct call changed = *call;

    if (drop_setgid)
        to.ia_prot &= ~(uint32_t) S_ISGID;
    args.stbuf = &to;
    changed.args = &args;
    changes_rights (call);
    call_wind (&changed, FIRST_CHILD (call->this), NULL);
}

/* --- an ACL ----------------------------------------------------------------------------------- */

static bool
changes_acl (const struct call *call)
{
    const struct setxattr_call *set = call->args;
    const struct fsetxattr_call *fset = call->args;

    if (call->op == FOP_setxattr)
        return dict_has (set->dict, XATTR_NAME_POSIX_ACL_ACCESS);
    if (call->op == FOP_fsetxattr)
        return dict_has (fset->dict, XATTR_NAME_POSIX_ACL_ACCESS);
    return posix_acl_is_acl (call->name);
}

/* Setting an ACL changes the mode, and clears setgid if the owner is not in the group. Storage that
 * acts as the caller has cleared it. Storage with more privileges has not, so it is cleared
 * here. */
static void
go_on_xattr (const struct call *call, bool drop_setgid)
{
    const struct setxattr_call *args = call->args;

    if (!changes_acl (call)) {
        call_pass (call);
        return;
    }
    changes_rights (call);
    if (drop_setgid && call->op == FOP_setxattr)
        STACK_WIND (call->frame, posix_acl_setxattr_cbk, FIRST_CHILD (call->this), setxattr,
                    args->loc, args->dict, args->flags, args->xdata);
    else
        call_wind (call, FIRST_CHILD (call->this), NULL);
}

static void
posix_acl_setxattr_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                        int32_t op_errno, dict_t *xdata)
{
    const struct acl_local *local = frame->local;
    loc_t loc = { .inode = local->inode };

    changed_rights (this, frame);
    if (op_ret < 0)
        STACK_UNWIND (setxattr, frame, op_ret, op_errno, xdata);
    else
        STACK_WIND (frame, posix_acl_setxattr_stat_cbk, FIRST_CHILD (this), stat, &loc, NULL);
    loc_wipe_path (&loc);
}

static void
posix_acl_setxattr_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                             int32_t op_errno, struct iatt *buf, dict_t *xdata)
{
    const struct acl_local *local = frame->local;
    loc_t loc = { .inode = local->inode };
    struct iatt to;

    if (op_ret < 0 || !(buf->ia_prot & S_ISGID)) {
        STACK_UNWIND (setxattr, frame, 0, 0, NULL);
        return;
    }
    to = *buf;
    to.ia_prot &= ~(uint32_t) S_ISGID;
    STACK_WIND (frame, posix_acl_setxattr_setattr_cbk, FIRST_CHILD (this), setattr, &loc, &to,
                IATT_MODE, NULL);
    loc_wipe_path (&loc);
}

static void
posix_acl_setxattr_setattr_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                                int32_t op_errno, struct iatt *statpre, struct iatt *statpost,
                                dict_t *xdata)
{
    changed_rights (this, frame);
    STACK_UNWIND (setxattr, frame, op_ret, op_errno, NULL);
}

/* --- create ----------------------------------------------------------------------------------- */

/*
 * A create without O_EXCL opens an existing file, which takes other rights than making one. Whether
 * a file exists is not known beforehand. So the first attempt is exclusive. If a file exists, it is
 * looked up and judged like an open, and the create goes down unchanged: storage opens and
 * truncates in one step. If the name stands for another file by then, that must be one of the
 * caller's own, such as one made just now.
 *
 * A caller that may not make a file in that directory only gets the judged file opened. If it is
 * gone by then, the create starts again.
 */
static void
create_what_exists (const struct call *call)
{
    const struct create_call *args = call->args;

    STACK_WIND (call->frame, posix_acl_create_there_cbk, FIRST_CHILD (call->this), create,
                args->loc, args->flags, args->mode, args->umask, args->fd, args->xdata);
}

static void
posix_acl_create_there_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                            int32_t op_errno, fd_t *fd, inode_t *inode, struct iatt *buf,
                            struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    const struct acl_local *local = frame->local;

    if (op_ret >= 0 && !gfid_equal (&buf->ia_gfid, &local->named[0].inode->gfid)
        && buf->ia_uid != frame->root->uid)
        frame_fail (frame, ESTALE);
    else
        STACK_UNWIND (create, frame, op_ret, op_errno, fd, inode, buf, preparent, postparent,
                      xdata);
}

static void
open_what_exists (const struct call *call)
{
    const struct create_call *args = call->args;
    struct acl_local *local = acl_local_of (call->frame);
    inode_t *inode = local->named[0].inode;
    loc_t loc = { .inode = inode };

    local->stub = call_keep (call);
    if (!local->stub) {
        call_fail (call, ENOMEM);
        return;
    }
    note_inode (call, inode);
    args->fd->inode = inode_ref (inode); /* the fd was made for an unknown file */
    STACK_WIND (call->frame, posix_acl_create_open_cbk, FIRST_CHILD (call->this), open, &loc,
                args->flags & ~(uint32_t) O_CREAT, args->fd, NULL);
    loc_wipe_path (&loc);
}

static void
create_again (call_frame_t *frame, fd_t *fd)
{
    struct acl_local *local = frame->local;

    local->exists = local->opens_only = false;
    g_clear_pointer (&local->named[0].inode, inode_unref);
    g_clear_pointer (&fd->inode, inode_unref);
    call_resume (g_steal_pointer (&local->stub));
}

/* Answers with the attributes from the lookup, which is when the create took effect, except for the
 * truncation. Later attributes could be those of a file made afterwards. The directory is
 * unchanged. */
static void
answer_create (call_frame_t *frame)
{
    struct acl_local *local = frame->local;
    struct iatt *parent = local->has_parent ? &local->parent : NULL;

    STACK_UNWIND (create, frame, 0, 0, local->fd, local->inode, &local->found, parent, parent,
                  NULL);
}

static void
posix_acl_create_fstat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                            int32_t op_errno, struct iatt *buf, dict_t *xdata)
{
    struct iatt *found = &((struct acl_local *) frame->local)->found;

    found->ia_size = found->ia_blocks = 0;
    if (op_ret >= 0) {
        found->ia_mtime = buf->ia_mtime;
        found->ia_mtime_nsec = buf->ia_mtime_nsec;
        found->ia_ctime = buf->ia_ctime;
        found->ia_ctime_nsec = buf->ia_ctime_nsec;
    }
    answer_create (frame);
}

static void
posix_acl_create_open_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                           int32_t op_errno, fd_t *fd, dict_t *xdata)
{
    struct acl_local *local = frame->local;

    if (op_ret < 0 && (op_errno == ENOENT || op_errno == ESTALE)) {
        create_again (frame, local->fd);
        return;
    }
    call_stub_destroy (g_steal_pointer (&local->stub));
    if (op_ret >= 0 && fd->flags & O_TRUNC) {
        STACK_WIND (frame, posix_acl_create_fstat_cbk, FIRST_CHILD (this), fstat, fd, NULL);
    } else if (op_ret >= 0) {
        answer_create (frame);
    } else {
        g_clear_pointer (&local->fd->inode, inode_unref);
        frame_fail (frame, op_errno);
    }
}

static void
go_on_create (const struct call *call)
{
    const struct create_call *args = call->args;
    struct acl_local *local = acl_local_of (call->frame);

    if (!local->fd)
        local->fd = fd_ref (args->fd);
    if (local->exists && !local->opens_only) {
        create_what_exists (call);
        return;
    }
    if (local->exists) {
        open_what_exists (call);
        return;
    }
    local->stub = local->creates < ACL_CREATES ? call_keep (call) : NULL;
    if (!local->stub) {
        call_fail (call, local->creates < ACL_CREATES ? ENOMEM : ESTALE);
        return;
    }
    if (local->creates++ == 0)
        acl_named_add (local, args->loc->parent, args->loc->name, NULL);
    STACK_WIND (call->frame, posix_acl_create_cbk, FIRST_CHILD (call->this), create, args->loc,
                args->flags | O_EXCL, args->mode, args->umask, args->fd, args->xdata);
}

static void
posix_acl_create_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                      int32_t op_errno, fd_t *fd, inode_t *inode, struct iatt *buf,
                      struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    struct acl_local *local = frame->local;
    const struct acl_named *named = &local->named[0];
    g_autoptr (inode_t) place = NULL;
    loc_t loc = { .name = named->name, .parent = named->parent };

    if (op_ret >= 0 || op_errno != EEXIST) {
        call_stub_destroy (g_steal_pointer (&local->stub));
        STACK_UNWIND (create, frame, op_ret, op_errno, fd, inode, buf, preparent, postparent,
                      xdata);
        return;
    }
    loc.inode = place = inode_new (named->parent->table);
    local->names_at = names_now ();
    STACK_WIND (frame, posix_acl_create_lookup_cbk, FIRST_CHILD (this), lookup, &loc, NULL);
    loc_wipe_path (&loc);
}

static void
posix_acl_create_lookup_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                             int32_t op_errno, inode_t *inode, struct iatt *buf, dict_t *xdata,
                             struct iatt *postparent)
{
    struct acl_local *local = frame->local;
    struct acl_named *named = &local->named[0];
    call_stub_t *stub = g_steal_pointer (&local->stub);

    if (op_ret < 0 && op_errno != ENOENT) {
        call_stub_destroy (stub);
        frame_fail (frame, op_errno);
        return;
    }
    local->exists = op_ret >= 0;
    if (local->exists) {
        acl_note_found (local, buf, postparent);
        named->inode = inode_link_asked (inode, named->parent, named->name, buf, local->names_at);
    }
    call_resume (stub);
}

/* --- all operations --------------------------------------------------------------------------- */

void
acl_go_on (const struct call *call, const struct acl_look *look)
{
    switch (call->op) {
    case FOP_lookup:
        wind_to_learn (call);
        return;
    case FOP_getxattr:
    case FOP_fgetxattr:
        if (posix_acl_is_acl (call->name)) {
            note_inode (call, acl_inode_of (call));
            wind_to_learn (call);
            return;
        }
        break;
    case FOP_setattr:
        go_on_setattr (call, look && look->drop_setgid);
        return;
    case FOP_fsetattr:
        go_on_fsetattr (call, look && look->drop_setgid);
        return;
    case FOP_setxattr:
    case FOP_fsetxattr:
    case FOP_removexattr:
    case FOP_fremovexattr:
        go_on_xattr (call, look && look->drop_setgid);
        return;
    case FOP_create:
        if (look && !(call->flags & O_EXCL)) {
            go_on_create (call);
            return;
        }
        break;
    default:
        break;
    }
    call_pass (call);
}

static void
learn_acl (const struct answer *answer, const dict_t *dict)
{
    const struct acl_local *local = answer->frame->local;
    enum acl_state state = ACL_NONE;
    struct acl *acl = NULL;

    if (answer->op_ret >= 0)
        state = acl_take (answer->this, dict, &acl);
    else if (answer->op_errno != ENODATA && answer->op_errno != EOPNOTSUPP)
        return;
    acl_keep_acl (answer->this, local->inode, (uint64_t) (uintptr_t) answer->cookie,
                  answer->frame->root->begin, state, acl);
    acl_unref (acl);
}

void
posix_acl_any_fop_cbk (const struct answer *answer)
{
    const struct getxattr_answer *get = answer->rets;
    const struct fgetxattr_answer *fget = answer->rets;

    if (answer->op == FOP_getxattr)
        learn_acl (answer, get->dict);
    else if (answer->op == FOP_fgetxattr)
        learn_acl (answer, fget->dict);
    else if (answer->op != FOP_lookup)
        changed_rights (answer->this, answer->frame);
    else if (answer->op_ret >= 0)
        acl_keep_attributes (answer->this, answer->inode, (uint64_t) (uintptr_t) answer->cookie,
                             answer->frame->root->begin, answer->buf);
    answer_pass (answer);
}
