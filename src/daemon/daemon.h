/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the program is made of, besides the graph and the bridge. */
#ifndef WINDLASS_DAEMON_DAEMON_H
#define WINDLASS_DAEMON_DAEMON_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "control/control.h"
#include "fuse/bridge.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

enum {
    EXIT_USAGE = 64, /* of sysexits.h */
};

/* --- options.c: the command line --- */

struct program_options {
    char *volfile, *mountpoint;
    char *volfile_again; /* its absolute path; NULL: can't be read a second time. Of
                            options_resolve */
    char *log_file, *log_level, *pid_file, *volume_name;
    char *confine_text; /* auto or off, as it was given; NULL: auto */
    char **xlator_options, **xlator_dirs;
    GPtrArray *bridge;     /* "key=value", NULL at the end once parsed */
    GString *kernel;       /* mount options for the kernel, with commas */
    gf_loglevel_t level;
    int64_t inode_limit;
    gboolean no_daemon, debug;
    bool confine; /* give up what a mount doesn't need */
};

/* false when there is nothing more to do: *ret_status is the exit status. */
bool options_parse (struct program_options *ret_options, char **argv, int *ret_status);
void options_clear (struct program_options *options);

/* Makes absolute what a reload looks for, while the current folder is still the user's. */
void options_resolve (struct program_options *options);

/* What graph_load and graph_reload want; lent from options. */
struct graph_settings options_of_graph (const struct program_options *options);

/* "key=value" or "key" for a row of the bridge. 0, or -ENOENT when there is no such row, -EINVAL
 * and *ret_error. */
int options_add_bridge (struct program_options *options, const char *key, const char *value,
                        char **ret_error);

/* --- mount-options.c: -o --- */
int mount_options_add (struct program_options *options, const char *text, char **ret_error);

/* --- commands.c: what it can be told while it runs --- */

/* The words of an input, one a line. g_strfreev it. */
char **command_words (GBytes *input);
/* -EINVAL, and what is wrong with a word. */
int command_refuse_word (const char *word, const char *allowed, GString *answer);

/* data of running_commands */
struct running {
    struct graph *graph;
    struct bridge *bridge;
    const struct program_options *options;
    const char *mountpoint; /* real path */
    unsigned lease;         /* what ends it when windlass top doesn't renew it, or 0; stats.c */
};

extern const struct control_command running_commands[];

/* "what: windlass COMMAND MOUNTPOINT", which a shell takes as it is. */
void
say_command (const struct running *running, const char *what, const char *command, GString *answer);

/* --- errors.c: the last failures --- */
int command_errors (void *data, GBytes *input, GString *answer);

/* --- explain.c: what each translator does with a file --- */
int command_explain (void *data, GBytes *input, GString *answer);

/* --- inflight.c: requests without an answer, the oldest first --- */
int command_inflight (void *data, GBytes *input, GString *answer);
void inflight_append (GString *out, int64_t older, bool json);

/* Reads the volfile again: graph_reload, and what it answers is logged as well. */
int running_reload (const struct running *running, GString *answer);
/* timeline.c: start, stop and clear; and what was recorded, in pieces. */
int running_timeline (void *data, GBytes *input, GString *answer);
int running_timeline_cat (void *data, GBytes *input, GString *answer);

/* stats.c: what there is of everything; what was counted and timed. */
int running_counts (void *data, GBytes *input, GString *answer);
int running_stats (void *data, GBytes *input, GString *answer);
/* Starts to measure if the bridge's option says so. */
void running_measure (const struct running *running);
/* SIGUSR2: OpenMetrics to a file. */
void running_dump_metrics (const struct running *running);
/* Nobody looks any more. */
void running_end_lease (struct running *running);

/* SIGHUP: a new log, and a reload. */
void running_hang_up (const struct running *running);

/* --- trace.c: windlass trace --- */
int command_trace_start (void *data, GBytes *input, GString *answer);
int command_trace_stop (void *data, GBytes *input, GString *answer);
int command_trace_cat (void *data, GBytes *input, GString *answer);

/* --- paths.c: where things are by default --- */
#define DIR_LOG "/var/log/windlass"

/* Folders for one user when it isn't root. g_free them. */
char *path_log_dir (void);
char *path_run_dir (void);
/* The log of a mount point, its folder made if need be. g_free it. NULL, and *ret_error. */
char *path_log (const char *mountpoint, char **ret_error);
/* From the current folder. g_free it. */
char *path_absolute (const char *path);

/* --- mountpoint.c: may it be mounted there? --- */

/* The real path. NULL, and *ret_error. What a daemon that is gone left mounted there is
 * unmounted. */
char *mountpoint_check (const char *path, char **ret_error);

/* -EINVAL, and *ret_error, when a storage of the graph holds the mount point. */
int mountpoint_check_storage (const struct graph *graph, const char *mountpoint, char **ret_error);

/* Says on stderr what can't be reached by its name while something is mounted there. */
void mountpoint_notice (const struct graph *graph, const char *mountpoint);

/* --- background.c: a daemon that says how its start went --- */

/* Forks. In the parent it doesn't return before the child is ready or gone, and then exits. 0 in
 * the child, or a negative errno. */
int background_begin (void);
/* The child works: the parent may go. keep_stderr: the log goes there. */
void background_ready (bool keep_stderr);

/* Makes, locks and fills a pid file. 0, or a negative errno: -EAGAIN when somebody else has it. */
int pid_file_take (const char *path);
void pid_file_drop (void);

/* --- confine.c: what a daemon of root gives up; each says at DEBUG what is in force --- */

/* Of this thread and those it starts: before there are others. Only what is needed at no time
 * goes. */
void confine_capabilities (void);
/* Of all threads, once it is mounted: no program can be started and nothing can be mounted any
 * more. */
void confine_system_calls (void);

/* --- signals.c --- */

/* What the main thread waits for: a signal's number, or this. */
#define EVENT_UNMOUNTED 255

int signals_init (void);
void signals_catch_end (void); /* SIGTERM and SIGINT: from here on there is something to lose */
void signals_post (int event);
int signals_wait (void);

/* --- crash.c: a report in the log --- */
void crash_init (void);

/* --- statedump/ --- */
void statedump (const struct running *running);

#endif
