/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations that remove names: unlink, rmdir, rename. An inode may be in use when its last name
 * goes, as an open file or as a process's working directory. Then the descriptor of an open file
 * keeps it, or else its own descriptor, until it is forgotten. */
#include "../posix.h"

/* Returns true if pi has open files, none of which has a descriptor: then it needs its own when its
 * last name goes. */
static bool
remove_needs_own (xlator_t *this, const struct posix_inode *pi)
{
    return pi && pi->by_handle
        && posix_cache_holders (&posix_priv (this)->cache, pi) == HOLDERS_BRIEF;
}

/* Pins an inode that is about to lose a name; without a reference, so not beyond the call. Returns
 * 0, or a negative errno in two cases: open files would lose the file, or the descriptor that it
 * needs is one of those reserved for requests. */
static int
remove_pin (xlator_t *this, inode_t *inode, struct posix_pin *pin)
{
    struct posix_inode *pi = posix_inode_get (this, inode);
    int r = inode ? posix_pin (this, inode, pin) : 0;
    struct stat st;

    if (r < 0) {
        *pin = (struct posix_pin){ 0 }; /* the file is gone already, or never existed */
        return r != -ESTALE && remove_needs_own (this, pi) ? r : 0;
    }
    if (pin->pi && !posix_descriptor_may_last (posix_priv (this), pin->fd)
        && remove_needs_own (this, pi) && fstat (pin->fd, &st) == 0 && st.st_nlink == 1)
        return posix_open_failed (this, EMFILE);
    return 0;
}

/* A name of the inode is gone. Without a descriptor it is not known whether that was the last
 * one. */
static void
remove_keep (xlator_t *this, inode_t *inode, const struct posix_pin *pin)
{
    struct posix_inode *pi = posix_inode_get (this, inode);
    struct stat st;

    if (pi && (!pin->pi || !pi->by_handle || fstat (pin->fd, &st) < 0 || st.st_nlink == 0))
        posix_cache_keep_nameless (&posix_priv (this)->cache, pi);
}

static int
remove_entry (call_frame_t *frame, xlator_t *this, loc_t *loc, int flags,
              struct posix_change *change)
{
    g_auto (posix_pin_t) pin = { 0 }, victim = { 0 };
    int r = remove_pin (this, loc->inode, &victim);

    if (r == 0)
        r = posix_dir_begin (frame, this, loc, &pin, change);
    if (r == 0)
        r = posix_result (unlinkat (pin.fd, loc->name, flags));
    if (r == 0)
        remove_keep (this, loc->inode, &victim);
    posix_dir_after (this, &pin, change);
    return r;
}

void
posix_unlink (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t xflag, dict_t *xdata)
{
    struct posix_change parent = { 0 };
    int r = remove_entry (frame, this, loc, 0, &parent);

    STACK_UNWIND (unlink, frame, POSIX_RET (r), posix_pre (&parent, r), posix_post (&parent, r),
                  NULL);
}

void
posix_rmdir (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t flags, dict_t *xdata)
{
    struct posix_change parent = { 0 };
    int r = remove_entry (frame, this, loc, AT_REMOVEDIR, &parent);

    STACK_UNWIND (rmdir, frame, POSIX_RET (r), posix_pre (&parent, r), posix_post (&parent, r),
                  NULL);
}

/* Finds the object of the new name: the renamed inode, held and pinned until the answer was
 * processed and its new name is known. If the old name stood for another object at the time of the
 * rename, that object is the renamed one. If the new name has changed since, the known inode
 * stays. */
static int
rename_found (xlator_t *this, const loc_t *oldloc, const loc_t *newloc, int newdir,
              struct posix_found *found)
{
    g_auto (posix_found_t) other = { 0 };
    struct stat st;
    int r;

    if (!found->pin.pi)
        return posix_look (this, newdir, newloc->name, newloc->parent->table, oldloc->inode, found);
    r = posix_iatt (this, found->pin.fd, &found->pin.pi->gfid, &found->buf);
    if (fstatat (newdir, newloc->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return r;
    if (r == 0 && st.st_ino == found->pin.pi->ino
        && st.st_dev == file_system_dev (found->pin.pi->fs))
        return 0;
    if (posix_look (this, newdir, newloc->name, newloc->parent->table, NULL, &other) < 0)
        return r;
    found->buf = other.buf;
    return 0;
}

/* Holds an inode that gets another name, which is known only after the answer was processed. Until
 * then the inode stays open, since no name leads to it. */
static int
rename_hold (xlator_t *this, inode_t *inode, struct posix_found *held)
{
    int r = remove_pin (this, inode, &held->pin);

    held->inode = held->pin.pi ? inode_ref (inode) : NULL;
    return r;
}

/* Within one directory its attributes are read once. */
static int
rename_entry (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, uint32_t flags,
              struct posix_change *oldchange, struct posix_change *newchange,
              struct posix_found *found, struct posix_found *victim)
{
    g_auto (posix_pin_t) oldpin = { 0 }, newpin = { 0 };
    const bool within = oldloc->parent == newloc->parent;
    int r = rename_hold (this, newloc->inode, victim);

    if (r == 0)
        r = rename_hold (this, oldloc->inode, found);
    if (r == 0)
        r = posix_dir_begin (frame, this, oldloc, &oldpin, oldchange);
    if (r == 0)
        r = within ? posix_check_name (newloc->name)
                   : posix_dir_begin (frame, this, newloc, &newpin, newchange);
    if (r == 0)
        r = posix_result (renameat2 (oldpin.fd, oldloc->name, within ? oldpin.fd : newpin.fd,
                                     newloc->name, flags));
    if (r < 0)
        return r;
    if (!(flags & RENAME_EXCHANGE) && victim->pin.pi != found->pin.pi)
        remove_keep (this, newloc->inode, &victim->pin);
    r = rename_found (this, oldloc, newloc, within ? oldpin.fd : newpin.fd, found);
    posix_dir_after (this, &oldpin, oldchange);
    posix_dir_after (this, &newpin, newchange);
    if (within)
        *newchange = *oldchange;
    return r;
}

void
posix_rename (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, uint32_t flags,
              dict_t *xdata)
{
    g_auto (posix_found_t) found = { 0 }, victim = { 0 };
    struct posix_change oldparent = { 0 }, newparent = { 0 };
    int r = rename_entry (frame, this, oldloc, newloc, flags, &oldparent, &newparent, &found,
                          &victim);

    STACK_UNWIND (rename, frame, POSIX_RET (r), r < 0 ? NULL : &found.buf,
                  posix_pre (&oldparent, r), posix_post (&oldparent, r), posix_pre (&newparent, r),
                  posix_post (&newparent, r), NULL);
}
