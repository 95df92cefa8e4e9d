/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations that make names: mknod, mkdir, symlink, link. */
#include "../posix.h"

int
posix_dir_begin (call_frame_t *frame, xlator_t *this, const loc_t *loc, struct posix_pin *ret_pin,
                 struct posix_change *change)
{
    int r = posix_check_name (loc->name);

    if (r == 0)
        r = posix_pin (this, loc->parent, ret_pin);
    if (r < 0)
        return r;
    posix_before (frame, this, WANTS_PARENT_ATTRIBUTES, ret_pin->fd, &ret_pin->pi->gfid, change);
    return posix_act_as (posix_priv (this), frame);
}

void
posix_dir_after (xlator_t *this, const struct posix_pin *pin, struct posix_change *change)
{
    if (pin->pi)
        posix_after (this, pin->fd, &pin->pi->gfid, change);
}

/* The umask is left to the system, which ignores it in a directory with a default ACL. But bits
 * that an option forces must survive it. */
mode_t
posix_create_mode (const posix_private_t *priv, mode_t mode, bool directory, mode_t *umask)
{
    mode_t mask = __atomic_load_n (directory ? &priv->create_directory_mask : &priv->create_mask,
                                   __ATOMIC_RELAXED);
    mode_t force = __atomic_load_n (directory ? &priv->force_directory_mode
                                              : &priv->force_create_mode,
                                    __ATOMIC_RELAXED);

    if (force != 0) {
        mode &= ~*umask;
        *umask = 0;
    }
    return (mode & (mask | 07000 | S_IFMT)) | force;
}

/* The object that an entry operation makes. */
struct entry_new {
    bool directory;
    mode_t mode;
    dev_t rdev;
    mode_t umask;
    const char *linkpath; /* of a symbolic link */
};

/* Threads of the daemon have a umask of their own. In any other thread the umask is restored at
 * once. */
static int
entry_make (const posix_private_t *priv, int dirfd, const char *name, const struct entry_new *new)
{
    mode_t mask = new->umask & 0777, old, mode;
    int r;

    if (new->linkpath)
        return posix_result (symlinkat (new->linkpath, dirfd, name));
    mode = posix_create_mode (priv, new->mode, new->directory, &mask);
    old = umask (mask);
    if (new->directory)
        r = posix_result (mkdirat (dirfd, name, mode));
    else
        r = posix_result (mknodat (dirfd, name, mode, new->rdev));
    umask (old);
    return r;
}

static int
entry_new (call_frame_t *frame, xlator_t *this, loc_t *loc, const struct entry_new *new,
           struct posix_change *change, struct posix_found *found)
{
    g_auto (posix_pin_t) pin = { 0 };
    int r = posix_reserve_check (this);

    if (r == 0)
        r = posix_dir_begin (frame, this, loc, &pin, change);
    if (r == 0)
        r = entry_make (posix_priv (this), pin.fd, loc->name, new);
    if (r == 0)
        r = posix_look (this, pin.fd, loc->name, loc->parent->table, loc->inode, found);
    if (r == 0)
        posix_stamp_new (frame, this, found->pin.fd, &found->buf);
    posix_dir_after (this, &pin, change);
    return r;
}

void
posix_mknod (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, dev_t rdev, mode_t umask,
             dict_t *xdata)
{
    g_auto (posix_found_t) found = { 0 };
    struct posix_change parent = { 0 };
    const struct entry_new new = { .mode = mode, .rdev = rdev, .umask = umask };
    int r = entry_new (frame, this, loc, &new, &parent, &found);

    STACK_UNWIND (mknod, frame, POSIX_RET (r), r < 0 ? NULL : found.inode,
                  r < 0 ? NULL : &found.buf, posix_pre (&parent, r), posix_post (&parent, r), NULL);
}

void
posix_mkdir (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask,
             dict_t *xdata)
{
    g_auto (posix_found_t) found = { 0 };
    struct posix_change parent = { 0 };
    const struct entry_new new = { .directory = true, .mode = mode & 07777, .umask = umask };
    int r = entry_new (frame, this, loc, &new, &parent, &found);

    STACK_UNWIND (mkdir, frame, POSIX_RET (r), r < 0 ? NULL : found.inode,
                  r < 0 ? NULL : &found.buf, posix_pre (&parent, r), posix_post (&parent, r), NULL);
}

void
posix_symlink (call_frame_t *frame, xlator_t *this, const char *linkpath, loc_t *loc, mode_t umask,
               dict_t *xdata)
{
    g_auto (posix_found_t) found = { 0 };
    struct posix_change parent = { 0 };
    const struct entry_new new = { .linkpath = linkpath };
    int r = linkpath ? entry_new (frame, this, loc, &new, &parent, &found) : -EINVAL;

    STACK_UNWIND (symlink, frame, POSIX_RET (r), r < 0 ? NULL : found.inode,
                  r < 0 ? NULL : &found.buf, posix_pre (&parent, r), posix_post (&parent, r), NULL);
}

/* Returns 0, or -EMLINK if the file has max-hardlinks links. */
static int
entry_check_links (const posix_private_t *priv, int fd)
{
    int64_t max = __atomic_load_n (&priv->max_hardlinks, __ATOMIC_RELAXED);
    struct stat st;

    if (max == 0)
        return 0;
    if (fstat (fd, &st) < 0)
        return -errno;
    return (int64_t) st.st_nlink >= max ? -EMLINK : 0;
}

static int
entry_link (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc,
            struct posix_change *change, struct posix_found *found)
{
    g_auto (posix_pin_t) pin = { 0 };
    int r = posix_pin (this, oldloc->inode, &found->pin);

    if (r < 0)
        return r;
    found->inode = inode_ref (oldloc->inode);
    r = entry_check_links (posix_priv (this), found->pin.fd);
    if (r == 0)
        r = posix_dir_begin (frame, this, newloc, &pin, change);
    if (r == 0)
        r = posix_result (linkat (AT_FDCWD, posix_path_of (found->pin.fd).text, pin.fd,
                                  newloc->name, AT_SYMLINK_FOLLOW));
    if (r == 0)
        r = posix_iatt (this, found->pin.fd, &found->pin.pi->gfid, &found->buf);
    posix_dir_after (this, &pin, change);
    return r;
}

void
posix_link (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, dict_t *xdata)
{
    g_auto (posix_found_t) found = { 0 };
    struct posix_change parent = { 0 };
    int r = entry_link (frame, this, oldloc, newloc, &parent, &found);

    STACK_UNWIND (link, frame, POSIX_RET (r), r < 0 ? NULL : found.inode, r < 0 ? NULL : &found.buf,
                  posix_pre (&parent, r), posix_post (&parent, r), NULL);
}
