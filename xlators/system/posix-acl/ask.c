/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks storage for data that a rule needs, as the caller, in the caller's own frame. Then the call
 * is judged again from the beginning. */
#include "posix-acl.h"

#include <linux/xattr.h>

#define ACL_ASKS 32 /* more than any rule needs, also for an inode that changes all the time */

static stat_cbk acl_ask_stat_cbk;
static fstat_cbk acl_ask_fstat_cbk;
static getxattr_cbk acl_ask_getxattr_cbk;
static fgetxattr_cbk acl_ask_fgetxattr_cbk;
static lookup_cbk acl_ask_lookup_cbk;

/* --- data of a request ------------------------------------------------------------------------ */

struct acl_local *
acl_local_of (call_frame_t *frame)
{
    if (!frame->local)
        frame->local = frame_local_new (frame, sizeof (struct acl_local));
    return frame->local;
}

void
posix_acl_local_drop (xlator_t *this, void *data)
{
    struct acl_local *local = data;

    if (local->stub)
        call_stub_destroy (local->stub);
    inode_unref (local->asked_about);
    inode_unref (local->inode);
    fd_unref (local->fd);
    for (unsigned i = 0; i < ACL_SEEN && local->seen[i].inode; i++) {
        inode_unref (local->seen[i].inode);
        acl_view_clear (&local->seen[i].view);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS (local->named) && local->named[i].parent; i++) {
        inode_unref (local->named[i].parent);
        inode_unref (local->named[i].inode);
        g_free (local->named[i].name);
    }
}

/* Returns the slot of an inode, or takes a free one; NULL if there are no more. */
static struct acl_seen *
seen_of (struct acl_local *local, inode_t *inode)
{
    for (unsigned i = 0; i < ACL_SEEN; i++) {
        if (!local->seen[i].inode)
            local->seen[i].inode = inode_ref (inode);
        if (local->seen[i].inode == inode)
            return &local->seen[i];
    }
    return NULL;
}

void
acl_named_add (struct acl_local *local, inode_t *parent, const char *name, inode_t *inode)
{
    for (unsigned i = 0; i < G_N_ELEMENTS (local->named); i++) {
        struct acl_named *named = &local->named[i];

        if (named->parent)
            continue;
        *named = (struct acl_named){ inode_ref (parent), g_strdup (name), inode_ref (inode) };
        return;
    }
}

void
acl_note_found (struct acl_local *local, const struct iatt *buf, const struct iatt *postparent)
{
    local->found = *buf;
    local->has_parent = postparent != NULL;
    if (postparent)
        local->parent = *postparent;
}

static void
saw_attributes (xlator_t *this, call_frame_t *frame, inode_t *inode, const struct iatt *buf)
{
    struct acl_local *local = frame->local;
    struct acl_seen *seen = seen_of (local, inode);

    acl_keep_attributes (this, inode, local->since, frame->root->begin, buf);
    if (!seen)
        return;
    acl_view_clear (&seen->view);
    seen->since = local->since;
    seen->view = (struct acl_view){
        .known = true, .uid = buf->ia_uid, .gid = buf->ia_gid, .mode = (uint16_t) buf->ia_prot
    };
}

/* If the inode changed in between, its mode and its ACL do not belong together: both are requested
 * again. */
static void
saw_acl (xlator_t *this, call_frame_t *frame, inode_t *inode, enum acl_state state, struct acl *acl)
{
    struct acl_local *local = frame->local;
    struct acl_seen *seen = seen_of (local, inode);

    acl_keep_acl (this, inode, local->since, frame->root->begin, state, acl);
    if (!seen)
        return;
    acl_view_clear (&seen->view);
    if (acl_keep_changed (this, inode, seen->since)) {
        seen->view = (struct acl_view){ 0 };
        return;
    }
    seen->view.state = (uint8_t) state;
    seen->view.acl = acl_ref (acl);
}

/* --- requests --------------------------------------------------------------------------------- */

static void
ask_attributes (const struct acl_look *look, struct acl_local *local)
{
    call_frame_t *frame = look->call->frame;
    loc_t loc = { .inode = look->about };

    if (look->call->fd && look->call->fd->inode == look->about && look->call->op != FOP_open
        && look->call->op != FOP_opendir)
        STACK_WIND (frame, acl_ask_fstat_cbk, FIRST_CHILD (look->this), fstat, look->call->fd,
                    NULL);
    else
        STACK_WIND (frame, acl_ask_stat_cbk, FIRST_CHILD (look->this), stat, &loc, NULL);
    loc_wipe_path (&loc);
}

static void
ask_acl (const struct acl_look *look, struct acl_local *local)
{
    call_frame_t *frame = look->call->frame;
    loc_t loc = { .inode = look->about };

    if (look->call->fd && look->call->fd->inode == look->about && look->call->op != FOP_open
        && look->call->op != FOP_opendir)
        STACK_WIND (frame, acl_ask_fgetxattr_cbk, FIRST_CHILD (look->this), fgetxattr,
                    look->call->fd, XATTR_NAME_POSIX_ACL_ACCESS, NULL);
    else
        STACK_WIND (frame, acl_ask_getxattr_cbk, FIRST_CHILD (look->this), getxattr, &loc,
                    XATTR_NAME_POSIX_ACL_ACCESS, NULL);
    loc_wipe_path (&loc);
}

static void
ask_name (const struct acl_look *look, struct acl_local *local)
{
    g_autoptr (inode_t) inode = inode_grep (look->about, look->name);
    loc_t loc = { .name = look->name, .parent = look->about };

    if (!inode)
        inode = inode_new (look->about->table);
    loc.inode = inode;
    acl_named_add (local, look->about, look->name, NULL);
    local->names_at = names_now ();
    STACK_WIND (look->call->frame, acl_ask_lookup_cbk, FIRST_CHILD (look->this), lookup, &loc,
                NULL);
    loc_wipe_path (&loc);
}

/* Pins the attributes that the rule used, so that the ACL is judged with them. Returns false if
 * they changed meanwhile. */
static bool
attributes_are_seen (const struct acl_look *look, struct acl_local *local)
{
    struct acl_seen *seen = seen_of (local, look->about);

    if (!seen || seen->view.known)
        return true;
    seen->since = acl_keep_now (look->this);
    acl_keep_see (look->this, look->about, look->caller.root->begin, &seen->view);
    return seen->view.known;
}

void
acl_ask (struct acl_look *look)
{
    struct acl_local *local = acl_local_of (look->call->frame);
    posix_acl_private_t *priv = look->priv;

    if (++local->asks > ACL_ASKS) {
        call_fail (look->call, ESTALE);
        return;
    }
    local->stub = call_keep (look->call);
    if (!local->stub) {
        call_fail (look->call, ENOMEM);
        return;
    }
    __atomic_add_fetch (&priv->asked, 1, __ATOMIC_RELAXED);
    inode_unref (local->asked_about);
    local->asked_about = inode_ref (look->about);
    local->since = acl_keep_now (look->this);
    if (look->ask == ASK_ACL && !attributes_are_seen (look, local))
        look->ask = ASK_ATTRIBUTES;
    if (look->ask == ASK_NAME)
        ask_name (look, local);
    else if (look->ask == ASK_ACL)
        ask_acl (look, local);
    else
        ask_attributes (look, local);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void
judge_again (struct acl_local *local)
{
    call_resume (g_steal_pointer (&local->stub));
}

static void
give_up (call_frame_t *frame, int op_errno)
{
    struct acl_local *local = frame->local;

    call_stub_destroy (g_steal_pointer (&local->stub));
    frame_fail (frame, op_errno);
}

static void
ask_stat_done (call_frame_t *frame, xlator_t *this, int op_ret, int op_errno,
               const struct iatt *buf)
{
    struct acl_local *local = frame->local;

    if (op_ret < 0) {
        give_up (frame, op_errno);
        return;
    }
    saw_attributes (this, frame, local->asked_about, buf);
    judge_again (local);
}

static void
acl_ask_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, struct iatt *buf, dict_t *xdata)
{
    ask_stat_done (frame, this, op_ret, op_errno, buf);
}

static void
acl_ask_fstat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, struct iatt *buf, dict_t *xdata)
{
    ask_stat_done (frame, this, op_ret, op_errno, buf);
}

enum acl_state
acl_take (xlator_t *this, const dict_t *dict, struct acl **ret_acl)
{
    posix_acl_private_t *priv = this->private;
    size_t size = 0;
    const void *bytes = dict_get (dict, XATTR_NAME_POSIX_ACL_ACCESS, &size);
    int r = bytes ? acl_decode (bytes, size, ret_acl) : 0;

    if (r == 0 && *ret_acl)
        r = acl_check (*ret_acl);
    if (r == 0)
        return bytes && *ret_acl ? ACL_THERE : ACL_NONE;
    g_clear_pointer (ret_acl, acl_unref);
    if (__atomic_add_fetch (&priv->malformed, 1, __ATOMIC_RELAXED) == 1)
        gf_log (this, GF_LOG_WARNING,
                "the subvolume answered an invalid ACL of %zu bytes: only the owner and root "
                "get to such a file; "
                "others aren't logged",
                size);
    return ACL_BAD;
}

static void
ask_getxattr_done (call_frame_t *frame, xlator_t *this, int op_ret, int op_errno,
                   const dict_t *dict)
{
    struct acl_local *local = frame->local;
    enum acl_state state = ACL_NONE;
    struct acl *acl = NULL;

    if (op_ret < 0 && op_errno != ENODATA && op_errno != EOPNOTSUPP && op_errno != ENOSYS) {
        give_up (frame, op_errno);
        return;
    }
    if (op_ret >= 0)
        state = acl_take (this, dict, &acl);
    saw_acl (this, frame, local->asked_about, state, acl);
    acl_unref (acl);
    judge_again (local);
}

static void
acl_ask_getxattr_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                      int32_t op_errno, dict_t *dict, dict_t *xdata)
{
    ask_getxattr_done (frame, this, op_ret, op_errno, dict);
}

static void
acl_ask_fgetxattr_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                       int32_t op_errno, dict_t *dict, dict_t *xdata)
{
    ask_getxattr_done (frame, this, op_ret, op_errno, dict);
}

/* The last name that was added is the requested one. */
static void
acl_ask_lookup_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno, inode_t *inode, struct iatt *buf, dict_t *xdata,
                    struct iatt *postparent)
{
    struct acl_local *local = frame->local;
    struct acl_named *named = &local->named[local->named[1].parent ? 1 : 0];

    if (op_ret < 0 && op_errno != ENOENT) {
        give_up (frame, op_errno);
        return;
    }
    if (op_ret >= 0) {
        acl_note_found (local, buf, postparent);
        named->inode = inode_link_asked (inode, named->parent, named->name, buf, local->names_at);
        saw_attributes (this, frame, named->inode, buf);
    }
    judge_again (local);
}
