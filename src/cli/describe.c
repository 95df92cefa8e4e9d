/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/describe.h"

#include <string.h>

/* The first ones are completed: complete.c. */
const char *const cli_kinds[] = {
    "COMMAND", "DIR", "FILE", "FLAG", "FOP", "LEVEL", "MOUNTPOINT", "OPERATION", "OPTION", "PATH",
    "PRESET", "TARGET", "TRANSLATOR", "TYPE", "VOLFILE", "VOLUME",
    /* Nothing is known of these. */
    "GLOB", "HOST", "KEY", "N", "NAME", "NUMBER", "SECONDS", "SERVER", "SIZE", "TIME", "VALUE",
    NULL,
};

/* --- words ------------------------------------------------------------------------------------ */

/* Alternatives are separated by |; brackets around them and dots behind them mean nothing here. */
static char **
describe_words (const char *text, bool (*wanted) (char first))
{
    g_auto (GStrv) parts = g_strsplit (text ? text : "", "|", -1);
    GPtrArray *words = g_ptr_array_new ();

    for (char **part = parts; *part; part++) {
        const char *begin = *part + strspn (*part, "[");
        const size_t size = strcspn (begin, "[].,:=");

        if (size && wanted (*begin))
            g_ptr_array_add (words, g_strndup (begin, size));
    }
    g_ptr_array_add (words, NULL);
    return (char **) g_ptr_array_free (words, FALSE);
}

static bool
describe_is_literal (char first)
{
    return g_ascii_islower (first) || g_ascii_isdigit (first);
}

static bool
describe_is_kind (char first)
{
    return g_ascii_isupper (first);
}

char **
cli_literal_words (const char *text)
{
    return describe_words (text, describe_is_literal);
}

char **
cli_kind_words (const char *text)
{
    return describe_words (text, describe_is_kind);
}

/* --- options ---------------------------------------------------------------------------------- */

static void
describe_option_free (void *data)
{
    struct cli_option *option = data;

    g_free (option->name);
    g_free (option->value);
    g_free (option->about);
    g_free (option);
}

GPtrArray *
cli_options_new (void)
{
    return g_ptr_array_new_with_free_func (describe_option_free);
}

void
cli_options_add (GPtrArray *options, const GOptionEntry *entries)
{
    for (; entries && entries->long_name; entries++) {
        struct cli_option *option;

        if (entries->flags & G_OPTION_FLAG_HIDDEN || !*entries->long_name)
            continue;
        option = g_new (struct cli_option, 1);
        *option = (struct cli_option){
            .name = g_strdup (entries->long_name),
            .letter = entries->short_name,
            .value = entries->arg == G_OPTION_ARG_NONE ? NULL : g_strdup (entries->arg_description),
            .value_optional = entries->flags & G_OPTION_FLAG_OPTIONAL_ARG,
            .about = g_strdup (entries->description),
        };
        g_ptr_array_add (options, option);
    }
}

/* --- arguments -------------------------------------------------------------------------------- */

static void
describe_argument_free (void *data)
{
    struct cli_argument *argument = data;

    g_free (argument->name);
    g_free (argument);
}

static bool
describe_takes_value (const GPtrArray *options, const char *word)
{
    const char *name = g_strrstr (word, "--");
    const size_t size = name ? strcspn (name, "]|=") : 0;

    for (guint i = 0; name && i < options->len; i++) {
        const struct cli_option *option = options->pdata[i];

        if (strlen (option->name) + 2 == size && strncmp (option->name, name + 2, size - 2) == 0)
            return option->value;
    }
    return false;
}

/* "[TRANSLATOR[.FOP]]" is TRANSLATOR, and "FILE|--clear" FILE. Returns NULL if there are only
 * options. */
static char *
describe_argument_name (const char *word)
{
    g_auto (GStrv) parts = g_strsplit (word, "|", -1);
    GString *name = g_string_new (NULL);

    for (char **part = parts; *part; part++) {
        const char *begin = *part + strspn (*part, "[");

        if (*begin == '-' || !*begin)
            continue;
        g_string_append_printf (name, "%s%.*s", name->len ? "|" : "",
                                (int) strcspn (begin, "[]."), begin);
    }
    return g_string_free (name, name->len == 0);
}

/* Adds the arguments of a synopsis, without the options and their values. */
static void
describe_arguments (struct cli_description *description, const char *synopsis)
{
    g_auto (GStrv) words = g_strsplit (synopsis, " ", -1);
    bool is_value = false, after_dashes = false;
    int depth = 0; /* of brackets */

    for (char **word = words; *word; word++) {
        char *name = is_value ? NULL : describe_argument_name (*word);
        const bool optional = depth > 0 || **word == '[' || strstr (*word, "|--");
        struct cli_argument *argument;

        for (const char *at = *word; *at; at++)
            depth += (*at == '[') - (*at == ']');
        after_dashes |= strcmp (*word, "--") == 0 || strcmp (*word, "[--") == 0;
        is_value = !is_value && !name && describe_takes_value (description->options, *word);
        if (!name)
            continue;
        argument = g_new (struct cli_argument, 1);
        *argument = (struct cli_argument){ name, optional, strstr (*word, "..."), after_dashes };
        g_ptr_array_add (description->arguments, argument);
    }
}

/* --- commands --------------------------------------------------------------------------------- */

static GPtrArray *describe_options; /* while a command describes itself */

static void
describe_seen (const GOptionEntry *entries)
{
    cli_options_add (describe_options, entries);
}

const struct cli_command *
cli_command_find (const char *name)
{
    for (const struct cli_command *command = cli_commands; command->name; command++)
        if (strcmp (command->name, name) == 0)
            return command;
    return NULL;
}

struct cli_description *
cli_describe (const struct cli_command *command)
{
    struct cli_description *description = g_new (struct cli_description, 1);

    *description = (struct cli_description){
        cli_options_new (), g_ptr_array_new_with_free_func (describe_argument_free)
    };
    describe_options = description->options;
    if (command) {
        char *argv[] = { (char *) command->name, NULL };

        cli_options_seen = describe_seen;
        command->run (command, 1, argv); /* it stops in cli_parse */
        cli_options_seen = NULL;
    } else if (cli_mount) {
        cli_mount->options (describe_seen);
    }
    describe_options = NULL;
    describe_arguments (description, command ? command->arguments : "MOUNTPOINT");
    return description;
}

void
cli_description_free (struct cli_description *description)
{
    g_ptr_array_unref (description->options);
    g_ptr_array_unref (description->arguments);
    g_free (description);
}
