/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/cache/pages.h"

#include "core/data/answer-vector.h"
#include "core/time/clock.h"
#include "core/time/thread.h"

#include <errno.h>

/* --- waiting reads ---------------------------------------------------------------------------- */

void
page_reads_init (struct page_reads *reads)
{
    pthread_mutex_init (&reads->lock, NULL);
    thread_cond_init (&reads->idle);
    g_queue_init (&reads->waiting);
}

void
page_reads_destroy (struct page_reads *reads)
{
    pthread_cond_destroy (&reads->idle);
    pthread_mutex_destroy (&reads->lock);
}

void
page_reads_unfinished (struct page_reads *reads, int by)
{
    pthread_mutex_lock (&reads->lock);
    reads->unfinished += (unsigned) by;
    if (reads->unfinished == 0)
        thread_cond_broadcast (&reads->idle);
    pthread_mutex_unlock (&reads->lock);
}

void
page_reads_drain (struct page_reads *reads)
{
    pthread_mutex_lock (&reads->lock);
    while (reads->unfinished > 0)
        thread_cond_wait (&reads->idle, &reads->lock);
    pthread_mutex_unlock (&reads->lock);
}

void
page_reads_waits_for (struct page_reads *reads, const call_frame_t *frame, GString *out)
{
    pthread_mutex_lock (&reads->lock);
    for (const GList *l = reads->waiting.head; l; l = l->next) {
        const struct page_read *read = l->data;

        if (read->frame == frame)
            g_string_append_printf (out, "%u pages that were asked for, the first at offset %lld",
                                    read->n, (long long) read->pages[0]->offset);
    }
    pthread_mutex_unlock (&reads->lock);
}

void
page_read_wipe (struct page_read *read)
{
    for (unsigned i = 0; i < read->n; i++)
        page_unref (read->pages[i]);
    fd_unref (read->fd);
}

void
page_read_wait_locked (struct page_read *read, const struct page_plan *plan,
                       struct page_reads *reads)
{
    read->pending = plan->pending;
    for (unsigned i = 0; i < plan->n; i++) {
        struct page *page = plan->pages[i];

        read->pages[read->n++] = page_ref (page);
        if (!page->ready)
            page->waiters = g_slist_prepend (page->waiters, read);
    }
    read->place.data = read;
    pthread_mutex_lock (&reads->lock);
    g_queue_push_tail_link (&reads->waiting, &read->place);
    pthread_mutex_unlock (&reads->lock);
}

void
page_read_over (struct page_read *read, struct page_reads *reads)
{
    pthread_mutex_lock (&reads->lock);
    g_queue_unlink (&reads->waiting, &read->place);
    pthread_mutex_unlock (&reads->lock);
}

/* --- pages ------------------------------------------------------------------------------------ */

void
page_init (struct page *page, off_t offset, size_t size, uint64_t epoch,
           void (*gone) (struct page *page))
{
    page->refs = 2;
    page->gone = gone;
    page->offset = offset;
    page->size = size;
    page->asked_at = clock_roughly ();
    page->today = clock_today ();
    page->epoch = epoch;
}

struct page *
page_ref (struct page *page)
{
    __atomic_add_fetch (&page->refs, 1, __ATOMIC_RELAXED);
    return page;
}

void
page_unref (struct page *page)
{
    if (__atomic_sub_fetch (&page->refs, 1, __ATOMIC_ACQ_REL) == 0)
        page->gone (page);
}

void
page_wipe (struct page *page)
{
    g_free (page->vector);
    iobref_unref (page->iobref);
}

/* --- requests of pages ------------------------------------------------------------------------ */

void
page_new_request (struct page *page, xlator_t *this, const call_frame_t *frame, fd_t *fd,
                  GQueue *send)
{
    page->fd = fd_ref (fd);
    page->root = stack_new_like (this, frame);
    g_queue_push_tail (send, page);
}

void
pages_send (xlator_t *this, GQueue *send, readv_cbk *cbk)
{
    struct page *page;

    while ((page = g_queue_pop_head (send))) {
        stack_taken (page->root);
        STACK_WIND_COOKIE (&page->root->frames[0], cbk, page, FIRST_CHILD (this), readv, page->fd,
                           page->size, page->offset, 0, NULL);
    }
}

void
page_fill (struct page *page, int32_t op_ret, const struct iovec *vector, int32_t count,
           struct iobref *iobref)
{
    page->failed = op_ret < 0;
    if (page->failed)
        return;
    page->got = MIN ((size_t) op_ret, page->size);
    page->vector = g_memdup2 (vector, (gsize) MAX (count, 1) * sizeof *vector);
    page->count = count;
    page->iobref = iobref_ref (iobref);
}

void
page_come_locked (struct page *page, GQueue *done)
{
    page->ready = true;
    for (GSList *l = page->waiters; l; l = l->next) {
        struct page_read *read = l->data;

        if (--read->pending == 0)
            g_queue_push_tail (done, read);
    }
    g_clear_pointer (&page->waiters, g_slist_free);
}

void
page_request_done (struct page *page)
{
    stack_done (page->root);
    fd_unref (page->fd);
    page_unref (page);
}

/* --- answers ---------------------------------------------------------------------------------- */

size_t
page_part (const struct page *page, size_t size, off_t offset, size_t *ret_skip)
{
    const off_t from = MAX (page->offset, offset),
                to = MIN (page->offset + (off_t) page->got, offset + (off_t) size);

    *ret_skip = (size_t) (from - page->offset);
    return to > from ? (size_t) (to - from) : 0;
}

void
pages_answer (call_frame_t *frame, struct page *const *pages, unsigned n, size_t size,
              off_t offset, struct iatt *stbuf)
{
    struct pieces pieces;

    pieces_begin (&pieces, size);
    for (unsigned i = 0; i < n; i++) {
        size_t skip;
        const size_t part = page_part (pages[i], size, offset, &skip);

        pieces_add (&pieces, pages[i]->vector, pages[i]->count, pages[i]->iobref, skip, part);
    }
    if (pieces.count == 0)
        pieces.vector[pieces.count++] = (struct iovec){ NULL, 0 };
    if (pieces.failed)
        STACK_UNWIND (readv, frame, -1, ENOMEM, NULL, 0, NULL, NULL, NULL);
    else
        STACK_UNWIND (readv, frame, (int32_t) pieces.size, 0, pieces.vector, pieces.count, stbuf,
                      pieces.iobref, NULL);
    pieces_end (&pieces);
}
