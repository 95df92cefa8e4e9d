/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The shortest way from one text to another: E. W. Myers, "An O(ND) Difference Algorithm and Its
 * Variations" (1986). A point (x, y) means that x lines of the old text and y of the new one are
 * done. Diagonal k has the points with x - y = k. Round d finds, for each diagonal, the farthest
 * point that d removed and added lines reach. The farthest points of all rounds are kept, and the
 * way is read from them backwards.
 */
#include "line-diff.h"

#include <string.h>

#define CONTEXT 3        /* equal lines around each hunk */
#define ROUNDS_MAX 1000  /* most removed and added lines that are looked for: 4 MB of points */

struct line {
    const char *text;
    gsize size; /* with the newline, which the last line may lack */
};

struct line_diff {
    const struct line *old, *new;
    guint n_old, n_new;
    bool *removed, *added; /* of each line of old, and of new */
};

bool
line_diff_is_text (const char *bytes, gsize size)
{
    return size == 0 || g_utf8_validate_len (bytes, size, NULL);
}

static GArray *
lines_of (const char *text, gsize size)
{
    GArray *lines = g_array_new (FALSE, FALSE, sizeof (struct line));

    while (size > 0) {
        const char *end = memchr (text, '\n', size);
        const struct line line = { text, end ? (gsize) (end + 1 - text) : size };

        g_array_append_val (lines, line);
        text += line.size;
        size -= line.size;
    }
    return lines;
}

static bool
line_same (const struct line *a, const struct line *b)
{
    return a->size == b->size && memcmp (a->text, b->text, a->size) == 0;
}

/* --- the shortest way ------------------------------------------------------------------------- */

/* A part of both texts that begins and ends with different lines. */
struct middle {
    const struct line_diff *diff;
    guint from, n_old, n_new; /* from: lines before it, equal in both texts */
    GPtrArray *rounds;        /* of int[2 d + 1]: x of the farthest point of diagonals -d to d */
};

/* Returns -1 if round d reaches no point of diagonal k. */
static int
farthest (const struct middle *middle, int d, int k)
{
    return k < -d || k > d ? -1 : ((const int *) middle->rounds->pdata[d])[k + d];
}

/* Returns where round d comes to diagonal k, by an added or by a removed line; or -1. */
static int
comes_to (const struct middle *middle, int d, int k, bool *ret_added)
{
    int by_added = farthest (middle, d - 1, k + 1);
    int by_removed = farthest (middle, d - 1, k - 1);

    if (by_added - k > (int) middle->n_new)
        by_added = -1;
    by_removed = by_removed < 0 || by_removed == (int) middle->n_old ? -1 : by_removed + 1;
    *ret_added = by_added >= by_removed;
    return MAX (by_added, by_removed);
}

static int
follow_equal (const struct middle *middle, int x, int y)
{
    const struct line_diff *diff = middle->diff;

    while (x < (int) middle->n_old && y < (int) middle->n_new
           && line_same (&diff->old[middle->from + (guint) x],
                         &diff->new[middle->from + (guint) y]))
        x++, y++;
    return x;
}

/* Returns whether round d reaches the end of both texts. */
static bool
round_run (const struct middle *middle, int d)
{
    int *points = g_new (int, 2 * d + 1);
    bool added, reached = false;

    g_ptr_array_add (middle->rounds, points);
    for (int k = -d; k <= d; k += 2) {
        int x = d == 0 ? 0 : comes_to (middle, d, k, &added);

        if (x >= 0)
            x = follow_equal (middle, x, x - k);
        points[k + d] = x;
        reached |= x == (int) middle->n_old && x - k == (int) middle->n_new;
    }
    return reached;
}

/* Marks the lines of the way that ends in round d, from the end. */
static void
way_mark (const struct middle *middle, int d)
{
    int k = (int) middle->n_old - (int) middle->n_new;

    for (; d > 0; d--) {
        bool added;
        const int x = comes_to (middle, d, k, &added);

        if (added)
            middle->diff->added[middle->from + (guint) (x - k) - 1] = true;
        else
            middle->diff->removed[middle->from + (guint) x - 1] = true;
        k += added ? 1 : -1;
    }
}

static void
middle_mark (const struct middle *middle)
{
    int d = 0;

    while (d <= ROUNDS_MAX && !round_run (middle, d))
        d++;
    if (d <= ROUNDS_MAX) {
        way_mark (middle, d);
        return;
    }
    memset (middle->diff->removed + middle->from, true, middle->n_old);
    memset (middle->diff->added + middle->from, true, middle->n_new);
}

static void
line_diff_mark (const struct line_diff *diff)
{
    struct middle middle = { .diff = diff };
    const guint both = MIN (diff->n_old, diff->n_new);
    guint tail = 0;

    while (middle.from < both && line_same (&diff->old[middle.from], &diff->new[middle.from]))
        middle.from++;
    while (tail < both - middle.from
           && line_same (&diff->old[diff->n_old - tail - 1], &diff->new[diff->n_new - tail - 1]))
        tail++;
    middle.n_old = diff->n_old - middle.from - tail;
    middle.n_new = diff->n_new - middle.from - tail;
    middle.rounds = g_ptr_array_new_with_free_func (g_free);
    middle_mark (&middle);
    g_ptr_array_unref (middle.rounds);
}

/* --- hunks ------------------------------------------------------------------------------------ */

/* Lines old[x] to old[x_end - 1] and new[y] to new[y_end - 1]. */
struct hunk {
    guint x, x_end, y, y_end;
};

static void
append_marked (GString *out, char mark, const struct line *line)
{
    g_string_append_c (out, mark);
    g_string_append_len (out, line->text, (gssize) line->size);
    if (line->text[line->size - 1] != '\n')
        g_string_append (out, "\n\\ No newline at end of file\n");
}

/* The line of a part that is empty is the one before it. */
static void
append_range (GString *out, char mark, guint from, guint n)
{
    g_string_append_printf (out, "%c%u", mark, n > 0 ? from + 1 : from);
    if (n != 1)
        g_string_append_printf (out, ",%u", n);
}

static void
hunk_append (const struct line_diff *diff, const struct hunk *hunk, GString *out)
{
    guint x = hunk->x, y = hunk->y;

    append_range (g_string_append (out, "@@ "), '-', x, hunk->x_end - x);
    append_range (g_string_append_c (out, ' '), '+', y, hunk->y_end - y);
    g_string_append (out, " @@\n");
    while (x < hunk->x_end || y < hunk->y_end) {
        if (x < hunk->x_end && diff->removed[x]) {
            append_marked (out, '-', &diff->old[x++]);
        } else if (y < hunk->y_end && diff->added[y]) {
            append_marked (out, '+', &diff->new[y++]);
        } else {
            append_marked (out, ' ', &diff->old[x++]);
            y++;
        }
    }
}

static bool
is_equal_at (const struct line_diff *diff, guint x, guint y)
{
    return x < diff->n_old && y < diff->n_new && !diff->removed[x] && !diff->added[y];
}

/* Moves a hunk's end over changed lines, and over equal ones that lie between two changes of the
 * same hunk. */
static void
hunk_extend (const struct line_diff *diff, struct hunk *hunk)
{
    guint equal = 0;

    while ((hunk->x_end < diff->n_old || hunk->y_end < diff->n_new) && equal <= 2 * CONTEXT) {
        if (is_equal_at (diff, hunk->x_end, hunk->y_end)) {
            hunk->x_end++, hunk->y_end++, equal++;
            continue;
        }
        equal = 0;
        while (hunk->x_end < diff->n_old && diff->removed[hunk->x_end])
            hunk->x_end++;
        while (hunk->y_end < diff->n_new && diff->added[hunk->y_end])
            hunk->y_end++;
    }
    if (equal > CONTEXT) {
        hunk->x_end -= equal - CONTEXT;
        hunk->y_end -= equal - CONTEXT;
    }
}

static void
hunks_append (const struct line_diff *diff, GString *out)
{
    guint x = 0, y = 0;

    while (x < diff->n_old || y < diff->n_new) {
        struct hunk hunk;
        guint before;

        if (is_equal_at (diff, x, y)) {
            x++, y++;
            continue;
        }
        before = MIN (MIN (x, y), CONTEXT);
        hunk = (struct hunk){ x - before, x, y - before, y };
        hunk_extend (diff, &hunk);
        hunk_append (diff, &hunk, out);
        x = hunk.x_end;
        y = hunk.y_end;
    }
}

void
line_diff_append (GString *out, const char *old, gsize old_size, const char *new, gsize new_size)
{
    g_autoptr (GArray) lines = lines_of (old, old_size), other = lines_of (new, new_size);
    g_autofree bool *removed = g_new0 (bool, lines->len), *added = g_new0 (bool, other->len);
    const struct line_diff diff = { (const struct line *) lines->data,
                                    (const struct line *) other->data,
                                    lines->len, other->len, removed, added };

    line_diff_mark (&diff);
    hunks_append (&diff, out);
}
