/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The context of a file. */
#include "io-cache.h"

struct ioc_inode *
ioc_inode_get (xlator_t *this, inode_t *inode)
{
    return inode ? inode_ctx_get (inode, this) : NULL;
}

struct ioc_inode *
ioc_inode_ref (struct ioc_inode *inode)
{
    __atomic_add_fetch (&inode->refs, 1, __ATOMIC_RELAXED);
    return inode;
}

struct ioc_inode *
ioc_inode_known (xlator_t *this, inode_t *inode)
{
    struct ioc_inode *ioc = ioc_inode_get (this, inode);

    return ioc ? ioc_inode_ref (ioc) : NULL;
}

void
ioc_inode_unref (struct ioc_inode *inode)
{
    if (!inode || __atomic_sub_fetch (&inode->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (inode->pages)
        g_hash_table_unref (inode->pages);
    pthread_mutex_destroy (&inode->lock);
    g_free (inode);
}

void
ioc_inode_classify (struct ioc_inode *ioc, inode_t *inode)
{
    const struct priorities *list = ioc_priv (ioc->this)->priorities;
    g_autofree char *path = list ? inode_path (inode, NULL) : NULL;

    __atomic_store_n (&ioc->class, priorities_class (list, path), __ATOMIC_RELAXED);
}

static void *
ioc_inode_new_pages (xlator_t *this, inode_t *inode)
{
    struct ioc_inode *made = g_new0 (struct ioc_inode, 1);

    made->refs = 1;
    made->this = this;
    made->last = -1;
    made->doubted_at = G_MININT64 / 2;
    pthread_mutex_init (&made->lock, NULL);
    ioc_inode_classify (made, inode);
    return made;
}

static void
ioc_inode_drop (void *made)
{
    ioc_inode_unref (made);
}

struct ioc_inode *
ioc_inode_make (xlator_t *this, inode_t *inode)
{
    return inode_ctx_make (inode, this, ioc_inode_new_pages, ioc_inode_drop);
}

/* --- state ------------------------------------------------------------------------------------ */

static bool
states_equal (const struct ioc_state *a, const struct ioc_state *b)
{
    return a->size == b->size && a->mtime == b->mtime && a->mtime_nsec == b->mtime_nsec
        && a->ctime == b->ctime && a->ctime_nsec == b->ctime_nsec;
}

static struct ioc_state
state_of (const struct iatt *iatt)
{
    return (struct ioc_state){ .size = iatt->ia_size,
                               .mtime = iatt->ia_mtime,
                               .ctime = iatt->ia_ctime,
                               .mtime_nsec = iatt->ia_mtime_nsec,
                               .ctime_nsec = iatt->ia_ctime_nsec };
}

bool
ioc_state_is_locked (const struct ioc_inode *inode, const struct iatt *iatt)
{
    const struct ioc_state state = state_of (iatt);

    return inode->known && states_equal (&state, &inode->state);
}

void
ioc_state_note_locked (struct ioc_inode *inode, const struct iatt *iatt, int64_t at)
{
    if (ioc_state_is_locked (inode, iatt)) {
        inode->looked_at = MAX (inode->looked_at, at);
        return;
    }
    if (inode->known && at < inode->looked_at)
        return; /* an older answer, overtaken by a newer one */
    inode->old_until = inode->known ? inode->looked_at + IOC_GET (inode->this, timeout) : 0;
    inode->known = true;
    inode->state = state_of (iatt);
    inode->version++;
    inode->looked_at = at;
}

bool
ioc_state_is_fresh_locked (const struct ioc_inode *inode, int64_t now)
{
    return inode->known && now < inode->looked_at + IOC_GET (inode->this, timeout);
}

bool
ioc_size_is_wrong_locked (const struct ioc_inode *inode)
{
    const uint64_t max = IOC_GET (inode->this, max_size);

    return inode->known
        && (inode->state.size < IOC_GET (inode->this, min_size)
            || (max && inode->state.size > max));
}
