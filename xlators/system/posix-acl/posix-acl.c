/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * system/posix-acl: checks modes, owners and POSIX ACLs, as the kernel does for a local directory.
 *
 * Operations on open files pass: the caller was judged at open. So do stat, readlink and statfs,
 * which only need the right to reach the file; each step of the path is a lookup, which is checked.
 */
#include "posix-acl.h"

static const struct xlator_option posix_acl_options[] = {
    { OPTION ("super-uid", INT, posix_acl_private_t, super_uid, "0"), .min = 0,
      .max = UINT32_MAX - 1, .online = true,
      .help = "the id of a user that has all rights; root has them in any case" },
    { OPTION ("timeout", TIME, posix_acl_private_t, timeout, "1"), .min = 0, .max = 86400,
      .online = true,
      .help = "how long the translator caches owner, mode and ACL of a file; a change through the "
              "mount takes effect at once, a change behind it after this time" },
    {},
};

/* --- requests --------------------------------------------------------------------------------- */

#define RULE(fop) [FOP_##fop] = posix_acl_##fop,
#define BIT(fop) | OPSET_OF (FOP_##fop)

/* The operations that have a rule. */
#define RULED(X)                                                                                   \
    X (lookup) X (opendir) X (open) X (create) X (tmpfile) X (mknod) X (mkdir) X (symlink)         \
    X (link) X (unlink) X (rmdir) X (rename) X (access) X (truncate) X (setattr) X (fsetattr)      \
    X (setxattr) X (getxattr) X (removexattr) X (fsetxattr) X (fgetxattr) X (fremovexattr)         \
    X (ioctl)

static acl_rule *const rules[FOP_MAX] = { RULED (RULE) };

/* Root is taken to have every capability: a request has a user, but no capabilities. A request that
 * a translator makes on a caller's account, such as one of read-ahead, was judged with the caller's
 * request. */
static bool
is_trusted (const posix_acl_private_t *priv, const call_stack_t *root)
{
    return root->uid == 0
        || root->uid == (uid_t) __atomic_load_n (&priv->super_uid, __ATOMIC_RELAXED)
        || root->internal || root->caused_by != 0;
}

/* Lets caches below answer a request that was permitted. Calls by this translator itself need no
 * check: any caller that reaches the file may know the result. */
static void
vouch (call_stack_t *root)
{
    if (!root->checked)
        root->checked = true;
}

static void
posix_acl_any_fop (const struct call *call)
{
    posix_acl_private_t *priv = call->this->private;
    call_stack_t *root = call->frame->root;
    struct acl_look look;
    int r;

    if (is_trusted (priv, root)) {
        vouch (root);
        acl_go_on (call, NULL);
        return;
    }
    look = (struct acl_look){ .call = call,
                              .this = call->this,
                              .priv = priv,
                              .local = call->frame->local,
                              .caller = { root->uid, root->gid, -1, NULL, root } };
    r = rules[call->op](&look);
    if (r < 0) {
        __atomic_add_fetch (&priv->refused, 1, __ATOMIC_RELAXED);
        call_fail (call, -r);
        return;
    }
    vouch (root);
    if (r == ACL_ASK)
        acl_ask (&look);
    else
        acl_go_on (call, &look);
}

/* --- init, reconfigure, notify, fini ---------------------------------------------------------- */

static int
posix_acl_init (xlator_t *this)
{
    posix_acl_private_t *priv = this->private;

    acl_keep_init (priv);
    priv->selinux = access ("/sys/fs/selinux/enforce", F_OK) == 0;
    return 0;
}

static int
posix_acl_reconfigure (xlator_t *this, const void *new_private)
{
    posix_acl_private_t *priv = this->private;
    const posix_acl_private_t *options = new_private;

    __atomic_store_n (&priv->super_uid, options->super_uid, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->timeout, options->timeout, __ATOMIC_RELAXED);
    return 0;
}

static void
posix_acl_fini (xlator_t *this)
{
    acl_keep_fini (this->private);
}

static void
posix_acl_notify (xlator_t *this, enum xlator_event event, void *data)
{
    const struct invalidation *changed = data;

    if (event == XLATOR_INVALIDATE && changed->what & (INVALIDATE_ATTRIBUTES | INVALIDATE_XATTRS)) {
        if (changed->inode)
            acl_keep_drop (this, changed->inode);
        else
            acl_keep_drop_all (this);
    }
    xlator_pass_on (this, event, data);
}

static void
posix_acl_dump (xlator_t *this, GString *out)
{
    posix_acl_private_t *priv = this->private;
    uint64_t hits = 0, misses = 0, drops = 0;

    for (unsigned i = 0; i < ACL_STRIPES; i++) {
        struct acl_stripe *stripe = &priv->stripes[i];

        pthread_mutex_lock (&stripe->lock);
        hits += stripe->hits;
        misses += stripe->misses;
        drops += stripe->drops;
        pthread_mutex_unlock (&stripe->lock);
    }
    g_string_append_printf (out,
                            "hits=%" G_GUINT64_FORMAT "\nmisses=%" G_GUINT64_FORMAT
                            "\ndropped=%" G_GUINT64_FORMAT "\n",
                            hits, misses, drops);
    g_string_append_printf (out,
                            "asked=%" G_GUINT64_FORMAT "\nrefused=%" G_GUINT64_FORMAT
                            "\nmalformed=%" G_GUINT64_FORMAT "\n",
                            __atomic_load_n (&priv->asked, __ATOMIC_RELAXED),
                            __atomic_load_n (&priv->refused, __ATOMIC_RELAXED),
                            __atomic_load_n (&priv->malformed, __ATOMIC_RELAXED));
}

/* Translators that answer from memory, or before this one is asked: above it, they would serve
 * callers that it refuses. */
static const struct xlator_misfit posix_acl_misfits[] = {
    { "performance/io-cache", "answers from memory requests that system/posix-acl would refuse" },
    { "performance/md-cache", "answers from memory requests that system/posix-acl would refuse" },
    { "performance/nl-cache", "answers from memory requests that system/posix-acl would refuse" },
    { "performance/open-behind", "answers an open before system/posix-acl has checked it" },
    { "performance/quick-read", "answers from memory requests that system/posix-acl would refuse" },
    {},
};

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "system/posix-acl",
    .about = "checks modes, owners and POSIX ACLs before it passes a request on",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .not_below = posix_acl_misfits,
    .touches = TOUCHES_ERRORS,
    .wants = WANTS_INODE,
    .priv_size = sizeof (posix_acl_private_t),
    .options = posix_acl_options,
    .init = posix_acl_init,
    .fini = posix_acl_fini,
    .reconfigure = posix_acl_reconfigure,
    .notify = posix_acl_notify,
    .local_drop = posix_acl_local_drop,
    .any_fop = posix_acl_any_fop,
    .any_fop_ops = 0 RULED (BIT),
    .any_fop_cbk = posix_acl_any_fop_cbk,
    .cbks = { .forget = posix_acl_forget },
    .dumpops = { .priv = posix_acl_dump,
                 .inodectx = posix_acl_dump_inode,
                 .explain = posix_acl_explain },
};
