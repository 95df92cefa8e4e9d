/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 *   windlass graph FILE [--dot|--svg]           the graph as it would be mounted
 *   windlass graph MOUNTPOINT [--dot|--svg]     the mounted graph, with its counters
 */
#include "cli/picture.h"
#include "control/control.h"
#include "core/base/printable.h"
#include "trace/metrics/metrics.h"

#include <stdio.h>
#include <string.h>

/* Returns whether a picture of so many translators would help; false after a message. */
static bool
picture_is_of_use (const char *path, guint translators)
{
    if (translators <= PICTURE_MAX)
        return true;
    say_line (stderr,
              "windlass graph: '%s' has %u volumes, and a picture has at most %d; without --svg, "
              "the graph is printed as text",
              path, translators, PICTURE_MAX);
    return false;
}

static void
print_svg (const struct graph *graph, const char *path)
{
    const struct metrics_value none = { 0 };
    const struct metrics_of of = { graph->xlators, path, "", &none };
    g_autoptr (GString) lines = g_string_new (NULL), out = g_string_new (NULL);
    struct numbers_seen *seen;

    metrics_lines (&of, false, lines);
    seen = numbers_seen_parse (lines->str);
    picture_svg (seen, &(struct picture_head){ path, "a volfile, as it would be mounted" }, out);
    fputs (out->str, stdout);
    numbers_seen_free (seen);
}

static int
draw_file (const struct cli_graph *options, const char *path, bool dot, bool svg)
{
    struct graph *graph = cli_load (options, path);
    int status = CLI_FAILED;

    if (graph && !volfile_has_errors (graph->volfile)
        && (!svg || picture_is_of_use (path, graph->xlators->len))) {
        g_autofree char *text = dot ? graph_dot (graph) : graph_text (graph);

        if (svg)
            print_svg (graph, path);
        else
            fputs (text, stdout);
        status = CLI_OK;
    }
    graph_free (graph);
    return status;
}

/* --- a mount ---------------------------------------------------------------------------------- */

/* Does not access the path, which could hang if it is a mount. */
static bool
is_mount (const char *path)
{
    g_autofree char *mountinfo = NULL, *real = NULL, *error = NULL;
    struct mount mount = { 0 }, view = { 0 };
    bool is;

    if (!g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL))
        return false;
    real = mount_path (mountinfo, path, &error);
    is = real && mount_find (mountinfo, real, &mount) && mount_is_windlass (&mount);
    is = is || (real && view_find (mountinfo, real, &view) > 0);
    mount_clear (&mount);
    mount_clear (&view);
    return is;
}

/* "measured for 12.3 s, until 2026-11-27 12:00:00". Freed with g_free. */
static char *
period_text (const struct numbers_seen *seen, bool off)
{
    g_autoptr (GDateTime) now = g_date_time_new_now_local ();
    g_autofree char *time = g_date_time_format (now, "%Y-%m-%d %H:%M:%S");
    const gint64 seconds = seen->period / 1000000000;
    g_autofree char *length =
        seconds < 60     ? g_strdup_printf ("%.1f s", (double) seen->period / 1e9)
        : seconds < 3600 ? g_strdup_printf ("%d min %d s", (int) seconds / 60, (int) seconds % 60)
                         : g_strdup_printf ("%" G_GINT64_FORMAT " h %d min", seconds / 3600,
                                            (int) (seconds / 60 % 60));

    if (seen->period == 0)
        return g_strdup_printf ("not measured; %s", time);
    return off ? g_strdup_printf ("measured for %s in all, not now; %s", length, time)
               : g_strdup_printf ("measured for %s, until %s", length, time);
}

static int
draw_mount (const struct cli_command *command, const char *mountpoint, bool dot)
{
    struct numbers_seen *seen = numbers_seen_ask (command, mountpoint, "sums", false);
    g_autoptr (GString) out = g_string_new (NULL);
    g_autofree char *period = NULL;
    g_autofree char *title = g_canonicalize_filename (mountpoint, NULL);
    struct picture_head head = { title, NULL };
    bool off;

    if (!seen)
        return CLI_FAILED;
    if (!dot && !picture_is_of_use (mountpoint, seen->xlators->len)) {
        numbers_seen_free (seen);
        return CLI_FAILED;
    }
    off = strcmp (seen->measuring, "off") == 0;
    head.subtitle = period = period_text (seen, off);
    if (dot)
        picture_dot (seen, &head, out);
    else
        picture_svg (seen, &head, out);
    cli_print_safely (stdout, out->str);
    if (off)
        numbers_say_off (command, mountpoint, seen->period > 0);
    numbers_seen_free (seen);
    return CLI_OK;
}

static int
graph_draw (const struct cli_command *command, const struct cli_graph *options, const char *path,
            bool dot, bool svg)
{
    if (is_mount (path))
        return dot || svg ? draw_mount (command, path, dot)
                          : cli_call (command, path, NULL, "graph", NULL);
    if (strcmp (path, "-") != 0 && g_file_test (path, G_FILE_TEST_IS_DIR)) {
        fprintf (stderr, "windlass %s: '%s' is neither a volfile nor a mount point of Windlass\n",
                 command->name, path);
        return CLI_FAILED;
    }
    return draw_file (options, path, dot, svg);
}

int
cli_draw (const struct cli_command *command, int argc, char **argv)
{
    gboolean dot = FALSE, svg = FALSE;
    const GOptionEntry more[] = {
        { "dot", 0, 0, G_OPTION_ARG_NONE, &dot,
          "print DOT for Graphviz: windlass graph --dot FILE | dot -Tsvg", NULL },
        { "svg", 0, 0, G_OPTION_ARG_NONE, &svg, "print an SVG picture, for browsers", NULL },
        { 0 },
    };
    struct cli_graph options = { 0 };
    int status = CLI_USAGE;

    if (!cli_parse (command, &argc, argv, &options, more))
        return CLI_USAGE;
    if (dot && svg)
        cli_usage (command, "only one of --dot and --svg");
    else if (argc == 2)
        status = graph_draw (command, &options, argv[1], dot, svg);
    else
        cli_usage (command, argc < 2 ? "which volfile or mount point?"
                                     : "one volfile or mount point is wanted");
    cli_graph_clear (&options);
    return status;
}
