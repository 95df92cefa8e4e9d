/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * opath DIR UID: opens handles (O_PATH) and files in DIR as root. Then, as user and group UID,
 * tries operations through them, and with names that leave DIR. Prints the result of each
 * operation. caller-rights.sh creates the content of DIR.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Returns a name for a result. All descriptors have the same name, whatever their number. */
static void
tell (const char *handle, const char *what, int result)
{
    printf ("%s, %s: %s\n", handle, what, result < 0 ? strerrorname_np (errno) : "done");
}

static int
closed (int fd)
{
    if (fd >= 0)
        close (fd);
    return fd;
}

/* Opens the handle again with more rights, changes the file, or gives it a name. */
static void
through_handle (const char *name, int fd)
{
    char path[64], value[16];

    snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
    tell (name, "open to read", closed (open (path, O_RDONLY | O_NONBLOCK)));
    tell (name, "open to write", closed (open (path, O_WRONLY | O_NONBLOCK)));
    tell (name, "open to read and truncate", closed (open (path, O_RDONLY | O_TRUNC | O_NONBLOCK)));
    tell (name, "truncate", truncate (path, 1));
    tell (name, "chmod", chmod (path, 0777));
    tell (name, "chown", fchownat (fd, "", getuid (), -1, AT_EMPTY_PATH));
    tell (name, "times", utimensat (AT_FDCWD, path, (struct timespec[2]){ { 1, 0 }, { 1, 0 } }, 0));
    tell (name, "getxattr", (int) getxattr (path, "user.x", value, sizeof value));
    tell (name, "setxattr", setxattr (path, "user.x", "2", 1, 0));
    tell (name, "trusted", setxattr (path, "trusted.x", "2", 1, 0));
    tell (name, "capability",
          setxattr (path, "security.capability", "\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20,
                    0));
    tell (name, "link", linkat (fd, "", AT_FDCWD, "open/linked", AT_EMPTY_PATH));
    tell (name, "link by /proc",
          linkat (AT_FDCWD, path, AT_FDCWD, "open/linked", AT_SYMLINK_FOLLOW));
}

/* Uses the handle of a directory: its content, and its parent. */
static void
below_handle (const char *name, int fd)
{
    char text[64];

    tell (name, "open secret", closed (openat (fd, "secret", O_RDONLY)));
    tell (name, "open public", closed (openat (fd, "public", O_RDONLY)));
    tell (name, "make", closed (openat (fd, "made", O_CREAT | O_WRONLY, 0600)));
    tell (name, "mkdir", mkdirat (fd, "folder", 0700));
    tell (name, "rename", renameat (fd, "public", fd, "renamed"));
    tell (name, "unlink", unlinkat (fd, "public", 0));
    tell (name, "readlink", (int) readlinkat (fd, "link", text, sizeof text));
    tell (name, "through a link", closed (openat (fd, "link", O_RDONLY)));
    tell (name, "..", closed (openat (fd, "..", O_RDONLY | O_DIRECTORY)));
    tell (name, "../open", closed (openat (fd, "../open", O_RDONLY | O_DIRECTORY)));
    tell (name, "../closed/secret", closed (openat (fd, "../closed/secret", O_RDONLY)));
    tell (name, "./././secret", closed (openat (fd, "./././secret", O_RDONLY)));
    tell (name, "an absolute name", closed (openat (fd, "/nowhere/at/all", O_RDONLY)));
    tell (name, "an empty name", closed (openat (fd, "", O_RDONLY)));
    tell (name, "mkdir ..", mkdirat (fd, "..", 0700));
    tell (name, "mkdir .", mkdirat (fd, ".", 0700));
    tell (name, "rmdir ..", unlinkat (fd, "..", AT_REMOVEDIR));
    tell (name, "rename to ..", renameat (fd, "public", fd, ".."));
}

int
main (int argc, char **argv)
{
    static const char *const files[] = { "secret",        "public",      "closed/secret",
                                         "closed/public", "closed/fifo", "closed/link" };
    static const char *const folders[] = { ".", "open", "closed" };
    int handles[8], dirs[8], opened;
    id_t id = argc == 3 ? (id_t) atoi (argv[2]) : 0;

    if (id == 0 || chdir (argv[1]) < 0)
        return 2;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        handles[i] = open (files[i], O_PATH | O_NOFOLLOW);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        dirs[i] = open (folders[i], O_PATH | O_DIRECTORY);
    opened = open ("closed/secret", O_RDONLY);
    if (setgroups (0, NULL) < 0 || setresgid (id, id, id) < 0 || setresuid (id, id, id) < 0)
        return 2;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        through_handle (files[i], handles[i]);
    through_handle ("closed/secret, open to read", opened);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        below_handle (folders[i], dirs[i]);
    return 0;
}
