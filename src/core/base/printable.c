/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/printable.h"

size_t
printable_next (const char *text, bool *ret_plain)
{
    gunichar c;
    bool valid;

    if ((unsigned char) *text < 0x80) {
        *ret_plain = g_ascii_isprint (*text);
        return 1;
    }
    c = g_utf8_get_char_validated (text, -1);
    valid = (gint32) c >= 0;
    *ret_plain = valid && g_unichar_isprint (c);
    return valid ? (size_t) (g_utf8_next_char (text) - text) : 1;
}

void
line_append (GString *out, const char *text, gsize max)
{
    const gsize since = out->len;

    while (*text && out->len - since < max) {
        bool plain;
        const size_t size = printable_next (text, &plain);

        if (plain)
            g_string_append_len (out, text, size);
        else
            for (size_t i = 0; i < size; i++)
                g_string_append_printf (out, "\\x%02x", (unsigned char) text[i]);
        text += size;
    }
    if (*text)
        g_string_append (out, "...");
}

void
say_line (FILE *file, const char *format, ...)
 {
     g_autoptr (GString) line = g_string_new (NULL);
    g_autofree char *text = NULL;
    va_list args;

    va_start (args, format);
    text = g_strdup_vprintf (format, args);
    va_end (args);
    line_append (line, text, G_MAXINT);
    fprintf (file, "%s\n", line->str);
}
