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

const char *
option_values_shown (const struct xlator_option *row)
{
    static const char *const synonyms[] = { "yes",   "true",    "enable", "1", "no",
                                            "false", "disable", "0",      NULL };
    const bool flag = option_is_flag (row);
    g_autoptr (GString) text = g_string_new (NULL);

    if (row->type == OPTION_BOOL)
        return "[on|off]";
    if (row->type != OPTION_ENUM)
        return "VALUE";
    for (const struct option_choice *at = row->values; at->name; at++)
        if (!flag || !g_strv_contains (synonyms, at->name))
            g_string_append_printf (text, "%s%s", text->len ? "|" : flag ? "[" : "", at->name);
    g_string_append (text, flag ? "]" : "");
    return g_intern_string (text->str);
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

char **
options_with_values (char **argv)
{
    char **words = g_strdupv (argv);

    for (char **word = words; *word && strcmp (*word, "--") != 0; word++) {
        const struct xlator_option *row = g_str_has_prefix (*word, "--")
                                            ? option_find (bridge_options, *word + 2)
                                            : NULL;
        char *whole;
        if (!row || !option_is_flag (row))
            continue;
        whole = g_strconcat (*word, "=on", NULL);
        g_free (*word);
        *word = whole;
    }
    return words;
}
