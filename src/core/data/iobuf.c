/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Each thread has a small cache of buffers, so that requests of a steady size need no malloc. All
 * threads share a depot, for buffers that one thread fills and another frees, as read-ahead does.
 * Without it such buffers go from malloc and back, their pages are new each time, and a page fault
 * costs more than copying a page's contents.
 */
#include "core/data/iobuf.h"
#include "core/base/audit.h"
#include "core/data/spare-buffers.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096
#define LARGEST ((size_t) 1 << 30) /* no request needs a larger one */
#define KEEP_BY_REFERENCE (64 * 1024) /* iov_keep copies payloads below this size */

/* Sizes of buffers. The last one holds a write request of 1 MiB from the kernel with its header. */
static const size_t class_size[] = {
    4 << 10,   8 << 10,   16 << 10,  32 << 10, 64 << 10,
    128 << 10, 256 << 10, 512 << 10, 1 << 20,  (1 << 20) + (64 << 10)
};

#define CLASSES G_N_ELEMENTS (class_size)
#define UNCACHED CLASSES /* size_class of larger buffers */

static __thread struct {
    struct iobuf *free[CLASSES];
    unsigned n[CLASSES];
    struct iobref *refs[16];
    unsigned n_refs;
    bool registered;
} iobuf_cache;

#define DEPOT_MAX (8 << 20)

static struct {
    pthread_mutex_t lock;
    struct iobuf *free[CLASSES]; /* lock; also read without it to see whether the list is empty */
    size_t bytes;                /* lock; total size of the buffers in the depot */
} depot = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_key_t cache_key;

static void
iobuf_free (struct iobuf *iobuf)
{
    free (iobuf->ptr);
    g_free (iobuf);
}

static struct iobuf *
depot_take (unsigned c)
{
    struct iobuf *iobuf;

    if (!__atomic_load_n (&depot.free[c], __ATOMIC_RELAXED))
        return NULL;
    pthread_mutex_lock (&depot.lock);
    iobuf = depot.free[c];
    if (iobuf) {
        __atomic_store_n (&depot.free[c], iobuf->next, __ATOMIC_RELAXED);
        depot.bytes -= class_size[c];
    }
    pthread_mutex_unlock (&depot.lock);
    return iobuf;
}

/* Returns false if the depot is full. */
static bool
depot_give (struct iobuf *iobuf)
{
    const unsigned c = iobuf->size_class;
    bool given;

    pthread_mutex_lock (&depot.lock);
    given = depot.bytes + class_size[c] <= DEPOT_MAX;
    if (given) {
        iobuf->next = depot.free[c];
        __atomic_store_n (&depot.free[c], iobuf, __ATOMIC_RELAXED);
        depot.bytes += class_size[c];
    }
    pthread_mutex_unlock (&depot.lock);
    return given;
}

static void
cache_drop (void *unused)
{
    for (unsigned c = 0; c < CLASSES; c++) {
        while (iobuf_cache.free[c]) {
            struct iobuf *iobuf = iobuf_cache.free[c];
            iobuf_cache.free[c] = iobuf->next;
            iobuf_free (iobuf);
        }
        iobuf_cache.n[c] = 0;
    }
    while (iobuf_cache.n_refs)
        g_free (iobuf_cache.refs[--iobuf_cache.n_refs]);
}

void
iobuf_trim (void)
{
    cache_drop (NULL);
    for (unsigned c = 0; c < CLASSES; c++)
        for (struct iobuf *iobuf = depot_take (c); iobuf; iobuf = depot_take (c))
            iobuf_free (iobuf);
}

static void __attribute__ ((constructor))
cache_init (void)
{
    pthread_key_create (&cache_key, cache_drop);
}

static void
cache_register (void)
{
    if (!iobuf_cache.registered)
        pthread_setspecific (cache_key, &iobuf_cache);
    iobuf_cache.registered = true;
}

/* Returns the number of buffers to cache: at most 64 KiB of each size, but at least two. */
static unsigned
cache_limit (unsigned c)
{
    return MAX (2, (512 << 10) / class_size[c] / 8);
}

static struct iobuf *
iobuf_make (size_t size, unsigned c)
{
    struct iobuf *iobuf = g_new0 (struct iobuf, 1);

    iobuf->size_class = c;
    iobuf->size = size;
    if (posix_memalign (&iobuf->ptr, PAGE, size) != 0) {
        g_free (iobuf);
        return NULL;
    }
    return iobuf;
}

struct iobuf *
iobuf_new (size_t size)
{
    struct iobuf *iobuf;
    unsigned c = 0;

    while (c < CLASSES && class_size[c] < size)
        c++;
    if (c < CLASSES && iobuf_cache.free[c]) {
        iobuf = iobuf_cache.free[c];
        iobuf_cache.free[c] = iobuf->next;
        iobuf_cache.n[c]--;
    } else {
        if (size > LARGEST)
            return NULL;
        iobuf = c < CLASSES ? depot_take (c) : NULL;
        if (!iobuf)
            iobuf = iobuf_make (c < CLASSES ? class_size[c]
                                            : (size + PAGE - 1) & ~(size_t) (PAGE - 1),
                                c);
    }
    if (!iobuf)
        return NULL;
    iobuf->refs = 1;
    AUDIT (IOBUF, iobuf, 1);
    return iobuf;
}

struct iobuf *
iobuf_ref (struct iobuf *iobuf)
{
    AUDIT (IOBUF, iobuf, 1);
    __atomic_add_fetch (&iobuf->refs, 1, __ATOMIC_RELAXED);
    return iobuf;
}

void
iobuf_unref (struct iobuf *iobuf)
{
    if (!iobuf || AUDIT (IOBUF, iobuf, -1)
        || __atomic_sub_fetch (&iobuf->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    unsigned c = iobuf->size_class;
    if (c == UNCACHED || iobuf_cache.n[c] >= cache_limit (c)) {
        if (c == UNCACHED || !depot_give (iobuf))
            iobuf_free (iobuf);
        return;
    }
    cache_register ();
    iobuf->next = iobuf_cache.free[c];
    iobuf_cache.free[c] = iobuf;
    iobuf_cache.n[c]++;
}

struct iobref *
iobref_new (void)
{
    struct iobref *iobref = iobuf_cache.n_refs ? iobuf_cache.refs[--iobuf_cache.n_refs]
                                               : g_new (struct iobref, 1);

    iobref->refs = 1;
    iobref->used = 0;
    AUDIT (IOBREF, iobref, 1);
    return iobref;
}

struct iobref *
iobref_ref (struct iobref *iobref)
{
    if (!iobref)
        return NULL;
    AUDIT (IOBREF, iobref, 1);
    __atomic_add_fetch (&iobref->refs, 1, __ATOMIC_RELAXED);
    return iobref;
}

void
iobref_unref (struct iobref *iobref)
{
    if (!iobref || AUDIT (IOBREF, iobref, -1)
        || __atomic_sub_fetch (&iobref->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (int i = 0; i < iobref->used; i++)
        iobuf_unref (iobref->bufs[i]);
    if (iobuf_cache.n_refs == G_N_ELEMENTS (iobuf_cache.refs)) {
        g_free (iobref);
        return;
    }
    cache_register ();
    iobuf_cache.refs[iobuf_cache.n_refs++] = iobref;
}

int
iobref_add (struct iobref *iobref, struct iobuf *iobuf)
{
    if (iobref->used == IOBREF_MAX)
        return -ENOSPC;
    iobref->bufs[iobref->used++] = iobuf_ref (iobuf);
    return 0;
}

bool
iobref_writable (const struct iobref *iobref)
{
    if (!iobref || __atomic_load_n (&iobref->refs, __ATOMIC_ACQUIRE) != 1)
        return false;
    for (int i = 0; i < iobref->used; i++)
        if (__atomic_load_n (&iobref->bufs[i]->refs, __ATOMIC_ACQUIRE) != 1)
            return false;
    return iobref->used > 0;
}

size_t
iov_length (const struct iovec *vector, int count)
{
    size_t size = 0;

    for (int i = 0; i < count; i++)
        size += vector[i].iov_len;
    return size;
}

size_t
iov_unload (void *buf, size_t size, const struct iovec *vector, int count)
{
    size_t done = 0;

    for (int i = 0; i < count && done < size; i++) {
        size_t n = MIN (vector[i].iov_len, size - done);
        if (n)
            memcpy ((char *) buf + done, vector[i].iov_base, n);
        done += n;
    }
    return done;
}

int
iov_first (const struct iovec *vector, int count, size_t size, struct iovec *ret_vector)
{
    int used = 0;

    for (; used < count && size > 0; used++) {
        ret_vector[used] = (struct iovec){ vector[used].iov_base,
                                           MIN (vector[used].iov_len, size) };
        size -= ret_vector[used].iov_len;
    }
    return used;
}

/* Returns one new buffer with the bytes of the vector. */
static int
iov_copy (const struct iovec *vector, int count, struct iovec *ret_one, struct iobref **ret_iobref)
{
    size_t size = iov_length (vector, count);
    struct iobuf *iobuf = iobuf_new (size);

    if (!iobuf)
        return -ENOMEM;
    iov_unload (iobuf->ptr, size, vector, count);
    *ret_one = (struct iovec){ iobuf->ptr, size };
    *ret_iobref = iobref_new ();
    iobref_add (*ret_iobref, iobuf);
    iobuf_unref (iobuf);
    return 0;
}

int
iov_writable (const struct iovec *vector, int count, struct iobref *iobref,
              struct iovec *ret_vector, int *ret_count, struct iobref **ret_iobref)
{
    int r;

    if (iobref_writable (iobref)) {
        memcpy (ret_vector, vector, count * sizeof *vector);
        *ret_count = count;
        *ret_iobref = iobref_ref (iobref);
        return 0;
    }
    r = iov_copy (vector, count, ret_vector, ret_iobref);
    if (r == 0)
        *ret_count = 1;
    return r;
}

int
iov_keep (const struct iovec *vector, int count, struct iobref *iobref, struct iovec **ret_vector,
          int32_t *ret_count, struct iobref **ret_iobref)
{
    struct iovec one;
    int r;

    if (iobref && iov_length (vector, count) >= KEEP_BY_REFERENCE) {
        *ret_vector = g_memdup2 (vector, count * sizeof *vector);
        *ret_count = count;
        *ret_iobref = iobref_ref (iobref);
        return 0;
    }
    r = iov_copy (vector, count, &one, ret_iobref);
    if (r < 0)
        return r;
    *ret_vector = g_memdup2 (&one, sizeof one);
    *ret_count = 1;
    return 0;
}
