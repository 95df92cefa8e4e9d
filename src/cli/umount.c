/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass umount: unmounts, and waits until the daemon has written what it keeps and has ended.
 *
 * Whoever asks a mount that hangs hangs, too. So the mount point is found by its text; the kernel
 * is asked to unmount by a process of its own; and files that are in use are found by the links in
 * /proc, of which the kernel knows the text.
 */
#include "cli/cli.h"
#include "control/control.h"
#include "core/base/path-question.h"
#include "core/base/printable.h"
#include "core/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNMOUNT_PATIENCE 10000 /* milliseconds for the kernel to unmount */
#define LOOK_PATIENCE 3000     /* milliseconds to find who uses it */
#define TELL_AFTER 5000        /* milliseconds of waiting for the daemon, until this is told */
#define END_PATIENCE 60000     /* milliseconds for the daemon to end */

/* --- who uses it ---------------------------------------------------------------------------- */

static bool
umount_is_in (const char *file, const char *path)
{
    const size_t size = strlen (path);

    return strncmp (file, path, size) == 0 && (file[size] == '/' || file[size] == '\0');
}

/* Appends a line if the link leads into the mount: readlink asks the kernel alone. */
static void
umount_look_at (const char *process, const char *link, const char *what, const char *path,
                GString *out)
{
    g_autofree char *name = g_strdup_printf ("/proc/%s/%s", process, link),
                    *file = g_file_read_link (name, NULL), *command = NULL;

    if (!file || !umount_is_in (file, path))
        return;
    g_free (name);
    name = g_strdup_printf ("/proc/%s/comm", process);
    if (!g_file_get_contents (name, &command, NULL, NULL))
        command = g_strdup ("?");
    g_string_append (out, "  ");
    line_append (out, g_strchomp (command), 64);
    g_string_append_printf (out, " (%s): %s ", process, what);
    line_append (out, file, PATH_MAX);
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
    g_autofree char *mountinfo = NULL;
    g_autoptr (GPtrArray) mounts = NULL;

    if (!g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL))
        return;
    mounts = mounts_all (mountinfo);
    for (guint i = 0; i < mounts->len; i++) {
        const struct mount *mount = mounts->pdata[i];

        if (!umount_is_in (mount->path, path) || strcmp (mount->path, path) == 0)
            continue;
        g_string_append (out, "  mounted inside: ");
        line_append (out, mount->path, PATH_MAX);
        g_string_append_c (out, '\n');
    }
}

/* In a process of its own. Only whole lines are passed on. */
static void
umount_users_ask (const char *path, struct path_answer *answer)
{
    g_autoptr (GString) out = g_string_new (NULL);
    g_autoptr (GDir) proc = g_dir_open ("/proc", 0, NULL);
    const char *name;

    umount_look_at_mounts (path, out);
    while (proc && (name = g_dir_read_name (proc)))
        if (g_ascii_isdigit (*name) && out->len < sizeof answer->text)
            umount_look_at_process (name, path, out);
    if (out->len >= sizeof answer->text) {
        g_string_truncate (out, sizeof answer->text - sizeof "  ...\n");
        g_string_truncate (out, strrchr (out->str, '\n') + 1 - out->str);
        g_string_append (out, "  ...\n");
    }
    g_strlcpy (answer->text, out->str, sizeof answer->text);
}

/* --- unmounting ----------------------------------------------------------------------------- */

/* Runs in a process of its own, which has no descriptors: a program that it starts gets three. */
static void
umount_run (const char *path, unsigned flags, struct path_answer *answer)
{
    g_autofree char *mountinfo = NULL, *text = NULL;
    struct mount mount;
    int r = -ENOENT;

    while (open ("/dev/null", O_RDWR) < STDERR_FILENO)
        continue;
    if (g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL)
        && mount_find (mountinfo, path, &mount))
        r = unmount_path (&mount, flags, &text);
    answer->error = -r;
    g_strlcpy (answer->text, text ? text : "", sizeof answer->text);
}

static void
umount_ask (const char *path, struct path_answer *answer)
{
    umount_run (path, 0, answer);
}

static void
umount_lazily_ask (const char *path, struct path_answer *answer)
{
    umount_run (path, UNMOUNT_LAZY, answer);
}

static void
umount_killed_ask (const char *path, struct path_answer *answer)
{
    umount_run (path, UNMOUNT_LAZY | UNMOUNT_FORCE, answer);
}

/* Returns false if no answer came in time. */
static bool
umount_question (path_question_fn *ask, const char *path, int milliseconds,
                 struct path_answer *ret_answer)
{
    struct path_question question;
    bool answered;

    path_question_begin (&question, ask, path);
    answered = path_question_wait (&question, milliseconds, ret_answer);
    path_question_end (&question);
    return answered;
}

static void
umount_tell_users (const char *path)
{
    struct path_answer users;

    fprintf (stderr, "windlass umount: '%s' is in use:\n", path);
    if (!umount_question (umount_users_ask, path, LOOK_PATIENCE, &users) || !*users.text)
        fprintf (stderr, "  by no process whose files %s\n",
                 geteuid () == 0 ? "this mount namespace shows"
                                 : "you may look at; root sees those of all users");
    else
        cli_print_safely (stderr, users.text);
    fprintf (stderr,
             "End these, or detach the mount with 'windlass umount --lazy': it is gone from its "
             "place at once, and ends when they are done\n");
}

static int
umount_fail (const struct mount *mount, const struct path_answer *answer)
{
    if (answer->error == EBUSY)
        umount_tell_users (mount->path);
    else if (answer->error == EPERM && mount->user_id != geteuid ())
        fprintf (stderr,
                 "windlass umount: not permitted: '%s' belongs to user %d, and only that user and "
                 "root may unmount it\n",
                 mount->path, (int) mount->user_id);
    else
        fprintf (stderr, "windlass umount: '%s' can't be unmounted: %s\n", mount->path,
                 *answer->text ? answer->text : g_strerror (answer->error));
    return CLI_FAILED;
}

/* --- waiting for the daemon ----------------------------------------------------------------- */

/* A daemon that ends is more than its last answer: then its files are closed, too. */
static void
umount_await_process (int pidfd)
{
    struct pollfd fd = { .fd = pidfd, .events = POLLIN };

    while (pidfd >= 0 && poll (&fd, 1, UNMOUNT_PATIENCE) < 0 && errno == EINTR)
        continue;
}

static int
umount_await (const struct mount *mount, int fd, int pidfd, pid_t pid)
{
    g_autoptr (GString) text = g_string_new (NULL);
    int r = control_await_end (fd, TELL_AFTER, text);

    if (r == -ETIMEDOUT) {
        fprintf (stderr,
                 "windlass umount: '%s' is unmounted; waiting for its daemon, process %d, to end\n",
                 mount->path, (int) pid);
        r = control_await_end (fd, END_PATIENCE, text);
    }
    if (r == -ETIMEDOUT)
        fprintf (stderr, "windlass umount: the daemon has not ended after %d seconds, and may not "
                         "have written everything; its log says more\n",
                 (TELL_AFTER + END_PATIENCE) / 1000);
    else if (r == -ECONNRESET || r == -ECONNABORTED)
        fprintf (stderr, "windlass umount: '%s' is unmounted, but its daemon, process %d, ended "
                         "before it had written everything\n",
                 mount->path, (int) pid);
    else if (r < 0)
        fprintf (stderr, "windlass umount: '%s' is unmounted, but its daemon left requests "
                         "unanswered\n",
                 mount->path);
    else
        umount_await_process (pidfd);
    if (!text->len)
        return r < 0 ? CLI_FAILED : CLI_OK;
    fprintf (stderr, "windlass umount: '%s' is unmounted; its daemon says:\n", mount->path);
    cli_print_safely (stderr, text->str);
    return CLI_FAILED;
}

static int
umount_mount (const struct mount *mount, bool lazy)
{
    const pid_t pid = control_daemon_pid (mount);
    const bool killed = process_was_killed (pid);
    const int fd = pid && !killed && !lazy ? control_await_begin (mount) : -1,
              pidfd = fd >= 0 ? (int) syscall (SYS_pidfd_open, pid, 0) : -1;
    struct path_answer answer;
    int status = CLI_OK;

    if (!umount_question (killed ? umount_killed_ask
                          : lazy ? umount_lazily_ask
                                 : umount_ask,
                          mount->path, UNMOUNT_PATIENCE, &answer)) {
        fprintf (stderr, "windlass umount: the kernel has not unmounted '%s' after %d seconds: it "
                         "waits for the daemon, and goes on when that answers\n",
                 mount->path, UNMOUNT_PATIENCE / 1000);
        status = CLI_FAILED;
    } else if (answer.error) {
        status = umount_fail (mount, &answer);
    } else if (fd >= 0) {
        status = umount_await (mount, fd, pidfd, pid);
    }
    if (fd >= 0)
        close (fd);
    if (pidfd >= 0)
        close (pidfd);
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
    else if (path && !g_str_has_prefix (ret_mount->type, "fuse.windlass")) {
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

int
cli_umount (const struct cli_command *command, int argc, char **argv)
{
    gboolean lazy = FALSE;
    const GOptionEntry more[] = {
        { "lazy", 'l', 0, G_OPTION_ARG_NONE, &lazy,
          "detach it now, even if it is in use; it ends when nobody uses it", NULL },
        { 0 },
    };
    struct mount mount;
    int status;

    if (!cli_parse (command, &argc, argv, NULL, more))
        return CLI_USAGE;
    if (argc != 2)
        return cli_usage (command, argc < 2 ? "which mount point?" : "one mount point is wanted");
    if (!umount_find (argv[1], &mount))
        return CLI_FAILED;
    status = umount_mount (&mount, lazy);
    mount_clear (&mount);
    return status;
}
