/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The worker's own synchronous requests to the child. Names are linked in the table of inodes as
 * the bridge does. */
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
cut_look (xlator_t *this, inode_t *dir, const char *name, inode_t **ret_inode, struct iatt *ret_buf)
{
    g_autoptr (inode_t) fresh = inode_new (dir->table);
    loc_t loc = { .name = name, .parent = dir, .inode = fresh };
    struct lookup_reply reply;
    int r = sync_lookup (cut_client_of (this), &loc, NULL, &reply);

    if (r >= 0) {
        *ret_inode = inode_link (reply.inode, dir, name, &reply.buf);
        *ret_buf = reply.buf;
    }
    lookup_reply_drop (&reply);
    return error_or_0 (r);
}

int
cut_stat (xlator_t *this, inode_t *inode, fd_t *fd, struct iatt *ret_buf)
{
    loc_t loc = { .inode = inode };
    struct fstat_reply opened;
    struct stat_reply named;
    int r;

    if (fd) {
        r = sync_fstat (cut_client_of (this), fd, NULL, &opened);
        *ret_buf = opened.buf;
        fstat_reply_drop (&opened);
    } else {
        r = sync_stat (cut_client_of (this), &loc, NULL, &named);
        *ret_buf = named.buf;
        stat_reply_drop (&named);
    }
    return error_or_0 (r);
}

int
cut_open (xlator_t *this, inode_t *inode, uint32_t flags, fd_t **ret_fd)
{
    g_autoptr (fd_t) fd = fd_new (this->fd_maker, inode, flags, cut_client_of (this)->pid);
    loc_t loc = { .inode = inode };
    int r = flags & O_DIRECTORY ? sync_opendir (cut_client_of (this), &loc, fd, NULL, NULL)
                                : sync_open (cut_client_of (this), &loc, flags, fd, NULL, NULL);

    if (r >= 0)
        *ret_fd = g_steal_pointer (&fd);
    return error_or_0 (r);
}

int
cut_link (xlator_t *this, inode_t *inode, inode_t *dir, const char *name)
{
    loc_t oldloc = { .inode = inode }, newloc = { .name = name, .parent = dir, .inode = inode };
    struct link_reply reply;
    int r = sync_link (cut_client_of (this), &oldloc, &newloc, NULL, &reply);

    if (r >= 0)
        inode_unref (inode_link (reply.inode, dir, name, &reply.buf));
    link_reply_drop (&reply);
    return error_or_0 (r);
}

int
cut_rename (xlator_t *this, inode_t *inode, inode_t *dir, const char *name, inode_t *newdir,
            const char *newname)
{
    loc_t oldloc = { .name = name, .parent = dir, .inode = inode };
    loc_t newloc = { .name = newname, .parent = newdir };
    int r = sync_rename (cut_client_of (this), &oldloc, &newloc, 0, NULL, NULL);

    if (r >= 0)
        inode_rename (dir, name, newdir, newname, false);
    return error_or_0 (r);
}

int
cut_mkdir (xlator_t *this, inode_t *dir, const char *name, mode_t mode, inode_t **ret_inode)
{
    g_autoptr (inode_t) fresh = inode_new (dir->table);
    loc_t loc = { .name = name, .parent = dir, .inode = fresh };
    struct mkdir_reply reply;
    int r = sync_mkdir (cut_client_of (this), &loc, mode, 0, NULL, &reply);

    if (r >= 0)
        *ret_inode = inode_link (reply.inode, dir, name, &reply.buf);
    mkdir_reply_drop (&reply);
    return error_or_0 (r);
}

int
cut_remove (xlator_t *this, inode_t *dir, const char *name, inode_t *inode)
{
    loc_t loc = { .name = name, .parent = dir, .inode = inode };
    int r = inode->ia_type == IA_IFDIR ? sync_rmdir (cut_client_of (this), &loc, 0, NULL, NULL)
                                       : sync_unlink (cut_client_of (this), &loc, 0, NULL, NULL);

    if (r >= 0)
        inode_unlink (dir, name);
    return error_or_0 (r);
}

/* --- directory trees --- */

static void
add_names (GPtrArray *names, const gf_dirent_t *entries, off_t *offset)
{
    for (; entries; entries = entries->next) {
        *offset = entries->d_off;
        if (!name_is_dots (entries->d_name))
            g_ptr_array_add (names, g_strdup (entries->d_name));
    }
}

static int
list (xlator_t *this, inode_t *dir, GPtrArray *names)
{
    g_autoptr (fd_t) fd = NULL;
    struct readdir_reply reply;
    off_t offset = 0;
    int r = cut_open (this, dir, O_RDONLY | O_DIRECTORY, &fd);

    while (r == 0) {
        r = sync_readdir (cut_client_of (this), fd, 65536, offset, NULL, &reply);
        if (r > 0)
            add_names (names, reply.entries, &offset);
        readdir_reply_drop (&reply);
        if (r <= 0)
            break;
        r = 0;
    }
    return r;
}

int
cut_remove_tree (xlator_t *this, inode_t *dir, const char *name)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) inode = NULL;
    struct iatt buf;
    int r = cut_look (this, dir, name, &inode, &buf);

    if (r == 0 && inode->ia_type == IA_IFDIR)
        r = list (this, inode, names);
    for (guint i = 0; r == 0 && i < names->len; i++)
        r = cut_remove_tree (this, inode, names->pdata[i]);
    return r < 0 ? r : cut_remove (this, dir, name, inode);
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
