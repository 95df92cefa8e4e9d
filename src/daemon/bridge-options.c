/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/daemon.h"

#include <errno.h>
#include <string.h>

bool
option_is_flag (const struct xlator_option *row)
{
    g_autofree char *allowed = NULL;

    return row->type == OPTION_BOOL
        || (row->type == OPTION_ENUM && option_parse (row, "on", NULL, &allowed) == 0);
}

int
options_add_bridge (struct program_options *options, const char *key, const char *value,
                    char **ret_error)
{
    const struct xlator_option *row = option_find (bridge_options, key);
    g_autofree char *allowed = NULL;

    if (!row)
        return -ENOENT;
    if (!value && !option_is_flag (row)) {
        *ret_error = g_strdup_printf ("option '%s' needs a value", key);
        return -EINVAL;
    }
    if (option_parse (row, value ? value : "on", NULL, &allowed) < 0) {
        g_autofree char *purpose = option_purpose (row);

        *ret_error = g_strdup_printf ("option '%s' %s, got '%s'%s", key, allowed, value, purpose);
        return -EINVAL;
    }
    if (strcmp (row->key[0], "lru-limit") == 0)
        option_parse (row, value, &options->inode_limit, NULL);
    g_ptr_array_add (options->bridge, g_strdup_printf ("%s=%s", row->key[0], value ? value : "on"));
    return 0;
}
