/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* performance/nl-cache: remembers for a while which names do not exist. nl-cache.h lists its
 * files. */
#include "nl-cache.h"

static const struct xlator_option nlc_options[] = {
    { OPTION ("nl-cache-timeout", TIME, nlc_private_t, timeout, "60"), .online = true,
      .help = "how long the translator caches a name; a file that is created behind the mount is "
              "visible after this time" },
    { OPTION ("nl-cache-limit", SIZE, nlc_private_t, limit, "131072"), .check = lru_check_size,
      .online = true,
      .help = "maximum memory of all names; the least recently looked up name is dropped first" },
    { OPTION ("nl-cache-positive-entry", BOOL, nlc_private_t, positive, "off"), .online = true,
      .help = "also cache existing names: in a directory that was created through the mount, a "
              "lookup of any other name is answered without storage; the translator also answers "
              "glusterfs.get_real_filename" },
    { OPTION_INERT ("nl-cache", BOOL,
                    "use pass-through to turn the translator off"), .value = "on" },
    {},
};

static int
nlc_init (xlator_t *this)
{
    nlc_private_t *priv = this->private;

    lru_init (&priv->lru, priv->limit);
    pthread_mutex_init (&priv->all_lock, NULL);
    for (unsigned i = 0; i < NLC_SHARDS; i++)
        nlc_shard_init (&priv->shards[i]);
    priv->begun = true;
    return 0;
}

static int
nlc_reconfigure (xlator_t *this, const void *new_private)
{
    nlc_private_t *priv = this->private;
    const nlc_private_t *to = new_private;

    __atomic_store_n (&priv->timeout, to->timeout, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->positive, to->positive, __ATOMIC_RELAXED);
    nlc_set_limit (this, to->limit);
    return 0;
}

static void
nlc_fini (xlator_t *this)
{
    nlc_private_t *priv = this->private;

    if (!priv->begun)
        return;
    for (unsigned i = 0; i < NLC_SHARDS; i++)
        nlc_shard_destroy (this, &priv->shards[i]);
    pthread_mutex_destroy (&priv->all_lock);
    lru_destroy (&priv->lru);
}

static void
nlc_invalidate (xlator_t *this, const struct invalidation *gone)
{
    if (gone->inode && !(gone->what & INVALIDATE_NAMES))
        return;
    nlc_count (&nlc_priv (this)->count.invalidations);
    if (!gone->inode)
        nlc_all_changed (this);
    else if (gone->name)
        nlc_name_changed (this, gone->inode, gone->name);
    else
        nlc_directory_changed (this, gone->inode);
}

static void
nlc_notify (xlator_t *this, enum xlator_event event, void *data)
{
    if (event == XLATOR_INVALIDATE)
        nlc_invalidate (this, data);
    xlator_pass_on (this, event, data);
}

/* --- dumps ------------------------------------------------------------------------------------ */

static void
nlc_dump_number (GString *out, const char *key, const uint64_t *value)
{
    g_string_append_printf (out, "%s=%" G_GUINT64_FORMAT "\n", key,
                            __atomic_load_n (value, __ATOMIC_RELAXED));
}

static void
nlc_dump (xlator_t *this, GString *out)
{
    nlc_private_t *priv = this->private;

    nlc_dump_number (out, "negative_lookup_hit_count", &priv->count.hit);
    nlc_dump_number (out, "negative_lookup_miss_count", &priv->count.miss);
    nlc_dump_number (out, "nameless_lookup_count", &priv->count.nameless);
    nlc_dump_number (out, "get_real_filename_hit_count", &priv->count.real_hit);
    nlc_dump_number (out, "get_real_filename_miss_count", &priv->count.real_miss);
    nlc_dump_number (out, "dentry_invals_received", &priv->count.invalidations);
    lru_dump (&priv->lru, out);
    g_string_append_printf (out, "timeout_seconds=%g\npositive_entry=%d\n",
                            (double) NLC_OPTION (this, timeout) / 1e9, NLC_OPTION (this, positive));
}

static void
nlc_dump_inode (xlator_t *this, inode_t *inode, GString *out)
{
    if (inode->ia_type == IA_IFDIR && nlc_is_whole (this, inode))
        g_string_append (out, "all_names_known=1\n");
}

static void
nlc_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    if (inode && inode->ia_type != IA_IFDIR) {
        g_string_append (out,
                         "does nothing with it: it remembers names that aren't in directories\n");
        return;
    }
    g_string_append_printf (out,
                            "remembers for %g s which names looked for aren't in it "
                            "(nl-cache-timeout, nl-cache-limit)\n",
                            (double) NLC_OPTION (this, timeout) / 1e9);
    if (inode && nlc_is_whole (this, inode))
        g_string_append (
            out,
            "knows all names in it, as it was made through the mount (nl-cache-positive-entry)\n");
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "performance/nl-cache",
    .about = "caches names that do not exist",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_NOTHING,
    .priv_size = sizeof (nlc_private_t),
    .options = nlc_options,
    .init = nlc_init,
    .fini = nlc_fini,
    .reconfigure = nlc_reconfigure,
    .notify = nlc_notify,
    .local_drop = nlc_local_drop,
    .fops = {
        .lookup = nlc_lookup,
        .getxattr = nlc_getxattr,
    },
    .any_fop = nlc_any_fop,
    .any_fop_ops = OPS_CHANGE_NAMES,
    .any_fop_cbk = nlc_any_fop_cbk,
    .dumpops = { .priv = nlc_dump, .inodectx = nlc_dump_inode, .explain = nlc_explain },
};
