/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass help [TYPE]: lists the translators, or describes one of them by its rows of options. */
#include "cli/describe.h"

#include <stdio.h>
#include <string.h>

#define NAME_WIDTH 28

/* --- the list ------------------------------------------------------------------------------- */

static void
help_line (const char *name, const char *about)
{
    if (strlen (name) > NAME_WIDTH)
        printf ("  %s\n  %*s %s\n", name, NAME_WIDTH, "", about);
    else
        printf ("  %-*s %s\n", NAME_WIDTH, name, about);
}

static void
help_cli_type (const struct cli_type *type, void *data)
{
    help_line (type->type, type->about);
}

static void
help_usage (const struct cli_command *command)
{
    g_autofree char *usage = g_strconcat (command->name, " ", command->arguments, NULL);

    help_line (usage, command->about);
}

static int
help_list (const char *const *dirs)
{
    g_autoptr (GPtrArray) types = module_types (dirs), more = cli_translator_commands ("", dirs);

    printf ("Commands:\n");
    for (const struct cli_command *command = cli_commands; command->name; command++)
        help_usage (command);
    for (guint i = 0; i < more->len; i++)
        help_usage (more->pdata[i]);
    printf ("\nTranslators ('windlass help TYPE' tells more):\n");
    cli_types_foreach (help_cli_type, NULL);
    for (guint i = 0; i < types->len; i++) {
        g_autofree char *error = NULL;
        const struct xlator_api *api = module_load (types->pdata[i], dirs, &error);

        if (api)
            help_line (types->pdata[i], api->about);
        else
            fprintf (stderr, "windlass help: %s\n", error);
    }
    return CLI_OK;
}

/* --- one translator ------------------------------------------------------------------------- */

static void
help_children (const struct xlator_api *api)
{
    const int min = api->children.min, max = api->children.max;

    if (max == 0)
        printf ("Subvolumes: none\n");
    else if (max < 0)
        printf ("Subvolumes: %d or more\n", min);
    else if (min == max)
        printf ("Subvolumes: %d\n", min);
    else
        printf ("Subvolumes: %d to %d\n", min, max);
}

static void
help_types (const char *what, const char *const *types)
{
    g_autofree char *text = types && types[0] ? g_strjoinv (" or ", (char **) types) : NULL;

    if (text)
        printf ("Needs %s somewhere %s it\n", text, what);
}

static void
help_needs (const struct xlator_api *api)
{
    help_children (api);
    if (api->top_only)
        printf ("Must be on top\n");
    if (api->once)
        printf ("At most once in a graph\n");
    help_types ("above", api->above);
    help_types ("below", api->below);
    for (const struct xlator_misfit *misfit = api->not_below; misfit && misfit->type; misfit++)
        printf ("Not below %s, which %s\n", misfit->type, misfit->why);
}

static void
help_row (const struct xlator_option *row, bool online)
{
    g_autofree char *allowed = option_allowed (row);

    printf ("\n  %s", row->key[0]);
    for (int i = 1; i < OPTION_KEYS && row->key[i]; i++)
        printf (", %s", row->key[i]);
    printf ("\n      %s\n", row->help ? row->help : "");
    /* A range does not name its type; other texts do. */
    if (row->type == OPTION_BOOL || strchr ("-0123456789", *allowed))
        printf ("      %s: %s", option_type_name (row->type), allowed);
    else
        printf ("      %s", allowed);
    if (row->required)
        printf ("; must be given");
    else if (row->value)
        printf ("; default %s", *row->value ? row->value : "\"\"");
    printf ("%s%s\n", row->online && online ? "; may change while it is mounted" : "",
            row->inert ? "; as in GlusterFS, but does nothing here" : "");
}

static void
help_rows (const struct xlator_option *options, bool online)
{
    for (; options && options->key[0]; options++)
        help_row (options, online);
}

static void
help_print (const char *type, const char *about, const struct xlator_api *api,
            const struct xlator_option *options)
{
    printf ("%s: %s\n", type, about);
    if (api)
        help_needs (api);
    printf ("\nOptions:%s\n", options && options->key[0] ? "" : " none of its own");
    help_rows (options, api && api->reconfigure);
    if (api) {
        printf ("\nOptions of every translator:\n");
        help_rows (common_options, true);
    }
}

enum help_form { HELP_TEXT, HELP_MAN, HELP_JSON };

/* `windlass help top` is `windlass top --help`. */
static int
help_command (const struct cli_command *command, enum help_form form)
{
    char *argv[] = { (char *) command->name, (char *) "--help", NULL };

    if (form != HELP_JSON)
        return command->run (command, 2, argv);
    cli_json_command (command);
    return CLI_OK;
}

static int
help_type (const char *type, const char *const *dirs, enum help_form form)
{
    const struct cli_type *own = cli_type_find (type);
    g_autofree char *error = NULL;
    const struct xlator_api *api = own ? NULL : module_load (type, dirs, &error);
    const struct xlator_option *options = own ? own->options : api ? api->options : NULL;

    if (!own && !api) {
        fprintf (stderr, "windlass help: %s\n", error);
        return CLI_FAILED;
    }
    if (form == HELP_MAN)
        cli_print_man (options, api && api->reconfigure);
    else if (form == HELP_JSON)
        cli_json_type (own ? own->type : api->type, own ? own->about : api->about, api, options);
    else
        help_print (own ? own->type : api->type, own ? own->about : api->about, api, options);
    return CLI_OK;
}

/* word: "presets", or the name of one. Returns CLI_USAGE, and prints nothing, if it is neither. */
static int
help_preset (const char *word, enum help_form form)
{
    if (strcmp (word, "presets") != 0)
        return form == HELP_JSON ? cli_json_preset (word) : cli_help_preset (word);
    if (form == HELP_JSON)
        cli_json_presets ();
    else
        cli_help_presets ();
    return CLI_OK;
}

/* A preset and the commands of a translator may share a name, such as trash: then the text is about
 * both, and JSON about the commands. Returns CLI_USAGE, and prints nothing, if the word is
 * neither. */
static int
help_shared (const char *word, const char *const *dirs, enum help_form form)
{
    const struct cli_command *command = cli_translator_find (word, dirs);

    if (!command)
        return help_preset (word, form);
    if (form == HELP_TEXT && help_preset (word, form) == CLI_OK)
        puts ("");
    return help_command (command, form);
}

/* A type has a slash; a command and a preset have none. */
static int
help_about (const char *word, const char *const *dirs, enum help_form form)
{
    const struct cli_command *command = form == HELP_MAN ? NULL : cli_command_find (word);
    g_autofree char *suggestion = NULL;

    if (command)
        return help_command (command, form);
    if (strchr (word, '/'))
        return help_type (word, dirs, form);
    if (form != HELP_MAN && help_shared (word, dirs, form) == CLI_OK)
        return CLI_OK;
    suggestion = module_suggest (word, dirs);
    fprintf (stderr, "windlass help: there is no command or preset '%s', and a type is "
                     "CATEGORY/NAME%s\n",
             word, *suggestion ? suggestion
                               : "; 'windlass help' and 'windlass help presets' list them");
    return CLI_USAGE;
}

static int
help_operations (void)
{
    for (enum fop op = FOP_NONE + 1; op < FOP_MAX; op++)
        puts (fop_name (op));
    return CLI_OK;
}

/* The values of the command line. */
struct help_line {
    gboolean man, json, operations, complete;
};

static int
help_run (const struct help_line *line, int argc, char **argv, const char *const *dirs)
{
    const enum help_form form = line->json ? HELP_JSON : line->man ? HELP_MAN : HELP_TEXT;

    if (line->complete)
        return cli_complete (argv + 1, dirs);
    if (argc == 1 && line->operations)
        return help_operations ();
    if (argc == 1 && form == HELP_JSON) {
        cli_json_all (dirs);
        return CLI_OK;
    }
    if (argc == 1 && form == HELP_TEXT)
        return help_list (dirs);
    if (argc == 2 && !line->operations)
        return help_about (argv[1], dirs, form);
    fprintf (stderr,
             "windlass help: one type is wanted, got %d; usage: windlass help [[--man|--json] TYPE "
             "| --operations]\n",
             argc - 1);
    return CLI_USAGE;
}

int
cli_help (const struct cli_command *command, int argc, char **argv)
{
    struct help_line line = { 0 };
    const GOptionEntry more[] = {
        { "json", 0, 0, G_OPTION_ARG_NONE, &line.json,
          "print JSON: of everything, a type, a command or a preset", NULL },
        { "man", 0, 0, G_OPTION_ARG_NONE, &line.man,
          "print the OPTIONS of the type's manual page, in roff", NULL },
        { "operations", 0, 0, G_OPTION_ARG_NONE, &line.operations,
          "print the names of the operations, which --fop takes", NULL },
        { "complete", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &line.complete,
          "for completion: print what the last word after -- may become", NULL },
        { 0 },
    };
    struct cli_graph options = { 0 };
    int status;

    if (!cli_parse (command, &argc, argv, &options, more))
        return CLI_USAGE;
    if (argc > 1 && strcmp (argv[1], "--") == 0) {
        argv++;
        argc--;
    }
    status = help_run (&line, argc, argv, (const char *const *) options.xlator_dirs);
    cli_graph_clear (&options);
    return status;
}
