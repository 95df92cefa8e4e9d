/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pages of files that a cache reads with its own requests, and reads that wait for these pages.
 *
 *   page_new_request   gives a page its own request, with the identity of a reader
 *   pages_send         winds the requests, without a lock
 *   page_fill          in the callback: stores the data
 *   page_come_locked   marks the page as ready, and finds the reads that waited only for it
 *   pages_answer       answers a read from pages that are ready
 *
 * A cache's page begins with a struct page, its waiting read with a struct page_read. A page's lock
 * belongs to the cache, for instance to its inode; it guards the data of functions named _locked.
 * struct page_reads has its own lock, a leaf.
 */
#ifndef WINDLASS_CORE_CACHE_PAGES_H
#define WINDLASS_CORE_CACHE_PAGES_H

#include "core/data/fd.h"
#include "core/edge/frame.h"

#define PAGES_OF_READ 18

struct page {
    int refs;                            /* atomic */
    void (*gone) (struct page *page);    /* frees the cache's part of the page, and the page.
                                          * Constant */
    off_t offset;                        /* constant */
    size_t size;                         /* requested size. Constant */
    int64_t asked_at;                    /* clock_roughly of the request. Constant */
    struct timespec today;               /* time of day of the request. Constant */
    uint64_t epoch;                      /* the cache's epoch at the request. Constant */
    GSList *waiters;                     /* lock: of struct page_read */
    bool ready;                          /* lock. The fields below are constant once it is set */
    bool failed;
    size_t got;                          /* bytes read; if less than size, the file ends there */
    struct iovec *vector;
    int32_t count;
    struct iobref *iobref;
    call_stack_t *root;                  /* the page's request, until its answer */
    fd_t *fd;                            /* the file that the request reads, with a reference, until
                                          * the answer */
};

/* A read that waits for pages; the frame's local. Constant while it waits, except pending. */
struct page_read {
    call_frame_t *frame;
    fd_t *fd;                            /* with a reference, as pages have */
    size_t size;
    off_t offset;
    uint32_t flags;
    unsigned pending;                    /* lock: number of pages that aren't ready */
    struct page *pages[PAGES_OF_READ];
    unsigned n;
    GList place;                         /* in page_reads.waiting */
};

/* The pages that a read needs. The references are lent. */
struct page_plan {
    struct page *pages[PAGES_OF_READ];
    unsigned n, pending;
};

/* A cache's waiting reads, and the work that must end before the cache may be freed. */
struct page_reads {
    pthread_mutex_t lock;
    pthread_cond_t idle; /* unfinished has become 0 */
    unsigned unfinished; /* lock */
    GQueue waiting;      /* lock: of struct page_read */
};

void page_reads_init (struct page_reads *reads);
void page_reads_destroy (struct page_reads *reads);
/* Adds by, 1 or -1, to unfinished. After its own -1, a caller must not use the cache any more. */
void page_reads_unfinished (struct page_reads *reads, int by);
void page_reads_drain (struct page_reads *reads); /* waits until unfinished is 0 */
/* For dumpops.waits_for: appends what the frame's read waits for, if it waits. */
void page_reads_waits_for (struct page_reads *reads, const call_frame_t *frame, GString *out);

/* Initialises a zeroed page, with two references and the time. */
void page_init (struct page *page, off_t offset, size_t size, uint64_t epoch,
                void (*gone) (struct page *page));
struct page *page_ref (struct page *page);
void page_unref (struct page *page);
void page_wipe (struct page *page); /* for gone: releases the data */

/* Gives the page a request with the identity of frame's caller, and adds it to send. */
void page_new_request (struct page *page, xlator_t *this, const call_frame_t *frame, fd_t *fd,
                       GQueue *send);
/* Winds the requests of send to the first child; cookie is the page. */
void pages_send (xlator_t *this, GQueue *send, readv_cbk *cbk);
/* Stores the answer; called in cbk. */
void page_fill (struct page *page, int32_t op_ret, const struct iovec *vector, int32_t count,
                struct iobref *iobref);
/* Marks the page as ready. Adds the reads that wait for no other page to done. */
void page_come_locked (struct page *page, GQueue *done);
/* Ends the request and drops its reference to the page. The last statement in cbk. */
void page_request_done (struct page *page);

/* Returns how many bytes of a read lie in a ready page, and in *ret_skip their start in the
 * page. */
size_t page_part (const struct page *page, size_t size, off_t offset, size_t *ret_skip);

/* Answers a read from the pages; stbuf may be NULL. */
void pages_answer (call_frame_t *frame, struct page *const *pages, unsigned n, size_t size,
                   off_t offset, struct iatt *stbuf);

/* For api->local_drop. */
void page_read_wipe (struct page_read *read);
/* Makes the read wait. Once the lock is released, the read may be done at any time. */
void page_read_wait_locked (struct page_read *read, const struct page_plan *plan,
                            struct page_reads *reads);
/* Removes the read from the list of waiting reads. */
void page_read_over (struct page_read *read, struct page_reads *reads);

#endif
