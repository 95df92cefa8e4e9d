/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* performance/md-cache: keeps attributes and extended attributes of files for a while. md-cache.h
 * lists its files. */
#include "md-cache.h"

#define BOOLEAN(key_, field_, value_, help_) \
    { \
        .key = { key_ }, .type = OPTION_BOOL, OPTION_FIELD (mdc_private_t, field_), \
        .value = value_, .online = true, .help = help_ \
    }

static const struct xlator_option mdc_options[] = {
    { OPTION ("md-cache-timeout", INT, mdc_private_t, timeout_option, "1"), .min = 0, .max = 600,
      .online = true,
      .help = "seconds for which the translator caches attributes; 0: it asks storage each time. "
              "Without cache-invalidation, a value above 60 counts as 60" },
    BOOLEAN ("cache-invalidation", cache_invalidation, "off",
             "promise that storage reports changes by other programs; md-cache-timeout may then be "
             "more than 60"),
    { OPTION ("global-cache-invalidation", BOOL, mdc_private_t, global_invalidation, "on"),
      .online = true, .inert = true,
      .help = "the kernel and the translators above compare times and sizes themselves" },
    BOOLEAN ("force-readdirp", force_readdirp, "on",
             "a listing of a directory on a server also fetches the attributes of all entries"),
    BOOLEAN ("look-ahead", look_ahead, "on",
             "while names of a directory on a server are looked up one after the other, list the "
             "directory in the background, and answer the next lookups from that"),
    BOOLEAN ("md-cache-statfs", statfs, "off",
             "the answer of statfs is cached, too, until the next change of any file"),
    { OPTION ("xattr-cache-list", STRING, mdc_private_t, xattr_list, ""),
      .check = mdc_patterns_check, .online = true, .from_server = SERVER_MAY,
      .help = "extended attributes to cache, separated by commas; * matches any text. The "
              "translator never caches trusted attributes" },
    BOOLEAN ("cache-capability-xattrs", capability, "on", "cache security.capability; a server "
             "sends it along with names"),
    BOOLEAN ("cache-ima-xattrs", ima, "on", "cache security.ima"),
    BOOLEAN ("cache-selinux", selinux, "on",
             "cache security.selinux; a server sends it along with names"),
    BOOLEAN ("cache-posix-acl", posix_acl, "on",
             "cache POSIX ACLs: system.posix_acl_access and system.posix_acl_default; a server "
             "sends them along with names"),
    BOOLEAN ("cache-glusterfs-acl", glusterfs_acl, "off",
             "cache glusterfs.posix.acl and glusterfs.posix.default_acl"),
    BOOLEAN ("cache-swift-metadata", swift, "off", "cache user.swift.metadata"),
    BOOLEAN ("cache-samba-metadata", samba, "off",
             "cache user.DOSATTRIB, user.DosStream.*, user.org.netatalk.Metadata and "
             "security.NTACL"),
    { OPTION_INERT ("md-cache", BOOL,
                    "use pass-through to turn the translator off"), .value = "on" },
    {},
};

/* --- init, reconfigure, notify, fini ---------------------------------------------------------- */

static int64_t
timeout_of (const mdc_private_t *options)
{
    int seconds = options->timeout_option;

    if (!options->cache_invalidation)
        seconds = MIN (seconds, MDC_TIMEOUT_MAX);
    return (int64_t) seconds * 1000000000;
}

static int
mdc_init (xlator_t *this)
{
    mdc_private_t *priv = this->private;

    pthread_mutex_init (&priv->lock, NULL);
    thread_cond_init (&priv->ahead_idle);
    pthread_mutex_init (&priv->patterns.lock, NULL);
    priv->seed = random_seed ();
    priv->timeout = timeout_of (priv);
    shared_set (&priv->patterns, &mdc_patterns_new (priv)->shared);
    return 0;
}

/* Attributes of a newly listed name are not kept yet, and those of a name no longer listed must
 * go. */
static void
patterns_change (xlator_t *this, const mdc_private_t *to)
{
    shared_unref (shared_set (&mdc_priv (this)->patterns, &mdc_patterns_new (to)->shared));
    mdc_all_changed (this, &mdc_priv (this)->xattrs);
}

static int
mdc_reconfigure (xlator_t *this, const void *new_private)
{
    mdc_private_t *priv = this->private;
    const mdc_private_t *to = new_private;

    __atomic_store_n (&priv->force_readdirp, to->force_readdirp, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->statfs, to->statfs, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->look_ahead, to->look_ahead, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->timeout, timeout_of (to), __ATOMIC_RELAXED);
    patterns_change (this, to);
    return 0;
}

static void
mdc_fini (xlator_t *this)
{
    mdc_private_t *priv = this->private;

    if (priv->patterns.now)
        shared_unref (priv->patterns.now);
    dict_unref (priv->along);
    g_free (priv->slots);
    pthread_cond_destroy (&priv->ahead_idle);
    pthread_mutex_destroy (&priv->patterns.lock);
    pthread_mutex_destroy (&priv->lock);
}

/* --- invalidation ----------------------------------------------------------------------------- */

static void
mdc_invalidate (xlator_t *this, const struct invalidation *gone)
{
    mdc_private_t *priv = this->private;

    mdc_count (&priv->count.invalidations);
    if (!gone->inode) {
        mdc_all_changed (this, &priv->all);
        return;
    }
    if (gone->what & INVALIDATE_NAMES && gone->name)
        mdc_name_changed (this, mdc_name_hash (this, gone->inode, gone->name));
    else if (gone->what & INVALIDATE_NAMES)
        mdc_directory_changed (this, gone->inode);
    mdc_changed (this, gone->inode, true, gone->what & INVALIDATE_XATTRS);
}

static void
mdc_notify (xlator_t *this, enum xlator_event event, void *data)
{
    mdc_private_t *priv = this->private;

    if (event == XLATOR_INVALIDATE)
        mdc_invalidate (this, data);
    else if (event == XLATOR_PARENT_UP && !priv->along && xlator_is_remote (this))
        priv->along = mdc_xattrs_along ();
    else if (event == XLATOR_PARENT_DOWN)
        mdc_ahead_end (this);
    xlator_pass_on (this, event, data);
}

/* --- dumps ------------------------------------------------------------------------------------ */

static void
mdc_dump_number (GString *out, const char *key, const uint64_t *value)
{
    g_string_append_printf (out, "%s=%" G_GUINT64_FORMAT "\n", key,
                            __atomic_load_n (value, __ATOMIC_RELAXED));
}

static char *
patterns_text (xlator_t *this)
{
    struct mdc_patterns *patterns = shared_get (&mdc_priv (this)->patterns);
    GString *text = g_string_new (NULL);

    for (guint i = 0; i < patterns->globs->len; i++)
        g_string_append_printf (text, "%s%s", i ? "," : "",
                                (const char *) patterns->globs->pdata[i]);
    shared_unref (&patterns->shared);
    return g_string_free (text, FALSE);
}

static void
mdc_dump (xlator_t *this, GString *out)
{
    mdc_private_t *priv = this->private;
    const struct mdc_counts *count = &priv->count;
    g_autofree char *patterns = patterns_text (this);

    mdc_dump_number (out, "stat_hit_count", &count->stat_hit);
    mdc_dump_number (out, "stat_miss_count", &count->stat_miss);
    mdc_dump_number (out, "lookup_hit_count", &count->lookup_hit);
    mdc_dump_number (out, "lookup_miss_count", &count->lookup_miss);
    mdc_dump_number (out, "pieces_read_ahead", &count->pieces_ahead);
    mdc_dump_number (out, "xattr_hit_count", &count->xattr_hit);
    mdc_dump_number (out, "xattr_miss_count", &count->xattr_miss);
    mdc_dump_number (out, "negative_xattr_hit_count", &count->negative_xattr_hit);
    mdc_dump_number (out, "statfs_hit_count", &count->statfs_hit);
    mdc_dump_number (out, "statfs_miss_count", &count->statfs_miss);
    mdc_dump_number (out, "kept_count", &count->kept);
    mdc_dump_number (out, "discarded_count", &count->discarded);
    mdc_dump_number (out, "stat_invals_received", &count->invalidations);
    g_string_append_printf (out,
                            "timeout_seconds=%lld\nforce_readdirp=%d\nmd_cache_statfs=%d\nxattrs=%"
                            "s\nbytes_per_inode=%zu\n",
                            (long long) (MDC_OPTION (this, timeout) / 1000000000),
                            MDC_OPTION (this, force_readdirp), MDC_OPTION (this, statfs), patterns,
                            sizeof (struct mdc_inode));
}

static void
mdc_dump_inode (xlator_t *this, inode_t *inode, GString *out)
{
    struct mdc_inode *kept = mdc_inode_get (this, inode);
    struct iatt buf;

    if (!kept)
        return;
    if (mdc_attributes (this, inode, &buf))
        g_string_append_printf (out,
                                "size=%" G_GUINT64_FORMAT "\nmode=0%o\nctime=%" G_GINT64_FORMAT
                                ".%09u\n",
                                buf.ia_size, mode_of_iatt (&buf), buf.ia_ctime, buf.ia_ctime_nsec);
    pthread_mutex_lock (&kept->lock);
    g_string_append_printf (out, "changes_under_way=%u\n", kept->attributes.under_way);
    for (const struct mdc_xattr *xattr = kept->values; xattr; xattr = xattr->next)
        g_string_append_printf (out, "xattr=%s, %s\n", xattr->name,
                                xattr->dict ? "there" : "not there");
    pthread_mutex_unlock (&kept->lock);
}

static void
mdc_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    g_autofree char *patterns = patterns_text (this);
    struct iatt buf;

    if (MDC_OPTION (this, timeout) == 0) {
        g_string_append (out, "remembers nothing of it (md-cache-timeout)\n");
        return;
    }
    g_string_append_printf (out,
                            "remembers its attributes for %lld s, and extended ones: %s "
                            "(md-cache-timeout, xattr-cache-list, cache-*)\n",
                            (long long) (MDC_OPTION (this, timeout) / 1000000000),
                            *patterns ? patterns : "none");
    if (inode)
        g_string_append_printf (out, "just now its attributes are %s\n",
                                mdc_attributes (this, inode, &buf)
                                    ? "known"
                                    : "not known: each request asks storage");
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "performance/md-cache",
    .about = "caches attributes and extended attributes of files",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_NOTHING,
    .wants = WANTS_INODE | WANTS_PARENT_ATTRIBUTES | WANTS_DATA_ATTRIBUTES,
    .priv_size = sizeof (mdc_private_t),
    .options = mdc_options,
    .init = mdc_init,
    .fini = mdc_fini,
    .reconfigure = mdc_reconfigure,
    .notify = mdc_notify,
    .local_drop = mdc_local_drop,
    .fops = {
        .lookup = mdc_lookup,
        .stat = mdc_stat,
        .fstat = mdc_fstat,
        .readlink = mdc_readlink,
        .readv = mdc_readv,
        .statfs = mdc_statfs,
        .readdir = mdc_readdir,
        .readdirp = mdc_readdirp,
        .getxattr = mdc_getxattr,
        .fgetxattr = mdc_fgetxattr,
    },
    .any_fop = mdc_any_fop,
    .any_fop_ops = OPS_CHANGE,
    .any_fop_cbk = mdc_any_fop_cbk,
    .cbks = { .forget = mdc_forget },
    .dumpops = { .priv = mdc_dump, .inodectx = mdc_dump_inode, .explain = mdc_explain },
    .passthrough = { .why = "caches the file's attributes, which each write changes" },
};
