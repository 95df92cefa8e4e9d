/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * performance/read-ahead: fetches the next bytes of a file that is read in order before the reader
 * asks for them. read-ahead.h lists its files.
 */
#include "read-ahead.h"

#include <inttypes.h>

static const struct xlator_option ra_options[] = {
    { OPTION ("page-count", INT, ra_private_t, page_count, "16"), .min = 1, .max = RA_COUNT_MAX,
      .online = true,
      .help = "maximum number of pages to read ahead in each open file; 4 in GlusterFS" },
    { OPTION ("page-size", SIZE, ra_private_t, page_size, "128KB"), .min = 4 << 10, .max = 64 << 20,
      .at_most = "memory-limit", .online = true, .help = "the size of a page" },
    { OPTION ("memory-limit", SIZE, ra_private_t, memory, "64MB"), .min = 64 << 10,
      .check = lru_check_size, .online = true,
      .help = "maximum memory of the pages of all files; beyond this limit, nothing is read "
              "ahead" },
    { OPTION ("page-timeout", TIME, ra_private_t, timeout, "1"), .min = 0, .max = 60,
      .online = true,
      .help = "how long the translator returns a page that it has read ahead; a change behind the "
              "mount is visible after this time; 0: nothing is read ahead" },
    { OPTION ("force-atime-update", BOOL, ra_private_t, force_atime, "off"),
      .help = "after each read, read one byte from storage, so that the access time is that of the "
              "read, not that of the read-ahead" },
    { OPTION_INERT ("read-ahead", BOOL,
                    "use pass-through to turn the translator off"), .value = "on" },
    {},
};

/* --- init, reconfigure, notify, fini ---------------------------------------------------------- */

static int
ra_init (xlator_t *this)
{
    ra_private_t *priv = this->private;

    page_reads_init (&priv->reads);
    g_queue_init (&priv->pages);
    return 0;
}

static int
ra_reconfigure (xlator_t *this, const void *new_private)
{
    ra_private_t *priv = this->private;
    const ra_private_t *to = new_private;

    __atomic_store_n (&priv->page_count, to->page_count, __ATOMIC_RELEASE);
    __atomic_store_n (&priv->page_size, to->page_size, __ATOMIC_RELEASE);
    __atomic_store_n (&priv->memory, to->memory, __ATOMIC_RELEASE);
    __atomic_store_n (&priv->timeout, to->timeout, __ATOMIC_RELEASE);
    ra_drop_old (this);
    return 0;
}

/* If the timer is already running its callback, waits for that to end. */
static void
timer_stop (ra_private_t *priv)
{
    pthread_mutex_lock (&priv->reads.lock);
    if (priv->timer && timer_cancel (priv->timer)) {
        priv->timer = NULL;
        priv->reads.unfinished--;
    }
    pthread_mutex_unlock (&priv->reads.lock);
}

static void
ra_notify (xlator_t *this, enum xlator_event event, void *data)
{
    ra_private_t *priv = this->private;
    const struct invalidation *gone = data;

    if (event == XLATOR_INVALIDATE && gone->what & (INVALIDATE_DATA | INVALIDATE_ATTRIBUTES))
        ra_invalidate (this, gone->inode);
    if (event == XLATOR_ENDING || event == XLATOR_PARENT_DOWN) {
        __atomic_store_n (&priv->ending, true, __ATOMIC_RELEASE);
        ra_drop_all (this);
        timer_stop (priv);
    }
    if (event == XLATOR_PARENT_DOWN)
        page_reads_drain (&priv->reads);
    xlator_pass_on (this, event, data);
}

static void
ra_fini (xlator_t *this)
{
    ra_private_t *priv = this->private;

    page_reads_destroy (&priv->reads);
}

static void
ra_forget (xlator_t *this, inode_t *inode)
{
    ra_inode_unref (ra_inode_get (this, inode));
}

/* Pages on their way hold a reference of the fd. */
static void
ra_release (xlator_t *this, fd_t *fd)
{
    struct ra_file *file = ra_file_get (this, fd);

    if (!file)
        return;
    pthread_mutex_lock (&file->inode->lock);
    ra_file_drop_locked (file);
    pthread_mutex_unlock (&file->inode->lock);
    ra_file_unref (file);
}

/* --- dumps ------------------------------------------------------------------------------------ */

static void
ra_dump (xlator_t *this, GString *out)
{
    const ra_private_t *priv = this->private;
    const struct {
        const char *key;
        const uint64_t *value;
    } rows[] = {
        { "page_size", &priv->page_size }, { "memory_limit", &priv->memory },
        { "memory_held", &priv->held }, { "reads_hit", &priv->count.hits },
        { "reads_waited", &priv->count.waits }, { "reads_missed", &priv->count.misses },
        { "reads_passed", &priv->count.passed }, { "pages_read", &priv->count.fetched },
        { "pages_failed", &priv->count.failed }, { "pages_refused", &priv->count.refused },
        { "bytes_unread", &priv->count.unread }, { "invalidations", &priv->count.changes },
    };

    g_string_append_printf (out, "page_count=%d\nforce_atime_update=%d\n",
                            RA_GET (this, page_count), RA_GET (this, force_atime));
    for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
        g_string_append_printf (out, "%s=%" PRIu64 "\n", rows[i].key,
                                __atomic_load_n (rows[i].value, __ATOMIC_RELAXED));
}

static void
ra_dump_inode (xlator_t *this, inode_t *inode, GString *out)
{
    struct ra_inode *rai = ra_inode_get (this, inode);

    if (!rai)
        return;
    pthread_mutex_lock (&rai->lock);
    g_string_append_printf (out, "files_with_pages=%u\nchanging=%u\neof=%lld\n", rai->files.length,
                            rai->changes.under_way, (long long) rai->eof);
    pthread_mutex_unlock (&rai->lock);
}

static void
ra_dump_fd (xlator_t *this, fd_t *fd, GString *out)
{
    struct ra_file *file = ra_file_get (this, fd);
    unsigned n = 0;

    if (!file)
        return;
    pthread_mutex_lock (&file->inode->lock);
    g_string_append_printf (out, "expected=%lld\nrun=%" PRIu64 "\npages=%u\n",
                            (long long) file->expected, file->run, file->pages.length);
    for (const GList *l = file->pages.head; l; l = l->next) {
        const struct ra_page *page = l->data;

        g_string_append_printf (out, "page[%u]=offset %lld, size %zu, %s\n", n++,
                                (long long) page->base.offset, page->base.size,
                                page->base.ready ? "there" : "on its way");
    }
    pthread_mutex_unlock (&file->inode->lock);
}

static void
ra_waits_for (xlator_t *this, const call_frame_t *frame, GString *out)
{
    page_reads_waits_for (&ra_priv (this)->reads, frame, out);
}

static void
ra_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    g_autofree char *window = option_size_text (ra_window (this)),
                    *page = option_size_text (RA_GET (this, page_size));
    struct ra_inode *rai = ra_inode_get (this, inode);

    if (inode && inode->ia_type != IA_IFREG) {
        g_string_append (out, "does nothing with it: it reads files ahead\n");
        return;
    }
    g_string_append_printf (out,
                            "a sequential reader finds up to %s there already (page-count), "
                            "in pages of %s (page-size), "
                            "for %g s (page-timeout)\n",
                            window, page, (double) RA_GET (this, timeout) / 1e9);
    g_string_append (
        out,
        "not where it is opened with O_WRONLY or O_DIRECT; any write to it has those pages go\n");
    if (!rai)
        return;
    pthread_mutex_lock (&rai->lock);
    g_string_append_printf (out, "%u of its open descriptors have pages now\n",
                            rai->files.length);
    pthread_mutex_unlock (&rai->lock);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "performance/read-ahead",
    .about = "reads ahead in files that are read sequentially",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_ERRORS,
    .wants = WANTS_INODE | WANTS_FD,
    .priv_size = sizeof (ra_private_t),
    .options = ra_options,
    .init = ra_init,
    .fini = ra_fini,
    .reconfigure = ra_reconfigure,
    .notify = ra_notify,
    .local_drop = ra_local_drop,
    .fops = {
        .readv = ra_readv,
        .flush = ra_flush,
        .fsync = ra_fsync,
    },
    .any_fop = ra_any_fop,
    .any_fop_ops = OPS_CHANGE | OPS_CHANGE_LOCKS,
    .any_fop_cbk = ra_any_fop_cbk,
    .cbks = { .forget = ra_forget, .release = ra_release },
    .dumpops = {
        .priv = ra_dump, .inodectx = ra_dump_inode, .fdctx = ra_dump_fd, .waits_for = ra_waits_for,
        .explain = ra_explain,
    },
    .passthrough = { .why = "reads the file ahead" },
};
