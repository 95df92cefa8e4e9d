/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The calls that paths.c makes. None may block: the opened object may be a fifo. */
#include "conform/mount/themes/paths.h"
#include "conform/mount/themes/themes.h"

#include <dirent.h>
#include <linux/fs.h>
#include <sys/inotify.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

static void
call_open (const char *path, unsigned flags)
{
    const int fd = TELL_FD ("open", open (path, flags | O_NONBLOCK, 0640));
    struct stat st;

    if (fd < 0)
        return;
    if (fstat (fd, &st) == 0)
        show_stat ("what is open", &st);
    observe ("flags %#o", fcntl (fd, F_GETFL) & ~O_LARGEFILE);
    close (fd);
}

static void
call_creat (const char *path, unsigned mode)
{
    close (TELL_FD ("open", open (path, O_CREAT | O_TRUNC | O_WRONLY | O_NONBLOCK, mode)));
}

static void
call_mkdir (const char *path, unsigned mode)
{
    TELL ("mkdir", mkdir (path, mode));
}

static void
call_mknod (const char *path, unsigned mode)
{
    TELL ("mknod", mknod (path, mode, makedev (1, 3)));
}

static void
call_unlink (const char *path, unsigned flags)
{
    TELL ("unlinkat", unlinkat (AT_FDCWD, path, flags));
}

static void
call_rename_from (const char *path, unsigned flags)
{
    TELL ("renameat2", renameat2 (AT_FDCWD, path, AT_FDCWD, "target", flags));
}

static void
call_rename_onto (const char *path, unsigned flags)
{
    TELL ("renameat2", renameat2 (AT_FDCWD, "source", AT_FDCWD, path, flags));
}

static void
call_link_from (const char *path, unsigned flags)
{
    TELL ("linkat", linkat (AT_FDCWD, path, AT_FDCWD, "target", flags));
}

static void
call_link_onto (const char *path, unsigned flags)
{
    TELL ("linkat", linkat (AT_FDCWD, "source", AT_FDCWD, path, flags));
}

static void
call_symlink (const char *path, unsigned unused)
{
    TELL ("symlink", symlink ("to nowhere", path));
}

static void
call_readlink (const char *path, unsigned size)
{
    char text[64] = "";

    TELL ("readlink", readlink (path, text, size));
    observe ("it is '%.*s'", (int) sizeof text, text);
}

static void
call_stat (const char *path, unsigned flags)
{
    struct stat st;

    if (TELL ("fstatat", fstatat (AT_FDCWD, path, &st, flags)) == 0)
        show_stat ("what is there", &st);
}

static void
call_statx (const char *path, unsigned flags)
{
    struct statx st;

    if (TELL ("statx", statx (AT_FDCWD, path, flags, STATX_BASIC_STATS, &st)) == 0)
        observe ("mask %#x, mode %o, links %u", st.stx_mask & STATX_BASIC_STATS, st.stx_mode,
                 st.stx_nlink);
}

static void
call_access (const char *path, unsigned mode)
{
    TELL ("access", access (path, mode));
}

static void
call_faccessat2 (const char *path, unsigned flags)
{
    TELL ("read", syscall (SYS_faccessat2, AT_FDCWD, path, R_OK, flags));
    TELL ("write and execute", syscall (SYS_faccessat2, AT_FDCWD, path, W_OK | X_OK, flags));
}

static void
call_chmod (const char *path, unsigned mode)
{
    TELL ("chmod", chmod (path, mode));
}

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

static void
call_fchmodat2 (const char *path, unsigned flags)
{
    TELL ("fchmodat2", syscall (SYS_fchmodat2, AT_FDCWD, path, 0604, flags));
}

static void
call_chown (const char *path, unsigned flags)
{
    TELL ("to the owner", fchownat (AT_FDCWD, path, getuid (), getgid (), flags));
    TELL ("to nobody else", fchownat (AT_FDCWD, path, -1, -1, flags));
    TELL ("to another", fchownat (AT_FDCWD, path, 12345, 12345, flags));
}

static void
call_truncate (const char *path, unsigned size)
{
    TELL ("truncate", truncate (path, size));
}

static void
call_utimensat (const char *path, unsigned flags)
{
    const struct timespec times[2] = { { LONG_AGO + 1, 2 }, { LONG_AGO + 3, 4 } };

    TELL ("utimensat", utimensat (AT_FDCWD, path, times, flags));
}

static void
call_utimensat_special (const char *path, unsigned which)
{
    const long rows[][2] = { { UTIME_NOW, UTIME_NOW },   { UTIME_OMIT, UTIME_OMIT },
                             { UTIME_NOW, UTIME_OMIT },  { UTIME_OMIT, UTIME_NOW },
                             { UTIME_OMIT, 5 },          { 5, UTIME_OMIT },
                             { 1000000000, UTIME_OMIT }, { -1, 0 } };
    const struct timespec times[2] = { { LONG_AGO + 1, rows[which][0] },
                                       { LONG_AGO + 1, rows[which][1] } };

    TELL ("utimensat", utimensat (AT_FDCWD, path, times, 0));
}

static void
call_setxattr (const char *path, unsigned flags)
{
    char value[16] = "";

    TELL ("setxattr", setxattr (path, "user.x", "value", 5, flags));
    TELL ("getxattr", getxattr (path, "user.x", value, sizeof value));
    observe ("it is '%s'", value);
}

static void
call_lsetxattr (const char *path, unsigned flags)
{
    char value[16] = "";

    TELL ("lsetxattr", lsetxattr (path, "user.x", "value", 5, flags));
    TELL ("lsetxattr, trusted", lsetxattr (path, "trusted.x", "value", 5, flags));
    TELL ("lgetxattr", lgetxattr (path, "user.x", value, sizeof value));
    observe ("it is '%s'", value);
}

static void
call_getxattr (const char *path, unsigned unused)
{
    char value[16];

    TELL ("getxattr", getxattr (path, "user.missing", value, sizeof value));
    TELL ("lgetxattr", lgetxattr (path, "user.missing", NULL, 0));
    TELL ("of no namespace", getxattr (path, "missing", value, sizeof value));
}

static void
call_listxattr (const char *path, unsigned unused)
{
    char list[256];

    TELL ("listxattr", listxattr (path, list, sizeof list));
    TELL ("llistxattr", llistxattr (path, NULL, 0));
}

static void
call_removexattr (const char *path, unsigned unused)
{
    TELL ("removexattr", removexattr (path, "user.missing"));
    TELL ("lremovexattr", lremovexattr (path, "user.missing"));
}

static void
call_opendir (const char *path, unsigned unused)
{
    DIR *dir = opendir (path);
    unsigned n = 0;

    if (!dir) {
        observe_result ("opendir", -1);
        return;
    }
    while (readdir (dir))
        n++;
    observe ("%u entries", n);
    closedir (dir);
}

static void
call_chdir (const char *path, unsigned unused)
{
    const int here = open (".", O_PATH);

    TELL ("chdir", chdir (path));
    NEED (fchdir (here));
    close (here);
}

static void
call_statvfs (const char *path, unsigned unused)
{
    struct statvfs fs;

    if (TELL ("statvfs", statvfs (path, &fs)) == 0)
        observe ("names of %lu bytes", fs.f_namemax);
}

static void
call_inotify (const char *path, unsigned mask)
{
    const int fd = inotify_init1 (IN_NONBLOCK);

    TELL ("inotify_add_watch", inotify_add_watch (fd, path, mask));
    close (fd);
}

static void
call_name_to_handle (const char *path, unsigned flags)
{
    struct {
        struct file_handle handle;
        unsigned char bytes[128];
    } room = { .handle = { .handle_bytes = 128 } };
    int mount;

    TELL ("name_to_handle_at", name_to_handle_at (AT_FDCWD, path, &room.handle, &mount, flags));
}

#define CREATE (O_CREAT | O_WRONLY)

const struct path_call path_calls[] = {
    { "open to read", call_open, O_RDONLY, NULL },
    { "open to write", call_open, O_WRONLY, NULL },
    { "open to read and write", call_open, O_RDWR, NULL },
    { "open for neither", call_open, O_ACCMODE, NULL },
    { "open to append", call_open, O_WRONLY | O_APPEND, NULL },
    { "open O_TRUNC", call_open, O_WRONLY | O_TRUNC, NULL },
    { "open O_TRUNC to read", call_open, O_RDONLY | O_TRUNC, NULL },
    { "open O_CREAT", call_open, CREATE, NULL },
    { "open O_CREAT to read", call_open, O_CREAT | O_RDONLY, NULL },
    { "open O_CREAT O_EXCL", call_open, CREATE | O_EXCL, NULL },
    { "open O_CREAT O_TRUNC", call_open, CREATE | O_TRUNC, NULL },
    { "open O_CREAT O_NOFOLLOW", call_open, CREATE | O_NOFOLLOW, NULL },
    { "open O_CREAT O_DIRECTORY", call_open, O_CREAT | O_DIRECTORY, NULL },
    { "open O_EXCL", call_open, O_RDONLY | O_EXCL, NULL },
    { "open O_DIRECTORY", call_open, O_DIRECTORY, NULL },
    { "open O_DIRECTORY to write", call_open, O_DIRECTORY | O_RDWR, NULL },
    { "open O_NOFOLLOW", call_open, O_NOFOLLOW, NULL },
    { "open O_NOFOLLOW O_DIRECTORY", call_open, O_NOFOLLOW | O_DIRECTORY, NULL },
    { "open O_PATH", call_open, O_PATH, NULL },
    { "open O_PATH O_NOFOLLOW", call_open, O_PATH | O_NOFOLLOW, NULL },
    { "open O_TMPFILE", call_open, O_TMPFILE | O_RDWR, NULL },
    { "open O_TMPFILE O_EXCL", call_open, O_TMPFILE | O_WRONLY | O_EXCL, NULL },
    { "open O_TMPFILE to read", call_open, O_TMPFILE, NULL },
    { "open O_NOATIME", call_open, O_NOATIME, NULL },
    { "open O_SYNC", call_open, O_WRONLY | O_SYNC, NULL },
    { "open O_DSYNC", call_open, O_WRONLY | O_DSYNC, NULL },
    { "creat", call_creat, 0666, NULL },
    { "creat setuid", call_creat, 06777, NULL },
    { "mkdir", call_mkdir, 0777, NULL },
    { "mkdir sticky", call_mkdir, 01755, NULL },
    { "mkdir setgid", call_mkdir, 02755, NULL },
    { "mknod a file", call_mknod, S_IFREG | 0666, NULL },
    { "mknod without a type", call_mknod, 0666, NULL },
    { "mknod a fifo", call_mknod, S_IFIFO | 0666, NULL },
    { "mknod a socket", call_mknod, S_IFSOCK | 0666, NULL },
    { "mknod a character device", call_mknod, S_IFCHR | 0666, NULL },
    { "mknod a block device", call_mknod, S_IFBLK | 0666, NULL },
    { "mknod a directory", call_mknod, S_IFDIR | 0777, NULL },
    { "mknod a link", call_mknod, S_IFLNK | 0777, NULL },
    { "unlink", call_unlink, 0, NULL },
    { "rmdir", call_unlink, AT_REMOVEDIR, NULL },
    { "rename it", call_rename_from, 0, NULL },
    { "rename it, noreplace", call_rename_from, RENAME_NOREPLACE, NULL },
    { "rename it, exchange", call_rename_from, RENAME_EXCHANGE, "F:target" },
    { "rename a file onto it", call_rename_onto, 0, "F:source" },
    { "rename a directory onto it", call_rename_onto, 0, "d:source" },
    { "rename a file onto it, noreplace", call_rename_onto, RENAME_NOREPLACE, "F:source" },
    { "rename a missing one onto it", call_rename_onto, 0, NULL },
    { "link it", call_link_from, 0, NULL },
    { "link it, following", call_link_from, AT_SYMLINK_FOLLOW, NULL },
    { "link it, any path", call_link_from, AT_EMPTY_PATH, NULL },
    { "link it onto a file", call_link_from, 0, "F:target" },
    { "link a file onto it", call_link_onto, 0, "F:source" },
    { "symlink", call_symlink, 0, NULL },
    { "readlink", call_readlink, 64, NULL },
    { "readlink in part", call_readlink, 2, NULL },
    { "readlink into nothing", call_readlink, 0, NULL },
    { "stat", call_stat, 0, NULL },
    { "lstat", call_stat, AT_SYMLINK_NOFOLLOW, NULL },
    { "fstatat, any path", call_stat, AT_EMPTY_PATH, NULL },
    { "statx", call_statx, AT_STATX_FORCE_SYNC, NULL },
    { "statx of a link", call_statx, AT_SYMLINK_NOFOLLOW, NULL },
    { "access F_OK", call_access, F_OK, NULL },
    { "access R_OK", call_access, R_OK, NULL },
    { "access W_OK", call_access, W_OK, NULL },
    { "access X_OK", call_access, X_OK, NULL },
    { "access all", call_access, R_OK | W_OK | X_OK, NULL },
    { "access wrong mode", call_access, 8, NULL },
    { "faccessat2 AT_EACCESS", call_faccessat2, AT_EACCESS, NULL },
    { "faccessat2 of a link", call_faccessat2, AT_SYMLINK_NOFOLLOW, NULL },
    { "chmod", call_chmod, 0640, NULL },
    { "chmod setuid", call_chmod, 06755, NULL },
    { "chmod sticky", call_chmod, 01777, NULL },
    { "chmod nothing", call_chmod, 0, NULL },
    { "fchmodat2 of a link", call_fchmodat2, AT_SYMLINK_NOFOLLOW, NULL },
    { "chown", call_chown, 0, NULL },
    { "lchown", call_chown, AT_SYMLINK_NOFOLLOW, NULL },
    { "truncate shorter", call_truncate, 3, NULL },
    { "truncate longer", call_truncate, 100, NULL },
    { "truncate to nothing", call_truncate, 0, NULL },
    { "truncate to the same", call_truncate, 10, NULL },
    { "utimensat", call_utimensat, 0, NULL },
    { "utimensat of a link", call_utimensat, AT_SYMLINK_NOFOLLOW, NULL },
    { "utimensat now", call_utimensat_special, 0, NULL },
    { "utimensat omit", call_utimensat_special, 1, NULL },
    { "utimensat atime now", call_utimensat_special, 2, NULL },
    { "utimensat mtime now", call_utimensat_special, 3, NULL },
    { "utimensat mtime", call_utimensat_special, 4, NULL },
    { "utimensat atime", call_utimensat_special, 5, NULL },
    { "utimensat too many nanoseconds", call_utimensat_special, 6, NULL },
    { "utimensat negative nanoseconds", call_utimensat_special, 7, NULL },
    { "setxattr", call_setxattr, 0, NULL },
    { "setxattr XATTR_CREATE", call_setxattr, 1, NULL },
    { "setxattr XATTR_REPLACE", call_setxattr, 2, NULL },
    { "lsetxattr", call_lsetxattr, 0, NULL },
    { "getxattr", call_getxattr, 0, NULL },
    { "listxattr", call_listxattr, 0, NULL },
    { "removexattr", call_removexattr, 0, NULL },
    { "opendir", call_opendir, 0, NULL },
    { "chdir", call_chdir, 0, NULL },
    { "statvfs", call_statvfs, 0, NULL },
    { "inotify", call_inotify, IN_MODIFY, NULL },
    { "inotify of a directory", call_inotify, IN_CREATE | IN_ONLYDIR, NULL },
    { "name_to_handle_at", call_name_to_handle, 0, NULL },
    { "name_to_handle_at, following", call_name_to_handle, AT_SYMLINK_FOLLOW, NULL },
    { NULL, NULL, 0, NULL },
};
