/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The content kept of a file. */
#include "quick-read.h"

#define TICK 10000000    /* nanoseconds by which clock_roughly may lag */
#define UNSETTLED 1      /* seconds for which unsettled content is served, at most */

/* --- time ------------------------------------------------------------------------------------- */

struct qr_stamp
qr_stamp_now (xlator_t *this)
{
    return (struct qr_stamp){ .asked = change_clock_now (&qr_priv (this)->clock),
                              .at = clock_now () };
}

/* Two changes within one tick have the same times. Content as young as that is valid for a moment,
 * and a later answer with the same times does not extend it. */
static bool
is_settled (const struct iatt *buf, const struct qr_stamp *asked)
{
    const struct timespec today = clock_today ();
    const int64_t then = today.tv_sec * 1000000000 + today.tv_nsec - (clock_now () - asked->at);

    return iatt_is_settled (buf, (struct timespec){ then / 1000000000, then % 1000000000 });
}

static struct qr_stamp
stamp_of (const struct iatt *buf, const struct qr_stamp *asked)
{
    return (struct qr_stamp){ .size = buf->ia_size,
                              .mtime = buf->ia_mtime,
                              .mtime_nsec = buf->ia_mtime_nsec,
                              .ctime = buf->ia_ctime,
                              .ctime_nsec = buf->ia_ctime_nsec,
                              .asked = asked->asked,
                              .at = asked->at,
                              .settled = is_settled (buf, asked) };
}

static bool
same_file (const struct qr_stamp *a, const struct qr_stamp *b)
{
    return a->size == b->size && a->mtime == b->mtime && a->mtime_nsec == b->mtime_nsec
        && a->ctime == b->ctime && a->ctime_nsec == b->ctime_nsec;
}

int64_t
qr_valid_for_locked (xlator_t *this, const struct qr_inode *qri)
{
    const int64_t seconds = __atomic_load_n (&qr_priv (this)->timeout, __ATOMIC_RELAXED);

    if (seconds == 0) /* clock_roughly may lag more than TICK on a machine that takes the processor
                         away */
        return 0;
    return qri->checked + (qri->stamp.settled ? seconds : MIN (seconds, UNSETTLED)) * 1000000000
         - clock_roughly () - TICK;
}

/* Returns true if no change has passed through this translator since `asked`. */
static bool
is_unchanged (xlator_t *this, const struct qr_inode *qri, uint64_t asked)
{
    return change_view_holds (&qri->view, asked) && change_view_holds (&qr_priv (this)->any, asked);
}

/* --- content of one file ---------------------------------------------------------------------- */

void
qr_content_unref (struct qr_content *content)
{
    if (!content || __atomic_sub_fetch (&content->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (content->iobuf)
        iobuf_unref (content->iobuf);
    qr_inode_unref (content->qri);
    g_free (content);
}

static void
content_free (struct qr_content *content) /* for a caller that holds the only references */
{
    content->refs = 1;
    qr_content_unref (content);
}

static struct qr_content *
content_new (struct qr_inode *qri, const struct iovec *vector, int count)
{
    const size_t size = iov_length (vector, count);
    struct iobuf *iobuf = size >= QR_COPIED ? iobuf_new (size) : NULL;
    struct qr_content *content;

    if (size >= QR_COPIED && !iobuf)
        return NULL;
    content = g_malloc0 (sizeof *content + (iobuf ? 0 : size));
    content->refs = 2;
    content->qri = qri;
    __atomic_add_fetch (&qri->refs, 1, __ATOMIC_RELAXED);
    content->size = size;
    content->iobuf = iobuf;
    iov_unload (iobuf ? iobuf->ptr : content->bytes, size, vector, count);
    return content;
}

static uint64_t
content_cost (const struct qr_content *content)
{
    return sizeof *content + sizeof *content->qri
         + (content->iobuf ? content->iobuf->size : content->size);
}

/* Removes the content from the inode. The caller gets the inode's reference. */
static struct qr_content *
take_content_locked (struct qr_inode *qri)
{
    __atomic_store_n (&qri->has, false, __ATOMIC_RELEASE);
    return g_steal_pointer (&qri->content);
}

/* Drops the inode's and the lru's reference. If lru has evicted the content, the evicting thread
 * drops the latter. */
static void
content_drop (xlator_t *this, struct qr_content *content)
{
    if (!content)
        return;
    if (lru_remove (&qr_priv (this)->lru, &content->entry))
        qr_content_unref (content);
    qr_content_unref (content);
}

static void
readers_clear_locked (struct qr_inode *qri)
{
    for (unsigned i = 0; i < QR_READERS; i++)
        g_clear_pointer (&qri->readers[i], g_free);
    qri->all_read = false;
}

void
qr_evict (struct lru_entry *gone)
{
    struct lru_entry *entry;

    while ((entry = lru_next (&gone))) {
        struct qr_content *content = (struct qr_content *) ((char *) entry
                                                            - offsetof (struct qr_content, entry));
        struct qr_inode *qri = content->qri;
        struct qr_content *its = NULL;

        pthread_mutex_lock (&qri->lock);
        if (qri->content == content) {
            its = take_content_locked (qri);
            readers_clear_locked (qri);
        }
        pthread_mutex_unlock (&qri->lock);
        qr_content_unref (its);
        qr_content_unref (content);
    }
}

/* --- keeping and dropping --------------------------------------------------------------------- */

int
qr_class (xlator_t *this, inode_t *inode, loc_t *loc)
{
    const qr_private_t *priv = this->private;
    g_autofree char *path = NULL;

    if (!priv->priorities)
        return 0;
    if (loc)
        return priorities_class (priv->priorities, loc_path (loc));
    path = inode_path (inode, NULL);
    return priorities_class (priv->priorities, path);
}

/* Content enters the lru before the inode, so that a thread that takes it out of the inode can also
 * remove it from the lru. */
void
qr_keep (xlator_t *this, struct qr_inode *qri, const struct qr_stamp *asked, const struct iatt *buf,
         int class, const struct iovec *vector, int count)
{
    const struct qr_stamp stamp = stamp_of (buf, asked);
    struct qr_content *content = content_new (qri, vector, count), *old = NULL;
    struct lru_entry *gone;
    bool fits, kept;

    if (!content)
        return;
    gone = lru_add (&qr_priv (this)->lru, &content->entry, (unsigned) class, content_cost (content),
                    &fits);
    pthread_mutex_lock (&qri->lock);
    kept = fits && is_unchanged (this, qri, asked->asked)
        && !(qri->content && qri->stamp.asked > asked->asked)
        && __atomic_load_n (&content->entry.in, __ATOMIC_ACQUIRE);
    if (kept) {
        old = take_content_locked (qri);
        if (!same_file (&qri->stamp, &stamp))
            readers_clear_locked (qri);
        qri->content = content;
        qri->stamp = stamp;
        qri->checked = stamp.at;
        __atomic_store_n (&qri->has, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock (&qri->lock);
    if (kept)
        QR_COUNT (this, stored);
    else if (fits)
        content_drop (this, content);
    else
        content_free (content);
    content_drop (this, old);
    qr_evict (gone);
}

void
qr_drop (xlator_t *this, struct qr_inode *qri)
{
    struct qr_content *content;

    pthread_mutex_lock (&qri->lock);
    content = take_content_locked (qri);
    readers_clear_locked (qri);
    change_happened (&qr_priv (this)->clock, &qri->view);
    pthread_mutex_unlock (&qri->lock);
    if (content)
        QR_COUNT (this, invalidations);
    content_drop (this, content);
}

/* Content on its way is not kept either. */
void
qr_drop_all (xlator_t *this)
{
    qr_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    change_happened (&priv->clock, &priv->any);
    pthread_mutex_unlock (&priv->lock);
    qr_evict (lru_set_limit (&priv->lru, 0));
    qr_evict (lru_set_limit (&priv->lru, __atomic_load_n (&priv->cache_size, __ATOMIC_RELAXED)));
}

/* An answer older than the kept content does not validate it. */
void
qr_validate (xlator_t *this, struct qr_inode *qri, const struct qr_stamp *asked,
             const struct iatt *buf)
{
    const struct qr_stamp stamp = stamp_of (buf, asked);
    struct qr_content *old = NULL;

    pthread_mutex_lock (&qri->lock);
    if (is_unchanged (this, qri, asked->asked) && asked->at >= qri->stamp.at) {
        if (!same_file (&qri->stamp, &stamp)) {
            old = take_content_locked (qri);
            readers_clear_locked (qri);
            qri->stamp = stamp;
        } else if (qri->stamp.settled) {
            qri->checked = MAX (qri->checked, stamp.at);
            QR_COUNT (this, validated);
        }
    }
    pthread_mutex_unlock (&qri->lock);
    if (old)
        QR_COUNT (this, invalidations);
    content_drop (this, old);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void
change_any (xlator_t *this, bool begins)
{
    qr_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    if (begins)
        change_begin (&priv->clock, &priv->any);
    else
        change_end (&priv->clock, &priv->any, 0);
    pthread_mutex_unlock (&priv->lock);
}

static void
change_one (xlator_t *this, struct qr_inode *qri, bool begins)
{
    qr_private_t *priv = this->private;
    struct qr_content *content;

    pthread_mutex_lock (&qri->lock);
    if (begins)
        change_begin (&priv->clock, &qri->view);
    else
        change_end (&priv->clock, &qri->view, 0);
    content = take_content_locked (qri);
    readers_clear_locked (qri);
    pthread_mutex_unlock (&qri->lock);
    if (content)
        QR_COUNT (this, invalidations);
    content_drop (this, content);
}

void
qr_change_begin (xlator_t *this, struct qr_inode *qri)
{
    if (qri)
        change_one (this, qri, true);
    else
        change_any (this, true);
}

void
qr_change_end (xlator_t *this, struct qr_inode *qri)
{
    if (qri)
        change_one (this, qri, false);
    else
        change_any (this, false);
}

/* --- permitted readers ------------------------------------------------------------------------ */

static bool
is_reader_locked (const struct qr_inode *qri, const struct stack_caller *caller)
{
    for (unsigned i = 0; i < QR_READERS && qri->readers[i]; i++)
        if (stack_caller_same (qri->readers[i], caller))
            return true;
    return false;
}

static bool
is_of_content_locked (xlator_t *this, const struct qr_inode *qri, const struct qr_stamp *asked)
{
    return qri->content && is_unchanged (this, qri, asked->asked) && asked->at >= qri->stamp.at;
}

void
qr_all_may_read (xlator_t *this, struct qr_inode *qri, const struct qr_stamp *asked)
{
    pthread_mutex_lock (&qri->lock);
    if (is_of_content_locked (this, qri, asked))
        qri->all_read = true;
    pthread_mutex_unlock (&qri->lock);
}

void
qr_reader_add (xlator_t *this, struct qr_inode *qri, const struct qr_stamp *asked,
               struct stack_caller *caller)
{
    struct stack_caller *last = caller;

    pthread_mutex_lock (&qri->lock);
    if (is_of_content_locked (this, qri, asked) && !is_reader_locked (qri, caller)) {
        last = qri->readers[QR_READERS - 1];
        memmove (qri->readers + 1, qri->readers, (QR_READERS - 1) * sizeof qri->readers[0]);
        qri->readers[0] = caller;
    }
    pthread_mutex_unlock (&qri->lock);
    g_free (last);
}

static bool
may_serve_locked (xlator_t *this, const struct qr_inode *qri)
{
    return qri->content && is_unchanged (this, qri, qri->stamp.asked)
        && qr_valid_for_locked (this, qri) > 0;
}

bool
qr_reader_known (xlator_t *this, struct qr_inode *qri, const struct stack_caller *caller)
{
    bool known;

    pthread_mutex_lock (&qri->lock);
    known = may_serve_locked (this, qri) && (qri->all_read || is_reader_locked (qri, caller));
    pthread_mutex_unlock (&qri->lock);
    return known;
}

struct qr_content *
qr_content_get (xlator_t *this, struct qr_inode *qri)
{
    struct qr_content *content = NULL;

    pthread_mutex_lock (&qri->lock);
    if (may_serve_locked (this, qri)) {
        content = qri->content;
        __atomic_add_fetch (&content->refs, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock (&qri->lock);
    if (content)
        lru_touch (&qr_priv (this)->lru, &content->entry);
    return content;
}

bool
qr_content_is_good (struct qr_inode *qri)
{
    bool good;

    if (!qr_has_content (qri))
        return false;
    pthread_mutex_lock (&qri->lock);
    good = qri->content && qri->stamp.settled;
    pthread_mutex_unlock (&qri->lock);
    return good;
}
