/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lifetime of inodes. dentry.c has the names, inode-numbers.c the numbers, detached.c the walks
 * over all inodes. */
#include "core/base/audit.h"
#include "core/data/itable.h"

#include <string.h>

struct itable *
itable_new (unsigned keepers, size_t limit, void (*forget) (inode_t *inode, void *data), void *data)
{
    struct itable *table = g_new0 (struct itable, 1);

    pthread_mutex_init (&table->lock, NULL);
    table->by_gfid = g_hash_table_new (gfid_hash, gfid_same);
    table->by_name = g_hash_table_new (dentry_hash, dentry_same);
    table->detached = g_hash_table_new (NULL, NULL);
    table->limit = limit;
    table->graphs[0].used = true;
    table->graphs[0].keepers = keepers;
    table->graphs[0].forget = forget;
    table->graphs[0].data = data;
    slots_init (table);
    table->root = inode_new (table);
    table->root->gfid = gfid_root;
    table->root->ia_type = IA_IFDIR;
    g_hash_table_add (table->by_gfid, &table->root->gfid);
    return table;
}

void
itable_set_beside (struct itable *table)
{
    g_assert (g_hash_table_size (table->by_gfid) == 1);
    table->beside = INODE_BESIDE >> 32;
    table->root->generation = table->beside;
}

static unsigned
keepers_of (const struct itable *table, unsigned graph)
{
    return __atomic_load_n (&table->graphs[graph].keepers, __ATOMIC_RELAXED);
}

/* Gives the inode contexts of each graph of the table. They lie elsewhere for a graph that joined
 * after the inode's memory was taken. */
static void
contexts_fit_locked (inode_t *inode)
{
    void **own = inode->own;

    for (unsigned i = 0; i < ITABLE_GRAPHS; i++) {
        const unsigned n = inode->table->graphs[i].keepers;

        if (n > 0 && !inode->ctx[i] && !inode->table->graphs[i].leaving)
            inode->ctx[i] = n == inode->keepers[i] ? own : g_new0 (void *, n);
        own += inode->keepers[i];
    }
}

static void
contexts_drop (inode_t *inode, unsigned graph)
{
    void **const at = inode->ctx[graph], **end = inode->own;

    for (unsigned i = 0; i < ITABLE_GRAPHS; i++)
        end += inode->keepers[i];
    if (at >= inode->own && at < end)
        memset (at, 0, inode->keepers[graph] * sizeof *at); /* for the next graph */
    else
        g_free (at);
    inode->ctx[graph] = NULL;
}

inode_t *
inode_new (struct itable *table)
{
    uint16_t keepers[ITABLE_GRAPHS];
    size_t own = 0;
    inode_t *inode;

    for (unsigned i = 0; i < ITABLE_GRAPHS; i++)
        own += keepers[i] = (uint16_t) keepers_of (table, i);
    inode = g_malloc0 (sizeof *inode + own * sizeof inode->own[0]);
    inode->magic = INODE_MAGIC;
    inode->refs = 1;
    inode->table = table;
    memcpy (inode->keepers, keepers, sizeof keepers);
    pthread_mutex_lock (&table->lock);
    contexts_fit_locked (inode);
    slot_take_locked (table, inode);
    pthread_mutex_unlock (&table->lock);
    AUDIT (INODE, inode, 1);
    return inode;
}

/* Removes the inode from all maps and adds it to gone, which is freed later. Its parents may
 * follow. */
static void
inode_retire_locked (inode_t *inode, GSList **gone)
{
    struct itable *table = inode->table;

    if (inode->forgotten) {
        g_queue_delete_link (&table->forgotten, inode->forgotten);
        inode->forgotten = NULL;
    }
    if (g_hash_table_lookup (table->by_gfid, &inode->gfid) == &inode->gfid)
        g_hash_table_remove (table->by_gfid, &inode->gfid);
    if (inode->detached)
        g_hash_table_remove (table->detached, inode);
    slot_give_locked (table, inode);
    *gone = g_slist_prepend (*gone, inode);
    while (inode->names)
        dentry_drop_locked (inode->names, gone);
}

/* The last reference is gone. An inode with a name can be found again and joins the forgotten list;
 * others are retired. Only itable_unlock enforces the limit: here the recursion would be as deep as
 * the tree. */
static void
inode_idle_locked (inode_t *inode, GSList **gone)
{
    struct itable *table = inode->table;

    if (!inode->names) {
        inode_retire_locked (inode, gone);
        return;
    }
    g_queue_push_tail (&table->forgotten, inode);
    inode->forgotten = table->forgotten.tail;
}

static void
inode_give_back_locked (inode_t *inode, GSList **gone)
{
    if (__atomic_sub_fetch (&inode->refs, 1, __ATOMIC_ACQ_REL) == 0)
        inode_idle_locked (inode, gone);
}

void
inode_unref_locked (inode_t *inode, GSList **gone)
{
    if (!audit_count (AUDIT_INODE, inode, -1, NULL))
        inode_give_back_locked (inode, gone);
}

inode_t *
inode_ref_locked (inode_t *inode)
{
    AUDIT (INODE, inode, 1);
    __atomic_add_fetch (&inode->refs, 1, __ATOMIC_ACQ_REL);
    if (inode->forgotten) {
        g_queue_delete_link (&inode->table->forgotten, inode->forgotten);
        inode->forgotten = NULL;
    }
    return inode;
}

/* graphs are those of the table when it lost the inodes: one that joins later doesn't know them. */
static void
inodes_free (const struct itable_graph *graphs, GSList *gone)
{
    while (gone) {
        inode_t *inode = gone->data;
        gone = g_slist_delete_link (gone, gone);
        for (unsigned i = 0; i < ITABLE_GRAPHS; i++) {
            if (graphs[i].forget && (inode->ctx[i] || graphs[i].keepers == 0))
                graphs[i].forget (inode, graphs[i].data);
            contexts_drop (inode, i);
        }
        inode->magic = 0;
        g_free (inode);
    }
}

void
itable_unlock (struct itable *table, GSList *gone)
{
    struct itable_graph graphs[ITABLE_GRAPHS];

    while (table->forgotten.length > table->limit)
        inode_retire_locked (table->forgotten.head->data, &gone);
    if (!gone) {
        pthread_mutex_unlock (&table->lock);
        return;
    }
    memcpy (graphs, table->graphs, sizeof graphs);
    __atomic_add_fetch (&table->freeing, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock (&table->lock);
    inodes_free (graphs, gone);
    __atomic_sub_fetch (&table->freeing, 1, __ATOMIC_RELEASE);
}

inode_t *
inode_ref (inode_t *inode)
{
    if (!inode)
        return NULL;
    AUDIT (INODE, inode, 1);
    __atomic_add_fetch (&inode->refs, 1, __ATOMIC_RELAXED);
    return inode;
}

/* Drops a reference without a lock, if it isn't the last one. */
static bool
inode_unref_quickly (inode_t *inode)
{
    int refs = __atomic_load_n (&inode->refs, __ATOMIC_RELAXED);

    while (refs > 1)
        if (__atomic_compare_exchange_n (&inode->refs, &refs, refs - 1, true, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            return true;
    return false;
}

static void
inode_give_back (inode_t *inode)
{
    struct itable *table = inode->table;
    GSList *gone = NULL;

    if (inode_unref_quickly (inode))
        return;
    pthread_mutex_lock (&table->lock);
    inode_give_back_locked (inode, &gone);
    itable_unlock (table, gone);
}

void
inode_unref (inode_t *inode)
{
    if (inode && !AUDIT (INODE, inode, -1))
        inode_give_back (inode);
}

inode_t *
inode_ref_by_core (inode_t *inode)
{
    if (!inode)
        return NULL;
    audit_count (AUDIT_INODE, inode, 1, NULL);
    __atomic_add_fetch (&inode->refs, 1, __ATOMIC_RELAXED);
    return inode;
}

void
inode_unref_by_core (inode_t *inode)
{
    if (inode && !audit_count (AUDIT_INODE, inode, -1, NULL))
        inode_give_back (inode);
}

/* Returns the inode with this gfid: another inode, or this one, which gets the gfid. */
static inode_t *
inode_adopt_locked (inode_t *inode, const struct iatt *iatt)
{
    struct itable *table = inode->table;
    gfid_t *known = inode->detached ? NULL
                                    : g_hash_table_lookup (table->by_gfid, &iatt->ia_gfid);

    if (known)
        return inode_ref_locked (inode_of_gfid_key (known));
    if (gfid_is_null (&inode->gfid) && !gfid_is_null (&iatt->ia_gfid)) {
        inode->gfid = iatt->ia_gfid;
        inode->ia_type = iatt->ia_type;
        g_hash_table_add (table->by_gfid, &inode->gfid);
    }
    return inode_ref_locked (inode);
}

void
itable_set_unkept (struct itable *table, unsigned graph,
                   bool (*unkept) (inode_t *parent, const char *name, void *data))
{
    pthread_mutex_lock (&table->lock);
    table->graphs[graph].unkept = unkept;
    pthread_mutex_unlock (&table->lock);
}

inode_t *
inode_link_asked (inode_t *inode, inode_t *parent, const char *name, const struct iatt *iatt,
                  uint64_t asked)
{
    g_autoptr (inode_t) fresh = name && inode_is_detached (inode) ? inode_new (inode->table) : NULL;
    struct itable *table = inode->table;
    GSList *gone = NULL;
    inode_t *linked;

    pthread_mutex_lock (&table->lock);
    linked = inode_adopt_locked (fresh ? fresh : inode, iatt);
    if (parent && name && !parent->detached && linked != table->root
        && !dentry_is_late_locked (parent, name, linked, asked))
        dentry_set_locked (parent, name, linked, &gone);
    itable_unlock (table, gone);
    return linked;
}

inode_t *
inode_link (inode_t *inode, inode_t *parent, const char *name, const struct iatt *iatt)
{
    return inode_link_asked (inode, parent, name, iatt, UINT64_MAX);
}

inode_t *
inode_find (struct itable *table, const gfid_t *gfid)
{
    inode_t *inode = NULL;
    gfid_t *known;

    pthread_mutex_lock (&table->lock);
    known = g_hash_table_lookup (table->by_gfid, gfid);
    if (known)
        inode = inode_ref_locked (inode_of_gfid_key (known));
    pthread_mutex_unlock (&table->lock);
    return inode;
}

inode_t *
itable_root (struct itable *table)
{
    return table->root;
}

void
inode_lookup (inode_t *inode)
{
    pthread_mutex_lock (&inode->table->lock);
    if (inode->nlookup == 0)
        inode_ref_locked (inode);
    __atomic_store_n (&inode->nlookup, inode->nlookup + 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock (&inode->table->lock);
}

void
inode_forget (inode_t *inode, uint64_t n)
{
    struct itable *table = inode->table;
    GSList *gone = NULL;

    pthread_mutex_lock (&table->lock);
    if (inode->nlookup > 0) {
        __atomic_store_n (&inode->nlookup, inode->nlookup - MIN (n, inode->nlookup),
                          __ATOMIC_RELAXED);
        if (inode->nlookup == 0)
            inode_unref_locked (inode, &gone);
    }
    itable_unlock (table, gone);
}

void
itable_counts (struct itable *table, size_t *ret_known, size_t *ret_forgotten)
{
    pthread_mutex_lock (&table->lock);
    *ret_known = g_hash_table_size (table->by_gfid) + g_hash_table_size (table->detached);
    *ret_forgotten = table->forgotten.length;
    pthread_mutex_unlock (&table->lock);
}

void
itable_trim (struct itable *table)
{
    pthread_mutex_lock (&table->lock);
    slots_trim_locked (table);
    pthread_mutex_unlock (&table->lock);
}

unsigned
itable_known_files (struct itable *table, uint64_t *ret_nodeids, unsigned max)
{
    GHashTableIter iter;
    gpointer key;
    unsigned n = 0;

    pthread_mutex_lock (&table->lock);
    g_hash_table_iter_init (&iter, table->by_gfid);
    while (n < max && g_hash_table_iter_next (&iter, &key, NULL)) {
        const inode_t *inode = inode_of_gfid_key (key);

        if (inode->ia_type == IA_IFREG && inode->nlookup > 0)
            ret_nodeids[n++] = inode_nodeid (inode);
    }
    pthread_mutex_unlock (&table->lock);
    return n;
}

/* Frees all inodes, even those with references: no requests come any more. */
void
itable_destroy (struct itable *table)
{
    GSList *gone = NULL;

    pthread_mutex_lock (&table->lock);
    for (uint32_t slot = table->n_slots; slot > 0; slot--) {
        inode_t *inode = slot_inode (table, slot - 1);
        if (inode) {
            inode->refs = 1;
            while (inode->names)
                dentry_drop_locked (inode->names, NULL);
        }
    }
    for (uint32_t slot = table->n_slots; slot > 0; slot--) {
        inode_t *inode = slot_inode (table, slot - 1);
        if (inode)
            inode_retire_locked (inode, &gone);
    }
    pthread_mutex_unlock (&table->lock);
    inodes_free (table->graphs, gone);
    g_hash_table_destroy (table->by_gfid);
    g_hash_table_destroy (table->by_name);
    g_hash_table_destroy (table->detached);
    slots_free (table);
    pthread_mutex_destroy (&table->lock);
    g_free (table);
}

/* --- several graphs --------------------------------------------------------------------------- */

int
itable_spare (struct itable *table)
{
    int spare = -1;

    pthread_mutex_lock (&table->lock);
    for (int i = ITABLE_GRAPHS - 1; i >= 0; i--)
        if (!table->graphs[i].used)
            spare = i;
    pthread_mutex_unlock (&table->lock);
    return spare;
}

void
itable_join (struct itable *table, unsigned graph, unsigned keepers,
             void (*forget) (inode_t *inode, void *data), void *data)
{
    pthread_mutex_lock (&table->lock);
    g_assert (!table->graphs[graph].used);
    table->graphs[graph].used = true;
    table->graphs[graph].forget = forget;
    table->graphs[graph].data = data;
    __atomic_store_n (&table->graphs[graph].keepers, keepers, __ATOMIC_RELAXED);
    for (uint32_t slot = 0; slot < table->n_slots; slot++) {
        inode_t *inode = slot_inode (table, slot);

        if (inode)
            contexts_fit_locked (inode);
    }
    pthread_mutex_unlock (&table->lock);
}

/* Returns all inodes, each with a reference. */
static GPtrArray *
inodes_hold (struct itable *table)
{
    GPtrArray *inodes = g_ptr_array_new_with_free_func ((GDestroyNotify) inode_unref);

    pthread_mutex_lock (&table->lock);
    for (uint32_t slot = 0; slot < table->n_slots; slot++) {
        inode_t *inode = slot_inode (table, slot);

        if (inode)
            g_ptr_array_add (inodes, inode_ref_locked (inode));
    }
    pthread_mutex_unlock (&table->lock);
    return inodes;
}

/* Waits until other threads have freed the inodes that are in the table no more. */
static void
wait_for_freed (struct itable *table)
{
    while (__atomic_load_n (&table->freeing, __ATOMIC_ACQUIRE) > 0)
        g_usleep (100);
}

/* New inodes get no contexts of the graph, and those that are held are not freed meanwhile. */
static void
graph_leave (struct itable *table, unsigned graph)
{
    g_autoptr (GPtrArray) inodes = NULL;

    pthread_mutex_lock (&table->lock);
    table->graphs[graph].leaving = true;
    pthread_mutex_unlock (&table->lock);
    inodes = inodes_hold (table);
    wait_for_freed (table);
    for (guint i = 0; i < inodes->len; i++) {
        inode_t *inode = inodes->pdata[i];

        if (inode->ctx[graph] && table->graphs[graph].forget)
            table->graphs[graph].forget (inode, table->graphs[graph].data);
        contexts_drop (inode, graph);
    }
    pthread_mutex_lock (&table->lock);
    __atomic_store_n (&table->graphs[graph].keepers, 0, __ATOMIC_RELAXED);
    table->graphs[graph].forget = NULL;
    table->graphs[graph].unkept = NULL;
    table->graphs[graph].used = table->graphs[graph].leaving = false;
    pthread_mutex_unlock (&table->lock);
}

void
itable_leave (struct itable *table, unsigned graph)
{
    unsigned others = 0;

    for (unsigned i = 0; i < ITABLE_GRAPHS; i++)
        others += i != graph && table->graphs[i].used;
    if (others > 0)
        graph_leave (table, graph);
    else
        itable_destroy (table);
}

/* --- contexts --------------------------------------------------------------------------------- */

static void **
context_at (inode_t *inode, int slot)
{
    const unsigned graph = (unsigned) slot >> 16, keeper = (unsigned) slot & 0xffff;

    g_assert (slot >= 0 && graph < ITABLE_GRAPHS && inode->ctx[graph]
              && keeper < keepers_of (inode->table, graph));
    return &inode->ctx[graph][keeper];
}

void *
inode_ctx_get_at (inode_t *inode, int slot)
{
    return __atomic_load_n (context_at (inode, slot), __ATOMIC_ACQUIRE);
}

void *
inode_ctx_set_at (inode_t *inode, int slot, void *ctx)
{
    void *known = NULL;

    if (__atomic_compare_exchange_n (context_at (inode, slot), &known, ctx, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return ctx;
    return known;
}
