/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/histogram.h"

void
histogram_clear (struct histogram *histogram)
{
    for (unsigned i = 0; i < HISTOGRAM_ROWS; i++)
        g_free (histogram->rows[i]);
    *histogram = (struct histogram){ 0 };
}

/* --- adding ----------------------------------------------------------------------------------- */

uint64_t *
histogram_new_row (struct histogram *histogram, unsigned row)
{
    uint64_t *made = g_new0 (uint64_t, HISTOGRAM_COLUMNS), *there = NULL;

    if (__atomic_compare_exchange_n (&histogram->rows[row], &there, made, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return made;
    g_free (made);
    return there;
}

static void
histogram_raise (uint64_t *field, uint64_t value)
{
    uint64_t now = __atomic_load_n (field, __ATOMIC_RELAXED);

    while (value > now
           && !__atomic_compare_exchange_n (field, &now, value, true, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
        ;
}

void
histogram_add (struct histogram *histogram, uint64_t value)
{
    const unsigned index = histogram_index (value);
    uint64_t *row = __atomic_load_n (&histogram->rows[index / HISTOGRAM_COLUMNS], __ATOMIC_ACQUIRE);

    if (!row)
        row = histogram_new_row (histogram, index / HISTOGRAM_COLUMNS);
    __atomic_fetch_add (&row[index % HISTOGRAM_COLUMNS], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add (&histogram->sum, value, __ATOMIC_RELAXED);
    histogram_raise (&histogram->above, ~value);
    histogram_raise (&histogram->max, value);
}

/* --- whole histograms ------------------------------------------------------------------------- */

static const uint64_t *
histogram_row_of (const struct histogram *histogram, unsigned row)
{
    return __atomic_load_n (&histogram->rows[row], __ATOMIC_ACQUIRE);
}

void
histogram_merge (struct histogram *into, const struct histogram *from)
{
    for (unsigned i = 0; i < HISTOGRAM_ROWS; i++) {
        const uint64_t *row = histogram_row_of (from, i);

        if (row && !into->rows[i])
            histogram_new_row (into, i);
        for (unsigned j = 0; row && j < HISTOGRAM_COLUMNS; j++)
            into->rows[i][j] += __atomic_load_n (&row[j], __ATOMIC_RELAXED);
    }
    into->sum += histogram_sum (from);
    into->above = MAX (into->above, __atomic_load_n (&from->above, __ATOMIC_RELAXED));
    into->max = MAX (into->max, __atomic_load_n (&from->max, __ATOMIC_RELAXED));
}

void
histogram_subtract (struct histogram *histogram, const struct histogram *before)
{
    for (unsigned i = 0; i < HISTOGRAM_ROWS; i++)
        for (unsigned j = 0; histogram->rows[i] && before->rows[i] && j < HISTOGRAM_COLUMNS; j++)
            histogram->rows[i][j] -= MIN (histogram->rows[i][j], before->rows[i][j]);
    histogram->sum -= MIN (histogram->sum, before->sum);
}

/* --- queries ---------------------------------------------------------------------------------- */

bool
histogram_next (const struct histogram *histogram, unsigned *position,
                struct histogram_bucket *ret_bucket)
{
    for (unsigned at = *position; at < HISTOGRAM_ROWS * HISTOGRAM_COLUMNS; at++) {
        const unsigned i = at / HISTOGRAM_COLUMNS, j = at % HISTOGRAM_COLUMNS,
                       shift = i ? i - 1 : 0;
        const uint64_t *row = histogram_row_of (histogram, i);
        const uint64_t count = row ? __atomic_load_n (&row[j], __ATOMIC_RELAXED) : 0;

        if (!count)
            continue;
        ret_bucket->low = (uint64_t) (i ? HISTOGRAM_COLUMNS + j : j) << shift;
        ret_bucket->high = ret_bucket->low + ((uint64_t) 1 << shift) - 1;
        if (at == HISTOGRAM_ROWS * HISTOGRAM_COLUMNS - 1)
            ret_bucket->high = UINT64_MAX;
        ret_bucket->count = count;
        *position = at + 1;
        return true;
    }
    return false;
}

uint64_t
histogram_count (const struct histogram *histogram)
{
    return histogram_count_to (histogram, UINT64_MAX);
}

uint64_t
histogram_count_to (const struct histogram *histogram, uint64_t value)
{
    struct histogram_bucket bucket;
    unsigned position = 0;
    uint64_t count = 0;

    while (histogram_next (histogram, &position, &bucket) && bucket.low <= value)
        count += bucket.count;
    return count;
}

uint64_t
histogram_sum (const struct histogram *histogram)
{
    return __atomic_load_n (&histogram->sum, __ATOMIC_RELAXED);
}

uint64_t
histogram_min (const struct histogram *histogram)
{
    const uint64_t above = __atomic_load_n (&histogram->above, __ATOMIC_RELAXED);

    return above ? ~above : 0;
}

uint64_t
histogram_max (const struct histogram *histogram)
{
    return __atomic_load_n (&histogram->max, __ATOMIC_RELAXED);
}

uint64_t
histogram_quantile (const struct histogram *histogram, double q)
{
    const uint64_t total = histogram_count (histogram);
    const double wanted = CLAMP (q, 0, 1) * (double) total;
    struct histogram_bucket bucket = { 0 };
    unsigned position = 0;
    uint64_t seen = 0;

    if (!total)
        return 0;
    while ((!seen || (double) seen < wanted) && histogram_next (histogram, &position, &bucket))
        seen += bucket.count;
    return CLAMP (bucket.low / 2 + bucket.high / 2 + (bucket.low & bucket.high & 1),
                  histogram_min (histogram), histogram_max (histogram));
}
