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
#define ATTEMPTS 10              /* to open a file that other processes replace */

/* --- bytes ------------------------------------------------------------------------------------ */

static int
store_read_all (struct client *client, fd_t *fd, GByteArray *ret_bytes)
{
    int r = 1;

    while (r > 0) {
        struct readv_reply reply;

        r = sync_readv (client, fd, PIECE, ret_bytes->len, 0, NULL, &reply);
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

static int
store_directory_sync (const struct store_way *way)
{
    g_autoptr (fd_t) fd = NULL;
    int r = sync_name_open (way->client, way->plan.child->fd_maker, way->plan.directory,
                            O_RDONLY | O_DIRECTORY, &fd);

    if (r == 0)
        r = sync_fsyncdir (way->client, fd, 0, NULL, NULL);
    return error_or_0 (r);
}

/* --- the lock --------------------------------------------------------------------------------- */

/* Returns -EBUSY if another process has locked the file. */
static int
store_lock_file (const struct store_way *way, fd_t *fd)
{
    struct gf_flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    const int r = sync_lk (way->client, fd, F_SETLK, &lock, NULL, NULL);

    if (r == -EAGAIN || r == -EACCES)
        return -EBUSY;
    return r == -EOPNOTSUPP || r == -ENOSYS ? 0 : error_or_0 (r);
}

static void
store_unlock_file (const struct store_way *way, fd_t *fd)
{
    struct gf_flock lock = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

    (void) sync_lk (way->client, fd, F_SETLK, &lock, NULL, NULL);
}

/* --- a new file ------------------------------------------------------------------------------- */

static int
store_make_file (const struct store_way *way, const char *name, inode_t **ret_inode)
{
    g_autoptr (inode_t) fresh = inode_new (way->plan.directory->table);
    loc_t loc = { .name = name, .parent = way->plan.directory, .inode = fresh };
    struct mknod_reply reply;
    int r = sync_mknod (way->client, &loc, S_IFREG | 0600, 0, 0, NULL, &reply);

    if (r >= 0)
        *ret_inode = inode_link (reply.inode, way->plan.directory, name, &reply.buf);
    mknod_reply_drop (&reply);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

static void
store_file_is (struct store *store, fd_t *fd, const inode_t *inode)
{
    store->fd = fd;
    pthread_mutex_lock (&store->lock);
    store->gfid = inode->gfid;
    pthread_mutex_unlock (&store->lock);
}

/* The new file is complete, durable and locked before it gets the name. */
static int
store_fill_file (const struct store_way *way, inode_t *inode, const GByteArray *bytes,
                 fd_t **ret_fd)
{
    int r = sync_name_open (way->client, way->plan.child->fd_maker, inode, O_RDWR, ret_fd);

    if (r == 0)
        r = store_write_all (way->client, *ret_fd, bytes, 0);
    if (r == 0)
        r = error_or_0 (sync_fsync (way->client, *ret_fd, 0, NULL, NULL));
    return r == 0 ? store_lock_file (way, *ret_fd) : r;
}

static int
store_name_file (struct store *store, const GByteArray *bytes, uint32_t flags)
{
    const struct store_way *way = store_way (store);
    struct random_source source = { random_seed () };
    g_autofree char *name = g_strdup_printf ("%s.new.%016" G_GINT64_MODIFIER "x", way->plan.name,
                                             random_next (&source));
    g_autoptr (inode_t) inode = NULL;
    g_autoptr (fd_t) fd = NULL;
    int r = store_make_file (way, name, &inode);

    if (r < 0)
        return r;
    r = store_fill_file (way, inode, bytes, &fd);
    if (r == 0)
        r = sync_name_rename (way->client, inode, way->plan.directory, name, way->plan.directory,
                              way->plan.name, flags);
    if (r < 0) {
        (void) sync_name_remove (way->client, way->plan.directory, name, inode);
        return r;
    }
    store_file_close (store);
    store_file_is (store, g_steal_pointer (&fd), inode);
    store->end = bytes->len;
    return store_directory_sync (way);
}

int
store_file_replace (struct store *store, const GByteArray *bytes)
{
    return store_name_file (store, bytes, 0);
}

static int
store_file_make (struct store *store)
{
    g_autoptr (GByteArray) bytes = g_byte_array_new ();

    g_byte_array_append (bytes, (const guint8 *) STORE_MAGIC, STORE_MAGIC_SIZE);
    return store_name_file (store, bytes, RENAME_NOREPLACE);
}

/* --- the file of the name --------------------------------------------------------------------- */

/* Returns -EAGAIN if another process has replaced the file meanwhile. */
static int
store_file_is_named (const struct store_way *way, const inode_t *inode)
{
    g_autoptr (inode_t) now = NULL;
    struct iatt buf;
    const int r = sync_name_look (way->client, way->plan.directory, way->plan.name, &now, &buf);

    if (r < 0)
        return r == -ENOENT ? -EAGAIN : r;
    return gfid_equal (&buf.ia_gfid, &inode->gfid) ? 0 : -EAGAIN;
}

static int
store_file_take (struct store *store)
{
    const struct store_way *way = store_way (store);
    g_autoptr (inode_t) inode = NULL;
    g_autoptr (fd_t) fd = NULL;
    struct iatt buf;
    int r = sync_name_look (way->client, way->plan.directory, way->plan.name, &inode, &buf);

    if (r == 0)
        r = sync_name_open (way->client, way->plan.child->fd_maker, inode, O_RDWR, &fd);
    if (r == 0)
        r = store_lock_file (way, fd);
    if (r == 0)
        r = store_file_is_named (way, inode);
    if (r < 0)
        return r;
    store_file_is (store, g_steal_pointer (&fd), inode);
    return 0;
}

int
store_file_open (struct store *store, GByteArray *ret_bytes)
{
    int r = -EAGAIN;

    for (int i = 0; (r == -EAGAIN || r == -EEXIST) && i < ATTEMPTS; i++) {
        r = store_file_take (store);
        if (r == -ENOENT)
            r = store_file_make (store);
    }
    if (r == 0)
        r = store_read_all (store_way (store)->client, store->fd, ret_bytes);
    if (r < 0)
        store_file_close (store);
    return r == -EAGAIN || r == -EEXIST ? -EBUSY : r;
}

void
store_file_close (struct store *store)
{
    if (store->fd)
        store_unlock_file (store_way (store), store->fd);
    g_clear_pointer (&store->fd, fd_unref);
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
