/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of .meta about the daemon and the whole graph. */
#include "meta/internal.h"

#include "core/base/json.h"
#include "core/work/job.h"
#include "trace/metrics/numbers.h"

#include <malloc.h>
#include <unistd.h>

static void
append_pair (GString *out, const char *key, const char *value)
{
    g_string_append_printf (out, "{\n  \"%s\": ", key);
    json_append_string (out, value);
    g_string_append (out, "\n}\n");
}

int
meta_show_cmdline (const struct meta *meta, const struct meta_node *node, GString *out)
{
    append_pair (out, "Cmdlinestr", meta->of.command_line);
    return 0;
}

int
meta_show_version (const struct meta *meta, const struct meta_node *node, GString *out)
{
    append_pair (out, "Package Version", meta->of.version);
    return 0;
}

int
meta_show_process_uuid (const struct meta *meta, const struct meta_node *node, GString *out)
{
    g_string_append_printf (out, "%s\n", meta->process_uuid);
    return 0;
}

int
meta_show_mallinfo (const struct meta *meta, const struct meta_node *node, GString *out)
{
    const struct mallinfo2 info = mallinfo2 ();
    const struct {
        const char *key;
        size_t value;
    } rows[] = {
        { "arena", info.arena },       { "ordblks", info.ordblks },   { "smblks", info.smblks },
        { "hblks", info.hblks },       { "hblkhd", info.hblkhd },     { "usmblks", info.usmblks },
        { "fsmblks", info.fsmblks },   { "uordblks", info.uordblks }, { "fordblks", info.fordblks },
        { "keepcost", info.keepcost },
    };

    for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
        g_string_append_printf (out, "mallinfo_%s=%zu\n", rows[i].key, rows[i].value);
    return 0;
}

int
meta_show_jobs (const struct meta *meta, const struct meta_node *node, GString *out)
{
    jobs_list (out);
    return 0;
}

/* --- measuring ------------------------------------------------------------------------------ */

int
meta_show_measure_latency (const struct meta *meta, const struct meta_node *node, GString *out)
{
    g_string_append_printf (out, "%d\n", numbers_set_for (meta->of.graph->xlators, NUMBERS_SET));
    return 0;
}

int
meta_set_measure_latency (const struct meta *meta, const struct meta_node *node, const char *value,
                          GString *allowed)
{
    const struct xlator_option row = { .type = OPTION_BOOL, .size = sizeof (bool) };
    g_autofree char *unused = NULL;
    bool on;

    if (option_parse (&row, value, &on, &unused) < 0) {
        g_string_append (allowed, "must be 0 or 1");
        return -EINVAL;
    }
    numbers_set (meta->of.graph->xlators, NUMBERS_SET, on);
    return 0;
}

/* --- the log -------------------------------------------------------------------------------- */

int
meta_show_loglevel (const struct meta *meta, const struct meta_node *node, GString *out)
{
    g_string_append_printf (out, "%d\n", log_level ());
    return 0;
}

int
meta_set_loglevel (const struct meta *meta, const struct meta_node *node, const char *value,
                   GString *allowed)
{
    gf_loglevel_t level;

    if (log_level_parse (value, &level) < 0) {
        g_string_append (allowed, "must be " META_LEVELS);
        return -EINVAL;
    }
    graph_set_loglevel (meta->of.graph, level);
    return 0;
}

/* A link to the standard error would be the reader's, not the daemon's. */
int
meta_show_logfile (const struct meta *meta, const struct meta_node *node, GString *out)
{
    g_autofree char *path = log_path ();

    if (path)
        g_string_append (out, path);
    else
        g_string_append_printf (out, "/proc/%d/fd/2", getpid ());
    return 0;
}

/* --- the graph ------------------------------------------------------------------------------ */

int
meta_show_active (const struct meta *meta, const struct meta_node *node, GString *out)
{
    g_string_append (out, meta->uuid);
    return 0;
}

int
meta_show_volfile (const struct meta *meta, const struct meta_node *node, GString *out)
{
    g_autofree char *text = graph_volfile (meta->of.graph);

    g_string_append (out, text);
    return 0;
}

int
meta_show_top (const struct meta *meta, const struct meta_node *node, GString *out)
{
    g_autofree char *name = meta_file_name (meta->of.graph->top->name);

    g_string_append (out, name);
    return 0;
}
