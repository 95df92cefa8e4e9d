/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PRESET DIR [OPTION=VALUE...] [FLAG...] [-- COMMAND...] */
#include "cli/run/run.h"

#include "core/base/printable.h"
#include "core/base/suggest.h"

#include <string.h>

int
run_refuse (const struct cli_command *command, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start (args, format);
    text = g_strdup_vprintf (format, args);
    va_end (args);
    say_line (stderr, "windlass %s: %s", command->name, text);
    return CLI_USAGE;
}

/* Takes the preset's flags out of argv. */
static void
words_take_flags (const struct preset *preset, int *argc, char **argv, GPtrArray *flags)
{
    int kept = 1;

    for (int i = 1; i < *argc; i++)
        if (preset_flag_find (preset, argv[i]))
            g_ptr_array_add (flags, argv[i]);
        else
            argv[kept++] = argv[i];
    argv[kept] = NULL;
    *argc = kept;
}

static int
words_take (const struct cli_command *command, int argc, char **argv, GPtrArray *flags,
            struct run_words *ret_words)
{
    const struct preset *preset = ret_words->preset;

    if (argc < 2)
        return cli_usage (command, "which preset? 'windlass help presets' lists them");
    if (argc < 3)
        return cli_usage (command, "%s", preset_is_of_host (preset) ? "which HOST:/PATH?"
                                                                    : "which directory?");
    for (int i = 3; i < argc; i++) {
        if (!strchr (argv[i], '='))
            return run_refuse (command,
                               "'%s' is neither OPTION=VALUE nor a flag of preset '%s'%s", argv[i],
                               preset->name,
                               strcmp (command->name, "run") == 0
                                   ? "; a command follows after '--'"
                                   : "");
        g_ptr_array_add (flags, argv[i]);
    }
    ret_words->place = argv[2];
    g_ptr_array_add (flags, NULL);
    ret_words->words = g_memdup2 (flags->pdata, flags->len * sizeof *flags->pdata);
    return CLI_OK;
}

/* argv ends where the command begins. */
static int
words_split (const struct cli_command *command, int *argc, char **argv,
             struct run_words *ret_words)
{
    for (int i = 1; i < *argc; i++) {
        if (strcmp (argv[i], "--") != 0)
            continue;
        ret_words->command = argv + i + 1;
        argv[i] = NULL;
        *argc = i;
        if (!*ret_words->command)
            return cli_usage (command, "which command? none follows after '--'");
    }
    return CLI_OK;
}

int
run_words_parse (const struct cli_command *command, int argc, char **argv,
                 const GOptionEntry *more, struct run_words *ret_words)
{
    g_autoptr (GPtrArray) flags = g_ptr_array_new ();
    g_autofree char *error = NULL;
    int status = words_split (command, &argc, argv, ret_words);
    const char *name;

    if (status != CLI_OK)
        return status;
    /* The preset has flags of its own, which have to be known before the options are parsed. */
    name = cli_first_word (argv, more);
    ret_words->preset = name ? preset_read (name, &error) : NULL;
    if (name && !ret_words->preset)
        return run_refuse (command, "%s", error);
    if (ret_words->preset)
        words_take_flags (ret_words->preset, &argc, argv, flags);
    if (!cli_parse (command, &argc, argv, &ret_words->graph, more))
        return CLI_USAGE;
    return words_take (command, argc, argv, flags, ret_words);
}

void
run_words_clear (struct run_words *words)
{
    cli_graph_clear (&words->graph);
    g_clear_pointer (&words->preset, preset_free);
    g_clear_pointer (&words->words, g_free);
}
