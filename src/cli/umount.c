/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass umount: unmounts, and waits until the daemon has written what it keeps and has ended.
 *
 * A process that accesses a mount that hangs hangs with it. So the mount point is found by its
 * text; the kernel is asked to unmount by a process of its own; and files that are in use are found
 * by the links in /proc, of which the kernel knows the text.
 */
#include "cli/cli.h"
#include "control/control.h"
#include "core/base/name.h"
#include "core/base/path-question.h"
#include "core/base/printable.h"
#include "core/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNMOUNT_PATIENCE 10000 /* milliseconds for the kernel to unmount */
#define BUSY_TRIES 10
#define BUSY_PAUSE 50000 /* microseconds */
#define LOOK_PATIENCE 3000     /* milliseconds to find who uses it */
#define TELL_AFTER 5000        /* milliseconds of waiting for the daemon, until this is told */
#define END_PATIENCE 60000     /* milliseconds for the daemon to end */

/* --- who uses it ---------------------------------------------------------------------------- */

/* Returns whether this process was started from another one, such as the shell of the user. */
static bool
umount_is_from (pid_t other)
{
    pid_t at = getpid ();

    while (at > 1 && at != other)
        at = process_parent (at);
    return at == other;
}

/* Appends a line if the link leads into the mount: readlink asks the kernel alone. */
static void
umount_look_at (const char *process, const char *link, const char *what, const char *path,
                GString *out)
{
    g_autofree char *name = g_strdup_printf ("/proc/%s/%s", process, link),
                    *file = g_file_read_link (name, NULL), *command = NULL;

    if (!file || !path_is_in (file, path))
        return;
    g_free (name);
    name = g_strdup_printf ("/proc/%s/comm", process);
    if (!g_file_get_contents (name, &command, NULL, NULL))
        command = g_strdup ("?");
    g_string_append (out, "  ");
    line_append (out, g_strchomp (command), 64);
    g_string_append_printf (out, " (%s): %s ", process, what);
    line_append (out, file, PATH_MAX);
    if (strcmp (link, "cwd") == 0 && umount_is_from (atoi (process)))
        g_string_append (out, " (it has started this command)");
    g_string_append_c (out, '\n');
}

static void
umount_look_at_links (const char *process, const char *folder, const char *what, const char *path,
                      GString *out)
{
    g_autofree char *name = g_strdup_printf ("/proc/%s/%s", process, folder);
    g_autoptr (GDir) dir = g_dir_open (name, 0, NULL);
    const char *link;

    while (dir && (link = g_dir_read_name (dir))) {
        g_autofree char *below = g_build_filename (folder, link, NULL);

        umount_look_at (process, below, what, path, out);
    }
}

static void
umount_look_at_process (const char *process, const char *path, GString *out)
{
    umount_look_at (process, "cwd", "current folder", path, out);
    umount_look_at (process, "root", "root folder", path, out);
    umount_look_at (process, "exe", "program", path, out);
    umount_look_at_links (process, "fd", "open file", path, out);
    umount_look_at_links (process, "map_files", "mapped file", path, out);
}

static void
umount_look_at_mounts (const char *path, GString *out)
{
    g_autoptr (GPtrArray) mounts = mounts_now ();

    for (guint i = 0; i < mounts->len; i++) {
        const struct mount *mount = mounts->pdata[i];

        if (!path_is_in (mount->path, path) || strcmp (mount->path, path) == 0)
            continue;
        g_string_append (out, "  mounted inside: ");
        line_append (out, mount->path, PATH_MAX);
        g_string_append_c (out, '\n');
    }
}

/* Appends as many whole lines as there is room for. */
static void
umount_shorten (GString *out, size_t room)
{
    const char *more = "  ...\n", *end;

    if (out->len < room)
        return;
    g_string_truncate (out, room - strlen (more) - 1);
    end = strrchr (out->str, '\n');
    g_string_truncate (out, end ? end + 1 - out->str : 0);
    g_string_append (out, more);
}

/* In a process of its own, which it leaves out. */
static void
umount_users_ask (const char *path, const void *data, struct path_answer *answer)
{
    g_autofree char *self = g_strdup_printf ("%d", (int) getpid ());
    g_autoptr (GString) out = g_string_new (NULL);
    g_autoptr (GDir) proc = g_dir_open ("/proc", 0, NULL);
    const char *name;

    umount_look_at_mounts (path, out);
    while (proc && (name = g_dir_read_name (proc)))
        if (g_ascii_isdigit (*name) && strcmp (name, self) != 0 && out->len < sizeof answer->text)
            umount_look_at_process (name, path, out);
    umount_shorten (out, sizeof answer->text);
    g_strlcpy (answer->text, out->str, sizeof answer->text);
}

/* --- unmounting ----------------------------------------------------------------------------- */

struct umount_what {
    const struct mount *mount;
    unsigned flags; /* of unmount_path */
};

/* Runs in a process of its own, which has no descriptors: a program that it starts gets three. */
static void
umount_ask (const char *path, const void *data, struct path_answer *answer)
{
    const struct umount_what *what = data;
    g_autofree char *text = NULL;
    int fd;

    while ((fd = open ("/dev/null", O_RDWR)) >= 0 && fd < STDERR_FILENO)
        continue;
    if (fd < 0) {
        answer->error = errno;
        text = g_strdup_printf ("/dev/null can't be opened: %s", g_strerror (errno));
    } else {
        answer->error = -unmount_path (what->mount, what->flags, &text);
    }
    g_strlcpy (answer->text, text ? text : "", sizeof answer->text);
}

static bool
umount_find_users (const char *path, struct path_answer *ret_users)
{
    return path_ask (umount_users_ask, path, NULL, LOOK_PATIENCE, ret_users) && *ret_users->text;
}

static void
umount_tell_users (const char *path)
{
    struct path_answer users;

    say_line (stderr, "windlass umount: '%s' is in use:", path);
    if (!umount_find_users (path, &users))
        say_line (stderr, "  by no process whose files %s",
                  geteuid () == 0 ? "this mount namespace shows"
                                  : "you may look at; root sees those of all users");
    else
        cli_print_safely (stderr, users.text);
    say_line (stderr,
              "End these, or have a shell leave with 'cd /'; or detach the mount with 'windlass "
              "umount --lazy': it is gone from its place at once, and ends when they are done");
}

static int
umount_fail (const struct mount *mount, const struct path_answer *answer)
{
    if (answer->error == EBUSY)
        umount_tell_users (mount->path);
    else if (answer->error == EPERM && mount->user_id != geteuid ())
        say_line (stderr,
                  "windlass umount: not permitted: '%s' belongs to user %d, and only that user and "
                  "root may unmount it",
                  mount->path, (int) mount->user_id);
    else
        say_line (stderr, "windlass umount: '%s' can't be unmounted: %s", mount->path,
                  *answer->text ? answer->text : g_strerror (answer->error));
    return CLI_FAILED;
}

/* --- waiting for the daemon ----------------------------------------------------------------- */

/* The daemon closes its files after its last answer, so wait until its process has ended. Returns
 * false after a message: it has not. */
static bool
umount_await_process (const struct mount *mount, int pidfd, pid_t pid)
{
    struct pollfd fd = { .fd = pidfd, .events = POLLIN };
    int n = -1;

    while (pidfd >= 0 && (n = poll (&fd, 1, UNMOUNT_PATIENCE)) < 0 && errno == EINTR)
        continue;
    if (n > 0)
        return true;
    if (n == 0)
        say_line (stderr, "windlass umount: '%s' is unmounted, and everything is written, but its "
                          "daemon, process %d, has not ended after %d seconds",
                  mount->path, (int) pid, UNMOUNT_PATIENCE / 1000);
    else
        say_line (stderr, "windlass umount: '%s' is unmounted, and everything is written, but "
                          "whether its daemon has ended can't be found out",
                  mount->path);
    return n < 0;
}

/* Returns whether a process sees the file system of the mount. */
static bool
umount_is_seen_by (const struct mount *mount, const char *process)
{
    g_autofree char *name = g_strdup_printf ("/proc/%s/mountinfo", process), *text = NULL,
                    *device = g_strdup_printf (" %u:%u ", mount->major, mount->minor);

    return g_file_get_contents (name, &text, NULL, NULL) && strstr (text, device);
}

/* Returns "the mount namespace of process 4711 (sleep)" for the first process that still sees the
 * file system of an unmounted mount, or words for any place. The kernel shows an ordinary user the
 * processes of others, too, unless /proc is mounted with hidepid. g_free it. */
static char *
umount_elsewhere (const struct mount *mount)
{
    g_autoptr (GDir) proc = g_dir_open ("/proc", 0, NULL);
    g_autoptr (GString) where = g_string_new ("the mount namespace of process ");
    g_autofree char *command = NULL;
    const char *name;

    while (proc && (name = g_dir_read_name (proc)))
        if (g_ascii_isdigit (*name) && umount_is_seen_by (mount, name))
            break;
    if (!proc || !name)
        return g_strdup ("another place, as a mount namespace");
    command = process_comm (atoi (name));
    g_string_append_printf (where, "%s (", name);
    line_append (where, command ? command : "?", 64);
    g_string_append_c (where, ')');
    return g_strdup (where->str);
}

static void
umount_tell_elsewhere (const struct mount *mount, pid_t pid)
{
    g_autofree char *where = umount_elsewhere (mount);

    say_line (stderr, "windlass umount: '%s' is unmounted; its file system is still mounted in %s, "
                      "so its daemon, process %d, goes on",
              mount->path, where, (int) pid);
}

/* Tells an end that is not as it should be; r: of control_await_end. */
static void
umount_tell_end (const struct mount *mount, int r, pid_t pid)
{
    const bool broke = r == -ECONNRESET || r == -ECONNABORTED;
    g_autofree char *log = broke || r == -ETIMEDOUT ? control_log_hint (mount) : NULL;

    if (r == -ETIMEDOUT)
        say_line (stderr, "windlass umount: the daemon has not ended after %d seconds, and may not "
                          "have written everything%s",
                  (TELL_AFTER + END_PATIENCE) / 1000, log);
    else if (broke)
        say_line (stderr, "windlass umount: '%s' is unmounted, but its daemon, process %d, ended "
                          "before it had written everything%s",
                  mount->path, (int) pid, log);
    else if (r == -EBUSY)
        umount_tell_elsewhere (mount, pid);
    else if (r == -EIO)
        say_line (stderr, "windlass umount: '%s' is unmounted, but its daemon left requests "
                          "unanswered",
                  mount->path);
    else
        say_line (stderr, "windlass umount: '%s' is unmounted, but this does not wait for its "
                          "daemon, process %d: %s",
                  mount->path, (int) pid, g_strerror (-r));
}

static int
umount_await (const struct mount *mount, int fd, int pidfd, pid_t pid)
{
    g_autoptr (GString) text = g_string_new (NULL);
    bool ended = true;
    int r;

    control_await_unmounted (fd);
    r = control_await_end (fd, TELL_AFTER, text);
    if (r == -ETIMEDOUT) {
        say_line (stderr,
                  "windlass umount: '%s' is unmounted; waiting for its daemon, process %d, to end",
                  mount->path, (int) pid);
        r = control_await_end (fd, END_PATIENCE, text);
    }
    if (r == 0)
        ended = umount_await_process (mount, pidfd, pid);
    else
        umount_tell_end (mount, r, pid);
    if (!text->len)
        return (r == 0 && ended) || r == -EBUSY ? CLI_OK : CLI_FAILED;
    say_line (stderr, "windlass umount: '%s' is unmounted; its daemon says:", mount->path);
    cli_print_safely (stderr, text->str);
    return CLI_FAILED;
}

/* Tells where this mount namespace still shows the file system of an unmounted mount. Returns
 * whether it does. */
static bool
umount_tell_other (const struct mount *unmounted)
{
    g_autoptr (GPtrArray) mounts = mounts_now ();

    for (guint i = 0; i < mounts->len; i++) {
        const struct mount *mount = mounts->pdata[i];

        if (!mount_is_same (mount, unmounted) || !mount_is_windlass (mount))
            continue;
        say_line (stderr, "windlass umount: '%s' is unmounted; its file system is still mounted on "
                          "'%s', so its daemon goes on",
                  unmounted->path, mount->path);
        return true;
    }
    return false;
}

/* fd: of control_await_begin, or its error. */
static int
umount_done (const struct mount *mount, int fd, int pidfd, pid_t pid)
{
    g_autofree char *log = NULL;

    if (umount_tell_other (mount))
        return CLI_OK;
    if (fd >= 0)
        return umount_await (mount, fd, pidfd, pid);
    log = control_log_hint (mount);
    say_line (stderr,
              "windlass umount: warning: '%s' is unmounted, but its daemon is gone or can't be "
              "reached: this does not wait for it, and whether everything was written is not "
              "known%s",
              mount->path, log);
    return CLI_OK;
}

/* Asks the kernel to unmount. If it says that the mount is in use, and no process that uses it is
 * found, asks again, for half a second in all: a process that only looks at the mount, as a file
 * manager does, has left it by then. Returns false if there is no answer. */
static bool
umount_try (const struct umount_what *what, struct path_answer *ret_answer)
{
    const char *path = what->mount->path;
    struct path_answer users;

    for (unsigned tries = 1; path_ask (umount_ask, path, what, UNMOUNT_PATIENCE, ret_answer);
         tries++) {
        if (ret_answer->error != EBUSY || tries == BUSY_TRIES || umount_find_users (path, &users))
            return true;
        g_usleep (BUSY_PAUSE);
    }
    return false;
}

/* fd, pid: of control_await_begin. A daemon that was killed answers nothing more. */
static int
umount_from (const struct mount *mount, bool lazy, int fd, pid_t pid)
{
    const bool killed = process_was_killed (pid);
    const struct umount_what what = {
        mount, (lazy || killed ? UNMOUNT_LAZY : 0) | (killed ? UNMOUNT_FORCE : 0)
    };
    const int pidfd = fd >= 0 && !killed ? (int) syscall (SYS_pidfd_open, pid, 0) : -1;
    struct path_answer answer;
    int status = CLI_OK;

    if (!umount_try (&what, &answer)) {
        say_line (stderr, "windlass umount: '%s' is not unmounted: no answer after %d seconds; the "
                          "kernel probably waits for the daemon",
                  mount->path, UNMOUNT_PATIENCE / 1000);
        status = CLI_FAILED;
    } else if (answer.error) {
        status = umount_fail (mount, &answer);
    } else if (!lazy) {
        status = umount_done (mount, killed ? -1 : fd, pidfd, pid);
    }
    if (pidfd >= 0)
        close (pidfd);
    return status;
}

static int
umount_mount (const struct mount *mount, bool lazy)
{
    pid_t pid;
    const int fd = lazy ? -1 : control_await_begin (mount, &pid);
    int status;

    if (lazy)
        pid = control_daemon_pid (mount);
    status = umount_from (mount, lazy, fd, pid);
    if (fd >= 0)
        close (fd);
    return status;
}

/* --- the command ---------------------------------------------------------------------------- */

/* Finds the mount without asking it. Returns false after a message. */
static bool
umount_find (const char *given, struct mount *ret_mount)
{
    g_autofree char *mountinfo = NULL, *path = NULL, *error = NULL;

    if (!g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL))
        error = g_strdup ("/proc/self/mountinfo can't be read");
    else
        path = mount_path (mountinfo, given, &error);
    if (path && !mount_find (mountinfo, path, ret_mount))
        error = g_strdup_printf ("'%s' is not a mount point; 'windlass list' shows them", given);
    else if (path && !mount_is_windlass (ret_mount)) {
        error = g_strdup_printf ("'%s' is not a Windlass mount, but one of type '%s'", given,
                                 ret_mount->type);
        mount_clear (ret_mount);
    }
    if (!error)
        return true;
    fprintf (stderr, "windlass umount: ");
    cli_print_safely (stderr, error);
    return false;
}

/* Leaves a mount alone whose daemon lives, and no mount at all is what is wanted. */
static int
umount_dead (const char *given)
{
    g_autofree char *error = NULL;

    if (stale_clear (given, &error) == 0)
        return CLI_OK;
    fprintf (stderr, "windlass umount: ");
    cli_print_safely (stderr, error);
    return CLI_FAILED;
}

int
cli_umount (const struct cli_command *command, int argc, char **argv)
{
    gboolean lazy = FALSE, dead = FALSE;
    const GOptionEntry more[] = {
        { "lazy", 'l', 0, G_OPTION_ARG_NONE, &lazy,
          "detach it now, even if it is in use; it ends when nobody uses it", NULL },
        { "dead", 0, 0, G_OPTION_ARG_NONE, &dead,
          "unmount it only if its daemon is gone; if not, or if nothing is mounted there, do "
          "nothing",
          NULL },
        { 0 },
    };
    struct mount mount;
    int status;

    if (!cli_parse (command, &argc, argv, NULL, more))
        return CLI_USAGE;
    if (argc != 2)
        return cli_usage (command, argc < 2 ? "which mount point?" : "one mount point is wanted");
    if (dead)
        return umount_dead (argv[1]);
    if (!umount_find (argv[1], &mount))
        return CLI_FAILED;
    /* This process itself must not use the mount; if it does, it is told as one of the users. */
    if (chdir ("/") < 0)
        say_line (stderr, "windlass umount: warning: '/': %s", g_strerror (errno));
    status = umount_mount (&mount, lazy);
    mount_clear (&mount);
    return status;
}
