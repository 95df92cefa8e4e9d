/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/edge/sync-names.h"
#include "core/base/errors.h"
#include "core/data/dirent.h"
#include "core/data/loc.h"

#include <fcntl.h>
#include <stdio.h>

int
sync_name_look (struct client *client, inode_t *directory, const char *name, inode_t **ret_inode,
                struct iatt *ret_buf)
{
    g_autoptr (inode_t) fresh = inode_new (directory->table);
    loc_t loc = { .name = name, .parent = directory, .inode = fresh };
    const uint64_t asked = names_now ();
    struct lookup_reply reply;
    int r;

    if (name_is_dots (name))
        return -ENOENT;
    r = sync_lookup (client, &loc, NULL, &reply);
    if (r >= 0) {
        *ret_inode = inode_link_asked (reply.inode, directory, name, &reply.buf, asked);
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
sync_name_mknod (struct client *client, inode_t *directory, const char *name, mode_t mode,
                 dev_t rdev, inode_t **ret_inode)
{
    g_autoptr (inode_t) fresh = inode_new (directory->table);
    loc_t loc = { .name = name, .parent = directory, .inode = fresh };
    struct mknod_reply reply;
    int r = sync_mknod (client, &loc, mode, rdev, 0, NULL, &reply);

    if (r >= 0)
        *ret_inode = inode_link (reply.inode, directory, name, &reply.buf);
    mknod_reply_drop (&reply);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

int
sync_name_symlink (struct client *client, inode_t *directory, const char *name, const char *target,
                   inode_t **ret_inode)
{
    g_autoptr (inode_t) fresh = inode_new (directory->table);
    loc_t loc = { .name = name, .parent = directory, .inode = fresh };
    struct symlink_reply reply;
    int r = sync_symlink (client, target, &loc, 0, NULL, &reply);

    if (r >= 0)
        *ret_inode = inode_link (reply.inode, directory, name, &reply.buf);
    symlink_reply_drop (&reply);
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
sync_name_create (struct client *client, const struct fd_maker *fds, inode_t *directory,
                  const char *name, mode_t mode, inode_t **ret_inode, fd_t **ret_fd)
{
    g_autoptr (inode_t) fresh = inode_new (directory->table);
    g_autoptr (fd_t) fd = fd_new (fds, NULL, O_RDWR | O_EXCL, client->pid);
    loc_t loc = { .name = name, .parent = directory, .inode = fresh };
    struct create_reply reply;
    int r = sync_create (client, &loc, O_RDWR | O_EXCL | O_CREAT, mode, 0, fd, NULL, &reply);

    if (r >= 0) {
        *ret_inode = inode_link (reply.inode, directory, name, &reply.buf);
        fd_adopt (fd, *ret_inode);
        *ret_fd = g_steal_pointer (&fd);
    }
    create_reply_drop (&reply);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

/* A rename of one name to another. */
struct name_move {
    struct client *client;
    inode_t *inode, *directory;
    const char *name;
    inode_t *newdirectory;
    const char *newname;
    struct iatt *buf; /* of the object afterwards; or NULL */
};

static int
name_move (const struct name_move *move, uint32_t flags)
{
    loc_t oldloc = { .name = move->name, .parent = move->directory, .inode = move->inode };
    loc_t newloc = { .name = move->newname, .parent = move->newdirectory };
    struct rename_reply reply;
    int r = sync_rename (move->client, &oldloc, &newloc, flags, NULL, &reply);

    if (r >= 0)
        inode_rename (move->directory, move->name, move->newdirectory, move->newname, false);
    if (r >= 0 && move->buf)
        *move->buf = reply.buf;
    rename_reply_drop (&reply);
    loc_wipe_path (&oldloc);
    loc_wipe_path (&newloc);
    return error_or_0 (r);
}

/* Returns 1 if the object can't have two names. */
static int
name_move_by_link (const struct name_move *move)
{
    int r = 1;

    if (move->inode->ia_type != IA_IFDIR)
        r = sync_name_link (move->client, move->inode, move->newdirectory, move->newname);
    if (r == -EPERM || r == -EOPNOTSUPP || r == -EMLINK)
        r = 1;
    if (r == 0)
        r = sync_name_remove (move->client, move->directory, move->name, move->inode);
    if (r == 0 && move->buf)
        r = sync_name_stat (move->client, move->inode, move->buf);
    return r;
}

int
sync_name_rename (struct client *client, inode_t *inode, inode_t *directory, const char *name,
                  inode_t *newdirectory, const char *newname, uint32_t flags)
{
    const struct name_move move = { client, inode, directory, name, newdirectory, newname, NULL };

    return name_move (&move, flags);
}

int
sync_name_move (struct client *client, inode_t *inode, inode_t *directory, const char *name,
                inode_t *newdirectory, const char *newname, struct iatt *ret_buf)
{
    const struct name_move move = { client, inode, directory, name, newdirectory, newname,
                                    ret_buf };
    g_autoptr (inode_t) there = NULL;
    struct iatt buf;
    int r = name_move (&move, RENAME_NOREPLACE);

    if (r == -EINVAL || r == -EOPNOTSUPP)
        r = name_move_by_link (&move);
    if (r <= 0)
        return r;
    r = sync_name_look (client, newdirectory, newname, &there, &buf);
    return r == -ENOENT ? name_move (&move, 0) : r < 0 ? r : -EEXIST;
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

int
sync_name_stat (struct client *client, inode_t *inode, struct iatt *ret_buf)
{
    loc_t loc = { .inode = inode };
    struct stat_reply reply;
    int r = sync_stat (client, &loc, NULL, &reply);

    *ret_buf = reply.buf;
    stat_reply_drop (&reply);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

int
sync_name_fsyncdir (struct client *client, const struct fd_maker *fds, inode_t *directory)
{
    g_autoptr (fd_t) fd = NULL;
    const int r = sync_name_open (client, fds, directory, O_RDONLY | O_DIRECTORY, &fd);

    return r < 0 ? r : error_or_0 (sync_fsyncdir (client, fd, 0, NULL, NULL));
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

/* --- trees ------------------------------------------------------------------------------------ */

/* A name on the way to the one where the walk is. */
struct sync_level {
    char *name;       /* owned */
    inode_t *inode;   /* with a reference */
    struct iatt buf;
    GPtrArray *names; /* in it, owned */
    guint next;       /* of names */
};

static void
sync_level_free (gpointer data)
{
    struct sync_level *level = data;

    g_free (level->name);
    inode_unref (level->inode);
    g_ptr_array_unref (level->names);
    g_free (level);
}

static int
sync_tree_go_down (const struct sync_tree *tree, GPtrArray *levels, inode_t *directory,
                   const char *name)
{
    struct sync_level *level = g_new0 (struct sync_level, 1);
    int r;

    level->name = g_strdup (name);
    level->names = g_ptr_array_new_with_free_func (g_free);
    r = sync_name_look (tree->client, directory, name, &level->inode, &level->buf);
    if (r == 0 && level->buf.ia_type == IA_IFDIR) {
        if (tree->open)
            tree->open (tree, level->inode, &level->buf);
        r = sync_names_list (tree->client, tree->fds, level->inode, level->names);
    }
    if (r == 0)
        g_ptr_array_add (levels, level);
    else
        sync_level_free (level);
    return r == -ENOENT && levels->len > 0 ? 0 : r;
}

int
sync_tree_each (const struct sync_tree *tree, inode_t *directory, const char *name)
{
    g_autoptr (GPtrArray) levels = g_ptr_array_new_with_free_func (sync_level_free);
    int r = sync_tree_go_down (tree, levels, directory, name);

    while (r == 0 && levels->len > 0) {
        struct sync_level *level = levels->pdata[levels->len - 1];
        const struct sync_level *above = levels->len > 1 ? levels->pdata[levels->len - 2] : NULL;

        if (level->next < level->names->len) {
            r = sync_tree_go_down (tree, levels, level->inode, level->names->pdata[level->next++]);
            continue;
        }
        r = tree->fn (tree, above ? above->inode : directory, level->name, level->inode,
                      &level->buf);
        g_ptr_array_set_size (levels, levels->len - 1);
    }
    return r;
}

int
sync_tree_remove (const struct sync_tree *tree, inode_t *directory, const char *name,
                  inode_t *inode, const struct iatt *buf)
{
    return sync_name_remove (tree->client, directory, name, inode);
}

int
sync_name_remove_tree (struct client *client, const struct fd_maker *fds, inode_t *directory,
                       const char *name)
{
    const struct sync_tree tree = { client, fds, NULL, sync_tree_remove, NULL };

    return sync_tree_each (&tree, directory, name);
}
