/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/time/seeded-chance.h"

#include <errno.h>
#include <glib.h>

int
chance_seed_check (const char *text, char **ret_allowed)
{
    guint64 seed;

    if (g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT64, &seed, NULL))
        return 0;
    *ret_allowed = g_strdup_printf ("must be a whole number, 0 to %" G_GUINT64_FORMAT, G_MAXUINT64);
    return -EINVAL;
}

uint64_t
chance_seed (const char *text)
{
    guint64 seed;

    return text && g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT64, &seed, NULL)
             ? seed
             : random_seed ();
}
