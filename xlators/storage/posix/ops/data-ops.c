/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes of open files: readv, writev, copy_file_range, and seek. */
#include "../posix.h"

#include <limits.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 0x20
#endif

#define DATA_MAX (64 << 20)          /* bytes per read or write */
#define DATA_COPY_MAX (1 << 30)      /* bytes per copy_file_range */
#define DATA_COPY_CHUNK (1 << 20)    /* bytes per step when copying by reading and writing */
#define DATA_COPY_SLOWLY_MAX (16 << 20)

/* Reads until size or the end of the file. Returns the number of bytes or a negative errno. */
static ssize_t
data_read (int fd, void *buf, size_t size, off_t offset)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = pread (fd, (char *) buf + done, size - done, offset + (off_t) done);

        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return done > 0 ? (ssize_t) done : -errno;
        done += (size_t) n;
    }
    return (ssize_t) done;
}

/* A transfer that O_DIRECT does not permit is done without it, in two cases: an option asked for
 * O_DIRECT, or the caller has since removed it with fcntl (F_SETFL), as dd does for the rest of a
 * file. flags are the current ones. Returns a descriptor, or -1. */
static int
data_without_direct (xlator_t *this, const struct posix_use *use, uint32_t flags)
{
    int fd;

    if (flags & O_DIRECT || !(use->pfd->flags & O_DIRECT || posix_priv (this)->o_direct))
        return -1;
    fd = posix_openat (this, AT_FDCWD, posix_path_of (use->fd).text,
                       (int) use->pfd->flags & (O_ACCMODE | O_APPEND | O_SYNC | O_DSYNC), 0);
    return fd < 0 ? -1 : fd;
}

static ssize_t
data_readv (xlator_t *this, const struct posix_use *use, size_t size, off_t offset, uint32_t flags,
            struct iobref *iobref, struct iovec *ret_iov)
{
    struct iobuf *iobuf;
    int other;
    ssize_t n;

    if (size > DATA_MAX || offset < 0)
        return -EINVAL;
    iobuf = iobuf_new (size);
    if (!iobuf)
        return -ENOMEM;
    n = data_read (use->fd, iobuf->ptr, size, offset);
    if (n == -EINVAL && (other = data_without_direct (this, use, flags)) >= 0) {
        n = data_read (other, iobuf->ptr, size, offset);
        close (other);
    }
    if (n >= 0) {
        *ret_iov = (struct iovec){ iobuf->ptr, (size_t) n };
        iobref_add (iobref, iobuf);
    }
    iobuf_unref (iobuf);
    return n;
}

/* Reads the attributes of the file, if a translator above wants them. */
static bool
data_attributes (xlator_t *this, const struct posix_use *use, struct iatt *ret_buf)
{
    return (this->wants_above & WANTS_DATA_ATTRIBUTES)
        && posix_iatt (this, use->fd, &use->pfd->gfid, ret_buf) == 0;
}

void
posix_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
             uint32_t flags, dict_t *xdata)
{
    struct iobref *iobref = iobref_new ();
    struct iovec iov = { 0 };
    posix_use_t use = { 0 };
    struct iatt buf;
    ssize_t n = posix_use_begin (this, fd, &use);
    bool known;

    if (n == 0)
        n = data_readv (this, &use, size, offset, flags, iobref, &iov);
    known = n >= 0 && data_attributes (this, &use, &buf);
    posix_use_end (&use);
    STACK_UNWIND (readv, frame, POSIX_RET (n), n < 0 ? NULL : &iov, n < 0 ? 0 : 1,
                  known ? &buf : NULL, n < 0 ? NULL : iobref, NULL);
    iobref_unref (iobref);
}

/* One pwritev of the data after the first `done` bytes. */
static ssize_t
data_write_some (int fd, const struct iovec *vector, int count, size_t done, off_t offset, int way)
{
    struct iovec rest[64];
    int n = 0;

    for (; count > 0 && done >= vector->iov_len; vector++, count--)
        done -= vector->iov_len;
    for (; n < count && n < (int) G_N_ELEMENTS (rest); n++)
        rest[n] = vector[n];
    if (n == 0)
        return 0;
    rest[0].iov_base = (char *) rest[0].iov_base + done;
    rest[0].iov_len -= done;
    if (way != 0)
        return pwritev2 (fd, rest, n, offset, way);
    return n == 1 ? pwrite (fd, rest[0].iov_base, rest[0].iov_len, offset)
                  : pwritev (fd, rest, n, offset);
}

/* Writes all data, as far as there is room; way is RWF_NOAPPEND or 0. Returns the number of bytes,
 * or a negative errno if there are none. */
static ssize_t
data_write (int fd, const struct iovec *vector, int count, off_t offset, int way)
{
    const size_t size = iov_length (vector, count);
    size_t done = 0;

    while (done < size) {
        ssize_t n = data_write_some (fd, vector, count, done, offset + (off_t) done, way);

        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return done > 0 ? (ssize_t) done : -errno;
        done += (size_t) n;
    }
    return (ssize_t) done;
}

/* O_DIRECT refused the write. Tries again from aligned memory, and then without O_DIRECT if the
 * caller does not ask for it now. */
static ssize_t
data_write_aligned (xlator_t *this, const struct posix_use *use, const struct iovec *vector,
                    int count, off_t offset, uint32_t flags)
{
    const size_t size = iov_length (vector, count);
    const int way = flags & WRITE_AT_OFFSET ? RWF_NOAPPEND : 0;
    struct iobuf *iobuf = iobuf_new (size);
    struct iovec one;
    ssize_t n;
    int other;

    if (!iobuf)
        return -ENOMEM;
    iov_unload (iobuf->ptr, size, vector, count);
    one = (struct iovec){ iobuf->ptr, size };
    n = data_write (use->fd, &one, 1, offset, way);
    if (n == -EINVAL && (other = data_without_direct (this, use, flags)) >= 0) {
        n = data_write (other, &one, 1, offset, way);
        close (other);
    }
    iobuf_unref (iobuf);
    return n;
}

/* For a system without RWF_NOAPPEND, before Linux 6.9: through a descriptor that does not
 * append. */
static ssize_t
data_write_not_appending (xlator_t *this, const struct posix_use *use, const struct iovec *vector,
                          int count, off_t offset)
{
    int fd = posix_openat (this, AT_FDCWD, posix_path_of (use->fd).text,
                           (int) use->pfd->flags & (O_ACCMODE | O_SYNC | O_DSYNC), 0);
    ssize_t n = fd < 0 ? fd : data_write (fd, vector, count, offset, 0);

    if (fd >= 0)
        close (fd);
    return n;
}

static ssize_t
data_writev (call_frame_t *frame, xlator_t *this, const struct posix_use *use,
             const struct iovec *vector, int count, off_t offset, uint32_t flags,
             struct posix_change *change)
{
    const int way = flags & WRITE_AT_OFFSET ? RWF_NOAPPEND : 0;
    int r = posix_reserve_check (this);
    ssize_t n;

    if (r < 0)
        return r;
    if (count < 0 || offset < 0 || iov_length (vector, count) > DATA_MAX)
        return -EINVAL;
    r = posix_act_as_owner (posix_priv (this), frame);
    if (r < 0)
        return r;
    posix_before (frame, this, WANTS_DATA_ATTRIBUTES, use->fd, &use->pfd->gfid, change);
    n = data_write (use->fd, vector, count, offset, way);
    if (n == -EINVAL && (fcntl (use->fd, F_GETFL) & O_DIRECT))
        n = data_write_aligned (this, use, vector, count, offset, flags);
    if (n == -EOPNOTSUPP && way != 0)
        n = data_write_not_appending (this, use, vector, count, offset);
    posix_after (this, use->fd, &use->pfd->gfid, change);
    return n;
}

void
posix_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
              off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    struct posix_change change = { 0 };
    posix_use_t use = { 0 };
    ssize_t n = posix_use_begin (this, fd, &use);

    if (n == 0)
        n = data_writev (frame, this, &use, vector, count, offset, flags, &change);
    posix_use_end (&use);
    STACK_UNWIND (writev, frame, POSIX_RET (n), posix_pre (&change, n), posix_post (&change, n),
                  NULL);
}

/* If the system can't copy: copies a bounded part by reading and writing. */
static ssize_t
data_copy_slowly (int in, off_t off_in, int out, off_t off_out, size_t len)
{
    struct iobuf *iobuf = iobuf_new (DATA_COPY_CHUNK);
    ssize_t done = 0, n = 0, written;

    if (!iobuf)
        return -ENOMEM;
    len = MIN (len, DATA_COPY_SLOWLY_MAX);
    while ((size_t) done < len) {
        n = data_read (in, iobuf->ptr, MIN (len - (size_t) done, DATA_COPY_CHUNK), off_in + done);
        if (n <= 0)
            break;
        written = data_write (out, &(struct iovec){ iobuf->ptr, (size_t) n }, 1, off_out + done, 0);
        if (written < 0)
            n = written;
        else
            done += written;
        if (written < n || written < 0)
            break;
    }
    iobuf_unref (iobuf);
    return done > 0 || n >= 0 ? done : n;
}

/* Returns len, as far as an answer can tell it. */
static ssize_t
data_reflink (const struct posix_use *in, off_t off_in, const struct posix_use *out, off_t off_out,
              size_t len)
{
    struct file_clone_range range = { .src_fd = in->fd, .src_offset = (uint64_t) off_in,
                                      .dest_offset = (uint64_t) off_out };

    if (ioctl (out->fd, FICLONERANGE, &range) == 0)
        return (ssize_t) MIN (len, DATA_COPY_MAX);
    return errno == ENOTTY || errno == ENOSYS ? -EOPNOTSUPP : -errno;
}

static ssize_t
data_copy (call_frame_t *frame, xlator_t *this, const struct posix_use *in, off_t off_in,
           const struct posix_use *out, off_t off_out, size_t len, uint32_t flags, bool reflink)
{
    loff_t from = off_in, to = off_out;
    int r = posix_reserve_check (this);
    ssize_t n;

    if (r == 0)
        r = posix_act_as_owner (posix_priv (this), frame);
    if (r < 0)
        return r;
    if (reflink)
        return data_reflink (in, off_in, out, off_out, len);
    do
        n = copy_file_range (in->fd, &from, out->fd, &to, MIN (len, DATA_COPY_MAX), flags);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return n;
    if (errno != EXDEV && errno != EOPNOTSUPP && errno != ENOSYS)
        return -errno;
    return data_copy_slowly (in->fd, off_in, out->fd, off_out, len);
}

void
posix_copy_file_range (call_frame_t *frame, xlator_t *this, fd_t *fd_in, off_t off_in, fd_t *fd_out,
                       off_t off_out, size_t len, uint32_t flags, dict_t *xdata)
{
    struct posix_change change = { 0 };
    posix_use_t in = { 0 }, out = { 0 };
    struct iatt buf;
    ssize_t n = posix_use_begin (this, fd_in, &in);
    bool known;

    if (n >= 0)
        n = posix_use_begin (this, fd_out, &out);
    if (n >= 0 && (off_in < 0 || off_out < 0))
        n = -EINVAL;
    if (n >= 0) {
        posix_before (frame, this, WANTS_DATA_ATTRIBUTES, out.fd, &out.pfd->gfid, &change);
        n = data_copy (frame, this, &in, off_in, &out, off_out, len, flags,
                       dict_has (xdata, POSIX_REFLINK_KEY));
        posix_after (this, out.fd, &out.pfd->gfid, &change);
    }
    known = n >= 0 && data_attributes (this, &in, &buf);
    posix_use_end (&in);
    posix_use_end (&out);
    STACK_UNWIND (copy_file_range, frame, POSIX_RET (n), known ? &buf : NULL,
                  posix_pre (&change, n), posix_post (&change, n), NULL);
}

void
posix_seek (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, int32_t what,
            dict_t *xdata)
{
    posix_use_t use = { 0 };
    off_t at = 0;
    int r = posix_use_begin (this, fd, &use);

    if (r >= 0)
        r = what == SEEK_DATA || what == SEEK_HOLE ? 0 : -EINVAL;
    if (r == 0) {
        at = lseek (use.fd, offset, what);
        r = posix_result (at);
    }
    posix_use_end (&use);
    STACK_UNWIND (seek, frame, POSIX_RET (r), r < 0 ? 0 : at, NULL);
}
