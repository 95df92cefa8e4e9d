/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints the state of the copies, for state dumps and the command `windlass explain`. */
#include "changes/changes.h"

static void
print_copies (const replicate_t *priv, const char *key, copies_t copies, GString *out)
{
    g_autofree char *text = copies_text (priv, copies);

    g_string_append_printf (out, "%s=%s\n", key, *text ? text : "none");
}

/* --- statedump -------------------------------------------------------------------------------- */

void
replicate_dump (xlator_t *this, GString *out)
{
    replicate_t *priv = this->private;
    const copies_t up = children_up (priv);

    print_copies (priv, "copies", copies_all (priv->n), out);
    print_copies (priv, "there", up, out);
    if (priv->arbiter >= 0)
        g_string_append_printf (out, "arbiter=%s\n", priv->names[priv->arbiter]);
    g_string_append_printf (out, "quorum=%s\n", children_quorum (priv, up) ? "yes" : "no");
    g_string_append_printf (out, "generation=%u\n", children_generation (priv));
    pthread_mutex_lock (&priv->lock);
    g_string_append_printf (out, "eager-locks=%u\nrequests=%u\n",
                            priv->eager_locks.length, priv->requests);
    pthread_mutex_unlock (&priv->lock);
    g_string_append_printf (
        out,
        "transactions=%" G_GUINT64_FORMAT "\neager-locks-taken=%" G_GUINT64_FORMAT
        "\ncopies-accused=%" G_GUINT64_FORMAT "\nrefreshes=%" G_GUINT64_FORMAT
        "\nreads-failed-over=%" G_GUINT64_FORMAT "\nheals-begun=%" G_GUINT64_FORMAT "\n",
        __atomic_load_n (&priv->numbers.transactions, __ATOMIC_RELAXED),
        __atomic_load_n (&priv->numbers.eager_locks, __ATOMIC_RELAXED),
        __atomic_load_n (&priv->numbers.accusations, __ATOMIC_RELAXED),
        __atomic_load_n (&priv->numbers.refreshes, __ATOMIC_RELAXED),
        __atomic_load_n (&priv->numbers.failovers, __ATOMIC_RELAXED),
        __atomic_load_n (&priv->numbers.heals, __ATOMIC_RELAXED));
}

void
replicate_dump_inode (xlator_t *this, inode_t *inode, GString *out)
{
    const replicate_t *priv = this->private;
    struct replicate_inode *kept = inode_ctx_get (inode, this);
    static const char *const states[] = { "locking", "held", "ending" };
    struct readable readable;

    if (!kept)
        return;
    pthread_mutex_lock (&kept->lock);
    readable = kept->readable;
    g_string_append_printf (out, "generation=%u\neager-lock=%s\nwaiting=%u\n", kept->generation,
                            kept->eager ? states[kept->eager->state] : "none",
                            kept->claims.waiting);
    pthread_mutex_unlock (&kept->lock);
    print_copies (priv, "found", readable.found, out);
    print_copies (priv, "data-readable", readable.data, out);
    print_copies (priv, "metadata-readable", readable.metadata, out);
}

void
replicate_dump_fd (xlator_t *this, fd_t *fd, GString *out)
{
    print_copies (this->private, "opened", fd_opened (this, fd), out);
}

/* --- explain ---------------------------------------------------------------------------------- */

static void
explain_children (const replicate_t *priv, GString *out)
{
    const copies_t up = children_up (priv);
    g_autofree char *there = copies_text (priv, up);
    g_autofree char *gone = copies_text (priv, copies_all (priv->n) & ~up);

    g_string_append_printf (out, "%u copies; there: %s", priv->n, *there ? there : "none");
    if (*gone)
        g_string_append_printf (out, "; not there: %s", gone);
    g_string_append_c (out, '\n');
    if (!children_quorum (priv, up))
        g_string_append (out, "too few are there, so operations fail with ENOTCONN (quorum-type, "
                              "quorum-count)\n");
}

static void
explain_readable (const replicate_t *priv, const struct readable *readable, bool directory,
                  GString *out)
{
    g_autofree char *data = copies_text (priv, readable->data);
    g_autofree char *metadata = copies_text (priv, readable->metadata);

    g_string_append_printf (out, "good %s: %s\n", directory ? "entries" : "data",
                            *data ? data : "none");
    g_string_append_printf (out, "good attributes: %s\n", *metadata ? metadata : "none");
}

static void
explain_split_brain (const struct readable *readable, bool directory, bool favored, GString *out)
{
    if (favored)
        g_string_append (out, "split brain, read from the copy that the policy takes "
                              "(favorite-child-policy)\n");
    else if (readable->found && (!readable->data || !readable->metadata))
        g_string_append_printf (
            out,
            "split brain: every copy is accused by another, so operations fail with EIO%s\n",
            directory ? ""
                      : " (favorite-child-policy size, ctime, mtime or majority takes one of "
                        "them for good)");
}

static void
replicate_explain_inode (xlator_t *this, inode_t *inode, GString *out)
{
    const replicate_t *priv = this->private;
    struct replicate_inode *kept = inode_ctx_get (inode, this);
    const bool directory = inode->ia_type == IA_IFDIR;
    struct readable readable;
    bool favored;

    if (!kept)
        return;
    pthread_mutex_lock (&kept->lock);
    readable = kept->readable;
    favored = kept->favored;
    if (kept->generation != 0 && kept->generation != children_generation (priv))
        g_string_append (out, "a copy came or went since the last lookup; the next operation looks "
                              "it up again\n");
    if (kept->copies)
        copies_print (kept->copies, priv->n, priv->names, out);
    if (kept->eager)
        g_string_append (out, "locked on all copies, for further writes (eager-lock, "
                              "post-op-delay-secs)\n");
    pthread_mutex_unlock (&kept->lock);
    explain_readable (priv, &readable, directory, out);
    explain_split_brain (&readable, directory, favored, out);
}

void
replicate_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    explain_children (this->private, out);
    if (inode)
        replicate_explain_inode (this, inode, out);
}
