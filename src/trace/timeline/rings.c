/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/timeline/rings.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define RING_RECORDS 16384 /* 1 MiB, which a busy thread fills in about a fifth of a second */
#define THREADS_MAX 4096   /* names with a number of their own; all others share one */

struct event_ring {
    struct event_ring *next;           /* list of all rings; constant */
    struct ring_record *records; /* constant */
    uint64_t head;               /* records ever written. Atomic; written by the thread */
    uint64_t tail;               /* records ever read. Atomic; written by the reader */
    uint64_t lost;               /* atomic; written by the thread */
    bool taken;                  /* belongs to a running thread. Atomic */
};

static struct event_ring *all_rings; /* elements are only added; atomic */
static __thread struct event_ring *my_ring;
static __thread uint16_t my_name;
static pthread_key_t leave_key;
static uint64_t lost_before; /* the reader's */
sem_t rings_filling;

static struct {
    pthread_mutex_t lock; /* a leaf */
    const char *name[THREADS_MAX]; /* lock to add; atomic */
    unsigned n;                    /* lock */
} threads = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- threads --------------------------------------------------------------------------------- */

static void
thread_leaves (void *ring)
{
    my_ring = NULL;
    __atomic_store_n (&((struct event_ring *) ring)->taken, false, __ATOMIC_RELEASE);
}

static void __attribute__ ((constructor))
rings_init (void)
{
    pthread_key_create (&leave_key, thread_leaves);
    sem_init (&rings_filling, 0, 0);
}

/* Threads of one name share a number: the name is what reports show. */
static uint16_t
thread_number (const char *name)
{
    unsigned i = 0;

    pthread_mutex_lock (&threads.lock);
    while (i < threads.n && strcmp (threads.name[i], name) != 0)
        i++;
    if (i == threads.n && i < THREADS_MAX) {
        __atomic_store_n (&threads.name[i], g_strdup (name), __ATOMIC_RELEASE);
        threads.n++;
    }
    pthread_mutex_unlock (&threads.lock);
    return MIN (i, THREADS_MAX - 1);
}

const char *
ring_thread_name (uint16_t thread)
{
    const char *name = thread < THREADS_MAX
                         ? __atomic_load_n (&threads.name[thread], __ATOMIC_ACQUIRE)
                         : NULL;

    return name ? name : "?";
}

static struct event_ring *
ring_make (void)
{
    struct event_ring *ring;
    void *records = mmap (NULL, RING_RECORDS * sizeof (struct ring_record), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (records == MAP_FAILED)
        return NULL;
    ring = g_new0 (struct event_ring, 1);
    ring->records = records;
    ring->taken = true;
    ring->next = __atomic_load_n (&all_rings, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n (&all_rings, &ring->next, ring, false, __ATOMIC_RELEASE,
                                         __ATOMIC_RELAXED))
        continue;
    return ring;
}

/* Called once per thread. */
static struct event_ring * __attribute__ ((noinline))
ring_take (void)
{
    char name[16] = "?";
    struct event_ring *ring = __atomic_load_n (&all_rings, __ATOMIC_ACQUIRE);

    for (; ring; ring = ring->next) {
        bool taken = false;

        if (__atomic_compare_exchange_n (&ring->taken, &taken, true, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            break;
    }
    if (!ring && !(ring = ring_make ()))
        return NULL;
    prctl (PR_GET_NAME, name);
    my_name = thread_number (name);
    my_ring = ring;
    pthread_setspecific (leave_key, ring);
    return ring;
}

/* --- writing --------------------------------------------------------------------------------- */

void
ring_put (struct ring_record *records, unsigned n)
{
    struct event_ring *ring = my_ring ? my_ring : ring_take ();
    uint64_t head, used;

    if (!ring)
        return;
    head = ring->head;
    used = head - __atomic_load_n (&ring->tail, __ATOMIC_ACQUIRE);
    if (used + n > RING_RECORDS) {
        __atomic_store_n (&ring->lost, ring->lost + n, __ATOMIC_RELAXED);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        records[i].thread = my_name;
        ring->records[(head + i) % RING_RECORDS] = records[i];
    }
    __atomic_store_n (&ring->head, head + n, __ATOMIC_RELEASE);
    if (used < RING_RECORDS / 2 && used + n >= RING_RECORDS / 2)
        sem_post (&rings_filling);
}

/* --- reading --------------------------------------------------------------------------------- */

static uint64_t
count_lost (void)
{
    uint64_t n = 0;

    for (struct event_ring *ring = __atomic_load_n (&all_rings, __ATOMIC_ACQUIRE); ring;
         ring = ring->next)
        n += __atomic_load_n (&ring->lost, __ATOMIC_RELAXED);
    return n;
}

static void
rings_forget_all (void)
{
    for (struct event_ring *ring = __atomic_load_n (&all_rings, __ATOMIC_ACQUIRE); ring;
         ring = ring->next)
        __atomic_store_n (&ring->tail, __atomic_load_n (&ring->head, __ATOMIC_ACQUIRE),
                          __ATOMIC_RELEASE);
}

void
rings_begin (void)
{
    while (sem_trywait (&rings_filling) == 0)
        continue;
    rings_forget_all ();
    lost_before = count_lost ();
}

/* A thread may be writing its last record just now. Then the freed pages are zero except for that
 * record, which the next recording skips, since it is older. */
void
rings_end (void)
{
    rings_forget_all ();
    for (struct event_ring *ring = __atomic_load_n (&all_rings, __ATOMIC_ACQUIRE); ring;
         ring = ring->next)
        madvise (ring->records, RING_RECORDS * sizeof (struct ring_record), MADV_DONTNEED);
}

void
rings_drain (uint64_t until, void (*take) (const struct ring_record *record, void *data),
             void *data)
{
    for (struct event_ring *ring = __atomic_load_n (&all_rings, __ATOMIC_ACQUIRE); ring;
         ring = ring->next) {
        const uint64_t head = __atomic_load_n (&ring->head, __ATOMIC_ACQUIRE);
        uint64_t tail = ring->tail;

        while (tail < head && ring->records[tail % RING_RECORDS].ticks < until)
            take (&ring->records[tail++ % RING_RECORDS], data);
        __atomic_store_n (&ring->tail, tail, __ATOMIC_RELEASE);
    }
}

uint64_t
rings_lost (void)
{
    return count_lost () - lost_before;
}
