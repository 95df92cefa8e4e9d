/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How often which values came, such as nanoseconds or bytes: a log-linear histogram. Each power of
 * two has 16 buckets of equal width, so a bucket is at most a sixteenth of its values wide, and its
 * middle is off by 3.2 % at most. 0 to 15 are exact.
 *
 *   value   0 1 .. 15 | 16 17 .. 31 | 32 34 .. 62 | 64 68 .. 124 | ... | up to 2^44, five hours in
 *           nanoseconds; what is more
 *   row         0     |      1      |      2      |      3       |     | counts in the last bucket
 *
 * A row of 16 counters is made when the first value falls into it, so the memory is bounded (about
 * 5.5KB) and mostly far less: what lies within three powers of two takes three rows, 128 bytes
 * each.
 *
 * Nothing is ever reset. Who wants to know of the last minute keeps a copy and takes the difference
 * (histogram_subtract).
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

/* Zeroed it is empty. All fields are atomic. */
struct histogram {
    uint64_t *rows[HISTOGRAM_ROWS]; /* of HISTOGRAM_COLUMNS counters, or NULL; set once */
    uint64_t sum;
    uint64_t above;                 /* UINT64_MAX less the least value, so that it begins with 0 */
    uint64_t max;
};

/* Frees what it holds; it is empty then. Nobody may use it meanwhile. */
void histogram_clear (struct histogram *histogram);

/* On any thread, several at once. */
void histogram_add (struct histogram *histogram, uint64_t value);

/* Adds from to into, which nobody else writes; others may write to from: what they add meanwhile
 * may be in or not. */
void histogram_merge (struct histogram *into, const struct histogram *from);

/* Takes away what was there before; before is an earlier copy of the same. Least and largest stay
 * those of all. */
void histogram_subtract (struct histogram *histogram, const struct histogram *before);

/* How many values; their sum; the least and the largest (0 without any), which are exact. */
uint64_t histogram_count (const struct histogram *histogram);
uint64_t histogram_sum (const struct histogram *histogram);
uint64_t histogram_min (const struct histogram *histogram);
uint64_t histogram_max (const struct histogram *histogram);

/* Below which value the part q (0 to 1) of all lies: the middle of the bucket where that is, never
 * beyond the least and the largest. 0 without any. */
uint64_t histogram_quantile (const struct histogram *histogram, double q);

/* How many values are less than this one, or equal: exact for the end of a bucket (of 2^n - 1,
 * say), else what is in that bucket counts. */
uint64_t histogram_count_to (const struct histogram *histogram, uint64_t value);

/* Bucket after bucket, those without values left out: begin with *position 0. false at the end. */
struct histogram_bucket {
    uint64_t low, high; /* values from low to high, both included; the last bucket's high is
                           UINT64_MAX */
    uint64_t count;
};
bool histogram_next (const struct histogram *histogram, unsigned *position,
                     struct histogram_bucket *ret_bucket);

/* --- where one thread alone adds: no bus lock, 1 ns or 2 -------------------------------------- */

uint64_t *histogram_new_row (struct histogram *histogram, unsigned row);

/* Where a value goes: 16 * row + column. */
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

/* As histogram_add, but only one thread may add to it at a time. Others may read. */
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
