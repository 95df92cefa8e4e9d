/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * performance/io-cache: keeps file data that was read in memory. io-cache.h lists its files.
 */
#include "io-cache.h"

#include <inttypes.h>

static const struct xlator_option ioc_options[] = {
    { OPTION ("cache-size", SIZE, ioc_private_t, cache_size, "32MB"), .min = 4 << 20, .max = -1,
      .check = lru_check_size, .online = true,
      .help = "maximum memory of all pages; the least recently used page is dropped first" },
    { OPTION ("cache-timeout", INT, ioc_private_t, timeout, "1"),
      .key[1] = "force-revalidate-timeout", .min = 0, .max = 60, .online = true,
      .help = "seconds for which the translator returns cached pages of a file without checking "
              "the file again; a change behind the mount is visible after this time" },
    { OPTION ("min-file-size", SIZE, ioc_private_t, min_size, "0"), .online = true,
      .help = "files smaller than this are not cached" },
    { OPTION ("max-file-size", SIZE, ioc_private_t, max_size, "0"), .online = true,
      .help = "files larger than this are not cached; 0: no limit" },
    { OPTION ("priority", STRING, ioc_private_t, priority, NULL), .check = priorities_check,
      .from_server = SERVER_MAY,
      .help = "patterns and weights of files, such as '*.html:3,*:1'; the longest matching pattern "
              "gives the weight; pages with lower weights are dropped first; a file with weight 0 "
              "or without a matching pattern is not cached" },
    { OPTION_INERT ("io-cache", BOOL,
                    "use pass-through to turn the translator off"), .value = "on" },
    {},
};

/* --- init, reconfigure, notify, fini ---------------------------------------------------------- */

/* cache-timeout is an integer of seconds, as in GlusterFS. */
#define SECOND ((int64_t) 1000000000)

static bool
sizes_are_right (xlator_t *this, const ioc_private_t *options)
{
    g_autofree char *min = option_size_text (options->min_size),
                    *max = option_size_text (options->max_size);

    if (options->max_size == 0 || options->min_size <= options->max_size)
        return true;
    gf_log (this, GF_LOG_ERROR,
            "option 'min-file-size' must be at most 'max-file-size', %s, got '%s'", max, min);
    return false;
}

static int
ioc_init (xlator_t *this)
{
    ioc_private_t *priv = this->private;
    g_autofree char *problem = NULL;

    priv->timeout *= SECOND;
    page_reads_init (&priv->reads);
    lru_init (&priv->lru, priv->cache_size);
    if (!sizes_are_right (this, priv))
        return -EINVAL;
    return priorities_parse (priv->priority, &priv->priorities, &problem);
}

static int
ioc_reconfigure (xlator_t *this, const void *new_private)
{
    ioc_private_t *priv = this->private;
    const ioc_private_t *to = new_private;

    if (!sizes_are_right (this, to))
        return -EINVAL;
    __atomic_store_n (&priv->cache_size, to->cache_size, __ATOMIC_RELEASE);
    __atomic_store_n (&priv->timeout, to->timeout * SECOND, __ATOMIC_RELEASE);
    __atomic_store_n (&priv->min_size, to->min_size, __ATOMIC_RELEASE);
    __atomic_store_n (&priv->max_size, to->max_size, __ATOMIC_RELEASE);
    if (!IOC_GET (this, ending))
        ioc_pages_gone (lru_set_limit (&priv->lru, to->cache_size));
    return 0;
}

static void
ioc_notify (xlator_t *this, enum xlator_event event, void *data)
{
    ioc_private_t *priv = this->private;
    const struct invalidation *gone = data;

    if (event == XLATOR_INVALIDATE && gone->what & (INVALIDATE_DATA | INVALIDATE_ATTRIBUTES))
        ioc_invalidate (this, gone->inode);
    if (event == XLATOR_ENDING || event == XLATOR_PARENT_DOWN) {
        __atomic_store_n (&priv->ending, true, __ATOMIC_RELEASE);
        ioc_pages_gone (lru_set_limit (&priv->lru, 0));
    }
    if (event == XLATOR_PARENT_DOWN)
        page_reads_drain (&priv->reads);
    xlator_pass_on (this, event, data);
}

static void
ioc_fini (xlator_t *this)
{
    ioc_private_t *priv = this->private;

    priorities_free (priv->priorities);
    lru_destroy (&priv->lru);
    page_reads_destroy (&priv->reads);
}

static void
ioc_forget (xlator_t *this, inode_t *inode)
{
    struct ioc_inode *ioc = ioc_inode_get (this, inode);

    if (!ioc)
        return;
    pthread_mutex_lock (&ioc->lock);
    ioc_pages_drop_locked (ioc, 0, -1);
    pthread_mutex_unlock (&ioc->lock);
    ioc_inode_unref (ioc);
}

/* --- dumps ------------------------------------------------------------------------------------ */

static void
ioc_dump (xlator_t *this, GString *out)
{
    ioc_private_t *priv = this->private;
    const struct {
        const char *key;
        const uint64_t *value;
    } rows[] = {
        { "cache_size", &priv->cache_size }, { "min_file_size", &priv->min_size },
        { "max_file_size", &priv->max_size }, { "reads_hit", &priv->count.hits },
        { "reads_waited", &priv->count.waits }, { "reads_passed", &priv->count.passed },
        { "pages_read", &priv->count.fetched }, { "pages_failed", &priv->count.failed },
        { "pages_not_kept", &priv->count.unkept }, { "looked_again", &priv->count.looked },
        { "found_changed", &priv->count.changed }, { "invalidations", &priv->count.invalidations },
    };

    g_string_append_printf (out, "cache_timeout=%g\npage_size=%zu\n",
                            (double) IOC_GET (this, timeout) / SECOND, IOC_PAGE);
    for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
        g_string_append_printf (out, "%s=%" PRIu64 "\n", rows[i].key,
                                __atomic_load_n (rows[i].value, __ATOMIC_RELAXED));
    lru_dump (&priv->lru, out);
}

static void
ioc_dump_inode (xlator_t *this, inode_t *inode, GString *out)
{
    struct ioc_inode *ioc = ioc_inode_get (this, inode);
    const int class = ioc ? __atomic_load_n (&ioc->class, __ATOMIC_RELAXED) : 0;

    if (!ioc)
        return;
    pthread_mutex_lock (&ioc->lock);
    g_string_append_printf (out, "pages=%u\non_their_way=%u\nchanging=%u\nweight=%u\n",
                            ioc->pages ? g_hash_table_size (ioc->pages) : 0, ioc->flying.length,
                            ioc->changes.under_way,
                            priorities_weight (ioc_priv (this)->priorities, class));
    if (ioc->known)
        g_string_append_printf (out,
                                "size=%" PRIu64 "\nmtime=%" PRId64 ".%09u\nctime=%" PRId64
                                ".%09u\nversion=%u\n",
                                ioc->state.size, ioc->state.mtime, ioc->state.mtime_nsec,
                                ioc->state.ctime, ioc->state.ctime_nsec, ioc->version);
    pthread_mutex_unlock (&ioc->lock);
}

static void
ioc_waits_for (xlator_t *this, const call_frame_t *frame, GString *out)
{
    page_reads_waits_for (&ioc_priv (this)->reads, frame, out);
}

static void
ioc_explain_inode (const struct ioc_inode *ioc, int class, GString *out)
{
    if (class < 0)
        g_string_append (out, "it isn't kept: its weight is 0 (priority)\n");
    else if (ioc_size_is_wrong_locked (ioc))
        g_string_append_printf (out,
                                "it isn't kept: its size is %" PRIu64
                                " (min-file-size, max-file-size)\n",
                                ioc->state.size);
    else
        g_string_append_printf (out, "%u pages of it are there now, of weight %u (priority)\n",
                                ioc->pages ? g_hash_table_size (ioc->pages) : 0,
                                priorities_weight (ioc_priv (ioc->this)->priorities, class));
}

static void
ioc_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    g_autofree char *size = option_size_text (IOC_GET (this, cache_size));
    struct ioc_inode *ioc = ioc_inode_get (this, inode);

    if (inode && inode->ia_type != IA_IFREG) {
        g_string_append (out, "does nothing with it: it keeps what is read of files\n");
        return;
    }
    g_string_append_printf (out,
                            "what is read of it stays in memory, with others up to %s "
                            "(cache-size); after %g s it is looked at "
                            "again (cache-timeout)\n",
                            size, (double) IOC_GET (this, timeout) / SECOND);
    g_string_append (
        out, "not where it is opened with O_DIRECT; what writes to it has those pages go\n");
    if (!ioc) {
        if (priorities_class (ioc_priv (this)->priorities, path) < 0)
            g_string_append (out, "it won't be kept: its weight is 0 (priority)\n");
        return;
    }
    pthread_mutex_lock (&ioc->lock);
    ioc_explain_inode (ioc, __atomic_load_n (&ioc->class, __ATOMIC_RELAXED), out);
    pthread_mutex_unlock (&ioc->lock);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "performance/io-cache",
    .about = "caches the data of files in memory",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_ERRORS,
    .wants = WANTS_INODE | WANTS_DATA_ATTRIBUTES,
    .priv_size = sizeof (ioc_private_t),
    .options = ioc_options,
    .init = ioc_init,
    .fini = ioc_fini,
    .reconfigure = ioc_reconfigure,
    .notify = ioc_notify,
    .local_drop = ioc_local_drop,
    .fops = {
        .readv = ioc_readv,
    },
    .any_fop = ioc_any_fop,
    .any_fop_ops = OPS_CHANGE_DATA | OPS_CHANGE_IF_TRUNC | OPS_CHANGE_LOCKS,
    .any_fop_cbk = ioc_any_fop_cbk,
    .cbks = { .forget = ioc_forget },
    .dumpops = {
        .priv = ioc_dump, .inodectx = ioc_dump_inode, .waits_for = ioc_waits_for,
        .explain = ioc_explain,
    },
    .passthrough = { .why = "caches the file's data" },
};
