/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file of a store. Its functions are for the writer alone. */
#include "core/store/internal.h"

#include "core/base/errors.h"
#include "core/data/iobuf.h"
#include "core/data/loc.h"
#include "core/edge/sync-names.h"
#include "core/time/random.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define PIECE (1 << 20)          /* bytes of a read */
#define STORE_MAX ((guint) 1 << 30) /* bytes of a file */

/* --- bytes ------------------------------------------------------------------------------------ */

int
store_file_read_all (struct store *store, GByteArray *ret_bytes)
{
    struct client *client = store_way (store)->client;
    int r = 1;

    while (r > 0) {
        struct readv_reply reply;

        r = sync_readv (client, store->fd, PIECE, ret_bytes->len, 0, NULL, &reply);
        for (int32_t i = 0; r > 0 && i < reply.count; i++)
            g_byte_array_append (ret_bytes, reply.vector[i].iov_base,
                                 (guint) reply.vector[i].iov_len);
        readv_reply_drop (&reply);
        if (ret_bytes->len > STORE_MAX)
            return -EFBIG;
    }
    return error_or_0 (r);
}

static int
store_write_all (struct client *client, fd_t *fd, const GByteArray *bytes, off_t offset)
{
    guint done = 0;

    while (done < bytes->len) {
        struct iovec iov = { bytes->data + done, MIN (bytes->len - done, PIECE) };
        const int r = sync_writev (client, fd, &iov, 1, offset + done, 0, NULL, NULL, NULL);

        if (r <= 0)
            return r < 0 ? r : -EIO;
        done += (guint) r;
    }
    return 0;
}

/* --- a new file ------------------------------------------------------------------------------- */

static void
store_file_is (struct store *store, fd_t *fd, const inode_t *inode)
{
    store->fd = fd;
    pthread_mutex_lock (&store->lock);
    store->gfid = inode->gfid;
    pthread_mutex_unlock (&store->lock);
}

/* The new file is complete and durable before it gets the name. */
static int
store_fill_file (const struct store_way *way, inode_t *inode, const GByteArray *bytes,
                 fd_t **ret_fd)
{
    int r = sync_name_open (way->client, way->plan.child->fd_maker, inode, O_RDWR, ret_fd);

    if (r == 0)
        r = store_write_all (way->client, *ret_fd, bytes, 0);
    return r < 0 ? r : error_or_0 (sync_fsync (way->client, *ret_fd, 0, NULL, NULL));
}

int
store_file_replace (struct store *store, const GByteArray *bytes)
{
    const struct store_way *way = store_way (store);
    struct random_source source = { random_seed () };
    g_autofree char *name = g_strdup_printf ("%s.new.%016" G_GINT64_MODIFIER "x", way->plan.name,
                                             random_next (&source));
    g_autoptr (inode_t) inode = NULL;
    g_autoptr (fd_t) fd = NULL;
    int r = sync_name_mknod (way->client, way->plan.directory, name, S_IFREG | 0600, 0, &inode);

    if (r < 0)
        return r;
    r = store_fill_file (way, inode, bytes, &fd);
    if (r == 0)
        r = sync_name_rename (way->client, inode, way->plan.directory, name, way->plan.directory,
                              way->plan.name, 0);
    if (r < 0) {
        (void) sync_name_remove (way->client, way->plan.directory, name, inode);
        return r;
    }
    fd_unref (store->fd);
    store_file_is (store, g_steal_pointer (&fd), inode);
    store->end = bytes->len;
    return sync_name_fsyncdir (way->client, way->plan.child->fd_maker, way->plan.directory);
}

int
store_file_open (struct store *store)
{
    const struct store_way *way = store_way (store);
    g_autoptr (inode_t) inode = NULL;
    struct iatt buf;
    fd_t *fd = NULL;
    const int flags = way->plan.read_only ? O_RDONLY : O_RDWR;
    int r = sync_name_look (way->client, way->plan.directory, way->plan.name, &inode, &buf);

    if (r == 0)
        r = sync_name_open (way->client, way->plan.child->fd_maker, inode, flags, &fd);
    if (r == 0)
        store_file_is (store, fd, inode);
    return r;
}

int
store_file_append (struct store *store, const GByteArray *bytes)
{
    const int r = store_write_all (store_way (store)->client, store->fd, bytes, store->end);

    if (r == 0)
        store->end += bytes->len;
    return r;
}

int
store_file_sync (struct store *store)
{
    return error_or_0 (sync_fsync (store_way (store)->client, store->fd, 1, NULL, NULL));
}

int
store_file_trim (struct store *store)
{
    const int r = sync_ftruncate (store_way (store)->client, store->fd, store->end, NULL, NULL);

    return r < 0 ? r : store_file_sync (store);
}

void
store_file_clean (struct store *store)
{
    const struct store_way *way = store_way (store);
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autofree char *prefix = g_strconcat (way->plan.name, ".new.", NULL);

    if (sync_names_list (way->client, way->plan.child->fd_maker, way->plan.directory, names) < 0)
        return;
    for (guint i = 0; i < names->len; i++)
        if (g_str_has_prefix (names->pdata[i], prefix))
            (void) sync_name_remove_tree (way->client, way->plan.child->fd_maker,
                                          way->plan.directory, names->pdata[i]);
}
