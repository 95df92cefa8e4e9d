/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lookup in .meta, and attributes. */
#include "meta/internal.h"

#include <unistd.h>

static const struct meta_entry *
entry_find (const GPtrArray *entries, const char *name)
{
    for (guint i = 0; i < entries->len; i++) {
        const struct meta_entry *entry = entries->pdata[i];

        if (strcmp (entry->name, name) == 0)
            return entry;
    }
    return NULL;
}

/* Finds the inode of loc. Returns 0 or an errno. */
static int
meta_look_up (call_frame_t *frame, const loc_t *loc)
{
    xlator_t *this = frame->this;
    const struct meta_inode *parent = loc->parent ? meta_inode_get (this, loc->parent) : NULL;
    g_autoptr (GPtrArray) entries = NULL;
    const struct meta_entry *entry;

    if (!loc->name)
        return meta_refused (frame, meta_inode_get (this, loc->inode));
    if (!parent || meta_is_gone (meta_of (this), &parent->node))
        return ESTALE;
    if (parent->node.kind->type != IA_IFDIR)
        return ENOTDIR;
    if (parent->node.kind != &meta_outside && !meta_may_look (frame))
        return EACCES;
    entries = meta_entries (meta_of (this), &parent->node);
    entry = entry_find (entries, loc->name);
    if (!entry)
        return ENOENT;
    meta_inode_become (this, loc->inode, parent, entry);
    return 0;
}

void
meta_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    int error = meta_look_up (frame, loc);
    struct iatt buf;

    if (error) {
        STACK_UNWIND (lookup, frame, -1, error, NULL, NULL, NULL, NULL);
        return;
    }
    buf = meta_iatt (this, meta_inode_get (this, loc->inode));
    STACK_UNWIND (lookup, frame, 0, 0, loc->inode, &buf, NULL, NULL);
}

void
meta_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    const struct meta_inode *mi = meta_inode_get (this, loc->inode);
    int error = meta_refused (frame, mi);
    struct iatt buf;

    if (error) {
        STACK_UNWIND (stat, frame, -1, error, NULL, NULL);
        return;
    }
    buf = meta_iatt (this, mi);
    STACK_UNWIND (stat, frame, 0, 0, &buf, NULL);
}

void
meta_fstat (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    struct iatt buf = meta_iatt (this, meta_inode_get (this, fd->inode));

    STACK_UNWIND (fstat, frame, 0, 0, &buf, NULL);
}

void
meta_readlink (call_frame_t *frame, xlator_t *this, loc_t *loc, size_t size, dict_t *xdata)
{
    const struct meta_inode *mi = meta_inode_get (this, loc->inode);
    int error = meta_refused (frame, mi);
    g_autoptr (GString) target = g_string_new (NULL);
    struct iatt buf;
    int r;

    if (!error && mi->node.kind->type != IA_IFLNK)
        error = EINVAL;
    if (error) {
        STACK_UNWIND (readlink, frame, -1, error, NULL, NULL, NULL);
        return;
    }
    r = mi->node.kind->show (meta_of (this), &mi->node, target);
    if (r < 0) {
        STACK_UNWIND (readlink, frame, -1, -r, NULL, NULL, NULL);
        return;
    }
    buf = meta_iatt (this, mi);
    STACK_UNWIND (readlink, frame, (int32_t) target->len, 0, target->str, &buf, NULL);
}

void
meta_access (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t mask, dict_t *xdata)
{
    int error = meta_access_error (frame, meta_inode_get (this, loc->inode), mask);

    STACK_UNWIND (access, frame, error ? -1 : 0, error, NULL);
}

/* --- read-only attributes ------------------------------------------------------------------- */

/* The kernel sets times of a truncated file, and clears setuid before a write. These pass; no
 * attribute can be changed. */
static bool
attributes_stay (const struct iatt *stbuf, uint32_t valid)
{
    const uint32_t times = IATT_ATIME | IATT_MTIME | IATT_CTIME | IATT_ATIME_NOW | IATT_MTIME_NOW
                         | IATT_KILL_PRIV;

    if (valid & IATT_UID && stbuf->ia_uid != (uid_t) -1)
        return false;
    if (valid & IATT_GID && stbuf->ia_gid != (gid_t) -1)
        return false;
    return (valid & ~(times | IATT_UID | IATT_GID)) == 0;
}

void
meta_setattr (call_frame_t *frame, xlator_t *this, loc_t *loc, struct iatt *stbuf, uint32_t valid,
              dict_t *xdata)
{
    const struct meta_inode *mi = meta_inode_get (this, loc->inode);
    int error = meta_refused (frame, mi);
    struct iatt buf;

    if (!error && (!meta_may_look (frame) || !attributes_stay (stbuf, valid)))
        error = EPERM;
    if (error) {
        STACK_UNWIND (setattr, frame, -1, error, NULL, NULL, NULL);
        return;
    }
    buf = meta_iatt (this, mi);
    STACK_UNWIND (setattr, frame, 0, 0, &buf, &buf, NULL);
}

void
meta_fsetattr (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iatt *stbuf, uint32_t valid,
               dict_t *xdata)
{
    struct iatt buf = meta_iatt (this, meta_inode_get (this, fd->inode));

    if (attributes_stay (stbuf, valid))
        STACK_UNWIND (fsetattr, frame, 0, 0, &buf, &buf, NULL);
    else
        STACK_UNWIND (fsetattr, frame, -1, EPERM, NULL, NULL, NULL);
}
