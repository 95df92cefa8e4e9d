/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The entries read ahead of an open directory. A batch belongs to its directory until it is
 * consumed or dropped, or until lru evicts it. An evicted batch belongs to the caller of lru. The
 * other batches of its directory are then dropped too, since a gap would remain otherwise.
 */
#include "readdir-ahead.h"

#include <string.h>

/* --- directories ------------------------------------------------------------------------------ */

struct rda_dir *
rda_dir_new (const call_frame_t *frame, fd_t *fd)
{
    struct rda_dir *dir = g_new0 (struct rda_dir, 1);

    dir->refs = 1;
    pthread_mutex_init (&dir->lock, NULL);
    dir->inode = fd->inode;
    dir->uid = frame->root->uid;
    dir->gid = frame->root->gid;
    dir->plus = true;
    g_queue_init (&dir->batches);
    g_queue_init (&dir->waiters);
    return dir;
}

struct rda_dir *
rda_dir_get (xlator_t *this, fd_t *fd)
{
    return fd_ctx_get (fd, this);
}

struct rda_dir *
rda_dir_ref (struct rda_dir *dir)
{
    __atomic_add_fetch (&dir->refs, 1, __ATOMIC_RELAXED);
    return dir;
}

void
rda_dir_unref (struct rda_dir *dir)
{
    if (!dir || __atomic_sub_fetch (&dir->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    dict_unref (dir->xdata);
    pthread_mutex_destroy (&dir->lock);
    g_free (dir);
}

void
rda_dir_watch_locked (xlator_t *this, struct rda_dir *dir)
{
    const bool watched = dir->looping || dir->batches.length > 0 || dir->eof || dir->error;

    if (watched == dir->watched)
        return;
    dir->watched = watched;
    __atomic_add_fetch (&rda_priv (this)->watching, watched ? 1 : -1, __ATOMIC_SEQ_CST);
}

/* --- batches ---------------------------------------------------------------------------------- */

/* The size that storage counts for an entry, which is also that of the kernel's records. */
size_t
rda_entry_size (const gf_dirent_t *entry, bool plus)
{
    return 24 + (plus ? 128 : 0) + ((entry->d_len + 7) & ~(size_t) 7);
}

#define MALLOCS 16 /* bytes that malloc adds */

static size_t
dict_cost (const dict_t *dict)
{
    size_t cost = dict ? 64 + MALLOCS : 0;

    for (size_t i = 0; i < dict_count (dict); i++) {
        const char *key;
        const void *value;
        size_t size;

        dict_nth (dict, i, &key, &value, &size);
        cost += 32 + strlen (key) + size + MALLOCS;
    }
    return cost;
}

/* An estimate. It includes an inode that may have no other user. */
static size_t
entry_cost (const gf_dirent_t *entry)
{
    return sizeof *entry + entry->d_len + 1 + MALLOCS + dict_cost (entry->dict)
         + (entry->inode ? sizeof *entry->inode + 64 : 0);
}

static void
batch_free (struct rda_batch *batch)
{
    dirents_free (batch->entries);
    rda_dir_unref (batch->dir);
    g_free (batch);
}

void
rda_gone_free (rda_gone_t *gone)
{
    struct rda_batch *batch;

    while ((batch = g_queue_pop_head (gone)))
        batch_free (batch);
}

/* Removes the batch from its directory. Frees it later through gone, unless lru has evicted it:
 * then the evicting thread frees it. */
static void
batch_leave_locked (xlator_t *this, struct rda_dir *dir, struct rda_batch *batch, rda_gone_t *gone)
{
    g_queue_remove (&dir->batches, batch);
    dir->bytes -= batch->bytes;
    dir->cost -= batch->entry.cost;
    batch->dropped = true;
    if (lru_remove (&rda_priv (this)->lru, &batch->entry))
        g_queue_push_tail (gone, batch);
}

void
rda_dir_drop_locked (xlator_t *this, struct rda_dir *dir, rda_gone_t *gone)
{
    while (dir->batches.length > 0)
        batch_leave_locked (this, dir, dir->batches.head->data, gone);
    dir->generation++;
    dir->active = dir->eof = dir->nears_end = false;
    dir->error = 0;
    rda_dir_watch_locked (this, dir);
}

void
rda_evict (xlator_t *this, struct lru_entry *list)
{
    rda_gone_t gone = RDA_GONE_INIT;
    struct lru_entry *entry;

    while ((entry = lru_next (&list))) {
        struct rda_batch *batch = (struct rda_batch *) ((char *) entry
                                                        - offsetof (struct rda_batch, entry));
        struct rda_dir *dir = batch->dir;

        pthread_mutex_lock (&dir->lock);
        if (!batch->dropped)
            rda_dir_drop_locked (this, dir, &gone);
        pthread_mutex_unlock (&dir->lock);
        g_queue_push_tail (&gone, batch);
    }
    rda_gone_free (&gone);
}

static struct rda_batch *
batch_new (struct rda_dir *dir, const struct rda_local *asked, const gf_dirent_t *entries,
           uint64_t *ret_cost)
{
    struct rda_batch *batch = g_new0 (struct rda_batch, 1);

    batch->dir = rda_dir_ref (dir);
    batch->entries = dirents_copy (entries);
    batch->clock = asked->clock;
    batch->born = asked->born;
    batch->plus = asked->plus;
    *ret_cost = sizeof *batch;
    for (const gf_dirent_t *entry = entries; entry; entry = entry->next) {
        batch->bytes += rda_entry_size (entry, batch->plus);
        *ret_cost += entry_cost (entry);
    }
    return batch;
}

static off_t
last_offset (const gf_dirent_t *entries)
{
    while (entries->next)
        entries = entries->next;
    return (off_t) entries->d_off;
}

void
rda_dir_add (xlator_t *this, struct rda_dir *dir, const struct rda_local *asked,
             const gf_dirent_t *entries)
{
    rda_gone_t gone = RDA_GONE_INIT;
    struct lru_entry *evicted = NULL;
    uint64_t cost;
    struct rda_batch *batch = batch_new (dir, asked, entries, &cost);
    bool fits = false;

    pthread_mutex_lock (&dir->lock);
    for (GList *l = dir->batches.head; l; l = l->next)
        /* so that lru evicts batches of other directories first */
        lru_touch (&rda_priv (this)->lru, &((struct rda_batch *) l->data)->entry);
    if (dir->generation == asked->generation && last_offset (entries) != asked->offset)
        evicted = lru_add (&rda_priv (this)->lru, &batch->entry, 0, cost, &fits);
    if (fits) {
        g_queue_push_tail (&dir->batches, batch);
        dir->bytes += batch->bytes;
        dir->cost += cost;
        dir->next = last_offset (entries);
        dir->nears_end = batch->bytes + RDA_ENTRY_MOST <= asked->size;
        rda_dir_watch_locked (this, dir);
    } else if (dir->generation == asked->generation) {
        rda_dir_drop_locked (this, dir, &gone);
    }
    pthread_mutex_unlock (&dir->lock);
    rda_evict (this, evicted);
    rda_gone_free (&gone);
    if (!fits)
        batch_free (batch);
}

/* --- taking off ------------------------------------------------------------------------------- */

static gf_dirent_t *
batch_pop_locked (struct rda_dir *dir, struct rda_batch *batch)
{
    gf_dirent_t *entry = batch->entries;
    const size_t size = rda_entry_size (entry, batch->plus);

    batch->entries = entry->next;
    batch->bytes -= size;
    dir->bytes -= size;
    dir->at = (off_t) entry->d_off;
    entry->next = NULL;
    return entry;
}

static void
batch_leave_empty_locked (xlator_t *this, struct rda_dir *dir, rda_gone_t *gone)
{
    struct rda_batch *batch = g_queue_peek_head (&dir->batches);

    if (batch && !batch->entries) {
        batch_leave_locked (this, dir, batch, gone);
        dir->backoff = 0; /* reading ahead was useful */
    }
}

gf_dirent_t *
rda_dir_take_locked (xlator_t *this, struct rda_dir *dir, size_t size, bool plus, int *ret_n,
                     uint64_t *ret_clock, rda_gone_t *gone)
{
    gf_dirent_t *taken = NULL, **end = &taken;
    struct rda_batch *batch;
    size_t room = 0;
    int n = 0;

    *ret_clock = UINT64_MAX;
    while ((batch = g_queue_peek_head (&dir->batches))) {
        const size_t need = rda_entry_size (batch->entries, plus);

        if (n > 0 && room + need > size)
            break;
        room += need;
        n++;
        *ret_clock = MIN (*ret_clock, batch->clock);
        *end = batch_pop_locked (dir, batch);
        end = &(*end)->next;
        batch_leave_empty_locked (this, dir, gone);
    }
    dir->expected = dir->at;
    rda_dir_watch_locked (this, dir);
    *ret_n = n;
    return taken;
}

static bool
has_offset_locked (const struct rda_dir *dir, off_t offset)
{
    for (const GList *l = dir->batches.head; l; l = l->next)
        for (const gf_dirent_t *entry = ((struct rda_batch *) l->data)->entries; entry;
             entry = entry->next)
            if ((off_t) entry->d_off == offset)
                return true;
    return false;
}

bool
rda_dir_skip_locked (xlator_t *this, struct rda_dir *dir, off_t offset, rda_gone_t *gone)
{
    struct rda_batch *left; /* carries the skipped entries to gone, to be freed without the lock */
    gf_dirent_t **end;

    if (!has_offset_locked (dir, offset))
        return false;
    left = g_new0 (struct rda_batch, 1);
    end = &left->entries;
    while (dir->at != offset) {
        *end = batch_pop_locked (dir, g_queue_peek_head (&dir->batches));
        end = &(*end)->next;
        batch_leave_empty_locked (this, dir, gone);
    }
    g_queue_push_tail (gone, left);
    rda_dir_watch_locked (this, dir);
    return true;
}

/* --- end -------------------------------------------------------------------------------------- */

void
rda_releasedir (xlator_t *this, fd_t *fd)
{
    struct rda_dir *dir = rda_dir_get (this, fd);
    rda_gone_t gone = RDA_GONE_INIT;

    if (!dir)
        return;
    pthread_mutex_lock (&dir->lock);
    rda_dir_drop_locked (this, dir, &gone);
    pthread_mutex_unlock (&dir->lock);
    rda_gone_free (&gone);
    rda_dir_unref (dir);
}
