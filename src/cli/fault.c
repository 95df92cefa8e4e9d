/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass fault, windlass power-cut: commands to translators that cause failures on purpose. */
#include "cli/cli.h"

#include <string.h>

/* Puts the file's name in a line before the text, so that messages can name it. The line is not
 * counted. */
static GBytes *
rules_read (const struct cli_command *command, const char *path)
{
    g_autoptr (GBytes) text = cli_read (command, path);
    g_autofree char *name = g_strdup (strcmp (path, "-") == 0 ? "<stdin>" : path);
    GByteArray *out;

    if (!text)
        return NULL;
    for (char *p = name; *p; p++)
        if (g_ascii_iscntrl (*p))
            *p = '?';
    out = g_byte_array_new ();
    g_byte_array_append (out, (const guint8 *) "# file: ", strlen ("# file: "));
    g_byte_array_append (out, (const guint8 *) name, strlen (name));
    g_byte_array_append (out, (const guint8 *) "\n", 1);
    g_byte_array_append (out, g_bytes_get_data (text, NULL), g_bytes_get_size (text));
    return g_byte_array_free_to_bytes (out);
}

int
cli_fault (const struct cli_command *command, int argc, char **argv)
{
    g_autofree char *volume = NULL;
    gboolean clear = FALSE, show = FALSE, release = FALSE;
    const GOptionEntry more[] = {
        { "volume", 0, 0, G_OPTION_ARG_STRING, &volume,
          "the volume, if several volumes are of type debug/fault", "NAME" },
        { "clear", 0, 0, G_OPTION_ARG_NONE, &clear,
          "remove all rules, and release all requests that they hold", NULL },
        { "show", 0, 0, G_OPTION_ARG_NONE, &show, "print the rules, and how often each was used",
          NULL },
        { "release", 0, 0, G_OPTION_ARG_NONE, &release,
          "release requests that 'hang' rules hold: those with this name, or all", NULL },
        { 0 },
    };
    const char *target, *what;
    g_autoptr (GBytes) input = NULL;

    if (!cli_parse (command, &argc, argv, NULL, more))
        return CLI_USAGE;
    target = volume ? volume : "debug/fault";
    what = clear ? "clear" : show ? "show" : release ? "release" : "rules";
    if (argc < 2)
        return cli_usage (command, "which mount point?");
    if (clear + show + release > 1)
        return cli_usage (command, "only one of --clear, --show and --release");
    if (argc > 3 || (argc == 3 && (clear || show)) || (argc == 2 && !clear && !show && !release))
        return cli_usage (command, argc == 2 ? "which file of rules?" : "too many arguments");
    if (argc == 3 && release)
        input = g_bytes_new (argv[2], strlen (argv[2]));
    else if (argc == 3)
        input = rules_read (command, argv[2]);
    if (argc == 3 && !input)
        return CLI_FAILED;
    return cli_call (command, argv[1], target, what, input);
}

int
cli_power_cut (const struct cli_command *command, int argc, char **argv)
{
    g_autofree char *volume = NULL;
    const GOptionEntry more[] = {
        { "volume", 0, 0, G_OPTION_ARG_STRING, &volume,
          "the volume, if several volumes are of type debug/power-cut", "NAME" },
        { 0 },
    };

    if (!cli_parse (command, &argc, argv, NULL, more))
        return CLI_USAGE;
    if (argc != 2)
        return cli_usage (command, argc < 2 ? "which mount point?" : "too many arguments");
    return cli_call (command, argv[1], volume ? volume : "debug/power-cut", "cut", NULL);
}
