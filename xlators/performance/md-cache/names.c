/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names in directories. A removed name takes a link of a file with it, and so changes the file's
 * attributes. Only storage knows for sure which file that is, since another client may be changing
 * the name. md-cache knows it as long as one operation at a time changes the name, and the file of
 * the name is known before. Otherwise no kept answer is used while the change is under way, nor
 * afterwards.
 */
#include "md-cache.h"

static uint64_t
hash_mix (uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93u;
    return hash ^ hash >> 29;
}

static uint64_t
directory_hash (xlator_t *this, const inode_t *directory)
{
    return fnv64 (mdc_priv (this)->seed, directory->gfid.b, sizeof directory->gfid.b);
}

/* The highest bits are the directory's. Equal hashes alone do not confuse two names: the table
 * would also have to know the inode by the wrong name. */
#define NAME_BITS 54

uint64_t
mdc_name_hash (xlator_t *this, const inode_t *parent, const char *name)
{
    const uint64_t directory = directory_hash (this, parent);
    const uint64_t hash = hash_mix (fnv64 (directory, name, strlen (name)))
                        & ((UINT64_C (1) << NAME_BITS) - 1);

    return hash_mix (directory) >> NAME_BITS << NAME_BITS | (hash ? hash : 1);
}

/* The view of all names in the directory of a name. */
static struct change_view *
mdc_directory_of (xlator_t *this, uint64_t name)
{
    _Static_assert (MDC_DIRECTORIES == 1 << (64 - NAME_BITS), "a view for each value of the bits");
    return &mdc_priv (this)->directories[name >> NAME_BITS];
}

static struct mdc_slot *
mdc_slot_of (xlator_t *this, uint64_t name)
{
    mdc_private_t *priv = mdc_priv (this);
    struct mdc_slot *slots = __atomic_load_n (&priv->slots, __ATOMIC_ACQUIRE), *none = NULL;

    if (G_UNLIKELY (!slots)) {
        slots = g_new0 (struct mdc_slot, MDC_SLOTS);
        if (!__atomic_compare_exchange_n (&priv->slots, &none, slots, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE)) {
            g_free (slots);
            slots = none;
        }
    }
    return &slots[name % MDC_SLOTS];
}

bool
mdc_name_holds (xlator_t *this, uint64_t name, uint64_t asked)
{
    return change_view_holds (mdc_directory_of (this, name), asked)
        && change_view_holds (&mdc_slot_of (this, name)->view, asked);
}

void
mdc_name_absent (xlator_t *this, uint64_t name, struct mdc_asked at)
{
    mdc_private_t *priv = mdc_priv (this);
    struct mdc_slot *slot = mdc_slot_of (this, name);

    pthread_mutex_lock (&priv->lock);
    if (change_view_holds (&slot->view, at.asked)) {
        slot->absent = name;
        slot->absent_asked = at.asked;
        slot->absent_time = at.time;
    }
    pthread_mutex_unlock (&priv->lock);
}

void
mdc_name_changed (xlator_t *this, uint64_t name)
{
    mdc_private_t *priv = mdc_priv (this);

    pthread_mutex_lock (&priv->lock);
    change_happened (&priv->clock, &mdc_slot_of (this, name)->view);
    pthread_mutex_unlock (&priv->lock);
}

uint64_t
mdc_name_begin (xlator_t *this, uint64_t name, bool known, uint64_t known_asked, bool *ret_sure,
                bool *ret_absent)
{
    mdc_private_t *priv = mdc_priv (this);
    struct mdc_slot *slot = mdc_slot_of (this, name);
    const struct change_view *directory = mdc_directory_of (this, name);
    const int64_t now = clock_roughly ();
    uint64_t begun;
    bool absent;

    pthread_mutex_lock (&priv->lock);
    absent = slot->absent == name && change_view_holds (&slot->view, slot->absent_asked)
          && change_view_holds (directory, slot->absent_asked);
    *ret_absent = absent && now - slot->absent_time < MDC_OPTION (this, timeout);
    *ret_sure = absent
             || (known && change_view_holds (&slot->view, known_asked)
                 && change_view_holds (directory, known_asked));
    if (slot->view.under_way > 0 && !slot->company) {
        slot->company = true;
        change_begin (&priv->clock, &priv->all);
    }
    begun = change_begin (&priv->clock, &slot->view);
    pthread_mutex_unlock (&priv->lock);
    return begun;
}

uint64_t
mdc_name_end (xlator_t *this, uint64_t name, uint64_t begun, bool gone)
{
    mdc_private_t *priv = mdc_priv (this);
    struct mdc_slot *slot = mdc_slot_of (this, name);
    uint64_t at;

    pthread_mutex_lock (&priv->lock);
    at = change_end (&priv->clock, &slot->view, begun);
    if (at && gone) {
        slot->absent = name;
        slot->absent_asked = at;
        slot->absent_time = clock_roughly ();
    }
    if (slot->company && slot->view.under_way == 0) {
        slot->company = false;
        change_end (&priv->clock, &priv->all, 0);
    }
    pthread_mutex_unlock (&priv->lock);
    return at;
}

/* --- many names ------------------------------------------------------------------------------- */

void
mdc_directory_changed (xlator_t *this, const inode_t *directory)
{
    mdc_all_changed (this, mdc_directory_of (this, hash_mix (directory_hash (this, directory))));
}

void
mdc_pause (xlator_t *this)
{
    mdc_private_t *priv = mdc_priv (this);

    pthread_mutex_lock (&priv->lock);
    __atomic_store_n (&priv->all.under_way, priv->all.under_way + 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock (&priv->lock);
}

void
mdc_resume (xlator_t *this, bool forget)
{
    mdc_private_t *priv = mdc_priv (this);

    pthread_mutex_lock (&priv->lock);
    if (forget)
        change_happened (&priv->clock, &priv->all);
    __atomic_store_n (&priv->all.under_way, priv->all.under_way - 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock (&priv->lock);
}

void
mdc_all_changed (xlator_t *this, struct change_view *view)
{
    mdc_private_t *priv = mdc_priv (this);

    pthread_mutex_lock (&priv->lock);
    change_happened (&priv->clock, view);
    pthread_mutex_unlock (&priv->lock);
}
