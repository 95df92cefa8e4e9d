/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Init tries what the upper's file system must be able to do. The first call looks up the roots of
 * the layers, and makes the root of a new upper. */
#include "layers.h"
#include "../formats/records.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

int
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

int
overlay_walk_child (struct overlay_act *act, unsigned slot, char **names, guint depth, bool make,
                    inode_t **ret_inode, struct iatt *ret_buf)
{
    g_autoptr (inode_t) root = NULL;
    const int r = overlay_root_of (act, slot, &root, ret_buf);

    return r < 0 ? r : overlay_walk (act, slot, root, names, depth, make, ret_inode, ret_buf);
}

int
overlay_find (struct overlay_act *act, unsigned slot, const char *path, bool make,
              inode_t **ret_inode, struct iatt *ret_buf)
{
    g_auto (GStrv) names = g_strsplit (path, "/", -1);

    return overlay_walk_child (act, slot, names, g_strv_length (names), make, ret_inode, ret_buf);
}

/* --- what init tries -------------------------------------------------------------------------- */

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

    if (sync_name_mknod (client, work, name, S_IFREG | 0600, 0, &file) < 0)
        return "can't make files there";
    if (overlay_try_mark (act, file, "trusted.overlay.") < 0
        && overlay_try_mark (act, file, "user.overlay.") < 0)
        return "has no extended attributes, trusted or user";
    if (sync_name_mknod (client, work, other, S_IFCHR, 0, &whiteout) < 0)
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
    const int r = overlay_find (act, OVERLAY_UPPER, priv->layers[OVERLAY_UPPER].path, false, &upper,
                                &buf);

    if (r == 0 || r == -ENOENT)
        return 0;
    if (r == -ENOTCONN)
        return r;
    option_refuse (act->this, "upper", "must be a directory of volume '%s', or a new name, got "
                   "'%s': %s", priv->layers[OVERLAY_UPPER].xlator->name, priv->upper,
                   g_strerror (-r));
    return r;
}

/* --- a read-only mount ------------------------------------------------------------------------ */

/* Which marks this daemon would write: that is to be read. Replacing an attribute that is not there
 * tells whether it may, and changes nothing. */
static int
overlay_read_prefix (struct overlay_act *act)
{
    overlay_private_t *priv = overlay_priv (act->this);
    g_autoptr (dict_t) dict = dict_new ();
    loc_t loc = { .inode = itable_root (FIRST_CHILD (act->this)->realm->itable) };
    int r;

    dict_set (dict, "trusted.overlay.windlass.none", "", 0);
    r = sync_setxattr (overlay_daemon (act, OVERLAY_UPPER), &loc, dict, XATTR_REPLACE, NULL, NULL);
    loc_wipe_path (&loc);
    priv->prefix = r == -ENODATA || (r == -EROFS && geteuid () == 0) ? "trusted.overlay."
                                                                     : "user.overlay.";
    return r == -ENOTCONN ? r : 0;
}

/* --- claims ----------------------------------------------------------------------------------- */

static int
overlay_claim_one (struct overlay_act *act, unsigned which, const char *option,
                   const struct overlay_claim *claim)
{
    overlay_private_t *priv = overlay_priv (act->this);
    g_autofree char *holder = NULL;
    bool first = true;
    const int r = overlay_claim (act, claim, &priv->claimed[which], &holder, &first);

    if (which == 0)
        priv->cleans = first;
    if (r == -EAGAIN)
        option_refuse (act->this, option,
                       "is in use by %s: only one daemon at a time can change it. Unmount that "
                       "one, or give this view a directory of its own", holder);
    else if (r < 0)
        option_refuse (act->this, option, "can't be locked by the file '%s' of volume '%s': %s",
                       claim->name, priv->layers[OVERLAY_UPPER].xlator->name, g_strerror (-r));
    return r == -EAGAIN ? -EBUSY : r;
}

/* The file beside the upper, in the upper's parent. A read-only mount makes neither. */
static int
overlay_claim_upper (struct overlay_act *act)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    g_auto (GStrv) names = g_strsplit (priv->upper, "/", -1);
    const guint last = g_strv_length (names) - 1;
    g_autofree char *name = g_strconcat (names[last], ".lock", NULL);
    g_autoptr (inode_t) directory = NULL;
    struct iatt buf;
    const bool makes = !xlator_is_read_only (act->this);
    const int r = overlay_walk_child (act, OVERLAY_UPPER, names, last, makes, &directory, &buf);

    if (r == -ENOENT && !makes)
        return 0;
    if (r < 0)
        option_refuse (act->this, "upper", "must be in a directory of volume '%s', got '%s': %s",
                       priv->layers[OVERLAY_UPPER].xlator->name, priv->upper, g_strerror (-r));
    return r < 0 ? r : overlay_claim_one (act, 1, "upper",
                                          &(struct overlay_claim){ directory, name });
}

static int
overlay_prepare_work (struct overlay_act *act, inode_t **ret_work)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    struct iatt buf;
    const bool makes = !xlator_is_read_only (act->this);
    const int r = overlay_find (act, OVERLAY_UPPER, priv->work_directory, makes, ret_work, &buf);

    if (r == -ENOENT && !makes)
        return 0;
    if (r < 0 && r != -ENOTCONN)
        option_refuse (act->this, "work-directory",
                       "must be a directory of volume '%s', got '%s': %s",
                       priv->layers[OVERLAY_UPPER].xlator->name, priv->work_directory,
                       g_strerror (-r));
    return r;
}

/* What the graph before has found out about the upper's file system still holds. */
static int
overlay_prepare_layers (struct overlay_act *act)
{
    overlay_private_t *priv = overlay_priv (act->this);
    const bool read_only = xlator_is_read_only (act->this);
    g_autoptr (inode_t) work = NULL;
    int r = overlay_layers_find (act);

    if (r == 0)
        r = overlay_probe_lowers (act);
    if (r == 0)
        r = overlay_prepare_work (act, &work);
    if (r == 0)
        r = overlay_probe_upper (act);
    if (r == 0 && work)
        r = overlay_claim_one (act, 0, "work-directory", &(struct overlay_claim){ work, "lock" });
    if (r == 0)
        r = overlay_claim_upper (act);
    if (r == 0 && priv->cleans && !read_only)
        r = overlay_layers_clean (act);
    if (r == 0 && !priv->parts->prefix) {
        r = read_only ? overlay_read_prefix (act) : overlay_probe_in (act, work);
        if (r == 0)
            priv->parts->prefix = priv->prefix;
    }
    priv->prefix = priv->parts->prefix;
    if (r == 0 && work)
        r = overlay_records_open (act, work);
    if (r == 0 && read_only)
        r = overlay_left_check (act);
    return read_only && r == -ENOTCONN && priv->records ? 0 : r; /* the start checks it again */
}

int
overlay_prepare (xlator_t *this)
{
    overlay_private_t *priv = overlay_priv (this);
    struct overlay_act act;
    int r;

    overlay_act_begin (&act, this, NULL,
                       itable_root (priv->layers[OVERLAY_UPPER].xlator->realm->itable));
    r = overlay_prepare_layers (&act);
    overlay_act_end (&act);
    priv->prepared = r == 0;
    return r;
}

/* --- the start -------------------------------------------------------------------------------- */

/* The root of a new upper shows what the root of the first lower shows. It gets its name when it is
 * complete. */
static int
overlay_make_upper (struct overlay_act *act, inode_t *work, const struct overlay_model *lower,
                    inode_t **ret_inode)
{
    const char *path = overlay_priv (act->this)->layers[OVERLAY_UPPER].path;
    g_autofree char *name = overlay_work_name (act->this);
    g_autoptr (inode_t) directory = NULL;
    const int r = overlay_upper_make (act, work, name, lower, ret_inode);

    return r < 0 ? r : overlay_upper_publish (act, work, name, *ret_inode, path, &directory);
}

/* What an earlier daemon has left unfinished. */
static void
overlay_clean_work (struct overlay_act *act, inode_t *work)
{
    struct client *client = overlay_daemon (act, OVERLAY_UPPER);
    const struct fd_maker *fds = overlay_fds (act, OVERLAY_UPPER);
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

    if (!overlay_priv (act->this)->cleans || xlator_is_read_only (act->this)
        || sync_names_list (client, fds, work, names) < 0)
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
    layer->has_folder = buf->ia_dev == priv->place.dev && buf->ia_ino == priv->place.ino;
    layer->seed = layer->dev == priv->layers[OVERLAY_UPPER].dev ? 0 : slot - priv->frozen;
    for (unsigned i = priv->frozen + 1; layer->seed && i < slot; i++)
        if (priv->layers[i].dev == layer->dev && i - priv->frozen < layer->seed)
            layer->seed = i - priv->frozen;
    layer->origins = slot != OVERLAY_UPPER && overlay_origins_are_found (act, slot, root);
    realm_slot_set_root (this, slot, root);
    return overlay_root_marks (act, slot, root);
}

/* The index is made now, so that all graphs of a mount have it. */
static int
overlay_start_index (struct overlay_act *act, inode_t *work)
{
    char name[] = OVERLAY_INDEX, *names[] = { name };
    overlay_private_t *priv = overlay_priv (act->this);
    g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) index = NULL;
    struct iatt buf;
    int r = overlay_walk (act, OVERLAY_UPPER, work, names, 1, !xlator_is_read_only (act->this),
                          &index, &buf);

    if (r == 0)
        r = sync_names_list (overlay_daemon (act, OVERLAY_UPPER),
                             overlay_fds (act, OVERLAY_UPPER), index, files);
    if (r < 0)
        return r;
    if (files->len > 0)
        __atomic_store_n (&priv->parts->has_index, true, __ATOMIC_RELAXED);
    realm_slot_set_root (act->this, priv->n + 1, index);
    return 0;
}

/* The root of a layer; ENOENT: the upper is new. */
static int
overlay_layer_root (struct overlay_act *act, unsigned slot, inode_t **ret_root,
                    struct iatt *ret_buf)
{
    const char *path = overlay_priv (act->this)->layers[slot].path;

    return path ? overlay_find (act, slot, path, false, ret_root, ret_buf)
                : overlay_root_of (act, slot, ret_root, ret_buf);
}

static int
overlay_start_work (struct overlay_act *act, inode_t **ret_work)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    const bool makes = !xlator_is_read_only (act->this);
    struct iatt buf;
    int r = overlay_find (act, OVERLAY_UPPER, priv->work_directory, makes, ret_work, &buf);

    if (r < 0)
        return r;
    overlay_clean_work (act, *ret_work);
    realm_slot_set_root (act->this, priv->n, *ret_work);
    return overlay_start_index (act, *ret_work);
}

/* A read-only mount whose upper was never made shows the lowers. */
static int
overlay_start_upper (struct overlay_act *act, const struct overlay_model *lower)
{
    const bool makes = !xlator_is_read_only (act->this);
    g_autoptr (inode_t) work = NULL, upper = NULL;
    struct iatt buf;
    int r = overlay_start_work (act, &work);

    if (r < 0 && (makes || r != -ENOENT))
        return r;
    r = overlay_layer_root (act, OVERLAY_UPPER, &upper, &buf);
    if (r == -ENOENT && !makes) {
        overlay_priv (act->this)->layers[OVERLAY_UPPER].dev = overlay_priv (act->this)->folder_dev;
        return 0;
    }
    if (r == -ENOENT)
        r = overlay_make_upper (act, work, lower, &upper);
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
    int r = overlay_layer_root (act, 1, &first, &first_buf);

    *ret_who = priv->layers[1].xlator->name;
    if (r == 0) {
        *ret_who = priv->layers[OVERLAY_UPPER].xlator->name;
        r = overlay_start_upper (act, &(struct overlay_model){ 1, first, &first_buf });
    }
    for (unsigned slot = 1; r == 0 && slot < priv->n; slot++) {
        g_autoptr (inode_t) root = NULL;

        *ret_who = priv->layers[slot].xlator->name;
        r = overlay_layer_root (act, slot, &root, &buf);
        if (r == 0)
            r = overlay_layer_starts (act, slot, root, &buf);
        if (r == 0 && slot == priv->frozen)
            overlay_root_number (act, &buf);
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

    if (!priv->prepared && !priv->refused) {
        r = overlay_prepare (this);
        priv->refused = r == -ENOTCONN ? 0 : r;
    }
    if (!priv->prepared)
        return priv->refused ? priv->refused : -ENOTCONN;
    overlay_act_begin (&act, this, NULL, any);
    r = overlay_start_layers (&act, &who);
    if (r < 0 && r != priv->start_error)
        gf_log (this, GF_LOG_ERROR, "the root of volume '%s' can't be looked up: %s", who,
                g_strerror (-r));
    if (r == 0)
        r = overlay_left_finish (&act);
    overlay_act_end (&act);
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
