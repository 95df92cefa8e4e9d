/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Heals the names in a directory. A name that the source has is made on the sinks, as an empty
 * object with pending counters against it; the object is healed next. A name that the source
 * doesn't have is removed from the sinks. If every copy is accused, or copies are dirty and none is
 * accused, the directory is merged: a name that any copy has is made on the others, and no name is
 * removed. If a sink has a directory under another name, the healer renames it (heal-moved.c).
 */
#include "heal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define READ_SIZE 65536 /* bytes to ask a brick for in one readdir */

struct entries_heal {
    struct heal *heal;
    inode_t *directory;
    struct heal_direction direction;
    bool merge;        /* whether to merge: names are made on all copies, and none is removed */
    copies_t unhealed; /* copies on which a name could not be healed */
    unsigned made, removed; /* numbers of names that the heal has made and removed */
};

/* A name in the directory, and the object that each copy has under it. */
struct healed_name {
    const char *name;
    copies_t found; /* copies that have the name */
    struct iatt iatts[COPIES_MAX]; /* attributes of the object, by copy in `found` */
    inode_t *inode; /* empty inode to pass to lookups of the name, with a reference */
};

static bool
name_differs (const struct healed_name *entry, unsigned a, unsigned b)
{
    return !gfid_equal (&entry->iatts[a].ia_gfid, &entry->iatts[b].ia_gfid)
        || entry->iatts[a].ia_type != entry->iatts[b].ia_type;
}

static loc_t
name_loc (const struct entries_heal *entries, const struct healed_name *entry)
{
    return (loc_t){ .name = entry->name, .parent = entries->directory, .inode = entry->inode };
}

static void
name_failed (struct entries_heal *entries, const struct healed_name *entry, unsigned child,
              const char *what, int error)
{
    const replicate_t *priv = entries->heal->this->private;
    g_autofree char *path = inode_path (entries->directory, entry->name);

    entries->unhealed |= COPY (child);
    heal_tell (entries->heal, "%s: can't be %s on %s: %s", path, what, priv->names[child],
               g_strerror (-error));
}

/* --- removing --------------------------------------------------------------------------------- */

static int tree_remove (struct heal *heal, unsigned child, inode_t *parent, const char *name,
                        inode_t *inode, bool directory);

static int
tree_remove_entry (struct heal *heal, unsigned child, inode_t *directory, const gf_dirent_t *entry)
{
    g_autoptr (inode_t) inode = entry->inode && entry->d_stat.ia_type != IA_INVAL
                                    ? inode_link (entry->inode, NULL, NULL, &entry->d_stat)
                                    : NULL;

    return tree_remove (heal, child, directory, entry->d_name, inode,
                        entry->d_stat.ia_type == IA_IFDIR);
}

/* Removes all names in a directory of one copy. */
static int
tree_remove_names (struct heal *heal, unsigned child, inode_t *directory)
{
    fd_t *fd = fd_new (heal->this->fd_maker, directory, O_DIRECTORY, 0);
    loc_t loc = { .inode = directory };
    off_t offset = 0;
    int r = sync_opendir (heal->children[child], &loc, fd, NULL, NULL), n = 1;

    while (r >= 0 && n > 0) {
        struct readdirp_reply reply = { 0 };

        n = r = sync_readdirp (heal->children[child], fd, READ_SIZE, offset, NULL, &reply);
        for (gf_dirent_t *at = n > 0 ? reply.entries : NULL; at && r >= 0; at = at->next) {
            offset = at->d_off;
            if (!name_is_dots (at->d_name))
                r = tree_remove_entry (heal, child, directory, at);
        }
        readdirp_reply_drop (&reply);
    }
    loc_wipe_path (&loc);
    fd_unref (fd);
    return r;
}

/* Removes a name on one copy. If it is a directory, first removes all names below it. */
static int
tree_remove (struct heal *heal, unsigned child, inode_t *parent, const char *name, inode_t *inode,
             bool directory)
{
    loc_t loc = { .name = name, .parent = parent, .inode = inode };
    int r;

    if (directory && inode) {
        r = tree_remove_names (heal, child, inode);
        if (r >= 0)
            r = sync_rmdir (heal->children[child], &loc, 0, NULL, NULL);
    } else {
        r = sync_unlink (heal->children[child], &loc, 0, NULL, NULL);
    }
    loc_wipe_path (&loc);
    return r;
}

/* Removes the name on one copy. Looks the name up on that copy first, since it may have another
 * object under the name than the others have. */
static int
name_remove_copy (struct entries_heal *entries, struct healed_name *entry, unsigned child)
{
    struct lookup_reply reply = { 0 };
    inode_t *fresh = inode_new (entries->directory->table);
    loc_t loc = { .name = entry->name, .parent = entries->directory, .inode = fresh };
    int r = sync_lookup (entries->heal->children[child], &loc, NULL, &reply);
    inode_t *inode = NULL;

    if (r >= 0) {
        inode = inode_link (reply.inode, NULL, NULL, &reply.buf);
        r = tree_remove (entries->heal, child, entries->directory, entry->name, inode,
                         reply.buf.ia_type == IA_IFDIR);
    }
    if (r >= 0)
        entries->removed++;
    else
        name_failed (entries, entry, child, "removed", r);
    lookup_reply_drop (&reply);
    inode_unref (inode);
    inode_unref (fresh);
    loc_wipe_path (&loc);
    return r;
}

/* --- making ----------------------------------------------------------------------------------- */

/* Returns whether a copy has the object of an inode, under any name. */
static bool
copy_has_object (struct heal *heal, unsigned child, inode_t *inode)
{
    loc_t loc = { .inode = inode };
    const int r = sync_lookup (heal->children[child], &loc, NULL, NULL);

    loc_wipe_path (&loc);
    return r >= 0;
}

static int
symlink_make (struct heal *heal, unsigned source, unsigned child, inode_t *inode, loc_t *loc,
              dict_t *xdata)
{
    struct readlink_reply reply = { 0 };
    loc_t from = { .inode = inode };
    int r = sync_readlink (heal->children[source], &from, 4096, NULL, &reply);

    if (r >= 0)
        r = sync_symlink (heal->children[child], reply.path, loc, 0, xdata, NULL);
    readlink_reply_drop (&reply);
    loc_wipe_path (&from);
    return r;
}

static int
object_make (struct heal *heal, unsigned source, unsigned child, inode_t *inode,
             const struct iatt *iatt, loc_t *loc)
{
    g_autoptr (dict_t) xdata = dict_new ();
    loc_t from = { .inode = inode };
    int r;

    dict_set (xdata, NEW_GFID_KEY, iatt->ia_gfid.b, sizeof iatt->ia_gfid.b);
    if (iatt->ia_type == IA_IFDIR)
        return sync_mkdir (heal->children[child], loc, iatt->ia_prot, 0, xdata, NULL);
    if (copy_has_object (heal, child, inode)) {
        r = sync_link (heal->children[child], &from, loc, NULL, NULL);
        loc_wipe_path (&from);
        return r;
    }
    if (iatt->ia_type == IA_IFLNK)
        return symlink_make (heal, source, child, inode, loc, xdata);
    return sync_mknod (heal->children[child], loc, mode_of_iatt (iatt), iatt->ia_rdev, 0, xdata,
                       NULL);
}

/* Raises, on the sources, the pending counters of an object against `child`, the sink on which it
 * will be made without its content. They are raised before the object is made, so that no client
 * reads the empty object if the healer dies before it is healed. */
static int
accuse_new_object (struct heal *heal, copies_t sources, unsigned child, inode_t *inode)
{
    const replicate_t *priv = heal->this->private;
    const ia_type_t type = inode->ia_type;
    const struct counter missing = { { type == IA_IFREG || type == IA_IFDIR, 1,
                                       type == IA_IFDIR } };
    g_autoptr (dict_t) counters = dict_new ();
    loc_t loc = { .inode = inode };
    int r = 0;

    counter_set (counters, priv->pending[child], &missing);
    for (unsigned i = 0; r >= 0 && i < priv->n; i++)
        if (sources & COPY (i))
            r = sync_xattrop (heal->children[i], &loc, XATTROP_ADD_ARRAY, counters, NULL, NULL);
    loc_wipe_path (&loc);
    return r;
}

static void
queue_object (struct heal *heal, inode_t *inode)
{
    if (!g_queue_find (&heal->objects, inode))
        g_queue_push_tail (&heal->objects, inode_ref (inode));
}

/* Returns the good copies that have the same object under the name as copy `source`. */
static copies_t
name_sources (const struct entries_heal *entries, const struct healed_name *entry, unsigned source)
{
    const replicate_t *priv = entries->heal->this->private;
    copies_t same = 0;

    for (unsigned i = 0; i < priv->n; i++)
        if (entry->found & COPY (i) && !name_differs (entry, source, i)
            && (entries->merge || entries->direction.sources & COPY (i)))
            same |= COPY (i);
    return same;
}

/* Makes the name on copy `child`, for the object that copy `source` has under it, and queues that
 * object for its own heal. */
static void
name_make_copy (struct entries_heal *entries, struct healed_name *entry, unsigned source,
                unsigned child)
{
    const struct iatt *iatt = &entry->iatts[source];
    struct heal *heal = entries->heal;
    inode_t *fresh = inode_new (entries->directory->table);
    inode_t *inode = inode_link (fresh, NULL, NULL, iatt);
    loc_t loc = { .name = entry->name, .parent = entries->directory, .inode = inode };
    const bool directory = iatt->ia_type == IA_IFDIR;
    const bool exists = copy_has_object (heal, child, inode);
    const copies_t sources = name_sources (entries, entry, source);
    int r = exists && directory ? heal_move (heal, child, inode, &loc) : 0;
    const bool moved = r > 0;

    if (r >= 0 && !moved && (directory || !exists))
        r = accuse_new_object (heal, sources, child, inode);
    if (r >= 0 && !moved)
        r = object_make (heal, source, child, inode, iatt, &loc);
    if (r >= 0) {
        entries->made++;
        queue_object (heal, inode);
    } else {
        name_failed (entries, entry, child, "made", r);
    }
    loc_wipe_path (&loc);
    inode_unref (inode);
    inode_unref (fresh);
}

/* --- one name --------------------------------------------------------------------------------- */

/* Looks the name up on one copy. A brick that is killed while it makes an object can leave an
 * object without a gfid. Each lookup of it fails with ENODATA, until a lookup sends a gfid that the
 * brick gives to the object. On a sink the healer sends a new gfid: the object is then another one
 * than the source's, so the healer removes it. */
static int
name_look_copy (struct entries_heal *entries, loc_t *loc, unsigned child,
                struct lookup_reply *reply)
{
    struct client *client = entries->heal->children[child];
    replicate_t *priv = entries->heal->this->private;
    int r = sync_lookup (client, loc, NULL, reply);
    g_autoptr (dict_t) xdata = NULL;
    gfid_t gfid;

    if (r != -ENODATA || (!entries->merge && !(entries->direction.sinks & COPY (child))))
        return r;
    lookup_reply_drop (reply);
    gfid = random_gfid (&priv->random);
    xdata = dict_new ();
    dict_set (xdata, NEW_GFID_KEY, gfid.b, sizeof gfid.b);
    return sync_lookup (client, loc, xdata, reply);
}

/* Looks the name up on all copies that take part. Stores the results in *entry. */
static void
name_look (struct entries_heal *entries, struct healed_name *entry)
{
    const replicate_t *priv = entries->heal->this->private;
    loc_t loc = name_loc (entries, entry);

    for (unsigned i = 0; i < priv->n; i++) {
        struct lookup_reply reply = { 0 };
        int r;

        if (!(entries->heal->there & COPY (i)))
            continue;
        r = name_look_copy (entries, &loc, i, &reply);
        if (r >= 0) {
            entry->found |= COPY (i);
            entry->iatts[i] = reply.buf;
        } else if (r != -ENOENT) {
            name_failed (entries, entry, i, "looked up", r);
        }
        lookup_reply_drop (&reply);
    }
    loc_wipe_path (&loc);
}

/* Heals the name on copy `child`. source: number of a good copy with the name; -1: no good copy has
 * it, so it is removed. */
static void
name_heal_copy (struct entries_heal *entries, struct healed_name *entry, int source, unsigned child)
{
    const bool found = entry->found & COPY (child);

    if (source < 0) {
        if (found && !entries->merge)
            name_remove_copy (entries, entry, child);
        return;
    }
    if (found && !name_differs (entry, (unsigned) source, child))
        return;
    if (found && entries->merge) {
        name_failed (entries, entry, child, "merged: it is another object there than on others",
                     -EIO);
        return;
    }
    if (!found || name_remove_copy (entries, entry, child) >= 0)
        name_make_copy (entries, entry, (unsigned) source, child);
}

/* Reads the counters of the directory. Decides which copies are sources and which are sinks, and
 * whether to merge. Returns 1; 0 if there is nothing to heal; or a negative errno. */
static int
entries_direct (struct entries_heal *entries)
{
    const replicate_t *priv = entries->heal->this->private;
    const int r = heal_refresh (entries->heal, entries->directory);

    if (r < 0)
        return r;
    entries->direction = copies_direction (entries->heal->copies, priv->n, COUNTER_ENTRY,
                                           priv->arbiter);
    entries->merge = entries->direction.split_brain;
    for (unsigned i = 0; i < priv->n && !entries->direction.sinks; i++)
        entries->merge |= entries->heal->copies[i].dirty.count[COUNTER_ENTRY] != 0;
    return entries->direction.sinks || entries->merge;
}

/* Returns whether all copies have the same object under the name, or none has one. */
static bool
name_is_healed (const struct entries_heal *entries, const struct healed_name *entry)
{
    const replicate_t *priv = entries->heal->this->private;
    const int first = copies_first (entry->found);

    if (first < 0)
        return true;
    for (unsigned i = 0; i < priv->n; i++)
        if (entries->heal->there & COPY (i)
            && (!(entry->found & COPY (i)) || name_differs (entry, (unsigned) first, i)))
            return false;
    return true;
}

/* Heals one name on all copies. The caller holds the lock of the name. The counters of the
 * directory are read again for each name, since a copy that was good when the heal began may have
 * missed a change since then. */
static int
name_heal_locked (struct entries_heal *entries, struct healed_name *entry)
{
    const replicate_t *priv = entries->heal->this->private;
    copies_t sources;
    int source, r;

    name_look (entries, entry);
    if (name_is_healed (entries, entry))
        return 0;
    r = entries_direct (entries);
    if (r <= 0)
        return r;
    sources = entries->merge ? entries->heal->there : entries->direction.sources;
    source = copies_first (entry->found & sources);
    for (unsigned i = 0; i < priv->n; i++)
        if ((int) i != source && entries->heal->there & COPY (i)
            && (entries->merge || entries->direction.sinks & COPY (i))
            && !(entries->unhealed & COPY (i)))
            name_heal_copy (entries, entry, source, i);
    return 0;
}

static int
name_heal (struct entries_heal *entries, const char *name)
{
    struct healed_name entry = { .name = name, .inode = inode_new (entries->directory->table) };
    struct heal_lock lock = { .inode = entries->directory, .entry = true, .name = name };
    int r = heal_lock (entries->heal, &lock, true);

    if (r >= 0) {
        r = name_heal_locked (entries, &entry);
        heal_unlock (entries->heal, &lock);
    }
    inode_unref (entry.inode);
    return r;
}

/* --- the directory ---------------------------------------------------------------------------- */

/* Adds to the set `names` all names in one copy's directory. */
static int
names_read (struct entries_heal *entries, unsigned child, GHashTable *names)
{
    struct heal *heal = entries->heal;
    fd_t *fd = fd_new (heal->this->fd_maker, entries->directory, O_DIRECTORY, 0);
    loc_t loc = { .inode = entries->directory };
    off_t offset = 0;
    int r = sync_opendir (heal->children[child], &loc, fd, NULL, NULL), n = 1;

    while (r >= 0 && n > 0) {
        struct readdir_reply reply = { 0 };

        n = r = sync_readdir (heal->children[child], fd, READ_SIZE, offset, NULL, &reply);
        for (gf_dirent_t *at = n > 0 ? reply.entries : NULL; at; at = at->next) {
            offset = at->d_off;
            if (!name_is_dots (at->d_name))
                g_hash_table_add (names, g_strdup (at->d_name));
        }
        readdir_reply_drop (&reply);
    }
    loc_wipe_path (&loc);
    fd_unref (fd);
    return r;
}

/* Heals each name that at least one copy has in the directory. */
static int
names_heal (struct entries_heal *entries)
{
    const replicate_t *priv = entries->heal->this->private;
    g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
    GHashTableIter at;
    gpointer name;
    int r = 0;

    for (unsigned i = 0; r >= 0 && i < priv->n; i++)
        if (entries->heal->there & COPY (i))
            r = names_read (entries, i, names);
    if (r < 0)
        return r;
    g_hash_table_iter_init (&at, names);
    while (r >= 0 && g_hash_table_iter_next (&at, &name, NULL)) {
        if (!job_next (entries->heal->job))
            return -EINTR;
        if (!replicate_hides (entries->heal->this, entries->directory, name))
            r = name_heal (entries, name);
    }
    return r;
}

/* Calls entries_direct under a lock on the whole directory, so that no change of a name is under
 * way while the counters are read. */
static int
entries_prepare (struct entries_heal *entries)
{
    struct heal_lock lock = { .inode = entries->directory, .entry = true };
    int r = heal_lock (entries->heal, &lock, true);

    if (r < 0)
        return r;
    r = entries_direct (entries);
    heal_unlock (entries->heal, &lock);
    return r;
}

/* Heals the names of a directory. The caller holds the lock that keeps other healers out. Returns
 * 1; 0 if there is nothing to heal; or a negative errno. */
static int
entries_heal_alone (struct entries_heal *entries)
{
    struct heal_lock lock = { .inode = entries->directory, .entry = true };
    struct copy copies[COPIES_MAX];
    int r = entries_prepare (entries);

    if (r <= 0)
        return r;
    memcpy (copies, entries->heal->copies, sizeof copies);
    r = names_heal (entries);
    if (r >= 0)
        r = heal_lock (entries->heal, &lock, true);
    if (r < 0)
        return r;
    memcpy (entries->heal->copies, copies, sizeof copies);
    r = heal_clear_counters (entries->heal, entries->directory, COUNTER_ENTRY, entries->unhealed);
    heal_unlock (entries->heal, &lock);
    return r < 0 ? r : entries->unhealed ? -EIO : 1;
}

int
heal_entries (struct heal *heal, inode_t *inode)
{
    struct heal_lock healers = { .inode = inode, .entry = true, .only_healers = true };
    struct entries_heal entries = { .heal = heal, .directory = inode };
    g_autofree char *path = inode_path (inode, NULL);
    int r = heal_lock (heal, &healers, false);

    if (r < 0) {
        heal_tell (heal, "%s: %s", path,
                   r == -EAGAIN ? "another client heals the entries" : g_strerror (-r));
        return r;
    }
    r = entries_heal_alone (&entries);
    heal_unlock (heal, &healers);
    if (r < 0 && r != -EIO)
        heal_tell (heal, "%s: entries not healed: %s", path, g_strerror (-r));
    else if (r > 0)
        heal_tell (heal, "%s: entries healed: %u made, %u removed", path, entries.made,
                   entries.removed);
    return r;
}
