/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass errors: the last failures of a mount, and the translator in which each began. */
#include "cli/cli.h"

#include <string.h>

int
cli_errors (const struct cli_command *command, int argc, char **argv)
{
    g_autofree char *record = NULL;
    gboolean json = FALSE, clear = FALSE;
    const GOptionEntry more[] = {
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON", NULL },
        { "clear", 0, 0, G_OPTION_ARG_NONE, &clear, "delete the recorded errors", NULL },
        { "record", 0, 0, G_OPTION_ARG_STRING, &record,
          "the errors that the daemon records from now on: notable (errors that are not an "
          "ordinary result of a request, such as EIO), all, or swallowed (notable errors, and "
          "errors that a translator turned into success)",
          "notable|all|swallowed" },
        { 0 },
    };
    g_autoptr (GString) text = g_string_new (NULL);
    g_autoptr (GBytes) input = NULL;

    if (!cli_parse (command, &argc, argv, NULL, more))
        return CLI_USAGE;
    if (argc != 2)
        return cli_usage (command, argc < 2 ? "which mount point?" : "one mount point is wanted");
    if (json && (clear || record))
        return cli_usage (command, "--json is for a list");
    if (record && strcmp (record, "notable") != 0 && strcmp (record, "all") != 0
        && strcmp (record, "swallowed") != 0)
        return cli_usage (command, "--record must be notable, all or swallowed, got '%s'", record);
    g_string_append (text, json ? "json\n" : "");
    g_string_append (text, clear ? "clear\n" : "");
    if (record)
        g_string_append_printf (text, "record=%s\n", record);
    input = g_bytes_new (text->str, text->len);
    return cli_call (command, argv[1], NULL, "errors", input);
}
