/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pages of files that a cache asks for by requests of its own, and reads that wait for them.
 *
 *   page_new_request   a page gets a request of its own, in the name of a reader
 *   pages_send         the requests go down, without a lock
 *   page_fill          in the callback: what came
 *   page_come_locked   the page is ready: reads that waited for it alone are done
 *   pages_answer       answers a read from pages that are ready
 *
 * A cache's own page begins with a struct page, its waiting read with a struct page_read. A page's
 * lock is one of the cache, for instance of the inode; what _locked functions touch is guarded by
 * it. struct page_reads has a lock of its own, a leaf.
 */
#ifndef WINDLASS_CORE_CACHE_PAGES_H
#define WINDLASS_CORE_CACHE_PAGES_H

#include "core/data/fd.h"
#include "core/edge/frame.h"

#define PAGES_OF_READ 18

struct page {
    int refs;                            /* atomic */
    void (*gone) (struct page *page);    /* frees what the cache added, and the page. Constant,
                                            as */
    off_t offset;                        /* the next five */
    size_t size;                         /* that is asked for */
    int64_t asked_at;                    /* clock_roughly */
    struct timespec today;               /* the same, time of day */
    uint64_t epoch;                      /* the cache's then */
    GSList *waiters;                     /* lock: of struct page_read */
    bool ready;                          /* lock. What follows is constant from then on */
    bool failed;
    size_t got;                          /* bytes; less than size: the file ends there */
    struct iovec *vector;
    int32_t count;
    struct iobref *iobref;
    call_stack_t *root;                  /* its request, until that is answered, */
    fd_t *fd;                            /* and what it reads, with a reference */
};

/* A read that waits for pages; the frame's local. Constant while it waits, but for pending. */
struct page_read {
    call_frame_t *frame;
    fd_t *fd;                            /* with a reference, as are pages */
    size_t size;
    off_t offset;
    uint32_t flags;
    unsigned pending;                    /* lock: pages that aren't ready */
    struct page *pages[PAGES_OF_READ];
    unsigned n;
    GList place;                         /* in page_reads.waiting */
};

/* The pages that a read needs, lent. */
struct page_plan {
    struct page *pages[PAGES_OF_READ];
    unsigned n, pending;
};

/* Of a cache: its reads that wait, and what has to end before the cache may. */
struct page_reads {
    pthread_mutex_t lock;
    pthread_cond_t idle; /* unfinished has become 0 */
    unsigned unfinished; /* lock */
    GQueue waiting;      /* lock: of struct page_read */
};

void page_reads_init (struct page_reads *reads);
void page_reads_destroy (struct page_reads *reads);
/* One more, or one less. Nothing of the cache may be used after the last one less. */
void page_reads_unfinished (struct page_reads *reads, int by);
void page_reads_drain (struct page_reads *reads); /* waits until unfinished is 0 */
/* For dumpops.waits_for: appends what the frame's read waits for, if it does. */
void page_reads_waits_for (struct page_reads *reads, const call_frame_t *frame, GString *out);

/* Fills in a page whose memory is zeros: two references, the time. */
void page_init (struct page *page, off_t offset, size_t size, uint64_t epoch,
                void (*gone) (struct page *page));
struct page *page_ref (struct page *page);
void page_unref (struct page *page);
void page_wipe (struct page *page); /* for gone: drops what was read */

/* Its request, in the name of frame's caller; joins send. */
void page_new_request (struct page *page, xlator_t *this, const call_frame_t *frame, fd_t *fd,
                       GQueue *send);
/* Winds the requests of send to the first child; cookie is the page. */
void pages_send (xlator_t *this, GQueue *send, readv_cbk *cbk);
/* In cbk. */
void page_fill (struct page *page, int32_t op_ret, const struct iovec *vector, int32_t count,
                struct iobref *iobref);
/* The page is ready. Adds the reads that wait for nothing else to done. */
void page_come_locked (struct page *page, GQueue *done);
/* The last thing in cbk: the request is over. Gives its reference back. */
void page_request_done (struct page *page);

/* How many bytes of a read lie in a page that is ready, and where in it they begin. */
size_t page_part (const struct page *page, size_t size, off_t offset, size_t *ret_skip);

/* Unwinds a read from the pages; stbuf may be NULL. */
void pages_answer (call_frame_t *frame, struct page *const *pages, unsigned n, size_t size,
                   off_t offset, struct iatt *stbuf);

/* For api->local_drop. */
void page_read_wipe (struct page_read *read);
/* From here on the read may be done any time the lock isn't held. */
void page_read_wait_locked (struct page_read *read, const struct page_plan *plan,
                            struct page_reads *reads);
/* It no longer waits. */
void page_read_over (struct page_read *read, struct page_reads *reads);

#endif
