/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files that are used most. The counters of a file are kept with its inode. A list has the
 * files whose counter is among the TOP_SIZE largest; it is unordered, and sorted when it is read.
 * So counting is an addition and a comparison with the least value of a list; only a file that
 * enters a list takes the lock. Memory is bounded: a file in no list goes with its inode; a file in
 * a list is found there by gfid when its inode comes back.
 */
#include "io-stats.h"

struct file {
    int refs;        /* atomic: held by the inode, each list, and requests */
    gfid_t gfid;
    struct itable *inodes; /* of the graph, for its path */
    uint64_t values[TOPS]; /* atomic */
    struct timespec when[TOPS]; /* files.lock: of a throughput */
    unsigned listed;       /* atomic, written under files.lock: a bit for each list with this
                              file */
    char *path;            /* files.lock; the last known path. NULL: not in a list yet */
};

struct list {
    uint64_t least; /* atomic, written under files.lock: a file enters with a larger value; 0 while
                       there is room */
    unsigned n;     /* files.lock */
    struct file *files[TOP_SIZE];
};

struct files {
    pthread_mutex_t lock; /* a leaf */
    GHashTable *listed;   /* lock: gfid -> file, of all lists */
    struct list lists[TOPS];
};

struct files *
files_new (void)
{
    struct files *files = g_new0 (struct files, 1);

    pthread_mutex_init (&files->lock, NULL);
    files->listed = g_hash_table_new (gfid_hash, gfid_same);
    return files;
}

struct file *
file_ref (struct file *file)
{
    if (file)
        __atomic_add_fetch (&file->refs, 1, __ATOMIC_RELAXED);
    return file;
}

void
file_unref (struct file *file)
{
    if (!file || __atomic_sub_fetch (&file->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    g_free (file->path);
    g_free (file);
}

void
files_free (struct files *files)
{
    if (!files)
        return;
    for (unsigned top = 0; top < TOPS; top++)
        for (unsigned i = 0; i < files->lists[top].n; i++)
            file_unref (files->lists[top].files[i]);
    g_hash_table_destroy (files->listed);
    pthread_mutex_destroy (&files->lock);
    g_free (files);
}

/* --- inode context ---------------------------------------------------------------------------- */

/* Finds a file that is in a list, else makes a new one. */
static struct file *
stats_file_find (struct files *files, const inode_t *inode)
{
    struct file *file;

    pthread_mutex_lock (&files->lock);
    file = file_ref (g_hash_table_lookup (files->listed, &inode->gfid));
    pthread_mutex_unlock (&files->lock);
    if (!file) {
        file = g_new0 (struct file, 1);
        file->refs = 1;
        file->gfid = inode->gfid;
        file->inodes = inode->table;
    }
    return file;
}

struct file *
file_of (xlator_t *this, struct files *files, inode_t *inode)
{
    struct file *file, *there;

    if (!inode || gfid_is_null (&inode->gfid))
        return NULL;
    file = inode_ctx_get (inode, this);
    if (file)
        return file_ref (file);
    file = stats_file_find (files, inode);
    there = inode_ctx_set (inode, this, file_ref (file));
    if (there != file) {
        file_unref (file); /* the reference that the inode did not take */
        file_unref (file);
        file = file_ref (there);
    }
    return file;
}

void
file_forget (xlator_t *this, inode_t *inode)
{
    file_unref (inode_ctx_get (inode, this));
}

/* The current path, or NULL if the table does not know it any more. */
static char *
file_path (const struct file *file)
{
    g_autoptr (inode_t) inode = inode_find (file->inodes, &file->gfid);

    return inode ? inode_path (inode, NULL) : NULL;
}

/* --- lists ------------------------------------------------------------------------------------ */

static uint64_t
file_value (const struct file *file, enum io_stats_top top)
{
    return __atomic_load_n (&file->values[top], __ATOMIC_RELAXED);
}

static unsigned
list_least (const struct list *list, enum io_stats_top top)
{
    unsigned least = 0;

    for (unsigned i = 1; i < list->n; i++)
        if (file_value (list->files[i], top) < file_value (list->files[least], top))
            least = i;
    return least;
}

static void
list_remove_locked (struct files *files, enum io_stats_top top, unsigned i)
{
    struct list *list = &files->lists[top];
    struct file *file = list->files[i];

    list->files[i] = list->files[--list->n];
    if (__atomic_and_fetch (&file->listed, ~(1u << top), __ATOMIC_RELAXED) == 0)
        g_hash_table_remove (files->listed, &file->gfid);
    file_unref (file);
}

/* There may be two files of one gfid for a moment, if an inode was forgotten and came back: the
 * listed one stays. */
static bool
list_add_locked (struct files *files, enum io_stats_top top, struct file *file)
{
    struct list *list = &files->lists[top];
    struct file *there = g_hash_table_lookup (files->listed, &file->gfid);

    if ((there && there != file) || file->listed & 1u << top)
        return false;
    if (list->n == TOP_SIZE) {
        const unsigned least = list_least (list, top);
        const uint64_t value = file_value (list->files[least], top);

        __atomic_store_n (&list->least, value, __ATOMIC_RELAXED);
        if (file_value (file, top) <= value)
            return false;
        list_remove_locked (files, top, least);
    }
    list->files[list->n++] = file_ref (file);
    __atomic_or_fetch (&file->listed, 1u << top, __ATOMIC_RELAXED);
    g_hash_table_insert (files->listed, &file->gfid, file);
    return true;
}

/* The path is found beforehand, since that takes a lock of its own. */
static void
list_enter (struct files *files, struct file *file, enum io_stats_top top)
{
    char *path = file_path (file);

    pthread_mutex_lock (&files->lock);
    if (list_add_locked (files, top, file) && path) {
        char *old = file->path;

        file->path = path;
        path = old;
    }
    pthread_mutex_unlock (&files->lock);
    g_free (path);
}

static void
list_consider (struct files *files, struct file *file, enum io_stats_top top, uint64_t value)
{
    if (value > __atomic_load_n (&files->lists[top].least, __ATOMIC_RELAXED)
        && !(__atomic_load_n (&file->listed, __ATOMIC_RELAXED) & 1u << top))
        list_enter (files, file, top);
}

void
file_count (struct files *files, struct file *file, enum io_stats_top top)
{
    if (file)
        list_consider (files, file, top,
                       __atomic_add_fetch (&file->values[top], 1, __ATOMIC_RELAXED));
}

/* A new maximum is rare, so its time is stored under the lock. */
void
file_throughput (struct files *files, struct file *file, enum io_stats_top top,
                 uint64_t bytes_a_second)
{
    if (!file || bytes_a_second <= file_value (file, top))
        return;
    pthread_mutex_lock (&files->lock);
    if (bytes_a_second > file_value (file, top)) {
        __atomic_store_n (&file->values[top], bytes_a_second, __ATOMIC_RELAXED);
        file->when[top] = clock_today ();
    }
    pthread_mutex_unlock (&files->lock);
    list_consider (files, file, top, bytes_a_second);
}

/* --- reading ---------------------------------------------------------------------------------- */

static int
compare_entries (const void *a, const void *b)
{
    const struct top_entry *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return g_strcmp0 (x->path, y->path);
}

static void
entry_clear (void *data)
{
    g_free (((struct top_entry *) data)->path);
}

static GPtrArray *
list_copy (struct files *files, enum io_stats_top top)
{
    GPtrArray *copy = g_ptr_array_new_with_free_func ((GDestroyNotify) file_unref);

    pthread_mutex_lock (&files->lock);
    for (unsigned i = 0; i < files->lists[top].n; i++)
        g_ptr_array_add (copy, file_ref (files->lists[top].files[i]));
    pthread_mutex_unlock (&files->lock);
    return copy;
}

/* A renamed file shows its new path; a removed file shows its last path. */
static struct top_entry
io_stats_entry_of (struct files *files, struct file *file, enum io_stats_top top)
{
    struct top_entry entry = { .value = file_value (file, top), .path = file_path (file) };

    pthread_mutex_lock (&files->lock);
    entry.when = file->when[top];
    if (!entry.path)
        entry.path = g_strdup (file->path ? file->path : "-");
    pthread_mutex_unlock (&files->lock);
    return entry;
}

GArray *
files_top (struct files *files, enum io_stats_top top)
{
    g_autoptr (GPtrArray) copy = list_copy (files, top);
    GArray *entries = g_array_new (FALSE, FALSE, sizeof (struct top_entry));

    g_array_set_clear_func (entries, entry_clear);
    for (guint i = 0; i < copy->len; i++) {
        const struct top_entry entry = io_stats_entry_of (files, copy->pdata[i], top);

        g_array_append_val (entries, entry);
    }
    g_array_sort (entries, compare_entries);
    return entries;
}
