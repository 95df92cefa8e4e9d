/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/realm/copy-between.h"

#include "core/base/errors.h"
#include "core/edge/stack.h"
#include "core/realm/passthrough.h"
#include "core/realm/realm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_PIECE ((uint64_t) 1 << 20)

/* A copy under way, and how far it is. */
struct copying {
    struct copy_between *copy;
    off_t at, end;    /* what is copied next; the end of the range */
    off_t data_end;   /* of the data at `at`: from there on a hole may be. At first `at` */
    int in, out;      /* the kernel's; -1: none */
};

static bool
copying_stops (const struct copying *copying)
{
    const struct copy_between *copy = copying->copy;

    return copy->stops && copy->stops (copy->data, copying->at);
}

static size_t
copying_piece (const struct copying *copying)
{
    return (size_t) MIN (COPY_PIECE, (uint64_t) (copying->data_end - copying->at));
}

/* Moves to the next data at `at` or behind it. Returns 1, 0 if none is left, or a negative
 * errno. */
static int
copying_next_data (struct copying *copying,
                   int64_t (*seek) (const struct copying *copying, off_t offset, int whence))
{
    int64_t r;

    if (copying->at < copying->data_end)
        return 1;
    if (copying->at >= copying->end)
        return 0;
    r = seek (copying, copying->at, SEEK_DATA);
    if (r == -ENXIO)
        return 0;
    copying->at = r < 0 ? copying->at : r; /* storage that can't tell has data everywhere */
    if (copying->at >= copying->end)
        return 0;
    r = r < 0 ? r : seek (copying, copying->at, SEEK_HOLE);
    copying->data_end = r < 0 ? copying->end : MIN (r, copying->end);
    return 1;
}

static int
copying_run (struct copying *copying,
             int64_t (*seek) (const struct copying *copying, off_t offset, int whence),
             int (*piece) (const struct copying *copying, size_t size))
{
    int r;

    while ((r = copying_next_data (copying, seek)) > 0) {
        if (copying_stops (copying))
            return -ECANCELED;
        r = piece (copying, copying_piece (copying));
        if (r <= 0) /* 0: the source has become shorter */
            return r;
        copying->at += r;
    }
    return r;
}

/* --- by the kernel ---------------------------------------------------------------------------- */

/* Opens the file that a storage lends. descriptor: O_PATH, or without the right flags. */
static int
copy_open_lent (int descriptor, void *data)
{
    const int flags = *(const int *) data;
    char path[32];
    int fd;

    snprintf (path, sizeof path, "/proc/self/fd/%d", descriptor);
    fd = open (path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
                         | (flags == O_RDONLY ? O_NOATIME : 0));
    if (fd < 0 && errno == EPERM) /* O_NOATIME takes the owner */
        fd = open (path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

/* The graph refuses what the file is not open for, and so must this. */
static bool
copy_is_open_for (const fd_t *fd, enum fop op)
{
    const uint32_t not = op == FOP_readv ? O_WRONLY : O_RDONLY;

    return (fd->flags & O_ACCMODE) != not;
}

/* Returns a descriptor for the kernel, or a negative errno if there is none. */
static int
copy_borrow (struct client *client, fd_t *fd, enum fop op, int flags)
{
    xlator_t *child = FIRST_CHILD (&client->xlator), *storage;
    inode_t *inode;
    call_stack_t *root;
    int r;

    storage = copy_is_open_for (fd, op) ? passthrough_lender (child, fd->inode, op) : NULL;
    inode = storage ? realm_inode_from (child, storage, fd->inode) : NULL;
    if (!inode)
        return -EXDEV;
    root = client_stack_new (client, op);
    r = storage->api->passthrough.lend (storage, &root->frames[0], inode, copy_open_lent, &flags);
    stack_done (root);
    return r;
}

static int64_t
copy_kernel_seek (const struct copying *copying, off_t offset, int whence)
{
    const off_t r = lseek (copying->in, offset, whence);

    return r < 0 ? -errno : r;
}

static int
copy_kernel_piece (const struct copying *copying, size_t size)
{
    off_t from = copying->at, to = copying->at;
    const ssize_t r = copy_file_range (copying->in, &from, copying->out, &to, size, 0);

    return r < 0 ? -errno : (int) r;
}

static int
copy_reflink (const struct copying *copying)
{
    struct file_clone_range range = { .src_fd = copying->in,
                                      .src_offset = (uint64_t) copying->at,
                                      .src_length = (uint64_t) (copying->end - copying->at),
                                      .dest_offset = (uint64_t) copying->at };
    struct stat st;

    if (fstat (copying->in, &st) < 0 || !S_ISREG (st.st_mode))
        return -EXDEV;
    if (copying->end >= st.st_size)
        range.src_length = 0; /* to the end of the source, wherever that is now */
    return ioctl (copying->out, FICLONERANGE, &range) < 0 ? -errno : 0;
}

/* Returns whether the graph would fail in the same way. */
static bool
copy_error_is_final (int r)
{
    return r == -ENOSPC || r == -EDQUOT || r == -EFBIG || r == -EIO || r == -ECANCELED;
}

/* Returns 1 if the graph has to copy the rest. */
static int
copy_by_kernel (struct copying *copying)
{
    int r = 1;

    if (copying->in >= 0 && copying->out >= 0) {
        r = copy_reflink (copying);
        if (r < 0)
            r = copying_run (copying, copy_kernel_seek, copy_kernel_piece);
    }
    if (copying->in >= 0)
        close (copying->in);
    if (copying->out >= 0)
        close (copying->out);
    return r < 0 && !copy_error_is_final (r) ? 1 : r;
}

/* --- by the graph ----------------------------------------------------------------------------- */

static int64_t
copy_graph_seek (const struct copying *copying, off_t offset, int whence)
{
    const struct copy_between *copy = copying->copy;
    struct seek_reply reply;
    const int r = sync_seek (copy->reader, copy->from, offset, whence, NULL, &reply);
    const int64_t found = r < 0 ? r : reply.offset;

    seek_reply_drop (&reply);
    return found;
}

static int
copy_graph_piece (const struct copying *copying, size_t size)
{
    const struct copy_between *copy = copying->copy;
    struct readv_reply reply;
    int r = sync_readv (copy->reader, copy->from, size, copying->at, 0, NULL, &reply), n = r;

    if (n > 0)
        r = sync_writev (copy->writer, copy->to, reply.vector, reply.count, copying->at,
                         WRITE_AT_OFFSET, reply.iobref, NULL, NULL);
    readv_reply_drop (&reply);
    return r;
}

/* --- both ------------------------------------------------------------------------------------- */

int
copy_between (struct copy_between *copy)
{
    struct copying copying = { .copy = copy, .at = copy->offset,
                               .end = copy->offset + (off_t) copy->size,
                               .data_end = copy->offset, .in = -1, .out = -1 };
    int r;

    copy->by_kernel = false;
    if (copying_stops (&copying))
        return -ECANCELED;
    copying.in = copy_borrow (copy->reader, copy->from, FOP_readv, O_RDONLY);
    if (copying.in >= 0)
        copying.out = copy_borrow (copy->writer, copy->to, FOP_writev, O_WRONLY);
    r = copy_by_kernel (&copying);
    copy->by_kernel = r == 0;
    return r > 0 ? copying_run (&copying, copy_graph_seek, copy_graph_piece) : r;
}
