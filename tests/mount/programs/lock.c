/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lock fcntl|ofd|flock read|write try|wait FILE
 *
 * Locks the second half of a file's first 100 bytes (all of it with flock), prints "got" or the
 * error's name, and keeps the lock until the standard input ends. SIGINT only interrupts.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static void
interrupted (int number)
{
}

static int
lock (const char *kind, bool exclusive, bool wait, int fd)
{
    struct flock range = {
        .l_type = exclusive ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET, .l_start = 50, .l_len = 50
    };

    if (strcmp (kind, "flock") == 0)
        return flock (fd, (exclusive ? LOCK_EX : LOCK_SH) | (wait ? 0 : LOCK_NB));
    if (strcmp (kind, "ofd") == 0)
        return fcntl (fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &range);
    return fcntl (fd, wait ? F_SETLKW : F_SETLK, &range);
}

int
main (int argc, char **argv)
{
    struct sigaction action = { .sa_handler = interrupted };
    char byte;
    int fd;

    if (argc != 5) {
        fprintf (stderr, "usage: lock fcntl|ofd|flock read|write try|wait FILE\n");
        return 2;
    }
    sigaction (SIGINT, &action, NULL);
    fd = open (argv[4], O_RDWR);
    if (fd < 0
        || lock (argv[1], strcmp (argv[2], "write") == 0, strcmp (argv[3], "wait") == 0, fd) < 0) {
        printf ("%s\n", errno == EACCES ? "EAGAIN" : strerrorname_np (errno));
        return 1;
    }
    printf ("got\n");
    fflush (stdout);
    while (read (STDIN_FILENO, &byte, 1) == 1)
        continue;
    return 0;
}
