/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names, by operations that block until their answer (core/edge/sync.h): for a translator that
 * keeps files of its own. Names are entered in the table of inodes as the bridge does it. Each
 * function returns 0 or a negative errno; a result inode has a reference.
 */
#ifndef WINDLASS_CORE_EDGE_SYNC_NAMES_H
#define WINDLASS_CORE_EDGE_SYNC_NAMES_H

#include "core/edge/sync.h"

/* -ENOENT for "." and "..": they would enter the table as names, and storage would tell what they
 * lead to. */
int sync_name_look (struct client *client, inode_t *directory, const char *name,
                    inode_t **ret_inode, struct iatt *ret_buf);
int sync_name_mkdir (struct client *client, inode_t *directory, const char *name, mode_t mode,
                     inode_t **ret_inode);
/* An object without bytes; mode has the type, too. */
int sync_name_mknod (struct client *client, inode_t *directory, const char *name, mode_t mode,
                     dev_t rdev, inode_t **ret_inode);
int sync_name_symlink (struct client *client, inode_t *directory, const char *name,
                       const char *target, inode_t **ret_inode);
int sync_name_link (struct client *client, inode_t *inode, inode_t *directory, const char *name);
/* Makes a file, and opens it for reading and writing. -EEXIST: the name is taken. fds: as
 * xlator.fd_maker. */
int sync_name_create (struct client *client, const struct fd_maker *fds, inode_t *directory,
                      const char *name, mode_t mode, inode_t **ret_inode, fd_t **ret_fd);
/* flags: as in the operation, without RENAME_EXCHANGE */
int sync_name_rename (struct client *client, inode_t *inode, inode_t *directory, const char *name,
                      inode_t *newdirectory, const char *newname, uint32_t flags);
/* Renames, and replaces nothing: -EEXIST if the new name is taken. Where rename has no flags, as in
 * the protocol of GlusterFS, a file gets a link of the new name and loses the old name. There a
 * directory, and a file that storage makes no link of, is renamed after a look-up of the new name;
 * if somebody else makes an empty directory, or a file, of that name after the look-up, the rename
 * replaces it. *ret_buf: the attributes of the object afterwards; ret_buf may be NULL. */
int sync_name_move (struct client *client, inode_t *inode, inode_t *directory, const char *name,
                    inode_t *newdirectory, const char *newname, struct iatt *ret_buf);
/* unlink or rmdir, by the type of inode */
int sync_name_remove (struct client *client, inode_t *directory, const char *name, inode_t *inode);

/* Opens an inode: a directory if flags have O_DIRECTORY. fds: as xlator.fd_maker. */
int sync_name_open (struct client *client, const struct fd_maker *fds, inode_t *inode,
                    uint32_t flags, fd_t **ret_fd);
/* Attributes of an inode. */
int sync_name_stat (struct client *client, inode_t *inode, struct iatt *ret_buf);
/* Makes a directory durable: its attributes, and the names in it. */
int sync_name_fsyncdir (struct client *client, const struct fd_maker *fds, inode_t *directory);
/* Adds the names in a directory to `names`, each to be freed with g_free, without "." and "..". */
int sync_names_list (struct client *client, const struct fd_maker *fds, inode_t *directory,
                     GPtrArray *names);
/* Calls fn for a name and for all below it, the deepest first, and ends with its first error. open,
 * or NULL, is called for each directory before it is listed. Names that vanish meanwhile are left
 * out. A tree may be deeper than a thread's stack, so the way is kept on the heap. */
struct sync_tree {
    struct client *client;
    const struct fd_maker *fds; /* as xlator.fd_maker */
    void (*open) (const struct sync_tree *tree, inode_t *directory, const struct iatt *buf);
    int (*fn) (const struct sync_tree *tree, inode_t *directory, const char *name, inode_t *inode,
               const struct iatt *buf);
    void *data; /* of the caller */
};
int sync_tree_each (const struct sync_tree *tree, inode_t *directory, const char *name);
/* A fn that removes the name. */
int sync_tree_remove (const struct sync_tree *tree, inode_t *directory, const char *name,
                      inode_t *inode, const struct iatt *buf);
/* Removes a name with all that is below it. */
int sync_name_remove_tree (struct client *client, const struct fd_maker *fds, inode_t *directory,
                           const char *name);

#endif
