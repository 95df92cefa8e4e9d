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

/* Cut on the left: the end of a path matters more. */
void
top_append_name (GString *out, const char *name)
{
    const long length = g_utf8_strlen (name, -1);

    if (length > TOP_NAME_WIDTH)
        g_string_append_printf (out, "~%s",
                                g_utf8_offset_to_pointer (name, length - TOP_NAME_WIDTH + 1));
    else
        g_string_append_printf (out, "%s%*s", name, (int) (TOP_NAME_WIDTH - length), "");
}
