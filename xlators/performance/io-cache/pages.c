/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pages: fetched by requests of their own, with the identity of the first reader; kept; dropped. */
#include "io-cache.h"

#include <string.h>

static readv_cbk ioc_page_cbk;

static void
ioc_page_gone (struct page *base)
{
    struct ioc_page *page = (struct ioc_page *) base;

    page_wipe (base);
    ioc_inode_unref (page->inode);
    g_free (page);
}

struct ioc_page *
ioc_page_find_locked (const struct ioc_inode *inode, int64_t number)
{
    return inode->pages ? g_hash_table_lookup (inode->pages, &number) : NULL;
}

/* --- dropping --------------------------------------------------------------------------------- */

static void
unlist_locked (struct ioc_page *page)
{
    struct ioc_inode *inode = page->inode;

    page->listed = false;
    g_hash_table_remove (inode->pages, &page->number);
    if (inode->last == page->number)
        inode->last = -1;
    if (!page->base.ready)
        g_queue_unlink (&inode->flying, &page->place);
    page_unref (&page->base);
}

/* If lru has just evicted the page, the evicting thread drops that reference. */
void
ioc_page_drop_locked (struct ioc_page *page)
{
    if (!page->listed)
        return;
    if (lru_remove (&ioc_priv (page->inode->this)->lru, &page->entry))
        page_unref (&page->base);
    unlist_locked (page);
}

void
ioc_pages_gone (struct lru_entry *gone)
{
    struct lru_entry *entry;

    while ((entry = lru_next (&gone))) {
        struct ioc_page *page = ioc_page_of_entry (entry);
        struct ioc_inode *inode = ioc_inode_ref (page->inode);

        pthread_mutex_lock (&inode->lock);
        if (page->listed)
            unlist_locked (page);
        pthread_mutex_unlock (&inode->lock);
        page_unref (&page->base);
        ioc_inode_unref (inode);
    }
}

/* Goes by page number if the range is small, else over all pages that are there. */
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
        if (((struct ioc_page *) value)->number >= first
            && ((struct ioc_page *) value)->number <= last)
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
    return drop_range_locked (inode, offset / (off_t) IOC_PAGE,
                              end < 0 ? G_MAXINT64 / 2 : (end - 1) / (off_t) IOC_PAGE)
        || any;
}

/* --- fetching --------------------------------------------------------------------------------- */

struct ioc_page *
ioc_page_ask_locked (struct ioc_inode *inode, const call_frame_t *frame, fd_t *fd, int64_t number,
                     GQueue *send)
{
    struct ioc_page *page = g_new0 (struct ioc_page, 1);

    page_init (&page->base, number * (off_t) IOC_PAGE, IOC_PAGE, IOC_GET (inode->this, epoch),
               ioc_page_gone);
    page->inode = ioc_inode_ref (inode);
    page->number = number;
    page->place.data = page;
    if (!inode->pages)
        inode->pages = g_hash_table_new (g_int64_hash, g_int64_equal);
    g_hash_table_insert (inode->pages, &page->number, page);
    g_queue_push_tail_link (&inode->flying, &page->place);
    page->listed = true;
    IOC_COUNT (inode->this, fetched);
    page_reads_unfinished (&ioc_priv (inode->this)->reads, 1);
    page_new_request (&page->base, inode->this, frame, fd, send);
    return page;
}

void
ioc_send (xlator_t *this, GQueue *send)
{
    pages_send (this, send, ioc_page_cbk);
}

/* --- answers ---------------------------------------------------------------------------------- */

static uint64_t
cost_of (const struct ioc_page *page)
{
    uint64_t cost = sizeof *page;

    for (int i = 0; page->base.iobref && i < page->base.iobref->used; i++)
        cost += page->base.iobref->bufs[i]->size;
    return cost;
}

/* Copies the last page of a file out of its buffer, which has room for a whole page. */
static void
page_fit (struct ioc_page *page)
{
    struct iobuf *iobuf;

    if (cost_of (page) < 2 * page->base.got + 4096)
        return;
    iobuf = iobuf_new (MAX (page->base.got, 1));
    if (!iobuf)
        return;
    iov_unload (iobuf->ptr, page->base.got, page->base.vector, page->base.count);
    iobref_unref (page->base.iobref);
    page->base.iobref = iobref_new ();
    iobref_add (page->base.iobref, iobuf);
    iobuf_unref (iobuf);
    page->base.vector[0] = (struct iovec){ iobuf->ptr, page->base.got };
    page->base.count = 1;
}

/* Notes the state of the file that came with the page. The page has no version if the file changed
 * shortly before: the attributes may be newer than the bytes. */
static void
page_date_locked (struct ioc_page *page, const struct iatt *stbuf)
{
    struct ioc_inode *inode = page->inode;

    if (!stbuf || !page->listed)
        return;
    ioc_state_note_locked (inode, stbuf, page->base.asked_at);
    if (iatt_is_settled (stbuf, page->base.today) && ioc_state_is_locked (inode, stbuf))
        page->version = inode->version;
}

/* Returns true if the page may be kept. A page that only tells the end of file is not. */
static bool
page_may_stay_locked (const struct ioc_page *page)
{
    const struct ioc_inode *inode = page->inode;

    return page->listed && !page->base.failed && page->base.got > 0
        && !ioc_size_is_wrong_locked (inode) && !IOC_GET (inode->this, ending)
        && page->base.epoch == IOC_GET (inode->this, epoch);
}

/* The file has grown behind the mount: the page where it ended before is outdated. */
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
        gone = lru_add (&ioc_priv (inode->this)->lru, &page->entry, (unsigned) class,
                        cost_of (page), &fits);
    if (fits)
        page_ref (&page->base); /* the lru's; an evicting thread waits for our lock */
    if (fits && page->base.got < IOC_PAGE)
        end_here_locked (page);
    if (!fits) {
        IOC_COUNT (inode->this, unkept);
        ioc_page_drop_locked (page);
    }
    return gone;
}

static struct lru_entry *
ioc_come_locked (struct ioc_page *page, const struct iatt *stbuf, GQueue *done)
{
    struct lru_entry *gone;

    page_date_locked (page, stbuf);
    if (page->listed)
        g_queue_unlink (&page->inode->flying, &page->place);
    gone = page_keep_locked (page);
    page_come_locked (&page->base, done);
    return gone;
}

static void
ioc_page_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              struct iovec *vector, int32_t count, struct iatt *stbuf, struct iobref *iobref,
              dict_t *xdata)
{
    struct ioc_page *page = cookie;
    struct ioc_inode *inode = page->inode;
    GQueue done = G_QUEUE_INIT;
    struct lru_entry *gone;
    struct ioc_read *read;

    if (op_ret < 0)
        IOC_COUNT (this, failed);
    page_fill (&page->base, op_ret, vector, count, iobref);
    if (page->base.count > 0)
        page_fit (page);
    pthread_mutex_lock (&inode->lock);
    gone = ioc_come_locked (page, op_ret < 0 ? NULL : stbuf, &done);
    pthread_mutex_unlock (&inode->lock);
    ioc_pages_gone (gone);
    page_request_done (&page->base);
    while ((read = g_queue_pop_head (&done)))
        ioc_read_done (read);
    page_reads_unfinished (&ioc_priv (this)->reads, -1);
}
