/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * swap BACK MNT COUNT: a process changes BACK behind the mount all the time: each name is in turn a
 * directory, a symbolic link that leads outside, a file, a pipe, a device, or a link to a file
 * outside. Another process uses these names through MNT, COUNT times, and until a file inside was
 * reached once or 20 seconds are over, since the kernel may cache a link for a while. The program
 * fails if it reaches a file outside. symlink-races.sh creates the content of BACK.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned seen; /* how often a file inside was reached */

/* Runs forever. */
static void
keep_swapping (int back)
{
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        renameat2 (back, "dir", back, "to-outside", RENAME_EXCHANGE);
        renameat2 (back, "file", back, "to-file", RENAME_EXCHANGE);
        renameat2 (back, "file", back, "fifo", RENAME_EXCHANGE);
        renameat2 (back, "file", back, "null", RENAME_EXCHANGE);
    }
}

static void
check (int fd, const char *name)
{
    char text[16] = "";
    ssize_t n = fd < 0 ? -1 : read (fd, text, sizeof text - 1);

    if (n > 0 && strncmp (text, "inside", 6) != 0) {
        printf ("'%s' reads '%s'\n", name, text);
        exit (1);
    }
    seen += n > 0;
    if (fd >= 0)
        close (fd);
}

/* Makes requests of each kind that takes a name. Success depends on timing. */
static void
use_names (int mnt)
{
    struct stat st;
    int fd;

    check (openat (mnt, "dir/secret", O_RDONLY | O_NONBLOCK), "dir/secret");
    check (openat (mnt, "file", O_RDONLY | O_NONBLOCK), "file");
    check (openat (mnt, "file", O_RDWR | O_CREAT | O_NONBLOCK, 0666), "file");
    fd = openat (mnt, "dir/new", O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, 0666);
    if (fd >= 0)
        close (fd);
    (void) !mkdirat (mnt, "dir/folder", 0700);
    (void) !symlinkat ("x", mnt, "dir/symlink");
    (void) !linkat (mnt, "dir/new", mnt, "dir/other", 0);
    (void) !renameat (mnt, "dir/new", mnt, "dir/renamed");
    (void) !fchmodat (mnt, "dir/victim", 0777, 0);
    (void) !fstatat (mnt, "dir/victim", &st, 0);
    (void) !unlinkat (mnt, "dir/victim", 0);
    (void) !unlinkat (mnt, "dir/renamed", 0);
    (void) !unlinkat (mnt, "dir/other", 0);
    (void) !unlinkat (mnt, "dir/symlink", 0);
    (void) !unlinkat (mnt, "dir/folder", AT_REMOVEDIR);
}

int
main (int argc, char **argv)
{
    int back = argc == 4 ? open (argv[1], O_PATH) : -1,
        mnt = argc == 4 ? open (argv[2], O_PATH) : -1;
    pid_t child;
    time_t end;

    if (back < 0 || mnt < 0)
        return 2;
    child = fork ();
    if (child == 0)
        keep_swapping (back);
    end = time (NULL) + 20;
    for (long i = atol (argv[3]); i > 0 || (seen == 0 && time (NULL) < end); i--)
        use_names (mnt);
    kill (child, SIGKILL);
    waitpid (child, NULL, 0);
    printf ("inside: %u\n", seen);
    return 0;
}
