/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fetches pages, by requests of their own with the reader's identity. */
#include "read-ahead.h"

static readv_cbk ra_page_cbk;
static readv_cbk ra_touch_cbk;

size_t
ra_window (const xlator_t *this)
{
    return RA_GET (this, page_size) * (size_t) RA_GET (this, page_count);
}

/* --- which pages ------------------------------------------------------------------------------ */

/* After one read, also the first of the file, as much again is likely to be read; after several,
 * four times as much. */
static size_t
window_locked (const struct ra_file *file)
{
    const uint64_t likely = file->reads < 2 ? file->run : 4 * file->run;

    return MIN (ra_window (file->this), likely);
}

/* The offset to stop at. A known end of file counts for a while. */
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
ask_locked (struct ra_file *file, const call_frame_t *frame, fd_t *fd, off_t offset, size_t size,
            GQueue *send)
{
    struct ra_page *page = ra_page_new_locked (file, offset, size);

    if (!page)
        return false;
    RA_COUNT (file->this, fetched, 1);
    page_new_request (&page->base, file->this, frame, fd, send);
    return true;
}

/* Pages end at multiples of their size. A partial page is fetched only when less than half of the
 * window is left. */
void
ra_extend_locked (struct ra_file *file, const call_frame_t *frame, fd_t *fd, off_t end,
                  GQueue *send)
{
    const struct ra_page *last = g_queue_peek_tail (&file->pages);
    const off_t target = target_locked (file, end),
                page_size = (off_t) RA_GET (file->this, page_size);
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

/* --- sending ---------------------------------------------------------------------------------- */

void
ra_send (xlator_t *this, GQueue *send)
{
    pages_send (this, send, ra_page_cbk);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* A failed page is no error for waiting readers: each reads again and gets its own error. */
static void
ra_come_locked (struct ra_page *page, GQueue *done)
{
    struct ra_inode *inode = page->file->inode;

    if (page->base.failed) {
        ra_page_drop_locked (page);
    } else if (page->listed && page->base.got < page->base.size) {
        inode->eof = page->base.offset + (off_t) page->base.got;
        inode->eof_at = page->base.asked_at;
    }
    page_come_locked (&page->base, done);
}

static void
ra_page_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
             struct iovec *vector, int32_t count, struct iatt *stbuf, struct iobref *iobref,
             dict_t *xdata)
{
    struct ra_page *page = cookie;
    struct ra_inode *inode = page->file->inode;
    GQueue done = G_QUEUE_INIT;
    struct ra_wait *wait;

    if (op_ret < 0)
        RA_COUNT (this, failed, 1);
    page_fill (&page->base, op_ret, vector, count, iobref);
    page->has_stbuf = op_ret >= 0 && stbuf;
    if (page->has_stbuf)
        page->stbuf = *stbuf;
    pthread_mutex_lock (&inode->lock);
    ra_come_locked (page, &done);
    pthread_mutex_unlock (&inode->lock);
    page_request_done (&page->base);
    while ((wait = g_queue_pop_head (&done)))
        ra_wait_done (wait);
    page_reads_unfinished (&ra_priv (this)->reads, -1);
}

/* --- touching --------------------------------------------------------------------------------- */

void
ra_touch (xlator_t *this, const call_frame_t *frame, fd_t *fd, off_t offset)
{
    call_stack_t *root = stack_new_like (this, frame);

    page_reads_unfinished (&ra_priv (this)->reads, 1);
    STACK_WIND_COOKIE (&root->frames[0], ra_touch_cbk, fd_ref (fd), FIRST_CHILD (this), readv, fd,
                       1, offset, 0, NULL);
}

static void
ra_touch_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              struct iovec *vector, int32_t count, struct iatt *stbuf, struct iobref *iobref,
              dict_t *xdata)
{
    stack_done (frame->root);
    fd_unref (cookie);
    page_reads_unfinished (&ra_priv (this)->reads, -1);
}
