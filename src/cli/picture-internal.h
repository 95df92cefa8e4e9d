/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by picture.c, which lays a graph out, and picture-svg.c, which draws it. */
#ifndef WINDLASS_CLI_PICTURE_INTERNAL_H
#define WINDLASS_CLI_PICTURE_INTERNAL_H

#include "cli/picture.h"

#define CHAR 7.3 /* pixels: the width of a letter */
#define LINE 16  /* and the height of a line */
#define PAD 12
#define BOX (3 * LINE + PAD + 6) /* the height of a box */
#define GAP_X 36
#define GAP_Y 56
#define NAME_MOST 40 /* characters of a name */

/* The sums of a translator over all operations. Ordinary failures, as in windlass errors, are not
 * counted: otherwise nearly all boxes would be red. */
struct total {
    uint64_t count, failed, sum, own;
};

/* The box of a translator. */
struct picture_place {
    unsigned layer;
    double x, y, width; /* the upper left corner; pixels */
    double wish;        /* the preferred position of its middle */
    double span;        /* the width of all below it, side by side */
    unsigned parents;
};

struct total picture_total (const struct seen_xlator *xl);
bool picture_is_child (const struct numbers_seen *seen, int number);

/* Texts are freed with g_free. "1234 calls, 12.3us", or "" if it was never called. */
char *picture_edge_text (const struct seen_xlator *xl);
/* "own 2.0us, 3 failed" */
char *picture_node_text (const struct seen_xlator *xl);
/* Its name, the first NAME_MOST letters. */
char *picture_name (const struct seen_xlator *xl);
double picture_text_width (const char *text);

/* Returns the places of all translators, from 0, 0 on; *ret_width and *ret_height of all. Freed
 * with g_free. */
struct picture_place *
picture_lay_out (const struct numbers_seen *seen, double *ret_width, double *ret_height);

#endif
