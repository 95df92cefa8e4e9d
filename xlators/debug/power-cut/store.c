/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Old content of blocks: in memory and, beyond a limit, in an unnamed temporary file. */
#include "power-cut.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

struct cut_block {
    enum { BLOCK_ZEROS, BLOCK_MEMORY, BLOCK_FILE } where;
    uint64_t place;
    char bytes[]; /* BLOCK_MEMORY only */
};

struct cut_store {
    struct cut_block *zeros; /* the single block of zeros, for any number of users */
    uint64_t limit, used; /* bytes in memory */
    int fd;               /* the file, or -1 */
    uint64_t places;      /* blocks that the file has room for */
    GArray *free_places;  /* uint64_t: free blocks of the file */
};

struct cut_store *
cut_store_new (uint64_t memory_limit)
{
    struct cut_store *store = g_new0 (struct cut_store, 1);

    store->limit = memory_limit;
    store->fd = -1;
    store->zeros = g_new0 (struct cut_block, 1);
    store->free_places = g_array_new (false, false, sizeof (uint64_t));
    return store;
}

void
cut_store_set_limit (struct cut_store *store, uint64_t memory_limit)
{
    store->limit = memory_limit;
}

void
cut_store_free (struct cut_store *store)
{
    if (!store)
        return;
    if (store->fd >= 0)
        close (store->fd);
    g_array_unref (store->free_places);
    g_free (store->zeros);
    g_free (store);
}

static int
cut_store_open (struct cut_store *store)
{
    g_autofree char *path = NULL;

    if (store->fd >= 0)
        return 0;
    path = g_build_filename (g_get_tmp_dir (), "windlass-power-cut-XXXXXX", NULL);
    store->fd = g_mkstemp_full (path, O_RDWR | O_CLOEXEC, 0600);
    if (store->fd < 0)
        return -errno;
    unlink (path);
    return 0;
}

static uint64_t
cut_store_take_place (struct cut_store *store)
{
    GArray *places = store->free_places;
    uint64_t place;

    if (places->len == 0)
        return store->places++;
    place = g_array_index (places, uint64_t, places->len - 1);
    g_array_set_size (places, places->len - 1);
    return place;
}

static struct cut_block *
cut_store_put_in_file (struct cut_store *store, const void *bytes, int *ret_error)
{
    int r = cut_store_open (store);
    struct cut_block *block;
    ssize_t n;

    if (r < 0) {
        *ret_error = r;
        return NULL;
    }
    block = g_malloc (sizeof *block);
    block->where = BLOCK_FILE;
    block->place = cut_store_take_place (store);
    n = pwrite (store->fd, bytes, CUT_BLOCK, (off_t) (block->place * CUT_BLOCK));
    if (n == CUT_BLOCK)
        return block;
    *ret_error = n < 0 ? -errno : -ENOSPC;
    cut_store_drop (store, block);
    return NULL;
}

struct cut_block *
cut_store_put (struct cut_store *store, const void *bytes, int *ret_error)
{
    struct cut_block *block;

    if (!bytes)
        return store->zeros;
    if (store->used + CUT_BLOCK > store->limit)
        return cut_store_put_in_file (store, bytes, ret_error);
    block = g_malloc (sizeof *block + CUT_BLOCK);
    block->where = BLOCK_MEMORY;
    memcpy (block->bytes, bytes, CUT_BLOCK);
    store->used += CUT_BLOCK;
    return block;
}

int
cut_store_get (struct cut_store *store, const struct cut_block *block, void *ret_bytes)
{
    ssize_t n;

    if (block->where == BLOCK_ZEROS)
        memset (ret_bytes, 0, CUT_BLOCK);
    if (block->where == BLOCK_MEMORY)
        memcpy (ret_bytes, block->bytes, CUT_BLOCK);
    if (block->where != BLOCK_FILE)
        return 0;
    n = pread (store->fd, ret_bytes, CUT_BLOCK, (off_t) (block->place * CUT_BLOCK));
    if (n == CUT_BLOCK)
        return 0;
    return n < 0 ? -errno : -EIO;
}

void
cut_store_drop (struct cut_store *store, struct cut_block *block)
{
    if (block == store->zeros)
        return;
    if (block->where == BLOCK_MEMORY)
        store->used -= CUT_BLOCK;
    else
        g_array_append_val (store->free_places, block->place);
    g_free (block);
}
