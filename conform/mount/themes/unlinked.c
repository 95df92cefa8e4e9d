/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that are open and have no name any more: every call on their descriptors. */
#include "conform/mount/themes/themes.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

static const char *const ways[] = { "unlinked", "replaced", "its directory removed too" };

/* Returns a descriptor of a removed file of ten bytes. */
static int
gone (unsigned way)
{
    int fd;

    NEED (mkdir ("d", 0755));
    fd = make_file ("d/file", "0123456789");
    close (make_file ("other", "other"));
    if (way == 1)
        TELL ("replace", rename ("other", "d/file"));
    else
        TELL ("unlink", unlink ("d/file"));
    if (way == 2)
        TELL ("rmdir", rmdir ("d"));
    return fd;
}

static void
on_stat (int fd)
{
    struct stat st;

    if (TELL ("fstat", fstat (fd, &st)) == 0)
        show_stat ("it", &st);
    TELL ("its name", access ("d/file", F_OK));
    if (TELL ("fstatat of nothing", fstatat (fd, "", &st, AT_EMPTY_PATH)) == 0)
        show_stat ("it", &st);
}

static void
on_read (int fd)
{
    char text[16] = "";

    TELL ("pread", pread (fd, text, 10, 0));
    observe ("it holds %s", text);
    TELL ("lseek", lseek (fd, 0, SEEK_END));
}

static void
on_write (int fd)
{
    char text[32] = "";

    TELL ("pwrite", pwrite (fd, "more", 4, 10));
    TELL ("pread", pread (fd, text, 31, 0));
    observe ("it holds %s", text);
    TELL ("fsync", fsync (fd));
    TELL ("fdatasync", fdatasync (fd));
    on_stat (fd);
}

static void
on_size (int fd)
{
    TELL ("ftruncate", ftruncate (fd, 3));
    on_stat (fd);
    TELL ("fallocate", fallocate (fd, 0, 0, 10000));
    on_stat (fd);
    TELL ("punch", fallocate (fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096));
    TELL ("SEEK_DATA", lseek (fd, 0, SEEK_DATA) >= 0);
}

static void
on_attributes (int fd)
{
    struct stat st;

    TELL ("fchmod", fchmod (fd, 0600));
    TELL ("fchown", fchown (fd, getuid (), getgid ()));
    TELL ("futimens", futimens (fd, (struct timespec[]){ { 1, 2 }, { 3, 4 } }));
    on_stat (fd);
    if (fstat (fd, &st) == 0)
        observe ("mtime %ld.%ld, atime %ld.%ld", (long) st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
                 (long) st.st_atim.tv_sec, st.st_atim.tv_nsec);
}

static void
on_xattrs (int fd)
{
    char value[16] = "";

    TELL ("fsetxattr", fsetxattr (fd, "user.x", "value", 5, 0));
    TELL ("fgetxattr", fgetxattr (fd, "user.x", value, sizeof value));
    TELL ("flistxattr", flistxattr (fd, value, sizeof value));
    TELL ("fremovexattr", fremovexattr (fd, "user.x"));
}

static void
on_locks (int fd)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    TELL ("a record lock", fcntl (fd, F_SETLK, &lock));
    TELL ("ask", fcntl (fd, F_GETLK, &lock));
    TELL ("a description lock", fcntl (fd, F_OFD_SETLK, &(struct flock){ .l_type = F_RDLCK }) < 0);
    TELL ("flock", flock (fd, LOCK_EX));
    TELL ("flock to none", flock (fd, LOCK_UN));
}

static void
on_copy (int fd)
{
    const int out = make_file ("copy", "");
    loff_t from = 0;

    TELL ("copy from it", copy_file_range (fd, &from, out, NULL, 10, 0));
    TELL ("copy to it", copy_file_range (out, (loff_t[]){ 0 }, fd, (loff_t[]){ 20 }, 10, 0));
    TELL ("fstatvfs", fstatvfs (fd, &(struct statvfs){ 0 }));
    show_content ("copy");
    on_stat (fd);
}

/* It can be opened again by /proc, but can't get a name. */
static void
on_again (int fd)
{
    g_autofree char *path = g_strdup_printf ("/proc/self/fd/%d", fd);
    char text[16] = "";
    int again;

    TELL ("link it back", linkat (AT_FDCWD, path, AT_FDCWD, "back", AT_SYMLINK_FOLLOW));
    again = TELL_FD ("open it again", open (path, O_RDWR));
    TELL ("read", pread (again, text, 10, 0));
    TELL ("write", pwrite (again, "again", 5, 0));
    on_read (fd);
    TELL ("truncate by the path", truncate (path, 2));
    TELL ("chmod by the path", chmod (path, 0640));
    on_stat (fd);
    close (again);
}

static const struct {
    const char *name;
    void (*run) (int fd);
} calls[] = { { "stat", on_stat },
              { "read", on_read },
              { "write", on_write },
              { "size", on_size },
              { "attributes", on_attributes },
              { "xattrs", on_xattrs },
              { "locks", on_locks },
              { "copy", on_copy },
              { "open again", on_again } };

static void
run_file (const struct mount_case *c)
{
    const int fd = gone (c->b);

    calls[c->a].run (fd);
    close (fd);
}

/* --- other objects -------------------------------------------------------------------------- */

static void
run_directory (const struct mount_case *c)
{
    struct stat st;
    int fd;

    make_tree ("d:d");
    fd = open ("d", O_RDONLY | O_DIRECTORY);
    TELL ("rmdir", rmdir ("d"));
    if (TELL ("fstat", fstat (fd, &st)) == 0)
        show_stat ("it", &st);
    TELL ("make a file in it", openat (fd, "x", O_CREAT | O_WRONLY, 0600));
    TELL ("make a directory in it", mkdirat (fd, "x", 0700));
    TELL ("make a link in it", symlinkat ("x", fd, "x"));
    TELL ("move a file into it", (close (make_file ("f", "")), renameat (AT_FDCWD, "f", fd, "f")));
    TELL ("look for a name", faccessat (fd, "x", F_OK, 0));
    TELL ("fchmod", fchmod (fd, 0700));
    TELL ("futimens", futimens (fd, NULL));
    TELL ("fsetxattr", fsetxattr (fd, "user.x", "y", 1, 0));
    TELL ("fsync", fsync (fd));
    observe ("entries: %d", readdir (fdopendir (fd)) != NULL);
}

static void
run_where_we_are (const struct mount_case *c)
{
    struct stat st;
    char path[4096];

    make_tree ("d:d");
    NEED (chdir ("d"));
    TELL ("rmdir of where we are", rmdir ("../d"));
    TELL ("creating in it", open ("x", O_CREAT | O_WRONLY, 0600));
    TELL ("mkdir in it", mkdir ("x", 0700));
    TELL ("stat of it", stat (".", &st));
    TELL ("open it", open (".", O_RDONLY) < 0);
    observe ("getcwd: %s", getcwd (path, sizeof path) ? "ok" : errno_name (errno));
    TELL ("leaving it", chdir (".."));
    TELL ("its name", access ("d", F_OK));
}

/* Another file gets the name: the open file stays the same. */
static void
run_name_again (const struct mount_case *c)
{
    const int old = make_file ("file", "the old");
    int new;

    TELL ("unlink", unlink ("file"));
    new = make_file ("file", "the new one");
    TELL ("write to the old", pwrite (old, "THE", 3, 0));
    TELL ("chmod of the old", fchmod (old, 0600));
    show_content ("file");
    show ("file", "file");
    on_stat (old);
    must (access ("file", F_OK) == 0, "POSIX unlink: another file of the name stays");
    close (old);
    close (new);
}

static void
run_other_name (const struct mount_case *c)
{
    const int fd = make_file ("file", "text");

    TELL ("link", link ("file", "other"));
    TELL ("unlink", unlink ("file"));
    TELL ("write", pwrite (fd, "TEXT", 4, 0));
    on_stat (fd);
    show_content ("other");
    TELL ("unlink the other", unlink ("other"));
    on_stat (fd);
    close (fd);
}

void
unlinked_cases (GPtrArray *list)
{
    for (unsigned call = 0; call < G_N_ELEMENTS (calls); call++)
        for (unsigned way = 0; way < G_N_ELEMENTS (ways); way++)
            case_add (list, run_file, call, way, 0, 0, "unlinked/%s, %s", calls[call].name,
                      ways[way]);
    case_add (list, run_directory, 0, 0, 0, 0, "unlinked/a directory");
    case_add (list, run_where_we_are, 0, 0, 0, 0, "unlinked/where we are");
    case_add (list, run_name_again, 0, 0, 0, 0, "unlinked/the name is used again");
    case_add (list, run_other_name, 0, 0, 0, 0, "unlinked/another name stays");
}
