/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Differences between two texts, line by line, as diff -u prints them. */
#ifndef WINDLASS_OVERLAY_LINE_DIFF_H
#define WINDLASS_OVERLAY_LINE_DIFF_H

#include <glib.h>
#include <stdbool.h>

/* Returns whether bytes are text: without a NUL, and valid UTF-8. */
bool line_diff_is_text (const char *bytes, gsize size);

/* Appends the hunks that make `new` of `old`, with three lines of context: what patch(1) takes
 * below the two lines of names. Appends nothing if both are equal. The hunks are the shortest
 * possible, unless the texts differ in more than a thousand lines: then all between the first and
 * the last difference is one hunk. */
void line_diff_append (GString *out, const char *old, gsize old_size, const char *new,
                       gsize new_size);

#endif
