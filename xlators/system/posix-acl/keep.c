/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Data kept with an inode: owner, mode, and the ACL if it was needed. An inode without an ACL takes
 * 64 bytes.
 *
 * Outdated data are never kept: priv->changes counts changes. A request notes the count before it
 * goes down. A change stores the count with its inode, before it goes down and when it is answered.
 * Data requested before the last change are not kept.
 */
#include "posix-acl.h"

/* All fields: the stripe's lock. */
struct acl_inode {
    uint64_t changed;       /* priv->changes at its last change */
    uint64_t asked;         /* priv->changes when attributes and ACL were requested, the earlier of
                               both */
    int64_t attributes_at;  /* begin of the request that brought attributes, or 0 */
    int64_t acl_at;
    int64_t ctime;          /* in nanoseconds, from the same answer as the attributes */
    uint32_t uid, gid;
    uint16_t mode;
    uint8_t state;          /* enum acl_state */
    struct acl *acl;
};

static struct acl_stripe *
stripe_of (posix_acl_private_t *priv, const inode_t *inode)
{
    return &priv->stripes[((uintptr_t) inode >> 6 ^ (uintptr_t) inode >> 12) % ACL_STRIPES];
}

static void *
kept_new (xlator_t *this, inode_t *inode)
{
    return g_new0 (struct acl_inode, 1);
}

static struct acl_inode *
kept_of (xlator_t *this, inode_t *inode)
{
    return inode_ctx_make (inode, this, kept_new, g_free);
}

void
acl_view_clear (acl_view_t *view)
{
    g_clear_pointer (&view->acl, acl_unref);
}

uint64_t
acl_keep_now (xlator_t *this)
{
    posix_acl_private_t *priv = this->private;

    return __atomic_load_n (&priv->changes, __ATOMIC_SEQ_CST);
}

static bool
is_fresh (int64_t at, int64_t now, int64_t timeout)
{
    return at != 0 && now - at < timeout;
}

static void
see_locked (const struct acl_inode *kept, struct acl_view *ret_view)
{
    ret_view->known = true;
    ret_view->uid = kept->uid;
    ret_view->gid = kept->gid;
    ret_view->mode = kept->mode;
    ret_view->state = kept->state;
    ret_view->acl = acl_ref (kept->acl);
}

void
acl_keep_see (xlator_t *this, inode_t *inode, int64_t now, struct acl_view *ret_view)
{
    posix_acl_private_t *priv = this->private;
    const struct acl_inode *kept = inode_ctx_get (inode, this);
    const int64_t timeout = __atomic_load_n (&priv->timeout, __ATOMIC_RELAXED);
    struct acl_stripe *stripe = stripe_of (priv, inode);

    *ret_view = (struct acl_view){ 0 };
    if (!kept)
        return;
    pthread_mutex_lock (&stripe->lock);
    if (is_fresh (kept->attributes_at, now, timeout)
        && kept->asked >= __atomic_load_n (&priv->all_changed, __ATOMIC_SEQ_CST)) {
        see_locked (kept, ret_view);
        stripe->hits++;
    } else {
        stripe->misses++;
    }
    if (ret_view->state != ACL_UNKNOWN && !is_fresh (kept->acl_at, now, timeout)) {
        ret_view->state = ACL_UNKNOWN;
        g_clear_pointer (&ret_view->acl, acl_unref);
    }
    pthread_mutex_unlock (&stripe->lock);
}

int64_t
acl_keep_remembered (xlator_t *this, inode_t *inode, struct acl_view *ret_view)
{
    posix_acl_private_t *priv = this->private;
    const struct acl_inode *kept = inode_ctx_get (inode, this);
    int64_t age = -1;

    *ret_view = (struct acl_view){ 0 };
    if (!kept)
        return -1;
    pthread_mutex_lock (&stripe_of (priv, inode)->lock);
    if (kept->attributes_at != 0
        && kept->asked >= __atomic_load_n (&priv->all_changed, __ATOMIC_SEQ_CST)) {
        see_locked (kept, ret_view);
        age = MAX (clock_now () - kept->attributes_at, 0);
    }
    pthread_mutex_unlock (&stripe_of (priv, inode)->lock);
    return age;
}

static void
drop_acl_locked (struct acl_inode *kept)
{
    kept->state = ACL_UNKNOWN;
    kept->acl_at = 0;
    g_clear_pointer (&kept->acl, acl_unref);
}

/* The ACL stays while the inode is unchanged: each change of an ACL also changes the ctime. */
void
acl_keep_attributes (xlator_t *this, inode_t *inode, uint64_t since, int64_t now,
                     const struct iatt *buf)
{
    posix_acl_private_t *priv = this->private;
    struct acl_inode *kept = kept_of (this, inode);
    const int64_t ctime = buf->ia_ctime * 1000000000 + buf->ia_ctime_nsec;

    pthread_mutex_lock (&stripe_of (priv, inode)->lock);
    if (kept->changed <= since) {
        if (kept->ctime != ctime || kept->mode != buf->ia_prot
            || kept->asked < __atomic_load_n (&priv->all_changed, __ATOMIC_SEQ_CST))
            drop_acl_locked (kept);
        kept->asked = since;
        kept->attributes_at = MAX (now, 1);
        kept->ctime = ctime;
        kept->uid = buf->ia_uid;
        kept->gid = buf->ia_gid;
        kept->mode = (uint16_t) buf->ia_prot;
    }
    pthread_mutex_unlock (&stripe_of (priv, inode)->lock);
}

void
acl_keep_acl (xlator_t *this, inode_t *inode, uint64_t since, int64_t now, enum acl_state state,
              struct acl *acl)
{
    posix_acl_private_t *priv = this->private;
    struct acl_inode *kept = kept_of (this, inode);

    pthread_mutex_lock (&stripe_of (priv, inode)->lock);
    if (kept->changed <= since && kept->attributes_at != 0) {
        drop_acl_locked (kept);
        kept->asked = MIN (kept->asked, since);
        kept->acl_at = MAX (now, 1);
        kept->state = (uint8_t) state;
        kept->acl = acl_ref (acl);
    }
    pthread_mutex_unlock (&stripe_of (priv, inode)->lock);
}

void
acl_keep_drop (xlator_t *this, inode_t *inode)
{
    posix_acl_private_t *priv = this->private;
    struct acl_inode *kept = kept_of (this, inode);
    struct acl_stripe *stripe = stripe_of (priv, inode);

    pthread_mutex_lock (&stripe->lock);
    kept->changed = __atomic_add_fetch (&priv->changes, 1, __ATOMIC_SEQ_CST);
    if (kept->attributes_at != 0)
        stripe->drops++;
    kept->attributes_at = 0;
    drop_acl_locked (kept);
    pthread_mutex_unlock (&stripe->lock);
}

void
acl_keep_drop_all (xlator_t *this)
{
    posix_acl_private_t *priv = this->private;

    __atomic_store_n (&priv->all_changed, __atomic_add_fetch (&priv->changes, 1, __ATOMIC_SEQ_CST),
                      __ATOMIC_SEQ_CST);
}

bool
acl_keep_changed (xlator_t *this, inode_t *inode, uint64_t since)
{
    posix_acl_private_t *priv = this->private;
    const struct acl_inode *kept = inode_ctx_get (inode, this);
    bool changed = __atomic_load_n (&priv->all_changed, __ATOMIC_SEQ_CST) > since;

    if (!kept || changed)
        return changed;
    pthread_mutex_lock (&stripe_of (priv, inode)->lock);
    changed = kept->changed > since;
    pthread_mutex_unlock (&stripe_of (priv, inode)->lock);
    return changed;
}

void
posix_acl_forget (xlator_t *this, inode_t *inode)
{
    struct acl_inode *kept = inode_ctx_get (inode, this);

    if (!kept)
        return;
    acl_unref (kept->acl);
    g_free (kept);
}

void
acl_keep_init (posix_acl_private_t *priv)
{
    for (unsigned i = 0; i < ACL_STRIPES; i++)
        pthread_mutex_init (&priv->stripes[i].lock, NULL);
}

void
acl_keep_fini (posix_acl_private_t *priv)
{
    for (unsigned i = 0; i < ACL_STRIPES; i++)
        pthread_mutex_destroy (&priv->stripes[i].lock);
}
