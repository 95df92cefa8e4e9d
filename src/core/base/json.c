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
