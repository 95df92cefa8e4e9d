/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text within JSON. Names of files and volumes, and arguments of programs, may hold any bytes. */
#ifndef WINDLASS_CORE_BASE_JSON_H
#define WINDLASS_CORE_BASE_JSON_H

#include <glib.h>

/* Appends text as a JSON string, with its quotes; NULL is null. A byte that is no UTF-8 becomes
 * U+FFFD, so that the whole is always valid. */
void json_append_string (GString *out, const char *text);

#endif
