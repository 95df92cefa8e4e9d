/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pages: asked for by requests of their own, as whoever reads first; kept; and how they go. */
#include "io-cache.h"

#include <string.h>

static readv_cbk ioc_page_cbk;

struct ioc_page *
ioc_page_ref (struct ioc_page *page)
{
    __atomic_add_fetch (&page->refs, 1, __ATOMIC_RELAXED);
    return page;
}

void
ioc_page_unref (struct ioc_page *page)
{
    if (__atomic_sub_fetch (&page->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    g_free (page->vector);
    iobref_unref (page->iobref);
    ioc_inode_unref (page->inode);
    g_free (page);
}

struct ioc_page *
ioc_page_find_locked (const struct ioc_inode *inode, int64_t number)
{
    return inode->pages ? g_hash_table_lookup (inode->pages, &number) : NULL;
}

size_t
ioc_page_part (const struct ioc_page *page, size_t size, off_t offset, size_t *ret_skip)
{
    const off_t begin = page->number * (off_t) IOC_PAGE;
    const off_t from = MAX (begin, offset), to = MIN (begin + (off_t) page->got, offset + (off_t) size);

    *ret_skip = (size_t) (from - begin);
    return to > from ? (size_t) (to - from) : 0;
}

void
ioc_unfinished (xlator_t *this, int by)
{
    ioc_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    priv->unfinished += (unsigned) by;
    if (priv->unfinished == 0)
        thread_cond_broadcast (&priv->idle);
    pthread_mutex_unlock (&priv->lock);
}

/* --- going away --------------------------------------------------------------------------------- */

static void
unlist_locked (struct ioc_page *page)
{
    struct ioc_inode *inode = page->inode;

    page->listed = false;
    g_hash_table_remove (inode->pages, &page->number);
    if (inode->last == page->number)
        inode->last = -1;
    if (!page->ready)
        g_queue_unlink (&inode->flying, &page->place);
    ioc_page_unref (page);
}

/* Where it had to make room as well, just now, that reference goes with that. */
void
ioc_page_drop_locked (struct ioc_page *page)
{
    if (!page->listed)
        return;
    if (lru_remove (&ioc_priv (page->inode->this)->lru, &page->entry))
        ioc_page_unref (page);
    unlist_locked (page);
}

void
ioc_pages_gone (struct lru_entry *gone)
{
    struct lru_entry *entry;

    while ((entry = lru_next (&gone))) {
        struct ioc_page *page = (struct ioc_page *) entry;
        struct ioc_inode *inode = ioc_inode_ref (page->inode);

        pthread_mutex_lock (&inode->lock);
        if (page->listed)
            unlist_locked (page);
        pthread_mutex_unlock (&inode->lock);
        ioc_page_unref (page);
        ioc_inode_unref (inode);
    }
}

/* Few of a large file, or what is there of a large range. */
static bool
drop_range_locked (struct ioc_inode *inode, int64_t first, int64_t last)
{
    bool any = false;
    GHashTableIter iter;
    gpointer value;

    if (last - first < (int64_t) g_hash_table_size (inode->pages)) {
        for (int64_t number = first; number <= last; number++) {
            struct ioc_page *page = ioc_page_find_locked (inode, number);

            any = any || page;
            if (page)
                ioc_page_drop_locked (page);
        }
        return any;
    }
    g_autoptr (GPtrArray) found = g_ptr_array_new ();
    g_hash_table_iter_init (&iter, inode->pages);
    while (g_hash_table_iter_next (&iter, NULL, &value))
        if (((struct ioc_page *) value)->number >= first && ((struct ioc_page *) value)->number <= last)
            g_ptr_array_add (found, value);
    for (guint i = 0; i < found->len; i++)
        ioc_page_drop_locked (found->pdata[i]);
    return found->len > 0;
}

bool
ioc_pages_drop_locked (struct ioc_inode *inode, off_t offset, off_t end)
{
    const struct ioc_page *last;
    bool any = inode->flying.head != NULL;

    if (!inode->pages)
        return false;
    while (inode->flying.head)
        ioc_page_drop_locked (inode->flying.head->data);
    last = inode->last >= 0 ? ioc_page_find_locked (inode, inode->last) : NULL;
    if (last) {
        ioc_page_drop_locked ((struct ioc_page *) last);
        any = true;
    }
    if (end >= 0 && end <= offset)
        return any;
    return drop_range_locked (inode, offset / (off_t) IOC_PAGE, end < 0 ? G_MAXINT64 / 2 : (end - 1) / (off_t) IOC_PAGE) || any;
}

/* --- being asked for ---------------------------------------------------------------------------- */

struct ioc_page *
ioc_page_ask_locked (struct ioc_inode *inode, const call_frame_t *frame, fd_t *fd, int64_t number, GQueue *send)
{
    struct ioc_page *page = g_new0 (struct ioc_page, 1);

    page->refs = 2;
    page->inode = ioc_inode_ref (inode);
    page->number = number;
    page->asked_at = clock_roughly ();
    page->today = clock_today ();
    page->epoch = IOC_GET (inode->this, epoch);
    page->place.data = page;
    page->fd = fd_ref (fd);
    page->root = stack_new_like (inode->this, frame);
    if (!inode->pages)
        inode->pages = g_hash_table_new (g_int64_hash, g_int64_equal);
    g_hash_table_insert (inode->pages, &page->number, page);
    g_queue_push_tail_link (&inode->flying, &page->place);
    page->listed = true;
    ioc_unfinished (inode->this, 1);
    g_queue_push_tail (send, page);
    return page;
}

void
ioc_send (xlator_t *this, GQueue *send)
{
    struct ioc_page *page;

    while ((page = g_queue_pop_head (send))) {
        IOC_COUNT (this, fetched);
        stack_taken (page->root);
        STACK_WIND_COOKIE (&page->root->frames[0], ioc_page_cbk, page, FIRST_CHILD (this), readv, page->fd, IOC_PAGE,
                           page->number * (off_t) IOC_PAGE, 0, NULL);
    }
}

/* --- coming ------------------------------------------------------------------------------------- */

static uint64_t
cost_of (const struct ioc_page *page)
{
    uint64_t cost = sizeof *page;

    for (int i = 0; page->iobref && i < page->iobref->used; i++)
        cost += page->iobref->bufs[i]->size;
    return cost;
}

/* The end of a file came in a buffer for a whole page. */
static void
page_fit (struct ioc_page *page)
{
    struct iobuf *iobuf;

    if (cost_of (page) < 2 * page->got + 4096)
        return;
    iobuf = iobuf_new (MAX (page->got, 1));
    if (!iobuf)
        return;
    iov_unload (iobuf->ptr, page->got, page->vector, page->count);
    iobref_unref (page->iobref);
    page->iobref = iobref_new ();
    iobref_add (page->iobref, iobuf);
    iobuf_unref (iobuf);
    page->vector[0] = (struct iovec){ iobuf->ptr, page->got };
    page->count = 1;
}

static void
page_fill (struct ioc_page *page, int32_t op_ret, const struct iovec *vector, int32_t count, struct iobref *iobref)
{
    page->failed = op_ret < 0;
    if (page->failed)
        return;
    page->got = MIN ((size_t) op_ret, IOC_PAGE);
    page->count = count;
    page->vector = g_memdup2 (vector, (gsize) MAX (count, 1) * sizeof *vector);
    page->iobref = iobref_ref (iobref);
    if (count > 0)
        page_fit (page);
}

/* What is known of the file with it. What changed about then may be newer than the bytes. */
static void
page_date_locked (struct ioc_page *page, const struct iatt *stbuf)
{
    struct ioc_inode *inode = page->inode;

    if (!stbuf || !page->listed)
        return;
    ioc_state_note_locked (inode, stbuf, page->asked_at);
    if (iatt_is_settled (stbuf, page->today) && ioc_state_is_locked (inode, stbuf))
        page->version = inode->version;
}

/* Is it to stay? Nothing that only says where the file ends does. */
static bool
page_may_stay_locked (const struct ioc_page *page)
{
    const struct ioc_inode *inode = page->inode;

    return page->listed && !page->failed && page->got > 0 && !ioc_size_is_wrong_locked (inode) && !IOC_GET (inode->this, ending)
           && page->epoch == IOC_GET (inode->this, epoch);
}

/* Where it ended before, and has grown behind the mount, it doesn't end any more. */
static void
end_here_locked (struct ioc_page *page)
{
    struct ioc_inode *inode = page->inode;
    struct ioc_page *before = inode->last >= 0 ? ioc_page_find_locked (inode, inode->last) : NULL;

    if (before && before != page)
        ioc_page_drop_locked (before);
    inode->last = page->number;
}

static struct lru_entry *
page_keep_locked (struct ioc_page *page)
{
    struct ioc_inode *inode = page->inode;
    struct lru_entry *gone = NULL;
    const int class = __atomic_load_n (&inode->class, __ATOMIC_RELAXED);
    bool fits = class >= 0 && page_may_stay_locked (page);

    if (fits)
        gone = lru_add (&ioc_priv (inode->this)->lru, &page->entry, (unsigned) class, cost_of (page), &fits);
    if (fits)
        ioc_page_ref (page); /* the lru's: whom it goes to waits for our lock */
    if (fits && page->got < IOC_PAGE)
        end_here_locked (page);
    if (!fits) {
        IOC_COUNT (inode->this, unkept);
        ioc_page_drop_locked (page);
    }
    return gone;
}

static struct lru_entry *
page_come_locked (struct ioc_page *page, const struct iatt *stbuf, GQueue *done)
{
    struct lru_entry *gone;

    page_date_locked (page, stbuf);
    if (page->listed)
        g_queue_unlink (&page->inode->flying, &page->place);
    page->ready = true;
    gone = page_keep_locked (page);
    for (GSList *l = page->waiters; l; l = l->next) {
        struct ioc_read *read = l->data;

        if (--read->pending == 0)
            g_queue_push_tail (done, read);
    }
    g_clear_pointer (&page->waiters, g_slist_free);
    return gone;
}

static void
ioc_page_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct iovec *vector,
              int32_t count, struct iatt *stbuf, struct iobref *iobref, dict_t *xdata)
{
    struct ioc_page *page = cookie;
    struct ioc_inode *inode = page->inode;
    GQueue done = G_QUEUE_INIT;
    struct lru_entry *gone;
    struct ioc_read *read;

    if (op_ret < 0)
        IOC_COUNT (this, failed);
    page_fill (page, op_ret, vector, count, iobref);
    pthread_mutex_lock (&inode->lock);
    gone = page_come_locked (page, op_ret < 0 ? NULL : stbuf, &done);
    pthread_mutex_unlock (&inode->lock);
    ioc_pages_gone (gone);
    stack_done (page->root);
    fd_unref (page->fd);
    ioc_page_unref (page);
    while ((read = g_queue_pop_head (&done)))
        ioc_read_done (read);
    ioc_unfinished (this, -1);
}
