/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The folders of a user's trash: where the specification has them, or the user's refuge. */
#include "making.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns whether a folder can be one of the user's trash: his own directory, in which he may make
 * names. Another's, or a link, could lead anywhere. */
static bool
bin_is_usable (const struct iatt *buf, uid_t uid)
{
    const uint32_t needs = uid == 0 ? 0 : S_IWUSR | S_IXUSR;

    return buf->ia_type == IA_IFDIR && buf->ia_uid == uid && (buf->ia_prot & needs) == needs;
}

/* Looks a folder up, and makes it if it isn't there. -EACCES: what is there can't be used. */
static int
bin_folder (struct entries_making *making, struct client *as, inode_t *directory, const char *name,
            inode_t **ret_inode)
{
    struct iatt buf;
    int r = sync_name_look (making->daemon, directory, name, ret_inode, &buf);

    if (r == -ENOENT) {
        r = trash_folder_make (as, directory, name, 0700, &making->bin.who, ret_inode);
        if (r == 0)
            trash_notice (making->this, directory, name);
        if (r != -EEXIST)
            return r;
        r = sync_name_look (making->daemon, directory, name, ret_inode, &buf);
    }
    if (r == 0 && !bin_is_usable (&buf, making->bin.who.uid)) {
        g_clear_pointer (ret_inode, inode_unref);
        r = -EACCES;
    }
    return r;
}

/* Another user's could be renamed, with all trashes in it. */
inode_t *
trash_shared (struct client *client, inode_t *root)
{
    inode_t *inode = NULL;
    struct iatt buf, above;

    if (sync_name_look (client, root, TRASH_SHARED, &inode, &buf) < 0)
        return NULL;
    if (buf.ia_type == IA_IFDIR && buf.ia_prot & S_ISVTX
        && (buf.ia_uid == 0 || buf.ia_uid == geteuid ()
            || (sync_name_stat (client, root, &above) == 0 && buf.ia_uid == above.ia_uid)))
        return inode;
    inode_unref (inode);
    return NULL;
}

/* Looks up a folder that only daemons change. */
static int
folder_of_daemons (struct client *client, inode_t *directory, const char *name,
                   inode_t **ret_inode)
{
    struct iatt buf;
    int r = sync_name_look (client, directory, name, ret_inode, &buf);

    if (r == 0 && !trash_folder_is_own (&buf, geteuid ())) {
        g_clear_pointer (ret_inode, inode_unref);
        r = -EACCES;
    }
    return r;
}

inode_t *
trash_refuges (struct client *client, inode_t *root, const char *name)
{
    g_autoptr (inode_t) top = NULL;
    inode_t *refuges = NULL;

    if (folder_of_daemons (client, root, name, &top) == 0)
        folder_of_daemons (client, top, TRASH_REFUGES, &refuges);
    return refuges;
}

static int
bin_refuges (struct entries_making *making, inode_t *root, inode_t **ret_inode)
{
    g_autoptr (inode_t) top = NULL;
    const char *name = trash_priv (making->this)->top_name;
    int r = folder_of_daemons (making->daemon, root, name, &top);

    if (r == 0)
        r = trash_folder_make (making->daemon, top, TRASH_REFUGES, 0711, NULL, ret_inode);
    return r == -EEXIST ? folder_of_daemons (making->daemon, top, TRASH_REFUGES, ret_inode) : r;
}

/* Opens the trash `name` in a directory: its folders. */
static int
bin_open_in (struct entries_making *making, inode_t *directory, const char *name)
{
    g_autoptr (inode_t) top = NULL;
    int r = bin_folder (making, making->daemon, directory, name, &top);

    if (r == 0)
        r = bin_folder (making, making->owner, top, "info", &making->bin.info);
    if (r == 0)
        r = bin_folder (making, making->owner, top, "files", &making->bin.files);
    if (r < 0)
        g_clear_pointer (&making->bin.info, inode_unref);
    return r;
}

static void
bin_tell_refuge (struct entries_making *making, const char *own)
{
    trash_private_t *priv = trash_priv (making->this);

    if (!__atomic_exchange_n (&priv->refuge_is_told, true, __ATOMIC_RELAXED))
        gf_log (making->this, GF_LOG_WARNING,
                "'/%s' can't be the trash of user %u, as it, or 'info' or 'files' in it, is not a "
                "directory of that user, or he may not write in it; what he removes goes to a "
                "place that only 'windlass trash' shows",
                own, making->bin.who.uid);
}

/* As the specification has it: a user's folder in /.Trash; else /.Trash-UID. If something else has
 * these names, no program would look for his entries anywhere. They then go to his refuge. */
int
trash_bin_open (struct entries_making *making)
{
    inode_t *root = itable_root (making->stage->folder->table);
    g_autoptr (inode_t) shared = trash_shared (making->daemon, root), refuges = NULL;
    g_autofree char *name = g_strdup_printf ("%u", making->bin.who.uid);
    g_autofree char *own = g_strdup_printf (TRASH_OWN "%u", making->bin.who.uid);
    int r = shared ? bin_open_in (making, shared, name) : -ENOENT;

    if (r < 0)
        r = bin_open_in (making, root, own);
    if (r != -EACCES && r != -EEXIST && r != -ENOTDIR)
        return r;
    bin_tell_refuge (making, own);
    r = bin_refuges (making, root, &refuges);
    return r == 0 ? bin_open_in (making, refuges, name) : r;
}
