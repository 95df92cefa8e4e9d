/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A read: from pages that are there or on their way, or by itself. One that begins in a page, or where the last one ended, is in order. */
#include "read-ahead.h"

static readv_cbk ra_demand_cbk;

/* What is to become of a read. */
enum way {
    WAY_PASS,   /* goes down */
    WAY_DEMAND, /* goes down as well, and when it comes back what follows is asked for */
    WAY_HIT,    /* all of it is there */
    WAY_WAIT,   /* or on its way */
};

struct plan {
    struct ra_page *pages[RA_PAGES];
    unsigned n, pending;
    uint64_t asked, epoch;
};

/* --- answering ---------------------------------------------------------------------------------- */

/* How much of what was read lies in this page, and from where on. */
static size_t
part_of (const struct ra_page *page, size_t size, off_t offset, size_t *ret_skip)
{
    const off_t from = MAX (page->offset, offset), to = MIN (page->offset + (off_t) page->got, offset + (off_t) size);

    *ret_skip = (size_t) (from - page->offset);
    return to > from ? (size_t) (to - from) : 0;
}

/* Attributes that came with the last page, unless any may have changed since, or about when it was read: io-cache takes them for those of the
 * bytes. */
static struct iatt *
stbuf_of (const xlator_t *this, struct ra_page *page)
{
    if (!page->has_stbuf || page->attributes != RA_GET (this, attributes) || !iatt_is_settled (&page->stbuf, page->today))
        return NULL;
    return &page->stbuf;
}

/* From pages that are there. */
static void
answer (call_frame_t *frame, xlator_t *this, fd_t *fd, struct ra_page *const *pages, unsigned n, size_t size, off_t offset)
{
    struct pieces pieces;

    pieces_begin (&pieces, size);
    for (unsigned i = 0; i < n; i++) {
        size_t skip;
        const size_t part = part_of (pages[i], size, offset, &skip);

        pieces_add (&pieces, pages[i]->vector, pages[i]->count, pages[i]->iobref, skip, part);
    }
    if (RA_GET (this, force_atime))
        ra_touch (this, frame, fd, offset);
    if (pieces.failed)
        STACK_UNWIND (readv, frame, -1, ENOMEM, NULL, 0, NULL, NULL, NULL);
    else
        STACK_UNWIND (readv, frame, (int32_t) pieces.size, 0, pieces.vector, pieces.count, stbuf_of (this, pages[n - 1]),
                      pieces.iobref, NULL);
    pieces_end (&pieces);
}

/* --- what there is ------------------------------------------------------------------------------ */

/* What is too old is served to nobody, and what the reader left behind goes. */
static void
prune_locked (struct ra_file *file, off_t offset)
{
    const int64_t oldest = clock_roughly () - RA_GET (file->this, timeout);
    const off_t behind = offset - (off_t) ra_window (file->this);
    const uint64_t epoch = RA_GET (file->this, epoch);

    for (GList *l = file->pages.head, *next; l; l = next) {
        struct ra_page *page = l->data;

        next = l->next;
        if (page->asked_at < oldest || page->epoch != epoch || ra_page_end (page) <= behind)
            ra_page_drop_locked (page);
    }
}

static bool
begins_in_page_locked (const struct ra_file *file, off_t offset)
{
    for (const GList *l = file->pages.head; l; l = l->next) {
        const struct ra_page *page = l->data;

        if (page->offset <= offset && offset < ra_page_end (page))
            return true;
    }
    return false;
}

/* The pages that have it, up to the end of the file where one of them found that. false: they don't. */
static bool
collect_locked (const struct ra_file *file, size_t size, off_t offset, struct plan *plan)
{
    const off_t end = offset + (off_t) size;
    off_t at = offset;

    for (const GList *l = file->pages.head; l && at < end; l = l->next) {
        struct ra_page *page = l->data;

        if (ra_page_end (page) <= at)
            continue;
        if (page->offset > at || plan->n == RA_PAGES)
            return false;
        plan->pages[plan->n++] = page;
        plan->pending += !page->ready;
        at = ra_page_end (page);
        if (page->ready && page->got < page->size)
            return page->offset + (off_t) page->got > offset;
    }
    return at >= end;
}

/* A page that was read to its end is of no more use. */
static void
consume_locked (struct ra_page *page, size_t size, off_t offset)
{
    size_t skip;

    page->used += part_of (page, size, offset, &skip);
    if (page->used >= page->got)
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
way_of_locked (struct ra_file *file, const call_frame_t *frame, fd_t *fd, size_t size, off_t offset, struct plan *plan,
               GQueue *send)
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
    if (!collect_locked (file, size, offset, plan))
        return WAY_PASS;
    return plan->pending ? WAY_WAIT : WAY_HIT;
}

/* --- reading ------------------------------------------------------------------------------------ */

void
ra_local_drop (xlator_t *this, void *data)
{
    struct ra_wait *wait = data;

    for (unsigned i = 0; i < wait->n_pages; i++)
        ra_page_unref (wait->pages[i]);
    fd_unref (wait->fd);
}

static struct ra_wait *
wait_new (call_frame_t *frame, struct ra_file *file, fd_t *fd, size_t size, off_t offset, const struct plan *plan)
{
    struct ra_wait *wait = frame_local_new (frame, sizeof *wait);

    *wait = (struct ra_wait){ .frame = frame, .file = file, .fd = fd_ref (fd), .size = size, .offset = offset,
                              .asked = plan->asked, .epoch = plan->epoch };
    wait->place.data = wait;
    return wait;
}

/* From here on it may be answered any time the lock isn't held. */
static void
wait_begin_locked (struct ra_wait *wait, const struct plan *plan)
{
    ra_private_t *priv = wait->file->this->private;

    wait->pending = plan->pending;
    for (unsigned i = 0; i < plan->n; i++) {
        struct ra_page *page = plan->pages[i];

        wait->pages[wait->n_pages++] = ra_page_ref (page);
        if (!page->ready)
            page->waiters = g_slist_prepend (page->waiters, wait);
    }
    pthread_mutex_lock (&priv->lock);
    g_queue_push_tail_link (&priv->waiting, &wait->place);
    pthread_mutex_unlock (&priv->lock);
}

/* May it be answered from them? What changed meanwhile may be in one and not in the other. */
static bool
wait_holds_locked (const struct ra_wait *wait)
{
    const struct ra_file *file = wait->file;

    if (!ra_is_still_locked (file) || !change_view_holds (&file->inode->changes, wait->asked)
        || wait->epoch != RA_GET (file->this, epoch))
        return false;
    for (unsigned i = 0; i < wait->n_pages; i++)
        if (wait->pages[i]->failed)
            return false;
    return true;
}

/* The file may end before the last of them; but where nothing at all is there, it is looked at again. */
static bool
wait_settle_locked (struct ra_wait *wait)
{
    unsigned n = 0;
    size_t skip;

    if (!wait_holds_locked (wait) || part_of (wait->pages[0], wait->size, wait->offset, &skip) == 0)
        return false;
    while (n < wait->n_pages) {
        struct ra_page *page = wait->pages[n++];
        const bool ends = page->got < page->size;

        consume_locked (page, wait->size, wait->offset);
        if (ends)
            break;
    }
    while (wait->n_pages > n)
        ra_page_unref (wait->pages[--wait->n_pages]);
    return true;
}

void
ra_wait_done (struct ra_wait *wait)
{
    struct ra_file *file = wait->file;
    xlator_t *this = file->this;
    ra_private_t *priv = this->private;
    bool holds;

    pthread_mutex_lock (&file->inode->lock);
    pthread_mutex_lock (&priv->lock);
    g_queue_unlink (&priv->waiting, &wait->place);
    pthread_mutex_unlock (&priv->lock);
    holds = wait_settle_locked (wait);
    pthread_mutex_unlock (&file->inode->lock);
    stack_taken (wait->frame->root);
    if (holds)
        answer (wait->frame, this, wait->fd, wait->pages, wait->n_pages, wait->size, wait->offset);
    else
        STACK_WIND_TAIL (wait->frame, FIRST_CHILD (this), readv, wait->fd, wait->size, wait->offset, wait->flags, NULL);
}

/* What follows is asked for when this one came back whole, so that a small file costs one read. */
static void
ra_demand_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct iovec *vector,
               int32_t count, struct iatt *stbuf, struct iobref *iobref, dict_t *xdata)
{
    const struct ra_wait *asked = frame->local;
    struct ra_file *file = asked->file;
    const off_t end = asked->offset + (off_t) asked->size;
    GQueue send = G_QUEUE_INIT;

    pthread_mutex_lock (&file->inode->lock);
    if (ra_is_still_locked (file) && change_view_holds (&file->inode->changes, asked->asked) && op_ret == (int32_t) asked->size
        && file->expected == end)
        ra_extend_locked (file, frame, asked->fd, end, &send);
    pthread_mutex_unlock (&file->inode->lock);
    STACK_UNWIND (readv, frame, op_ret, op_errno, vector, count, stbuf, iobref, xdata);
    ra_send (this, &send);
}

/* Large ones are better off by themselves, and whoever wants O_DIRECT wants no cache. */
static bool
takes_part (const xlator_t *this, const fd_t *fd, size_t size, off_t offset, uint32_t flags, const dict_t *xdata)
{
    if ((fd->flags & O_ACCMODE) == O_WRONLY || (fd->flags | flags) & O_DIRECT || xdata)
        return false;
    if (!fd->inode || fd->inode->ia_type != IA_IFREG || RA_GET (this, ending))
        return false;
    return size > 0 && size <= ra_window (this) && offset >= 0 && offset <= G_MAXINT64 / 2;
}

/* What is needed of it when the lock isn't held any more. */
static void
take_locked (const struct plan *plan, size_t size, off_t offset)
{
    for (unsigned i = 0; i < plan->n; i++) {
        ra_page_ref (plan->pages[i]);
        consume_locked (plan->pages[i], size, offset);
    }
}

static enum way
ra_plan (call_frame_t *frame, struct ra_file *file, fd_t *fd, size_t size, off_t offset, struct plan *plan, GQueue *send)
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
        take_locked (plan, size, offset);
    else if (way == WAY_WAIT || way == WAY_DEMAND)
        frame->local = wait_new (frame, file, fd, size, offset, plan);
    if (way == WAY_WAIT)
        wait_begin_locked (frame->local, plan);
    pthread_mutex_unlock (&file->inode->lock);
    return way;
}

void
ra_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset, uint32_t flags, dict_t *xdata)
{
    struct plan plan = { .n = 0 };
    GQueue send = G_QUEUE_INIT;

    if (!takes_part (this, fd, size, offset, flags, xdata)) {
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
        STACK_WIND (frame, ra_demand_cbk, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
        break;
    case WAY_HIT:
        RA_COUNT (this, hits, 1);
        answer (frame, this, fd, plan.pages, plan.n, size, offset);
        for (unsigned i = 0; i < plan.n; i++)
            ra_page_unref (plan.pages[i]);
        break;
    case WAY_WAIT:
        RA_COUNT (this, waits, 1);
        break;
    }
    ra_send (this, &send);
}
