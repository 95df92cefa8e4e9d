/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The worker's own synchronous requests to the child. */
#include "power-cut.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static struct client *
cut_client_of (const xlator_t *this)
{
    return cut_priv (this)->client;
}

int
cut_stat (xlator_t *this, inode_t *inode, fd_t *fd, struct iatt *ret_buf)
{
    struct fstat_reply opened;
    int r;

    if (!fd)
        return sync_name_stat (cut_client_of (this), inode, ret_buf);
    r = sync_fstat (cut_client_of (this), fd, NULL, &opened);
    *ret_buf = opened.buf;
    fstat_reply_drop (&opened);
    return error_or_0 (r);
}

int
cut_open (xlator_t *this, inode_t *inode, uint32_t flags, fd_t **ret_fd)
{
    return sync_name_open (cut_client_of (this), this->fd_maker, inode, flags, ret_fd);
}

int
cut_link (xlator_t *this, inode_t *inode, inode_t *dir, const char *name)
{
    return sync_name_link (cut_client_of (this), inode, dir, name);
}

int
cut_rename (xlator_t *this, inode_t *inode, inode_t *dir, const char *name, inode_t *newdir,
            const char *newname)
{
    return sync_name_rename (cut_client_of (this), inode, dir, name, newdir, newname, 0);
}

int
cut_mkdir (xlator_t *this, inode_t *dir, const char *name, mode_t mode, inode_t **ret_inode)
{
    return sync_name_mkdir (cut_client_of (this), dir, name, mode, ret_inode);
}

int
cut_look (xlator_t *this, inode_t *dir, const char *name, inode_t **ret_inode, struct iatt *ret_buf)
{
    return sync_name_look (cut_client_of (this), dir, name, ret_inode, ret_buf);
}

int
cut_remove (xlator_t *this, inode_t *dir, const char *name, inode_t *inode)
{
    return sync_name_remove (cut_client_of (this), dir, name, inode);
}

int
cut_remove_tree (xlator_t *this, inode_t *dir, const char *name)
{
    return sync_name_remove_tree (cut_client_of (this), this->fd_maker, dir, name);
}

/* --- attributes --- */

int
cut_set_meta (xlator_t *this, inode_t *inode, const struct iatt *to, uint32_t valid)
{
    struct iatt copy = *to;
    loc_t loc = { .inode = inode };

    return error_or_0 (sync_setattr (cut_client_of (this), &loc, &copy, valid, NULL, NULL));
}

int
cut_get_xattr (xlator_t *this, inode_t *inode, const char *name, GBytes **ret_value)
{
    loc_t loc = { .inode = inode };
    struct getxattr_reply reply;
    const void *value;
    size_t size;
    int r = sync_getxattr (cut_client_of (this), &loc, name, NULL, &reply);

    *ret_value = NULL;
    value = r >= 0 ? dict_get (reply.dict, name, &size) : NULL;
    if (value)
        *ret_value = g_bytes_new (value, size);
    getxattr_reply_drop (&reply);
    return r == -ENODATA ? 0 : error_or_0 (r);
}

int
cut_set_xattr (xlator_t *this, inode_t *inode, const char *name, GBytes *value)
{
    g_autoptr (dict_t) dict = dict_new ();
    loc_t loc = { .inode = inode };
    int r;

    if (!value) {
        r = sync_removexattr (cut_client_of (this), &loc, name, NULL, NULL);
        return r == -ENODATA ? 0 : error_or_0 (r);
    }
    dict_set (dict, name, g_bytes_get_data (value, NULL), g_bytes_get_size (value));
    return error_or_0 (sync_setxattr (cut_client_of (this), &loc, dict, 0, NULL, NULL));
}

dict_t *
cut_get_xattrs (xlator_t *this, inode_t *inode)
{
    loc_t loc = { .inode = inode };
    dict_t *all = dict_new ();
    struct getxattr_reply names;
    int r = sync_getxattr (cut_client_of (this), &loc, NULL, NULL, &names);

    for (size_t i = 0; r >= 0 && i < dict_count (names.dict); i++) {
        g_autoptr (GBytes) bytes = NULL;
        const void *value;
        const char *name;
        size_t size;

        dict_nth (names.dict, i, &name, &value, &size);
        if (cut_get_xattr (this, inode, name, &bytes) == 0 && bytes)
            dict_set (all, name, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
    }
    getxattr_reply_drop (&names);
    return all;
}

/* --- data --- */

int
cut_read (xlator_t *this, fd_t *fd, void *buf, size_t size, off_t offset)
{
    struct readv_reply reply;
    size_t done = 0;
    int r = 1;

    while (r > 0 && done < size) {
        r = sync_readv (cut_client_of (this), fd, size - done, offset + (off_t) done, 0, NULL,
                        &reply);
        if (r > 0)
            done += iov_unload ((char *) buf + done, size - done, reply.vector, reply.count);
        readv_reply_drop (&reply);
    }
    memset ((char *) buf + done, 0, size - done);
    return error_or_0 (r);
}

int
cut_write (xlator_t *this, fd_t *fd, const void *buf, size_t size, off_t offset)
{
    size_t done = 0;
    int r = 0;

    while (r >= 0 && done < size) {
        struct iovec iov = { (char *) buf + done, size - done };
        r = sync_writev (cut_client_of (this), fd, &iov, 1, offset + (off_t) done, 0, NULL, NULL,
                         NULL);
        if (r == 0)
            return -EIO;
        done += MAX (r, 0);
    }
    return error_or_0 (r);
}

int
cut_resize (xlator_t *this, fd_t *fd, uint64_t size)
{
    return error_or_0 (sync_ftruncate (cut_client_of (this), fd, (off_t) size, NULL, NULL));
}
