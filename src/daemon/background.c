/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts the daemon in the background, and reports success only when it works. */
#include "daemon/daemon.h"

#include "core/base/safe-open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PID_FILE_PATIENCE 3000000 /* microseconds */
#define PID_FILE_PAUSE 20000

static int ready_fd = -1; /* the child's end of the pipe to the parent; one byte in it is success */
static struct {
    char *path;
    int fd;
} pid_file = { .fd = -1 };

/* The child prints its errors on the terminal itself; the parent only needs its exit status. */
static void G_GNUC_NORETURN
parent_wait (pid_t child, int fd)
{
    int status = 0;
    char byte;
    ssize_t n;

    do
        n = read (fd, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n == 1)
        _exit (0);
    while (waitpid (child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFSIGNALED (status)) {
        fprintf (stderr, "windlass: the daemon was ended by signal %d (%s) before it had mounted\n",
                 WTERMSIG (status), strsignal (WTERMSIG (status)));
        _exit (1);
    }
    _exit (WIFEXITED (status) && WEXITSTATUS (status) ? WEXITSTATUS (status) : 1);
}

/* Closes descriptors inherited from the starting process, which would stay open otherwise. */
void
background_close_inherited (int but)
{
    if (but > 3)
        close_range (3, but - 1, 0);
    close_range (but + 1, ~0U, 0);
}

int
background_begin (void)
{
    int ends[2];
    pid_t child;

    fflush (NULL);
    if (pipe2 (ends, O_CLOEXEC) < 0)
        return -errno;
    child = fork ();
    if (child < 0)
        return -errno;
    if (child > 0) {
        close (ends[1]);
        parent_wait (child, ends[0]);
    }
    background_close_inherited (ends[1]);
    ready_fd = ends[1];
    return 0;
}

void
background_leave_terminal (bool keep_stderr)
{
    const int null = open ("/dev/null", O_RDWR | O_CLOEXEC);

    if (null >= 0) {
        dup2 (null, STDIN_FILENO);
        dup2 (null, STDOUT_FILENO);
        if (!keep_stderr)
            dup2 (null, STDERR_FILENO);
        if (null > STDERR_FILENO)
            close (null);
    }
}

void
background_ready (bool keep_stderr)
{
    if (ready_fd < 0)
        return;
    /* Not before: whoever looks at an automount point waits for the mount there, except the process
     * group of the automounter, which mount(8) and this process belong to. */
    setsid ();
    background_leave_terminal (keep_stderr);
    if (write (ready_fd, "", 1) < 0)
        (void) errno; /* the parent has ended */
    close (ready_fd);
    ready_fd = -1;
}

static int
pid_file_fill (int fd)
{
    char text[32];
    int size = snprintf (text, sizeof text, "%d\n", getpid ());

    if (ftruncate (fd, 0) < 0 || fchmod (fd, 0644) < 0 || pwrite (fd, text, size, 0) != size)
        return errno ? -errno : -EIO;
    return 0;
}

/* Returns true if the path still names the opened file. The previous daemon removes it at its
 * end. */
static bool
pid_file_is_there (const char *path, int fd)
{
    struct stat by_name, by_fd;

    return lstat (path, &by_name) == 0 && fstat (fd, &by_fd) == 0 && by_name.st_dev == by_fd.st_dev
        && by_name.st_ino == by_fd.st_ino;
}

/* Opens and locks the file. -EAGAIN: another process has the lock. */
static int
pid_file_open (const char *path)
{
    const int fd = open_ours (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    int r = 0;

    if (fd < 0)
        return fd;
    if (lockf (fd, F_TLOCK, 0) < 0)
        r = errno == EACCES ? -EAGAIN : -errno;
    else if (!pid_file_is_there (path, fd))
        r = -EAGAIN;
    if (r == 0)
        return fd;
    close (fd);
    return r;
}

/* A daemon ends shortly after its mount is gone, so this waits for one that holds the file. */
static int
pid_file_wait (const char *path)
{
    int fd = pid_file_open (path);

    for (int i = 0; fd == -EAGAIN && i < PID_FILE_PATIENCE / PID_FILE_PAUSE; i++) {
        g_usleep (PID_FILE_PAUSE);
        fd = pid_file_open (path);
    }
    return fd;
}

int
pid_file_take (const char *path)
{
    int fd = pid_file_wait (path), r;

    if (fd < 0)
        return fd;
    r = pid_file_fill (fd);
    if (r < 0) {
        close (fd);
        return r;
    }
    pid_file.path = g_strdup (path);
    pid_file.fd = fd;
    return 0;
}

void
pid_file_drop (void)
{
    if (pid_file.fd < 0)
        return;
    unlink (pid_file.path);
    close (pid_file.fd);
    g_clear_pointer (&pid_file.path, g_free);
    pid_file.fd = -1;
}
