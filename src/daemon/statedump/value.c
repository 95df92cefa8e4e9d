/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/statedump/internal.h"

#include "core/base/printable.h"

void
dump_value (GString *out, const char *key, const char *value)
{
    g_string_append_printf (out, "%s=", key);
    line_append (out, value, 4096);
    g_string_append_c (out, '\n');
}
