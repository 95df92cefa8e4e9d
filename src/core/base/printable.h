/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text for reports. Names of files, processes and volumes may contain any bytes; reports are read
 * line by line, on a terminal. */
#ifndef WINDLASS_CORE_BASE_PRINTABLE_H
#define WINDLASS_CORE_BASE_PRINTABLE_H

#include <glib.h>

/* Appends text as part of a line. Bytes that are unprintable or not UTF-8 become \xNN. Text longer
 * than max bytes ends with "...". */
void line_append (GString *out, const char *text, gsize max);

#endif
