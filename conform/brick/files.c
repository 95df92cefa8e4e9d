/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations on inodes and open files: each procedure reads its arguments, asks storage, and writes
 * its results. The order of fields is a fact of GlusterFS 10.3. */
#include "conform/brick/request.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

/* --- attributes ------------------------------------------------------------------------------- */

static void
serve_stat (struct request *q)
{
    g_autoptr (inode_t) inode = get_inode (q);
    loc_t loc = { .inode = inode };
    struct stat_reply reply = { 0 };
    int r = inode ? sync_stat (q->client, &loc, NULL, &reply) : -ENOENT;

    put_result (q, r, NULL);
    put_buf (q, &reply.buf);
    stat_reply_drop (&reply);
}

static void
serve_fstat (struct request *q)
{
    struct fstat_reply reply = { 0 };
    int r;
    g_autoptr (fd_t) fd = get_fd (q, &r);

    if (fd)
        r = sync_fstat (q->client, fd, NULL, &reply);
    put_result (q, r, NULL);
    put_buf (q, &reply.buf);
    fstat_reply_drop (&reply);
}

static void
serve_setattr (struct request *q)
{
    g_autoptr (inode_t) inode = get_inode (q);
    loc_t loc = { .inode = inode };
    struct setattr_reply reply = { 0 };
    struct iatt changes;
    int r = -ENOENT;

    get_iatt (&q->in, &changes);
    if (inode)
        r = sync_setattr (q->client, &loc, &changes, xdr_get_u32 (&q->in), NULL, &reply);
    put_result (q, r, NULL);
    put_buf (q, &reply.statpre);
    put_buf (q, &reply.statpost);
    setattr_reply_drop (&reply);
}

static void
serve_fsetattr (struct request *q)
{
    struct fsetattr_reply reply = { 0 };
    struct iatt changes;
    int r;
    g_autoptr (fd_t) fd = get_fd (q, &r);

    get_iatt (&q->in, &changes);
    if (fd)
        r = sync_fsetattr (q->client, fd, &changes, xdr_get_u32 (&q->in), NULL, &reply);
    put_result (q, r, NULL);
    put_buf (q, &reply.statpre);
    put_buf (q, &reply.statpost);
    fsetattr_reply_drop (&reply);
}

static void
serve_access (struct request *q)
{
    g_autoptr (inode_t) inode = get_inode (q);
    loc_t loc = { .inode = inode };

    int r = -ENOENT;

    if (inode)
        r = sync_access (q->client, &loc, xdr_get_i32 (&q->in), NULL, NULL);
    put_result (q, r, NULL);
}

static void
serve_readlink (struct request *q)
{
    g_autoptr (inode_t) inode = get_inode (q);
    loc_t loc = { .inode = inode };
    struct readlink_reply reply = { 0 };
    int r = inode ? sync_readlink (q->client, &loc, PATH_MAX, NULL, &reply) : -ENOENT;

    put_result (q, r, NULL);
    put_buf (q, &reply.buf);
    xdr_put_string (&q->out, r < 0 ? "" : reply.path);
    readlink_reply_drop (&reply);
}

static void
serve_statfs (struct request *q)
{
    g_autoptr (inode_t) inode = get_inode (q);
    loc_t loc = { .inode = inode };
    struct statfs_reply reply = { 0 };
    int r = inode ? sync_statfs (q->client, &loc, NULL, &reply) : -ENOENT;

    put_result (q, r, NULL);
    put_statvfs (&q->out, &reply.buf);
    statfs_reply_drop (&reply);
}

/* --- open files ------------------------------------------------------------------------------- */

static void
open_answer (struct request *q, int r, fd_t *fd)
{
    put_result (q, r, NULL);
    xdr_put_u64 (&q->out, r < 0 ? 0 : fd_number (q, fd));
}

static void
serve_open (struct request *q)
{
    g_autoptr (inode_t) inode = get_inode (q);
    const uint32_t flags = get_open_flags (q);
    g_autoptr (fd_t) fd = fd_new (&q->brick->graph->fd_maker, inode, flags, q->client->pid);
    loc_t loc = { .inode = inode };

    open_answer (q, inode ? sync_open (q->client, &loc, flags, fd, NULL, NULL) : -ENOENT, fd);
}

static void
serve_opendir (struct request *q)
{
    g_autoptr (inode_t) inode = get_inode (q);
    g_autoptr (fd_t) fd = fd_new (&q->brick->graph->fd_maker, inode, O_RDONLY | O_DIRECTORY,
                                  q->client->pid);
    loc_t loc = { .inode = inode };

    open_answer (q, inode ? sync_opendir (q->client, &loc, fd, NULL, NULL) : -ENOENT, fd);
}

static void
serve_release (struct request *q)
{
    int64_t number;

    get_gfid (q);
    number = (int64_t) xdr_get_u64 (&q->in);
    g_hash_table_remove (q->peer->fds, &number);
    put_result (q, 0, NULL);
}

static void
serve_flush (struct request *q)
{
    int r;
    g_autoptr (fd_t) fd = get_fd (q, &r);

    put_result (q, fd ? sync_flush (q->client, fd, NULL, NULL) : r, NULL);
}

static void
serve_fsync (struct request *q)
{
    struct fsync_reply reply = { 0 };
    int r;
    g_autoptr (fd_t) fd = get_fd (q, &r);

    if (fd)
        r = sync_fsync (q->client, fd, xdr_get_i32 (&q->in), NULL, &reply);
    put_result (q, r, NULL);
    put_buf (q, &reply.prebuf);
    put_buf (q, &reply.postbuf);
    fsync_reply_drop (&reply);
}

static void
serve_fsyncdir (struct request *q)
{
    int r;
    g_autoptr (fd_t) fd = get_fd (q, &r);

    put_result (q, fd ? sync_fsyncdir (q->client, fd, xdr_get_i32 (&q->in), NULL, NULL) : r, NULL);
}

/* --- all -------------------------------------------------------------------------------------- */

static serve_fn *const procedures[] = {
    [WIRE_STAT] = serve_stat,
    [WIRE_READLINK] = serve_readlink,
    [WIRE_MKNOD] = serve_mknod,
    [WIRE_MKDIR] = serve_mkdir,
    [WIRE_UNLINK] = serve_unlink,
    [WIRE_RMDIR] = serve_rmdir,
    [WIRE_SYMLINK] = serve_symlink,
    [WIRE_RENAME] = serve_rename,
    [WIRE_LINK] = serve_link,
    [WIRE_TRUNCATE] = serve_truncate,
    [WIRE_OPEN] = serve_open,
    [WIRE_READ] = serve_read,
    [WIRE_WRITE] = serve_write,
    [WIRE_STATFS] = serve_statfs,
    [WIRE_FLUSH] = serve_flush,
    [WIRE_FSYNC] = serve_fsync,
    [WIRE_SETXATTR] = serve_setxattr,
    [WIRE_GETXATTR] = serve_getxattr,
    [WIRE_REMOVEXATTR] = serve_removexattr,
    [WIRE_OPENDIR] = serve_opendir,
    [WIRE_FSYNCDIR] = serve_fsyncdir,
    [WIRE_ACCESS] = serve_access,
    [WIRE_CREATE] = serve_create,
    [WIRE_FTRUNCATE] = serve_ftruncate,
    [WIRE_FSTAT] = serve_fstat,
    [WIRE_LOOKUP] = serve_lookup,
    [WIRE_INODELK] = serve_inodelk,
    [WIRE_FINODELK] = serve_finodelk,
    [WIRE_ENTRYLK] = serve_entrylk,
    [WIRE_FENTRYLK] = serve_fentrylk,
    [WIRE_XATTROP] = serve_xattrop,
    [WIRE_FXATTROP] = serve_fxattrop,
    [WIRE_FGETXATTR] = serve_fgetxattr,
    [WIRE_FSETXATTR] = serve_fsetxattr,
    [WIRE_SETATTR] = serve_setattr,
    [WIRE_FSETATTR] = serve_fsetattr,
    [WIRE_READDIRP] = serve_readdirp,
    [WIRE_RELEASE] = serve_release,
    [WIRE_RELEASEDIR] = serve_release,
    [WIRE_FREMOVEXATTR] = serve_fremovexattr,
    [WIRE_FALLOCATE] = serve_fallocate,
    [WIRE_DISCARD] = serve_discard,
    [WIRE_ZEROFILL] = serve_zerofill,
    [WIRE_SEEK] = serve_seek,
    [WIRE_COPY_FILE_RANGE] = serve_copy_file_range,
};

bool
files_serve (struct request *q, uint32_t procedure)
{
    if (procedure >= G_N_ELEMENTS (procedures) || !procedures[procedure])
        return false;
    procedures[procedure] (q);
    return true;
}
