/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Drops cached state in the kernel, when XLATOR_INVALIDATE has come up through the graph. */
#include "fuse/internal.h"

/* If the kernel doesn't know the inode, it returns an error, which is ignored. */
static void
forget_inode (struct bridge *bridge, inode_t *inode, unsigned what)
{
    /* a listing in the kernel's cache counts as data */
    const bool data = what & (INVALIDATE_DATA | INVALIDATE_NAMES);

    if (what & INVALIDATE_ALL)
        fuse_lowlevel_notify_inval_inode (bridge->session, inode_nodeid (inode), data ? 0 : -1, 0);
}

static void
forget_name (struct bridge *bridge, inode_t *parent, const char *name)
{
    fuse_lowlevel_notify_inval_entry (bridge->session, inode_nodeid (parent), name, strlen (name));
}

struct search {
    struct bridge *bridge;
    inode_t *parent; /* only names in this directory; NULL: all names */
    bool inodes;     /* invalidates the inodes as well */
};

static void
forget_known_name (inode_t *parent, const char *name, void *data)
{
    const struct search *search = data;

    if (!search->parent || search->parent == parent)
        forget_name (search->bridge, parent, name);
}

static void
forget_known (inode_t *inode, void *data)
{
    const struct search *search = data;

    inode_each_name (inode, forget_known_name, data);
    if (search->inodes)
        forget_inode (search->bridge, inode, INVALIDATE_ALL);
}

void
bridge_invalidate (struct bridge *bridge, const struct invalidation *gone)
{
    struct search search = { bridge, gone->inode, !gone->inode };

    if (!__atomic_load_n (&bridge->terms.session_up, __ATOMIC_ACQUIRE))
        return;
    if (gone->inode)
        forget_inode (bridge, gone->inode, gone->what);
    if (gone->inode && gone->what & INVALIDATE_NAMES && gone->name)
        forget_name (bridge, gone->inode, gone->name);
    else if (!gone->inode || gone->what & INVALIDATE_NAMES)
        itable_foreach (bridge->itable, forget_known, &search);
}
