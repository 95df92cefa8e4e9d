/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Heals the names in a directory. What the source has is made on the sinks, with marks that say
 * that data and attributes are missing, and what it has not is removed there. If every copy is
 * accused, none is believed that lacks a name: nothing is removed. A directory that a sink has
 * under another name is renamed there (heal-moved.c). Objects that were made are healed next.
 */
#include "heal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define READ_SIZE 65536

struct entries_heal {
    struct heal *heal;
    inode_t *directory;
    struct direction direction;
    bool merge;       /* split brain: keep what any copy has */
    copies_t unhealed;
    unsigned made, removed;
};

/* One name on all copies. */
struct entry {
    const char *name;
    copies_t found;
    struct iatt iatts[COPIES_MAX];
    inode_t *inode; /* new, with a reference: for lookups */
};

static bool
entry_differs (const struct entry *entry, unsigned a, unsigned b)
{
    return !gfid_equal (&entry->iatts[a].ia_gfid, &entry->iatts[b].ia_gfid)
        || entry->iatts[a].ia_type != entry->iatts[b].ia_type;
}

static loc_t
entry_loc (const struct entries_heal *entries, const struct entry *entry)
{
    return (loc_t){ .name = entry->name, .parent = entries->directory, .inode = entry->inode };
}

static void
entry_failed (struct entries_heal *entries, const struct entry *entry, unsigned child,
              const char *what, int error)
{
    const replicate_t *priv = entries->heal->this->private;
    g_autofree char *path = inode_path (entries->directory, entry->name);

    entries->unhealed |= COPY (child);
    heal_tell (entries->heal, "%s: can't be %s on %s: %s", path, what, priv->names[child],
               g_strerror (-error));
}

/* --- removing --------------------------------------------------------------------------------- */

static int remove_tree (struct heal *heal, unsigned child, inode_t *parent, const char *name,
                        inode_t *inode, bool directory);

static int
remove_entry (struct heal *heal, unsigned child, inode_t *directory, const gf_dirent_t *entry)
{
    g_autoptr (inode_t) inode = entry->inode && entry->d_stat.ia_type != IA_INVAL
                                    ? inode_link (entry->inode, NULL, NULL, &entry->d_stat)
                                    : NULL;

    return remove_tree (heal, child, directory, entry->d_name, inode,
                        entry->d_stat.ia_type == IA_IFDIR);
}

/* Removes what is in a directory of one copy. */
static int
remove_names (struct heal *heal, unsigned child, inode_t *directory)
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
            if (strcmp (at->d_name, ".") != 0 && strcmp (at->d_name, "..") != 0)
                r = remove_entry (heal, child, directory, at);
        }
        readdirp_reply_drop (&reply);
    }
    loc_wipe_path (&loc);
    fd_unref (fd);
    return r;
}

static int
remove_tree (struct heal *heal, unsigned child, inode_t *parent, const char *name, inode_t *inode,
             bool directory)
{
    loc_t loc = { .name = name, .parent = parent, .inode = inode };
    int r;

    if (directory && inode) {
        r = remove_names (heal, child, inode);
        if (r >= 0)
            r = sync_rmdir (heal->children[child], &loc, 0, NULL, NULL);
    } else {
        r = sync_unlink (heal->children[child], &loc, 0, NULL, NULL);
    }
    loc_wipe_path (&loc);
    return r;
}

/* Returns the inode of a copy's object, which may be one that no other copy has. */
static int
entry_remove (struct entries_heal *entries, struct entry *entry, unsigned child)
{
    struct lookup_reply reply = { 0 };
    inode_t *fresh = inode_new (entries->directory->table);
    loc_t loc = { .name = entry->name, .parent = entries->directory, .inode = fresh };
    int r = sync_lookup (entries->heal->children[child], &loc, NULL, &reply);
    inode_t *inode = NULL;

    if (r >= 0) {
        inode = inode_link (reply.inode, NULL, NULL, &reply.buf);
        r = remove_tree (entries->heal, child, entries->directory, entry->name, inode,
                         reply.buf.ia_type == IA_IFDIR);
    }
    if (r >= 0)
        entries->removed++;
    else
        entry_failed (entries, entry, child, "removed", r);
    lookup_reply_drop (&reply);
    inode_unref (inode);
    inode_unref (fresh);
    loc_wipe_path (&loc);
    return r;
}

/* --- making ----------------------------------------------------------------------------------- */

static bool
copy_knows (struct heal *heal, unsigned child, inode_t *inode)
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
    if (copy_knows (heal, child, inode)) {
        r = sync_link (heal->children[child], &from, loc, NULL, NULL);
        loc_wipe_path (&from);
        return r;
    }
    if (iatt->ia_type == IA_IFLNK)
        return symlink_make (heal, source, child, inode, loc, xdata);
    return sync_mknod (heal->children[child], loc, mode_of_iatt (iatt), iatt->ia_rdev, 0, xdata,
                       NULL);
}

/* All good copies say what the new object lacks. The marks come first: if the healer dies now, the
 * empty object is known to be no good. */
static int
mark_missing (struct heal *heal, copies_t sources, unsigned child, inode_t *inode)
{
    const replicate_t *priv = heal->this->private;
    const ia_type_t type = inode->ia_type;
    const struct counter mark = { { type == IA_IFREG || type == IA_IFDIR, 1, type == IA_IFDIR } };
    g_autoptr (dict_t) marks = dict_new ();
    loc_t loc = { .inode = inode };
    int r = 0;

    counter_set (marks, priv->pending[child], &mark);
    for (unsigned i = 0; r >= 0 && i < priv->n; i++)
        if (sources & COPY (i))
            r = sync_xattrop (heal->children[i], &loc, XATTROP_ADD_ARRAY, marks, NULL, NULL);
    loc_wipe_path (&loc);
    return r;
}

static void
queue_object (struct heal *heal, inode_t *inode)
{
    if (!g_queue_find (&heal->objects, inode))
        g_queue_push_tail (&heal->objects, inode_ref (inode));
}

/* Returns the good copies that have the same object as one of them. */
static copies_t
entry_sources (const struct entries_heal *entries, const struct entry *entry, unsigned source)
{
    const replicate_t *priv = entries->heal->this->private;
    copies_t same = 0;

    for (unsigned i = 0; i < priv->n; i++)
        if (entry->found & COPY (i) && !entry_differs (entry, source, i)
            && (entries->merge || entries->direction.sources & COPY (i)))
            same |= COPY (i);
    return same;
}

static void
entry_make (struct entries_heal *entries, struct entry *entry, unsigned source, unsigned child)
{
    const struct iatt *iatt = &entry->iatts[source];
    struct heal *heal = entries->heal;
    inode_t *fresh = inode_new (entries->directory->table);
    inode_t *inode = inode_link (fresh, NULL, NULL, iatt);
    loc_t loc = { .name = entry->name, .parent = entries->directory, .inode = inode };
    const bool directory = iatt->ia_type == IA_IFDIR, known = copy_knows (heal, child, inode);
    const copies_t sources = entry_sources (entries, entry, source);
    int r = known && directory ? heal_move (heal, child, inode, &loc) : 0;
    const bool moved = r > 0;

    if (r >= 0 && !moved && (directory || !known))
        r = mark_missing (heal, sources, child, inode);
    if (r >= 0 && !moved)
        r = object_make (heal, source, child, inode, iatt, &loc);
    if (r >= 0) {
        entries->made++;
        queue_object (heal, inode);
    } else {
        entry_failed (entries, entry, child, "made", r);
    }
    loc_wipe_path (&loc);
    inode_unref (inode);
    inode_unref (fresh);
}

/* --- one name --------------------------------------------------------------------------------- */

/* A brick that is killed while it makes an object can leave a name without a gfid: each lookup
 * fails with ENODATA, until one brings a gfid. On a copy that is to be healed any gfid will do,
 * since the name is then removed as that of another object. */
static int
copy_look (struct entries_heal *entries, loc_t *loc, unsigned child, struct lookup_reply *reply)
{
    struct client *client = entries->heal->children[child];
    replicate_t *priv = entries->heal->this->private;
    int r = sync_lookup (client, loc, NULL, reply);
    g_autoptr (dict_t) xdata = NULL;
    gfid_t gfid;

    if (r != -ENODATA || (!entries->merge && !(entries->direction.sinks & COPY (child))))
        return r;
    lookup_reply_drop (reply);
    gfid = gfid_new (priv);
    xdata = dict_new ();
    dict_set (xdata, NEW_GFID_KEY, gfid.b, sizeof gfid.b);
    return sync_lookup (client, loc, xdata, reply);
}

static void
entry_look (struct entries_heal *entries, struct entry *entry)
{
    const replicate_t *priv = entries->heal->this->private;
    loc_t loc = entry_loc (entries, entry);

    for (unsigned i = 0; i < priv->n; i++) {
        struct lookup_reply reply = { 0 };
        int r;

        if (!(entries->heal->there & COPY (i)))
            continue;
        r = copy_look (entries, &loc, i, &reply);

        if (r >= 0) {
            entry->found |= COPY (i);
            entry->iatts[i] = reply.buf;
        } else if (r != -ENOENT) {
            entry_failed (entries, entry, i, "looked up", r);
        }
        lookup_reply_drop (&reply);
    }
    loc_wipe_path (&loc);
}

static void
entry_heal_copy (struct entries_heal *entries, struct entry *entry, int source, unsigned child)
{
    const bool found = entry->found & COPY (child);

    if (source < 0) {
        if (found && !entries->merge)
            entry_remove (entries, entry, child);
        return;
    }
    if (found && !entry_differs (entry, (unsigned) source, child))
        return;
    if (found && entries->merge) {
        entry_failed (entries, entry, child, "merged: it is another object there than on others",
                      -EIO);
        return;
    }
    if (!found || entry_remove (entries, entry, child) >= 0)
        entry_make (entries, entry, (unsigned) source, child);
}

/* Looks at the copies of the directory. Returns 1: there is something to heal. */
static int
directory_look (struct entries_heal *entries)
{
    const replicate_t *priv = entries->heal->this->private;
    const int r = heal_look (entries->heal, entries->directory);

    if (r < 0)
        return r;
    entries->direction = copies_direction (entries->heal->copies, priv->n, COUNTER_ENTRY,
                                           priv->arbiter);
    entries->merge = entries->direction.split_brain;
    for (unsigned i = 0; i < priv->n && !entries->direction.sinks; i++)
        entries->merge |= entries->heal->copies[i].dirty.count[COUNTER_ENTRY] != 0;
    return entries->direction.sinks || entries->merge;
}

static bool
entry_is_whole (const struct entries_heal *entries, const struct entry *entry)
{
    const replicate_t *priv = entries->heal->this->private;
    const int first = copies_first (entry->found);

    if (first < 0)
        return true;
    for (unsigned i = 0; i < priv->n; i++)
        if (entries->heal->there & COPY (i)
            && (!(entry->found & COPY (i)) || entry_differs (entry, (unsigned) first, i)))
            return false;
    return true;
}

/* The marks are read again, under the lock of the name: a copy that was good when the heal began
 * may have missed a change since. */
static int
entry_heal_locked (struct entries_heal *entries, struct entry *entry)
{
    const replicate_t *priv = entries->heal->this->private;
    copies_t sources;
    int source, r;

    entry_look (entries, entry);
    if (entry_is_whole (entries, entry))
        return 0;
    r = directory_look (entries);
    if (r <= 0)
        return r;
    sources = entries->merge ? entries->heal->there : entries->direction.sources;
    source = copies_first (entry->found & sources);
    for (unsigned i = 0; i < priv->n; i++)
        if ((int) i != source && entries->heal->there & COPY (i)
            && (entries->merge || entries->direction.sinks & COPY (i))
            && !(entries->unhealed & COPY (i)))
            entry_heal_copy (entries, entry, source, i);
    return 0;
}

static int
entry_heal (struct entries_heal *entries, const char *name)
{
    struct entry entry = { .name = name, .inode = inode_new (entries->directory->table) };
    struct heal_lock lock = { .inode = entries->directory, .entry = true, .name = name };
    int r = heal_lock (entries->heal, &lock, true);

    if (r >= 0) {
        r = entry_heal_locked (entries, &entry);
        heal_unlock (entries->heal, &lock);
    }
    inode_unref (entry.inode);
    return r;
}

/* --- the directory ---------------------------------------------------------------------------- */

/* Adds the names that a copy has. */
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
            if (strcmp (at->d_name, ".") != 0 && strcmp (at->d_name, "..") != 0)
                g_hash_table_add (names, g_strdup (at->d_name));
        }
        readdir_reply_drop (&reply);
    }
    loc_wipe_path (&loc);
    fd_unref (fd);
    return r;
}

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
        if (heal_must_stop (entries->heal))
            return -EINTR;
        if (!name_is_of_brick (entries->directory, name))
            r = entry_heal (entries, name);
    }
    return r;
}

/* No change is under way while the copies are looked at. 1: there is something to heal. */
static int
entries_prepare (struct entries_heal *entries)
{
    struct heal_lock lock = { .inode = entries->directory, .entry = true };
    int r = heal_lock (entries->heal, &lock, true);

    if (r < 0)
        return r;
    r = directory_look (entries);
    heal_unlock (entries->heal, &lock);
    return r;
}

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
