/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pages are asked for by requests of their own, as whoever reads, and come. */
#include "read-ahead.h"

static readv_cbk ra_page_cbk;
static readv_cbk ra_touch_cbk;

size_t
ra_window (const xlator_t *this)
{
    return RA_GET (this, page_size) * (size_t) RA_GET (this, page_count);
}

/* --- which -------------------------------------------------------------------------------------- */

/* One read, be it the first of the file, makes as much again likely; several, four times as much. */
static size_t
window_locked (const struct ra_file *file)
{
    const uint64_t likely = file->reads < 2 ? file->run : 4 * file->run;

    return MIN (ra_window (file->this), likely);
}

/* Where to stop: a file that was seen to end ends there for a while. */
static off_t
target_locked (const struct ra_file *file, off_t end)
{
    const struct ra_inode *inode = file->inode;
    const off_t target = end + (off_t) window_locked (file);

    if (inode->eof >= 0 && clock_roughly () - inode->eof_at < RA_GET (file->this, timeout))
        return MIN (target, inode->eof);
    return target;
}

static bool
ask_locked (struct ra_file *file, const call_frame_t *frame, fd_t *fd, off_t offset, size_t size, GQueue *send)
{
    struct ra_page *page = ra_page_new_locked (file, offset, size);

    if (!page)
        return false;
    page->fd = fd_ref (fd);
    page->root = stack_new_like (file->this, frame);
    g_queue_push_tail (send, page);
    return true;
}

/* Pages end at multiples of their size. A part of one is asked for only when little is left of what was asked for before. */
void
ra_extend_locked (struct ra_file *file, const call_frame_t *frame, fd_t *fd, off_t end, GQueue *send)
{
    const struct ra_page *last = g_queue_peek_tail (&file->pages);
    const off_t target = target_locked (file, end), page_size = (off_t) RA_GET (file->this, page_size);
    off_t next = last ? ra_page_end (last) : end;

    if (RA_GET (file->this, ending) || RA_GET (file->this, timeout) == 0)
        return;
    while (next < target) {
        off_t stop = (next / page_size + 1) * page_size;

        if (stop > target) {
            if ((next - end) * 2 >= target - end)
                return;
            stop = target;
        }
        if (!ask_locked (file, frame, fd, next, (size_t) (stop - next), send))
            return;
        next = stop;
    }
}

/* --- going -------------------------------------------------------------------------------------- */

void
ra_send (xlator_t *this, GQueue *send)
{
    struct ra_page *page;

    while ((page = g_queue_pop_head (send))) {
        RA_COUNT (this, fetched, 1);
        stack_taken (page->root);
        STACK_WIND_COOKIE (&page->root->frames[0], ra_page_cbk, page, FIRST_CHILD (this), readv, page->fd, page->size,
                           page->offset, 0, NULL);
    }
}

/* --- coming ------------------------------------------------------------------------------------- */

static void
page_fill (struct ra_page *page, int32_t op_ret, const struct iovec *vector, int32_t count, const struct iatt *stbuf,
           struct iobref *iobref)
{
    page->failed = op_ret < 0;
    if (page->failed)
        return;
    page->got = MIN ((size_t) op_ret, page->size);
    page->vector = g_memdup2 (vector, (gsize) count * sizeof *vector);
    page->count = count;
    page->iobref = iobref_ref (iobref);
    page->has_stbuf = stbuf != NULL;
    if (stbuf)
        page->stbuf = *stbuf;
}

/* What failed is asked for again by each who wants it: an error is theirs who asked. */
static void
page_come_locked (struct ra_page *page, GQueue *done)
{
    struct ra_inode *inode = page->file->inode;

    page->ready = true;
    if (page->failed) {
        ra_page_drop_locked (page);
    } else if (page->listed && page->got < page->size) {
        inode->eof = page->offset + (off_t) page->got;
        inode->eof_at = page->asked_at;
    }
    for (GSList *l = page->waiters; l; l = l->next) {
        struct ra_wait *wait = l->data;

        if (--wait->pending == 0)
            g_queue_push_tail (done, wait);
    }
    g_clear_pointer (&page->waiters, g_slist_free);
}

static void
ra_page_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct iovec *vector,
             int32_t count, struct iatt *stbuf, struct iobref *iobref, dict_t *xdata)
{
    struct ra_page *page = cookie;
    struct ra_inode *inode = page->file->inode;
    GQueue done = G_QUEUE_INIT;
    struct ra_wait *wait;

    if (op_ret < 0)
        RA_COUNT (this, failed, 1);
    page_fill (page, op_ret, vector, count, stbuf, iobref);
    pthread_mutex_lock (&inode->lock);
    page_come_locked (page, &done);
    pthread_mutex_unlock (&inode->lock);
    stack_done (page->root);
    fd_unref (page->fd);
    ra_page_unref (page);
    while ((wait = g_queue_pop_head (&done)))
        ra_wait_done (wait);
    ra_unfinished (this, -1);
}

/* --- touching ----------------------------------------------------------------------------------- */

void
ra_touch (xlator_t *this, const call_frame_t *frame, fd_t *fd, off_t offset)
{
    call_stack_t *root = stack_new_like (this, frame);

    ra_unfinished (this, 1);
    STACK_WIND_COOKIE (&root->frames[0], ra_touch_cbk, fd_ref (fd), FIRST_CHILD (this), readv, fd, 1, offset, 0, NULL);
}

static void
ra_touch_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct iovec *vector,
              int32_t count, struct iatt *stbuf, struct iobref *iobref, dict_t *xdata)
{
    stack_done (frame->root);
    fd_unref (cookie);
    ra_unfinished (this, -1);
}
