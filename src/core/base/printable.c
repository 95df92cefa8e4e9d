/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/printable.h"

void
line_append (GString *out, const char *text, gsize max)
{
    const gsize since = out->len;

    while (*text && out->len - since < max) {
        const gunichar c = g_utf8_get_char_validated (text, -1);
        const char *next = (gint32) c < 0 ? text + 1 : g_utf8_next_char (text);

        if ((gint32) c >= 0 && g_unichar_isprint (c))
            g_string_append_unichar (out, c);
        else
            for (const char *p = text; p < next; p++)
                g_string_append_printf (out, "\\x%02x", (unsigned char) *p);
        text = next;
    }
    if (*text)
        g_string_append (out, "...");
}
