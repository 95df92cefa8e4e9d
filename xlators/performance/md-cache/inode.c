/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The context of an inode. */
#include "md-cache.h"

/* When an inode with that gfid last changed, or a later time. Answers requested before that may be
 * outdated. */
static uint64_t *
recent_of (xlator_t *this, const gfid_t *gfid)
{
    return &mdc_priv (this)->recent[gfid_hash (gfid) % MDC_RECENT];
}

static void
note_recent (xlator_t *this, const gfid_t *gfid, uint64_t at)
{
    uint64_t *recent = recent_of (this, gfid), was = __atomic_load_n (recent, __ATOMIC_RELAXED);

    while (was < at
           && !__atomic_compare_exchange_n (recent, &was, at, true, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED))
        continue;
}

void
mdc_changed_gfid (xlator_t *this, const gfid_t *gfid)
{
    note_recent (this, gfid, change_clock_next (&mdc_priv (this)->clock));
}

static struct mdc_inode *
mdc_inode_make_of (xlator_t *this, inode_t *inode, const gfid_t *gfid)
{
    struct mdc_inode *kept = inode_ctx_get (inode, this), *there;
    uint64_t recent;

    if (kept)
        return kept;
    recent = __atomic_load_n (recent_of (this, gfid), __ATOMIC_ACQUIRE);
    kept = g_new0 (struct mdc_inode, 1);
    pthread_mutex_init (&kept->lock, NULL);
    kept->attributes.changed_at = kept->xattrs.changed_at = recent;
    there = inode_ctx_set (inode, this, kept);
    if (there == kept)
        return kept;
    pthread_mutex_destroy (&kept->lock);
    g_free (kept);
    return there;
}

struct mdc_inode *
mdc_inode_make (xlator_t *this, inode_t *inode)
{
    return mdc_inode_make_of (this, inode, &inode->gfid);
}

void
mdc_forget (xlator_t *this, inode_t *inode)
{
    struct mdc_inode *kept = mdc_inode_get (this, inode);

    if (!kept)
        return;
    mdc_xattrs_drop_locked (kept);
    g_free (kept->ahead);
    pthread_mutex_destroy (&kept->lock);
    g_free (kept);
}

/* --- attributes ------------------------------------------------------------------------------- */

/* Between the answer and its linking in the table, another inode may have stood for the file, and
 * may be gone by now. */
static bool
was_overtaken_locked (xlator_t *this, struct mdc_inode *kept)
{
    if (G_LIKELY (!kept->fresh))
        return false;
    kept->fresh = false;
    if (__atomic_load_n (recent_of (this, &kept->iatt.ia_gfid), __ATOMIC_ACQUIRE) > kept->at.asked)
        kept->have = false;
    return !kept->have;
}

static bool
mdc_holds_locked (xlator_t *this, struct mdc_inode *kept)
{
    return kept->have && change_view_holds (&kept->attributes, kept->at.asked)
        && change_view_holds (&mdc_priv (this)->all, kept->at.asked)
        && !was_overtaken_locked (this, kept);
}

bool
mdc_attributes (xlator_t *this, inode_t *inode, struct iatt *ret_iatt)
{
    struct mdc_inode *kept = mdc_inode_get (this, inode);
    bool holds;

    if (!kept || inode_is_unkept (inode))
        return false;
    pthread_mutex_lock (&kept->lock);
    holds = mdc_holds_locked (this, kept) && mdc_is_young (this, &kept->at, clock_roughly ());
    if (holds)
        *ret_iatt = kept->iatt;
    pthread_mutex_unlock (&kept->lock);
    return holds;
}

static struct mdc_name *
name_locked (struct mdc_inode *kept, uint64_t hash)
{
    for (size_t i = 0; i < G_N_ELEMENTS (kept->names); i++)
        if (kept->names[i].hash == hash)
            return &kept->names[i];
    return NULL;
}

bool
mdc_attributes_of_name (xlator_t *this, inode_t *inode, uint64_t name, struct iatt *ret_iatt)
{
    struct mdc_inode *kept = mdc_inode_get (this, inode);
    const int64_t now = clock_roughly ();
    const struct mdc_name *known;
    bool holds;

    if (!kept || inode_is_unkept (inode))
        return false;
    pthread_mutex_lock (&kept->lock);
    known = name_locked (kept, name);
    holds = known && mdc_name_holds (this, name, known->at.asked)
         && mdc_is_young (this, &known->at, now) && mdc_holds_locked (this, kept)
         && mdc_is_young (this, &kept->at, now);
    if (holds)
        *ret_iatt = kept->iatt;
    pthread_mutex_unlock (&kept->lock);
    return holds;
}

/* Compares by change time and then by access time; returns < 0, 0 or > 0. */
static int
compare_age (const struct iatt *a, const struct iatt *b)
{
    const int64_t times[][2] = { { a->ia_ctime, b->ia_ctime },
                                 { a->ia_ctime_nsec, b->ia_ctime_nsec },
                                 { a->ia_atime, b->ia_atime },
                                 { a->ia_atime_nsec, b->ia_atime_nsec } };

    for (size_t i = 0; i < G_N_ELEMENTS (times); i++)
        if (times[i][0] != times[i][1])
            return times[i][0] < times[i][1] ? -1 : 1;
    return 0;
}

/* Returns true if the answer is older than the kept attributes: answers of storage may overtake
 * each other. */
static bool
is_older_locked (xlator_t *this, struct mdc_inode *kept, const struct iatt *buf,
                 struct mdc_asked at)
{
    int order;

    if (!mdc_holds_locked (this, kept) || !mdc_is_young (this, &kept->at, at.time))
        return false;
    order = compare_age (buf, &kept->iatt);
    return order < 0 || (order == 0 && at.time < kept->at.time);
}

static void
mdc_keep_locked (xlator_t *this, struct mdc_inode *kept, const struct iatt *buf,
                 struct mdc_asked at, bool fresh)
{
    mdc_private_t *priv = mdc_priv (this);

    if (!change_view_holds (&kept->attributes, at.asked)
        || !change_view_holds (&priv->all, at.asked) || is_older_locked (this, kept, buf, at)) {
        mdc_count (&priv->count.discarded);
        return;
    }
    kept->iatt = *buf;
    kept->at = at;
    kept->have = true;
    kept->fresh = fresh;
    mdc_count (&priv->count.kept);
}

/* Some translators answer zeros where they have no attributes. */
static bool
says_something (const struct iatt *buf)
{
    return buf && buf->ia_type != IA_INVAL && !gfid_is_null (&buf->ia_gfid)
        && (buf->ia_ctime || buf->ia_ctime_nsec);
}

/* The inode by which the table knows the answered file. If it is not `inode`, *ret_other holds its
 * reference. */
static inode_t *
known_inode (inode_t *inode, const gfid_t *gfid, inode_t **ret_other)
{
    if (gfid_equal (&inode->gfid, gfid))
        return inode;
    *ret_other = inode_find (inode->table, gfid);
    if (*ret_other)
        return *ret_other;
    return gfid_is_null (&inode->gfid) ? inode : NULL;
}

inode_t *
mdc_keep (xlator_t *this, inode_t *inode, const struct iatt *buf, struct mdc_asked at,
          inode_t **ret_other)
{
    inode_t *known = says_something (buf) && inode ? known_inode (inode, &buf->ia_gfid, ret_other)
                                                   : NULL;
    struct mdc_inode *kept = known ? mdc_inode_make_of (this, known, &buf->ia_gfid) : NULL;

    if (!kept || (known->ia_type != IA_INVAL && known->ia_type != buf->ia_type))
        return NULL;
    pthread_mutex_lock (&kept->lock);
    mdc_keep_locked (this, kept, buf, at, gfid_is_null (&known->gfid));
    pthread_mutex_unlock (&kept->lock);
    return known;
}

void
mdc_keep_simply (xlator_t *this, inode_t *inode, const struct iatt *buf, struct mdc_asked at)
{
    g_autoptr (inode_t) other = NULL;

    mdc_keep (this, inode, buf, at, &other);
}

/* With relatime, the usual mount option, a read only changes an atime that is not later than mtime
 * and ctime, or that is a day old. */
#define DAY (24 * 60 * 60)

static bool
read_moves_atime (const struct iatt *iatt)
{
    return iatt->ia_atime <= iatt->ia_mtime || iatt->ia_atime <= iatt->ia_ctime
        || clock_today ().tv_sec - iatt->ia_atime >= DAY;
}

/* A server's atime may be as old as the timeout allows, as with GlusterFS's client: it is not worth
 * a round trip after each read. */
void
mdc_was_read (xlator_t *this, inode_t *inode)
{
    struct mdc_inode *kept = mdc_inode_get (this, inode);

    if (!kept || mdc_priv (this)->along)
        return;
    pthread_mutex_lock (&kept->lock);
    if (kept->have && read_moves_atime (&kept->iatt))
        change_happened (&mdc_priv (this)->clock, &kept->attributes);
    pthread_mutex_unlock (&kept->lock);
}

/* --- names of an inode ------------------------------------------------------------------------ */

void
mdc_keep_name (xlator_t *this, inode_t *inode, uint64_t name, struct mdc_asked at)
{
    struct mdc_inode *kept = mdc_inode_get (this, inode);
    struct mdc_name *known;

    if (!kept || !mdc_name_holds (this, name, at.asked))
        return;
    pthread_mutex_lock (&kept->lock);
    known = name_locked (kept, name);
    if (!known) {
        kept->names[1] = kept->names[0];
        known = &kept->names[0];
        *known = (struct mdc_name){ name, at };
    } else if (known->at.asked <= at.asked) {
        known->at = at;
    }
    pthread_mutex_unlock (&kept->lock);
}

void
mdc_drop_name (xlator_t *this, inode_t *inode, uint64_t name)
{
    struct mdc_inode *kept = mdc_inode_get (this, inode);
    struct mdc_name *known;

    if (!kept)
        return;
    pthread_mutex_lock (&kept->lock);
    known = name_locked (kept, name);
    if (known) {
        known->hash = 0;
        change_happened (&mdc_priv (this)->clock, &kept->attributes);
    }
    pthread_mutex_unlock (&kept->lock);
}

bool
mdc_is_known_by (xlator_t *this, inode_t *inode, uint64_t name, uint64_t *ret_asked)
{
    struct mdc_inode *kept = mdc_inode_get (this, inode);
    const struct mdc_name *known;

    *ret_asked = 0;
    if (!kept)
        return false;
    pthread_mutex_lock (&kept->lock);
    known = name_locked (kept, name);
    if (known)
        *ret_asked = known->at.asked;
    pthread_mutex_unlock (&kept->lock);
    return known;
}

/* --- changes ---------------------------------------------------------------------------------- */

uint64_t
mdc_change_begin (xlator_t *this, inode_t *inode, bool xattrs, int64_t *ret_bare_since)
{
    struct mdc_inode *kept = mdc_inode_make (this, inode);
    struct change_clock *clock = &mdc_priv (this)->clock;
    uint64_t begun;

    pthread_mutex_lock (&kept->lock);
    if (ret_bare_since)
        *ret_bare_since = mdc_bare_since_locked (this, kept);
    if (xattrs)
        change_begin (clock, &kept->xattrs);
    begun = change_begin (clock, &kept->attributes);
    pthread_mutex_unlock (&kept->lock);
    return begun;
}

uint64_t
mdc_change_end (xlator_t *this, inode_t *inode, bool xattrs, uint64_t begun,
                const struct iatt *post)
{
    struct mdc_inode *kept = mdc_inode_get (this, inode);
    struct change_clock *clock = &mdc_priv (this)->clock;
    const int64_t now = clock_roughly ();
    uint64_t alone;

    pthread_mutex_lock (&kept->lock);
    if (xattrs) {
        mdc_xattrs_drop_locked (kept);
        change_end (clock, &kept->xattrs, 0);
    }
    alone = change_end (clock, &kept->attributes, begun);
    kept->have = false;
    if (alone && says_something (post) && gfid_equal (&post->ia_gfid, &inode->gfid))
        mdc_keep_locked (this, kept, post, (struct mdc_asked){ alone, now }, false);
    note_recent (this, &inode->gfid, kept->attributes.changed_at);
    pthread_mutex_unlock (&kept->lock);
    return alone;
}

void
mdc_changed (xlator_t *this, inode_t *inode, bool attributes, bool xattrs)
{
    struct mdc_inode *kept = mdc_inode_get (this, inode);
    struct change_clock *clock = &mdc_priv (this)->clock;

    mdc_changed_gfid (this, &inode->gfid);
    if (!kept)
        return;
    pthread_mutex_lock (&kept->lock);
    if (attributes)
        change_happened (clock, &kept->attributes);
    if (xattrs) {
        change_happened (clock, &kept->xattrs);
        mdc_xattrs_drop_locked (kept);
    }
    pthread_mutex_unlock (&kept->lock);
}
