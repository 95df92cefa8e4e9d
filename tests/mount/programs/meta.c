/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * meta MNT UID: operations that must fail in MNT/.meta. As root: move, link, map and change
 * attributes of its files. Then as user and group UID, with descriptors and a file handle that root
 * has opened. Prints the result of each operation. MNT has a file f and a directory d.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define META ".meta"
#define FRAMES META "/frames"
#define LEVEL META "/logging/loglevel"

static void
tell (const char *what, long result)
{
    printf ("%s: %s\n", what, result < 0 ? strerrorname_np (errno) : "done");
}

static int
closed (int fd)
{
    if (fd >= 0)
        close (fd);
    return fd;
}

static const char *
path_of (int fd)
{
    static char path[64];

    snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

static void
as_root (void)
{
    int file = open ("f", O_RDONLY), level = open (LEVEL, O_RDWR), flags;

    tell ("map",
          mmap (NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, level, 0) == MAP_FAILED ? -1 : 0);
    tell ("exchange .meta", renameat2 (AT_FDCWD, META, AT_FDCWD, "d", RENAME_EXCHANGE));
    tell ("exchange with .meta", renameat2 (AT_FDCWD, "d", AT_FDCWD, META, RENAME_EXCHANGE));
    tell ("exchange a file in it", renameat2 (AT_FDCWD, FRAMES, AT_FDCWD, "f", RENAME_EXCHANGE));
    tell ("rename .meta", rename (META, "other"));
    tell ("rename a directory to it", rename ("d", META));
    tell ("rename within", rename (FRAMES, META "/other"));
    tell ("rename out", rename (FRAMES, "other"));
    tell ("rename in", rename ("f", META "/other"));
    tell ("link out", link (FRAMES, "other"));
    tell ("link in", link ("f", META "/other"));
    tell ("remove .meta", rmdir (META));
    tell ("remove a file", unlink (FRAMES));
    tell ("remove a directory", rmdir (META "/logging"));
    tell ("make a file", closed (open (META "/other", O_CREAT | O_WRONLY, 0600)));
    tell ("make a file without a name", closed (open (META, O_TMPFILE | O_RDWR, 0600)));
    tell ("make a directory", mkdir (META "/other", 0700));
    tell ("make a link", symlink ("x", META "/other"));
    tell ("make a pipe", mknod (META "/other", S_IFIFO | 0600, 0));
    tell ("change a mode", chmod (FRAMES, 0666));
    tell ("change the mode of .meta", chmod (META, 0777));
    tell ("change an owner", chown (LEVEL, 1, 1));
    tell ("set an attribute", setxattr (FRAMES, "user.a", "b", 1, 0));
    tell ("set an ACL", setxattr (META, "system.posix_acl_access", "\2\0\0\0", 4, 0));
    tell ("write to what is read only", closed (open (FRAMES, O_WRONLY)));
    tell ("make room", fallocate (level, 0, 0, 10));
    tell ("copy in", copy_file_range (file, NULL, level, NULL, 10, 0) > 0 ? 0 : -1);
    tell ("lock", flock (level, LOCK_EX));
    tell ("seek data", lseek (level, 0, SEEK_DATA));
    tell ("ask for flags", ioctl (level, FS_IOC_GETFLAGS, &flags));
    tell ("execute", execl (FRAMES, "frames", (char *) NULL));
    tell ("open as a directory", closed (open (FRAMES, O_RDONLY | O_DIRECTORY)));
    close (file);
    close (level);
}

static void
as_user (int dir, int path, int file, int level, struct file_handle *handle)
{
    char link[16];
    struct stat st;
    int id;

    tell ("look at .meta", stat (META, &st));
    tell ("list it", closed (open (META, O_RDONLY | O_DIRECTORY)));
    tell ("read", closed (open (FRAMES, O_RDONLY)));
    tell ("write", closed (open (LEVEL, O_WRONLY | O_TRUNC)));
    tell ("look at a file", stat (FRAMES, &st));
    tell ("look at a file that isn't there", stat (META "/nothing", &st));
    tell ("go there", chdir (META));
    tell ("ask for rights", access (META, R_OK));
    tell ("from a directory, read", closed (openat (dir, "frames", O_RDONLY)));
    tell ("from a directory, look", fstatat (dir, "frames", &st, 0));
    tell ("from a directory, open again", closed (openat (dir, ".", O_RDONLY)));
    tell ("from a directory, a link", readlinkat (dir, "logging/logfile", link, sizeof link));
    tell ("from a handle, read", closed (openat (path, "frames", O_RDONLY)));
    tell ("from a handle, list", closed (open (path_of (path), O_RDONLY | O_DIRECTORY)));
    tell ("a file's handle, read", closed (open (path_of (file), O_RDONLY)));
    tell ("a file's handle, truncate", closed (open (path_of (level), O_WRONLY | O_TRUNC)));
    tell ("a file's handle, change", chmod (path_of (file), 0666));
    tell ("a file's handle, link",
          linkat (AT_FDCWD, path_of (file), AT_FDCWD, "d/other", AT_SYMLINK_FOLLOW));
    tell ("a name's handle", name_to_handle_at (dir, "frames", handle, &id, 0));
    tell ("open by handle", closed (open_by_handle_at (dir, handle, O_RDONLY)));
}

int
main (int argc, char **argv)
{
    struct file_handle *handle = calloc (1, sizeof *handle + MAX_HANDLE_SZ);
    uid_t uid = argc == 3 ? (uid_t) atoi (argv[2]) : 0;
    int dir, path, file, level, id;

    if (uid == 0 || chdir (argv[1]) < 0)
        return 2;
    handle->handle_bytes = MAX_HANDLE_SZ;
    tell ("a handle for root", name_to_handle_at (AT_FDCWD, FRAMES, handle, &id, 0));
    tell ("open by it", closed (open_by_handle_at (AT_FDCWD, handle, O_RDONLY)));
    as_root ();
    dir = open (META, O_RDONLY | O_DIRECTORY);
    path = open (META, O_PATH);
    file = open (FRAMES, O_PATH);
    level = open (LEVEL, O_PATH);
    if (dir < 0 || path < 0 || file < 0 || level < 0 || setgroups (0, NULL) < 0
        || setresgid (uid, uid, uid) < 0 || setresuid (uid, uid, uid) < 0)
        return 1;
    printf ("--- user\n");
    as_user (dir, path, file, level, handle);
    return 0;
}
