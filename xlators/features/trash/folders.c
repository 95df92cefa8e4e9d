/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The folders of stages, made when they are needed, and removed at the end. All of it runs in the
 * line `maker`, or when that has nothing to do any more. */
#include "trash.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_ACL "system.posix_acl_default"

/* --- making ----------------------------------------------------------------------------------- */

/* The mode is set again, since a default ACL may have changed it. */
static int
folder_own (struct client *client, inode_t *inode, mode_t mode, const struct trash_who *owner)
{
    loc_t loc = { .inode = inode };
    struct iatt to = { .ia_prot = mode };
    uint32_t valid = IATT_MODE;
    int r;

    if (owner && client->uid == 0) {
        to.ia_uid = owner->uid;
        to.ia_gid = owner->gid;
        valid |= IATT_UID | IATT_GID;
    }
    sync_removexattr (client, &loc, DEFAULT_ACL, NULL, NULL); /* fails if there is none */
    r = sync_setattr (client, &loc, &to, valid, NULL, NULL);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

int
trash_folder_make (struct client *client, inode_t *directory, const char *name, mode_t mode,
                   const struct trash_who *owner, inode_t **ret_inode)
{
    inode_t *inode = NULL;
    int r = sync_name_mkdir (client, directory, name, mode, &inode);

    if (r == 0)
        r = folder_own (client, inode, mode, owner);
    if (r == 0)
        *ret_inode = inode;
    else
        inode_unref (inode);
    return r;
}

/* Returns the folder of all stages, which another daemon may have made. */
static int
folder_top (xlator_t *this, inode_t *root)
{
    trash_private_t *priv = this->private;
    struct iatt buf;
    int r;

    if (priv->top)
        return 0;
    r = trash_folder_make (priv->maker.client, root, TRASH_STAGES, 0711, NULL, &priv->top);
    if (r == -EEXIST)
        r = sync_name_look (priv->maker.client, root, TRASH_STAGES, &priv->top, &buf);
    if (r == 0 && priv->top->ia_type != IA_IFDIR) {
        g_clear_pointer (&priv->top, inode_unref);
        r = -ENOTDIR;
    }
    return r;
}

static int
lock_file_open (xlator_t *this, struct client *client, inode_t *instance, bool makes,
                fd_t **ret_fd)
{
    g_autoptr (inode_t) inode = NULL;
    loc_t loc = { .name = TRASH_LOCK, .parent = instance };
    struct iatt buf;
    struct mknod_reply reply;
    int r = 0;

    if (makes) {
        g_autoptr (inode_t) fresh = inode_new (instance->table);

        loc.inode = fresh;
        r = error_or_0 (sync_mknod (client, &loc, S_IFREG | 0600, 0, 0, NULL, &reply));
        mknod_reply_drop (&reply);
        loc_wipe_path (&loc);
    }
    if (r == 0)
        r = sync_name_look (client, instance, TRASH_LOCK, &inode, &buf);
    if (r == 0 && buf.ia_type != IA_IFREG)
        r = -EINVAL;
    return r == 0 ? sync_name_open (client, this->fd_maker, inode, O_RDWR, ret_fd) : r;
}

int
trash_instance_lock (xlator_t *this, struct client *client, inode_t *instance, bool makes,
                     fd_t **ret_fd)
{
    g_autoptr (fd_t) fd = NULL;
    struct gf_flock lock = { .l_type = F_WRLCK };
    int r = lock_file_open (this, client, instance, makes, &fd);

    if (r == 0)
        r = error_or_0 (sync_lk (client, fd, F_SETLK, &lock, NULL, NULL));
    if (r == 0)
        *ret_fd = g_steal_pointer (&fd);
    return r == -EACCES ? -EAGAIN : r;
}

static int
folder_instance (xlator_t *this, inode_t *root)
{
    trash_private_t *priv = this->private;
    int r = folder_top (this, root);

    if (r < 0 || priv->instance)
        return r;
    r = trash_folder_make (priv->maker.client, priv->top, priv->instance_name, 0711, NULL,
                           &priv->instance);
    if (r == 0)
        r = trash_instance_lock (this, priv->maker.client, priv->instance, true, &priv->mine);
    if (r < 0)
        g_clear_pointer (&priv->instance, inode_unref);
    return r;
}

static int
folder_of_user (xlator_t *this, inode_t *root, const struct trash_who *who, inode_t **ret_folder)
{
    trash_private_t *priv = this->private;
    g_autofree char *name = g_strdup_printf ("%u", who->uid);
    int r;

    *ret_folder = g_hash_table_lookup (priv->users, GUINT_TO_POINTER (who->uid));
    if (*ret_folder)
        return 0;
    r = folder_instance (this, root);
    if (r == 0)
        r = trash_folder_make (priv->maker.client, priv->instance, name, 0700, who, ret_folder);
    if (r == 0)
        g_hash_table_insert (priv->users, GUINT_TO_POINTER (who->uid), *ret_folder);
    return r;
}

/* Somebody has removed folders that this has made: it makes others. */
static void
folders_forget (trash_private_t *priv)
{
    g_hash_table_remove_all (priv->users);
    g_clear_pointer (&priv->mine, fd_unref);
    g_clear_pointer (&priv->instance, inode_unref);
    g_clear_pointer (&priv->top, inode_unref);
}

static int
folder_of_stage (xlator_t *this, inode_t *root, const struct trash_who *who, const char *name,
                 inode_t **ret_folder)
{
    trash_private_t *priv = this->private;
    inode_t *user;
    int r = 0;

    for (int try = 0; try < 2; try++) {
        r = folder_of_user (this, root, who, &user);
        if (r == 0)
            r = trash_folder_make (priv->maker.client, user, name, 0700, who, ret_folder);
        if (r != -ENOENT && r != -ESTALE)
            break;
        folders_forget (priv);
    }
    return r;
}

/* Storage without attributes loses the path only if the daemon is killed. */
static void
folder_place (struct client *client, const struct trash_stage *stage)
{
    g_autofree char *text = trash_place_text (stage);
    g_autoptr (dict_t) dict = dict_new ();
    loc_t loc = { .inode = stage->folder };

    dict_set (dict, TRASH_PLACE, text, strlen (text));
    sync_setxattr (client, &loc, dict, 0, NULL, NULL);
    loc_wipe_path (&loc);
}

void
trash_folder_stat (struct client *client, inode_t *inode, struct iatt *ret_buf)
{
    loc_t loc = { .inode = inode };
    struct stat_reply reply;
    const int r = sync_stat (client, &loc, NULL, &reply);

    *ret_buf = r >= 0 ? reply.buf : (struct iatt){ .ia_type = IA_INVAL };
    stat_reply_drop (&reply);
    loc_wipe_path (&loc);
}

struct trash_stage *
trash_folder_new (xlator_t *this, inode_t *directory, const struct iatt *before,
                  const struct trash_who *who, int *ret_error)
{
    trash_private_t *priv = this->private;
    const unsigned generation = __atomic_load_n (&priv->generation, __ATOMIC_RELAXED);
    g_autofree char *path = inode_path (directory, NULL);
    g_autofree char *name = g_strdup_printf ("%" G_GUINT64_FORMAT, ++priv->stage_number);
    struct trash_stage *stage;
    inode_t *folder = NULL;

    *ret_error = *path == '/' ? folder_of_stage (this, itable_root (directory->table), who, name,
                                                 &folder)
                              : -ESTALE;
    if (*ret_error < 0)
        return NULL;
    stage = g_new0 (struct trash_stage, 1);
    stage->refs = 2;
    stage->users = 1;
    stage->directory = directory->gfid;
    stage->who = *who;
    stage->generation = generation;
    stage->path = g_steal_pointer (&path);
    stage->folder = folder;
    stage->before = *before;
    stage->program = process_comm (who->pid);
    folder_place (priv->maker.client, stage);
    stage->born = clock_now ();
    trash_stage_add (this, stage);
    return stage;
}

/* --- leaving ---------------------------------------------------------------------------------- */

void
trash_folders_leave (xlator_t *this)
{
    trash_private_t *priv = this->private;
    struct client *client = priv->maker.client;
    GHashTableIter at;
    gpointer uid, folder;

    if (!priv->instance)
        return;
    g_hash_table_iter_init (&at, priv->users);
    while (g_hash_table_iter_next (&at, &uid, &folder)) {
        g_autofree char *name = g_strdup_printf ("%u", GPOINTER_TO_UINT (uid));

        sync_name_remove (client, priv->instance, name, folder);
    }
    if (priv->mine && priv->mine->inode)
        sync_name_remove (client, priv->instance, TRASH_LOCK, priv->mine->inode);
    sync_name_remove (client, priv->top, priv->instance_name, priv->instance);
    sync_name_remove (client, itable_root (priv->top->table), TRASH_STAGES, priv->top);
    folders_forget (priv);
}
