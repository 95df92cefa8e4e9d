/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass new PRESET DIR: writes a volfile, with comments. And the help on presets. */
#include "cli/run/run.h"

#include "core/base/printable.h"

#include <stdio.h>
#include <string.h>

/* The comment at the beginning. The place is not in it: a name may be misread there. */
static void
new_append_head (GString *out, const struct preset *preset, const struct made_volfile *made)
{
    g_autofree char *mount = g_strjoinv (" ", made->mount);

    g_string_append_printf (out,
                            "# %s: %s\n"
                            "# Written by 'windlass new %s'.\n"
                            "#\n"
                            "#   windlass -f FILE %s%sMOUNTPOINT\n",
                            preset->name, preset->summary, preset->name, mount,
                            *mount ? " " : "");
}

/* The text of the preset without its head. */
static void
new_append_text (GString *out, const char *text)
{
    g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
    bool head = true;

    for (char **line = lines; *line; line++) {
        head = head && **line == '#';
        if (!head || !preset_line_is_head (*line))
            g_string_append_printf (out, "%s%s", *line, line[1] ? "\n" : "");
    }
}

/* What is mounted elsewhere has an absolute name. */
static char *
new_place (const struct run_words *words)
{
    return preset_is_of_host (words->preset) ? g_strdup (words->place)
                                             : g_canonicalize_filename (words->place, NULL);
}

static void
new_warn (const struct cli_command *command, const struct preset *preset, const char *place)
{
    if (!preset_is_of_host (preset) && !g_file_test (place, G_FILE_TEST_IS_DIR))
        say_line (stderr, "windlass %s: warning: '%s' %s here; to mount it, it must be a directory",
                  command->name, place,
                  g_file_test (place, G_FILE_TEST_EXISTS) ? "is not a directory" : "is missing");
}

static int
new_make (const struct cli_command *command, const struct run_words *words, const char *directory,
          struct made_volfile *ret_made)
{
    struct view_place place = { .directory = directory };
    int r;

    new_log_name (words->preset, &place);
    r = volfile_make (command, words->preset, &place, words->words, &words->graph, ret_made);
    g_free (place.logs);
    g_free (place.log);
    return r;
}

static int
new_write (const struct cli_command *command, const struct run_words *words, const char *path)
{
    g_autofree char *place = new_place (words);
    g_autoptr (GString) out = g_string_new (NULL);
    struct made_volfile made = { 0 };
    struct cli_output output;

    if (new_make (command, words, place, &made) < 0)
        return CLI_USAGE;
    new_append_head (out, words->preset, &made);
    new_append_text (out, made.text);
    made_volfile_clear (&made);
    new_warn (command, words->preset, place);
    if (cli_output_open (command, path, &output) < 0)
        return CLI_FAILED;
    fwrite (out->str, 1, out->len, output.file);
    return cli_output_done (command, &output) < 0 ? CLI_FAILED : CLI_OK;
}

/* Returns CLI_OK, or says which word of the command line has no meaning for a file. */
static int
new_judge (const struct cli_command *command, const struct run_words *words)
{
    if (words->command)
        return cli_usage (command, "no command is wanted");
    if (words->graph.options)
        return cli_usage (command,
                          "--xlator-option '%s' is for a graph that runs, and is not written; "
                          "OPTION=VALUE behind the place is",
                          words->graph.options[0]);
    return CLI_OK;
}

int
cli_new (const struct cli_command *command, int argc, char **argv)
{
    g_autofree char *path = NULL;
    const GOptionEntry more[] = {
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &path, "write to this file", "FILE" },
        { 0 },
    };
    struct run_words words = { 0 };
    int status = run_words_parse (command, argc, argv, more, &words);

    if (status == CLI_OK)
        status = new_judge (command, &words);
    if (status == CLI_OK)
        status = new_write (command, &words, path);
    run_words_clear (&words);
    return status;
}

/* --- help ----------------------------------------------------------------------------------- */

int
cli_help_presets (void)
{
    g_autoptr (GPtrArray) names = preset_names ();

    for (guint i = 0; i < names->len; i++) {
        g_autofree char *error = NULL;
        g_autoptr (preset_t) preset = preset_read (names->pdata[i], &error);

        if (preset)
            say_line (stdout, "  %-12s %s", preset->name, preset->summary);
        else
            say_line (stderr, "windlass help: %s", error);
    }
    printf ("\n'windlass help PRESET' tells the flags and options of one.\n");
    return CLI_OK;
}

static void
help_flags (const struct preset *preset)
{
    if (preset->flags->len)
        printf ("\nFlags:\n");
    for (guint i = 0; i < preset->flags->len; i++) {
        const struct preset_flag *flag = preset->flags->pdata[i];
        g_autofree char *settings = g_strjoinv (" ", flag->settings);

        say_line (stdout, "  %-16s %s (%s)", flag->name, flag->help, settings);
    }
}

/* The volumes from the bottom up, as the file has them. */
static void
help_volumes (const struct preset *preset)
{
    struct volfile *volfile = volfile_parse (preset->path, preset->text, strlen (preset->text));

    printf (
        "\nVolumes; OPTION=VALUE sets an option of one ('windlass help TYPE' describes them):\n");
    for (guint i = 0; i < volfile->volumes->len; i++) {
        const struct volfile_volume *volume = volfile->volumes->pdata[i];

        say_line (stdout, "  %-16s %s", volume->name, volume->type ? volume->type : "");
    }
    volfile_free (volfile);
}

int
cli_help_preset (const char *name)
{
    g_autofree char *error = NULL;
    g_autoptr (preset_t) preset = preset_read (name, &error);
    const bool of_host = preset && preset_is_of_host (preset);

    if (!preset)
        return CLI_USAGE;
    say_line (stdout, "%s: %s (%s)", preset->name, preset->summary, preset->path);
    if (!of_host)
        printf ("\n  windlass run %s DIR [OPTION=VALUE...] [FLAG...] [-- COMMAND...]\n",
                preset->name);
    printf ("%s  windlass new %s %s [OPTION=VALUE...] [FLAG...] >my.vol\n", of_host ? "\n" : "",
            preset->name, of_host ? "HOST:/PATH" : "DIR");
    help_flags (preset);
    help_volumes (preset);
    return CLI_OK;
}
