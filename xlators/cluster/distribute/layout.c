/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout.h"

#include <glib.h>
#include <string.h>

struct layout *
layout_new (unsigned n)
{
    struct layout *layout = g_malloc0 (sizeof *layout + n * sizeof layout->ranges[0]);

    layout->refs = 1;
    layout->n = n;
    return layout;
}

struct layout *
layout_ref (struct layout *layout)
{
    if (layout)
        __atomic_add_fetch (&layout->refs, 1, __ATOMIC_RELAXED);
    return layout;
}

void
layout_unref (struct layout *layout)
{
    if (layout && __atomic_sub_fetch (&layout->refs, 1, __ATOMIC_ACQ_REL) == 0)
        g_free (layout);
}

/* --- reading and writing ---------------------------------------------------------------------- */

static uint32_t
u32_at (const uint8_t *bytes)
{
    return (uint32_t) bytes[0] << 24 | (uint32_t) bytes[1] << 16 | (uint32_t) bytes[2] << 8
        | bytes[3];
}

static void
u32_put (uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t) (value >> 24);
    bytes[1] = (uint8_t) (value >> 16);
    bytes[2] = (uint8_t) (value >> 8);
    bytes[3] = (uint8_t) value;
}

void
layout_fail (struct layout *layout, unsigned i, enum range_state state)
{
    layout->ranges[i] = (struct layout_range){ .state = state };
}

void
layout_read (struct layout *layout, unsigned i, const void *value, size_t size)
{
    const uint8_t *bytes = value;
    struct layout_range *range = &layout->ranges[i];
    uint32_t kind;

    *range = (struct layout_range){ .state = value ? RANGE_UNKNOWN : RANGE_UNSET };
    if (!value || size != LAYOUT_DISK_SIZE)
        return;
    kind = u32_at (bytes + 4);
    *range = (struct layout_range){ .state = RANGE_SET,
                                    .commit = u32_at (bytes),
                                    .start = u32_at (bytes + 8),
                                    .stop = u32_at (bytes + 12) };
    if (kind > LAYOUT_BY_USER || range->start > range->stop)
        layout_fail (layout, i, RANGE_UNKNOWN);
    else if (kind == LAYOUT_BY_USER)
        layout->kind = LAYOUT_BY_USER;
}

/* Sets the commit hash of the layout to the one that all its ranges have. If the ranges have
 * different commit hashes, or if a range could not be read (RANGE_UNKNOWN), the layout gets
 * LAYOUT_UNSURE. A subvolume that is down, lacks the directory, or is new and has no range yet is
 * ignored. */
void
layout_seal (struct layout *layout)
{
    const struct layout_range *first = NULL;

    layout->commit = LAYOUT_UNSURE;
    for (unsigned i = 0; i < layout->n; i++) {
        const struct layout_range *range = &layout->ranges[i];

        if (range->state == RANGE_UNKNOWN)
            return;
        if (range->state != RANGE_SET)
            continue;
        if (first && range->commit != first->commit)
            return;
        first = range;
    }
    if (first)
        layout->commit = first->commit;
}

void
layout_write (const struct layout *layout, unsigned i, uint8_t ret_value[LAYOUT_DISK_SIZE])
{
    const struct layout_range *range = &layout->ranges[i];

    u32_put (ret_value, range->commit);
    u32_put (ret_value + 4, layout->kind);
    u32_put (ret_value + 8, range->start);
    u32_put (ret_value + 12, range->stop);
}

/* --- using a layout --------------------------------------------------------------------------- */

/* Returns whether a range has any hash. An empty range is stored as 0 to 0, as in GlusterFS. */
static bool
range_is_used (const struct layout_range *range)
{
    return range->state == RANGE_SET && range->stop != 0;
}

int
layout_search (const struct layout *layout, uint32_t hash)
{
    for (unsigned i = 0; i < layout->n; i++) {
        const struct layout_range *range = &layout->ranges[i];

        if (range_is_used (range) && range->start <= hash && hash <= range->stop)
            return (int) i;
    }
    return -1;
}

static int
range_compare (const void *a, const void *b)
{
    const struct layout_range *x = *(const struct layout_range *const *) a,
                              *y = *(const struct layout_range *const *) b;

    return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorts the ranges by their starts, and counts the holes and overlaps. In the loop, `next` is the
 * first hash above all ranges visited so far. */
static void
holes_count (const struct layout_range **used, unsigned n, struct layout_faults *faults)
{
    uint64_t next = 0;

    qsort (used, n, sizeof *used, range_compare);
    for (unsigned i = 0; i < n; i++) {
        faults->holes += used[i]->start > next;
        faults->overlaps += used[i]->start < next;
        next = MAX (next, (uint64_t) used[i]->stop + 1);
    }
    faults->holes += next <= UINT32_MAX;
}

void
layout_check (const struct layout *layout, struct layout_faults *ret_faults)
{
    g_autofree const struct layout_range **used = g_new (const struct layout_range *, layout->n);
    struct layout_faults faults = { 0 };
    unsigned n = 0;

    for (unsigned i = 0; i < layout->n; i++) {
        const struct layout_range *range = &layout->ranges[i];

        faults.missing += range->state == RANGE_MISSING;
        faults.unset += range->state == RANGE_UNSET;
        faults.down += range->state == RANGE_DOWN;
        faults.unknown += range->state == RANGE_UNKNOWN;
        if (range_is_used (range))
            used[n++] = range;
    }
    faults.used = n;
    holes_count (used, n, &faults);
    *ret_faults = faults;
}

bool
layout_is_whole (const struct layout *layout)
{
    struct layout_faults faults;

    layout_check (layout, &faults);
    return faults.holes == 0 && faults.overlaps == 0;
}


/* --- dividing the hashes ---------------------------------------------------------------------- */

static bool
range_may_be_given (const struct layout_range *range)
{
    return range->state == RANGE_UNSET || range->state == RANGE_SET;
}

/* Sets shares[i] to the weight of subvolume i if the subvolume gets a range, and to 0 if not. If no
 * subvolume has a weight above 0, all weights count as 1. Returns the sum of the shares. */
static uint64_t
shares_choose (const struct layout *layout, const uint32_t *weights, unsigned first,
               unsigned spread, uint32_t *shares)
{
    bool weighted = false;
    uint64_t total = 0;
    unsigned chosen = 0;

    for (unsigned i = 0; i < layout->n; i++)
        weighted |= range_may_be_given (&layout->ranges[i]) && weights[i] > 0;
    for (unsigned k = 0; k < layout->n; k++) {
        const unsigned i = (first + k) % layout->n;
        const uint32_t share = weighted ? weights[i] : 1;

        shares[i] = 0;
        if (!range_may_be_given (&layout->ranges[i]) || share == 0 || (spread && chosen == spread))
            continue;
        shares[i] = share;
        total += share;
        chosen++;
    }
    return total;
}

void
layout_divide (struct layout *layout, const uint32_t *weights, unsigned first, unsigned spread,
               uint32_t commit)
{
    g_autofree uint32_t *shares = g_new (uint32_t, layout->n);
    const uint64_t total = shares_choose (layout, weights, first, spread, shares);
    const double chunk = total ? (double) UINT32_MAX / (double) total : 0;
    struct layout_range *last = NULL;
    uint32_t start = 0;

    for (unsigned k = 0; k < layout->n; k++) {
        const unsigned i = (first + k) % layout->n;
        struct layout_range *range = &layout->ranges[i];
        const uint32_t size = (uint32_t) (chunk * shares[i]);

        if (!range_may_be_given (range))
            continue;
        *range = (struct layout_range){ .state = RANGE_SET, .commit = commit };
        if (size == 0)
            continue;
        range->start = start;
        range->stop = start + size - 1;
        start += size;
        last = range;
    }
    if (last)
        last->stop = UINT32_MAX;
    layout_seal (layout);
}
