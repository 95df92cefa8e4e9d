/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* readv: from pages that are there or on their way, after a request of attributes if the state is
 * too old; or by a call of its own. */
#include "io-cache.h"

static fstat_cbk ioc_look_cbk;

enum way {
    WAY_PASS, /* wind it */
    WAY_HIT,  /* all pages are there */
    WAY_WAIT, /* all pages are there or on their way */
    WAY_LOOK, /* all pages are there if the file is unchanged */
};

/* --- finding pages ---------------------------------------------------------------------------- */

enum worth { WORTH_NOTHING, WORTH_A_LOOK, WORTH_ALL };

/* looked: the attributes were requested since the read came. */
static enum worth
worth_locked (const struct ioc_page *page, int64_t now, bool looked)
{
    const struct ioc_inode *inode = page->inode;

    if (page->base.epoch != IOC_GET (inode->this, epoch))
        return WORTH_NOTHING;
    if (page->version == 0)
        return now < page->base.asked_at + IOC_GET (inode->this, timeout)
                    && page->base.asked_at > inode->doubted_at
                 ? WORTH_ALL
                 : WORTH_NOTHING;
    if (page->version == inode->version)
        return looked || ioc_state_is_fresh_locked (inode, now) ? WORTH_ALL : WORTH_A_LOOK;
    return page->version + 1 == inode->version && now < inode->old_until ? WORTH_ALL
                                                                         : WORTH_NOTHING;
}

/* Adds the page if there is one that may be served. Otherwise fetches it, unless a change is under
 * way. */
static enum way
ioc_add_locked (struct ioc_inode *inode, const call_frame_t *frame, fd_t *fd, int64_t number,
                bool looked, struct page_plan *plan, GQueue *send)
{
    struct ioc_page *page = ioc_page_find_locked (inode, number);
    const enum worth worth = page && page->base.ready
                               ? worth_locked (page, clock_roughly (), looked)
                               : WORTH_ALL;

    if (worth == WORTH_A_LOOK)
        return WAY_LOOK;
    if (worth == WORTH_NOTHING) {
        ioc_page_drop_locked (page);
        page = NULL;
    }
    if (!page
        && (__atomic_load_n (&inode->changes.under_way, __ATOMIC_RELAXED) > 0
            || IOC_GET (inode->this, ending)))
        return WAY_PASS;
    if (!page)
        page = ioc_page_ask_locked (inode, frame, fd, number, send);
    plan->pages[plan->n++] = &page->base;
    plan->pending += !page->base.ready;
    return page->base.ready ? WAY_HIT : WAY_WAIT;
}

/* A page that is there and is not full contains the end of file. */
static enum way
ioc_collect_locked (struct ioc_inode *inode, const call_frame_t *frame, fd_t *fd, size_t size,
                    off_t offset, bool looked, struct page_plan *plan, GQueue *send)
{
    const int64_t first = offset / (off_t) IOC_PAGE,
                  last = (offset + (off_t) size - 1) / (off_t) IOC_PAGE;

    if (last - first >= IOC_PAGES)
        return WAY_PASS;
    for (int64_t number = first; number <= last; number++) {
        const enum way way = ioc_add_locked (inode, frame, fd, number, looked, plan, send);
        const struct page *page;

        if (way == WAY_PASS || way == WAY_LOOK)
            return way;
        page = plan->pages[plan->n - 1];
        if (page->ready && page->got < IOC_PAGE)
            break;
    }
    return plan->pending ? WAY_WAIT : WAY_HIT;
}

static void
ioc_take_locked (const struct page_plan *plan)
{
    for (unsigned i = 0; i < plan->n; i++) {
        struct ioc_page *page = (struct ioc_page *) page_ref (plan->pages[i]);

        lru_touch (&ioc_priv (page->inode->this)->lru, &page->entry);
    }
}

/* --- waiting ---------------------------------------------------------------------------------- */

void
ioc_local_drop (xlator_t *this, void *data)
{
    page_read_wipe (data);
}

static struct ioc_read *
read_new (call_frame_t *frame, struct ioc_inode *inode, fd_t *fd, size_t size, off_t offset,
          uint32_t flags)
{
    struct ioc_read *read = frame_local_new (frame, sizeof *read);

    read->base = (struct page_read){
        .frame = frame, .fd = fd_ref (fd), .size = size, .offset = offset, .flags = flags
    };
    read->inode = inode;
    read->asked = change_clock_now (&ioc_priv (inode->this)->clock);
    read->epoch = IOC_GET (inode->this, epoch);
    read->looking_at = clock_roughly ();
    return read;
}

/* Returns true if the file has not changed since the read came. */
static bool
read_holds_locked (const struct ioc_read *read)
{
    const xlator_t *this = read->inode->this;

    return change_view_holds (&read->inode->changes, read->asked)
        && read->epoch == IOC_GET (this, epoch) && IOC_GET (this, blind) == 0;
}

/* Returns how many of the pages may answer the read; 0: none. After a change, one page may show it
 * and another not. */
static unsigned
settle_locked (const struct ioc_read *read)
{
    unsigned n = 0;

    if (!read_holds_locked (read))
        return 0;
    for (unsigned i = 0; i < read->base.n; i++)
        if (read->base.pages[i]->failed)
            return 0;
    while (n < read->base.n)
        if (read->base.pages[n++]->got < IOC_PAGE)
            break;
    return n;
}

void
ioc_read_done (struct ioc_read *read)
{
    struct ioc_inode *inode = read->inode;
    xlator_t *this = inode->this;
    const struct page_read *asked = &read->base;
    unsigned n;

    pthread_mutex_lock (&inode->lock);
    page_read_over (&read->base, &ioc_priv (this)->reads);
    n = settle_locked (read);
    pthread_mutex_unlock (&inode->lock);
    stack_taken (asked->frame->root);
    if (n > 0)
        pages_answer (asked->frame, asked->pages, n, asked->size, asked->offset, NULL);
    else
        STACK_WIND_TAIL (asked->frame, FIRST_CHILD (this), readv, asked->fd, asked->size,
                         asked->offset, asked->flags, NULL);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* read is NULL in the first pass. */
static enum way
ioc_plan (call_frame_t *frame, struct ioc_inode *inode, fd_t *fd, size_t size, off_t offset,
          uint32_t flags, struct ioc_read *read, struct page_plan *plan, GQueue *send)
{
    const xlator_t *this = inode->this;
    enum way way = WAY_PASS;

    pthread_mutex_lock (&inode->lock);
    if (IOC_GET (this, blind) == 0
        && !(ioc_state_is_fresh_locked (inode, clock_roughly ())
             && ioc_size_is_wrong_locked (inode)))
        way = ioc_collect_locked (inode, frame, fd, size, offset, read != NULL, plan, send);
    if (way == WAY_HIT)
        ioc_take_locked (plan);
    if (!read && (way == WAY_WAIT || way == WAY_LOOK))
        read = read_new (frame, inode, fd, size, offset, flags);
    if (way == WAY_WAIT)
        page_read_wait_locked (&read->base, plan, &ioc_priv (inode->this)->reads);
    pthread_mutex_unlock (&inode->lock);
    return way;
}

static void
ioc_go (call_frame_t *frame, struct ioc_inode *inode, fd_t *fd, size_t size, off_t offset,
        uint32_t flags, struct ioc_read *read)
{
    struct page_plan plan = { .n = 0 };
    GQueue send = G_QUEUE_INIT;
    xlator_t *this = inode->this;

    switch (ioc_plan (frame, inode, fd, size, offset, flags, read, &plan, &send)) {
    case WAY_PASS:
        IOC_COUNT (this, passed);
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), readv, fd, size, offset, flags, NULL);
        break;
    case WAY_HIT:
        IOC_COUNT (this, hits);
        pages_answer (frame, plan.pages, plan.n, size, offset, NULL);
        for (unsigned i = 0; i < plan.n; i++)
            page_unref (plan.pages[i]);
        break;
    case WAY_WAIT:
        IOC_COUNT (this, waits);
        break;
    case WAY_LOOK:
        IOC_COUNT (this, looked);
        STACK_WIND (frame, ioc_look_cbk, FIRST_CHILD (this), fstat, fd, NULL);
        break;
    }
    ioc_send (this, &send);
}

/* The answer only tells about the pages if no change went through this translator meanwhile. */
static void
look_done_locked (const struct ioc_read *read, const struct iatt *buf)
{
    struct ioc_inode *inode = read->inode;
    const uint32_t version = inode->version;

    if (read_holds_locked (read))
        ioc_state_note_locked (inode, buf, read->looking_at);
    if (version != inode->version)
        IOC_COUNT (inode->this, changed);
}

static void
ioc_look_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              struct iatt *buf, dict_t *xdata)
{
    struct ioc_read *read = frame->local;
    struct ioc_inode *inode = read->inode;
    const struct page_read *asked = &read->base;
    bool holds = op_ret >= 0 && buf;

    pthread_mutex_lock (&inode->lock);
    if (holds)
        look_done_locked (read, buf);
    holds = holds && read_holds_locked (read);
    pthread_mutex_unlock (&inode->lock);
    if (holds)
        ioc_go (frame, inode, asked->fd, asked->size, asked->offset, asked->flags, read);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), readv, asked->fd, asked->size, asked->offset,
                         asked->flags, NULL);
}

static bool
ioc_takes_part (const xlator_t *this, const fd_t *fd, size_t size, off_t offset, uint32_t flags,
                const dict_t *xdata)
{
    if ((fd->flags & O_ACCMODE) == O_WRONLY || (fd->flags | flags) & O_DIRECT || xdata)
        return false;
    if (!fd->inode || fd->inode->ia_type != IA_IFREG || IOC_GET (this, ending))
        return false;
    return size > 0 && size <= IOC_PAGES * IOC_PAGE && offset >= 0 && offset <= G_MAXINT64 / 2;
}

void
ioc_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset, uint32_t flags,
           dict_t *xdata)
{
    struct ioc_inode *inode = ioc_takes_part (this, fd, size, offset, flags, xdata)
                                ? ioc_inode_make (this, fd->inode)
                                : NULL;

    if (inode && __atomic_load_n (&inode->class, __ATOMIC_RELAXED) >= 0)
        ioc_go (frame, inode, fd, size, offset, flags, NULL);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
}
