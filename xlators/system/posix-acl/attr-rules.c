/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules of operations on attributes and on extended attributes. */
#include "posix-acl.h"

#include <linux/xattr.h>

#define TIMES (IATT_ATIME | IATT_MTIME | IATT_ATIME_NOW | IATT_MTIME_NOW)

int
posix_acl_access (struct acl_look *look)
{
    const struct access_call *args = look->call->args;
    const unsigned want = (unsigned) args->mask & (R_OK | W_OK | X_OK);

    return want ? acl_may (look, look->call->loc->inode, want) : 0;
}

/* An inode that is not a regular file has no size: storage refuses the call. */
int
posix_acl_truncate (struct acl_look *look)
{
    inode_t *inode = look->call->loc->inode;

    return inode->ia_type == IA_IFREG ? acl_may (look, inode, W_OK) : 0;
}

/* --- setattr: notify_change, setattr_prepare -------------------------------------------------- */

/* A change of the owner clears setuid and setgid, which changes the mode. */
static bool
chown_changes_mode (const struct acl_look *look, inode_t *inode, const struct acl_view *view)
{
    if (inode->ia_type == IA_IFDIR)
        return false;
    if (view->mode & S_ISUID)
        return true;
    return view->mode & S_ISGID
        && (view->mode & S_IXGRP || !acl_caller_has_group (&look->caller, view->gid));
}

static int
may_chown (struct acl_look *look, inode_t *inode, const struct acl_view *view,
           const struct iatt *to, uint32_t valid)
{
    const bool owns = view->uid == look->caller.uid;
    const bool sets_uid = valid & IATT_UID && to->ia_uid != (uid_t) -1,
               sets_gid = valid & IATT_GID && to->ia_gid != (gid_t) -1;

    if (sets_uid && !(owns && to->ia_uid == view->uid))
        return -EPERM;
    if (sets_gid
        && !(owns && (to->ia_gid == view->gid || acl_caller_has_group (&look->caller, to->ia_gid))))
        return -EPERM;
    return valid & (IATT_UID | IATT_GID) && !owns && chown_changes_mode (look, inode, view) ? -EPERM
                                                                                            : 0;
}

/* A caller with write permission may set both times to the present. */
static int
may_set_times (struct acl_look *look, inode_t *inode, uint32_t valid)
{
    const uint32_t now = IATT_ATIME_NOW | IATT_MTIME_NOW;
    int r;

    if (!(valid & TIMES))
        return 0;
    r = acl_owns (look, inode);
    if (r == -EPERM && (valid & now) == now)
        r = acl_may (look, inode, W_OK);
    return r;
}

static int
may_set (struct acl_look *look, inode_t *inode, const struct iatt *to, uint32_t valid)
{
    g_auto (acl_view_t) view = { 0 };
    int r = 0;

    /* removal of setuid before a write, by a caller that has the file open */
    if (!(valid & (IATT_MODE | IATT_UID | IATT_GID | IATT_SIZE | TIMES)))
        return 0;
    if (valid & IATT_SIZE && inode->ia_type == IA_IFREG)
        r = acl_may (look, inode, W_OK);
    if (r == 0)
        r = acl_see (look, inode, &view);
    if (r == 0)
        r = may_chown (look, inode, &view, to, valid);
    if (r == 0 && valid & IATT_MODE) {
        const gid_t gid = valid & IATT_GID && to->ia_gid != (gid_t) -1 ? to->ia_gid : view.gid;

        r = view.uid == look->caller.uid ? 0 : -EPERM;
        look->drop_setgid = to->ia_prot & S_ISGID && !acl_caller_has_group (&look->caller, gid);
    }
    return r == 0 ? may_set_times (look, inode, valid) : r;
}

int
posix_acl_setattr (struct acl_look *look)
{
    const struct setattr_call *args = look->call->args;

    return may_set (look, args->loc->inode, args->stbuf, args->valid);
}

int
posix_acl_fsetattr (struct acl_look *look)
{
    const struct fsetattr_call *args = look->call->args;

    return may_set (look, args->fd->inode, args->stbuf, args->valid);
}

/* --- extended attributes: xattr_permission, set_posix_acl, cap_inode_setxattr ----------------- */

bool
posix_acl_is_acl (const char *name)
{
    return name && strcmp (name, XATTR_NAME_POSIX_ACL_ACCESS) == 0;
}

static bool
is_default (const char *name)
{
    return strcmp (name, XATTR_NAME_POSIX_ACL_DEFAULT) == 0;
}

/* acl is NULL for a removal. */
static int
may_set_acl (struct acl_look *look, inode_t *inode, const char *name, const struct acl *acl)
{
    g_auto (acl_view_t) view = { 0 };
    int r;

    if (inode->ia_type == IA_IFLNK) /* storage answers EOPNOTSUPP */
        return 0;
    if (is_default (name) && inode->ia_type != IA_IFDIR)
        return acl ? -EACCES : 0;
    r = acl_see (look, inode, &view);
    if (r == 0 && view.uid != look->caller.uid)
        r = -EPERM;
    if (r != 0 || !acl)
        return r;
    look->drop_setgid = posix_acl_is_acl (name) && view.mode & S_ISGID
                     && !acl_caller_has_group (&look->caller, view.gid);
    return acl_check (acl);
}

static int
may_set_acl_bytes (struct acl_look *look, inode_t *inode, const char *name, const void *value,
                   size_t size)
{
    struct acl *acl;
    int r = acl_decode (value, size, &acl);

    if (r == 0)
        r = may_set_acl (look, inode, name, acl);
    acl_unref (acl);
    return r;
}

/* For user.*, and for namespaces without a rule of their own. */
static int
may_use (struct acl_look *look, inode_t *inode, const char *name, unsigned want)
{
    g_auto (acl_view_t) view = { 0 };
    int r = 0;

    if (g_str_has_prefix (name, XATTR_USER_PREFIX)) {
        if (inode->ia_type != IA_IFREG && inode->ia_type != IA_IFDIR)
            return want == W_OK ? -EPERM : -ENODATA;
        if (inode->ia_type == IA_IFDIR && want == W_OK) {
            r = acl_see (look, inode, &view);
            if (r == 0 && view.mode & S_ISVTX && view.uid != look->caller.uid)
                r = -EPERM;
        }
    }
    return r == 0 ? acl_may (look, inode, want) : r;
}

/* SELinux decides about its own labels: it requires the owner, and its policy. All other security
 * attributes take privileges. */
static int
may_label (struct acl_look *look, inode_t *inode, const char *name)
{
    return look->priv->selinux && strcmp (name, XATTR_NAME_SELINUX) == 0 ? acl_owns (look, inode)
                                                                         : -EPERM;
}

static int
may_write_xattr (struct acl_look *look, inode_t *inode, const char *name, const void *value,
                 size_t size)
{
    if (posix_acl_is_acl (name) || is_default (name))
        return may_set_acl_bytes (look, inode, name, value, size);
    if (g_str_has_prefix (name, XATTR_SECURITY_PREFIX))
        return may_label (look, inode, name);
    if (g_str_has_prefix (name, XATTR_TRUSTED_PREFIX))
        return -EPERM;
    return g_str_has_prefix (name, XATTR_SYSTEM_PREFIX) ? 0 : may_use (look, inode, name, W_OK);
}

static int
may_read_xattr (struct acl_look *look, inode_t *inode, const char *name)
{
    if (!name || g_str_has_prefix (name, XATTR_SECURITY_PREFIX)
        || g_str_has_prefix (name, XATTR_SYSTEM_PREFIX))
        return 0;
    return g_str_has_prefix (name, XATTR_TRUSTED_PREFIX) ? -ENODATA
                                                         : may_use (look, inode, name, R_OK);
}

static int
may_write_all (struct acl_look *look, inode_t *inode, const dict_t *dict)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < dict_count (dict); i++) {
        const char *name;
        const void *value;
        size_t size;

        dict_nth (dict, i, &name, &value, &size);
        r = may_write_xattr (look, inode, name, value, size);
    }
    return r;
}

int
posix_acl_setxattr (struct acl_look *look)
{
    const struct setxattr_call *args = look->call->args;

    return may_write_all (look, args->loc->inode, args->dict);
}

int
posix_acl_fsetxattr (struct acl_look *look)
{
    const struct fsetxattr_call *args = look->call->args;

    return may_write_all (look, args->fd->inode, args->dict);
}

int
posix_acl_getxattr (struct acl_look *look)
{
    return may_read_xattr (look, look->call->loc->inode, look->call->name);
}

int
posix_acl_fgetxattr (struct acl_look *look)
{
    return may_read_xattr (look, look->call->fd->inode, look->call->name);
}

/* The kernel removes file capabilities before any write, by any caller. It lets a program remove
 * them only with CAP_SETFCAP, and checks that before the request comes here:
 * security_inode_removexattr. */
static int
may_remove_xattr (struct acl_look *look, inode_t *inode, const char *name)
{
    return !name || strcmp (name, XATTR_NAME_CAPS) == 0
             ? 0
             : may_write_xattr (look, inode, name, NULL, 0);
}

int
posix_acl_removexattr (struct acl_look *look)
{
    return may_remove_xattr (look, look->call->loc->inode, look->call->name);
}

int
posix_acl_fremovexattr (struct acl_look *look)
{
    return may_remove_xattr (look, look->call->fd->inode, look->call->name);
}

/* vfs_fileattr_set. */
int
posix_acl_ioctl (struct acl_look *look)
{
    return call_changes (look->call) ? acl_owns (look, look->call->fd->inode) : 0;
}
