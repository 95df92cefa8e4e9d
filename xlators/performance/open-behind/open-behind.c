/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * performance/open-behind: answers an open at once, and sends it to storage when an operation needs
 * it. open-behind.h lists its files.
 */
#include "open-behind.h"

static const struct xlator_option ob_options[] = {
    { OPTION ("lazy-open", BOOL, ob_private_t, lazy, "yes"), .online = true,
      .help = "yes: an open is sent when a later request needs it, or never; no: an open is sent "
              "immediately after it is answered" },
    { OPTION_INERT ("read-after-open", BOOL,
                    "a read always waits for the open, since storage does not read a file that the "
                    "caller has not opened"), .value = "yes", .online = true },
    { OPTION_INERT ("use-anonymous-fd", BOOL,
                    "no file is read without an open"), .value = "no", .online = true },
    { OPTION_INERT ("open-behind", BOOL,
                    "use pass-through to turn the translator off"), .value = "on" },
    {},
};

/* --- inode context ---------------------------------------------------------------------------- */

struct ob_inode *
ob_inode_get (xlator_t *this, inode_t *inode)
{
    return inode ? inode_ctx_get (inode, this) : NULL;
}

static void
ob_inode_free (void *made)
{
    struct ob_inode *obi = made;

    ob_callers_clear (obi);
    pthread_mutex_destroy (&obi->lock);
    g_free (obi);
}

static void *
ob_inode_new (xlator_t *this, inode_t *inode)
{
    struct ob_inode *obi = g_new0 (struct ob_inode, 1);

    pthread_mutex_init (&obi->lock, NULL);
    g_queue_init (&obi->pending);
    return obi;
}

struct ob_inode *
ob_inode_make (xlator_t *this, inode_t *inode)
{
    return inode_ctx_make (inode, this, ob_inode_new, ob_inode_free);
}

/* No open is pending here: each fd holds a reference of its inode. */
static void
ob_forget (xlator_t *this, inode_t *inode)
{
    struct ob_inode *obi = ob_inode_get (this, inode);

    if (obi)
        ob_inode_free (obi);
}

/* --- init, reconfigure, notify, fini ---------------------------------------------------------- */

static int
ob_init (xlator_t *this)
{
    ob_private_t *priv = this->private;

    pthread_mutex_init (&priv->lock, NULL);
    thread_cond_init (&priv->idle);
    return 0;
}

static int
ob_reconfigure (xlator_t *this, const void *new_private)
{
    const ob_private_t *to = new_private;

    __atomic_store_n (&ob_priv (this)->lazy, to->lazy, __ATOMIC_RELAXED);
    return 0;
}

/* Waits for opens that were sent. Pending ones hold nothing below. */
static void
ob_wait_until_idle (ob_private_t *priv)
{
    pthread_mutex_lock (&priv->lock);
    while (priv->sent)
        thread_cond_wait (&priv->idle, &priv->lock);
    pthread_mutex_unlock (&priv->lock);
}

static void
ob_invalidate (xlator_t *this, const struct invalidation *gone)
{
    if (!(gone->what & (INVALIDATE_ATTRIBUTES | INVALIDATE_XATTRS)))
        return;
    if (!gone->inode)
        ob_unknow (this, NULL);
    else if (ob_inode_get (this, gone->inode))
        ob_unknow (this, ob_inode_get (this, gone->inode));
}

static void
ob_notify (xlator_t *this, enum xlator_event event, void *data)
{
    if (event == XLATOR_INVALIDATE)
        ob_invalidate (this, data);
    if (event == XLATOR_PARENT_DOWN)
        ob_wait_until_idle (this->private);
    xlator_pass_on (this, event, data);
}

static void
ob_fini (xlator_t *this)
{
    ob_private_t *priv = this->private;

    pthread_cond_destroy (&priv->idle);
    pthread_mutex_destroy (&priv->lock);
}

/* --- dumps ------------------------------------------------------------------------------------ */

static void
ob_dump_number (GString *out, const char *key, const uint64_t *value)
{
    g_string_append_printf (out, "%s=%" G_GUINT64_FORMAT "\n", key,
                            __atomic_load_n (value, __ATOMIC_RELAXED));
}

static void
ob_dump (xlator_t *this, GString *out)
{
    ob_private_t *priv = this->private;

    g_string_append_printf (out, "lazy_open=%d\n", __atomic_load_n (&priv->lazy, __ATOMIC_RELAXED));
    ob_dump_number (out, "answered_early", &priv->count.early);
    ob_dump_number (out, "passed_through", &priv->count.through);
    ob_dump_number (out, "sent", &priv->count.sent);
    ob_dump_number (out, "never_sent", &priv->count.spared);
    ob_dump_number (out, "failed_later", &priv->count.failed);
    ob_dump_number (out, "attributes_without_open", &priv->count.stats);
    ob_dump_number (out, "closed_without_open", &priv->count.closes);
    g_string_append_printf (out, "on_their_way=%u\n",
                            __atomic_load_n (&priv->sent, __ATOMIC_RELAXED));
}

static void
ob_dump_inode (xlator_t *this, inode_t *inode, GString *out)
{
    struct ob_inode *obi = ob_inode_get (this, inode);

    if (!obi)
        return;
    pthread_mutex_lock (&obi->lock);
    g_string_append_printf (out, "pending=%u\nchanging=%u\nknown=%d\nlocked=%d\n",
                            obi->pending.length, obi->view.under_way, obi->known, obi->locked);
    pthread_mutex_unlock (&obi->lock);
}

static void
ob_dump_fd (xlator_t *this, fd_t *fd, GString *out)
{
    static const char *const names[] = { "answered, not sent", "on its way", "open", "failed" };
    const struct ob_fd *obf = ob_fd_get (this, fd);
    enum ob_state state;

    if (!obf)
        return;
    state = ob_state (obf);
    g_string_append_printf (out, "open=%s\n", names[state]);
    if (state == OB_FAILED)
        g_string_append_printf (out, "error=%s\n", g_strerror (obf->error));
}

/* A call has only one reason to be set aside. */
static void
ob_waits_for (xlator_t *this, const call_frame_t *frame, GString *out)
{
    const unsigned sent = __atomic_load_n (&ob_priv (this)->sent, __ATOMIC_RELAXED);

    if (sent > 0)
        g_string_append_printf (
            out,
            "an open of the file that was answered before it was done, and is on its way (%u are)",
            sent);
}

static void
ob_explain_inode (struct ob_inode *obi, GString *out)
{
    pthread_mutex_lock (&obi->lock);
    if (obi->pending.length > 0)
        g_string_append_printf (out, "%u opens of it are answered and not done\n",
                                obi->pending.length);
    if (obi->locked)
        g_string_append (out, "it was locked: each open goes to storage at once\n");
    else if (!obi->known || obi->view.under_way)
        g_string_append (
            out, "it was changed, or not looked up since: the next open goes to storage at once\n");
    pthread_mutex_unlock (&obi->lock);
}

static void
ob_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    struct ob_inode *obi = ob_inode_get (this, inode);

    if (inode && inode->ia_type != IA_IFREG) {
        g_string_append (out, "does nothing with it: it answers opens of files\n");
        return;
    }
    g_string_append_printf (out,
                            "answers an open to read at once, where storage would let the caller "
                            "in, and sends it %s (lazy-open)\n",
                            __atomic_load_n (&ob_priv (this)->lazy, __ATOMIC_RELAXED)
                                ? "when something needs it"
                                : "right after that");
    if (obi)
        ob_explain_inode (obi, out);
}

/* A read causes a pending open to be sent; the kernel's page cache needs none. */
static enum data_view
ob_view (xlator_t *this, const inode_t *inode, const char **ret_why)
{
    return DATA_UNSEEN;
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "performance/open-behind",
    .about = "answers an open at once, and sends it when a later operation needs it",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_OPENS,
    .wants = WANTS_INODE | WANTS_FD,
    .priv_size = sizeof (ob_private_t),
    .options = ob_options,
    .init = ob_init,
    .fini = ob_fini,
    .reconfigure = ob_reconfigure,
    .notify = ob_notify,
    .local_drop = ob_local_drop,
    .fops = {
        .lookup = ob_lookup,
        .readdirp = ob_readdirp,
        .create = ob_create,
        .open = ob_open,
        .readv = ob_readv,
        .writev = ob_writev,
        .fstat = ob_fstat,
        .flush = ob_flush,
    },
    .any_fop = ob_any_fop,
    .any_fop_ops = OB_CHANGING | OB_LOCKING | OB_USING,
    .any_fop_cbk = ob_any_fop_cbk,
    .cbks = { .forget = ob_forget, .release = ob_release },
    .dumpops = {
        .priv = ob_dump, .inodectx = ob_dump_inode, .fdctx = ob_dump_fd, .waits_for = ob_waits_for,
        .explain = ob_explain,
    },
    .passthrough = { .view = ob_view },
};
