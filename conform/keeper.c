/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A process that waits for the end of the conformance kit, and then unmounts and removes the rest
 * of a scratch directory. It waits for the end of a pipe, which the kernel closes even for a
 * process that is killed.
 */
#include "conform/conform.h"

#include "core/time/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT_FD 3
#define PATIENCE INT64_C (5000000000) /* ns */

struct conform_keeper {
    pid_t pid;
    int end; /* of the pipe; its closing tells the keeper to clean up and exit */
};

/* fusermount3 unmounts for a user other than root. */
void
conform_unmount (const char *path, bool lazy)
{
    const char *argv[] = { "fusermount3", "-u", "-q", "--", path, NULL };
    const char *lazy_argv[] = { "fusermount3", "-u", "-q", "-z", "--", path, NULL };
    pid_t pid;

    if (umount2 (path, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0)
        return;
    if (posix_spawnp (&pid, argv[0], NULL, NULL, (char **) (lazy ? lazy_argv : argv), environ) == 0)
        waitpid (pid, NULL, 0);
}

/* Lazily: a process may still use it. */
static void
unmount_below (const char *path)
{
    g_autofree char *text = NULL, *prefix = g_strconcat (path, "/", NULL);
    g_auto (GStrv) lines = NULL;

    if (!g_file_get_contents ("/proc/self/mountinfo", &text, NULL, NULL))
        return;
    lines = g_strsplit (text, "\n", -1);
    for (guint i = g_strv_length (lines); i-- > 0;) {
        g_auto (GStrv) words = g_strsplit (lines[i], " ", 6);
        g_autofree char *point = g_strv_length (words) > 4 ? g_strcompress (words[4]) : NULL;

        if (point && g_str_has_prefix (point, prefix))
            conform_unmount (point, true);
    }
}

/* A daemon that is just starting goes on for a moment: it makes files, and mounts, while a
 * directory is left. */
static void
clear_away (const char *path)
{
    const int64_t until = clock_now () + PATIENCE;

    do {
        unmount_below (path);
        if (conform_scratch_try_remove (path))
            return;
        g_usleep (20000);
    } while (clock_now () < until);
    conform_scratch_remove (path);
}

/* Ignores signals that end the kit: the keeper ends after it. */
static void
keeper_ignores_signals (void)
{
    setsid ();
    signal (SIGINT, SIG_IGN);
    signal (SIGTERM, SIG_IGN);
    signal (SIGHUP, SIG_IGN);
    signal (SIGPIPE, SIG_IGN);
}

/* Writes to the kit 0, or the errno of the failure, and the name of the directory. */
static void
keeper_make (char *path, int made)
{
    const bool done = g_mkdtemp (path) && chmod (path, 0755) == 0;
    const int error = done ? 0 : errno;

    if (write (made, &error, sizeof error) == (ssize_t) sizeof error && done)
        (void) !write (made, path, strlen (path));
    if (!done)
        _exit (1);
}

/* Waits for the end of the kit. made: NULL, or the pipe by which the name of a new directory is
 * returned, for which path is the template. */
static void
keeper_main (char *path, int begin, const int *made)
{
    char byte;

    keeper_ignores_signals ();
    if (made)
        keeper_make (path, *made);
    dup2 (begin, KEPT_FD);
    close_range (KEPT_FD + 1, ~0U, 0);
    while (read (KEPT_FD, &byte, 1) < 0 && errno == EINTR)
        ;
    if (access (path, F_OK) == 0)
        clear_away (path);
    _exit (0);
}

static struct conform_keeper *
keeper_start (char *path, const int *made)
{
    struct conform_keeper *keeper;
    int ends[2];
    pid_t pid;

    if (pipe2 (ends, O_CLOEXEC) < 0)
        return NULL;
    fflush (NULL);
    pid = fork ();
    if (pid == 0) {
        close (ends[1]);
        keeper_main (path, ends[0], made);
    }
    close (ends[0]);
    if (pid < 0) {
        close (ends[1]);
        return NULL;
    }
    keeper = g_new (struct conform_keeper, 1);
    *keeper = (struct conform_keeper){ pid, ends[1] };
    return keeper;
}

struct conform_keeper *
conform_keeper_start (const char *path)
{
    g_autofree char *full = g_canonicalize_filename (path, NULL);

    return keeper_start (full, NULL);
}

/* Reads what keeper_make has written. Returns 0, or an errno. */
static int
keeper_made (int fd, char *path)
{
    const ssize_t length = strlen (path);
    int error;

    if (read (fd, &error, sizeof error) != (ssize_t) sizeof error)
        return ECHILD;
    return error || read (fd, path, length) == length ? error : ECHILD;
}

struct conform_keeper *
conform_keeper_make (char *path)
{
    struct conform_keeper *keeper;
    int made[2], error;

    if (pipe2 (made, O_CLOEXEC) < 0)
        return NULL;
    keeper = keeper_start (path, &made[1]);
    error = keeper ? 0 : errno;
    close (made[1]);
    if (keeper)
        error = keeper_made (made[0], path);
    close (made[0]);
    if (error) {
        conform_keeper_end (keeper);
        keeper = NULL;
    }
    errno = error;
    return keeper;
}

void
conform_keeper_end (struct conform_keeper *keeper)
{
    if (!keeper)
        return;
    close (keeper->end);
    waitpid (keeper->pid, NULL, 0);
    g_free (keeper);
}

void
conform_keeper_leave (const struct conform_keeper *keeper)
{
    if (keeper)
        close (keeper->end);
}

void
conform_die_with (pid_t parent)
{
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (getppid () != parent) /* the parent ended before the call */
        _exit (1);
}
