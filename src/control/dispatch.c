/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Maps the names in a request to commands of the daemon or of a translator. */
#include "control/control.h"

#include <errno.h>
#include <string.h>

/* --- help --- */

static void
add_line (GString *out, const char *name, const char *about)
{
    g_string_append_printf (out, "  %-14s %s\n", name, about);
}

static void
list_all (GString *out, struct graph *graph, const struct control_command *commands)
{
    g_string_append (out, "-: the daemon itself\n");
    for (; commands->name; commands++)
        add_line (out, commands->name, commands->about);
    add_line (out, "commands", "list what can be told, and whom");
    for (guint i = 0; i < graph->xlators->len; i++) {
        const xlator_t *xl = graph->xlators->pdata[i];
        const struct xlator_command *command = xl->api->commands;

        if (command)
            g_string_append_printf (out, "%s: type %s\n", xl->name, xl->type);
        for (; command && command->name; command++)
            add_line (out, command->name, command->about);
    }
}

static const char *
comma (const GString *out, gsize since)
{
    return out->len > since ? ", " : "";
}

static void
name_volumes (GString *out, const struct graph *graph, const char *type)
{
    const gsize since = out->len;

    for (guint i = 0; i < graph->xlators->len; i++) {
        const xlator_t *xl = graph->xlators->pdata[i];

        if (!type)
            g_string_append_printf (out, "%s%s (%s)", comma (out, since), xl->name, xl->type);
        else if (strcmp (xl->type, type) == 0)
            g_string_append_printf (out, "%s%s", comma (out, since), xl->name);
    }
}

/* --- targets --- */

static int
target_missing (const struct graph *graph, const char *target, GString *answer)
{
    g_string_append_printf (answer, "no volume or type '%s' in the graph of '%s'; there are ",
                            target, graph->volfile->path);
    name_volumes (answer, graph, NULL);
    if (strchr (target, '/'))
        g_string_append_printf (answer,
                                "; to have one, add it to the volfile, for instance as its last "
                                "lines, and run 'windlass reload MOUNTPOINT': volume "
                                "%s type %s subvolumes %s end-volume",
                                strrchr (target, '/') + 1, target, graph->top->name);
    return -ENOENT;
}

/* The name of a volume takes precedence over a type. A type must match a single translator. */
static int
target_find (struct graph *graph, const char *target, xlator_t **ret_xl, GString *answer)
{
    xlator_t *found = graph_find (graph, target);
    unsigned n = found ? 1 : 0;

    for (guint i = 0; !graph_find (graph, target) && i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];

        if (strcmp (xl->type, target) == 0) {
            found = xl;
            n++;
        }
    }
    if (n == 0)
        return target_missing (graph, target, answer);
    if (n > 1) {
        g_string_append_printf (answer, "%u volumes are of type '%s', name one of them: ", n,
                                target);
        name_volumes (answer, graph, target);
        return -EINVAL;
    }
    *ret_xl = found;
    return 0;
}

/* --- commands --- */

static int
run_of_translator (xlator_t *xl, const struct control_request *request,
                   const struct xlator_asked *asker, GString *answer)
{
    struct xlator_asked asked = *asker;
    const struct xlator_command *command = xl->api->commands;
    const gsize since = answer->len;

    asked.input = request->input;
    for (; command && command->name; command++)
        if (strcmp (command->name, request->command) == 0)
            return command->run (xl, &asked, answer);
    for (command = xl->api->commands; command && command->name; command++)
        g_string_append_printf (answer, "%s%s", comma (answer, since), command->name);
    if (answer->len > since)
        g_string_prepend (answer, "; there are ");
    g_autofree char *what =
        g_strdup_printf ("volume '%s' of type '%s' has no %s'%s'", xl->name, xl->type,
                         xl->api->commands ? "command " : "commands, so no ", request->command);
    g_string_prepend (answer, what);
    return -ENOENT;
}

static int
run_of_daemon (struct graph *graph, const struct control_command *commands, void *data,
               const struct control_request *request, GString *answer)
{
    if (strcmp (request->command, "commands") == 0) {
        list_all (answer, graph, commands);
        return 0;
    }
    for (const struct control_command *command = commands; command->name; command++)
        if (strcmp (command->name, request->command) == 0)
            return command->run (data, request->input, answer);
    g_string_append_printf (answer, "the daemon has no command '%s'; there are ", request->command);
    for (; commands->name; commands++)
        g_string_append_printf (answer, "%s, ", commands->name);
    g_string_append (answer, "commands");
    return -ENOENT;
}

int
control_dispatch (struct graph *graph, const struct control_command *commands, void *data,
                  const struct control_request *request, const struct xlator_asked *asker,
                  GString *answer)
{
    xlator_t *xl = NULL;
    int r;

    if (!*request->target)
        return run_of_daemon (graph, commands, data, request, answer);
    r = target_find (graph, request->target, &xl, answer);
    return r < 0 ? r : run_of_translator (xl, request, asker, answer);
}
