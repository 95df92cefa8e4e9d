/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass NAME COMMAND MOUNTPOINT [ARGUMENT...]: commands of translators. NAME is the last part of
 * a translator's type, and COMMAND a row of its commands with .arguments. The module is loaded for
 * its rows alone; the daemon of the mount carries the command out.
 */
#include "cli/cli.h"
#include "control/control.h"
#include "core/base/json.h"
#include "core/base/name.h"
#include "core/base/printable.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The command of a translator's name, as `windlass help` and completion see it. */
struct translator_command {
    struct cli_command cli;
    const struct xlator_api *api;
};

/* --- the synopsis ----------------------------------------------------------------------------- */

/* Returns whether two commands take the same arguments, if they may be left out or not. */
static bool
arguments_are_alike (const char *a, const char *b)
{
    const size_t of_a = strcspn (a += *a == '[', "]"), of_b = strcspn (b += *b == '[', "]");

    return of_a == of_b && strncmp (a, b, of_a) == 0;
}

/* Appends the arguments of all commands: those that all rows with some have, or a word for all. */
static void
synopsis_append_arguments (GString *out, const struct xlator_command *rows)
{
    const char *only = NULL;
    bool all = true, several = false;

    for (; rows->name; rows++) {
        if (!rows->arguments)
            continue;
        several |= *rows->arguments && only && !arguments_are_alike (only, rows->arguments);
        all &= *rows->arguments != '\0' && *rows->arguments != '[';
        if (*rows->arguments && !(only && *only == '['))
            only = rows->arguments;
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

/* --- options ---------------------------------------------------------------------------------- */

/* An option of any of the commands. */
struct given_option {
    const char *name;
    gboolean set; /* without a value */
    char *value;  /* g_free it */
};

static struct given_option *
given_find (const GPtrArray *given, const char *name)
{
    for (guint i = 0; i < given->len; i++) {
        struct given_option *one = given->pdata[i];

        if (strcmp (one->name, name) == 0)
            return one;
    }
    return NULL;
}

/* Returns whether an option without a value was given. */
static bool
given_is_set (const GPtrArray *given, const char *name)
{
    const struct given_option *one = given_find (given, name);

    return one && one->set;
}

static void
given_option_free (gpointer data)
{
    struct given_option *one = data;

    g_free (one->value);
    g_free (one);
}

static void
given_add (GPtrArray *given, GArray *entries, const struct xlator_command_option *option)
{
    struct given_option *one = g_new0 (struct given_option, 1);
    const GOptionEntry entry = {
        option->name,
        0,
        0,
        option->value ? G_OPTION_ARG_STRING : G_OPTION_ARG_NONE,
        option->value ? (gpointer) &one->value : (gpointer) &one->set,
        option->about,
        option->value,
    };

    one->name = option->name;
    g_ptr_array_add (given, one);
    g_array_append_val (entries, entry);
}

/* Adds the options of all commands to glib's rows. Returns where their values will be. */
static GPtrArray *
given_new (const struct xlator_command *rows, GArray *entries)
{
    GPtrArray *given = g_ptr_array_new_with_free_func (given_option_free);

    for (; rows->name; rows++)
        for (const struct xlator_command_option *option = rows->options; option && option->name;
             option++)
            if (!given_find (given, option->name))
                given_add (given, entries, option);
    return given;
}

static bool
row_has_option (const struct xlator_command *row, const char *name)
{
    const struct xlator_command_option *option = row->options;

    while (option && option->name && strcmp (option->name, name) != 0)
        option++;
    return option && option->name;
}

/* Appends the options that were given, and the word after them. Returns false after a message. */
static bool
given_pack (const struct cli_command *command, const struct xlator_command *row,
            const GPtrArray *given, GByteArray *out)
{
    for (guint i = 0; i < given->len; i++) {
        const struct given_option *one = given->pdata[i];
        g_autofree char *word = one->value ? g_strdup_printf ("--%s=%s", one->name, one->value)
                                           : g_strdup_printf ("--%s", one->name);

        if (!one->set && !one->value)
            continue;
        if (!row_has_option (row, one->name)) {
            cli_usage (command, "--%s is not for %s", one->name, row->name);
            return false;
        }
        g_byte_array_append (out, (const guint8 *) word, strlen (word) + 1);
    }
    if (row->options)
        g_byte_array_append (out, (const guint8 *) "--", sizeof "--");
    return true;
}

/* --- one command ------------------------------------------------------------------------------ */

/* A job whose answer is taken. */
struct answering {
    bool json;      /* it is JSON: what a terminal must not show is escaped as there */
    bool has_shown; /* a line with the progress is on the terminal */
};

static void
progress_wipe (struct answering *answering)
{
    if (answering->has_shown)
        fputs ("\r\033[K", stderr);
    answering->has_shown = false;
}

static int
cli_translator_take (const char *bytes, size_t size, void *data, char **ret_error)
{
    g_autofree char *text = g_strndup (bytes, size);
    struct answering *answering = data;

    progress_wipe (answering);
    if (answering->json) {
        g_autoptr (GString) safe = g_string_new (NULL);

        json_append_safely (safe, bytes, size);
        fputs (safe->str, stdout);
    } else {
        cli_print_safely (stdout, text);
    }
    fflush (stdout);
    return 0;
}

static void
cli_translator_progress (uint64_t done, uint64_t total, const char *unit, void *data)
{
    struct answering *answering = data;
    g_autoptr (GString) name = g_string_new (NULL);

    if (!isatty (STDERR_FILENO) || done == 0 || *unit == '\0')
        return;
    progress_wipe (answering);
    line_append (name, unit, NAME_MAX);
    fprintf (stderr, "%" G_GUINT64_FORMAT, done);
    if (total > 0)
        fprintf (stderr, " of %" G_GUINT64_FORMAT, total);
    fprintf (stderr, " %s", name->str);
    answering->has_shown = true;
}

/* Returns the part of a path below the mount point, "/" for that itself; NULL: it is not below.
 * Compares text, without "." and "..", since the mount may hang. */
static char *
path_below (const char *mountpoint, const char *path)
{
    char *here = getcwd (NULL, 0);
    g_autofree char *top = g_canonicalize_filename (mountpoint, here ? here : "/");
    g_autofree char *whole = g_canonicalize_filename (path, here ? here : "/");

    free (here);
    if (!path_is_in (whole, top))
        return NULL;
    return g_strdup (whole[strlen (top)] ? whole + strlen (top) : "/");
}

/* Returns whether a path begins at the current folder, and says so. */
static bool
path_is_from_here (const char *path)
{
    return strcmp (path, ".") == 0 || strcmp (path, "..") == 0 || g_str_has_prefix (path, "./")
        || g_str_has_prefix (path, "../");
}

/* Returns a PATH as the daemon takes it: from the root of the mount. It may begin with the mount
 * point, or at the current folder. NULL after a message: it begins there, and leads elsewhere. */
static char *
path_in_mount (const struct cli_command *command, const char *mountpoint, const char *path)
{
    g_autofree char *above = g_strconcat (mountpoint, g_str_has_suffix (mountpoint, "/") ? "" : "/",
                                          NULL);
    char *below = NULL;

    if (g_str_has_prefix (path, above))
        return g_strdup (path + strlen (above));
    if (*path == '/' || path_is_from_here (path))
        below = path_below (mountpoint, path);
    if (!below && path_is_from_here (path)) {
        cli_usage (command, "'%s' begins at the current folder, and is not in '%s': other paths "
                   "begin at the root of the mount", path, mountpoint);
        return NULL;
    }
    return below ? below : g_strdup (path);
}

/* Appends the arguments, each followed by a NUL. Returns false after a message. */
static bool
arguments_pack (const struct cli_command *command, const struct xlator_command *row,
                const char *mountpoint, char **arguments, GByteArray *out)
{
    const bool paths = strstr (row->arguments, "PATH") != NULL;

    for (; *arguments; arguments++) {
        g_autofree char *text = paths ? path_in_mount (command, mountpoint, *arguments)
                                      : g_strdup (*arguments);

        if (!text)
            return false;
        g_byte_array_append (out, (const guint8 *) text, strlen (text) + 1);
    }
    return true;
}

static int
cli_translator_call (const struct cli_command *command, const struct xlator_command *row,
                     const char *mountpoint, const char *target, bool json, GBytes *input)
{
    g_autoptr (GString) answer = g_string_new (NULL);
    g_autofree char *error = NULL, *kept = NULL;
    struct answering answering = { .json = json };
    int r;

    if (strcmp (target, "cluster/overlay") == 0)
        kept = kept_view_volfile (mountpoint);
    r = kept ? kept_view_command (kept, target, row->name, input, cli_translator_take, &answering,
                                  &error)
             : control_call_open (mountpoint, target, row->name, row->open, input, answer, &error);
    if (r == 0 && row->job && !kept)
        r = control_call_job (mountpoint, g_strchomp (answer->str), row->open, cli_translator_take,
                              cli_translator_progress, &answering, &error);
    else if (r == 0 && !kept)
        cli_print_safely (stdout, answer->str);
    progress_wipe (&answering);
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
    const GOptionEntry common[] = {
        { "volume", 0, 0, G_OPTION_ARG_STRING, &volume,
          "the volume, if the mount has several of this type", "NAME" },
        { "xlator-dir", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &dirs,
          "look for translators in this directory first", "DIR" },
    };
    const struct xlator_command *row;
    g_autoptr (GArray) more = g_array_new (TRUE, FALSE, sizeof *common);
    g_autoptr (GPtrArray) given = NULL;
    g_autoptr (GBytes) input = NULL;
    GByteArray *words;

    g_autofree char *text = commands_text (command->name, command->about, this->api->commands);
    const struct cli_command shown = { command->name, command->arguments, text, command->run };

    g_array_append_vals (more, common, G_N_ELEMENTS (common));
    given = given_new (this->api->commands, more);
    if (!cli_parse (&shown, &argc, argv, NULL, (const GOptionEntry *) (void *) more->data))
        return CLI_USAGE;
    if (argc == 2 && strcmp (this->api->type, "cluster/overlay") == 0
        && strcmp (argv[1], "status") == 0)
        return kept_views_list ();
    row = row_find (this, argc, argv);
    if (!row)
        return CLI_USAGE;
    words = g_byte_array_new ();
    if (!given_pack (command, row, given, words)
        || !arguments_pack (command, row, argv[2], argv + 3, words))
        row = NULL;
    input = g_byte_array_free_to_bytes (words);
    if (!row)
        return CLI_USAGE;
    return cli_translator_call (command, row, argv[2], volume ? volume : this->api->type,
                                given_is_set (given, "json"), input);
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
