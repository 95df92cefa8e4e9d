/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How windlass overlay diff prints a change. */
#ifndef WINDLASS_OVERLAY_DIFF_PRINT_H
#define WINDLASS_OVERLAY_DIFF_PRINT_H

#include "diff.h"

enum diff_style {
    DIFF_LINES,       /* "changed  /path (content, mode 0644 -> 0600) by PROGRAM, PROGRAM" */
    DIFF_NAME_STATUS, /* "M", a tab, the path: as git diff --name-status */
    DIFF_PATCH,       /* the lines as comments, and what patch -p1 takes for files of text */
    DIFF_JSON,        /* an object; the caller prints what is between and around objects */
};

#define DIFF_TEXT_MAX (1 << 20) /* bytes of a file whose lines are compared */

/* Appends the change. Returns 0, or the negative errno of a file that DIFF_PATCH can't read. */
int diff_print (const struct diff_change *change, enum diff_style style, GString *out);

#endif
