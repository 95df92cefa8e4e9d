/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text in JSON. Names of files and volumes, and arguments of programs, may contain any bytes. */
#ifndef WINDLASS_CORE_BASE_JSON_H
#define WINDLASS_CORE_BASE_JSON_H

#include <glib.h>

/* Appends text as a JSON string, with its quotes; NULL is null. A byte that is not UTF-8 becomes
 * U+FFFD, so the result is always valid. */
void json_append_string (GString *out, const char *text);

/* Appends JSON of another process, up to a NUL byte: what a terminal must not show becomes an
 * escape, as JSON has it in its strings. */
void json_append_safely (GString *out, const char *bytes, size_t size);

#endif
