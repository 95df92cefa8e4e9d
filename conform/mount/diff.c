/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lines that two lists do not share, by their longest common subsequence. */
#include "conform/mount/mount.h"

/* longest[i][j]: for the lines from i and from j on. */
static unsigned *
diff_table (const GPtrArray *a, const GPtrArray *b)
{
    const size_t width = b->len + 1;
    unsigned *longest = g_new0 (unsigned, (a->len + 1) * width);

    for (guint i = a->len; i-- > 0;)
        for (guint j = b->len; j-- > 0;)
            longest[i * width + j] = strcmp (a->pdata[i], b->pdata[j]) == 0
                                       ? longest[(i + 1) * width + j + 1] + 1
                                       : MAX (longest[(i + 1) * width + j],
                                              longest[i * width + j + 1]);
    return longest;
}

void
diff_lines (const GPtrArray *a, const GPtrArray *b,
            void (*tell) (void *data, const char *in_a, const char *in_b), void *data)
{
    const size_t width = b->len + 1;
    g_autofree unsigned *longest = diff_table (a, b);
    guint i = 0, j = 0;

    while (i < a->len || j < b->len) {
        const bool both = i < a->len && j < b->len;

        if (both && strcmp (a->pdata[i], b->pdata[j]) == 0) {
            i++;
            j++;
        } else if (j == b->len
                   || (i < a->len && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
            tell (data, a->pdata[i++], NULL);
        } else {
            tell (data, NULL, b->pdata[j++]);
        }
    }
}
