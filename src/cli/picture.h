/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Draws a graph with its counters. */
#ifndef WINDLASS_CLI_PICTURE_H
#define WINDLASS_CLI_PICTURE_H

#include "cli/numbers.h"

/* For graphviz; and as SVG, laid out here. title: its heading. */
void picture_dot (const struct seen *seen, const char *title, GString *out);
void picture_svg (const struct seen *seen, const char *title, GString *out);

#endif
