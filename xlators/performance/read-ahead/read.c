/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* readv: from pages that are there or on their way, or by a call of its own. A read is in order if
 * it begins in a page, or where the last one ended. */
#include "read-ahead.h"

static readv_cbk ra_demand_cbk;

/* How to handle a read. */
enum way {
    WAY_PASS,   /* wind it */
    WAY_DEMAND, /* wind it, and start reading ahead when it comes back */
    WAY_HIT,    /* all pages are there */
    WAY_WAIT,   /* all pages are there or on their way */
};

struct plan {
    struct page_plan needs;
    uint64_t asked, epoch;
};

/* --- answering -------------------------------------------------------------------------------- */

/* The attributes that came with the last page; NULL if any may have changed since, or shortly
 * before it was read. io-cache takes them as belonging to the bytes. */
static struct iatt *
stbuf_of (const xlator_t *this, struct ra_page *page)
{
    if (!page->has_stbuf || page->attributes != RA_GET (this, attributes)
        || !iatt_is_settled (&page->stbuf, page->base.today))
        return NULL;
    return &page->stbuf;
}

/* Answers from pages that are there. */
static void
ra_answer (call_frame_t *frame, xlator_t *this, fd_t *fd, struct page *const *pages, unsigned n,
           size_t size, off_t offset)
{
    if (RA_GET (this, force_atime))
        ra_touch (this, frame, fd, offset);
    pages_answer (frame, pages, n, size, offset, stbuf_of (this, (struct ra_page *) pages[n - 1]));
}

/* --- finding pages ---------------------------------------------------------------------------- */

/* Drops pages that are too old, and pages that the reader has left behind. */
static void
prune_locked (struct ra_file *file, off_t offset)
{
    const int64_t oldest = clock_roughly () - RA_GET (file->this, timeout);
    const off_t behind = offset - (off_t) ra_window (file->this);
    const uint64_t epoch = RA_GET (file->this, epoch);

    for (GList *l = file->pages.head, *next; l; l = next) {
        struct ra_page *page = l->data;

        next = l->next;
        if (page->base.asked_at < oldest || page->base.epoch != epoch
            || ra_page_end (page) <= behind)
            ra_page_drop_locked (page);
    }
}

static bool
begins_in_page_locked (const struct ra_file *file, off_t offset)
{
    for (const GList *l = file->pages.head; l; l = l->next) {
        const struct ra_page *page = l->data;

        if (page->base.offset <= offset && offset < ra_page_end (page))
            return true;
    }
    return false;
}

/* Collects the pages that cover the range, up to the end of file if a page has found it. Returns
 * false if they do not cover it. */
static bool
ra_collect_locked (const struct ra_file *file, size_t size, off_t offset, struct page_plan *plan)
{
    const off_t end = offset + (off_t) size;
    off_t at = offset;

    for (const GList *l = file->pages.head; l && at < end; l = l->next) {
        struct ra_page *page = l->data;

        if (ra_page_end (page) <= at)
            continue;
        if (page->base.offset > at || plan->n == PAGES_OF_READ)
            return false;
        plan->pages[plan->n++] = &page->base;
        plan->pending += !page->base.ready;
        at = ra_page_end (page);
        if (page->base.ready && page->base.got < page->base.size)
            return page->base.offset + (off_t) page->base.got > offset;
    }
    return at >= end;
}

/* Drops a page that was read to its end. */
static void
consume_locked (struct ra_page *page, size_t size, off_t offset)
{
    size_t skip;

    page->used += page_part (&page->base, size, offset, &skip);
    if (page->used >= page->base.got)
        ra_page_drop_locked (page);
}

static void
start_over_locked (struct ra_file *file, off_t end)
{
    ra_file_drop_locked (file);
    file->expected = end;
    file->run = 0;
    file->reads = 0;
}

static enum way
way_of_locked (struct ra_file *file, const call_frame_t *frame, fd_t *fd, size_t size, off_t offset,
               struct plan *plan, GQueue *send)
{
    const off_t end = offset + (off_t) size;
    const bool covered = begins_in_page_locked (file, offset);

    if (!covered && offset != file->expected) {
        start_over_locked (file, end);
        return WAY_PASS;
    }
    file->run += size;
    file->reads++;
    file->expected = covered ? MAX (file->expected, end) : end;
    if (!covered) {
        ra_file_drop_locked (file);
        return WAY_DEMAND;
    }
    ra_extend_locked (file, frame, fd, file->expected, send);
    if (!ra_collect_locked (file, size, offset, &plan->needs))
        return WAY_PASS;
    return plan->needs.pending ? WAY_WAIT : WAY_HIT;
}

/* --- reading ---------------------------------------------------------------------------------- */

void
ra_local_drop (xlator_t *this, void *data)
{
    page_read_wipe (data);
}

static struct ra_wait *
wait_new (call_frame_t *frame, struct ra_file *file, fd_t *fd, size_t size, off_t offset,
          const struct plan *plan)
{
    struct ra_wait *wait = frame_local_new (frame, sizeof *wait);

    wait->base = (struct page_read){
        .frame = frame, .fd = fd_ref (fd), .size = size, .offset = offset
    };
    wait->file = file;
    wait->asked = plan->asked;
    wait->epoch = plan->epoch;
    return wait;
}

/* Returns true if the read may be answered from its pages. After a change, one page may show it and
 * another not. */
static bool
wait_holds_locked (const struct ra_wait *wait)
{
    const struct ra_file *file = wait->file;

    if (!ra_is_still_locked (file) || !change_view_holds (&file->inode->changes, wait->asked)
        || wait->epoch != RA_GET (file->this, epoch))
        return false;
    for (unsigned i = 0; i < wait->base.n; i++)
        if (wait->base.pages[i]->failed)
            return false;
    return true;
}

/* The file may end before the last page. If not even the first byte is there, the read goes
 * down. */
static bool
wait_settle_locked (struct ra_wait *wait)
{
    unsigned n = 0;
    size_t skip;

    if (!wait_holds_locked (wait)
        || page_part (wait->base.pages[0], wait->base.size, wait->base.offset, &skip) == 0)
        return false;
    while (n < wait->base.n) {
        struct ra_page *page = (struct ra_page *) wait->base.pages[n++];
        const bool ends = page->base.got < page->base.size;

        consume_locked (page, wait->base.size, wait->base.offset);
        if (ends)
            break;
    }
    while (wait->base.n > n)
        page_unref (wait->base.pages[--wait->base.n]);
    return true;
}

void
ra_wait_done (struct ra_wait *wait)
{
    struct ra_file *file = wait->file;
    xlator_t *this = file->this;
    bool holds;

    pthread_mutex_lock (&file->inode->lock);
    page_read_over (&wait->base, &ra_priv (this)->reads);
    holds = wait_settle_locked (wait);
    pthread_mutex_unlock (&file->inode->lock);
    stack_taken (wait->base.frame->root);
    if (holds)
        ra_answer (wait->base.frame, this, wait->base.fd, wait->base.pages, wait->base.n,
                   wait->base.size, wait->base.offset);
    else
        STACK_WIND_TAIL (wait->base.frame, FIRST_CHILD (this), readv, wait->base.fd,
                         wait->base.size, wait->base.offset, wait->base.flags, NULL);
}

/* Reading ahead starts only after a whole read, so that a small file costs one read. */
static void
ra_demand_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               struct iovec *vector, int32_t count, struct iatt *stbuf, struct iobref *iobref,
               dict_t *xdata)
{
    const struct ra_wait *asked = frame->local;
    struct ra_file *file = asked->file;
    const off_t end = asked->base.offset + (off_t) asked->base.size;
    GQueue send = G_QUEUE_INIT;

    pthread_mutex_lock (&file->inode->lock);
    if (ra_is_still_locked (file) && change_view_holds (&file->inode->changes, asked->asked)
        && op_ret == (int32_t) asked->base.size && file->expected == end)
        ra_extend_locked (file, frame, asked->base.fd, end, &send);
    pthread_mutex_unlock (&file->inode->lock);
    STACK_UNWIND (readv, frame, op_ret, op_errno, vector, count, stbuf, iobref, xdata);
    ra_send (this, &send);
}

/* Large reads gain nothing from pages, and a caller with O_DIRECT wants no cache. */
static bool
ra_takes_part (const xlator_t *this, const fd_t *fd, size_t size, off_t offset, uint32_t flags,
               const dict_t *xdata)
{
    if ((fd->flags & O_ACCMODE) == O_WRONLY || (fd->flags | flags) & O_DIRECT || xdata)
        return false;
    if (!fd->inode || fd->inode->ia_type != IA_IFREG || RA_GET (this, ending))
        return false;
    return size > 0 && size <= ra_window (this) && offset >= 0 && offset <= G_MAXINT64 / 2;
}

/* References the pages, for use after the lock is released, and marks them read. */
static void
ra_take_locked (const struct page_plan *plan, size_t size, off_t offset)
{
    for (unsigned i = 0; i < plan->n; i++) {
        page_ref (plan->pages[i]);
        consume_locked ((struct ra_page *) plan->pages[i], size, offset);
    }
}

static enum way
ra_plan (call_frame_t *frame, struct ra_file *file, fd_t *fd, size_t size, off_t offset,
         struct plan *plan, GQueue *send)
{
    enum way way;

    pthread_mutex_lock (&file->inode->lock);
    plan->asked = change_clock_now (&ra_priv (file->this)->clock);
    plan->epoch = RA_GET (file->this, epoch);
    if (ra_is_still_locked (file)) {
        prune_locked (file, offset);
        way = way_of_locked (file, frame, fd, size, offset, plan, send);
    } else {
        start_over_locked (file, offset + (off_t) size);
        way = WAY_PASS;
    }
    if (way == WAY_HIT)
        ra_take_locked (&plan->needs, size, offset);
    else if (way == WAY_WAIT || way == WAY_DEMAND)
        frame->local = wait_new (frame, file, fd, size, offset, plan);
    if (way == WAY_WAIT)
        page_read_wait_locked (frame->local, &plan->needs, &ra_priv (file->this)->reads);
    pthread_mutex_unlock (&file->inode->lock);
    return way;
}

void
ra_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset, uint32_t flags,
          dict_t *xdata)
{
    struct plan plan = { .needs = { .n = 0 } };
    GQueue send = G_QUEUE_INIT;

    if (!ra_takes_part (this, fd, size, offset, flags, xdata)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
        return;
    }
    switch (ra_plan (frame, ra_file_make (this, fd), fd, size, offset, &plan, &send)) {
    case WAY_PASS:
        RA_COUNT (this, passed, 1);
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
        break;
    case WAY_DEMAND:
        RA_COUNT (this, misses, 1);
        STACK_WIND (frame, ra_demand_cbk, FIRST_CHILD (this), readv, fd, size, offset, flags,
                    xdata);
        break;
    case WAY_HIT:
        RA_COUNT (this, hits, 1);
        ra_answer (frame, this, fd, plan.needs.pages, plan.needs.n, size, offset);
        for (unsigned i = 0; i < plan.needs.n; i++)
            page_unref (plan.needs.pages[i]);
        break;
    case WAY_WAIT:
        RA_COUNT (this, waits, 1);
        break;
    }
    ra_send (this, &send);
}
