/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass -f FILE MOUNTPOINT
 *
 *   options -> volfile, graph -> mount point checks        errors go to the terminal; there are no
 *                                                          side effects yet
 *   fork    -> graph_activate -> mount -> INIT answered    the parent waits for this; its exit
 *                                                          status tells the result
 *   wait for a signal, or for the unmount                  the main thread; fuse-N and fuse-ring-N
 *                                                          answer the kernel
 */
#include "cli/cli.h"
#include "core/report/failures.h"
#include "core/time/attempt.h"
#include "core/base/arguments.h"
#include "core/base/log-journal.h"
#include "core/base/printable.h"
#include "core/base/safe-open.h"
#include "core/time/thread.h"
#include "core/time/timer.h"
#include "daemon/daemon.h"
#include "trace/probes.h"
#include "trace/metrics/numbers.h"
#include "trace/timeline/timeline.h"
#include "meta/meta.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct program {
    struct program_options options;
    char **argv, **argv_given; /* main's words, where secrets are hidden, and a copy of before */
    char *command_line;        /* without secrets */
    char *mountpoint; /* resolved by realpath(3) */
    struct graph *graph;
    struct bridge *bridge;
    struct graph *meta; /* the graph of .meta; NULL: none */
    struct running running; /* the same, for commands */
    struct control_server *control; /* NULL if it could not be started */
};

/* Static, so that a debugger finds the graph in any process and core dump. Functions get it as an
 * argument. */
static struct program the_program;

/* The journal gets an entry with its fields, the terminal a line. */
static int
fail (const char *text)
{
    if (log_is_journal ())
        gf_log (NULL, GF_LOG_ERROR, "%s", text);
    else
        say_line (stderr, "windlass: %s", text);
    return 1;
}

static void
tell_problems (const struct volfile *volfile)
{
    if (!log_is_journal ()) {
        volfile_print_problems (volfile);
        return;
    }
    for (guint i = 0; i < volfile->problems->len; i++) {
        const struct problem *problem = volfile->problems->pdata[i];
        g_autoptr (GString) text = g_string_new (NULL);

        problem_append (volfile, problem, text);
        gf_log (NULL, problem->warning ? GF_LOG_WARNING : GF_LOG_ERROR, "%s", text->str);
    }
}

/* --- before side effects --- */

/* Every user can read these words. Which options are secret is known when the modules are loaded;
 * until then the values of all --xlator-options are hidden. */
static void
hide_options (struct program *program, char **argv)
{
    char **options = program->options.xlator_options;

    program->argv = argv;
    program->argv_given = g_strdupv (argv);
    for (; options && *options; options++)
        arguments_hide (argv, *options);
}

static void
show_options (struct program *program)
{
    char **options = program->options.xlator_options;

    for (; options && *options; options++)
        if (!graph_option_is_secret (program->graph, *options))
            arguments_show (program->argv, program->argv_given, *options);
    program->command_line = g_strjoinv (" ", program->argv);
}

static int
main_load (struct program *program)
{
    const struct program_options *options = &program->options;
    const struct graph_settings settings = options_of_graph (options);
    g_autofree char *error = NULL;
    struct volfile *volfile = volfile_read (options->volfile, &error);

    if (!volfile)
        return fail (error);
    program->graph = graph_load (volfile, &settings);
    tell_problems (volfile);
    if (volfile_has_errors (volfile))
        return 1;
    show_options (program);
    return 0;
}

static int
check_mountpoint (struct program *program)
{
    g_autofree char *error = NULL;

    program->mountpoint = mountpoint_check (program->options.mountpoint, &error);
    if (!program->mountpoint
        || mountpoint_check_roots (program->graph, program->mountpoint, &error) < 0)
        return fail (error);
    if (!program->options.captive.fd) /* its starter says where the view is */
        mountpoint_notice (program->graph, program->mountpoint);
    return 0;
}

static int
take_captive (struct program *program)
{
    struct program_options *options = &program->options;
    g_autofree char *error = NULL;

    if (!options->captive_text
        || captive_parse (options->captive_text, &options->captive, &error) == 0)
        return 0;
    return fail (error);
}

/* Resolves names of files while the current folder is still the user's. A log that the user names
 * goes before the journal. */
static int
choose_log (struct program *program)
{
    struct program_options *options = &program->options;
    g_autofree char *error = NULL;
    char *path;

    options_resolve (options);
    if (log_is_journal () || (options->log_file && strcmp (options->log_file, "-") == 0))
        return 0;
    path = options->log_file ? path_absolute (options->log_file)
                             : path_log (program->mountpoint, &error);
    if (!path)
        return fail (error);
    g_free (options->log_file);
    options->log_file = path;
    return 0;
}

/* --- in the background, unless --no-daemon --- */

/* Returns a message about the missing directory of a file that couldn't be created, or "". */
static char *
missing_folder (const char *path, int r)
{
    g_autofree char *folder = g_path_get_dirname (path);

    if (r == -ENOENT && !g_file_test (folder, G_FILE_TEST_EXISTS))
        return g_strdup_printf (": there is no directory '%s'; make it first", folder);
    return g_strdup ("");
}

static int
take_pid_file (struct program *program)
{
    g_autofree char *path = program->options.pid_file ? path_absolute (program->options.pid_file)
                                                      : NULL;
    g_autofree char *error = NULL, *folder = NULL;
    int r = path ? pid_file_take (path) : 0;

    if (r == 0)
        return 0;
    folder = missing_folder (path, r);
    error = r == -EAGAIN
              ? g_strdup_printf ("pid file '%s' is in use by another process", path)
              : g_strdup_printf ("pid file '%s': %s%s", path,
                                 r == -EPERM || r == -ELOOP ? NOT_OURS : g_strerror (-r), folder);
    return fail (error);
}

static int
open_log (struct program *program)
{
    const struct program_options *options = &program->options;
    g_autofree char *error = NULL, *folder = NULL;
    int r = options->log_file ? log_open (options->log_file) : 0;

    if (!options->log_file)
        log_open_journal (program->mountpoint);
    if (r < 0) {
        folder = missing_folder (options->log_file, r);
        error = g_strdup_printf ("log file '%s': %s%s", options->log_file,
                                 r == -EPERM ? NOT_OURS : g_strerror (-r), folder);
        return fail (error);
    }
    if (options->log_file)
        captive_tell_log (options->log_file);
    log_set_level (options->level);
    log_set_tee (true);
    gf_log (NULL, GF_LOG_INFO,
            "started running version [{arg=windlass}, {version=%s}, {cmdlinestr=%s}]",
            PACKAGE_VERSION, program->command_line);
    return 0;
}

/* Logs an error that is not logged yet. */
static int
fail_logged (const char *text)
{
    gf_log (NULL, GF_LOG_ERROR, "%s", text);
    return 1;
}

/* In the log, and on the terminal where the log is not: whoever mounts would not look. */
static void
tell_mounter (gf_loglevel_t level, const char *text)
{
    gf_log (NULL, level, "%s", text);
    if (log_fd () != STDERR_FILENO)
        say_line (stderr, "windlass: %s: %s", level == GF_LOG_NOTICE ? "notice" : "warning",
                  text);
}

static void G_GNUC_PRINTF (1, 2)
warn (const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start (args, format);
    text = g_strdup_vprintf (format, args);
    va_end (args);
    tell_mounter (GF_LOG_WARNING, text);
}

static void
give_notice (const struct bridge *bridge)
{
    g_autofree char *notice = bridge_notice (bridge);

    if (notice)
        tell_mounter (GF_LOG_NOTICE, notice);
}

static int
fail_to_start (const char *what, int r)
{
    g_autofree char *reason = attempt_reason (-r);

    gf_log (NULL, GF_LOG_ERROR, "can't start a %s: %s", what, reason);
    return 1;
}

static int
set_up (struct program *program)
{
    const struct program_options *options = &program->options;
    int r = options->captive.fd  ? captive_begin (&options->captive)
            : options->no_daemon ? 0
                                 : background_begin ();

    if (r < 0) {
        g_autofree char *reason = attempt_reason (-r),
                        *error = g_strdup_printf ("can't start a process in the background: %s",
                                                  reason);
        return fail (error);
    }
    if (take_pid_file (program) || open_log (program))
        return 1;
    if (!options->captive.fd) /* that service is the command of the view */
        notify_begin ();
    /* Before the first thread, since threads keep the folder in which they start. */
    if (!program->options.no_daemon && chdir ("/") < 0)
        return fail_logged (g_strerror (errno));
    crash_init ();
    r = signals_init ();
    return r < 0 ? fail_logged (g_strerror (-r)) : 0;
}

static void
mount_gone (void)
{
    signals_post (EVENT_UNMOUNTED);
}

static void
main_dump_asked (void)
{
    signals_post (SIGUSR1);
}

static const struct bridge_hooks bridge_hooks = { mount_gone, main_dump_asked };

static void
log_graph (const struct graph *graph)
{
    g_autofree char *text = NULL;

    if (!log_wants (NULL, GF_LOG_INFO))
        return;
    text = graph_text (graph);
    gf_log (NULL, GF_LOG_INFO, "Final graph:");
    log_text (text);
}

static void
make_meta (struct program *program)
{
    const struct meta_of of = { .name = bridge_hidden_name (program->bridge),
                                .graph = program->graph,
                                .bridge = bridge_xlator (program->bridge),
                                .command_line = program->command_line,
                                .version = PACKAGE_VERSION };

    if (!of.name)
        return;
    program->meta = meta_new (&of);
    bridge_hide (program->bridge, program->meta);
}

/* Starts everything until the kernel gets answers. */
static int
main_start (struct program *program)
{
    const struct program_options *options = &program->options;
    g_autofree char *error = NULL;
    int r;

    if (options->oom_score)
        oom_score_set (options->oom_score); /* to lower it takes a capability */
    /* Before the first thread, since a thread inherits the capabilities of its creator. */
    if (options->confine)
        confine_capabilities (options->captive.stays);
    r = timers_start ();
    if (r < 0)
        return fail_to_start ("thread for timers", r);
    reload_keep_volfile (&program->options, program->mountpoint);
    roots_set_mountpoint (program->graph->roots, program->mountpoint);
    if (bridge_is_read_only ((const char *const *) options->bridge->pdata, options->kernel->str))
        roots_set_read_only (program->graph->roots);
    if (graph_activate (program->graph) < 0)
        return 1; /* which logs the reason */
    if (!__atomic_load_n (&program->graph->top->up, __ATOMIC_RELAXED))
        return fail_logged ("nothing is mounted: what is below is not available (see above)");
    probes_begin (program->graph->xlators);
    program->bridge = bridge_new (program->graph, program->mountpoint,
                                  (const char *const *) options->bridge->pdata,
                                  options->kernel->str, &error);
    if (!program->bridge)
        return fail_logged (error);
    make_meta (program);
    signals_catch_end ();
    if (options->captive.stays)
        bridge_leave_mounted (program->bridge);
    if (bridge_mount (program->bridge, &error) < 0)
        return fail_logged (error);
    roots_set_device (program->graph->roots, mountpoint_device (program->mountpoint));
    crash_aborts (stale_abort_file (program->mountpoint));
    if (options->confine)
        confine_system_calls (options->captive.stays);
    r = bridge_start (program->bridge, &bridge_hooks);
    if (r < 0)
        return fail_to_start ("thread for requests", r);
    r = bridge_wait_ready (program->bridge);
    if (r == 0 && bridge_passthrough_check (program->bridge, &error) < 0)
        return fail_logged (error);
    if (r < 0) {
        error = g_strdup_printf ("the kernel and '%s' could not agree: %s", program->mountpoint,
                                 g_strerror (-r));
        return fail_logged (error);
    }
    return 0;
}

/* fusermount3 mounts without the file that it takes to unmount. */
static void
warn_of_unmount (const char *mountpoint)
{
    const char *missing = unmount_mtab_missing ();

    if (missing)
        warn ("%s: neither 'fusermount3 -u' nor the end of this daemon will unmount '%s'; 'umount "
              "%s' does",
              missing, mountpoint, mountpoint);
}

static bool
is_mounted (void *data)
{
    const struct running *running = data;

    return !bridge_connection_is_gone (running->bridge);
}

/* A failure is no error, since the mount works without the control socket. */
static void
serve_control (struct program *program)
{
    g_autofree char *error = NULL;

    program->running = (struct running){ .graph = program->graph,
                                         .bridge = program->bridge,
                                         .options = &program->options,
                                         .mountpoint = program->mountpoint,
                                         .program_graph = &program->graph,
                                         .meta = program->meta };
    running_measure (&program->running);
    follow_begin (&program->running);
    program->control = control_serve (program->graph, program->mountpoint, running_commands,
                                      is_mounted, &program->running, &error);
    if (!program->control)
        warn ("no control socket: %s; 'windlass reload', 'windlass counts' and the like will not "
              "work with this mount",
              error);
    program->running.control = program->control;
}

/* The log has the file's name. */
static void
dump_state (const struct program *program)
{
    g_autoptr (GString) ignored = g_string_new (NULL);

    statedump (&program->running, ignored);
}

/* Runs until a signal or an unmount. */
static void
main_run (struct program *program)
{
    for (;;) {
        int event = signals_wait ();

        switch (event) {
        case SIGHUP:
            running_hang_up (&program->running);
            break;
        case SIGUSR1:
            dump_state (program);
            break;
        case SIGUSR2:
            running_dump_metrics (&program->running);
            break;
        case EVENT_VOLFILE:
            follow_take (&program->running);
            break;
        case EVENT_UNMOUNTED:
            gf_log (NULL, GF_LOG_INFO, "'%s' was unmounted, shutting down", program->mountpoint);
            return;
        default:
            gf_log (NULL, GF_LOG_WARNING, "received signum (%d), shutting down", event);
            return;
        }
    }
}

static void
main_stop (struct program *program)
{
    struct control_ending *ending = control_stop (program->control);
    bool left, ended;

    follow_end (&program->running);
    move_end (&program->running);
    if (program->bridge)
        bridge_stop (program->bridge);
    left = program->bridge && bridge_is_left (program->bridge);
    if (program->bridge && bridge_is_stuck (program->bridge)) {
        /* Threads still run translators' code, so nothing can be freed. */
        gf_log (NULL, GF_LOG_ERROR, "gone with requests unanswered");
        pid_file_drop ();
        control_ended (ending, false);
        crash_abort ();
        if (left)
            bridge_become_unmount (program->mountpoint);
        _exit (1);
    }
    timeline_end ();
    probes_end ();
    running_end_lease (&program->running);
    ended = !program->bridge || bridge_end_old_graphs (program->bridge);
    g_assert (ended);
    if (program->graph)
        graph_deactivate (program->graph);
    bridge_free (program->bridge);
    graph_free (program->meta);
    if (program->graph)
        numbers_free (program->graph->xlators);
    graph_free (program->graph);
    pid_file_drop ();
    control_ended (ending, true);
    log_close ();
    if (left)
        bridge_become_unmount (program->mountpoint);
    g_free (program->mountpoint);
}

static int
mount_and_run (struct program *program)
{
    int status;

    namespaces_look ();
    if (!program->options.log_file && journal_has_stderr ())
        log_open_journal (program->options.mountpoint);
    status = take_captive (program);
    if (status == 0)
        status = main_load (program);
    if (status == 0)
        status = check_mountpoint (program);
    if (status == 0)
        status = choose_log (program);
    if (status == 0)
        status = set_up (program);
    if (status == 0)
        status = main_start (program);
    if (status == 0) {
        log_graph (program->graph);
        serve_control (program);
        namespaces_warn (program->mountpoint);
        gf_log (NULL, GF_LOG_INFO, "'%s' is mounted", program->mountpoint);
        if (!program->options.captive.stays)
            warn_of_unmount (program->mountpoint);
        give_notice (program->bridge);
        log_set_tee (false);
        notify_ready (program->mountpoint);
        background_ready (log_fd () == STDERR_FILENO);
        if (program->options.captive.fd)
            background_leave_terminal (log_fd () == STDERR_FILENO);
        captive_ready ();
        main_run (program);
        notify_stopping ();
    }
    main_stop (program);
    return status;
}

static const struct cli_mount mount_line = { options_describe, mount_options_describe };

int
main (int argc, char **argv)
{
    struct program *program = &the_program;
    bool handled = false;
    int status;

    setlocale (LC_ALL, "");
    thread_adopt ("windlass");
    stack_background_done = failure_note_background;
    cli_add_type ("mount/fuse", "connects a mount to the kernel, on top of every graph",
                  bridge_options);
    cli_mount = &mount_line;
    status = cli_main (argc, argv, &handled);
    if (handled)
        return status;
    if (options_parse (&program->options, argv, &status)) {
        hide_options (program, argv);
        status = mount_and_run (program);
    }
    options_clear (&program->options);
    g_strfreev (program->argv_given);
    g_free (program->command_line);
    return status;
}
