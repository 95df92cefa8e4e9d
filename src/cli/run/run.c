/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass run PRESET DIR [-- COMMAND]: a command, or a shell, that sees DIR through a preset.
 *
 *   this process           in a mount namespace of its own; waits
 *     the daemon           mounts over DIR, whose descriptor it has opened before; ends with this
 *                          process
 *     the command          sees the view at DIR
 *
 * The daemon leaves the mount as it is when it ends. So a process that outlives the command fails
 * there, and does not find itself in the bare directory: what it writes would not be rotated,
 * encrypted or checked.
 *
 * If the system refuses the namespace, the view is mounted in a folder of its own, by fusermount3
 * for an ordinary user, and unmounted at the end.
 */
#include "cli/run/run.h"

#include "control/control.h"
#include "core/base/name.h"
#include "core/base/printable.h"
#include "core/base/rundir.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define VIEW "view-" /* files of a run in the run folder: view-PID.vol, and the folder view-PID */

struct run_view {
    const struct cli_command *command;
    const char *preset;
    char *directory; /* the real path of DIR */
    char *where;     /* where the view is: directory, or a folder of its own */
    char *apart;     /* why the view has a folder of its own; NULL: it has none */
    char *inside;    /* the command's current folder, if that is in the view; or NULL */
    char *volfile;   /* the path of its file */
    struct view_place place;
    struct made_volfile made;
    struct view_daemon daemon;
    struct kept_view kept; /* its state is NULL: nothing can be kept */
};

/* --- the directory -------------------------------------------------------------------------- */

/* Whether the directory is the view that this command runs in. A second one at the same place would
 * leave no name for each. */
static bool
run_is_view (const char *directory)
{
    g_autofree char *mountinfo = NULL;
    struct mount mount;
    bool is_view;

    if (g_strcmp0 (g_getenv ("WINDLASS_MOUNT"), directory) != 0
        || !g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL)
        || !mount_find (mountinfo, directory, &mount))
        return false;
    is_view = mount_is_windlass (&mount);
    mount_clear (&mount);
    return is_view;
}

static int
run_find_directory (struct run_view *view, const char *given)
{
    char *path = realpath (given, NULL);
    const int error = errno;
    struct stat st;

    if (!path)
        return run_refuse (view->command, "'%s': %s", given, g_strerror (error));
    view->directory = g_strdup (path);
    free (path);
    if (stat (view->directory, &st) == 0 && !S_ISDIR (st.st_mode))
        return run_refuse (view->command, "'%s' is not a directory", given);
    if (strcmp (view->directory, "/") == 0)
        return run_refuse (view->command, "'/' can't be covered by a view: no program would enter "
                                          "it; name a directory in it");
    if (run_is_view (view->directory))
        return run_refuse (view->command,
                           "'%s' is a view already, of the command that this one belongs to; end "
                           "that command first, or name a directory in the view",
                           view->directory);
    return CLI_OK;
}

/* A caller that is in the directory stays at the same place, in the view. */
static void
run_find_inside (struct run_view *view)
{
    char *here = getcwd (NULL, 0);

    if (here && path_is_in (here, view->directory))
        view->inside = g_strconcat (view->where, here + strlen (view->directory), NULL);
    free (here);
}

/* --- where the view is ---------------------------------------------------------------------- */

/* Makes the folder of a view that can't be mounted over the directory. r, what: of
 * namespace_try. */
static int
run_take_folder (struct run_view *view, const char *dir, int r, const char *what)
{
    const struct namespace_switch *by = geteuid () == 0 ? NULL : namespace_refused_by ("");

    view->where = g_strdup_printf ("%s/" VIEW "%d", dir, (int) getpid ());
    if (mkdir (view->where, 0700) < 0) {
        r = -errno;
        run_refuse (view->command, "the folder '%s' can't be made: %s", view->where,
                    g_strerror (-r));
        return r;
    }
    view->apart = by ? g_strdup_printf ("%s: %s; %s is %s", what, g_strerror (-r), by->setting,
                                        by->refuses)
                     : g_strdup_printf ("%s: %s", what, g_strerror (-r));
    return 0;
}

/* When the view is mounted. */
static void
run_tell_apart (const struct run_view *view)
{
    say_line (stderr,
              "windlass run: this system refuses a mount namespace (%s), so '%s' itself stays as "
              "it is; the view is in '%s' ($WINDLASS_MOUNT)",
              view->apart, view->directory, view->where);
}

/* What is mounted below DIR later does not come into a view whose changes are kept: the lower stays
 * as it was. A part of another view stays where it is: as a mount of its own the daemon would take
 * it for a view that is mounted already. */
static void
run_clone (const struct run_view *view)
{
    g_autofree char *rest = NULL, *error = NULL;
    g_autofree char *around = mount_around (view->directory, &rest, &error);
    const int r = view->kept.state && !around ? namespace_clone (view->directory) : 0;

    if (r < 0)
        say_line (stderr, "windlass run: what is mounted below '%s' from now on shows in the view: "
                          "its mounts can't be copied: %s", view->directory, g_strerror (-r));
}

/* dir: the run folder. */
static int
run_take_place (struct run_view *view, const char *dir)
{
    const char *what;
    int r = namespace_try (&what);

    if (r < 0)
        return run_take_folder (view, dir, r, what);
    view->where = g_strdup (view->directory);
    r = namespace_enter (&what);
    if (r < 0)
        run_refuse (view->command, "%s: %s", what, g_strerror (-r));
    else
        run_clone (view);
    return r;
}

/* --- files of runs in the run folder -------------------------------------------------------- */

/* A run that was killed leaves its files. */
static void
run_sweep (const char *dir)
{
    g_autoptr (GDir) entries = g_dir_open (dir, 0, NULL);
    const char *name;

    while (entries && (name = g_dir_read_name (entries))) {
        g_autofree char *path = g_build_filename (dir, name, NULL);
        const pid_t pid = g_str_has_prefix (name, VIEW)
                            ? (pid_t) strtol (name + strlen (VIEW), NULL, 10)
                            : 0;

        if (pid > 0 && kill (pid, 0) < 0 && errno == ESRCH && unlink (path) < 0)
            (void) rmdir (path); /* not if a view is still mounted there */
    }
}

static int
run_write_volfile (struct run_view *view)
{
    g_autofree char *name = g_strdup_printf (VIEW "%d.vol", (int) getpid ());
    const int r = run_dir_write (name, view->made.text, strlen (view->made.text), &view->volfile);

    if (r < 0)
        run_refuse (view->command, "the volfile of the view can't be written: %s",
                    g_strerror (-r));
    return r;
}

/* --- the command ---------------------------------------------------------------------------- */

static void
run_lost (pid_t pid, void *data)
{
    struct run_view *view = data;

    if (pid != view->daemon.pid)
        return;
    view->daemon.ended = true;
    say_line (stderr,
              "windlass run: the daemon of the view has ended, and what is in '%s' fails "
              "(ENOTCONN)%s%s%s",
              view->where, view->daemon.log ? "; its log is '" : "",
              view->daemon.log ? view->daemon.log : "", view->daemon.log ? "'" : "");
}

static int
run_command (struct run_view *view, char **command)
{
    const char *shell = g_getenv ("SHELL");
    char *argv[] = { (char *) (shell && *shell ? shell : "/bin/sh"), NULL };

    if (!command && view->apart && !view->inside)
        view->inside = g_strdup (view->where);
    if (!command)
        say_line (stderr,
                  "windlass run: in this shell '%s' is seen through preset '%s'%s; 'exit' ends the "
                  "view",
                  view->where, view->preset,
                  view->inside ? "" : "; the current folder is outside of it");
    else if (!view->inside && view->kept.state)
        say_line (stderr, "windlass run: the current folder is outside of '%s': what the command "
                          "does there is no change of the view", view->where);
    g_setenv ("WINDLASS_MOUNT", view->where, TRUE);
    g_setenv ("WINDLASS_VOLFILE", view->volfile, TRUE);
    return child_run (command ? command : argv, view->inside, view->kept.state != NULL, run_lost,
                      view);
}

/* --- the end -------------------------------------------------------------------------------- */

/* A daemon that was killed leaves a view with a folder of its own mounted. */
static void
run_drop_folder (const struct run_view *view)
{
    g_autofree char *mountinfo = NULL, *text = NULL;
    struct mount mount;

    if (g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL)
        && mount_find (mountinfo, view->where, &mount)) {
        unmount_path (&mount, UNMOUNT_LAZY, &text);
        mount_clear (&mount);
    }
    if (rmdir (view->where) < 0)
        say_line (stderr, "windlass run: '%s' stays: %s", view->where, g_strerror (errno));
}

/* Returns the status of all. */
static int
run_finish (struct run_view *view, int status)
{
    const bool lost = view->daemon.ended;
    const int ended = view_daemon_end (&view->daemon);

    if (lost || ended == 0)
        return status;
    say_line (stderr,
              "windlass run: the daemon of the view ended with an error, and what was written last "
              "may be lost%s%s%s",
              view->daemon.log ? "; its log is '" : "",
              view->daemon.log ? view->daemon.log : "", view->daemon.log ? "'" : "");
    return status ? status : RUN_FAILED;
}

static void
run_clear (struct run_view *view)
{
    if (view->volfile)
        unlink (view->volfile);
    if (view->apart)
        run_drop_folder (view);
    run_log_end (&view->place);
    g_free (view->place.logs);
    g_free (view->place.log);
    g_free (view->directory);
    g_free (view->where);
    g_free (view->apart);
    g_free (view->inside);
    g_free (view->volfile);
    g_free (view->daemon.log);
    made_volfile_clear (&view->made);
}

/* --- all of it ------------------------------------------------------------------------------ */

static int
run_start (struct run_view *view)
{
    g_autofree char *dir = NULL, *error = NULL;
    const int fd = run_dir_take (&dir, &error);
    int r;

    if (fd < 0) {
        run_refuse (view->command, "%s", error);
        return fd;
    }
    close (fd);
    run_sweep (dir);
    r = run_take_place (view, dir);
    if (r == 0)
        r = run_write_volfile (view);
    if (r == 0) {
        run_find_inside (view);
        prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        r = view_daemon_start (&view->made, view->volfile, view->preset, view->where, !view->apart,
                               &view->daemon);
    }
    if (r == 0 && view->apart)
        run_tell_apart (view);
    return r;
}

/* The command, and what comes after it. */
static int
run_view (struct run_view *view, char **command)
{
    bool lost;
    int status;

    if (view->kept.state)
        kept_view_write (&view->kept, view->made.text);
    status = run_command (view, command);
    left_tell (view->daemon.pid);
    lost = view->daemon.ended;
    if (view->kept.state && !lost)
        status = kept_view_answer (&view->kept, view->where, status);
    status = run_finish (view, status);
    view->daemon.ended = lost;
    return status;
}

static int
run_make_volfile (struct run_view *view, const struct run_words *words)
{
    const bool has_log = preset_has_log (words->preset);

    view->place = (struct view_place){ .directory = view->directory, .state = view->kept.changes };
    if (!has_log)
        new_log_name (words->preset, &view->place);
    else if (run_log_begin (view->command, words->preset, &view->place) != CLI_OK)
        return CLI_USAGE;
    if (volfile_make (view->command, words->preset, &view->place, words->words, &words->graph,
                      &view->made) < 0)
        return CLI_USAGE;
    if (has_log)
        run_log_tell (view->made.text);
    return CLI_OK;
}

static int
run_words (const struct cli_command *command, const struct run_words *words,
           const struct kept_view *kept)
{
    struct run_view view = { .command = command, .preset = words->preset->name, .kept = *kept };
    bool began = false;
    int status;

    if (preset_is_of_host (words->preset))
        return run_refuse (command,
                           "preset '%s' has no directory that a view could be mounted over; "
                           "'windlass new %s' writes its volfile",
                           view.preset, view.preset);
    status = run_find_directory (&view, words->place);
    if (status == CLI_OK && preset_has_state (words->preset))
        kept_view_tell_descriptors (view.directory);
    if (status == CLI_OK && preset_has_state (words->preset))
        status = kept_view_from (command, view.directory, &view.kept);
    if (status == CLI_OK && preset_has_state (words->preset))
        status = kept_view_begin (command, view.directory, &view.kept);
    if (status == CLI_OK)
        status = run_make_volfile (&view, words);
    if (status == CLI_OK && view.kept.layers)
        status = kept_view_layers (command, &view.kept, &view.made);
    if (status == CLI_OK && run_start (&view) < 0)
        status = RUN_FAILED;
    else
        began = status == CLI_OK;
    if (began)
        status = run_view (&view, words->command);
    else
        view.kept.drops = true; /* there was no view, and so no change */
    kept_view_end (&view.kept, began && view.daemon.ended);
    run_clear (&view);
    return status;
}

int
cli_run (const struct cli_command *command, int argc, char **argv)
{
    struct kept_view kept = { 0 };
    const GOptionEntry rows[] = {
        { "keep", 0, 0, G_OPTION_ARG_STRING, &kept.keep,
          "overlay: keep the changes under this name", "NAME" },
        { "discard", 0, 0, G_OPTION_ARG_NONE, &kept.discard,
          "overlay: throw the changes away at the end", NULL },
        { "apply", 0, 0, G_OPTION_ARG_NONE, &kept.apply,
          "overlay: make the changes in the directory at the end", NULL },
        { "from", 0, 0, G_OPTION_ARG_STRING, &kept.from,
          "overlay: begin with the frozen layers of a kept view", "NAME" },
        { "json", 0, 0, G_OPTION_ARG_NONE, &kept.json,
          "overlay: print the changes and the status as JSON at the end", NULL },
        {},
    };
    struct run_words words = { 0 };
    int status = run_words_parse (command, argc, argv, rows, &words);

    if (status == CLI_OK)
        status = kept_view_check (command, words.preset, &kept);
    if (status == CLI_OK)
        status = run_words (command, &words, &kept); /* frees what kept has */
    else
        kept_view_clear (&kept);
    run_words_clear (&words);
    return status;
}
