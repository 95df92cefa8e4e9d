/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * performance/readdir-ahead: reads on in a directory while the reader processes the entries it has.
 * readdir-ahead.h lists its files.
 */
#include "readdir-ahead.h"

static const struct xlator_option rda_options[] = {
    { OPTION ("rda-request-size", SIZE, rda_private_t, request_size, "128KB"), .min = 4 << 10,
      .max = 128 << 10, .online = true,
      .help = "number of bytes of entries that each request reads ahead" },
    { OPTION ("rda-low-wmark", SIZE, rda_private_t, low, "4096"), .max = 10 << 20, .online = true,
      .help = "while fewer bytes than this have arrived, a caller waits for the entries that are "
              "in flight" },
    { OPTION ("rda-high-wmark", SIZE, rda_private_t, high, "128KB"), .max = 100 << 20,
      .online = true, .help = "maximum number of bytes to read ahead in a directory" },
    { OPTION ("rda-cache-limit", SIZE, rda_private_t, limit, "10MB"), .check = lru_check_size,
      .online = true,
      .help = "maximum memory of the entries of all directories; 0: nothing is read ahead" },
    { OPTION ("rda-cache-timeout", TIME, rda_private_t, timeout, "1"), .max = 600, .online = true,
      .help = "how long the translator returns entries that it has read ahead; older entries are "
              "read again; 0: always" },
    { OPTION_INERT ("parallel-readdir", BOOL,
                    "in GlusterFS it puts an instance above each subvolume of a distributed "
                    "volume; this translator reads ahead over its one subvolume in any "
                    "case"), .value = "off", .online = true },
    { OPTION_INERT ("readdir-ahead", BOOL,
                    "use pass-through to turn the translator "
                    "off"), .key[1] = "performance.readdir-ahead", .value = "on" },
    {},
};

/* --- init, reconfigure, notify, fini ---------------------------------------------------------- */

static int
rda_init (xlator_t *this)
{
    rda_private_t *priv = this->private;

    pthread_mutex_init (&priv->lock, NULL);
    thread_cond_init (&priv->idle);
    lru_init (&priv->lru, priv->limit);
    priv->first_size = 32 << 10; /* what readdir of the C library asks for; the kernel passes it
                                    on */
    priv->begun = true;
    return 0;
}

static int
rda_reconfigure (xlator_t *this, const void *new_private)
{
    rda_private_t *priv = this->private;
    const rda_private_t *to = new_private;

    __atomic_store_n (&priv->request_size, to->request_size, __ATOMIC_SEQ_CST);
    __atomic_store_n (&priv->low, to->low, __ATOMIC_SEQ_CST);
    __atomic_store_n (&priv->high, to->high, __ATOMIC_SEQ_CST);
    __atomic_store_n (&priv->limit, to->limit, __ATOMIC_SEQ_CST);
    __atomic_store_n (&priv->timeout, to->timeout, __ATOMIC_SEQ_CST);
    rda_evict (this, lru_set_limit (&priv->lru, to->limit));
    return 0;
}

static void
rda_invalidate (xlator_t *this, const struct invalidation *gone)
{
    rda_changed (this, gone->inode,
                 (gone->what & INVALIDATE_NAMES ? RDA_NAMES | RDA_FILE : 0)
                     | (gone->what & INVALIDATE_FILE ? RDA_FILE : 0));
}

/* From XLATOR_ENDING on, there is no more reading ahead. PARENT_DOWN waits until all fill calls are
 * answered. Entries stay until their directory is closed. */
static void
rda_notify (xlator_t *this, enum xlator_event event, void *data)
{
    rda_private_t *priv = this->private;

    if (event == XLATOR_PARENT_UP)
        priv->remote = xlator_is_remote (this);
    if (event == XLATOR_INVALIDATE)
        rda_invalidate (this, data);
    if (event == XLATOR_ENDING || event == XLATOR_PARENT_DOWN)
        __atomic_store_n (&priv->ending, true, __ATOMIC_SEQ_CST);
    if (event == XLATOR_PARENT_DOWN) {
        rda_fill_wait (this);
        rda_evict (this, lru_set_limit (&priv->lru, 0));
    }
    xlator_pass_on (this, event, data);
}

static void
rda_fini (xlator_t *this)
{
    rda_private_t *priv = this->private;

    if (!priv->begun)
        return;
    lru_destroy (&priv->lru);
    pthread_cond_destroy (&priv->idle);
    pthread_mutex_destroy (&priv->lock);
}

static void
rda_local_drop (xlator_t *this, void *data)
{
    struct rda_local *local = data;

    fd_unref (local->fd);
    rda_dir_unref (local->dir);
    dict_unref (local->xdata);
}

/* --- dumps ------------------------------------------------------------------------------------ */

static void
rda_dump_number (GString *out, const char *key, const uint64_t *value)
{
    g_string_append_printf (out, "%s=%" G_GUINT64_FORMAT "\n", key,
                            __atomic_load_n (value, __ATOMIC_RELAXED));
}

static void
rda_dump (xlator_t *this, GString *out)
{
    rda_private_t *priv = this->private;

    rda_dump_number (out, "request_size", &priv->request_size);
    rda_dump_number (out, "low_wmark", &priv->low);
    rda_dump_number (out, "high_wmark", &priv->high);
    rda_dump_number (out, "hits", &priv->count.hits);
    rda_dump_number (out, "misses", &priv->count.passed);
    rda_dump_number (out, "read_ahead", &priv->count.fills);
    rda_dump_number (out, "invalidations", &priv->count.dropped);
    rda_dump_number (out, "expired", &priv->count.expired);
    rda_dump_number (out, "attributes_left_out", &priv->count.stripped);
    g_string_append_printf (out, "directories=%u\nreaders_waiting=%u\n", RDA_GET (priv->watching),
                            RDA_GET (priv->waiting));
    lru_dump (&priv->lru, out);
}

static void
rda_dump_fd (xlator_t *this, fd_t *fd, GString *out)
{
    struct rda_dir *dir = rda_dir_get (this, fd);

    if (!dir)
        return;
    pthread_mutex_lock (&dir->lock);
    g_string_append_printf (out,
                            "at=%lld\nnext=%lld\nbatches=%u\nbytes=%zu\neof=%d\nerror=%d\nreads_"
                            "ahead=%d\nwaiting=%u\nbackoff=%u\n",
                            (long long) dir->at, (long long) dir->next, dir->batches.length,
                            dir->bytes, dir->eof, dir->error, dir->pending, dir->waiters.length,
                            dir->backoff);
    pthread_mutex_unlock (&dir->lock);
}

/* A call has only one reason to be set aside. */
static void
rda_waits_for (xlator_t *this, const call_frame_t *frame, GString *out)
{
    if (RDA_GET (rda_priv (this)->waiting) > 0)
        g_string_append (out, "what is being read ahead of the directory");
}

static void
rda_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    const rda_private_t *priv = this->private;
    g_autofree char *size = option_size_text (RDA_GET (priv->request_size)),
                    *high = option_size_text (RDA_GET (priv->high));

    if (inode && inode->ia_type != IA_IFDIR) {
        g_string_append (out, "does nothing with it: it reads ahead in directories\n");
        return;
    }
    g_string_append_printf (out,
                            "a listing of it is read ahead, by %s at a time (rda-request-size), "
                            "until there is %s of it "
                            "(rda-high-wmark)\n",
                            size, high);
    g_string_append_printf (out,
                            "what was read ahead is used for %.3g s (rda-cache-timeout), and not "
                            "when names in it change\n",
                            (double) RDA_GET (priv->timeout) / 1e9);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "performance/readdir-ahead",
    .about = "reads ahead in a directory while the caller handles the previous entries",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_NOTHING,
    .wants = WANTS_INODE | WANTS_FD,
    .priv_size = sizeof (rda_private_t),
    .options = rda_options,
    .init = rda_init,
    .fini = rda_fini,
    .reconfigure = rda_reconfigure,
    .notify = rda_notify,
    .local_drop = rda_local_drop,
    .fops = {
        .opendir = rda_opendir,
        .readdir = rda_readdir,
        .readdirp = rda_readdirp,
    },
    .any_fop = rda_any_fop,
    .any_fop_ops = OPS_CHANGE,
    .any_fop_cbk = rda_any_fop_cbk,
    .cbks = { .forget = rda_forget, .releasedir = rda_releasedir },
    .dumpops = {
        .priv = rda_dump, .fdctx = rda_dump_fd, .waits_for = rda_waits_for, .explain = rda_explain,
    },
    .passthrough = { .why = "caches the file's attributes, which each write changes" },
};
