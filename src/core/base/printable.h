/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text for reports. Names of files, processes and volumes may contain any bytes; reports are read
 * line by line, on a terminal. */
#ifndef WINDLASS_CORE_BASE_PRINTABLE_H
#define WINDLASS_CORE_BASE_PRINTABLE_H

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

/* Decides which bytes are escaped in everything that a terminal may show. Returns the number of
 * bytes of the first character of text, which is not empty. *ret_plain: they may be shown as they
 * are. A control character (C0, DEL, C1) may not, nor a character without a shape, such as a change
 * of the direction of writing, nor a byte that is not UTF-8. Calls nothing that a signal handler
 * must not. */
size_t printable_next (const char *text, bool *ret_plain);

/* Prints a line: the text of the format, which has no newline, with \xNN for bytes that are not
 * plain, and a newline. */
void say_line (FILE *file, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Appends text as part of a line. Bytes that are unprintable or not UTF-8 become \xNN. Text longer
 * than max bytes ends with "...". */
void line_append (GString *out, const char *text, gsize max);

#endif
