/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/metrics/numbers.h"

#include "core/edge/frame.h"
#include "core/edge/watch.h"
#include "core/time/clock.h"

#include <pthread.h>

/* Counters of one thread for one translator and operation. Only that thread writes, except to the
 * shared shard; all fields are atomic. */
struct cell {
    struct histogram whole, own, below;
    uint64_t failed;
    int errnos[NUMBERS_ERRORS];       /* each set once; 0: free */
    uint64_t errors[NUMBERS_ERRORS + 1]; /* the last one: errors that found no place */
};

/* Counters of a translator. Made when it is first measured, freed with the graph. */
struct counters {
    unsigned reasons; /* sets_lock; of the first translator: for its whole graph */
    int64_t period;   /* the same; nanoseconds measured; while it is measured, less clock_now at
                         the start */
    struct cell *cells[NUMBERS_SHARDS][FOP_MAX]; /* each set once. Atomic */
};

/* Guards which translators are measured; taken before routes_lock. */
static pthread_mutex_t sets_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- shards: a thread has its own from its first answer until it ends --- */

#define SHARED (NUMBERS_SHARDS - 1) /* for threads without a shard of their own */
#define NONE (-1)

static pthread_mutex_t shards_lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static bool shards_taken[SHARED];                               /* shards_lock */
static pthread_once_t shard_once = PTHREAD_ONCE_INIT;
static pthread_key_t shard_key; /* releases the shard when the thread ends */
static __thread int own_shard = NONE;

static void
shard_return (void *data)
{
    pthread_mutex_lock (&shards_lock);
    shards_taken[GPOINTER_TO_INT (data) - 1] = false;
    pthread_mutex_unlock (&shards_lock);
    own_shard = SHARED; /* for an answer made by a later destructor */
}

static void
shard_init (void)
{
    pthread_key_create (&shard_key, shard_return);
}

static int __attribute__ ((noinline))
shard_take (void)
{
    int shard = 0;

    pthread_once (&shard_once, shard_init);
    pthread_mutex_lock (&shards_lock);
    while (shard < SHARED && shards_taken[shard])
        shard++;
    if (shard < SHARED)
        shards_taken[shard] = true;
    pthread_mutex_unlock (&shards_lock);
    if (shard < SHARED)
        pthread_setspecific (shard_key, GINT_TO_POINTER (shard + 1));
    own_shard = shard;
    return shard;
}

static inline int
shard_of_thread (void)
{
    return G_LIKELY (own_shard != NONE) ? own_shard : shard_take ();
}

/* --- counting ------------------------------------------------------------------------------- */

static struct cell * __attribute__ ((noinline))
cell_new (struct cell **place)
{
    struct cell *made = g_new0 (struct cell, 1), *there = NULL;

    if (__atomic_compare_exchange_n (place, &there, made, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return made;
    g_free (made);
    return there;
}

/* A failed answer. This uses locked instructions: the cost is small compared to the disk access of
 * a lookup that finds no file. */
static void __attribute__ ((noinline))
count_error (struct cell *cell, int op_errno)
{
    unsigned i;

    for (i = op_errno ? 0 : NUMBERS_ERRORS; i < NUMBERS_ERRORS; i++) {
        int there = __atomic_load_n (&cell->errnos[i], __ATOMIC_RELAXED);

        if (there == op_errno
            || (there == 0
                && (__atomic_compare_exchange_n (&cell->errnos[i], &there, op_errno, false,
                                                 __ATOMIC_RELAXED, __ATOMIC_RELAXED)
                    || there == op_errno)))
            break;
    }
    __atomic_fetch_add (&cell->failed, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add (&cell->errors[i], 1, __ATOMIC_RELAXED);
}

static void
numbers_unwind (const struct watch_event *event)
{
    const int shard = shard_of_thread ();
    struct counters *counters = event->callee->numbers;
    struct cell *cell = __atomic_load_n (&counters->cells[shard][event->op], __ATOMIC_ACQUIRE);
    const uint64_t ticks = event->ticks - event->begin, below = MIN (event->below, ticks);
    const uint64_t whole = ticks_to_ns (ticks), children = below ? ticks_to_ns (below) : 0;

    if (G_UNLIKELY (!cell))
        cell = cell_new (&counters->cells[shard][event->op]);
    if (G_UNLIKELY (shard == SHARED)) {
        histogram_add (&cell->whole, whole);
        histogram_add (&cell->own, whole - children);
        if (below)
            histogram_add (&cell->below, children);
    } else {
        histogram_add_alone (&cell->whole, whole);
        histogram_add_alone (&cell->own, whole - children);
        if (below)
            histogram_add_alone (&cell->below, children);
    }
    if (G_UNLIKELY (event->op_ret < 0))
        count_error (cell, event->op_errno);
}

static const struct watcher numbers_watcher = { .name = "numbers", .unwind = numbers_unwind };

/* --- on and off ------------------------------------------------------------------------------- */

static struct counters *
counters_of (const xlator_t *xl)
{
    return __atomic_load_n (&xl->numbers, __ATOMIC_ACQUIRE);
}

void
numbers_set (GPtrArray *xlators, enum numbers_reason reason, bool on)
{
    struct counters *first;
    unsigned before;

    pthread_mutex_lock (&sets_lock);
    for (guint i = 0; i < xlators->len; i++) {
        xlator_t *xl = xlators->pdata[i];

        if (!xl->numbers)
            __atomic_store_n (&xl->numbers, g_new0 (struct counters, 1), __ATOMIC_RELEASE);
    }
    first = counters_of (xlators->pdata[0]);
    before = first->reasons;
    first->reasons = on ? before | 1u << reason : before & ~(1u << reason);
    if (!before != !first->reasons) {
        watch_set (xlators, &numbers_watcher, first->reasons != 0);
        first->period += first->reasons ? -clock_now () : clock_now ();
    }
    pthread_mutex_unlock (&sets_lock);
}

static unsigned
reasons_of (GPtrArray *xlators)
{
    const struct counters *first = counters_of (xlators->pdata[0]);
    unsigned reasons;

    pthread_mutex_lock (&sets_lock);
    reasons = first ? first->reasons : 0;
    pthread_mutex_unlock (&sets_lock);
    return reasons;
}

bool
numbers_set_for (GPtrArray *xlators, enum numbers_reason reason)
{
    return reasons_of (xlators) & 1u << reason;
}

int64_t
numbers_period (GPtrArray *xlators)
{
    const struct counters *first = counters_of (xlators->pdata[0]);
    int64_t period;

    pthread_mutex_lock (&sets_lock);
    period = first ? first->period + (first->reasons ? clock_now () : 0) : 0;
    pthread_mutex_unlock (&sets_lock);
    return period;
}

bool
numbers_on (GPtrArray *xlators)
{
    return reasons_of (xlators) != 0;
}

static void
cell_free (struct cell *cell)
{
    if (!cell)
        return;
    histogram_clear (&cell->whole);
    histogram_clear (&cell->own);
    histogram_clear (&cell->below);
    g_free (cell);
}

void
numbers_free (GPtrArray *xlators)
{
    for (guint i = 0; i < xlators->len; i++) {
        xlator_t *xl = xlators->pdata[i];
        struct counters *counters = xl->numbers;

        for (unsigned shard = 0; counters && shard < NUMBERS_SHARDS; shard++)
            for (unsigned op = 0; op < FOP_MAX; op++)
                cell_free (counters->cells[shard][op]);
        g_free (counters);
        xl->numbers = NULL;
    }
}

/* --- reading -------------------------------------------------------------------------------- */

static const struct cell *
cell_of (const struct counters *counters, unsigned shard, enum fop op)
{
    return counters ? __atomic_load_n (&counters->cells[shard][op], __ATOMIC_ACQUIRE) : NULL;
}

bool
numbers_sum (const xlator_t *xl, enum fop op, struct numbers_sum *ret_sum)
{
    *ret_sum = (struct numbers_sum){ 0 };
    for (unsigned shard = 0; shard < NUMBERS_SHARDS; shard++) {
        const struct cell *cell = cell_of (counters_of (xl), shard, op);
        uint64_t count;

        if (!cell || !(count = histogram_count (&cell->whole)))
            continue;
        ret_sum->min = ret_sum->count ? MIN (ret_sum->min, histogram_min (&cell->whole))
                                      : histogram_min (&cell->whole);
        ret_sum->max = MAX (ret_sum->max, histogram_max (&cell->whole));
        ret_sum->count += count;
        ret_sum->failed += __atomic_load_n (&cell->failed, __ATOMIC_RELAXED);
        ret_sum->sum += histogram_sum (&cell->whole);
        ret_sum->own += histogram_sum (&cell->own);
        ret_sum->below += histogram_sum (&cell->below);
    }
    return ret_sum->count > 0;
}

static void
add_error (struct fop_numbers *numbers, int op_errno, uint64_t count)
{
    unsigned i = 0;

    while (i < NUMBERS_ERRORS && numbers->errors[i].count
           && numbers->errors[i].op_errno != op_errno)
        i++;
    numbers->errors[i].op_errno = i < NUMBERS_ERRORS ? op_errno : 0;
    numbers->errors[i].count += count;
}

bool
numbers_add (const xlator_t *xl, enum fop op, struct fop_numbers *numbers)
{
    bool any = false;

    for (unsigned shard = 0; shard < NUMBERS_SHARDS; shard++) {
        const struct cell *cell = cell_of (counters_of (xl), shard, op);

        if (!cell)
            continue;
        any = true;
        histogram_merge (&numbers->whole, &cell->whole);
        histogram_merge (&numbers->own, &cell->own);
        histogram_merge (&numbers->below, &cell->below);
        numbers->failed += __atomic_load_n (&cell->failed, __ATOMIC_RELAXED);
        for (unsigned i = 0; i <= NUMBERS_ERRORS; i++) {
            const uint64_t count = __atomic_load_n (&cell->errors[i], __ATOMIC_RELAXED);

            if (count)
                add_error (numbers,
                           i < NUMBERS_ERRORS ? __atomic_load_n (&cell->errnos[i], __ATOMIC_RELAXED)
                                              : 0,
                           count);
        }
    }
    numbers->count = histogram_count (&numbers->whole);
    return any;
}

void
numbers_clear (struct fop_numbers *numbers)
{
    histogram_clear (&numbers->whole);
    histogram_clear (&numbers->own);
    histogram_clear (&numbers->below);
    *numbers = (struct fop_numbers){ 0 };
}
