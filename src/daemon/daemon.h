/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of the program, besides the graph and the bridge. */
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
    char *volfile; /* absolute, "-", or "SERVER:/VOLUME" */
    char *mountpoint;
    char *backup_servers; /* "SERVER:SERVER...", of -o; already in volfile */
    char *server_port;    /* of all servers, of -o; already in volfile */
    char *subdir;         /* of -o subdir-mount; already in volfile */
    char *volfile_again; /* volfile, or NULL: it can't be read a second time. Set by
                            options_resolve, as volfile_on_server */
    char *volfile_below; /* by which path volfile_again is read if the mount is over it, or NULL */
    char *log_file, *log_level, *pid_file, *volume_name;
    char *oom_score;    /* the value of oom-score-adj, or NULL */
    char *confine_text; /* the value of the option, auto or off; NULL: auto */
    char **xlator_options, **xlator_dirs;
    GPtrArray *bridge;     /* "key=value", ends with NULL once parsed */
    GString *kernel;       /* mount options for the kernel, separated by commas */
    gf_loglevel_t level;
    int64_t inode_limit;
    gboolean no_daemon, debug;
    struct captive {
        int fd;     /* to the process that this daemon belongs to; 0: it belongs to none */
        bool stays; /* the mount ends with its mount namespace; this daemon doesn't unmount it */
    } captive;          /* of captive_text; set by the program */
    char *captive_text; /* the value of the option, or NULL */
    bool confine; /* drop privileges that a mount does not need */
    bool sloppy;  /* of -o: unknown words after it are ignored, with a warning */
    bool volfile_on_server; /* volfile_again is "SERVER:/VOLUME" */
};

/* Returns false if the program should end with *ret_status. */
bool options_parse (struct program_options *ret_options, char **argv, int *ret_status);

void options_clear (struct program_options *options);

/* Calls seen with the rows of the command line of a mount, twice. */
void options_describe (void (*seen) (const GOptionEntry *entries));

/* version.c: prints the versions of the program and its libfuse, the program's path, its build. */
void version_print (void);

/* Makes paths that a reload needs absolute, while the current folder is still the user's. */
void options_resolve (struct program_options *options);

/* The settings for graph_load and graph_reload; lent from options. */
struct graph_settings options_of_graph (const struct program_options *options);

/* Returns true if the option may be given without a value. */
bool option_is_flag (const struct xlator_option *row);
/* Returns "[on|off|translator]", in brackets if the value may be left out, or "VALUE"; synonyms of
 * on and off are left out. Never freed. */
const char *option_values_shown (const struct xlator_option *row);
/* Returns the words of a command line with =on behind each option of the bridge that has no value:
 * in --read-only MOUNTPOINT the library would take the next word for it. g_strfreev it. */
char **options_with_values (char **argv);
/* Sets "key=value" or "key" for a row of the bridge. Returns 0, -ENOENT if there is no such row, or
 * -EINVAL and *ret_error. */
int options_add_bridge (struct program_options *options, const char *key, const char *value,
                        char **ret_error);

/* --- mount-options.c: -o --- */
int mount_options_add (struct program_options *options, const char *text, char **ret_error);

/* Calls fn for each word that -o takes; value: "VALUE", "[on|off]" and the like, or NULL. */
void mount_options_describe (void (*fn) (const char *word, const char *value, void *data),
                             void *data);

/* --- dump-config.c: --dump-config --- */
void dump_config (void);

/* --- oom.c: oom-score-adj --- */
int oom_score_check (const char *text, char **ret_error);
void oom_score_set (const char *text);

/* --- commands.c: commands of a running daemon --- */

/* data of running_commands */
struct running {
    struct graph *graph;
    struct bridge *bridge;
    const struct program_options *options;
    const char *mountpoint; /* real path */
    struct graph **program_graph;   /* graph again, for the program and debuggers */
    struct graph *meta;             /* of .meta, or NULL */
    struct control_server *control; /* or NULL */
    struct volfile_watch *watch;    /* of a volfile on a server, or NULL; follow.c */
    char *wanted;                   /* a volfile of it that has to wait, or NULL; follow.c */
    unsigned again; /* timer that tries it again, or 0 */
    unsigned old_graphs; /* timer that sees whether an old graph can end, or 0; move.c */
    unsigned lease;         /* timer that stops measuring if windlass top does not renew it, or 0;
                               stats.c */
};

extern const struct control_command running_commands[];

/* --- words.c: what commands read and say --- */

/* The words of an input, one per line. Freed with g_strfreev. */
char **command_words (GBytes *input);
/* Appends the error in a word. Returns -EINVAL. */
int command_refuse_word (const char *word, const char *allowed, GString *answer);

/* Appends "what: windlass COMMAND MOUNTPOINT", quoted for a shell. */
void
say_command (const struct running *running, const char *what, const char *command, GString *answer);

/* --- way.c: the translators that a request reaches --- */

struct way_step {
    const xlator_t *xl;
    unsigned parent; /* index of the step before; not used for the first */
};

/* Appends steps, parents first, as "a -> b -> [c -> d, e]": several children are in brackets.
 * more: steps that are left out. */
void way_append (GString *out, const struct way_step *steps, unsigned n, unsigned more);
/* Appends all translators that a request of the bridge with this operation may reach. */
void way_of (const struct graph *graph, enum fop op, GString *out);

/* --- errors.c: the last failures --- */
int command_errors (void *data, GBytes *input, GString *answer);

/* --- state.c: what the daemon is, for windlass doctor --- */
int command_state (void *data, GBytes *input, GString *answer);

/* --- explain.c: how each translator treats a file --- */
int command_explain (void *data, GBytes *input, GString *answer);
int command_rules (void *data, GBytes *input, GString *answer);

/* --- inflight.c: requests without an answer, the oldest first --- */
int command_inflight (void *data, GBytes *input, GString *answer);
void inflight_append (GString *out, int64_t older, bool json);

/* --- jobs.c: the jobs of translators --- */
int command_jobs (void *data, GBytes *input, GString *answer);
int command_job_stop (void *data, GBytes *input, GString *answer);
int command_job_answer (void *data, GBytes *input, GString *answer);

/* --- reload.c: the volfile is read again --- */
/* If the volfile lies in the mount point, opens its folder, so that a reload finds it under the
 * mount. Call it before the mount, in the process that reloads. */
void reload_keep_volfile (struct program_options *options, const char *mountpoint);
/* Reads the volfile again with graph_reload, and also logs its answer; or takes a volfile that was
 * read. -EAGAIN: it has to wait. */
int running_reload (struct running *running, GString *answer);
int running_reload_as (struct running *running, struct volfile *volfile, GString *answer);
int command_reload (void *data, GBytes *input, GString *answer);
/* Opens the log by its name again, after a rotation; the volfile is not read. */
int command_reopen_log (void *data, GBytes *input, GString *answer);
/* SIGHUP: reopens the log, and reloads. */
void running_hang_up (struct running *running);

/* --- move.c: another graph --- */

/* Moves the mount to a graph that is loaded, and owned from now on. 0, or a negative errno. */
int running_move (struct running *running, struct graph *fresh, GString *answer);
void move_end (struct running *running);

/* --- follow.c: a volfile on a server --- */
void follow_begin (struct running *running); /* posts EVENT_VOLFILE when it has changed */
void follow_take (struct running *running);
void follow_end (struct running *running);

/* timeline.c: start, stop and clear; and the recording, in pieces. */
int running_timeline (void *data, GBytes *input, GString *answer);
int running_timeline_cat (void *data, GBytes *input, GString *answer);

/* stats.c: numbers of objects; counters and times. */
int running_counts (void *data, GBytes *input, GString *answer);
int running_stats (void *data, GBytes *input, GString *answer);
/* Starts to measure if the bridge's option says so. */
void running_measure (const struct running *running);
/* SIGUSR2: OpenMetrics to a file. */
void running_dump_metrics (const struct running *running);
/* Ends the lease of windlass top. */
void running_end_lease (struct running *running);

/* --- trace.c: windlass trace --- */
int command_trace_start (void *data, GBytes *input, GString *answer);
int command_trace_stop (void *data, GBytes *input, GString *answer);
int command_trace_cat (void *data, GBytes *input, GString *answer);

/* --- paths.c: default paths --- */
#define DIR_LOG "/var/log/windlass"

/* The folder of logs. Freed with g_free. */
char *path_log_dir (void);
/* The log of a mount point; makes its folder on demand. If that can't be used, tells on stderr of
 * another. A user's log of more than 16 MiB is renamed first. Freed with g_free. NULL, and
 * *ret_error. */
char *path_log (const char *mountpoint, char **ret_error);
/* Relative to the current folder. Freed with g_free. */
char *path_absolute (const char *path);

/* --- mountpoint.c: checks of the mount point --- */

#define MOUNT_PATIENCE 5000 /* milliseconds for what is at a mount point to answer a question */

/* Returns the real path, or NULL and *ret_error: it can't be mounted there, or the file system does
 * not answer. Unmounts a mount whose daemon is gone. */
char *mountpoint_check (const char *path, char **ret_error);

/* Returns -EINVAL, and *ret_error, if a directory that the graph works on contains the mount point,
 * or lies in the mount. Only directories that are not open yet are checked, so call it before
 * graph_activate. */
int mountpoint_check_roots (const struct graph *graph, const char *mountpoint, char **ret_error);

/* The device of the file system that is mounted there, or 0. Does not access it. */
dev_t mountpoint_device (const char *path);

/* Warns on stderr about files that the mount hides. */
void mountpoint_notice (const struct graph *graph, const char *mountpoint);

/* --- namespaces.c: pid namespaces --- */

/* If /proc belongs to another pid namespace, sets processes_are_known to false, so that nothing
 * reads callers' files in /proc. Call it while the process has one thread. */
void namespaces_look (void);
/* Logs a warning if groups of callers can't be known. */
void namespaces_warn (const char *mountpoint);

/* --- background.c: a daemon that reports how its start went --- */

/* Forks. The parent waits until the child is ready or has ended, and then exits. Returns 0 in the
 * child, or a negative errno. */
int background_begin (void);
/* The child works: lets the parent exit. keep_stderr: the log goes there. */
void background_ready (bool keep_stderr);

/* Makes, locks and fills a pid file. Returns 0 or a negative errno: -EAGAIN if another process has
 * it. */
int pid_file_take (const char *path);
void pid_file_drop (void);

/* The parts of these that a captive needs: closes all inherited descriptors but the standard ones
 * and `but`; gives up the terminal. */
void background_close_inherited (int but);
void background_leave_terminal (bool keep_stderr);

/* --- captive.c: a daemon that belongs to another process --- */

/* Reads "FD[,stays]". Returns 0, or -EINVAL and *ret_error. */
int captive_parse (const char *text, struct captive *ret_captive, char **ret_error);
/* Returns 0, or a negative errno. The others do nothing in a daemon that belongs to no process. */
int captive_begin (const struct captive *captive);
void captive_tell_log (const char *path);
/* It has mounted. From now on the main thread gets SIGTERM when the other process ends. */
void captive_ready (void);

/* --- notify.c: what a service manager is told; nothing if NOTIFY_SOCKET names none --- */

/* Opens the socket. Call it after background_begin, which closes descriptors. */
void notify_begin (void);
void notify_ready (const char *mountpoint); /* the mount answers, or a reload is over */
void notify_reloading (void);
void notify_stopping (void);

/* --- confine.c: drops privileges; logs at DEBUG what is in force --- */

/* For this thread and those that it starts, so it is called before there are others. Drops only
 * what is never needed. stays: the daemon never unmounts, so a user's can be confined too. */
void confine_capabilities (bool stays);
/* For all threads, once it is mounted: from then on no program can be started and no file system
 * mounted. */
void confine_system_calls (bool stays);

/* --- signals.c --- */

/* The main thread waits for a signal's number, or for one of these. */
#define EVENT_UNMOUNTED 255
#define EVENT_VOLFILE 254

int signals_init (void);
void signals_catch_end (void); /* SIGTERM and SIGINT: call when an orderly end becomes necessary */
void signals_post (int event);
int signals_wait (void);

/* --- crash.c: a report in the log --- */
void crash_init (void);

/* crash_aborts gives the file of stale_abort_file. A thread that waits in the kernel for a caller's
 * lock keeps the process from ending while the caller waits for an answer: so crash_abort, and a
 * crash, end the connection. */
void crash_aborts (int file);
void crash_abort (void);

/* --- statedump/ --- */
/* Writes a dump and appends its path, or why it failed, which is logged, too. */
int statedump (const struct running *running, GString *answer);

#endif
