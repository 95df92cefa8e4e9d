/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Init tries what the upper's file system must be able to do. The first call looks up the roots of
 * the layers, and makes the root of a new upper. */
#include "records.h"

#include <sys/stat.h>

static int
overlay_root_of (struct overlay_act *act, unsigned slot, inode_t **ret_root, struct iatt *ret_buf)
{
    inode_t *root = itable_root (overlay_priv (act->this)->layers[slot].xlator->realm->itable);
    loc_t loc = { .inode = root };
    struct lookup_reply reply;
    int r = sync_lookup (overlay_daemon (act, slot), &loc, NULL, &reply);

    if (r >= 0) {
        *ret_root = inode_ref (root);
        *ret_buf = reply.buf;
    }
    lookup_reply_drop (&reply);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

/* Finds the directory of a path in a child, up to `depth` names; makes those that are missing if
 * `make`. Returns -ENOTDIR if something else is there. */
static int
overlay_walk (struct overlay_act *act, unsigned slot, char **names, guint depth, bool make,
              inode_t **ret_inode, struct iatt *ret_buf)
{
    g_autoptr (inode_t) at = NULL;
    inode_t *next;
    int r = overlay_root_of (act, slot, &at, ret_buf);

    for (guint i = 0; r == 0 && i < depth; i++) {
        if (!*names[i])
            continue;
        r = sync_name_look (overlay_daemon (act, slot), at, names[i], &next, ret_buf);
        if (r == -ENOENT && make)
            r = sync_name_mkdir (overlay_daemon (act, slot), at, names[i], 0700, &next);
        if (r < 0)
            break;
        inode_unref (at);
        at = next;
        r = at->ia_type == IA_IFDIR ? 0 : -ENOTDIR;
    }
    if (r == 0)
        *ret_inode = g_steal_pointer (&at);
    return r;
}

static int
overlay_find (struct overlay_act *act, unsigned slot, const char *path, bool make,
              inode_t **ret_inode, struct iatt *ret_buf)
{
    g_auto (GStrv) names = g_strsplit (path, "/", -1);

    return overlay_walk (act, slot, names, g_strv_length (names), make, ret_inode, ret_buf);
}

/* --- what init tries -------------------------------------------------------------------------- */

static int
overlay_mknod_in (struct overlay_act *act, inode_t *directory, const char *name, mode_t mode,
                  inode_t **ret_inode)
{
    g_autoptr (inode_t) fresh = inode_new (directory->table);
    loc_t loc = { .name = name, .parent = directory, .inode = fresh };
    struct mknod_reply reply;
    int r = sync_mknod (overlay_daemon (act, OVERLAY_UPPER), &loc, mode, 0, 0, NULL, &reply);

    if (r >= 0)
        *ret_inode = inode_link (reply.inode, directory, name, &reply.buf);
    mknod_reply_drop (&reply);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

static int
overlay_try_mark (struct overlay_act *act, inode_t *file, const char *prefix)
{
    overlay_priv (act->this)->prefix = prefix;
    return overlay_mark_set (act, file, OVERLAY_IDENTITY, "", 0);
}

/* What the upper's file system lacks: the end of a sentence; NULL: nothing. */
static const char *
overlay_try (struct overlay_act *act, inode_t *work, const char *name, const char *other)
{
    struct client *client = overlay_daemon (act, OVERLAY_UPPER);
    g_autoptr (inode_t) file = NULL, whiteout = NULL;

    if (overlay_mknod_in (act, work, name, S_IFREG | 0600, &file) < 0)
        return "can't make files there";
    if (overlay_try_mark (act, file, "trusted.overlay.") < 0
        && overlay_try_mark (act, file, "user.overlay.") < 0)
        return "has no extended attributes, trusted or user";
    if (overlay_mknod_in (act, work, other, S_IFCHR, &whiteout) < 0)
        return "can't make whiteouts, which are character devices 0:0";
    if (sync_name_rename (client, file, work, name, work, other, RENAME_EXCHANGE) < 0)
        return "can't exchange two names (RENAME_EXCHANGE)";
    if (sync_name_remove (client, work, name, whiteout) < 0
        || sync_name_rename (client, file, work, other, work, name, RENAME_WHITEOUT) < 0)
        return "can't leave a whiteout at a rename (RENAME_WHITEOUT)";
    return NULL;
}

static int
overlay_probe_in (struct overlay_act *act, inode_t *work)
{
    struct client *client = overlay_daemon (act, OVERLAY_UPPER);
    const struct fd_maker *fds = overlay_fds (act, OVERLAY_UPPER);
    g_autofree char *name = overlay_work_name (act->this), *other = overlay_work_name (act->this);
    const char *lack = overlay_try (act, work, name, other);

    sync_name_remove_tree (client, fds, work, name);
    sync_name_remove_tree (client, fds, work, other);
    if (!lack)
        return 0;
    option_refuse (act->this, "work-directory",
                   "is on a file system that %s: an overlay needs this of its first subvolume, "
                   "'%s'",
                   lack, overlay_priv (act->this)->layers[OVERLAY_UPPER].xlator->name);
    return -EINVAL;
}

static int
overlay_probe_upper (struct overlay_act *act)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    g_autoptr (inode_t) upper = NULL;
    struct iatt buf;
    const int r = overlay_find (act, OVERLAY_UPPER, priv->upper, false, &upper, &buf);

    if (r == 0 || r == -ENOENT)
        return 0;
    option_refuse (act->this, "upper", "must be a directory of volume '%s', or a new name, got "
                   "'%s': %s", priv->layers[OVERLAY_UPPER].xlator->name, priv->upper,
                   g_strerror (-r));
    return r;
}

/* A lower that is the upper's folder would show the changes, and the layers, as its own names. A
 * lower that can't be reached yet is not compared. */
static int
overlay_probe_lowers (struct overlay_act *act)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    g_autoptr (inode_t) folder = NULL;
    struct iatt of_folder, buf;

    if (overlay_root_of (act, OVERLAY_UPPER, &folder, &of_folder) < 0)
        return 0;
    for (unsigned slot = 1; slot < priv->n; slot++) {
        g_autoptr (inode_t) root = NULL;

        if (overlay_root_of (act, slot, &root, &buf) < 0 || buf.ia_dev != of_folder.ia_dev
            || buf.ia_ino != of_folder.ia_ino)
            continue;
        gf_log (act->this, GF_LOG_ERROR,
                "volume '%s' is the directory of '%s', which takes the changes: give the changes a "
                "folder of their own",
                priv->layers[slot].xlator->name, priv->layers[OVERLAY_UPPER].xlator->name);
        return -EINVAL;
    }
    return 0;
}

int
overlay_init_probe (xlator_t *this)
{
    const overlay_private_t *priv = overlay_priv (this);
    g_autoptr (inode_t) work = NULL;
    struct overlay_act act;
    struct iatt buf;
    int r;

    overlay_act_begin (&act, this, NULL,
                       itable_root (priv->layers[OVERLAY_UPPER].xlator->realm->itable));
    r = overlay_probe_lowers (&act);
    if (r < 0) {
        overlay_act_end (&act);
        return r;
    }
    r = overlay_find (&act, OVERLAY_UPPER, priv->work_directory, true, &work, &buf);
    if (r < 0)
        option_refuse (this, "work-directory", "must be a directory of volume '%s', got '%s': %s",
                       priv->layers[OVERLAY_UPPER].xlator->name, priv->work_directory,
                       g_strerror (-r));
    else
        r = overlay_probe_in (&act, work);
    if (r == 0)
        r = overlay_probe_upper (&act);
    if (r == 0)
        r = overlay_records_open (&act, work);
    overlay_act_end (&act);
    return r;
}

/* --- the start -------------------------------------------------------------------------------- */

/* The root of a new upper shows what the root of the first lower shows. It gets its name when it is
 * complete. */
static int
overlay_make_upper (struct overlay_act *act, inode_t *work, inode_t *lower,
                    const struct iatt *lower_buf, inode_t **ret_inode)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    struct client *client = overlay_daemon (act, OVERLAY_UPPER);
    g_auto (GStrv) names = g_strsplit (priv->upper, "/", -1);
    g_autofree char *name = overlay_work_name (act->this);
    const guint last = g_strv_length (names) - 1;
    g_autoptr (inode_t) directory = NULL;
    struct iatt buf;
    int r = overlay_walk (act, OVERLAY_UPPER, names, last, true, &directory, &buf);

    if (r == 0)
        r = sync_name_mkdir (client, work, name, 0700, ret_inode);
    if (r == 0)
        r = overlay_copy_attributes (act, 1, lower, lower_buf, *ret_inode);
    if (r == 0)
        r = sync_name_rename (client, *ret_inode, work, name, directory, names[last], 0);
    return r;
}

/* What another daemon, or an earlier one, has left unfinished. */
static void
overlay_clean_work (struct overlay_act *act, inode_t *work)
{
    struct client *client = overlay_daemon (act, OVERLAY_UPPER);
    const struct fd_maker *fds = overlay_fds (act, OVERLAY_UPPER);
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

    if (act->this->predecessor || sync_names_list (client, fds, work, names) < 0)
        return;
    for (guint i = 0; i < names->len; i++)
        if (g_str_has_prefix (names->pdata[i], "copy."))
            sync_name_remove_tree (client, fds, work, names->pdata[i]);
}

/* What a lookup finds out of other directories. */
static int
overlay_root_marks (struct overlay_act *act, unsigned slot, inode_t *root)
{
    struct overlay_inode *ctx = overlay_inode_get (act->this, itable_root (act->above));
    struct overlay_marks marks = { 0 };
    loc_t loc = { .inode = root };
    struct getxattr_reply reply;
    int r = sync_getxattr (overlay_daemon (act, slot), &loc, NULL, NULL, &reply);

    if (r >= 0)
        overlay_marks_list (act->this, slot, reply.dict, &marks);
    if (overlay_has (&marks, OVERLAY_IMPURE) || overlay_has (&marks, OVERLAY_OPAQUE))
        __atomic_or_fetch (&ctx->marked, overlay_slot_bit (slot), __ATOMIC_RELAXED);
    if (overlay_has (&marks, OVERLAY_IMPURE) && slot == OVERLAY_UPPER)
        __atomic_store_n (&ctx->impure, true, __ATOMIC_RELAXED);
    getxattr_reply_drop (&reply);
    loc_wipe_path (&loc);
    return r == -EOPNOTSUPP ? 0 : error_or_0 (r);
}

static int
overlay_layer_starts (struct overlay_act *act, unsigned slot, inode_t *root,
                      const struct iatt *buf)
{
    xlator_t *this = act->this;
    overlay_private_t *priv = overlay_priv (this);
    struct overlay_layer *layer = &priv->layers[slot];

    layer->dev = buf->ia_dev;
    layer->seed = layer->dev == priv->layers[OVERLAY_UPPER].dev ? 0 : slot;
    for (unsigned i = 1; layer->seed && i < slot; i++)
        if (priv->layers[i].dev == layer->dev && i < layer->seed)
            layer->seed = i;
    layer->origins = slot != OVERLAY_UPPER && overlay_origins_are_found (act, slot, root);
    realm_slot_set_root (this, slot, root);
    return overlay_root_marks (act, slot, root);
}

static int
overlay_start_upper (struct overlay_act *act, inode_t *lower, const struct iatt *lower_buf)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    g_autoptr (inode_t) work = NULL, upper = NULL;
    struct iatt buf;
    int r = overlay_find (act, OVERLAY_UPPER, priv->work_directory, true, &work, &buf);

    if (r < 0)
        return r;
    overlay_clean_work (act, work);
    realm_slot_set_root (act->this, priv->n, work);
    r = overlay_find (act, OVERLAY_UPPER, priv->upper, false, &upper, &buf);
    if (r == -ENOENT)
        r = overlay_make_upper (act, work, lower, lower_buf, &upper);
    if (r == 0)
        r = overlay_layer_starts (act, OVERLAY_UPPER, upper, &buf);
    return r;
}

static int
overlay_start_layers (struct overlay_act *act, const char **ret_who)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    g_autoptr (inode_t) first = NULL;
    struct iatt buf, first_buf;
    int r = overlay_root_of (act, 1, &first, &first_buf);

    *ret_who = priv->layers[1].xlator->name;
    if (r == 0) {
        *ret_who = priv->layers[OVERLAY_UPPER].xlator->name;
        r = overlay_start_upper (act, first, &first_buf);
    }
    for (unsigned slot = 1; r == 0 && slot < priv->n; slot++) {
        g_autoptr (inode_t) root = NULL;

        *ret_who = priv->layers[slot].xlator->name;
        r = overlay_root_of (act, slot, &root, &buf);
        if (r == 0)
            r = overlay_layer_starts (act, slot, root, &buf);
    }
    return r;
}

static int
overlay_start_now (xlator_t *this, inode_t *any)
{
    overlay_private_t *priv = overlay_priv (this);
    struct overlay_act act;
    const char *who;
    int r;

    overlay_act_begin (&act, this, NULL, any);
    r = overlay_start_layers (&act, &who);
    overlay_act_end (&act);
    if (r < 0 && r != priv->start_error)
        gf_log (this, GF_LOG_ERROR, "the root of volume '%s' can't be looked up: %s", who,
                g_strerror (-r));
    priv->start_error = r;
    return r;
}

int
overlay_start (xlator_t *this, inode_t *any)
{
    overlay_private_t *priv = overlay_priv (this);
    int r = 0;

    pthread_mutex_lock (&priv->lock);
    while (priv->starting)
        thread_cond_wait (&priv->changed, &priv->lock);
    if (!priv->started) {
        priv->starting = true;
        pthread_mutex_unlock (&priv->lock);
        r = overlay_start_now (this, any);
        pthread_mutex_lock (&priv->lock);
        priv->starting = false;
        __atomic_store_n (&priv->started, r == 0, __ATOMIC_RELEASE);
        thread_cond_broadcast (&priv->changed);
    }
    pthread_mutex_unlock (&priv->lock);
    return r;
}
