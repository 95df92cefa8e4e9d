/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text in JSON. Names of files and volumes, and arguments of programs, may contain any bytes. */
#ifndef WINDLASS_CORE_BASE_JSON_H
#define WINDLASS_CORE_BASE_JSON_H

#include <glib.h>
#include <stdbool.h>

/* Appends text as a JSON string, with its quotes; NULL is null. A byte that is not UTF-8 becomes
 * U+FFFD, so the result is always valid. */
void json_append_string (GString *out, const char *text);

/* Appends JSON of another process, up to a NUL byte: what a terminal must not show becomes an
 * escape, as JSON has it in its strings. */
void json_append_safely (GString *out, const char *bytes, size_t size);

/* Writes a value with objects and arrays in it, each member on a line of its own. Begin with
 * { .out = g_string_new (NULL) }. key: of the member of an object; NULL in an array, and for the
 * value itself. */
struct json {
    GString *out;
    unsigned depth; /* how many objects and arrays are open */
    bool comma;     /* the next member is not the first one */
};

/* bracket: '{' or '['. Each is closed by '}' or ']'. */
void json_open (struct json *json, const char *key, char bracket);
void json_close (struct json *json, char bracket);
void json_string (struct json *json, const char *key, const char *text); /* NULL is null */
void json_bool (struct json *json, const char *key, bool value);
void json_number (struct json *json, const char *key, double value); /* 15 digits */
void json_null (struct json *json, const char *key);
/* An array of strings; texts ends with NULL, or is NULL. */
void json_strings (struct json *json, const char *key, const char *const *texts);

/* --- json-read.c ------------------------------------------------------------------------------ */

/* Reads the text of an object whose values are strings, numbers, true, false and null. Returns its
 * members, key -> text, both of the table; null is a NULL. NULL: it is no such object. Strings with
 * a NUL are none, and of members with the same key the last counts. */
GHashTable *json_read_members (const char *text);

#endif
