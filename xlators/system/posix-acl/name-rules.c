/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules of operations that look up, open, make, move and remove. Each names the kernel function
 * whose order of checks it follows. */
#include "posix-acl.h"

int
posix_acl_lookup (struct acl_look *look)
{
    const loc_t *loc = look->call->loc;

    return loc->name && loc->parent ? acl_may (look, loc->parent, X_OK) : 0;
}

/* --- opening: may_open ------------------------------------------------------------------------ */

static int
may_open (struct acl_look *look, inode_t *inode, uint32_t flags)
{
    static const unsigned wants[] = {
        [O_RDONLY] = R_OK, [O_WRONLY] = W_OK, [O_RDWR] = R_OK | W_OK, [3] = R_OK | W_OK
    };
    const unsigned want = wants[flags & O_ACCMODE] | (flags & O_TRUNC ? W_OK : 0);
    int r;

    /* Rights do not matter: storage answers EISDIR or ELOOP. */
    if (inode->ia_type == IA_IFLNK || (inode->ia_type == IA_IFDIR && want & W_OK))
        return 0;
    r = acl_may (look, inode, want);
    if (r == 0 && flags & O_NOATIME)
        r = acl_owns (look, inode);
    return r;
}

int
posix_acl_open (struct acl_look *look)
{
    return may_open (look, look->call->loc->inode, look->call->flags);
}

int
posix_acl_opendir (struct acl_look *look)
{
    return may_open (look, look->call->loc->inode, look->call->fd->flags & ~(O_ACCMODE | O_TRUNC));
}

/* --- making: may_create ----------------------------------------------------------------------- */

static int
acl_may_make (struct acl_look *look, inode_t *directory)
{
    return acl_may (look, directory, W_OK | X_OK);
}

/* A create that only opens: do_open. */
static int
may_create_open (struct acl_look *look, inode_t *there)
{
    return there->ia_type == IA_IFDIR ? -EISDIR : may_open (look, there, look->call->flags);
}

int
posix_acl_create (struct acl_look *look)
{
    const loc_t *loc = look->call->loc;
    inode_t *there = NULL;
    int r;

    if (look->local && look->local->exists)
        return may_create_open (look, look->local->named[0].inode);
    r = acl_may_make (look, loc->parent);
    if (r != -EACCES || look->call->flags & O_EXCL)
        return r;
    r = acl_may (look, loc->parent, X_OK);
    if (r == 0)
        r = acl_find (look, loc->parent, loc->name, &there);
    if (r != 0)
        return r;
    if (!there)
        return -EACCES;
    look->local->exists = look->local->opens_only = true;
    return may_create_open (look, there);
}

int
posix_acl_tmpfile (struct acl_look *look)
{
    return acl_may_make (look, look->call->loc->inode);
}

int
posix_acl_mkdir (struct acl_look *look)
{
    return acl_may_make (look, look->call->loc->parent);
}

int
posix_acl_symlink (struct acl_look *look)
{
    return acl_may_make (look, look->call->loc->parent);
}

/* Only root may make devices, except overlayfs's whiteout. */
int
posix_acl_mknod (struct acl_look *look)
{
    const struct mknod_call *args = look->call->args;
    const int r = acl_may_make (look, look->call->loc->parent);

    if (r == 0 && (S_ISBLK (args->mode) || (S_ISCHR (args->mode) && args->rdev != 0)))
        return -EPERM;
    return r;
}

/* The present setting of this system, which the kernel would apply to a local directory. */
static bool
acl_protects_hardlinks (void)
{
    g_autofree char *text = NULL;

    return g_file_get_contents ("/proc/sys/fs/protected_hardlinks", &text, NULL, NULL)
        && atoi (text) != 0;
}

/* may_linkat: with protected_hardlinks a caller may only link a file that it owns, or may read and
 * write. */
static int
may_link (struct acl_look *look, inode_t *inode)
{
    g_auto (acl_view_t) view = { 0 };
    int r = acl_see (look, inode, &view);

    if (r != 0 || view.uid == look->caller.uid || !acl_protects_hardlinks ())
        return r;
    if (inode->ia_type != IA_IFREG || view.mode & S_ISUID
        || (view.mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
        return -EPERM;
    r = acl_may (look, inode, R_OK | W_OK);
    return r == -EACCES ? -EPERM : r;
}

int
posix_acl_link (struct acl_look *look)
{
    const int r = may_link (look, look->call->loc->inode);

    return r == 0 ? acl_may_make (look, look->call->newloc->parent) : r;
}

/* --- removing: may_delete --------------------------------------------------------------------- */

/* In a sticky directory, a caller may only remove its own files, or files in its own directory. */
static int
may_unstick (struct acl_look *look, const loc_t *loc)
{
    g_auto (acl_view_t) directory = { 0 };
    inode_t *inode = loc->inode;
    int r = acl_see (look, loc->parent, &directory);

    if (r != 0 || !(directory.mode & S_ISVTX) || directory.uid == look->caller.uid)
        return r;
    if (!inode)
        r = acl_find (look, loc->parent, loc->name, &inode);
    return r == 0 && inode ? acl_owns (look, inode) : r;
}

static int
may_remove (struct acl_look *look, const loc_t *loc)
{
    const int r = acl_may (look, loc->parent, W_OK | X_OK);

    return r == 0 ? may_unstick (look, loc) : r;
}

int
posix_acl_unlink (struct acl_look *look)
{
    return may_remove (look, look->call->loc);
}

int
posix_acl_rmdir (struct acl_look *look)
{
    return may_remove (look, look->call->loc);
}

/* --- moving: vfs_rename ----------------------------------------------------------------------- */

/* A directory that moves to another parent is written to, because of its "..". */
static int
may_move (struct acl_look *look, inode_t *inode)
{
    const struct call *call = look->call;

    if (inode->ia_type != IA_IFDIR || call->loc->parent == call->newloc->parent)
        return 0;
    return acl_may (look, inode, W_OK);
}

static int
may_rename (struct acl_look *look, inode_t *target)
{
    const struct call *call = look->call;
    const bool exchange = call->flags & RENAME_EXCHANGE;
    inode_t *const inode = call->loc->inode;
    int r;

    if (target && target == inode) /* two names of one file: the rename does nothing, so nothing is
                                      checked */
        return 0;
    r = may_remove (look, call->loc);
    if (r == 0) /* the checks for an absent name are included in those for an existing name */
        r = may_remove (look, &(loc_t){ .parent = call->newloc->parent,
                                        .name = call->newloc->name,
                                        .inode = target });
    if (r != 0 || !inode)
        return r;
    if (target && !exchange && (inode->ia_type == IA_IFDIR) != (target->ia_type == IA_IFDIR))
        return 0; /* storage answers ENOTDIR or EISDIR */
    r = may_move (look, inode);
    return r == 0 && target && exchange ? may_move (look, target) : r;
}

/* The target of the new name may be unknown. It is only looked up if it can make a difference. */
int
posix_acl_rename (struct acl_look *look)
{
    const struct call *call = look->call;
    inode_t *target = call->newloc->inode;
    int r = may_rename (look, target);

    if (target || r == ACL_ASK || (r == 0 && !(call->flags & RENAME_EXCHANGE)))
        return r;
    if (acl_find (look, call->newloc->parent, call->newloc->name, &target) == ACL_ASK)
        return ACL_ASK;
    return target ? may_rename (look, target) : r;
}
