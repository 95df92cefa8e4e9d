/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass inflight: the requests of a mount that are not answered yet. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const struct xlator_option older_option = {
    .key = { "older" }, .type = OPTION_TIME, .size = sizeof (int64_t), .min = 0, .max = 1e9
};

int
cli_inflight (const struct cli_command *command, int argc, char **argv)
{
    g_autofree char *older = NULL, *allowed = NULL, *text = NULL;
    gboolean json = FALSE;
    const GOptionEntry more[] = {
        { "older", 0, 0, G_OPTION_ARG_STRING, &older,
          "only requests that are older than this, such as 500ms, 5s or 2min", "TIME" },
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON", NULL },
        { 0 },
    };
    g_autoptr (GBytes) input = NULL;
    int64_t nanoseconds = 0;

    if (!cli_parse (command, &argc, argv, NULL, more))
        return CLI_USAGE;
    if (argc != 2)
        return cli_usage (command, argc < 2 ? "which mount point?" : "one mount point is wanted");
    if (older && option_parse (&older_option, older, &nanoseconds, &allowed) < 0)
        return cli_usage (command, "--older %s, got '%s'", allowed, older);
    text = g_strdup_printf ("older=%" G_GINT64_FORMAT "\n%s", nanoseconds, json ? "json\n" : "");
    input = g_bytes_new (text, strlen (text));
    return cli_call (command, argv[1], NULL, "inflight", input);
}
