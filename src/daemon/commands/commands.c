/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of the daemon's own commands: windlass reload, windlass counts, windlass tell
 * MOUNTPOINT - COMMAND. */
#include "daemon/daemon.h"

static int
command_graph (void *data, GBytes *input, GString *answer)
{
    const struct running *running = data;
    g_autofree char *text = graph_text (running->graph);

    g_string_append (answer, text);
    return 0;
}

static int
command_statedump (void *data, GBytes *input, GString *answer)
{
    return statedump (data, answer);
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
      "mount, after a line 'all' for everything that is known",
      command_explain },
    { "graph", "print the graph with the options in force", command_graph },
    { "inflight", "print the requests without an answer; input: json, older=NANOSECONDS",
      command_inflight },
    { CONTROL_JOB_ANSWER,
      "print what a job of a command has printed, in pieces; input: its number, after the piece's "
      "line",
      command_job_answer },
    { "job-stop", "stop a job; input: its number", command_job_stop },
    { "jobs", "print the jobs of the translators; input: json", command_jobs },
    { "limits",
      "print how many requests run at a time; input: data-limit=N, name-limit=N, sync-limit=N",
      command_limits },
    { "reload",
      "read the volfile again, and apply the options that may change while it is mounted",
      command_reload },
    { "reopen-log", "open the log file by its name again, after a rotation; read no volfile",
      command_reopen_log },
    { "rules",
      "print which rules of translators a file meets; input: the path of the file from the root of "
      "the mount",
      command_rules },
    { "state",
      "print, as KEY=VALUE, versions, process, log, errors so far, and what was agreed on with the "
      "kernel",
      command_state },
    { "statedump", "write a state dump, as SIGUSR1 does, and print its path", command_statedump },
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
