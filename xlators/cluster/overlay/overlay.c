/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cluster/overlay: options, init and fini, and where each operation goes. */
#include "commands/commands.h"
#include "start/layers.h"
#include "formats/records.h"
#include "formats/wh.h"
#include "lookup/lookup.h"

static int
overlay_path_check (const char *text, char **ret_allowed)
{
    g_auto (GStrv) names = g_strsplit (text, "/", -1);
    bool good = *text && *text != '/';

    for (char **name = names; *name; name++)
        good &= **name && !name_is_dots (*name);
    if (good)
        return 0;
    *ret_allowed = g_strdup ("must be a path in the first subvolume, without a '/' at its begin "
                             "and end, and without '.' and '..': layers/0");
    return -EINVAL;
}

static const struct option_choice overlay_owners[] = {
    { "keep", OVERLAY_OWNER_KEEP },
    { "daemon", OVERLAY_OWNER_DAEMON },
    {},
};

static const struct xlator_option overlay_options[] = {
    { OPTION ("upper", STRING, overlay_private_t, upper, "layers/0"),
      .check = overlay_path_check,
      .help = "the directory of the first subvolume that gets the changes" },
    { OPTION ("work-directory", STRING, overlay_private_t, work_directory, "work"),
      .check = overlay_path_check,
      .help = "the directory of the first subvolume for unfinished copies, on the upper's file "
              "system" },
    { OPTION ("owner", ENUM, overlay_private_t, owner, "keep"), .values = overlay_owners,
      .help = "who owns the copy of a file whose owner the daemon can't give it, as an ordinary "
              "user can't: keep fails the change with EPERM; with daemon the copy belongs to the "
              "daemon's user, without the set-user-ID and set-group-ID bits, and without the "
              "entries of its ACL for users and groups that the daemon's user namespace does not "
              "have" },
    { OPTION ("wh-volumes", STRING, overlay_private_t, wh_volumes, NULL),
      .from_server = SERVER_MAY,
      .help = "subvolumes between the first and the last one, with commas between their names, in "
              "which fuse-overlayfs has made whiteouts without devices: a file .wh.NAME there "
              "hides NAME of the subvolumes below, and .wh..wh..opq all names in its directory" },
    {},
};

/* Operations that wait for requests of their own. */
static const opset_t overlay_straight =
    OPS_CHANGE_NAMES | OPSET_OF (FOP_readdir) | OPSET_OF (FOP_readdirp);

/* Whether names of copies have to be synced before the call. */
static bool
overlay_syncs_names (const overlay_private_t *priv, const struct call *call)
{
    return (call->op == FOP_fsync || call->op == FOP_fsyncdir)
           && __atomic_load_n (&priv->parts->n_unsynced, __ATOMIC_ACQUIRE) > 0;
}

static void
overlay_any_fop (const struct call *call)
{
    const overlay_private_t *priv = overlay_priv (call->this);
    const struct overlay_local *local = overlay_local_of (call->frame);
    const bool started = __atomic_load_n (&priv->started, __ATOMIC_ACQUIRE);
    const bool straight = opset_has (overlay_straight, call->op);
    const bool syncs = overlay_syncs_names (priv, call);
    inode_t *lacks = started ? overlay_lacks_copy (call) : NULL;
    inode_t *own = __atomic_load_n (&priv->has_own_mount, __ATOMIC_ACQUIRE)
                       ? overlay_own_mount_of (call) : NULL;

    if (own && call->op != FOP_readdir && call->op != FOP_readdirp)
        overlay_own_mount (call, own);
    else if (!started || lacks || (straight && !local->on_thread && !overlay_runs_here (call))
        || (syncs && !local->on_thread)) {
        overlay_to_thread (call, lacks);
    } else if (opset_has (OPS_CHANGE_NAMES, call->op)) {
        overlay_names (call);
    } else if (syncs) {
        overlay_sync (call);
    } else if (straight) {
        overlay_list (call);
    } else if (call->op == FOP_lookup) {
        overlay_lookup (call);
    } else {
        overlay_pass (call);
    }
}

static void
overlay_local_drop (xlator_t *this, void *data)
{
    struct overlay_local *local = data;

    sequence_clear (&local->sequence);
    overlay_lookup_drop (local);
    inode_unref (local->inode);
    fd_unref (local->opens);
    inode_unref (local->source);
}

/* --- init, notify, fini ----------------------------------------------------------------------- */

/* While the child answers. */
static void
overlay_unclaim (xlator_t *this)
{
    overlay_private_t *priv = overlay_priv (this);

    for (size_t i = 0; i < G_N_ELEMENTS (priv->claimed); i++)
        g_clear_pointer (&priv->claimed[i], fd_unref);
}

static int
overlay_init (xlator_t *this)
{
    overlay_private_t *priv = overlay_priv (this);
    int r;

    pthread_mutex_init (&priv->lock, NULL);
    thread_cond_init (&priv->changed);
    g_queue_init (&priv->swept);
    priv->old_roots = g_ptr_array_new_with_free_func ((GDestroyNotify) inode_unref);
    priv->held = held_new (overlay_held_go_on);
    work_use ();
    jobs_init (this);
    overlay_slots_make (this);
    if (strcmp (priv->upper, priv->work_directory) == 0) {
        option_refuse (this, "work-directory", "must be another directory than the upper, '%s'",
                       priv->upper);
        return -EINVAL;
    }
    r = overlay_wh_check (this);
    if (r == 0)
        r = overlay_prepare (this);
    if (r == -ENOTCONN)
        return 0; /* the first call tries again */
    if (r < 0) {
        overlay_records_close (this);
        overlay_unclaim (this);
    }
    return r;
}

static void
overlay_notify (xlator_t *this, enum xlator_event event, void *data)
{
    if (event == XLATOR_ENDING)
        jobs_end (this);
    if (event == XLATOR_PARENT_DOWN) {
        jobs_wait (this);
        overlay_tasks_wait (this);
        held_notify (overlay_priv (this)->held, event);
        overlay_sweep_forget (overlay_priv (this));
        overlay_sync_ending (this);
        overlay_records_close (this);
        g_ptr_array_set_size (overlay_priv (this)->old_roots, 0);
        overlay_unclaim (this);
    }
    realm_notify (this, event, data);
}

static void
overlay_fini (xlator_t *this)
{
    overlay_private_t *priv = overlay_priv (this);

    if (priv->slots) {
        jobs_fini (this);
        overlay_tasks_wait (this);
        overlay_records_close (this);
        held_free (priv->held);
        work_leave ();
        for (const struct overlay_layer *slot = priv->slots; slot->xlator; slot++)
            if (slot->daemon)
                client_free (slot->daemon);
        g_ptr_array_unref (priv->old_roots);
        g_free (priv->slots);
        pthread_cond_destroy (&priv->changed);
        pthread_mutex_destroy (&priv->lock);
    }
    if (priv->parts)
        shared_unref (&priv->parts->shared);
    shared_unref (priv->claims);
}

/* --- where a file is -------------------------------------------------------------------------- */

static enum data_view
overlay_view (xlator_t *this, const inode_t *inode, const char **ret_why)
{
    return DATA_UNSEEN;
}

static xlator_t *
overlay_follow (xlator_t *this, inode_t *inode, inode_t **ret_below)
{
    const overlay_private_t *priv = overlay_priv (this);
    unsigned slot = inode ? overlay_slot (this, inode) : OVERLAY_UPPER;

    if (slot == priv->n)
        return NULL;
    slot = inode ? overlay_data_slot (this, inode, slot) : slot;
    *ret_below = inode ? realm_below (this, inode, slot) : NULL;
    return priv->layers[slot].xlator;
}

/* --- reports ---------------------------------------------------------------------------------- */

/* Names the volumes below `slot` that have the object, too. */
static void
overlay_explain_lowers (xlator_t *this, inode_t *inode, unsigned slot, GString *out)
{
    const overlay_private_t *priv = overlay_priv (this);
    const char *before = inode->ia_type == IA_IFDIR ? "merged with that of"
                                                    : "covers, and leaves as it was, that of";

    for (slot++; slot < priv->n; slot++)
        if (realm_below (this, inode, slot)) {
            const struct overlay_layer *layer = &priv->layers[slot];

            g_string_append_printf (out, "%s volume '%s'", before, layer->xlator->name);
            if (layer->path)
                g_string_append_printf (out, " (layer '%s')", layer->path);
            before = ",";
        }
    if (*before == ',')
        g_string_append_c (out, '\n');
}

static void
overlay_explain_change (xlator_t *this, inode_t *inode, unsigned slot, GString *out)
{
    const overlay_private_t *priv = overlay_priv (this);
    const struct overlay_layer *upper = &priv->layers[OVERLAY_UPPER];

    if (slot == OVERLAY_UPPER)
        g_string_append_printf (out, "a change is made there\n");
    else if (inode->ia_type == IA_IFDIR)
        g_string_append_printf (out, "a change of it, or of a name in it, makes it in '%s' of "
                                     "volume '%s' first (upper)\n", upper->path,
                                upper->xlator->name);
    else
        g_string_append_printf (out, "a change copies it to '%s' of volume '%s' first (upper)\n",
                                upper->path, upper->xlator->name);
}

static void
overlay_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    const overlay_private_t *priv = overlay_priv (this);
    const unsigned slot = inode ? overlay_slot (this, inode) : priv->n;

    if (slot == priv->n) {
        g_string_append (out, "is not known to come from a layer\n");
        return;
    }
    if (slot == OVERLAY_UPPER)
        g_string_append_printf (out, "comes from the upper, '%s' of volume '%s'\n",
                                priv->layers[slot].path, priv->layers[slot].xlator->name);
    else if (slot <= priv->frozen)
        g_string_append_printf (out, "comes from the frozen layer '%s' of volume '%s'\n",
                                priv->layers[slot].path, priv->layers[slot].xlator->name);
    else
        g_string_append_printf (out, "comes from lower %u of %u, volume '%s'\n",
                                slot - priv->frozen, priv->n - 1 - priv->frozen,
                                priv->layers[slot].xlator->name);
    overlay_explain_lowers (this, inode, slot, out);
    overlay_explain_change (this, inode, slot, out);
}

static void
overlay_dump (xlator_t *this, GString *out)
{
    overlay_private_t *priv = overlay_priv (this);
    const unsigned tasks = overlay_all_tasks (this);

    pthread_mutex_lock (&priv->lock);
    g_string_append_printf (out, "layers=%u\ntasks=%u\nstarted=%d\nprefix=%s\n", priv->n,
                            tasks, priv->started, priv->prefix ? priv->prefix : "");
    pthread_mutex_unlock (&priv->lock);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "cluster/overlay",
    .about = "shows directories one over the other, and keeps all changes in the first",
    .children = { .min = 2, .max = -1 },
    .realms = true,
    .touches = TOUCHES_NAMES | TOUCHES_METADATA,
    .wants = WANTS_INODE | WANTS_FD,
    .priv_size = sizeof (overlay_private_t),
    .options = overlay_options,
    .take_over_prepare = overlay_take_over_prepare,
    .init = overlay_init,
    .fini = overlay_fini,
    .notify = overlay_notify,
    .local_drop = overlay_local_drop,
    .any_fop = overlay_any_fop,
    .any_fop_cbk = overlay_pass_cbk,
    .forwards = OPSET_OF (FOP_flush),
    .cbks = { .forget = overlay_inode_forget, .releasedir = overlay_list_forget },
    .dumpops = { .priv = overlay_dump, .explain = overlay_explain },
    .commands = overlay_commands,
    .passthrough = { .view = overlay_view, .follow = overlay_follow,
                     .why = "gives an open file the bytes of another layer once it is changed, "
                            "which -o ro rules out" },
};
