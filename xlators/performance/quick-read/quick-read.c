/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * performance/quick-read: keeps whole small files in memory. quick-read.h lists its files.
 */
#include "quick-read.h"


static const struct xlator_option qr_options[] = {
    { OPTION ("max-file-size", SIZE, qr_private_t, max_size, "64KB"), .min = 0, .max = 1000 << 10,
      .help = "the maximum size of a cached file" },
    { OPTION ("cache-size", SIZE, qr_private_t, cache_size, "128MB"), .check = lru_check_size,
      .online = true,
      .help = "maximum memory of all files; the least recently read file is dropped first" },
    { OPTION ("cache-timeout", INT, qr_private_t, timeout, "1"), .min = 0, .max = 31536000,
      .online = true,
      .help = "seconds after an answer of storage for which the translator reads a file from "
              "memory; a change behind the mount is visible after this time" },
    { OPTION ("content-with-lookup", ENUM, qr_private_t, asks_lookups, "auto"),
      .values = option_switches,
      .help = "the lookup of a small file also brings its content, in one call in place of three; "
              "worth it if a call to storage takes longer than reading the file; auto: only from a "
              "server" },
    { OPTION ("priority", STRING, qr_private_t, priority, NULL), .check = priorities_check,
      .from_server = SERVER_MAY,
      .help = "patterns and weights of files, such as \"*.html:3,*:1\"; files with lower weights "
              "are dropped first; a file with weight 0 or without a matching pattern is not "
              "cached" },
    { OPTION_INERT ("quick-read-cache-invalidation", BOOL,
                    "the translator always drops a file if a translator below reports a "
                    "change"), .value = "off", .online = true },
    { OPTION_INERT ("ctime-invalidation", BOOL,
                    "the translator always reads a file again if its change time "
                    "differs"), .value = "off", .online = true },
    { OPTION_INERT ("quick-read", BOOL,
                    "use pass-through to turn the translator off"), .value = "on" },
    {},
};

/* --- inode context ---------------------------------------------------------------------------- */

struct qr_inode *
qr_inode_get (xlator_t *this, inode_t *inode)
{
    return inode ? inode_ctx_get (inode, this) : NULL;
}

void
qr_inode_unref (struct qr_inode *qri)
{
    if (__atomic_sub_fetch (&qri->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (unsigned i = 0; i < QR_READERS; i++)
        g_free (qri->readers[i]);
    pthread_mutex_destroy (&qri->lock);
    g_free (qri);
}

static void *
qr_inode_new (xlator_t *this, inode_t *inode)
{
    struct qr_inode *qri = g_new0 (struct qr_inode, 1);

    qri->refs = 1;
    pthread_mutex_init (&qri->lock, NULL);
    return qri;
}

static void
qr_inode_drop (void *made)
{
    qr_inode_unref (made);
}

struct qr_inode *
qr_inode_make (xlator_t *this, inode_t *inode)
{
    return inode_ctx_make (inode, this, qr_inode_new, qr_inode_drop);
}

/* The context of the found inode lives as long as the answered inode: the table or the caller holds
 * a reference. */
struct qr_inode *
qr_inode_of_answer (xlator_t *this, inode_t *inode, const struct iatt *buf, bool make)
{
    g_autoptr (inode_t) known = gfid_is_null (&inode->gfid)
                                  ? inode_find (inode->table, &buf->ia_gfid)
                                  : inode_ref (inode);

    if (!known)
        known = inode_ref (inode);
    return make ? qr_inode_make (this, known) : qr_inode_get (this, known);
}

static void
qr_forget (xlator_t *this, inode_t *inode)
{
    struct qr_inode *qri = qr_inode_get (this, inode);

    if (!qri)
        return;
    qr_drop (this, qri);
    qr_inode_unref (qri);
}

void
qr_local_drop (xlator_t *this, void *data)
{
    struct qr_local *local = data;

    g_free (local->caller);
    inode_unref (local->inode);
    fd_unref (local->fd);
}

/* --- init, reconfigure, notify, fini ---------------------------------------------------------- */

static int
qr_init (xlator_t *this)
{
    qr_private_t *priv = this->private;
    g_autofree char *problem = NULL;

    pthread_mutex_init (&priv->lock, NULL);
    lru_init (&priv->lru, priv->cache_size);
    /* can't fail: the option was checked when it was read */
    priorities_parse (priv->priority, &priv->priorities, &problem);
    priv->opens_lie = true;
    return 0;
}

static int
qr_reconfigure (xlator_t *this, const void *new_private)
{
    qr_private_t *priv = this->private;
    const qr_private_t *to = new_private;

    __atomic_store_n (&priv->timeout, to->timeout, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->cache_size, to->cache_size, __ATOMIC_RELAXED);
    qr_evict (lru_set_limit (&priv->lru, to->cache_size));
    return 0;
}

/* Returns the TOUCHES_ flags of all translators between this one and storage. */
static unsigned
touches_below (const xlator_t *this)
{
    unsigned touches = 0;

    for (const xlator_list_t *child = this->children; child; child = child->next)
        if (child->xlator->children && !child->xlator->pass_through)
            touches |= child->xlator->api->touches | touches_below (child->xlator);
        else if (child->xlator->children)
            touches |= touches_below (child->xlator);
    return touches;
}

static bool
asks_lookups (const xlator_t *this)
{
    const int asks = qr_priv (this)->asks_lookups;

    return asks == SWITCH_AUTO ? xlator_is_remote (this) : asks == SWITCH_ON;
}

/* Content comes with lookup as storage has it. So it is never requested if a translator in between
 * changes data. */
static void
look_below (xlator_t *this)
{
    qr_private_t *priv = this->private;
    const unsigned touches = touches_below (this);

    priv->opens_lie = touches & TOUCHES_OPENS;
    priv->lookups_prove = !(touches & (TOUCHES_METADATA | TOUCHES_NAMES | TOUCHES_ERRORS))
                       && !xlator_is_remote (this);
    priv->modes_prove = xlator_is_remote (this);
    if (!asks_lookups (this) || touches & TOUCHES_DATA || priv->max_size == 0 || priv->wanted)
        return;
    priv->wanted = dict_new ();
    dict_set_u64 (priv->wanted, QR_CONTENT_KEY, priv->max_size);
    if (priv->modes_prove)
        dict_set_u64 (priv->wanted, QR_ACL_KEY, 0);
}

static void
qr_invalidate (xlator_t *this, const struct invalidation *gone)
{
    if (!(gone->what & INVALIDATE_FILE))
        return;
    if (!gone->inode)
        qr_drop_all (this);
    else if (gone->inode->ia_type == IA_IFREG)
        qr_drop (this, qr_inode_make (this, gone->inode));
}

static void
qr_notify (xlator_t *this, enum xlator_event event, void *data)
{
    if (event == XLATOR_PARENT_UP)
        look_below (this);
    else if (event == XLATOR_INVALIDATE)
        qr_invalidate (this, data);
    else if (event == XLATOR_PARENT_DOWN)
        qr_drop_all (this);
    xlator_pass_on (this, event, data);
}

static void
qr_fini (xlator_t *this)
{
    qr_private_t *priv = this->private;

    lru_destroy (&priv->lru);
    pthread_mutex_destroy (&priv->lock);
    priorities_free (priv->priorities);
    dict_unref (priv->wanted);
}

/* --- dumps ------------------------------------------------------------------------------------ */

static void
qr_dump_number (GString *out, const char *key, const uint64_t *value)
{
    g_string_append_printf (out, "%s=%" G_GUINT64_FORMAT "\n", key,
                            __atomic_load_n (value, __ATOMIC_RELAXED));
}

static void
qr_dump (xlator_t *this, GString *out)
{
    qr_private_t *priv = this->private;

    qr_dump_number (out, "max_file_size", &priv->max_size);
    g_string_append_printf (out, "cache_timeout=%lld\n",
                            (long long) __atomic_load_n (&priv->timeout, __ATOMIC_RELAXED));
    qr_dump_number (out, "total_files_cached", &priv->lru.count);
    qr_dump_number (out, "total_cache_used", &priv->lru.bytes);
    qr_dump_number (out, "cache-hit", &priv->count.hits);
    qr_dump_number (out, "cache-miss", &priv->count.misses);
    qr_dump_number (out, "cache-invalidations", &priv->count.invalidations);
    qr_dump_number (out, "cache-validations", &priv->count.validated);
    qr_dump_number (out, "stored", &priv->count.stored);
    qr_dump_number (out, "lookups_for_content", &priv->count.lookups);
    lru_dump (&priv->lru, out);
}

static void
qr_dump_inode (xlator_t *this, inode_t *inode, GString *out)
{
    struct qr_inode *qri = qr_inode_get (this, inode);

    if (!qri)
        return;
    pthread_mutex_lock (&qri->lock);
    g_string_append_printf (out, "entire-file=%d\n", qri->content != NULL);
    if (qri->content)
        g_string_append_printf (out, "size=%zu\nvalid-for=%.3f\nsettled=%d\n", qri->content->size,
                                (double) qr_valid_for_locked (this, qri) / 1e9, qri->stamp.settled);
    pthread_mutex_unlock (&qri->lock);
}

static void
explain_content (xlator_t *this, struct qr_inode *qri, GString *out)
{
    pthread_mutex_lock (&qri->lock);
    if (qri->content && qr_valid_for_locked (this, qri) > 0)
        g_string_append_printf (out, "has it in memory, %zu bytes, for %.1f s more\n",
                                qri->content->size, (double) qr_valid_for_locked (this, qri) / 1e9);
    else if (qri->content)
        g_string_append (
            out, "has it in memory, and asks storage whether it is still so before it serves it\n");
    pthread_mutex_unlock (&qri->lock);
}

static void
qr_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    const qr_private_t *priv = this->private;
    g_autofree char *size = g_format_size_full (priv->max_size, G_FORMAT_SIZE_IEC_UNITS);
    struct qr_inode *qri = qr_inode_get (this, inode);

    if (inode && inode->ia_type != IA_IFREG) {
        g_string_append (out, "does nothing with it: it remembers files\n");
        return;
    }
    if (priorities_class (priv->priorities, path) == PRIORITY_UNCACHED) {
        g_string_append (out, "never remembers it (priority)\n");
        return;
    }
    g_string_append_printf (out,
                            "remembers it, once it was read, if it has at most %s (max-file-size), "
                            "and serves it for %lld s (cache-timeout)\n",
                            size, (long long) __atomic_load_n (&priv->timeout, __ATOMIC_RELAXED));
    g_string_append_printf (
        out, "%s; not with O_DIRECT\n",
        priv->wanted
            ? "its content comes along when it is looked up"
            : "its content doesn't come along when it is looked up");
    if (qri)
        explain_content (this, qri, out);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "performance/quick-read",
    .about = "caches the content of small files, and returns it to users that may read the file",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_NOTHING,
    .wants = WANTS_INODE | WANTS_FD | WANTS_DATA_ATTRIBUTES,
    .priv_size = sizeof (qr_private_t),
    .options = qr_options,
    .init = qr_init,
    .fini = qr_fini,
    .reconfigure = qr_reconfigure,
    .notify = qr_notify,
    .local_drop = qr_local_drop,
    .fops = {
        .lookup = qr_lookup,
        .stat = qr_stat,
        .fstat = qr_fstat,
        .readdirp = qr_readdirp,
        .create = qr_create,
        .open = qr_open,
        .readv = qr_readv,
    },
    .any_fop = qr_any_fop,
    .any_fop_ops = QR_CHANGING,
    .any_fop_cbk = qr_any_fop_cbk,
    .cbks = { .forget = qr_forget, .release = qr_release },
    .dumpops = { .priv = qr_dump, .inodectx = qr_dump_inode, .explain = qr_explain },
    .passthrough = { .why = "caches the file's data" },
};
