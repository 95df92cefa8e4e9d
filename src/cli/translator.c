/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass NAME COMMAND MOUNTPOINT [ARGUMENT...]: commands of translators. NAME is the last part of
 * a translator's type, and COMMAND a row of its commands with .arguments. The module is loaded for
 * its rows alone; the daemon of the mount carries the command out.
 */
#include "cli/cli.h"
#include "control/control.h"

#include <stdio.h>
#include <string.h>

/* The command of a translator's name, as `windlass help` and completion see it. */
struct translator_command {
    struct cli_command cli;
    const struct xlator_api *api;
};

/* --- the synopsis ----------------------------------------------------------------------------- */

/* Appends the arguments of all commands: those of the only row that has some, or a word for all. */
static void
synopsis_append_arguments (GString *out, const struct xlator_command *rows)
{
    const char *only = NULL;
    bool all = true, several = false;

    for (; rows->name; rows++) {
        if (!rows->arguments)
            continue;
        several |= *rows->arguments && only && strcmp (only, rows->arguments) != 0;
        all &= *rows->arguments != '\0';
        only = *rows->arguments ? rows->arguments : only;
    }
    if (several)
        g_string_append (out, " [VALUE...]");
    else if (only && (all || *only == '['))
        g_string_append_printf (out, " %s", only);
    else if (only)
        g_string_append_printf (out, " [%s]", only);
}

/* Returns "list|restore MOUNTPOINT [PATH...]"; NULL if the translator has no such command. */
static char *
synopsis_of (const struct xlator_command *rows)
{
    g_autoptr (GString) out = g_string_new (NULL);

    for (const struct xlator_command *row = rows; row && row->name; row++)
        if (row->arguments)
            g_string_append_printf (out, "%s%s", out->len ? "|" : "", row->name);
    if (out->len == 0)
        return NULL;
    g_string_append (out, " MOUNTPOINT");
    synopsis_append_arguments (out, rows);
    return g_strdup (out->str);
}

static char *
about_of (const struct xlator_api *api)
{
    return g_strdup_printf ("give a command to a volume of type %s", api->type);
}

/* Returns a sentence about the translator, and lines for each command, for --help. */
static char *
commands_text (const char *name, const char *about, const struct xlator_command *rows)
{
    GString *out = g_string_new (about);

    for (; rows->name; rows++)
        if (rows->arguments)
            g_string_append_printf (out, "\n  windlass %s %s MOUNTPOINT%s%s\n      %s", name,
                                    rows->name, *rows->arguments ? " " : "", rows->arguments,
                                    rows->about);
    return g_string_free (out, FALSE);
}

/* --- one command ------------------------------------------------------------------------------ */

static int
cli_translator_take (const char *bytes, size_t size, void *data, char **ret_error)
{
    g_autofree char *text = g_strndup (bytes, size);

    cli_print_safely (stdout, text);
    fflush (stdout);
    return 0;
}

static void
cli_translator_progress (uint64_t done, uint64_t total, const char *unit, void *data)
{
}

/* Returns the arguments, each followed by a NUL. A PATH may begin with the mount point. */
static GBytes *
arguments_pack (const struct xlator_command *row, const char *mountpoint, char **arguments)
{
    const bool paths = strstr (row->arguments, "PATH") != NULL;
    g_autofree char *above = g_strconcat (mountpoint, g_str_has_suffix (mountpoint, "/") ? "" : "/",
                                          NULL);
    GByteArray *out = g_byte_array_new ();

    for (; *arguments; arguments++) {
        const bool is_below = paths && g_str_has_prefix (*arguments, above);
        const char *text = *arguments + (is_below ? strlen (above) : 0);

        g_byte_array_append (out, (const guint8 *) text, strlen (text) + 1);
    }
    return g_byte_array_free_to_bytes (out);
}

static int
cli_translator_call (const struct cli_command *command, const struct xlator_command *row,
                     const char *mountpoint, const char *target, GBytes *input)
{
    g_autoptr (GString) answer = g_string_new (NULL);
    g_autofree char *error = NULL;
    int r = control_call_open (mountpoint, target, row->name, row->open, input, answer, &error);

    if (r == 0 && row->job)
        r = control_call_job (mountpoint, g_strchomp (answer->str), row->open, cli_translator_take,
                              cli_translator_progress, NULL, &error);
    else if (r == 0)
        cli_print_safely (stdout, answer->str);
    if (r == 0)
        return CLI_OK;
    fprintf (stderr, "windlass %s %s: ", command->name, row->name);
    cli_print_safely (stderr, error);
    return CLI_FAILED;
}

/* Returns the row of a command after a check of the number of arguments; NULL after a message. */
static const struct xlator_command *
row_find (const struct translator_command *this, int argc, char **argv)
{
    const struct xlator_command *row = this->api->commands;

    while (row->name && (argc < 2 || !row->arguments || strcmp (row->name, argv[1]) != 0))
        row++;
    if (!row->name)
        cli_usage (&this->cli, argc < 2 ? "which command?" : "there is no command '%s'",
                   argc < 2 ? "" : argv[1]);
    else if (argc < 3)
        cli_usage (&this->cli, "which mount point?");
    else if (argc == 3 && *row->arguments && *row->arguments != '[')
        cli_usage (&this->cli, "%s needs %s", row->name, row->arguments);
    else if (argc > 3 && !strstr (row->arguments, "...")
             && argc > 3 + (*row->arguments != '\0') + (strchr (row->arguments, ' ') != NULL))
        cli_usage (&this->cli, "too many arguments for %s", row->name);
    else
        return row;
    return NULL;
}

static int
cli_translator_run (const struct cli_command *command, int argc, char **argv)
{
    const struct translator_command *this = (const struct translator_command *) command;
    g_autofree char *volume = NULL;
    g_auto (GStrv) dirs = NULL;
    const GOptionEntry more[] = {
        { "volume", 0, 0, G_OPTION_ARG_STRING, &volume,
          "the volume, if the mount has several of this type", "NAME" },
        { "xlator-dir", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &dirs,
          "look for translators in this directory first", "DIR" },
        { 0 },
    };
    const struct xlator_command *row;
    g_autoptr (GBytes) input = NULL;

    g_autofree char *text = commands_text (command->name, command->about, this->api->commands);
    const struct cli_command shown = { command->name, command->arguments, text, command->run };

    if (!cli_parse (&shown, &argc, argv, NULL, more))
        return CLI_USAGE;
    row = row_find (this, argc, argv);
    if (!row)
        return CLI_USAGE;
    input = arguments_pack (row, argv[2], argv + 3);
    return cli_translator_call (command, row, argv[2], volume ? volume : this->api->type, input);
}

/* --- all translators -------------------------------------------------------------------------- */

static void
translator_command_free (void *data)
{
    struct translator_command *this = data;

    g_free ((char *) this->cli.arguments);
    g_free ((char *) this->cli.about);
    g_free (this);
}

/* Returns the command of a translator; NULL if it has none, or can't be loaded. */
static struct translator_command *
translator_command_new (const char *type, const char *const *dirs)
{
    g_autofree char *error = NULL;
    const struct xlator_api *api = module_load (type, dirs, &error);
    char *synopsis = api ? synopsis_of (api->commands) : NULL;
    const char *name = synopsis ? strrchr (api->type, '/') + 1 : NULL;
    struct translator_command *this;

    if (!synopsis)
        return NULL;
    this = g_new (struct translator_command, 1);
    *this = (struct translator_command){ .api = api,
                                         .cli = { .name = name,
                                                  .arguments = synopsis,
                                                  .about = about_of (api),
                                                  .run = cli_translator_run } };
    return this;
}

GPtrArray *
cli_translator_commands (const char *begin, const char *const *dirs)
{
    g_autoptr (GPtrArray) types = module_types (dirs);
    GPtrArray *all = g_ptr_array_new_with_free_func (translator_command_free);

    for (guint i = 0; i < types->len; i++) {
        const char *name = strrchr (types->pdata[i], '/');
        struct translator_command *command =
            name && g_str_has_prefix (name + 1, begin) ? translator_command_new (types->pdata[i],
                                                                                 dirs)
                                                       : NULL;

        if (command)
            g_ptr_array_add (all, command);
    }
    return all;
}

/* A process needs one such command at most, which stays for as long as the process. */
const struct cli_command *
cli_translator_find (const char *name, const char *const *dirs)
{
    static GPtrArray *found;
    g_autoptr (GPtrArray) all = NULL;

    if (!g_ascii_islower (*name) || name[strspn (name, G_CSET_a_2_z G_CSET_DIGITS "-")])
        return NULL;
    all = cli_translator_commands (name, dirs);
    for (guint i = 0; i < all->len; i++) {
        const struct cli_command *command = all->pdata[i];

        if (strcmp (command->name, name) == 0) {
            g_clear_pointer (&found, g_ptr_array_unref);
            found = g_ptr_array_ref (all);
            return command;
        }
    }
    return NULL;
}
