/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/json.h"

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

void
json_append_string (GString *out, const char *text)
{
    if (!text) {
        g_string_append (out, "null");
        return;
    }
    g_string_append_c (out, '"');
    while (*text) {
        gunichar c = g_utf8_get_char_validated (text, -1);
        /* (gunichar) -1 and -2 mean invalid UTF-8. */
        const char *next = c & 0x80000000 ? text + 1 : g_utf8_next_char (text);

        if (c & 0x80000000)
            g_string_append (out, "\\ufffd");
        else if (c < 0x80)
            append_ascii (out, (char) c);
        else
            g_string_append_len (out, text, next - text);
        text = next;
    }
    g_string_append_c (out, '"');
}
