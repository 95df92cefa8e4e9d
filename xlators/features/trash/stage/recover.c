/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stages of daemons that were killed, and of old graphs of this daemon that have ended. An instance
 * that is locked belongs to a daemon or an old graph that lives.
 *
 * A job makes the entries, so that look-ups of a trash don't wait for it. If it is stopped, or the
 * daemon ends, the rest stays where it is, for the next daemon.
 *
 * Another user may have made what lies in /.windlass-trash behind the mount. So a folder counts
 * only if it belongs to the user for whom it stands, and no other may write in it.
 */
#include "../trash.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct recovery {
    xlator_t *this;
    inode_t *root; /* no reference is needed */
    struct trash_work work;
    bool over; /* another may begin */
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

/* What is unfinished is a copy of a file that has not lost its content. */
static int
stage_recover (struct recovery *recovery, inode_t *user, const char *name, uid_t uid)
{
    struct trash_stage *stage;
    inode_t *folder = NULL;
    struct iatt buf;
    int r;

    if (g_str_has_prefix (name, TRASH_UNFINISHED))
        return sync_name_remove_tree (recovery->work.client, recovery->this->fd_maker, user, name);
    r = sync_name_look (recovery->work.client, user, name, &folder, &buf);
    if (r < 0 || !trash_folder_is_own (&buf, uid)) {
        inode_unref (folder);
        return r < 0 ? r : -EACCES;
    }
    stage = g_new0 (struct trash_stage, 1);
    stage->refs = 1;
    stage->who = (struct trash_who){ .uid = uid, .gid = buf.ia_gid };
    stage->folder = folder;
    stage_place (recovery->work.client, stage);
    r = trash_entries_of (recovery->this, &recovery->work, stage, INT64_MAX);
    trash_stage_unref (recovery->this, stage);
    return r;
}

/* A daemon without root's rights has the stages of one user, its own. */
static bool
folder_is_of_user (const char *name, const struct iatt *buf, uid_t *ret_uid)
{
    guint64 uid;

    if (!g_ascii_string_to_unsigned (name, 10, 0, G_MAXUINT32 - 1, &uid, NULL))
        return false;
    *ret_uid = (uid_t) uid;
    return trash_folder_is_own (buf, *ret_uid) && (geteuid () == 0 || geteuid () == *ret_uid);
}

/* Does something with each name in a folder, and removes the folder if nothing is left. */
static int
user_recover (struct recovery *recovery, inode_t *instance, const char *name)
{
    struct client *client = recovery->work.client;
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) user = NULL;
    uid_t uid = 0;
    struct iatt buf;
    int r = sync_name_look (client, instance, name, &user, &buf);

    if (r == 0 && !folder_is_of_user (name, &buf, &uid))
        r = -EACCES;
    if (r == 0)
        r = sync_names_list (client, recovery->this->fd_maker, user, names);
    for (guint i = 0; r == 0 && i < names->len; i++)
        if (stage_recover (recovery, user, names->pdata[i], uid) == -EINTR)
            r = -EINTR;
    return r == 0 ? sync_name_remove (client, instance, name, user) : r;
}

static int
users_recover (struct recovery *recovery, inode_t *instance)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    int r = sync_names_list (recovery->work.client, recovery->this->fd_maker, instance, names);

    for (guint i = 0; r == 0 && i < names->len; i++) {
        if (strcmp (names->pdata[i], TRASH_LOCK) == 0)
            continue;
        if (user_recover (recovery, instance, names->pdata[i]) == -EINTR)
            r = -EINTR;
    }
    return r;
}

/* The lock's file goes last but one, so that a second daemon can't begin with what is left. */
static int
instance_recover (struct recovery *recovery, inode_t *top, const char *name)
{
    g_autoptr (inode_t) instance = NULL;
    g_autoptr (fd_t) lock = NULL;
    struct iatt buf;
    int r = sync_name_look (recovery->work.client, top, name, &instance, &buf);

    if (r == 0 && !trash_folder_is_own (&buf, geteuid ()))
        r = -EACCES;
    if (r == 0)
        r = trash_instance_lock (recovery->this, recovery->work.client, instance, false, &lock);
    if (r < 0)
        return r;
    gf_log (recovery->this, GF_LOG_INFO,
            "making entries of what a daemon or graph that ended has left in '/%s/%s'",
            trash_priv (recovery->this)->top_name, name);
    r = users_recover (recovery, instance);
    if (r == 0)
        r = sync_name_remove (recovery->work.client, instance, TRASH_LOCK, lock->inode);
    return r == 0 ? sync_name_remove (recovery->work.client, top, name, instance) : r;
}

static bool
is_instance (xlator_t *this, const char *name)
{
    return strcmp (name, TRASH_LINKS) != 0 && strcmp (name, TRASH_REFUGES) != 0
        && !trash_instance_is_own (this->private, name);
}

static int
recovery_pass (struct recovery *recovery)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) top = NULL;
    struct iatt buf;
    int r = sync_name_look (recovery->work.client, recovery->root,
                            trash_priv (recovery->this)->top_name, &top, &buf);

    recovery->work.patience = 0;
    if (r == -ENOENT)
        return 0;
    if (r == 0)
        trash_top_is_there (recovery->this, buf.ia_type == IA_IFDIR);
    if (xlator_is_read_only (recovery->this))
        return 0; /* the next daemon that may write makes the entries */
    if (r == 0 && !trash_folder_is_own (&buf, geteuid ()))
        r = trash_top_is_taken (recovery->this);
    if (r == 0)
        r = sync_names_list (recovery->work.client, recovery->this->fd_maker, top, names);
    for (guint i = 0; r == 0 && i < names->len; i++)
        if (is_instance (recovery->this, names->pdata[i])
            && instance_recover (recovery, top, names->pdata[i]) == -EINTR)
            r = -EINTR;
    if (r == 0)
        trash_folders_tidy (recovery->this); /* the folder stays if it has other instances */
    return r;
}

/* The locks of instances tell daemons and graphs apart, but not two jobs of one graph: so there is
 * one, which goes on if more was asked for meanwhile. */
static int
recovery_run (struct job *job, void *data)
{
    struct recovery *recovery = data;
    unsigned *const asked = &trash_priv (recovery->this)->recoveries;
    unsigned seen;
    int r;

    recovery->work.job = job;
    do {
        seen = __atomic_load_n (asked, __ATOMIC_ACQUIRE);
        r = recovery_pass (recovery);
        recovery->over = r != -EINTR
                      && __atomic_compare_exchange_n (asked, &seen, 0, false, __ATOMIC_ACQ_REL,
                                                      __ATOMIC_ACQUIRE);
    } while (r != -EINTR && !recovery->over);
    return r;
}

static void
recovery_free (void *data)
{
    struct recovery *recovery = data;

    if (!recovery->over)
        __atomic_store_n (&trash_priv (recovery->this)->recoveries, 0, __ATOMIC_RELEASE);
    client_free (recovery->work.client);
    g_free (recovery);
}

void
trash_recover (xlator_t *this)
{
    trash_private_t *priv = this->private;
    struct recovery *recovery;

    if (!__atomic_load_n (&priv->on, __ATOMIC_RELAXED)
        || __atomic_fetch_add (&priv->recoveries, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    recovery = g_new (struct recovery, 1);
    *recovery = (struct recovery){ .this = this, .root = priv->root };
    recovery->work.client = client_new_internal (this, FIRST_CHILD (this));
    recovery->work.client->checked = true;
    job_begin (this, &(struct job_plan){ .name = "recover", .about = priv->entries.about,
                                         .unit = "names", .run = recovery_run,
                                         .free = recovery_free, .data = recovery, .pace = 100 });
    trash_stages_watch (this);
}

/* --- what an old graph leaves to the next one ------------------------------------------------- */

static void
heir_set (xlator_t *this, xlator_t *heir)
{
    trash_priv (this)->heir = heir;
    if (heir)
        trash_priv (heir)->olds = g_slist_prepend (trash_priv (heir)->olds, this);
}

void
trash_take_over (xlator_t *this, xlator_t *predecessor)
{
    if (predecessor)
        heir_set (predecessor, this);
}

void
trash_hand_over (xlator_t *this)
{
    xlator_t *heir = trash_priv (this)->heir;
    trash_private_t *of_heir = heir ? trash_priv (heir) : NULL;

    for (const GSList *old = trash_priv (this)->olds; old; old = old->next)
        heir_set (old->data, heir);
    g_clear_pointer (&trash_priv (this)->olds, g_slist_free);
    if (!heir)
        return;
    of_heir->olds = g_slist_remove (of_heir->olds, this);
    if (__atomic_load_n (&of_heir->began, __ATOMIC_RELAXED))
        trash_recover (heir);
}
