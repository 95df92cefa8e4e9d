/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A graph as a picture, with what was counted of it. */
#ifndef WINDLASS_CLI_PICTURE_H
#define WINDLASS_CLI_PICTURE_H

#include "cli/numbers.h"

/* For graphviz; and one that browsers show, laid out by ourselves. title: its heading. */
void picture_dot (const struct seen *seen, const char *title, GString *out);
void picture_svg (const struct seen *seen, const char *title, GString *out);

#endif
