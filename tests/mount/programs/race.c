/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * race DIR SEED COUNT: 8 processes make COUNT system calls each on the same few names in DIR.
 * Concurrent calls may fail, but only with errors that also occur in a bare directory. Other errors
 * are printed, and the exit status is 1.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 8

static uint64_t state;
static bool surprised;

static unsigned
number (unsigned below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned) (state >> 33) % below;
}

static bool
may_happen (int error)
{
    static const int errors[] = { ENOENT, EEXIST, ENOTEMPTY, ENOTDIR, EISDIR,
                                  EINVAL, ELOOP,  EPERM,     EBUSY };

    for (unsigned i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (error == errors[i])
            return true;
    return false;
}

static int
check (const char *what, int r)
{
    if (r < 0 && !may_happen (errno)) {
        printf ("%s: %s\n", what, strerrorname_np (errno));
        surprised = true;
    }
    return r;
}

/* Returns one of 5 names, or one of 25 names below them. */
static char *
name (char *to)
{
    if (number (2))
        sprintf (to, "%c", 'a' + number (5));
    else
        sprintf (to, "%c/%c", 'a' + number (5), 'a' + number (5));
    return to;
}

static void
use_file (const char *path)
{
    char text[100];
    struct stat st;
    int fd = check ("open", open (path, O_RDWR | (number (2) ? O_CREAT : 0), 0644));

    if (fd < 0)
        return;
    check ("write", (int) write (fd, "some text", 9));
    check ("fstat", fstat (fd, &st));
    check ("pread", (int) pread (fd, text, sizeof text, 0));
    check ("ftruncate", ftruncate (fd, 5));
    check ("fchmod", fchmod (fd, 0640));
    check ("close", close (fd));
}

static void
use_directory (const char *path)
{
    struct dirent *entry;
    DIR *dir = opendir (path);

    if (!dir) {
        check ("opendir", -1);
        return;
    }
    errno = 0;
    while ((entry = readdir (dir)))
        errno = 0;
    check ("readdir", errno ? -1 : 0);
    closedir (dir);
}

static void
act (void)
{
    char one[8], two[8];
    struct stat st;

    switch (number (11)) {
    case 0: check ("mkdir", mkdir (name (one), 0755)); break;
    case 1: check ("rmdir", rmdir (name (one))); break;
    case 2: check ("unlink", unlink (name (one))); break;
    case 3: check ("rename", rename (name (one), name (two))); break;
    case 4:
        check ("exchange", renameat2 (AT_FDCWD, name (one), AT_FDCWD, name (two), RENAME_EXCHANGE));
        break;
    case 5: check ("link", link (name (one), name (two))); break;
    case 6: check ("symlink", symlink (name (one), name (two))); break;
    case 7: check ("lstat", lstat (name (one), &st)); break;
    case 8: use_directory (name (one)); break;
    default: use_file (name (one));
    }
}

int
main (int argc, char **argv)
{
    int status, worst = 0;

    if (argc != 4 || chdir (argv[1]) < 0)
        return 2;
    for (int i = 0; i < PROCESSES; i++) {
        if (fork () != 0)
            continue;
        state = strtoull (argv[2], NULL, 0) + 1000003ULL * i;
        for (int n = atoi (argv[3]); n > 0; n--)
            act ();
        exit (surprised);
    }
    while (wait (&status) > 0)
        if (status != 0)
            worst = 1;
    return worst;
}
