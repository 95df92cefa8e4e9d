/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass trace start, stop and cat. start gets its parameters as lines:
 *
 *   function GLOB  translator VOLUME  fop NAME  path GLOB  pid N  min TIME  buffer SIZE
 *
 * Several lines of one kind: any of them.
 */
#include "daemon/daemon.h"

#include "core/edge/option.h"
#include "core/table/opset.h"
#include "core/base/suggest.h"
#include "trace/functions/functions.h"

#include <errno.h>
#include <string.h>

struct wish {
    struct functions_wish functions;
    const struct running *running;
};

static const struct xlator_option min_row = {
    { "min" }, OPTION_TIME, .max = 86400, .size = sizeof (int64_t)
};
static const struct xlator_option pid_row = {
    { "pid" }, OPTION_INT, .min = 1, .max = INT32_MAX, .size = sizeof (int64_t)
};
static const struct xlator_option buffer_row = { { "buffer" },
                                                 OPTION_SIZE,
                                                 .min = FUNCTIONS_BUFFER_MIN,
                                                 .max = FUNCTIONS_BUFFER_MAX,
                                                 .size = sizeof (uint64_t) };

static int
take_value (const struct xlator_option *row, const char *text, void *value, GString *answer)
{
    g_autofree char *allowed = NULL;
    int r = option_parse (row, text, value, &allowed);

    if (r < 0)
        g_string_append_printf (answer, "'%s' %s, got '%s'", row->key[0], allowed, text);
    return r;
}

static int
take_translator (struct wish *wish, const char *name, GString *answer)
{
    struct graph *graph = wish->running->graph;
    const xlator_t *xl = graph_find (graph, name);

    if (!xl) {
        g_autoptr (GPtrArray) names = g_ptr_array_new ();
        g_autofree char *near = NULL, *all = NULL;

        for (guint i = 0; i < graph->xlators->len; i++)
            g_ptr_array_add (names, (char *) ((xlator_t *) graph->xlators->pdata[i])->name);
        near = suggest_text (suggest_near (name, names));
        g_ptr_array_add (names, NULL);
        all = g_strjoinv (", ", (char **) names->pdata);
        g_string_append_printf (answer, "the graph has no volume '%s'%s%s", name,
                                *near ? near : "; there are ", *near ? "" : all);
        return -ENOENT;
    }
    g_ptr_array_add (wish->functions.gate.translators, (char *) xl->name);
    return 0;
}

static int
take_fop (struct wish *wish, const char *text, GString *answer)
{
    g_autofree char *problem = NULL;
    opset_t ops = 0;
    int r = opset_parse (text, &ops, &problem);

    if (r < 0)
        g_string_append (answer, problem);
    wish->functions.gate.ops |= ops;
    return r;
}

/* Whether the process exists is not checked: it may be in another namespace, or start later. */
static int
take_pid (struct wish *wish, const char *text, GString *answer)
{
    int64_t pid = 0;
    int r = take_value (&pid_row, text, &pid, answer);

    if (r == 0)
        g_array_append_val (wish->functions.gate.pids, pid);
    return r;
}

static int
check_counts (const struct functions_gate *gate, GString *answer)
{
    if (gate->translators->len <= FUNCTIONS_GATE_MAX && gate->paths->len <= FUNCTIONS_GATE_MAX
        && gate->pids->len <= FUNCTIONS_GATE_MAX)
        return 0;
    g_string_append_printf (answer, "a trace takes at most %d volumes, paths and processes",
                            FUNCTIONS_GATE_MAX);
    return -EINVAL;
}

static int
trace_command_take_line (struct wish *wish, const char *key, const char *value, GString *answer)
{
    if (strcmp (key, "function") == 0)
        g_ptr_array_add (wish->functions.globs, g_strdup (value));
    else if (strcmp (key, "min") == 0)
        return take_value (&min_row, value, &wish->functions.min, answer);
    else if (strcmp (key, "buffer") == 0)
        return take_value (&buffer_row, value, &wish->functions.buffer, answer);
    else if (strcmp (key, "translator") == 0)
        return take_translator (wish, value, answer);
    else if (strcmp (key, "fop") == 0)
        return take_fop (wish, value, answer);
    else if (strcmp (key, "path") == 0)
        g_ptr_array_add (wish->functions.gate.paths, g_strdup (value));
    else if (strcmp (key, "pid") == 0)
        return take_pid (wish, value, answer);
    else {
        g_string_append_printf (answer, "a trace has no '%s'", key);
        return -EINVAL;
    }
    return 0;
}

static int
take_lines (struct wish *wish, GBytes *input, GString *answer)
{
    gsize size;
    const char *bytes = g_bytes_get_data (input, &size);
    g_autofree char *text = g_strndup (size ? bytes : "", size);
    g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
    int r = 0;

    for (char **line = lines; *line && r == 0; line++) {
        char *blank = strchr (*line, ' ');

        if (!**line)
            continue;
        if (blank)
            *blank = '\0';
        r = trace_command_take_line (wish, *line, blank ? blank + 1 : "", answer);
    }
    return r;
}

int
command_trace_start (void *data, GBytes *input, GString *answer)
{
    struct wish wish = { .functions = { .globs = g_ptr_array_new_with_free_func (g_free),
                                        .buffer = 1 << 20 },
                         .running = data };
    struct functions_gate *gate = &wish.functions.gate;
    int r;

    gate->graph = wish.running->graph->xlators;
    gate->translators = g_ptr_array_new ();
    gate->paths = g_ptr_array_new_with_free_func (g_free);
    gate->pids = g_array_new (FALSE, FALSE, sizeof (int64_t));
    r = take_lines (&wish, input, answer);
    if (r == 0)
        r = check_counts (gate, answer);
    if (r == 0)
        r = functions_start (&wish.functions, answer);
    if (r == 0) {
        functions_skip_answer ();
        say_command (data, "print their calls with", "trace cat", answer);
        say_command (data, "\nend it with", "trace stop", answer);
        g_string_append_c (answer, '\n');
    }
    if (r == -EALREADY)
        say_command (data, "; end it with", "trace stop", answer);
    g_array_unref (gate->pids);
    g_ptr_array_unref (gate->paths);
    g_ptr_array_unref (gate->translators);
    g_ptr_array_unref (wish.functions.globs);
    return r;
}

int
command_trace_stop (void *data, GBytes *input, GString *answer)
{
    int r = functions_stop (answer);

    if (r == -EALREADY)
        say_command (data, "; begin one with", "trace start", answer);
    else if (r == 0) {
        say_command (data, "print it with", "trace cat", answer);
        g_string_append_c (answer, '\n');
    }
    return r;
}

int
command_trace_cat (void *data, GBytes *input, GString *answer)
{
    g_autofree char *where = control_piece_where (input, NULL), *next = NULL;
    int r = functions_read (where, CONTROL_PIECE, answer, &next);

    if (r == -ENODATA)
        say_command (data, "; begin one with", "trace start", answer);
    else if (r == 0)
        control_piece_next (answer, next);
    return r;
}
