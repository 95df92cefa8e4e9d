/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counters that all threads increment. Each processor has a shard of its own, so that no cache line
 * moves between processors. A thread may move between finding its processor and counting, so the
 * counters are atomic. A reader sums the shards.
 */
#include "io-stats.h"

#include <sched.h>

#define SHARDS_MAX 32

/* The least and the largest since the last dump; zero means none. */
struct extremes {
    uint64_t above; /* UINT64_MAX minus the least. Atomic */
    uint64_t max;   /* atomic */
};

struct shard {
    struct {
        uint64_t calls, errors; /* atomic */
        struct histogram times;
        struct extremes recent[2]; /* of the current interval, and of the other one */
    } calls[COUNT_MAX];
    struct {
        uint64_t bytes, sizes[SIZES]; /* atomic */
    } data[DIRECTIONS];
} __attribute__ ((aligned (64)));

struct counters {
    unsigned n;        /* number of shards; a power of two */
    unsigned interval; /* atomic: the lowest bit selects recent[] */
    struct shard *shards;
};

struct counters *
counters_new (void)
{
    struct counters *counters = g_new0 (struct counters, 1);
    void *shards;

    for (counters->n = 1; counters->n < g_get_num_processors () && counters->n < SHARDS_MAX;)
        counters->n *= 2;
    if (posix_memalign (&shards, 64, counters->n * sizeof (struct shard)) != 0)
        g_error ("no memory for %u counters", counters->n);
    counters->shards = memset (shards, 0, counters->n * sizeof (struct shard));
    return counters;
}

void
counters_free (struct counters *counters)
{
    if (!counters)
        return;
    for (unsigned i = 0; i < counters->n; i++)
        for (unsigned what = 0; what < COUNT_MAX; what++)
            histogram_clear (&counters->shards[i].calls[what].times);
    free (counters->shards);
    g_free (counters);
}

/* --- counting --------------------------------------------------------------------------------- */

static struct shard *
shard_here (const struct counters *counters)
{
    const int cpu = sched_getcpu ();

    return &counters->shards[(unsigned) MAX (cpu, 0) & (counters->n - 1)];
}

static void
counter_add (uint64_t *counter, uint64_t by)
{
    __atomic_fetch_add (counter, by, __ATOMIC_RELAXED);
}

static void
counter_raise (uint64_t *what, uint64_t value)
{
    uint64_t old = __atomic_load_n (what, __ATOMIC_RELAXED);

    while (value > old
           && !__atomic_compare_exchange_n (what, &old, value, true, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
        ;
}

void
counters_call (struct counters *counters, unsigned what, bool failed, int64_t ns)
{
    struct shard *shard = shard_here (counters);
    struct extremes *recent;

    counter_add (&shard->calls[what].calls, 1);
    if (failed)
        counter_add (&shard->calls[what].errors, 1);
    if (ns < 0)
        return;
    histogram_add (&shard->calls[what].times, ns);
    recent =
        &shard->calls[what].recent[__atomic_load_n (&counters->interval, __ATOMIC_RELAXED) & 1];
    counter_raise (&recent->above, ~(uint64_t) ns);
    counter_raise (&recent->max, ns);
}

void
counters_bytes (struct counters *counters, enum direction direction, uint64_t bytes)
{
    struct shard *shard = shard_here (counters);

    counter_add (&shard->data[direction].bytes, bytes);
    counter_add (&shard->data[direction].sizes[size_index (bytes)], 1);
}

/* --- reading ---------------------------------------------------------------------------------- */

static uint64_t
counter_load (const uint64_t *counter)
{
    return __atomic_load_n (counter, __ATOMIC_RELAXED);
}

static void
sum_calls (struct counters *counters, unsigned what, struct io_stats_numbers *numbers)
{
    struct histogram all = { 0 };

    for (unsigned i = 0; i < counters->n; i++) {
        numbers->calls[what].calls += counter_load (&counters->shards[i].calls[what].calls);
        numbers->calls[what].errors += counter_load (&counters->shards[i].calls[what].errors);
        histogram_merge (&all, &counters->shards[i].calls[what].times);
    }
    numbers->calls[what].timed = histogram_count (&all);
    numbers->calls[what].sum = histogram_sum (&all);
    numbers->calls[what].min = histogram_min (&all);
    numbers->calls[what].max = histogram_max (&all);
    numbers->calls[what].half = histogram_quantile (&all, 0.5);
    numbers->calls[what].most = histogram_quantile (&all, 0.99);
    histogram_clear (&all);
}

void
counters_sum (struct counters *counters, struct io_stats_numbers *ret_numbers)
{
    *ret_numbers = (struct io_stats_numbers){ .time = clock_now () };
    for (unsigned what = 0; what < COUNT_MAX; what++)
        sum_calls (counters, what, ret_numbers);
    for (unsigned i = 0; i < counters->n; i++) {
        for (unsigned direction = 0; direction < DIRECTIONS; direction++) {
            ret_numbers->data[direction].bytes
                += counter_load (&counters->shards[i].data[direction].bytes);
            for (unsigned size = 0; size < SIZES; size++)
                ret_numbers->data[direction].sizes[size] += counter_load (
                    &counters->shards[i].data[direction].sizes[size]);
        }
    }
}

void
counters_interval (struct counters *counters, struct io_stats_numbers *numbers)
{
    const unsigned now = __atomic_load_n (&counters->interval, __ATOMIC_RELAXED) & 1;

    for (unsigned what = 0; what < COUNT_MAX; what++) {
        uint64_t above = 0, max = 0;

        for (unsigned i = 0; i < counters->n; i++) {
            above = MAX (above, counter_load (&counters->shards[i].calls[what].recent[now].above));
            max = MAX (max, counter_load (&counters->shards[i].calls[what].recent[now].max));
        }
        numbers->calls[what].min = above ? ~above : 0;
        numbers->calls[what].max = max;
    }
}

/* The other set was cleared at the last switch. A thread that was just counting then may have used
 * it: its request shows in the interval after the next. */
void
counters_next_interval (struct counters *counters)
{
    const unsigned over = __atomic_fetch_add (&counters->interval, 1, __ATOMIC_RELAXED) & 1;

    for (unsigned i = 0; i < counters->n; i++) {
        for (unsigned what = 0; what < COUNT_MAX; what++) {
            __atomic_store_n (&counters->shards[i].calls[what].recent[over].above, 0,
                              __ATOMIC_RELAXED);
            __atomic_store_n (&counters->shards[i].calls[what].recent[over].max, 0,
                              __ATOMIC_RELAXED);
        }
    }
}
