/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Drops cached state in the kernel, when XLATOR_INVALIDATE has come up through the graph. */
#include "core/edge/sync.h"
#include "fuse/kernel-cache.h"
#include "fuse/notices.h"

#define PATIENCE (30LL * 1000000000) /* nanoseconds for a look-up */
#define ENTRY_TIMEOUT_SHORT 1        /* seconds; the default entry-timeout */

struct search {
    struct bridge *bridge;
    xlator_t *entrance; /* the bridge as the parent of the graph that has the names */
    struct client *client; /* looks up names; NULL: no name needed it yet */
    bool hangs;            /* a look-up had no answer in time: no more names are looked up */
};

/* An answer that tells the kernel of an inode counts before it is sent. */
static bool
kernel_knows (const inode_t *inode)
{
    return gfid_equal (&inode->gfid, &gfid_root)
        || __atomic_load_n (&inode->nlookup, __ATOMIC_RELAXED) > 0;
}

/* If the kernel has forgotten the inode, it returns an error, which is ignored. */
static void
forget_inode (struct bridge *bridge, inode_t *inode, unsigned what)
{
    /* a listing in the kernel's cache counts as data */
    if (what & (INVALIDATE_DATA | INVALIDATE_NAMES))
        notice_data (bridge, inode);
    else if (what & INVALIDATE_ALL)
        fuse_lowlevel_notify_inval_inode (bridge->session, inode_nodeid (inode), -1, 0);
}

/* Names on a kernel that can only be told that a name is gone. */

static struct client *
search_client (struct search *search)
{
    if (!search->client) {
        search->client = client_new_internal (search->entrance,
                                              FIRST_CHILD (search->entrance));
        search->client->patience = PATIENCE;
    }
    return search->client;
}

/* Returns whether the name stands for another inode than the one that the kernel was told of. If
 * that cannot be found out, it is taken to be the same. */
static bool
name_has_changed (struct search *search, inode_t *parent, const char *name, const inode_t *known)
{
    loc_t loc = { .parent = parent, .name = name, .inode = inode_new (parent->table) };
    struct lookup_reply reply = { 0 };
    const int r = sync_lookup (search_client (search), &loc, NULL, &reply);
    const bool changed = r < 0 ? r == -ENOENT || r == -ESTALE
                               : !gfid_equal (&reply.buf.ia_gfid, &known->gfid);

    search->hangs = r == -ETIMEDOUT;
    lookup_reply_drop (&reply);
    inode_unref (loc.inode);
    loc_wipe_path (&loc);
    return changed;
}

/* An unknown name may be one of which the kernel was told that it does not exist: nothing can be
 * mounted there. */
static void
drop_changed_name (struct search *search, inode_t *parent, const char *name)
{
    g_autoptr (inode_t) known = inode_grep (parent, name);

    if (!known || name_has_changed (search, parent, name, known))
        notice_name (search->bridge, parent, name, false);
}

/*
 * A name that may have changed expires: the kernel looks it up again at its next use. If it still
 * stands for the same inode, all that is mounted there, and the working directories below, stay. An
 * invalidation would unmount them (d_invalidate), as would FUSE_NOTIFY_DELETE.
 *
 * Before Linux 6.2 a name cannot expire. The bridge then looks up a name that storage named, and
 * invalidates it only if it changed. If any name of a directory may have changed, names that the
 * kernel looks up again within a second anyway are left to that.
 */
static void
expire_name (struct search *search, inode_t *parent, const char *name, bool named)
{
    struct bridge *bridge = search->bridge;

    if (bridge->terms.expires && notice_name (bridge, parent, name, true) != -ENOSYS)
        return;
    if (named || bridge->settings.entry_timeout > ENTRY_TIMEOUT_SHORT)
        drop_changed_name (search, parent, name);
}

static void
expire_known_name (inode_t *parent, const char *name, void *data)
{
    struct search *search = data;

    if (!search->hangs)
        expire_name (search, parent, name, false);
}

static void
forget_known (inode_t *inode, void *data)
{
    const struct search *search = data;

    inode_each_name (inode, expire_known_name, data);
    forget_inode (search->bridge, inode, INVALIDATE_ALL);
}

void
bridge_invalidate (xlator_t *entrance, const struct invalidation *gone)
{
    struct bridge *bridge = entrance->private;
    struct search search = { .bridge = bridge, .entrance = entrance };

    if (!__atomic_load_n (&bridge->terms.session_up, __ATOMIC_ACQUIRE))
        return;
    if (gone->inode && !kernel_knows (gone->inode))
        return;
    if (gone->inode)
        forget_inode (bridge, gone->inode, gone->what);
    if (!gone->inode)
        itable_foreach (bridge->itable, forget_known, &search);
    else if (gone->what & INVALIDATE_NAMES && gone->name)
        expire_name (&search, gone->inode, gone->name, true);
    else if (gone->what & INVALIDATE_NAMES)
        inode_each_child (gone->inode, expire_known_name, &search);
    if (search.client)
        client_free (search.client);
}
