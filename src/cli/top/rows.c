/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rows of windlass top: what changed between two refreshes. */
#include "cli/top/top.h"

#include "trace/metrics/busy.h"

#include <string.h>

static void
rows_row_free (gpointer data)
{
    struct top_row *row = data;

    g_free (row->name);
    g_free (row->state);
    g_free (row);
}

/* The change of a translator's numbers since the previous refresh. */
struct difference {
    uint64_t count, failed, sum, own;
    struct histogram whole;
};

static uint64_t
less (uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static void
add_difference (struct difference *into, const struct seen_fop *now, const struct seen_fop *before)
{
    struct histogram whole = { 0 };

    histogram_merge (&whole, &now->whole);
    if (before)
        histogram_subtract (&whole, &before->whole);
    histogram_merge (&into->whole, &whole);
    histogram_clear (&whole);
    into->count += less (now->count, before ? before->count : 0);
    into->failed += less (now->failed, before ? before->failed : 0);
    into->sum += less (now->sum, before ? before->sum : 0);
    into->own += less (now->own_sum, before ? before->own_sum : 0);
}

/* Takes ownership of the difference. share: nanoseconds, until all are known. */
static void
add_row (GPtrArray *rows, const char *name, struct difference *difference, uint64_t share,
         double seconds)
{
    struct top_row *row;

    if (difference->count) {
        row = g_new0 (struct top_row, 1);
        row->name = top_clean (name);
        row->calls = (double) difference->count / seconds;
        row->errors = (double) difference->failed / seconds;
        row->mean = difference->sum / difference->count;
        row->p50 = histogram_quantile (&difference->whole, 0.5);
        row->p99 = histogram_quantile (&difference->whole, 0.99);
        row->share = (double) share;
        g_ptr_array_add (rows, row);
    }
    histogram_clear (&difference->whole);
    *difference = (struct difference){ 0 };
}

static const struct seen_xlator *
xlator_before (const struct top *top, guint number)
{
    return top->before && number < top->before->xlators->len ? top->before->xlators->pdata[number]
                                                             : NULL;
}

static void
add_translators (const struct top *top, GPtrArray *rows)
{
    for (guint i = 0; i < top->now->xlators->len; i++) {
        const struct seen_xlator *now = top->now->xlators->pdata[i],
                                 *before = xlator_before (top, i);
        struct difference difference = { 0 };

        for (guint j = 0; j < now->fops->len; j++) {
            const struct seen_fop *fop = now->fops->pdata[j];

            add_difference (&difference, fop, before ? numbers_seen_fop (before, fop->name) : NULL);
        }
        add_row (rows, now->name, &difference, difference.own, top_seconds (top));
    }
}

/* By the kernel's view: an operation is counted where it enters the graph, at the topmost
 * translator that was called for it. */
static void
add_fops (const struct top *top, GPtrArray *rows)
{
    g_autoptr (GHashTable) known = g_hash_table_new (g_str_hash, g_str_equal);

    for (guint i = 0; i < top->now->xlators->len; i++) {
        const struct seen_xlator *now = top->now->xlators->pdata[i],
                                 *before = xlator_before (top, i);

        for (guint j = 0; j < now->fops->len; j++) {
            const struct seen_fop *fop = now->fops->pdata[j];
            struct difference difference = { 0 };

            if (!g_hash_table_add (known, fop->name))
                continue;
            add_difference (&difference, fop, before ? numbers_seen_fop (before, fop->name) : NULL);
            add_row (rows, fop->name, &difference, difference.sum, top_seconds (top));
        }
    }
}

static const struct seen_busy *
busy_before (const GPtrArray *before, uint64_t key)
{
    for (guint i = 0; before && i < before->len; i++)
        if (((struct seen_busy *) before->pdata[i])->key == key)
            return before->pdata[i];
    return NULL;
}

/* The sum of all rows of one name. */
struct busy_sum {
    uint64_t count, failed, bytes, sum, max;
};

/* A file that is made anew repeatedly, or a program that runs repeatedly, is one row: objects that
 * are gone are told apart only by name. */
static char *
busy_name (const struct seen_busy *busy, enum top_view view)
{
    if (view == TOP_PATHS || g_str_has_suffix (busy->name, BUSY_ENDED))
        return g_strdup (busy->name);
    return g_strdup_printf ("%" G_GUINT64_FORMAT " %s", busy->key, busy->name);
}

static void
add_sum (GHashTable *sums, char *name, const struct seen_busy *now, const struct seen_busy *before)
{
    struct busy_sum *sum = g_hash_table_lookup (sums, name);

    if (!sum)
        g_hash_table_insert (sums, g_strdup (name), sum = g_new0 (struct busy_sum, 1));
    /* The inherited count is not its own. */
    sum->count += less (now->count - now->over, before->count - MIN (before->count, before->over));
    sum->failed += less (now->failed, before->failed);
    sum->bytes += less (now->bytes, before->bytes);
    sum->sum += less (now->sum, before->sum);
    sum->max = MAX (sum->max, now->max);
}

static void
add_busy_row (const struct top *top, GPtrArray *rows, const char *name, const struct busy_sum *sum)
{
    struct difference difference = { .count = sum->count, .failed = sum->failed, .sum = sum->sum };
    const guint at = rows->len;

    if (!sum->count)
        return;
    add_row (rows, name, &difference, sum->sum, top_seconds (top));
    ((struct top_row *) rows->pdata[at])->bytes = (double) sum->bytes / top_seconds (top);
    ((struct top_row *) rows->pdata[at])->p99 = sum->max;
}

static void
rows_add_busy (const struct top *top, enum top_view view, GPtrArray *rows)
{
    g_autoptr (GHashTable) sums = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
    GHashTableIter iter;
    gpointer name, sum;
    const GPtrArray *all = view == TOP_PATHS ? top->now->paths : top->now->processes;
    const GPtrArray *before_all = !top->before      ? NULL
                                : view == TOP_PATHS ? top->before->paths
                                                    : top->before->processes;

    for (guint i = 0; i < all->len; i++) {
        static const struct seen_busy none;
        const struct seen_busy *now = all->pdata[i], *before = busy_before (before_all, now->key);
        g_autofree char *own_name = busy_name (now, view);

        add_sum (sums, own_name, now, before && before->count <= now->count ? before : &none);
    }
    g_hash_table_iter_init (&iter, sums);
    while (g_hash_table_iter_next (&iter, &name, &sum))
        add_busy_row (top, rows, name, sum);
}

static double
column (const struct top_row *row, enum top_sort sort)
{
    switch (sort) {
    case SORT_ERRORS:
        return row->errors;
    case SORT_MEAN:
        return (double) row->mean;
    case SORT_P99:
        return (double) row->p99;
    case SORT_SHARE:
        return row->share;
    default:
        return row->calls;
    }
}

static gint
rows_compare (gconstpointer a, gconstpointer b, gpointer data)
{
    const struct top_row *x = *(struct top_row *const *) a, *y = *(struct top_row *const *) b;
    const enum top_sort sort = *(enum top_sort *) data;
    const double p = column (x, sort), q = column (y, sort);

    return sort == SORT_NAME || p == q ? strcmp (x->name, y->name) : p < q ? 1 : -1;
}

GPtrArray *
top_rows (const struct top *top, enum top_view view)
{
    GPtrArray *rows = g_ptr_array_new_with_free_func (rows_row_free);
    enum top_sort sort = top->sort;
    double all = 0;

    if (!top->before)
        return rows; /* a single refresh gives no rates */
    if (view == TOP_TRANSLATORS)
        add_translators (top, rows);
    else if (view == TOP_FOPS)
        add_fops (top, rows);
    else if (view == TOP_BRICKS)
        bricks_add (top, rows);
    else
        rows_add_busy (top, view, rows);
    for (guint i = 0; i < rows->len; i++)
        all += ((struct top_row *) rows->pdata[i])->share;
    for (guint i = 0; all > 0 && i < rows->len; i++)
        ((struct top_row *) rows->pdata[i])->share /= all;
    g_ptr_array_sort_with_data (rows, rows_compare, &sort);
    return rows;
}
