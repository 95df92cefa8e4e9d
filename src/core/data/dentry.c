/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names: the inode that a name in a directory stands for, and the path up to the root. */
#include "core/data/itable.h"

#include <limits.h>
#include <string.h>

#define DEPTH_MAX 4096 /* longest path to build; deeper ones are cut */

uint64_t names_clock = 1, names_moved = 1;

/* Two threads may come here at a time: the later time stays. */
void
names_void (void)
{
    const uint64_t now = __atomic_add_fetch (&names_clock, 1, __ATOMIC_ACQ_REL);
    uint64_t moved = __atomic_load_n (&names_moved, __ATOMIC_RELAXED);

    while (moved < now
           && !__atomic_compare_exchange_n (&names_moved, &moved, now, false, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED))
        ;
}

/* To be called before the name changes, under the lock that a path is built under: a path that is
 * built after the clock was read has the change then, if the clock showed it. */
static void
inode_renamed_locked (inode_t *inode)
{
    __atomic_store_n (&inode->named, __atomic_add_fetch (&names_clock, 1, __ATOMIC_ACQ_REL),
                      __ATOMIC_RELEASE);
    if (inode->children)
        names_void ();
}

guint
dentry_hash (gconstpointer p)
{
    const struct dentry *dentry = p;

    return g_str_hash (dentry->name) ^ g_direct_hash (dentry->parent);
}

gboolean
dentry_same (gconstpointer a, gconstpointer b)
{
    const struct dentry *one = a, *other = b;

    return one->parent == other->parent && strcmp (one->name, other->name) == 0;
}

static struct dentry *
dentry_find_locked (inode_t *parent, const char *name)
{
    struct dentry key = { .parent = parent, .name = name };

    return g_hash_table_lookup (parent->table->by_name, &key);
}

void
dentry_drop_locked (struct dentry *dentry, GSList **gone)
{
    struct dentry **link = &dentry->inode->names;

    inode_renamed_locked (dentry->inode);
    dentry->inode->unnamed = dentry->inode->named;
    g_hash_table_remove (dentry->parent->table->by_name, dentry);
    *dentry->back = dentry->sibling;
    if (dentry->sibling)
        dentry->sibling->back = dentry->back;
    while (*link != dentry)
        link = &(*link)->next;
    *link = dentry->next;
    if (gone)
        inode_unref_locked (dentry->parent, gone);
    g_free (dentry);
}

/* Marks an inode that gets a name as unkept, if a graph has asked for that. */
static void
inode_mark_locked (inode_t *inode, inode_t *parent, const char *name)
{
    for (unsigned i = 0; i < ITABLE_GRAPHS; i++) {
        const struct itable_graph *graph = &parent->table->graphs[i];

        if (G_UNLIKELY (graph->unkept) && !graph->leaving
            && graph->unkept (parent, name, graph->data))
            inode_set_unkept (inode);
    }
}

static void
dentry_add_locked (inode_t *parent, const char *name, inode_t *inode)
{
    size_t size = strlen (name) + 1;
    struct dentry *dentry = g_malloc (sizeof *dentry + size);

    inode_renamed_locked (inode);
    dentry->name = memcpy (dentry + 1, name, size);
    dentry->inode = inode;
    dentry->parent = inode_ref_locked (parent);
    dentry->next = inode->names;
    inode->names = dentry;
    dentry->sibling = parent->children;
    dentry->back = &parent->children;
    if (dentry->sibling)
        dentry->sibling->back = &dentry->sibling;
    parent->children = dentry;
    g_hash_table_add (parent->table->by_name, dentry);
}

/* Removes a name. If the inode waited on the forgotten list only because of this name, it is
 * freed. */
static void
dentry_unset_locked (struct dentry *dentry, GSList **gone)
{
    inode_t *inode = inode_ref_locked (dentry->inode);

    dentry_drop_locked (dentry, gone);
    inode_unref_locked (inode, gone);
}

/* A graph that joined the table may ask for marks of names that were there already. */
void
dentry_set_locked (inode_t *parent, const char *name, inode_t *inode, GSList **gone)
{
    struct dentry *dentry = dentry_find_locked (parent, name);

    inode_mark_locked (inode, parent, name);
    if (dentry && dentry->inode == inode)
        return;
    if (dentry)
        dentry_unset_locked (dentry, gone);
    dentry_add_locked (parent, name, inode);
}

bool
dentry_is_late_locked (inode_t *parent, const char *name, const inode_t *inode, uint64_t asked)
{
    const struct dentry *dentry = dentry_find_locked (parent, name);

    if (dentry && dentry->inode == inode)
        return false;
    return (dentry && dentry->inode->named > asked) || (inode->names && inode->unnamed > asked);
}

/* only: the inode that the name has to stand for; NULL: any. since: names_now when the name was
 * last known to have gone. */
static void
name_remove (inode_t *parent, const char *name, const inode_t *only, uint64_t since)
{
    struct itable *table = parent->table;
    struct dentry *dentry;
    GSList *gone = NULL;

    pthread_mutex_lock (&table->lock);
    dentry = dentry_find_locked (parent, name);
    if (dentry && (!only || dentry->inode == only) && dentry->inode->named <= since)
        dentry_unset_locked (dentry, &gone);
    itable_unlock (table, gone);
}

void
inode_unlink (inode_t *parent, const char *name)
{
    name_remove (parent, name, NULL, UINT64_MAX);
}

void
inode_unlink_asked (inode_t *parent, const char *name, uint64_t asked)
{
    name_remove (parent, name, NULL, asked);
}

void
inode_unname (inode_t *inode, inode_t *parent, const char *name)
{
    name_remove (parent, name, inode, UINT64_MAX);
}

/* Removes a name. Returns the inode that it stood for, with a reference, or NULL. */
static inode_t *
dentry_take_locked (inode_t *parent, const char *name, GSList **gone)
{
    struct dentry *dentry = dentry_find_locked (parent, name);
    inode_t *inode = dentry ? inode_ref_locked (dentry->inode) : NULL;

    if (dentry)
        dentry_drop_locked (dentry, gone);
    return inode;
}

void
inode_rename (inode_t *oldparent, const char *oldname, inode_t *newparent, const char *newname,
              bool exchange)
{
    struct itable *table = oldparent->table;
    inode_t *moved, *replaced;
    GSList *gone = NULL;

    pthread_mutex_lock (&table->lock);
    inode_ref_locked (oldparent);
    inode_ref_locked (newparent);
    moved = dentry_take_locked (oldparent, oldname, &gone);
    replaced = dentry_take_locked (newparent, newname, &gone);
    if (moved)
        dentry_set_locked (newparent, newname, moved, &gone);
    if (exchange && replaced)
        dentry_set_locked (oldparent, oldname, replaced, &gone);
    if (moved)
        inode_unref_locked (moved, &gone);
    if (replaced)
        inode_unref_locked (replaced, &gone);
    inode_unref_locked (newparent, &gone);
    inode_unref_locked (oldparent, &gone);
    itable_unlock (table, gone);
}

inode_t *
inode_grep (inode_t *parent, const char *name)
{
    struct dentry *dentry;
    inode_t *inode;

    pthread_mutex_lock (&parent->table->lock);
    dentry = dentry_find_locked (parent, name);
    inode = dentry ? inode_ref_locked (dentry->inode) : NULL;
    pthread_mutex_unlock (&parent->table->lock);
    return inode;
}

bool
inode_a_name (inode_t *inode, inode_t **ret_parent, char **ret_name)
{
    const struct dentry *dentry;

    pthread_mutex_lock (&inode->table->lock);
    dentry = inode->names;
    if (dentry) {
        *ret_parent = inode_ref_locked (dentry->parent);
        *ret_name = g_strdup (dentry->name);
    }
    pthread_mutex_unlock (&inode->table->lock);
    return dentry != NULL;
}

bool
inode_only_name (inode_t *inode, inode_t **ret_parent, char *ret_name)
{
    const struct dentry *dentry;
    bool only;

    pthread_mutex_lock (&inode->table->lock);
    dentry = inode->names;
    only = dentry && !dentry->next && strlen (dentry->name) <= NAME_MAX;
    if (only) {
        *ret_parent = inode_ref_locked (dentry->parent);
        strcpy (ret_name, dentry->name);
    }
    pthread_mutex_unlock (&inode->table->lock);
    return only;
}

struct known_name {
    inode_t *parent;
    char *name;
};

static void
known_name_clear (void *data)
{
    struct known_name *known = data;

    inode_unref (known->parent);
    g_free (known->name);
}

static GArray *
known_names_new (void)
{
    GArray *names = g_array_new (FALSE, FALSE, sizeof (struct known_name));

    g_array_set_clear_func (names, known_name_clear);
    return names;
}

static void
known_names_add_locked (GArray *names, const struct dentry *dentry)
{
    const struct known_name known = { inode_ref_locked (dentry->parent), g_strdup (dentry->name) };

    g_array_append_val (names, known);
}

static void
known_names_tell (const GArray *names, known_name_fn *fn, void *data)
{
    for (guint i = 0; i < names->len; i++) {
        const struct known_name *known = &g_array_index (names, struct known_name, i);
        fn (known->parent, known->name, data);
    }
}

void
inode_each_name (inode_t *inode, known_name_fn *fn, void *data)
{
    g_autoptr (GArray) names = known_names_new ();

    pthread_mutex_lock (&inode->table->lock);
    for (const struct dentry *dentry = inode->names; dentry; dentry = dentry->next)
        known_names_add_locked (names, dentry);
    pthread_mutex_unlock (&inode->table->lock);
    known_names_tell (names, fn, data);
}

void
inode_each_child (inode_t *directory, known_name_fn *fn, void *data)
{
    g_autoptr (GArray) names = known_names_new ();

    pthread_mutex_lock (&directory->table->lock);
    for (const struct dentry *dentry = directory->children; dentry; dentry = dentry->sibling)
        known_names_add_locked (names, dentry);
    pthread_mutex_unlock (&directory->table->lock);
    known_names_tell (names, fn, data);
}

/* Builds a path from its end. */
struct backwards {
    char *begin, *at;
    bool full;
};

static void
write_before (struct backwards *to, const char *text, size_t n)
{
    const size_t room = to->at - to->begin;

    if (n > room) {
        text += n - room;
        n = room;
        to->full = true;
    }
    to->at -= n;
    memcpy (to->at, text, n);
}

static void
path_before_locked (const inode_t *inode, struct backwards *to)
{
    const inode_t *root = inode->table->root;
    char gfid[GFID_TEXT_SIZE];

    for (unsigned depth = 0; inode != root && !to->full; depth++) {
        const struct dentry *dentry = inode->names;

        if (!dentry || depth == DEPTH_MAX) {
            gfid_text (&inode->gfid, gfid);
            write_before (to, ">", 1);
            write_before (to, gfid, strlen (gfid));
            write_before (to, "<gfid:", strlen ("<gfid:"));
            return;
        }
        write_before (to, dentry->name, strlen (dentry->name));
        write_before (to, "/", 1);
        inode = dentry->parent;
    }
}

/* Returns room for what path_before_locked writes. */
static size_t
path_size_locked (const inode_t *inode)
{
    const inode_t *root = inode->table->root;
    size_t size = sizeof "<gfid:>" + GFID_TEXT_SIZE;

    for (unsigned depth = 0; inode != root && inode->names && depth < DEPTH_MAX; depth++) {
        size += strlen (inode->names->name) + 1;
        inode = inode->names->parent;
    }
    return size;
}

/* The lock is held for two walks to the root: the length of a path, which its user decides, counts
 * once. */
char *
inode_path (inode_t *inode, const char *name)
{
    const size_t named = name ? strlen (name) : 0;
    struct backwards to = { 0 };
    size_t size;

    pthread_mutex_lock (&inode->table->lock);
    size = path_size_locked (inode) + named + 2;
    to.begin = g_malloc (size);
    to.at = to.begin + size - 1;
    *to.at = '\0';
    if (name) {
        write_before (&to, name, named);
        write_before (&to, "/", 1);
    }
    path_before_locked (inode, &to);
    pthread_mutex_unlock (&inode->table->lock);
    if (!*to.at)
        write_before (&to, "/", 1);
    memmove (to.begin, to.at, strlen (to.at) + 1);
    return to.begin;
}

bool
inode_path_of_nodeid (struct itable *table, uint64_t nodeid, const char *name, bool may_wait,
                      char *ret_path, size_t size)
{
    struct backwards to = { ret_path, ret_path + size - 1, false };
    const inode_t *inode;

    *to.at = '\0';
    if (name) {
        write_before (&to, name, strlen (name));
        write_before (&to, "/", 1);
    }
    if (may_wait)
        pthread_mutex_lock (&table->lock);
    else if (pthread_mutex_trylock (&table->lock) != 0)
        return false;
    inode = inode_of_nodeid (table, nodeid);
    if (inode)
        path_before_locked (inode, &to);
    pthread_mutex_unlock (&table->lock);
    if (!*to.at)
        write_before (&to, "/", 1);
    memmove (ret_path, to.at, strlen (to.at) + 1);
    if (to.full && size > 4)
        memcpy (ret_path, "...", 3);
    return inode != NULL;
}
