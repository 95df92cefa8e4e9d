/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A log-linear histogram: how often values occurred, such as nanoseconds or bytes. Each power of
 * two has 16 buckets of equal width. A bucket is therefore at most a sixteenth of its values wide,
 * and its middle is off by 3.2 % at most. 0 to 15 are exact.
 *
 *   value   0 1 .. 15 | 16 17 .. 31 | 32 34 .. 62 | 64 68 .. 124 | ... | up to 2^44, five hours in
 *                                                                        nanoseconds; larger values
 *   row         0     |      1      |      2      |      3       |       count in the last bucket
 *
 * A row of 16 counters is allocated when the first value falls into it. The memory is bounded
 * (about 5.5KB) and mostly far less: values within three powers of two take three rows, 128 bytes
 * each.
 *
 * Nothing is ever reset. Code that needs the values of the last minute keeps a copy and takes the
 * difference (histogram_subtract).
 *
 *   struct histogram times = { 0 };
 *   histogram_add (&times, ns);                       on any threads, while others read
 *   histogram_quantile (&copy, 0.99)
 *   histogram_clear (&times);
 */
#ifndef WINDLASS_CORE_BASE_HISTOGRAM_H
#define WINDLASS_CORE_BASE_HISTOGRAM_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define HISTOGRAM_ROWS 41   /* values below 2^44 */
#define HISTOGRAM_COLUMNS 16

/* All zeros is the empty histogram. All fields are atomic. */
struct histogram {
    uint64_t *rows[HISTOGRAM_ROWS]; /* of HISTOGRAM_COLUMNS counters, or NULL; set once */
    uint64_t sum;
    uint64_t above;                 /* UINT64_MAX minus the least value, so that it starts at 0 */
    uint64_t max;
};

/* Frees the rows and empties the histogram. No other thread may use it meanwhile. */
void histogram_clear (struct histogram *histogram);

/* Call it on any thread, on several at once. */
void histogram_add (struct histogram *histogram, uint64_t value);

/* Adds from to into. No other thread may write to into. Other threads may add to from: the result
 * may include their values or not. */
void histogram_merge (struct histogram *into, const struct histogram *from);

/* Subtracts before, an earlier copy of the same histogram. The least and the largest value remain
 * those of all values. */
void histogram_subtract (struct histogram *histogram, const struct histogram *before);

/* Return the number of values, their sum, and the least and the largest value (0 if there are
 * none). All are exact. */
uint64_t histogram_count (const struct histogram *histogram);
uint64_t histogram_sum (const struct histogram *histogram);
uint64_t histogram_min (const struct histogram *histogram);
uint64_t histogram_max (const struct histogram *histogram);

/* Returns the value below which the fraction q (0 to 1) of all values lies: the middle of its
 * bucket, limited to the least and the largest value. 0 if there are none. */
uint64_t histogram_quantile (const struct histogram *histogram, double q);

/* Returns the number of values up to and including value. The result is exact for the last value of
 * a bucket (of 2^n - 1, for instance); otherwise the whole bucket counts. */
uint64_t histogram_count_to (const struct histogram *histogram, uint64_t value);

/* Iterates over the buckets that have values: start with *position 0. Returns false at the end. */
struct histogram_bucket {
    uint64_t low, high; /* values from low to high, both included; UINT64_MAX in the last bucket */
    uint64_t count;
};
bool histogram_next (const struct histogram *histogram, unsigned *position,
                     struct histogram_bucket *ret_bucket);

/* --- for a single adding thread: no bus lock, 1 or 2 ns --------------------------------------- */

uint64_t *histogram_new_row (struct histogram *histogram, unsigned row);

/* Returns the position of a value's counter: 16 * row + column. */
static inline unsigned
histogram_index (uint64_t value)
{
    unsigned shift;

    if (value < HISTOGRAM_COLUMNS)
        return (unsigned) value;
    shift = 59 - (unsigned) __builtin_clzll (value);
    if (G_UNLIKELY (shift > HISTOGRAM_ROWS - 2))
        return HISTOGRAM_ROWS * HISTOGRAM_COLUMNS - 1;
    return shift * HISTOGRAM_COLUMNS + (unsigned) (value >> shift);
}

static inline void
histogram_bump (uint64_t *counter, uint64_t by)
{
    __atomic_store_n (counter, __atomic_load_n (counter, __ATOMIC_RELAXED) + by, __ATOMIC_RELAXED);
}

/* Like histogram_add, but only one thread at a time may add. Other threads may read. */
static inline void
histogram_add_alone (struct histogram *histogram, uint64_t value)
{
    const unsigned index = histogram_index (value);
    uint64_t *row = __atomic_load_n (&histogram->rows[index / HISTOGRAM_COLUMNS], __ATOMIC_RELAXED);

    if (G_UNLIKELY (!row))
        row = histogram_new_row (histogram, index / HISTOGRAM_COLUMNS);
    histogram_bump (&row[index % HISTOGRAM_COLUMNS], 1);
    histogram_bump (&histogram->sum, value);
    if (G_UNLIKELY (~value > __atomic_load_n (&histogram->above, __ATOMIC_RELAXED)))
        __atomic_store_n (&histogram->above, ~value, __ATOMIC_RELAXED);
    if (G_UNLIKELY (value > __atomic_load_n (&histogram->max, __ATOMIC_RELAXED)))
        __atomic_store_n (&histogram->max, value, __ATOMIC_RELAXED);
}

#endif
