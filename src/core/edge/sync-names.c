/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/edge/sync-names.h"
#include "core/base/errors.h"
#include "core/data/dirent.h"
#include "core/data/loc.h"

#include <fcntl.h>

int
sync_name_look (struct client *client, inode_t *directory, const char *name, inode_t **ret_inode,
                struct iatt *ret_buf)
{
    g_autoptr (inode_t) fresh = inode_new (directory->table);
    loc_t loc = { .name = name, .parent = directory, .inode = fresh };
    struct lookup_reply reply;
    int r = sync_lookup (client, &loc, NULL, &reply);

    if (r >= 0) {
        *ret_inode = inode_link (reply.inode, directory, name, &reply.buf);
        *ret_buf = reply.buf;
    }
    lookup_reply_drop (&reply);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

int
sync_name_mkdir (struct client *client, inode_t *directory, const char *name, mode_t mode,
                 inode_t **ret_inode)
{
    g_autoptr (inode_t) fresh = inode_new (directory->table);
    loc_t loc = { .name = name, .parent = directory, .inode = fresh };
    struct mkdir_reply reply;
    int r = sync_mkdir (client, &loc, mode, 0, NULL, &reply);

    if (r >= 0)
        *ret_inode = inode_link (reply.inode, directory, name, &reply.buf);
    mkdir_reply_drop (&reply);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

int
sync_name_link (struct client *client, inode_t *inode, inode_t *directory, const char *name)
{
    loc_t oldloc = { .inode = inode };
    loc_t newloc = { .name = name, .parent = directory, .inode = inode };
    struct link_reply reply;
    int r = sync_link (client, &oldloc, &newloc, NULL, &reply);

    if (r >= 0)
        inode_unref (inode_link (reply.inode, directory, name, &reply.buf));
    link_reply_drop (&reply);
    loc_wipe_path (&oldloc);
    loc_wipe_path (&newloc);
    return error_or_0 (r);
}

int
sync_name_rename (struct client *client, inode_t *inode, inode_t *directory, const char *name,
                  inode_t *newdirectory, const char *newname, uint32_t flags)
{
    loc_t oldloc = { .name = name, .parent = directory, .inode = inode };
    loc_t newloc = { .name = newname, .parent = newdirectory };
    int r = sync_rename (client, &oldloc, &newloc, flags, NULL, NULL);

    if (r >= 0)
        inode_rename (directory, name, newdirectory, newname, false);
    loc_wipe_path (&oldloc);
    loc_wipe_path (&newloc);
    return error_or_0 (r);
}

int
sync_name_remove (struct client *client, inode_t *directory, const char *name, inode_t *inode)
{
    loc_t loc = { .name = name, .parent = directory, .inode = inode };
    int r = inode->ia_type == IA_IFDIR ? sync_rmdir (client, &loc, 0, NULL, NULL)
                                       : sync_unlink (client, &loc, 0, NULL, NULL);

    if (r >= 0)
        inode_unlink (directory, name);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

int
sync_name_open (struct client *client, const struct fd_maker *fds, inode_t *inode, uint32_t flags,
                fd_t **ret_fd)
{
    g_autoptr (fd_t) fd = fd_new (fds, inode, flags, client->pid);
    loc_t loc = { .inode = inode };
    int r = flags & O_DIRECTORY ? sync_opendir (client, &loc, fd, NULL, NULL)
                                : sync_open (client, &loc, flags, fd, NULL, NULL);

    if (r >= 0)
        *ret_fd = g_steal_pointer (&fd);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

static void
sync_name_add (GPtrArray *names, const gf_dirent_t *entries, off_t *offset)
{
    for (; entries; entries = entries->next) {
        *offset = entries->d_off;
        if (!name_is_dots (entries->d_name))
            g_ptr_array_add (names, g_strdup (entries->d_name));
    }
}

int
sync_names_list (struct client *client, const struct fd_maker *fds, inode_t *directory,
                 GPtrArray *names)
{
    g_autoptr (fd_t) fd = NULL;
    struct readdir_reply reply;
    off_t offset = 0;
    int r = sync_name_open (client, fds, directory, O_RDONLY | O_DIRECTORY, &fd);

    while (r == 0) {
        r = sync_readdir (client, fd, 65536, offset, NULL, &reply);
        if (r > 0)
            sync_name_add (names, reply.entries, &offset);
        readdir_reply_drop (&reply);
        if (r <= 0)
            break;
        r = 0;
    }
    return r;
}

int
sync_name_remove_tree (struct client *client, const struct fd_maker *fds, inode_t *directory,
                       const char *name)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) inode = NULL;
    struct iatt buf;
    int r = sync_name_look (client, directory, name, &inode, &buf);

    if (r == 0 && inode->ia_type == IA_IFDIR)
        r = sync_names_list (client, fds, inode, names);
    for (guint i = 0; r == 0 && i < names->len; i++)
        r = sync_name_remove_tree (client, fds, inode, names->pdata[i]);
    return r < 0 ? r : sync_name_remove (client, directory, name, inode);
}
