/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Draws a graph with its counters. */
#ifndef WINDLASS_CLI_PICTURE_H
#define WINDLASS_CLI_PICTURE_H

#include "cli/numbers.h"

struct picture_head {
    const char *title;    /* the mount point, or the volfile */
    const char *subtitle; /* what the numbers are of */
};

/* The translators of a picture as SVG: these are 2 MB, which a browser shows. The time to lay it
 * out grows with the square of the number, and is seconds for these. */
#define PICTURE_MAX 5000

/* For graphviz; and as SVG, laid out here. */
void picture_dot (const struct numbers_seen *seen, const struct picture_head *head, GString *out);
void picture_svg (const struct numbers_seen *seen, const struct picture_head *head, GString *out);

#endif
