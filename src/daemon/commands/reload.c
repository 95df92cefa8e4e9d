/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass reload, and SIGHUP: the volfile is read again, its options applied. And the log alone is
 * opened again. */
#include "daemon/daemon.h"
#include "core/base/name.h"
#include "core/base/process.h"

#include "core/base/safe-open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

void
reload_keep_volfile (struct program_options *options, const char *mountpoint)
{
    char *real = options->volfile_on_server ? NULL : realpath (options->volfile, NULL);
    g_autofree char *folder = real ? g_path_get_dirname (real) : NULL,
                    *name = real ? g_path_get_basename (real) : NULL;
    const int fd = real && path_is_in (real, mountpoint)
                     ? open (folder, O_PATH | O_DIRECTORY | O_CLOEXEC)
                     : -1;

    if (fd >= 0) /* open until the process ends */
        options->volfile_below = g_strdup_printf ("/proc/self/fd/%d/%s", fd, name);
    free (real);
}

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

/* The path of the volfile that does not lead into this mount, for which the main thread must not
 * wait. */
static const char *
reload_path (const struct program_options *options)
{
    return options->volfile_below ? options->volfile_below : options->volfile_again;
}

/* The main thread must not wait for a pipe that replaced the file either. */
static int
reload_check (const struct running *running, GString *answer)
{
    const struct program_options *options = running->options;

    if (!options->volfile_again)
        return refuse_reload (options, answer);
    if (options->volfile_on_server)
        return 0;
    if (g_file_test (reload_path (options), G_FILE_TEST_IS_REGULAR))
        return 0;
    g_string_append_printf (answer,
                            "the volfile '%s' can't be read again: there is no such file any "
                            "more\nnothing was changed\n",
                            options->volfile_again);
    return -EINVAL;
}

static struct volfile *
reload_read (const struct running *running, GString *answer)
{
    const struct program_options *options = running->options;
    g_autofree char *error = NULL;
    struct volfile *volfile = volfile_read (reload_path (options), &error);

    if (!volfile) {
        g_string_append_printf (answer, "%s\nnothing was changed\n", error);
        return NULL;
    }
    g_free (volfile->path);
    volfile->path = g_strdup (options->volfile_again); /* as messages name it */
    return volfile;
}

static void
log_lines (gf_loglevel_t level, const char *before, const GString *text)
{
    g_auto (GStrv) lines = g_strsplit (text->str, "\n", -1);

    for (char **line = lines; *line; line++)
        if (**line)
            gf_log (NULL, level, "%s%s", before, *line);
}

static void
log_answer (int r, const GString *answer)
{
    log_lines (r < 0 ? GF_LOG_WARNING : GF_LOG_INFO, "reload: ", answer);
}

int
running_reload_as (struct running *running, struct volfile *volfile, GString *answer)
{
    const struct graph_settings settings = options_of_graph (running->options);
    struct graph *fresh = NULL;
    int r = graph_reload (running->graph, volfile, &settings, &fresh, answer);

    if (fresh)
        r = running_move (running, fresh, answer);
    if (process_was_upgraded ())
        g_string_append (answer, "windlass was upgraded since this mount began: the mount goes on "
                                 "with the old version until it is unmounted and mounted again\n");
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

/* Opens the logs of translators, too: errors gets a line for each that can't be opened.
 *
 * A line of a log in the mount would be a request, which may write another line. The owner of a
 * folder on the way may have put a symbolic link into the mount there; the mount is not asked. */
static int
reopen_logs (const struct running *running, GString *errors)
{
    xlator_notify (running->graph->top, XLATOR_REOPEN_LOGS, errors);
    g_autofree char *path = log_path (), *rest = NULL, *error = NULL,
                    *around = path ? mount_around (path, &rest, &error) : NULL;

    return around && path_is_in (around, running->mountpoint)
             ? -EDEADLK
             : log_reopen (mountpoint_device (running->mountpoint));
}

static const char *
reopen_reason (int r)
{
    return r == -EDEADLK ? "the mount is over it" : r == -EPERM ? NOT_OURS : g_strerror (-r);
}

void
running_hang_up (struct running *running)
{
    g_autoptr (GString) answer = g_string_new (NULL), errors = g_string_new (NULL);
    int r;

    notify_reloading ();
    r = reopen_logs (running, errors);
    if (r < 0)
        gf_log (NULL, GF_LOG_WARNING, "can't reopen the log: %s; the old one stays",
                reopen_reason (r));
    log_lines (GF_LOG_ERROR, "", errors);
    /* Log rotation needs no warning each time that there is no file to read. */
    if (running->options->volfile_again)
        running_reload (running, answer);
    notify_ready (running->mountpoint);
}

int
command_reload (void *data, GBytes *input, GString *answer)
{
    struct running *running = data;
    int r;

    notify_reloading ();
    r = running_reload (running, answer);
    notify_ready (running->mountpoint);
    return r;
}

int
command_reopen_log (void *data, GBytes *input, GString *answer)
{
    g_autoptr (GString) errors = g_string_new (NULL);
    g_autofree char *path = log_path ();
    const int r = reopen_logs (data, errors);

    if (!path)
        g_string_append (answer, "the log is no file, but the standard error or the journal: "
                                 "there is nothing to open\n");
    else if (r < 0)
        g_string_append_printf (answer, "the log '%s' can't be opened: %s; the old one stays\n",
                                path, reopen_reason (r));
    else
        g_string_append_printf (answer, "the log is the file '%s'\n", path);
    if (r < 0)
        gf_log (NULL, GF_LOG_WARNING, "%.*s", (int) answer->len - 1, answer->str);
    log_lines (GF_LOG_ERROR, "", errors);
    g_string_append (answer, errors->str);
    return r < 0 ? r : errors->len > 0 ? -EIO : 0;
}
