/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Suggestions: the candidate with the fewest typing errors, if they are few. */
#include "core/base/suggest.h"

#include <string.h>

#define WORD_MAX 64 /* longer words get no suggestion: the cost is the product of two lengths */

/* The Damerau-Levenshtein distance, ignoring case: letters that are missing, extra, wrong, or
 * swapped with the next. */
static unsigned
suggest_distance (const char *a, const char *b)
{
    unsigned rows[3][WORD_MAX + 1];
    const size_t m = strlen (a), n = strlen (b);

    for (size_t j = 0; j <= n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= m; i++) {
        unsigned *const now = rows[i % 3], *const last = rows[(i + 2) % 3],
                        *const before = rows[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const char x = g_ascii_tolower (a[i - 1]), y = g_ascii_tolower (b[j - 1]);

            now[j] = MIN (MIN (last[j], now[j - 1]) + 1, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == g_ascii_tolower (b[j - 2])
                && y == g_ascii_tolower (a[i - 2]))
                now[j] = MIN (now[j], before[j - 2] + 1);
        }
    }
    return rows[m % 3][n];
}

const char *
suggest_near (const char *word, const GPtrArray *candidates)
{
    const size_t len = strlen (word);
    const char *near = NULL;
    unsigned best = MIN (len, MIN (len / 4 + 2, 5)); /* the distance must be below this */

    if (len > WORD_MAX)
        return NULL;
    for (guint i = 0; i < candidates->len; i++) {
        const char *candidate = candidates->pdata[i];
        const size_t other = strlen (candidate);
        unsigned distance;

        if (other > WORD_MAX || (other > len ? other - len : len - other) >= best)
            continue;
        distance = suggest_distance (word, candidate);
        if (distance < best) {
            best = distance;
            near = candidate;
        }
    }
    return near;
}

char *
suggest_text (const char *near)
{
    return near ? g_strdup_printf ("; did you mean '%s'?", near) : g_strdup ("");
}

char *
suggest_option (const GError *error, const GPtrArray *names)
{
    const gboolean unknown = g_error_matches (error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION);
    const char *at = unknown ? strstr (error->message, "--") : NULL;
    g_autofree char *name = at ? g_strndup (at + 2, strcspn (at + 2, "= ")) : NULL;
    const char *near = name ? suggest_near (name, names) : NULL;
    g_autofree char *whole = near ? g_strconcat ("--", near, NULL) : NULL;

    return suggest_text (whole);
}

void
suggest_add_options (GPtrArray *names, const GOptionEntry *entries)
{
    for (; entries && entries->long_name; entries++)
        if (*entries->long_name)
            g_ptr_array_add (names, (char *) entries->long_name);
}
