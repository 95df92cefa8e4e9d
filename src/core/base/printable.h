/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of files, processes and volumes may hold any bytes; a report about them is read line by
 * line, on a terminal. */
#ifndef WINDLASS_CORE_BASE_PRINTABLE_H
#define WINDLASS_CORE_BASE_PRINTABLE_H

#include <glib.h>

/* Appends text as part of a line: what isn't printable, or no UTF-8, as \xNN. What is longer than
 * so many bytes ends with "...". */
void line_append (GString *out, const char *text, gsize max);

#endif
