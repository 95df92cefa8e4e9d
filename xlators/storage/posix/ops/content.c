/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The content of a small file in the answer to its lookup: for caches, which then need neither open
 * nor read it. Only a caller that could open the file gets it. Reading it has no visible effect:
 * the atime stays. If the atime would change, or if the file is leased or just changing, there is
 * no content, and the cache reads the file.
 */
#include "../posix.h"

#define CONTENT_MAX (1 << 20)

/* As the caller. Returns a descriptor that does not change the atime, or a negative errno. */
static int
content_open (call_frame_t *frame, xlator_t *this, int path)
{
    const posix_private_t *priv = posix_priv (this);
    int r = posix_act_as (priv, frame), fd;

    if (r < 0)
        return r;
    fd = posix_openat (this, AT_FDCWD, posix_path_of (path).text, O_RDONLY | O_NONBLOCK | O_NOCTTY,
                       0);
    if (fd < 0)
        return fd;
    posix_act_as_root (priv);
    if (fcntl (fd, F_SETFL, O_NOATIME) == 0)
        return fd;
    close (fd);
    return -EPERM;
}

static bool
content_is_same (const struct iatt *a, const struct iatt *b)
{
    return a->ia_size == b->ia_size && a->ia_mtime == b->ia_mtime
        && a->ia_mtime_nsec == b->ia_mtime_nsec && a->ia_ctime == b->ia_ctime
        && a->ia_ctime_nsec == b->ia_ctime_nsec;
}

/* Reads the whole file into buf, which has room for one byte more. Returns false if the file has
 * changed since its attributes were read. */
static bool
content_read (xlator_t *this, int fd, char *buf, const struct iatt *looked)
{
    struct iatt now;
    ssize_t n;

    do
        n = pread (fd, buf, looked->ia_size + 1, 0);
    while (n < 0 && errno == EINTR);
    return n >= 0 && (uint64_t) n == looked->ia_size
        && posix_iatt (this, fd, &looked->ia_gfid, &now) == 0
        && content_is_same (looked, &now);
}

dict_t *
posix_content (call_frame_t *frame, xlator_t *this, const struct posix_found *found,
               const dict_t *xdata)
{
    const struct iatt *buf = &found->buf;
    struct iobuf *iobuf;
    dict_t *dict = NULL;
    uint64_t limit;
    int fd;

    if (!xdata || !dict_get_u64 (xdata, POSIX_CONTENT_KEY, &limit) || buf->ia_type != IA_IFREG
        || buf->ia_size > MIN (limit, CONTENT_MAX) || posix_priv (this)->o_direct)
        return NULL;
    fd = content_open (frame, this, found->pin.fd);
    if (fd < 0)
        return NULL;
    iobuf = iobuf_new (buf->ia_size + 1);
    if (iobuf && content_read (this, fd, iobuf->ptr, buf)) {
        dict = dict_new ();
        dict_set (dict, POSIX_CONTENT_KEY, iobuf->ptr, buf->ia_size);
    }
    iobuf_unref (iobuf);
    close (fd);
    return dict;
}
