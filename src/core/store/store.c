/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/store/internal.h"

#include "core/base/log.h"
#include "core/edge/sync-names.h"
#include "core/time/thread.h"

#include <errno.h>
#include <string.h>

#define COMPACT_LEAST (64 * 1024) /* bytes; a smaller file is not compacted */

/* The stores of this process. */
static struct {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t free;
    bool busy;            /* a thread opens or closes a store: it alone uses `all`; lock */
    GPtrArray *all;       /* of struct store */
} stores = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void __attribute__ ((constructor))
stores_init (void)
{
    thread_cond_init (&stores.free);
}

static void
stores_take (void)
{
    pthread_mutex_lock (&stores.lock);
    while (stores.busy)
        thread_cond_wait (&stores.free, &stores.lock);
    stores.busy = true;
    pthread_mutex_unlock (&stores.lock);
}

static void
stores_give (void)
{
    pthread_mutex_lock (&stores.lock);
    stores.busy = false;
    thread_cond_broadcast (&stores.free);
    pthread_mutex_unlock (&stores.lock);
}

/* --- the writer ------------------------------------------------------------------------------- */

/* One thread at a time is the writer. */
static void
store_writer_begin (struct store *store)
{
    pthread_mutex_lock (&store->lock);
    while (store->writing)
        thread_cond_wait (&store->changed, &store->lock);
    store->writing = true;
    pthread_mutex_unlock (&store->lock);
}

static void
store_writer_end (struct store *store)
{
    pthread_mutex_lock (&store->lock);
    store->writing = false;
    thread_cond_broadcast (&store->changed);
    pthread_mutex_unlock (&store->lock);
}

/* Writes the whole table to a new file. */
static int
store_compact (struct store *store)
{
    g_autoptr (GByteArray) bytes = NULL;
    uint64_t taken;
    guint pending;
    int r;

    pthread_mutex_lock (&store->lock);
    bytes = store_records_all (store->table);
    pending = store->pending->len;
    taken = store->taken;
    pthread_mutex_unlock (&store->lock);
    r = store_file_replace (store, bytes);
    pthread_mutex_lock (&store->lock);
    if (r == 0) {
        g_byte_array_remove_range (store->pending, 0, pending);
        store->written = store->synced = taken;
    }
    store->compact_at = MAX (COMPACT_LEAST, 2 * (uint64_t) bytes->len);
    pthread_mutex_unlock (&store->lock);
    return r;
}

static bool
store_must_compact_locked (const struct store *store)
{
    const uint64_t size = (uint64_t) store->end + store->pending->len;

    return size >= store->compact_at && size > 2 * (store->live + STORE_MAGIC_SIZE);
}

static int
store_append (struct store *store)
{
    g_autoptr (GByteArray) bytes = NULL;
    uint64_t taken;
    int r;

    pthread_mutex_lock (&store->lock);
    bytes = g_steal_pointer (&store->pending);
    store->pending = g_byte_array_new ();
    taken = store->taken;
    pthread_mutex_unlock (&store->lock);
    r = store_file_append (store, bytes);
    pthread_mutex_lock (&store->lock);
    if (r == 0)
        store->written = taken;
    else
        g_byte_array_prepend (store->pending, bytes->data, bytes->len);
    pthread_mutex_unlock (&store->lock);
    return r;
}

static int
store_flush_as_writer (struct store *store, bool durable)
{
    uint64_t written;
    bool compacts;
    int r;

    pthread_mutex_lock (&store->lock);
    compacts = store_must_compact_locked (store);
    pthread_mutex_unlock (&store->lock);
    if (!store->fd)
        return -EIO;
    if (compacts && store_compact (store) == 0)
        return 0;
    r = store_append (store);
    written = store->written;
    if (r == 0 && durable)
        r = store_file_sync (store);
    if (r == 0 && durable) {
        pthread_mutex_lock (&store->lock);
        store->synced = MAX (store->synced, written);
        pthread_mutex_unlock (&store->lock);
    }
    return r;
}

/* Whatever was changed before the call is written when it returns: by this thread, or by the one
 * that it has waited for. */
static int
store_flush (struct store *store, bool durable)
{
    uint64_t wanted;
    int r = 0;

    pthread_mutex_lock (&store->lock);
    wanted = store->taken;
    while (r == 0 && (durable ? store->synced : store->written) < wanted) {
        if (store->writing) {
            thread_cond_wait (&store->changed, &store->lock);
            continue;
        }
        store->writing = true;
        pthread_mutex_unlock (&store->lock);
        r = store_flush_as_writer (store, durable);
        pthread_mutex_lock (&store->lock);
        store->writing = false;
        thread_cond_broadcast (&store->changed);
    }
    pthread_mutex_unlock (&store->lock);
    return r;
}

int
store_write (struct store *store)
{
    return store_flush (store, false);
}

int
store_sync (struct store *store)
{
    return store_flush (store, true);
}

/* --- the table -------------------------------------------------------------------------------- */

GBytes *
store_get (struct store *store, const char *key)
{
    const struct store_value *value;
    GBytes *bytes;

    pthread_mutex_lock (&store->lock);
    value = g_tree_lookup (store->table, key);
    bytes = value ? g_bytes_ref (value->bytes) : NULL;
    pthread_mutex_unlock (&store->lock);
    return bytes;
}

static void
store_forget_locked (struct store *store, const char *key)
{
    const struct store_value *old = g_tree_lookup (store->table, key);

    if (old)
        store->live -= store_record_size (key, g_bytes_get_size (old->bytes));
}

void
store_set (struct store *store, const char *key, const void *value, size_t size)
{
    pthread_mutex_lock (&store->lock);
    store_forget_locked (store, key);
    g_tree_replace (store->table, g_strdup (key), store_value_new (value, size, ++store->taken));
    store->live += store_record_size (key, size);
    store_record_append (store->pending, STORE_SET, key, value, size);
    pthread_mutex_unlock (&store->lock);
}

uint64_t
store_now (struct store *store)
{
    uint64_t now;

    pthread_mutex_lock (&store->lock);
    now = store->taken;
    pthread_mutex_unlock (&store->lock);
    return now;
}

void
store_remove_until (struct store *store, const char *key, uint64_t until)
{
    const struct store_value *value;

    pthread_mutex_lock (&store->lock);
    value = g_tree_lookup (store->table, key);
    if (value && value->number <= until) {
        store_forget_locked (store, key);
        g_tree_remove (store->table, key);
        store_record_append (store->pending, STORE_REMOVED, key, NULL, 0);
        store->taken++;
    }
    pthread_mutex_unlock (&store->lock);
}

void
store_remove (struct store *store, const char *key)
{
    store_remove_until (store, key, UINT64_MAX);
}

static GBytes *
store_node_bytes (GTreeNode *node)
{
    return ((const struct store_value *) g_tree_node_value (node))->bytes;
}

void
store_each (struct store *store, const char *prefix,
            void (*fn) (const char *key, GBytes *value, void *data), void *data)
{
    g_autoptr (GPtrArray) keys = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (GPtrArray) values =
        g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);

    pthread_mutex_lock (&store->lock);
    for (GTreeNode *at = g_tree_lower_bound (store->table, prefix);
         at && g_str_has_prefix (g_tree_node_key (at), prefix); at = g_tree_node_next (at)) {
        g_ptr_array_add (keys, g_strdup (g_tree_node_key (at)));
        g_ptr_array_add (values, g_bytes_ref (store_node_bytes (at)));
    }
    pthread_mutex_unlock (&store->lock);
    for (guint i = 0; i < keys->len; i++)
        fn (keys->pdata[i], values->pdata[i], data);
}

struct store_losses
store_losses (const struct store *store)
{
    return store->losses;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void
store_way_free (gpointer data)
{
    struct store_way *way = data;

    client_free (way->client);
    inode_unref (way->plan.directory);
    g_free ((char *) way->plan.name);
    g_free (way);
}

static void
store_way_add (struct store *store, const struct store_plan *plan)
{
    struct store_way *way = g_new0 (struct store_way, 1);

    way->plan = *plan;
    way->plan.directory = inode_ref (plan->directory);
    way->plan.name = g_strdup (plan->name);
    way->client = client_new_internal (plan->maker, plan->child);
    way->client->checked = true;
    g_ptr_array_add (store->ways, way);
}

static struct store *
store_new (void)
{
    struct store *store = g_new0 (struct store, 1);

    pthread_mutex_init (&store->lock, NULL);
    thread_cond_init (&store->changed);
    store->table = store_table_new ();
    store->pending = g_byte_array_new ();
    store->ways = g_ptr_array_new_with_free_func (store_way_free);
    return store;
}

static void
store_free (struct store *store)
{
    fd_unref (store->fd);
    g_ptr_array_unref (store->ways);
    g_byte_array_unref (store->pending);
    g_tree_unref (store->table);
    pthread_cond_destroy (&store->changed);
    pthread_mutex_destroy (&store->lock);
    g_free (store);
}

static gboolean
store_count (gpointer key, gpointer value, gpointer live)
{
    *(uint64_t *) live +=
        store_record_size (key, g_bytes_get_size (((const struct store_value *) value)->bytes));
    return FALSE;
}

static void
store_tell_losses (const struct store *store)
{
    const struct store_way *way = store_way (store);

    if (store->losses.damaged > 0)
        gf_log (way->plan.maker, GF_LOG_WARNING,
                "%" G_GUINT64_FORMAT " bytes of the store '%s' can't be read; the records around "
                "them are used", store->losses.damaged, way->plan.name);
}

static int
store_load (struct store *store)
{
    const bool read_only = store_way (store)->plan.read_only;
    g_autoptr (GByteArray) bytes = g_byte_array_new ();
    uint64_t end;
    int r = store_file_open (store);

    if (r == -ENOENT && read_only)
        return 0;
    if (r == -ENOENT)
        r = store_compact (store);
    if (r == 0)
        r = store_file_read_all (store, bytes);
    if (r == 0)
        r = store_records_read (bytes, store->table, &store->losses, &end);
    if (r < 0)
        return r;
    store->end = (off_t) end;
    store->compact_at = COMPACT_LEAST;
    g_tree_foreach (store->table, store_count, &store->live);
    store_tell_losses (store);
    if (read_only)
        return 0;
    store_file_clean (store);
    if (store->losses.damaged > 0)
        return store_compact (store);
    return store->losses.torn > 0 ? store_file_trim (store) : 0;
}

static struct store *
store_find_open (const struct store_plan *plan)
{
    struct client *client = client_new_internal (plan->maker, plan->child);
    g_autoptr (inode_t) inode = NULL;
    struct store *found = NULL;
    struct iatt buf;

    if (sync_name_look (client, plan->directory, plan->name, &inode, &buf) == 0)
        for (guint i = 0; stores.all && i < stores.all->len; i++) {
            struct store *store = stores.all->pdata[i];

            pthread_mutex_lock (&store->lock);
            found = gfid_equal (&store->gfid, &buf.ia_gfid) ? store : found;
            pthread_mutex_unlock (&store->lock);
        }
    client_free (client);
    return found;
}

/* The file is opened through the way that is now the last one. */
static int
store_share (struct store *store, const struct store_plan *plan)
{
    int r;

    store_writer_begin (store);
    g_clear_pointer (&store->fd, fd_unref);
    store_way_add (store, plan);
    r = store_file_open (store);
    if (r < 0) {
        g_ptr_array_set_size (store->ways, (gint) store->ways->len - 1);
        (void) store_file_open (store);
    }
    store_writer_end (store);
    return r;
}

static int
store_open_first (const struct store_plan *plan, struct store **ret_store)
{
    struct store *store = store_new ();
    int r;

    store_way_add (store, plan);
    r = store_load (store);
    if (r < 0) {
        store_free (store);
        return r;
    }
    if (!stores.all)
        stores.all = g_ptr_array_new ();
    g_ptr_array_add (stores.all, store);
    *ret_store = store;
    return 0;
}

int
store_open (const struct store_plan *plan, struct store **ret_store)
{
    struct store *store;
    int r;

    stores_take ();
    store = store_find_open (plan);
    r = store ? store_share (store, plan) : store_open_first (plan, &store);
    stores_give ();
    if (r == 0)
        *ret_store = store;
    return r;
}

/* --- closing ---------------------------------------------------------------------------------- */

static void
store_way_remove (struct store *store, const xlator_t *maker)
{
    const bool current = store_way (store)->plan.maker == maker;

    if (current)
        g_clear_pointer (&store->fd, fd_unref);
    for (guint i = store->ways->len; i-- > 0;)
        if (((struct store_way *) store->ways->pdata[i])->plan.maker == maker)
            g_ptr_array_remove_index (store->ways, i);
    if (current && store->ways->len > 0)
        (void) store_file_open (store);
}

void
store_close (struct store *store, const xlator_t *maker)
{
    bool last;

    if (!store)
        return;
    (void) store_write (store);
    stores_take ();
    store_writer_begin (store);
    store_way_remove (store, maker);
    last = store->ways->len == 0;
    store_writer_end (store);
    if (last)
        g_ptr_array_remove_fast (stores.all, store);
    if (last && stores.all->len == 0)
        g_clear_pointer (&stores.all, g_ptr_array_unref);
    stores_give ();
    if (last)
        store_free (store);
}
