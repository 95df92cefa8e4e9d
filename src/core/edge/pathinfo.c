/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/edge/pathinfo.h"
#include "core/data/dict.h"

bool
pathinfo_is_name (const char *name)
{
    return g_strcmp0 (name, "trusted.glusterfs.pathinfo") == 0
        || g_strcmp0 (name, "glusterfs.pathinfo") == 0;
}

unsigned
pathinfo_append (const struct fan_out *fan, const char *name, GString *out)
{
    unsigned n = 0;

    for (unsigned i = 0; i < fan->n; i++) {
        const char *part = fan_text (&fan->answers[i], name);

        if (part)
            g_string_append_printf (out, " %s", part);
        n += part != NULL;
    }
    return n;
}
