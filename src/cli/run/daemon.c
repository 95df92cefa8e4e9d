/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The daemon of a view: this program, started again with --captive. It has a session of its own, so
 * that Ctrl-C reaches the command alone. It holds one end of a socket; when the other end is gone,
 * also by kill -9, it ends. On the socket it says "log PATH", and "ready" when it has mounted.
 */
#include "cli/run/run.h"

#include "core/base/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "/proc/self/exe"
#define LINES_MAX 65536 /* bytes that a daemon says before it is ready */

/* In the daemon's process, which becomes the program. */
static void G_GNUC_NORETURN
daemon_become (pid_t parent, int fd, const struct made_volfile *made, const char *volfile,
               const char *name, const char *mountpoint, bool stays)
{
    g_autoptr (GPtrArray) argv = g_ptr_array_new ();
    sigset_t none;

    prctl (PR_SET_PDEATHSIG, SIGKILL); /* until captive_ready */
    if (getppid () != parent)
        _exit (1);
    fd = fcntl (fd, F_DUPFD, STDERR_FILENO + 1); /* which the program inherits */
    g_ptr_array_add (argv, (char *) "windlass");
    g_ptr_array_add (argv, g_strdup_printf ("--captive=%d%s", fd, stays ? ",stays" : ""));
    g_ptr_array_add (argv, (char *) "-f");
    g_ptr_array_add (argv, (char *) volfile);
    g_ptr_array_add (argv, (char *) "-o");
    g_ptr_array_add (argv, g_strdup_printf ("fsname=windlass:%s", name));
    for (char **option = made->mount; *option; option++)
        g_ptr_array_add (argv, *option);
    g_ptr_array_add (argv, (char *) "--");
    g_ptr_array_add (argv, (char *) mountpoint);
    g_ptr_array_add (argv, NULL);
    sigemptyset (&none);
    sigprocmask (SIG_SETMASK, &none, NULL);
    setsid ();
    namespace_lend_mount ();
    execv (PROGRAM, (char **) argv->pdata);
    say_line (stderr, "windlass run: '" PROGRAM "' can't be executed: %s", g_strerror (errno));
    _exit (1);
}

/* Reads the lines of the daemon until it is ready, or has ended. Returns whether it is ready. */
static bool
daemon_await (struct view_daemon *daemon)
{
    g_autoptr (GString) in = g_string_new (NULL);
    char byte;
    ssize_t n;

    while (in->len < LINES_MAX
           && ((n = read (daemon->fd, &byte, 1)) == 1 || (n < 0 && errno == EINTR))) {
        if (n < 0)
            continue;
        if (byte != '\n') {
            g_string_append_c (in, byte);
            continue;
        }
        if (strcmp (in->str, "ready") == 0)
            return true;
        if (g_str_has_prefix (in->str, "log ")) {
            g_free (daemon->log);
            daemon->log = g_strdup (in->str + strlen ("log "));
        }
        g_string_truncate (in, 0);
    }
    return false;
}

int
view_daemon_start (const struct made_volfile *made, const char *volfile, const char *name,
                   const char *mountpoint, bool stays, struct view_daemon *ret_daemon)
{
    const pid_t parent = getpid ();
    int ends[2], r = 0;

    *ret_daemon = (struct view_daemon){ .fd = -1 };
    fflush (NULL);
    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    ret_daemon->pid = fork ();
    if (ret_daemon->pid == 0)
        daemon_become (parent, ends[1], made, volfile, name, mountpoint, stays);
    r = ret_daemon->pid < 0 ? -errno : 0;
    close (ends[1]);
    ret_daemon->fd = ends[0];
    if (r == 0 && daemon_await (ret_daemon))
        return 0;
    if (r < 0)
        say_line (stderr, "windlass run: no process can be started: %s", g_strerror (-r));
    else
        view_daemon_end (ret_daemon);
    if (ret_daemon->log)
        say_line (stderr, "windlass run: there is no view; the log is '%s'", ret_daemon->log);
    g_clear_pointer (&ret_daemon->log, g_free);
    return r < 0 ? r : -EIO;
}

int
view_daemon_end (struct view_daemon *daemon)
{
    int status = 0;

    if (daemon->fd >= 0)
        close (daemon->fd);
    daemon->fd = -1;
    while (!daemon->ended && waitpid (daemon->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    daemon->ended = true;
    return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}
