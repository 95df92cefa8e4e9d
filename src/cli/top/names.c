/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names in the tables of windlass top. */
#include "cli/top/top.h"

const char *const top_view_names[TOP_VIEWS] = { "translator", "fop", "path", "process",
                                                "brick" };
const char *const top_sort_names[TOP_SORTS] = { "calls", "errors", "mean", "p99", "share", "name" };

char *
top_clean (const char *name)
{
    g_autofree char *valid = g_utf8_make_valid (name, -1);
    GString *out = g_string_new (NULL);

    for (const char *c = valid; *c; c = g_utf8_next_char (c)) {
        const gunichar u = g_utf8_get_char (c);

        g_string_append_unichar (
            out, g_unichar_isprint (u) && g_unichar_type (u) != G_UNICODE_FORMAT ? u : '?');
    }
    return g_string_free (out, FALSE);
}

static unsigned
letter_width (const char *at)
{
    const gunichar u = g_utf8_get_char (at);

    return g_unichar_iszerowidth (u) ? 0 : g_unichar_iswide (u) ? 2 : 1;
}

unsigned
top_width (const char *text)
{
    unsigned width = 0;

    for (const char *c = text; *c; c = g_utf8_next_char (c))
        width += letter_width (c);
    return width;
}

size_t
top_fit (const char *text, unsigned width)
{
    const char *c = text;

    while (*c && letter_width (c) <= width) {
        width -= letter_width (c);
        c = g_utf8_next_char (c);
    }
    return (size_t) (c - text);
}

/* Cut on the left: the end of a path matters more. */
void
top_append_name (GString *out, const char *name, unsigned width)
{
    unsigned length = top_width (name);
    const char *rest = name;

    while (length > width - (rest > name)) {
        rest = g_utf8_next_char (rest);
        length = top_width (rest);
    }
    g_string_append_printf (out, "%s%s", rest > name ? "~" : "", rest);
    for (length += rest > name; length < width; length++)
        g_string_append_c (out, ' ');
}
