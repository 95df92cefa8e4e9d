/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/json.h"

#include "core/base/printable.h"

static void
append_ascii (GString *out, char c)
{
    switch (c) {
    case '"': case '\\':
        g_string_append_c (out, '\\');
        g_string_append_c (out, c);
        break;
    case '\n':
        g_string_append (out, "\\n");
        break;
    case '\t':
        g_string_append (out, "\\t");
        break;
    default:
        if ((unsigned char) c < 0x20 || c == 0x7f)
            g_string_append_printf (out, "\\u%04x", (unsigned char) c);
        else
            g_string_append_c (out, c);
    }
}

/* Appends a character that is not ASCII, and returns the number of its bytes. */
static size_t
append_wide (GString *out, const char *text)
{
    bool plain;
    const size_t size = printable_next (text, &plain);
    const gunichar c = g_utf8_get_char_validated (text, -1);

    if (plain)
        g_string_append_len (out, text, size);
    else if ((gint32) c < 0)
        g_string_append (out, "\\ufffd");
    else if (c < 0x10000)
        g_string_append_printf (out, "\\u%04x", c);
    else
        g_string_append_printf (out, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
    return size;
}

void
json_append_string (GString *out, const char *text)
{
    if (!text) {
        g_string_append (out, "null");
        return;
    }
    g_string_append_c (out, '"');
    while (*text)
        if ((unsigned char) *text < 0x80)
            append_ascii (out, *text++);
        else
            text += append_wide (out, text);
    g_string_append_c (out, '"');
}

void
json_append_safely (GString *out, const char *bytes, size_t size)
{
    g_autofree char *copy = g_strndup (bytes, size);

    for (const char *at = copy; *at;)
        if (*at == '"' || *at == '\\' || *at == '\n')
            g_string_append_c (out, *at++);
        else if ((unsigned char) *at < 0x80)
            append_ascii (out, *at++);
        else
            at += append_wide (out, at);
}

/* --- objects and arrays ----------------------------------------------------------------------- */

static void
json_begin_line (struct json *json)
{
    if (json->depth)
        g_string_append_printf (json->out, "%s\n%*s", json->comma ? "," : "", 2 * json->depth, "");
    json->comma = true;
}

static void
json_begin (struct json *json, const char *key)
{
    json_begin_line (json);
    if (!key)
        return;
    json_append_string (json->out, key);
    g_string_append (json->out, ": ");
}

void
json_open (struct json *json, const char *key, char bracket)
{
    json_begin (json, key);
    g_string_append_c (json->out, bracket);
    json->depth++;
    json->comma = false;
}

void
json_close (struct json *json, char bracket)
{
    const bool empty = !json->comma;

    json->depth--;
    json->comma = false;
    if (!empty && json->depth)
        json_begin_line (json);
    else if (!empty)
        g_string_append_c (json->out, '\n');
    g_string_append_c (json->out, bracket);
    json->comma = true;
}

void
json_string (struct json *json, const char *key, const char *text)
{
    json_begin (json, key);
    json_append_string (json->out, text);
}

void
json_bool (struct json *json, const char *key, bool value)
{
    json_begin (json, key);
    g_string_append (json->out, value ? "true" : "false");
}

void
json_number (struct json *json, const char *key, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    json_begin (json, key);
    g_string_append (json->out, g_ascii_formatd (text, sizeof text, "%.15g", value));
}

void
json_null (struct json *json, const char *key)
{
    json_string (json, key, NULL);
}

void
json_strings (struct json *json, const char *key, const char *const *texts)
{
    json_open (json, key, '[');
    for (; texts && *texts; texts++)
        json_string (json, NULL, *texts);
    json_close (json, ']');
}
