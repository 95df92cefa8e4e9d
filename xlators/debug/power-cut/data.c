/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Old content of files: read before it changes, dropped when the new content is durable. */
#include "power-cut.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define RUN 32 /* blocks read at once */

static gpointer
cut_key_of (uint64_t block)
{
    return GSIZE_TO_POINTER (block);
}

static bool
cut_is_kept (const struct cut_data_log *data, uint64_t block)
{
    return g_hash_table_contains (data->blocks, cut_key_of (block));
}

static void
data_new (xlator_t *this, struct cut_node *node, uint64_t size)
{
    node->data = g_new0 (struct cut_data_log, 1);
    node->data->size = size;
    node->data->blocks = g_hash_table_new (g_direct_hash, g_direct_equal);
    cut_node_dirty (this, node);
}

void
cut_data_new (xlator_t *this, struct cut_node *node, const struct iatt *buf)
{
    if (!node->data && cut_priv (this)->rules.data != CUT_DATA_KEEP)
        data_new (this, node, 0);
}

static int
keep_block (xlator_t *this, struct cut_data_log *data, uint64_t block, const void *bytes)
{
    int error = 0;
    struct cut_block *kept = cut_store_put (cut_disk (this)->store, bytes, &error);

    if (!kept) {
        gf_log (this, GF_LOG_ERROR,
                "can't keep old content, so a change is refused with ENOSPC: %s",
                g_strerror (-error));
        return -ENOSPC;
    }
    g_hash_table_insert (data->blocks, cut_key_of (block), kept);
    return 0;
}

/* Reads adjacent blocks that are not kept yet, and keeps them; blocks beyond the durable size are
 * zeros. */
static int
keep_run (xlator_t *this, struct cut_data_log *data, fd_t *fd, uint64_t first, unsigned count)
{
    struct iobuf *iobuf = iobuf_new ((size_t) count * CUT_BLOCK);
    const uint64_t start = first * CUT_BLOCK;
    const size_t size = MIN ((uint64_t) count * CUT_BLOCK, data->size - start);
    int r = iobuf ? cut_read (this, fd, iobuf->ptr, (size_t) count * CUT_BLOCK, (off_t) start)
                  : -ENOMEM;

    if (r == 0)
        memset ((char *) iobuf->ptr + size, 0, (size_t) count * CUT_BLOCK - size);
    for (unsigned i = 0; r == 0 && i < count; i++)
        r = keep_block (this, data, first + i, (char *) iobuf->ptr + (size_t) i * CUT_BLOCK);
    iobuf_unref (iobuf);
    return r;
}

static int
keep_blocks (xlator_t *this, struct cut_data_log *data, fd_t *fd, uint64_t first, uint64_t end)
{
    int r = 0;

    while (r == 0 && first < end) {
        unsigned count = 0;
        while (count < RUN && first + count < end && !cut_is_kept (data, first + count))
            count++;
        if (count > 0)
            r = keep_run (this, data, fd, first, count);
        first += MAX (count, 1);
    }
    return r;
}

static bool
any_to_keep (const struct cut_data_log *data, uint64_t first, uint64_t end)
{
    for (; first < end; first++)
        if (!cut_is_kept (data, first))
            return true;
    return false;
}

static int
keep_old (xlator_t *this, struct cut_node *node, fd_t *fd, uint64_t first, uint64_t end)
{
    g_autoptr (fd_t) own = NULL;
    int r;

    if (!any_to_keep (node->data, first, end))
        return 0;
    if (fd && (fd->flags & O_ACCMODE) == O_RDWR)
        return keep_blocks (this, node->data, fd, first, end);
    r = cut_open (this, node->inode, O_RDONLY, &own);
    return r < 0 ? r : keep_blocks (this, node->data, own, first, end);
}

/* Beyond the durable size there was no data; notes that there is some now. */
static int
note_new (xlator_t *this, struct cut_data_log *data, uint64_t first, uint64_t end)
{
    int r = 0;

    for (; r == 0 && first < end; first++)
        if (!cut_is_kept (data, first))
            r = keep_block (this, data, first, NULL);
    return r;
}

/* Gives the file a log, unless it is removed for good: its content can't come back then. *ret_size:
 * the current size. */
static int
data_begin (xlator_t *this, struct cut_node *node, fd_t *fd)
{
    struct iatt buf;
    int r;

    if (node->data)
        return 0;
    r = cut_stat (this, node->inode, fd, &buf);
    if (r < 0 || (buf.ia_nlink == 0 && !node->nameless))
        return r;
    data_new (this, node, buf.ia_size);
    return cut_meta_touch (this, node, fd, CUT_META_TIMES);
}

int
cut_data_touch (xlator_t *this, struct cut_node *node, fd_t *fd, uint64_t offset, uint64_t end,
                bool fills)
{
    const int rule = cut_priv (this)->rules.data;
    uint64_t old_end, first = offset / CUT_BLOCK;
    int r;

    if (rule == CUT_DATA_KEEP)
        return 0;
    r = data_begin (this, node, fd);
    if (r < 0 || !node->data)
        return r;
    old_end = (MIN (end, node->data->size) + CUT_BLOCK - 1) / CUT_BLOCK;
    r = keep_old (this, node, fd, first, old_end);
    if (r == 0 && fills && rule != CUT_DATA_LOSE)
        r = note_new (this, node->data, MAX (first, old_end), (end + CUT_BLOCK - 1) / CUT_BLOCK);
    return r;
}

static gboolean
drop_block (gpointer key, gpointer block, gpointer store)
{
    cut_store_drop (store, block);
    return TRUE;
}

void
cut_data_durable (xlator_t *this, struct cut_node *node)
{
    if (!node->data)
        return;
    g_hash_table_foreach_remove (node->data->blocks, drop_block, cut_disk (this)->store);
    g_hash_table_unref (node->data->blocks);
    g_clear_pointer (&node->data, g_free);
    cut_node_cleaned (this, node);
}

/* Replaces [from, to) of a block's durable content. */
static int
patch_block (xlator_t *this, struct cut_data_log *data, uint64_t block, size_t from, size_t to,
             const char *bytes)
{
    struct cut_store *store = cut_disk (this)->store;
    struct cut_block *kept = g_hash_table_lookup (data->blocks, cut_key_of (block));
    char content[CUT_BLOCK];
    int r = kept ? cut_store_get (store, kept, content) : 0;

    if (!kept || r < 0)
        return r;
    memcpy (content + from, bytes, to - from);
    r = keep_block (this, data, block, content);
    if (r == 0)
        cut_store_drop (store, kept);
    return r;
}

void
cut_data_durable_range (xlator_t *this, struct cut_node *node, uint64_t offset, const void *bytes,
                        size_t size)
{
    const uint64_t end = offset + size;
    uint64_t at, next;
    int r = 0;

    if (!node->data)
        return;
    if (offset > node->data->size) { /* makes the gap durable too; exactness would take a log of
                                        durable ranges beyond the size */
        cut_data_durable (this, node);
        return;
    }
    for (at = offset; r == 0 && at < end; at = next) {
        next = MIN (end, (at / CUT_BLOCK + 1) * CUT_BLOCK);
        r = patch_block (this, node->data, at / CUT_BLOCK, at % CUT_BLOCK,
                         at % CUT_BLOCK + (next - at), (const char *) bytes + (at - offset));
    }
    if (r == 0)
        node->data->size = MAX (node->data->size, end);
    else
        cut_data_durable (this, node); /* more becomes durable than necessary, never less */
}

uint64_t
cut_data_amount (const struct cut_node *node)
{
    return node->data ? (uint64_t) g_hash_table_size (node->data->blocks) * CUT_BLOCK : 0;
}
