/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Mounts whose daemon is gone: a new daemon for the mount point unmounts them.
 *
 * Usually the kernel has closed the connection with the last thread of the daemon, and says so.
 * But a thread that tells the kernel of a changed name waits there for the directory's lock, even
 * when it is killed. If a caller holds the lock and waits for the daemon's answer, neither ends,
 * and a question about the mount hangs, as with a slow storage. Only an abort of the connection
 * ends them. It would end a mount that lives, too, so it takes a proof: the process that listens
 * at the mount's control socket was killed. A socket that refuses is no proof, since it may be left
 * from another mount of the same number; but then the daemon has closed its files, and no question
 * hangs.
 */
#include "control/control.h"
#include "core/base/path-question.h"
#include "core/base/printable.h"
#include "core/base/process.h"
#include "core/time/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#define STALE_PATIENCE 5000 /* milliseconds for a mount to answer */
#define STALE_MAX 16   /* mounts on top of each other */
#define LOOK_AGAIN 100 /* milliseconds between looks at the daemon while the mount is asked */

enum verdict { DAEMON_LIVES, DAEMON_SILENT, DAEMON_GONE, DAEMON_KILLED };

/* The errors of a mount whose daemon was killed: the second for a process that had accessed it
 * before, the third for a request that waited in the daemon's io_uring. */
static bool
stale_error (int error)
{
    return error == ENOTCONN || error == ECONNABORTED || error == ECANCELED;
}

/* --- asking the mount --- */

/* Attributes may still be cached; this question is not. */
static void
stale_ask (const char *path, const void *data, struct path_answer *answer)
{
    struct statvfs buf;

    answer->error = statvfs (path, &buf) < 0 ? errno : 0;
}

static enum verdict
ask_mount (const char *path, pid_t daemon)
{
    const int64_t until = clock_now () + STALE_PATIENCE * INT64_C (1000000);
    enum verdict verdict = DAEMON_SILENT;
    struct path_question question;
    struct path_answer answer;

    path_question_begin (&question, stale_ask, path, NULL);
    while (verdict == DAEMON_SILENT && clock_now () < until) {
        if (path_question_wait (&question, LOOK_AGAIN, &answer))
            verdict = stale_error (answer.error) ? DAEMON_GONE : DAEMON_LIVES;
        else if (process_was_killed (daemon))
            verdict = DAEMON_KILLED;
    }
    path_question_end (&question);
    return verdict;
}

static enum verdict
verdict_on (const char *path, const struct mount *mount)
{
    const bool ours = mount_is_windlass (mount);
    const pid_t daemon = ours ? control_daemon_pid (mount) : 0;

    return process_was_killed (daemon) ? DAEMON_KILLED : ask_mount (path, daemon);
}

/* --- unmounting --- */

static int
unmount_and_tell (const char *path, const struct mount *mount, bool killed, char **ret_error)
{
    g_autofree char *text = NULL;
    const int r = unmount_path (mount, UNMOUNT_LAZY | (killed ? UNMOUNT_FORCE : 0), &text);
    const char *missing = unmount_mtab_missing ();

    if (r < 0)
        *ret_error = g_strdup_printf (
            "mount point '%s': its daemon is gone, and it can't be unmounted: %s", path,
            missing ? missing : g_strerror (-r));
    else
        say_line (stderr,
                  "windlass: notice: '%s' was still mounted (%s), but its daemon is gone; it was "
                  "unmounted",
                  path, mount->source);
    return r;
}

/* Returns 1 if a mount was unmounted, 0 if there is none to unmount. */
static int
clear_one (const char *path, const struct mount *mount, char **ret_error)
{
    const enum verdict verdict = verdict_on (path, mount);
    int r;

    if (verdict == DAEMON_LIVES)
        return 0;
    if (verdict == DAEMON_SILENT) {
        *ret_error = g_strdup_printf ("mount point '%s' is already mounted (%s), and the mount "
                                      "does not answer",
                                      path, mount->source);
        return -EBUSY;
    }
    r = unmount_and_tell (path, mount, verdict == DAEMON_KILLED, ret_error);
    return r < 0 ? r : 1;
}

/* Returns the path of the mount at a mount point, found without a question to it, or NULL. */
static char *
mount_at_point (const char *point, struct mount *ret_mount)
{
    g_autofree char *text = NULL, *path = NULL, *error = NULL;

    if (g_file_get_contents ("/proc/self/mountinfo", &text, NULL, NULL))
        path = mount_path (text, point, &error);
    return path && mount_find (text, path, ret_mount) ? g_steal_pointer (&path) : NULL;
}

int
stale_clear (const char *point, char **ret_error)
{
    int r = 1;

    for (int i = 0; i < STALE_MAX && r > 0; i++) {
        struct mount mount = { 0 };
        g_autofree char *path = mount_at_point (point, &mount);

        r = path && g_str_has_prefix (mount.type, "fuse") ? clear_one (path, &mount, ret_error) : 0;
        mount_clear (&mount);
    }
    return MIN (r, 0);
}

int
stale_abort_file (const char *mountpoint)
{
    struct mount mount = { 0 };
    g_autofree char *path = mount_at_point (mountpoint, &mount);
    const int fd = path ? unmount_abort_file (&mount) : -1;

    mount_clear (&mount);
    return fd;
}
