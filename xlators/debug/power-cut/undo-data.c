/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cut of files' data. */
#include "power-cut.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* State of the undo of one file. */
struct undo_file {
    xlator_t *this;
    const struct cut_data_log *data;
    fd_t *fd;
    uint64_t size;  /* the current size */
    uint64_t grown; /* the size up to which new bytes survived without a gap */
    uint64_t lost;  /* bytes */
    int rule;
};

static bool
coin (xlator_t *this)
{
    return random_once_in (&cut_disk (this)->log.chance, 2);
}

static gint
compare_keys (gconstpointer a, gconstpointer b)
{
    const gsize one = GPOINTER_TO_SIZE (a), other = GPOINTER_TO_SIZE (b);

    return one < other ? -1 : one > other;
}

/* Restores [from, to) of a block to its old content, by chance. The part beyond the current size is
 * always restored, since it was truncated. */
static bool
undo_unit (struct undo_file *file, char *now, const char *old, uint64_t start, size_t from,
           size_t to)
{
    size_t end = file->size > start + from ? MIN (to, file->size - start) : from;
    bool changed = memcmp (now + from, old + from, to - from) != 0;

    memcpy (now + end, old + end, to - end);
    if (end == from || !changed || coin (file->this))
        return changed;
    memcpy (now + from, old + from, end - from);
    file->lost += end - from;
    if (start + end > file->data->size)
        file->grown = MIN (file->grown, MAX (start + from, file->data->size));
    return true;
}

static int
undo_block_by_chance (struct undo_file *file, uint64_t start, const char *old)
{
    const size_t unit = file->rule == CUT_DATA_TORN ? CUT_SECTOR : CUT_BLOCK;
    char now[CUT_BLOCK];
    bool changed = false;
    int r = cut_read (file->this, file->fd, now, CUT_BLOCK, (off_t) start);

    for (size_t at = 0; r == 0 && at < CUT_BLOCK; at += unit)
        changed |= undo_unit (file, now, old, start, at, at + unit);
    return r == 0 && changed ? cut_write (file->this, file->fd, now, CUT_BLOCK, (off_t) start) : r;
}

static int
undo_block (struct undo_file *file, uint64_t start, const char *old)
{
    const size_t size = start < file->data->size ? MIN (file->data->size - start, CUT_BLOCK) : 0;

    if (size == 0)
        return 0; /* truncated in any case */
    file->lost += size;
    return cut_write (file->this, file->fd, old, size, (off_t) start);
}

static int
undo_blocks (struct undo_file *file)
{
    GList *keys = g_list_sort (g_hash_table_get_keys (file->data->blocks), compare_keys);
    char old[CUT_BLOCK];
    int r = 0;

    for (GList *at = keys; r == 0 && at; at = at->next) {
        const struct cut_block *block = g_hash_table_lookup (file->data->blocks, at->data);
        const uint64_t start = GPOINTER_TO_SIZE (at->data) * CUT_BLOCK;

        r = cut_store_get (cut_disk (file->this)->store, block, old);
        if (r == 0)
            r = file->rule == CUT_DATA_LOSE ? undo_block (file, start, old)
                                            : undo_block_by_chance (file, start, old);
    }
    g_list_free (keys);
    return r;
}

/* The size of the file after the cut. */
static uint64_t
final_size (const struct undo_file *file)
{
    const bool early = cut_priv (file->this)->rules.sizes == CUT_SIZES_EARLY;
    const uint64_t durable = file->data->size;

    if (file->size == durable)
        return durable;
    if (file->size > durable && early && coin (file->this))
        return file->size;
    if (file->rule == CUT_DATA_LOSE)
        return durable;
    return coin (file->this) ? durable : file->size > durable ? file->grown : file->size;
}

static int
undo_file (struct undo_file *file)
{
    int r = 0;
    uint64_t size;

    if (file->rule == CUT_DATA_LOSE && file->size > file->data->size) {
        file->lost += file->size - file->data->size;
        /* so that bytes that appear beyond it are zeros */
        r = cut_resize (file->this, file->fd, file->data->size);
    }
    if (r == 0)
        r = undo_blocks (file);
    size = final_size (file);
    return r < 0 ? r : cut_resize (file->this, file->fd, size);
}

static void
undo_node (xlator_t *this, struct cut_node *node, struct cut_losses *losses)
{
    g_autofree char *path = inode_path (node->inode, NULL);
    g_autoptr (fd_t) fd = NULL;
    struct undo_file file = { .this = this,
                              .data = node->data,
                              .rule = cut_priv (this)->rules.data };
    struct iatt buf;
    int r = cut_open (this, node->inode, O_RDWR, &fd);

    if (r == -ENOENT || r == -ESTALE)
        return; /* the file has no name and will not get one */
    if (r == 0)
        r = cut_stat (this, node->inode, fd, &buf);
    if (r == 0) {
        file.fd = fd;
        file.size = file.grown = buf.ia_size;
        r = undo_file (&file);
    }
    if (r < 0)
        cut_losses_fail (this, losses, path, r);
    if (file.lost == 0)
        return;
    losses->files++;
    losses->bytes += file.lost;
    cut_losses_say (losses, "%s: %" G_GUINT64_FORMAT " bytes of data", path, file.lost);
}

void
cut_undo_data (xlator_t *this, struct cut_losses *losses)
{
    for (GList *at = cut_disk (this)->log.dirty.head; at; at = at->next) {
        struct cut_node *node = at->data;
        if (node->data)
            undo_node (this, node, losses);
    }
}
