/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands of the daemon itself: windlass reload, windlass counts, windlass tell MOUNTPOINT -
 * COMMAND. */
#include "daemon/daemon.h"

#include "core/edge/frame.h"
#include "core/base/printable.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- reload --- */

static int
refuse_reload (const struct program_options *options, GString *answer)
{
    g_string_append_printf (answer,
                            "the volfile '%s' can't be read again: it was not read from a "
                            "file%s\nnothing was changed\n",
                            options->volfile,
                            strcmp (options->volfile, "-") == 0 ? ", but from the standard input"
                                                                : "");
    return -EINVAL;
}

/* The main thread must not wait for a pipe that replaced the file, nor for this mount. */
static int
reload_check (const struct running *running, GString *answer)
{
    const struct program_options *options = running->options;
    g_autofree char *inside = g_strconcat (running->mountpoint, "/", NULL);

    if (!options->volfile_again)
        return refuse_reload (options, answer);
    if (options->volfile_on_server)
        return 0;
    if (g_str_has_prefix (options->volfile_again, inside))
        g_string_append_printf (answer,
                                "the volfile '%s' can't be read again: the mount is over it\n",
                                options->volfile_again);
    else if (!g_file_test (options->volfile_again, G_FILE_TEST_IS_REGULAR))
        g_string_append_printf (
            answer, "the volfile '%s' can't be read again: there is no such file any more\n",
            options->volfile_again);
    else
        return 0;
    g_string_append (answer, "nothing was changed\n");
    return -EINVAL;
}

static struct volfile *
reload_read (const struct running *running, GString *answer)
{
    g_autofree char *error = NULL;
    struct volfile *volfile = volfile_read (running->options->volfile_again, &error);

    if (!volfile)
        g_string_append_printf (answer, "%s\nnothing was changed\n", error);
    return volfile;
}

static void
log_answer (int r, const GString *answer)
{
    g_auto (GStrv) lines = g_strsplit (answer->str, "\n", -1);

    for (char **line = lines; *line; line++)
        if (**line)
            gf_log (NULL, r < 0 ? GF_LOG_WARNING : GF_LOG_INFO, "reload: %s", *line);
}

int
running_reload_as (struct running *running, struct volfile *volfile, GString *answer)
{
    const struct graph_settings settings = options_of_graph (running->options);
    struct graph *fresh = NULL;
    int r = graph_reload (running->graph, volfile, &settings, &fresh, answer);

    if (fresh)
        r = running_move (running, fresh, answer);
    log_answer (r, answer);
    return r;
}

int
running_reload (struct running *running, GString *answer)
{
    struct volfile *volfile;
    int r = reload_check (running, answer);

    volfile = r == 0 ? reload_read (running, answer) : NULL;
    if (volfile)
        return running_reload_as (running, volfile, answer);
    r = r < 0 ? r : -EIO;
    log_answer (r, answer);
    return r;
}

void
running_hang_up (struct running *running)
{
    g_autoptr (GString) answer = g_string_new (NULL);
    int r = log_reopen ();

    if (r < 0)
        gf_log (NULL, GF_LOG_WARNING, "can't reopen the log: %s; the old one stays",
                g_strerror (-r));
    /* Log rotation needs no warning each time that there is no file to read. */
    if (running->options->volfile_again)
        running_reload (running, answer);
}

static int
command_reload (void *data, GBytes *input, GString *answer)
{
    return running_reload (data, answer);
}

/* --- shared by all --- */

char **
command_words (GBytes *input)
{
    gsize size;
    const char *bytes = g_bytes_get_data (input, &size);
    g_autofree char *text = g_strndup (bytes, size);
    GPtrArray *words = g_ptr_array_new ();
    g_auto (GStrv) lines = g_strsplit (text ? text : "", "\n", -1);

    for (char **line = lines; *line; line++)
        if (**line)
            g_ptr_array_add (words, g_strdup (*line));
    g_ptr_array_add (words, NULL);
    return (char **) g_ptr_array_free (words, FALSE);
}

int
command_refuse_word (const char *word, const char *allowed, GString *answer)
{
    g_string_append (answer, "'");
    line_append (answer, word, 100);
    g_string_append_printf (answer, "' can't be understood; there are %s", allowed);
    return -EINVAL;
}

void
say_command (const struct running *running, const char *what, const char *command, GString *answer)
{
    g_autofree char *quoted = g_shell_quote (running->mountpoint);
    const bool plain =
        running->mountpoint[strspn (running->mountpoint,
                                    G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "/._-+,@:=%")]
        == '\0';

    g_string_append_printf (answer, "%s: windlass %s %s", what, command,
                            plain ? running->mountpoint : quoted);
}

/* --- other commands --- */

static int
command_graph (void *data, GBytes *input, GString *answer)
{
    const struct running *running = data;
    g_autofree char *text = graph_text (running->graph);

    g_string_append (answer, text);
    return 0;
}

static int
command_limits (void *data, GBytes *input, GString *answer)
{
    const struct running *running = data;
    g_auto (GStrv) words = command_words (input);

    return bridge_set_limits (running->bridge, words, answer);
}

const struct control_command running_commands[] = {
    { "counts",
      "print the numbers of requests, inodes, open files, timers, descriptors and threads, the "
      "bytes of memory, and the process",
      running_counts },
    { "errors", "print the last failures; input: json, clear, record=notable|all|swallowed",
      command_errors },
    { "explain",
      "print how each translator handles a file; input: the path of the file from the root of the "
      "mount",
      command_explain },
    { "graph", "print the graph with the options in force", command_graph },
    { "inflight", "print the requests without an answer; input: json, older=NANOSECONDS",
      command_inflight },
    { "limits",
      "print how many requests run at a time; input: data-limit=N, name-limit=N, sync-limit=N",
      command_limits },
    { "reload",
      "read the volfile again, and apply the options that may change while it is mounted",
      command_reload },
    { "stats",
      "print counts and times as OpenMetrics; input: json prints JSON; on and off start and stop "
      "counting",
      running_stats },
    { "timeline", "start or stop recording complete requests, or delete the recorded requests",
      running_timeline },
    { "timeline-cat", "print the recorded requests, in pieces", running_timeline_cat },
    { "trace-cat", "print the recorded functions, in pieces: windlass trace cat",
      command_trace_cat },
    { "trace-start", "record which functions run: windlass trace start", command_trace_start },
    { "trace-stop", "stop recording functions: windlass trace stop", command_trace_stop },
    { NULL, NULL, NULL },
};
