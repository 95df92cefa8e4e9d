/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "removal.h"

#include <sys/stat.h>

/* --- a tree ----------------------------------------------------------------------------------- */

struct removing_tree {
    const struct trash_removal *removal;
    bool begun; /* a name was removed */
};

/* A user who has taken away his own rights in a directory gets them back. */
static void
removal_open (const struct sync_tree *tree, inode_t *directory, const struct iatt *buf)
{
    loc_t loc = { .inode = directory };
    struct iatt to = { .ia_prot = buf->ia_prot | S_IRWXU };

    if (to.ia_prot != buf->ia_prot)
        sync_setattr (tree->client, &loc, &to, IATT_MODE, NULL, NULL);
    loc_wipe_path (&loc);
}

static int
removal_step (const struct sync_tree *tree, inode_t *directory, const char *name, inode_t *inode,
              const struct iatt *buf)
{
    struct removing_tree *removing = tree->data;
    int r;

    if (!removing->removal->next (removing->removal->data))
        return -EINTR;
    r = sync_name_remove (tree->client, directory, name, inode);
    if (r == 0)
        removing->begun = true;
    return r == -ENOENT ? 0 : r;
}

static int
removal_below (struct removing_tree *removing)
{
    const struct trash_removal *removal = removing->removal;
    const struct sync_tree tree = { removal->client, removal->this->fd_maker, removal_open,
                                    removal_step, removing };
    const int r = sync_tree_each (&tree, removal->files, removal->name);

    return r == -ENOENT ? 0 : r;
}

int
trash_tree_remove (const struct trash_removal *removal)
{
    return removal_below (&(struct removing_tree){ removal, false });
}

/* --- an entry --------------------------------------------------------------------------------- */

static bool
name_is_there (const struct trash_removal *removal, inode_t *folder, const char *name,
               struct iatt *ret_buf)
{
    g_autoptr (inode_t) inode = NULL;

    return sync_name_look (removal->client, folder, name, &inode, ret_buf) == 0;
}

static int
info_remove (const struct trash_removal *removal, const char *name, inode_t *inode)
{
    const int r = sync_name_remove (removal->client, removal->info, name, inode);

    return r == -ENOENT ? 0 : r;
}

/* If nothing could be removed, as of a tree that is another user's, the entry is whole. */
static int
entry_remove_tree (const struct trash_removal *removal, const char *info, inode_t *inode)
{
    g_autofree char *gone = g_strconcat (removal->name, TRASH_GONE_SUFFIX, NULL);
    struct removing_tree removing = { removal, false };
    struct client *client = removal->client;
    int r = sync_name_rename (client, inode, removal->info, info, removal->info, gone, 0);

    if (r < 0)
        return r;
    r = removal_below (&removing);
    if (r == 0)
        return info_remove (removal, gone, inode);
    if (!removing.begun)
        sync_name_move (client, inode, removal->info, gone, removal->info, info, NULL);
    return r;
}

int
trash_entry_remove (const struct trash_removal *removal, const struct trash_info *seen)
{
    g_autofree char *info = g_strconcat (removal->name, TRASH_INFO_SUFFIX, NULL);
    g_autoptr (inode_t) inode = NULL;
    struct iatt buf = {};
    int r = trash_info_look (removal->client, removal->info, info, seen, &inode);

    if (r < 0)
        return r;
    if (name_is_there (removal, removal->files, removal->name, &buf) && buf.ia_type == IA_IFDIR)
        return entry_remove_tree (removal, info, inode);
    r = trash_tree_remove (removal);
    return r == 0 ? info_remove (removal, info, inode) : r;
}

/* While the tree is there, a younger entry can't get its name; but it may have the name of a tree
 * that was removed by then. So the tree is looked at first. */
int
trash_entry_remove_rest (struct trash_removal *removal, const char *info)
{
    g_autofree char *name = NULL, *young = NULL;
    g_autoptr (inode_t) inode = NULL;
    struct iatt buf;
    int r = 0;

    if (!g_str_has_suffix (info, TRASH_GONE_SUFFIX)
        || sync_name_look (removal->client, removal->info, info, &inode, &buf) < 0)
        return 0;
    name = g_strndup (info, strlen (info) - strlen (TRASH_GONE_SUFFIX));
    young = g_strconcat (name, TRASH_INFO_SUFFIX, NULL);
    removal->name = name;
    if (*name && name_is_there (removal, removal->files, name, &buf)
        && !name_is_there (removal, removal->info, young, &buf))
        r = trash_tree_remove (removal);
    removal->name = NULL;
    return r == 0 ? info_remove (removal, info, inode) : r;
}
