/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stages of daemons that were killed. An instance that is locked belongs to a daemon that lives. */
#include "trash.h"

#include <errno.h>
#include <string.h>

struct recovery {
    struct trash_task task;
    inode_t *root; /* no reference is needed */
};

static void
stage_place (struct client *client, struct trash_stage *stage)
{
    loc_t loc = { .inode = stage->folder };
    g_autofree char *text = NULL;
    struct getxattr_reply reply;
    const void *value = NULL;
    size_t size = 0;

    if (sync_getxattr (client, &loc, TRASH_PLACE, NULL, &reply) >= 0)
        value = dict_get (reply.dict, TRASH_PLACE, &size);
    text = g_strndup (value ? value : "", size);
    trash_place_read (text, stage);
    getxattr_reply_drop (&reply);
    loc_wipe_path (&loc);
}

static int
stage_recover (xlator_t *this, inode_t *user, const char *name, uid_t uid)
{
    struct client *client = trash_priv (this)->entries.client;
    struct trash_stage *stage;
    inode_t *folder = NULL;
    struct iatt buf;
    int r = sync_name_look (client, user, name, &folder, &buf);

    if (r < 0 || buf.ia_type != IA_IFDIR) {
        inode_unref (folder);
        return r < 0 ? r : -ENOTDIR;
    }
    stage = g_new0 (struct trash_stage, 1);
    stage->refs = 1;
    stage->who = (struct trash_who){ .uid = uid, .gid = buf.ia_gid };
    stage->folder = folder;
    stage_place (client, stage);
    r = trash_entries_of (this, stage, INT64_MAX);
    trash_stage_unref (this, stage);
    return r;
}

/* Does something with each name in a folder, and removes the folder if nothing is left. */
static int
user_recover (xlator_t *this, inode_t *instance, const char *name)
{
    struct client *client = trash_priv (this)->entries.client;
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) user = NULL;
    guint64 uid;
    struct iatt buf;
    int r = g_ascii_string_to_unsigned (name, 10, 0, G_MAXUINT32, &uid, NULL) ? 0 : -EINVAL;

    if (r == 0)
        r = sync_name_look (client, instance, name, &user, &buf);
    if (r == 0)
        r = sync_names_list (client, this->fd_maker, user, names);
    for (guint i = 0; r == 0 && i < names->len; i++)
        stage_recover (this, user, names->pdata[i], (uid_t) uid);
    return r == 0 ? sync_name_remove (client, instance, name, user) : r;
}

static void
instance_recover (xlator_t *this, inode_t *top, const char *name)
{
    struct client *client = trash_priv (this)->entries.client;
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) instance = NULL;
    g_autoptr (fd_t) lock = NULL;
    struct iatt buf;
    int r = sync_name_look (client, top, name, &instance, &buf);

    if (r == 0)
        r = trash_instance_lock (this, client, instance, false, &lock);
    if (r < 0 && r != -ENOENT)
        return;
    gf_log (this, GF_LOG_INFO, "making entries of what a daemon that ended has left in '/%s/%s'",
            TRASH_STAGES, name);
    r = instance ? sync_names_list (client, this->fd_maker, instance, names) : -ENOENT;
    for (guint i = 0; r == 0 && i < names->len; i++)
        if (strcmp (names->pdata[i], TRASH_LOCK) != 0)
            user_recover (this, instance, names->pdata[i]);
    if (lock && names->len > 0)
        sync_name_remove (client, instance, TRASH_LOCK, lock->inode);
    if (r == 0)
        sync_name_remove (client, top, name, instance);
}

static void
recovery_run (xlator_t *this, struct trash_task *task)
{
    g_autofree struct recovery *recovery = (struct recovery *) task;
    trash_private_t *priv = this->private;
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) top = NULL;
    struct iatt buf;
    int r = sync_name_look (priv->entries.client, recovery->root, TRASH_STAGES, &top, &buf);

    if (r == 0 && buf.ia_type == IA_IFDIR)
        r = sync_names_list (priv->entries.client, this->fd_maker, top, names);
    for (guint i = 0; r == 0 && i < names->len; i++)
        if (strcmp (names->pdata[i], priv->instance_name) != 0)
            instance_recover (this, top, names->pdata[i]);
    if (r == 0) /* stays if it has other instances */
        sync_name_remove (priv->entries.client, recovery->root, TRASH_STAGES, top);
}

void
trash_recover (xlator_t *this, inode_t *root)
{
    trash_private_t *priv = this->private;
    struct recovery *recovery;

    __atomic_store_n (&priv->root, root, __ATOMIC_RELEASE);
    if (__atomic_exchange_n (&priv->recovers, true, __ATOMIC_RELAXED)
        || !__atomic_load_n (&priv->on, __ATOMIC_RELAXED))
        return;
    recovery = g_new (struct recovery, 1);
    *recovery = (struct recovery){ { recovery_run }, root };
    trash_line_add (&priv->entries, &recovery->task);
    trash_stages_watch (this);
}
