/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tmpfile DIR: creates two unnamed files in DIR, writes to them, and gives one of them a name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
tell (const char *what, int result)
{
    printf ("%s: %s\n", what, result < 0 ? strerrorname_np (errno) : "done");
    return result;
}

int
main (int argc, char **argv)
{
    char path[64], text[16] = "";
    struct stat st;
    int fd, other;

    if (argc != 2 || chdir (argv[1]) < 0)
        return 2;
    fd = tell ("without a name", open (".", O_TMPFILE | O_RDWR, 0640));
    other = tell ("one that may never have one", open (".", O_TMPFILE | O_WRONLY | O_EXCL, 0600));
    if (fd < 0 || other < 0)
        return 1;
    tell ("write", (int) write (fd, "some text", 9));
    tell ("write to the other", (int) write (other, "gone", 4));
    tell ("fstat", fstat (fd, &st));
    printf ("mode %o, links %d, size %d\n", st.st_mode, (int) st.st_nlink, (int) st.st_size);
    tell ("read", (int) pread (fd, text, 9, 0));
    printf ("it holds %s\n", text);
    snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
    tell ("a name", linkat (AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
    snprintf (path, sizeof path, "/proc/self/fd/%d", other);
    tell ("a name for the other", linkat (AT_FDCWD, path, AT_FDCWD, "other", AT_SYMLINK_FOLLOW));
    return 0;
}
