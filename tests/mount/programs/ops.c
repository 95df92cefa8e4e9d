/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ops DIR: makes system calls of every kind below DIR, which must be empty, and prints what each came
 * to, one line a call: "rename onto a full directory: ENOTEMPTY". Run on a bare directory and through a mount
 * of one, it must print the same. Nothing that may differ between two runs is printed: no numbers of inodes, no times of day.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/fs.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Prints a line with the result of a call: its errno's name, or the number. */
static long
tell (const char *what, long result)
{
    if (result < 0)
        printf ("%s: %s\n", what, strerrorname_np (errno));
    else
        printf ("%s: %ld\n", what, result);
    return result;
}

#define TELL(what_, call_) (errno = 0, tell (what_, (long) (call_)))

static int
make_file (const char *name, const char *text)
{
    int fd = open (name, O_RDWR | O_CREAT | O_TRUNC, 0644);

    if (fd < 0 || write (fd, text, strlen (text)) != (ssize_t) strlen (text))
        printf ("could not make %s: %s\n", name, strerrorname_np (errno));
    return fd;
}

static void
show (const char *what, const char *name)
{
    struct stat st;

    if (lstat (name, &st) < 0) {
        printf ("%s: %s\n", what, strerrorname_np (errno));
        return;
    }
    printf ("%s: mode %o, links %lu, uid %u, gid %u, size %ld, rdev %u:%u\n", what, st.st_mode,
            S_ISDIR (st.st_mode) ? 0 : (unsigned long) st.st_nlink, st.st_uid, st.st_gid,
            S_ISDIR (st.st_mode) ? 0 : (long) st.st_size, major (st.st_rdev), minor (st.st_rdev));
}

static void
show_content (const char *name)
{
    char text[64] = "";
    int fd = open (name, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read (fd, text, sizeof text - 1);

    printf ("%s holds %zd: %s\n", name, n, n < 0 ? strerrorname_np (errno) : text);
    if (fd >= 0)
        close (fd);
}

/* --- names ---------------------------------------------------------------------------------- */

static void
names (void)
{
    char longest[258];

    memset (longest, 'n', sizeof longest);
    longest[255] = '\0';
    TELL ("a name of 255 bytes", close (open (longest, O_CREAT | O_WRONLY, 0600)));
    TELL ("removing it", unlink (longest));
    longest[255] = 'n';
    longest[256] = '\0';
    TELL ("a name of 256 bytes", open (longest, O_CREAT | O_WRONLY, 0600));
    TELL ("looking one up", access (longest, F_OK));
    TELL ("a name that isn't UTF-8", close (open ("\xff\xfe\x80", O_CREAT | O_WRONLY, 0600)));
    TELL ("finding it", access ("\xff\xfe\x80", F_OK));
    TELL ("a name with a newline", mkdir ("new\nline", 0700));
    TELL ("the empty name", open ("", O_CREAT | O_WRONLY, 0600));
    TELL ("a directory called .", mkdir (".", 0700));
    TELL ("a directory called ..", mkdir ("..", 0700));
    TELL ("removing .", rmdir ("."));
    TELL ("removing ..", rmdir (".."));
    TELL ("a slash behind a new file", open ("file/", O_CREAT | O_WRONLY, 0600));
    TELL ("a slash behind a new directory", mkdir ("slash/", 0700));
    TELL ("a missing name", access ("missing", F_OK));
    TELL ("a name below a missing one", access ("missing/x", F_OK));
    TELL ("a name below a file", access ("\xff\xfe\x80/x", F_OK));
}

/* --- making and removing -------------------------------------------------------------------- */

static void
making (void)
{
    umask (027);
    TELL ("mkdir", mkdir ("d", 0777));
    show ("d", "d");
    TELL ("mkdir again", mkdir ("d", 0777));
    TELL ("mkdir with the sticky bit", mkdir ("sticky", 01777));
    show ("sticky", "sticky");
    TELL ("create", close (open ("f", O_CREAT | O_EXCL | O_WRONLY, 0666)));
    show ("f", "f");
    TELL ("create again", open ("f", O_CREAT | O_EXCL | O_WRONLY, 0666));
    TELL ("create without O_EXCL", close (open ("f", O_CREAT | O_WRONLY, 0666)));
    TELL ("create a directory's name", open ("d", O_CREAT | O_WRONLY, 0666));
    TELL ("symlink", symlink ("where it points", "l"));
    show ("l", "l");
    TELL ("open with O_NOFOLLOW", open ("l", O_RDONLY | O_NOFOLLOW));
    TELL ("create through a dangling link", close (open ("l", O_CREAT | O_WRONLY, 0600)));
    show ("what it pointed to", "where it points");
    TELL ("a fifo", mknod ("fifo", S_IFIFO | 0644, 0));
    show ("fifo", "fifo");
    TELL ("a socket", mknod ("socket", S_IFSOCK | 0644, 0));
    show ("socket", "socket");
    TELL ("a regular file by mknod", mknod ("regular", S_IFREG | 0666, 0));
    show ("regular", "regular");
    TELL ("a device", mknod ("null", S_IFCHR | 0666, makedev (1, 3)));
    show ("null", "null");
    TELL ("link", link ("f", "f2"));
    show ("f2", "f2");
    TELL ("link onto what is there", link ("f", "l"));
    TELL ("link a directory", link ("d", "d2"));
    TELL ("link a link", link ("l", "l2"));
    show ("l2", "l2");
    TELL ("unlink a directory", unlink ("d"));
    TELL ("rmdir a file", rmdir ("f"));
    TELL ("mkdir below", mkdir ("d/sub", 0700));
    TELL ("rmdir a full one", rmdir ("d"));
    TELL ("unlink", unlink ("f"));
    show ("the other name", "f2");
    TELL ("unlink again", unlink ("f"));
    umask (022);
}

static void
links (void)
{
    char target[4096], text[5000];

    memset (target, 't', sizeof target);
    target[4095] = '\0';
    TELL ("a link of 4095 bytes", symlink (target, "long"));
    TELL ("reading it", readlink ("long", text, sizeof text));
    TELL ("reading it in part", readlink ("long", text, 10));
    TELL ("the empty link", symlink ("", "empty"));
    TELL ("reading what is no link", readlink (".", text, sizeof text));
    TELL ("a link to itself", symlink ("loop", "loop"));
    TELL ("following it", open ("loop", O_RDONLY));
}

/* --- renaming ------------------------------------------------------------------------------- */

static void
fresh (void)
{
    close (make_file ("r/file", "file"));
    close (make_file ("r/other", "other"));
    mkdir ("r/empty", 0755);
    mkdir ("r/full", 0755);
    close (make_file ("r/full/in", "in"));
    symlink ("file", "r/link");
}

static int
remove_one (const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove (path);
}

static void
rename_all (unsigned flags, const char *flags_name)
{
    static const char *const names[] = { "file", "other", "empty", "full", "full/in", "link", "missing", "full/new" };
    const unsigned n = sizeof names / sizeof names[0];
    char what[128], from[64], to[64];

    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < n; j++) {
            mkdir ("r", 0755);
            fresh ();
            snprintf (from, sizeof from, "r/%s", names[i]);
            snprintf (to, sizeof to, "r/%s", names[j]);
            snprintf (what, sizeof what, "rename %s to %s%s", names[i], names[j], flags_name);
            TELL (what, renameat2 (AT_FDCWD, from, AT_FDCWD, to, flags));
            show ("  from", from);
            show ("  to", to);
            if (nftw ("r", remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
                printf ("could not remove r\n");
        }
    }
}

static void
renaming (void)
{
    rename_all (0, "");
    rename_all (RENAME_NOREPLACE, ", noreplace");
    rename_all (RENAME_EXCHANGE, ", exchange");
    mkdir ("r", 0755);
    fresh ();
    TELL ("rename with flags that exclude each other", renameat2 (AT_FDCWD, "r/file", AT_FDCWD, "r/other", RENAME_EXCHANGE | RENAME_NOREPLACE));
    TELL ("rename with flags that don't exist", renameat2 (AT_FDCWD, "r/file", AT_FDCWD, "r/other", 1 << 10));
    TELL ("rename a directory into itself", rename ("r/full", "r/full/self"));
    TELL ("rename .", rename ("r/.", "r/dot"));
    TELL ("rename onto ..", rename ("r/file", "r/.."));
    int fd = open ("r/other", O_RDONLY);
    char text[8] = "";
    TELL ("rename over an open file", rename ("r/file", "r/other"));
    TELL ("reading it still", read (fd, text, 5));
    printf ("it holds %s\n", text);
    close (fd);
    show_content ("r/other");
}

/* --- data ----------------------------------------------------------------------------------- */

static void
reading_and_writing (void)
{
    char text[64] = "";
    struct iovec iov[2] = { { "two ", 4 }, { "parts", 5 } };
    int fd = make_file ("data", "0123456789");

    TELL ("pread in the middle", pread (fd, text, 4, 3));
    TELL ("pread over the end", pread (fd, text, 40, 8));
    TELL ("pread behind the end", pread (fd, text, 4, 100));
    TELL ("pread at a negative offset", pread (fd, text, 4, -1));
    TELL ("pwrite behind the end", pwrite (fd, "x", 1, 20));
    TELL ("size", lseek (fd, 0, SEEK_END));
    TELL ("writev", pwritev (fd, iov, 2, 0));
    TELL ("readv", preadv (fd, (struct iovec[]){ { text, 3 }, { text + 3, 6 } }, 2, 0));
    printf ("read %.9s\n", text);
    TELL ("write of nothing", write (fd, "", 0));
    TELL ("ftruncate longer", ftruncate (fd, 1000));
    TELL ("ftruncate shorter", ftruncate (fd, 5));
    TELL ("ftruncate to a negative size", ftruncate (fd, -1));
    TELL ("truncate", truncate ("data", 3));
    TELL ("truncate a directory", truncate (".", 3));
    TELL ("truncate what is missing", truncate ("missing", 3));
    close (fd);
    fd = open ("data", O_WRONLY | O_APPEND);
    TELL ("append", write (fd, "end", 3));
    TELL ("pwrite appends too", pwrite (fd, "!", 1, 0));
    TELL ("read from what is open for writing", read (fd, text, 1));
    close (fd);
    show_content ("data");
    fd = open ("data", O_RDONLY);
    TELL ("write to what is open for reading", write (fd, "x", 1));
    TELL ("ftruncate what is open for reading", ftruncate (fd, 1));
    close (fd);
    TELL ("open with O_TRUNC", close (open ("data", O_WRONLY | O_TRUNC)));
    show ("data", "data");
    TELL ("open a directory for writing", open (".", O_WRONLY));
    TELL ("open a file as a directory", open ("data", O_RDONLY | O_DIRECTORY));
    fd = open (".", O_RDONLY);
    TELL ("read a directory", read (fd, text, 1));
    close (fd);
}

static void
large_offsets (void)
{
    int fd = make_file ("large", "");
    char byte = 0;

    TELL ("write at 5 GiB", pwrite (fd, "x", 1, 5LL << 30) );
    printf ("size %jd\n", (intmax_t) lseek (fd, 0, SEEK_END));
    TELL ("read it", pread (fd, &byte, 1, 5LL << 30));
    printf ("read %c\n", byte);
    TELL ("read the hole", pread (fd, &byte, 1, 3LL << 30));
    printf ("read %d\n", byte);
    struct stat st;
    fstat (fd, &st);
    printf ("few blocks: %d\n", st.st_blocks < 100);
    TELL ("data is at the end", lseek (fd, 4096, SEEK_DATA) >= 4LL << 30);
    TELL ("a hole at the start", lseek (fd, 0, SEEK_HOLE));
    TELL ("no data behind the end", lseek (fd, 6LL << 30, SEEK_DATA));
    close (fd);
}

static void
room (void)
{
    int fd = make_file ("room", "");
    char text[8] = "";

    TELL ("fallocate", fallocate (fd, 0, 0, 65536));
    show ("room", "room");
    TELL ("fallocate and keep the size", fallocate (fd, FALLOC_FL_KEEP_SIZE, 65536, 65536));
    show ("room", "room");
    TELL ("fallocate of nothing", fallocate (fd, 0, 0, 0));
    TELL ("fallocate at a negative offset", fallocate (fd, 0, -1, 1));
    TELL ("write", pwrite (fd, "abcdefgh", 8, 4096));
    TELL ("punch a hole", fallocate (fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096));
    TELL ("read it", pread (fd, text, 8, 4096));
    printf ("it is %s\n", text[0] ? "full" : "zeros");
    TELL ("punch without keeping the size", fallocate (fd, FALLOC_FL_PUNCH_HOLE, 0, 4096));
    close (fd);
}

static void
copying (void)
{
    int in = make_file ("in", "copy me as you are"), out = make_file ("out", "");
    loff_t from = 5, to = 0;

    TELL ("copy_file_range", copy_file_range (in, &from, out, &to, 2, 0));
    from = 0;
    TELL ("copy over the end", copy_file_range (in, &from, out, &to, 1000, 0));
    TELL ("copy from the end", copy_file_range (in, &from, out, &to, 1000, 0));
    TELL ("copy with flags", copy_file_range (in, &from, out, &to, 1, 1));
    show_content ("out");
    close (in);
    close (out);
}

static void
mapping (void)
{
    int fd = make_file ("mapped", "mapped text");
    char *map;

    TELL ("longer", ftruncate (fd, 8192));
    map = mmap (NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        TELL ("mmap", -1);
        return;
    }
    memcpy (map, "MAPPED", 6);
    map[5000] = 'y';
    TELL ("msync", msync (map, 8192, MS_SYNC));
    char text[16] = "";
    TELL ("read", pread (fd, text, 11, 0));
    printf ("it holds %s\n", text);
    TELL ("write", pwrite (fd, "seen", 4, 0));
    printf ("the map shows %.11s\n", map);
    munmap (map, 8192);
    close (fd);
}

static void
unlinked (void)
{
    int fd = make_file ("gone", "still here");
    char text[16] = "", path[64];
    struct stat st;

    TELL ("unlink while open", unlink ("gone"));
    TELL ("fstat", fstat (fd, &st));
    printf ("links %lu, size %ld\n", (unsigned long) st.st_nlink, (long) st.st_size);
    TELL ("read", pread (fd, text, 10, 0));
    printf ("it holds %s\n", text);
    TELL ("write", pwrite (fd, "more", 4, 10));
    TELL ("ftruncate", ftruncate (fd, 2));
    TELL ("fchmod", fchmod (fd, 0600));
    TELL ("futimens", futimens (fd, (struct timespec[]){ { 1, 2 }, { 3, 4 } }));
    fstat (fd, &st);
    printf ("mode %o, mtime %ld.%ld\n", st.st_mode, (long) st.st_mtim.tv_sec, (long) st.st_mtim.tv_nsec);
    TELL ("its name again", access ("gone", F_OK));
    snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
    TELL ("link it back", linkat (AT_FDCWD, path, AT_FDCWD, "back", AT_SYMLINK_FOLLOW) < 0);
    close (fd);
    mkdir ("cwd", 0755);
    if (chdir ("cwd") == 0) {
        TELL ("rmdir of where we are", rmdir ("../cwd"));
        TELL ("creating in it", open ("x", O_CREAT | O_WRONLY, 0600));
        TELL ("stat of it", stat (".", &st));
        TELL ("leaving it", chdir (".."));
    }
}

/* --- attributes ----------------------------------------------------------------------------- */

static void
attributes (void)
{
    struct timespec times[2] = { { 1234567890, 123456789 }, { 987654321, 987654321 } };
    int fd = make_file ("attributes", "some");
    struct stat st;

    TELL ("utimensat", utimensat (AT_FDCWD, "attributes", times, 0));
    stat ("attributes", &st);
    printf ("atime %ld.%09ld mtime %ld.%09ld\n", (long) st.st_atim.tv_sec, st.st_atim.tv_nsec,
            (long) st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    times[0].tv_nsec = UTIME_OMIT;
    times[1] = (struct timespec){ -1000, 5 };
    TELL ("a time before 1970", futimens (fd, times));
    stat ("attributes", &st);
    printf ("atime %ld.%09ld mtime %ld.%09ld\n", (long) st.st_atim.tv_sec, st.st_atim.tv_nsec,
            (long) st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    times[0].tv_nsec = times[1].tv_nsec = UTIME_NOW;
    TELL ("now", futimens (fd, times));
    stat ("attributes", &st);
    printf ("it is later: %d\n", st.st_mtim.tv_sec > 1500000000);
    TELL ("chmod", chmod ("attributes", 04755));
    show ("attributes", "attributes");
    TELL ("chown", chown ("attributes", geteuid (), getegid ()));
    show ("attributes", "attributes");
    TELL ("chmod of a missing one", chmod ("missing", 0644));
    symlink ("attributes", "alink");
    times[0] = times[1] = (struct timespec){ 77, 88 };
    TELL ("times of a link", utimensat (AT_FDCWD, "alink", times, AT_SYMLINK_NOFOLLOW));
    lstat ("alink", &st);
    printf ("mtime %ld.%09ld\n", (long) st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    TELL ("access", access ("attributes", R_OK | W_OK));
    unsigned flags = 0;
    TELL ("file attributes", ioctl (fd, FS_IOC_GETFLAGS, &flags));
    TELL ("an unknown ioctl", ioctl (fd, 0x12345678, &flags));
    close (fd);
}

static void
extended_attributes (void)
{
    char value[70000], list[4096];
    int fd = make_file ("xattr", "x");

    memset (value, 'v', sizeof value);
    TELL ("setxattr", setxattr ("xattr", "user.one", "value", 5, 0));
    TELL ("create again", setxattr ("xattr", "user.one", "value", 5, XATTR_CREATE));
    TELL ("replace", setxattr ("xattr", "user.one", "other", 5, XATTR_REPLACE));
    TELL ("replace a missing one", setxattr ("xattr", "user.two", "other", 5, XATTR_REPLACE));
    TELL ("getxattr", getxattr ("xattr", "user.one", value, sizeof value));
    printf ("it is %.5s\n", value);
    TELL ("its size", getxattr ("xattr", "user.one", NULL, 0));
    TELL ("too little room", getxattr ("xattr", "user.one", value, 2));
    TELL ("a missing one", getxattr ("xattr", "user.two", value, sizeof value));
    TELL ("an empty value", fsetxattr (fd, "user.empty", "", 0, 0));
    TELL ("its size", fgetxattr (fd, "user.empty", value, sizeof value));
    TELL ("bytes of any kind", fsetxattr (fd, "user.bytes", "\0\1\377", 3, 0));
    TELL ("their size", fgetxattr (fd, "user.bytes", value, sizeof value));
    TELL ("the list's size", listxattr ("xattr", NULL, 0));
    TELL ("the list", flistxattr (fd, list, sizeof list));
    TELL ("too little room for it", listxattr ("xattr", list, 3));
    TELL ("remove", removexattr ("xattr", "user.one"));
    TELL ("remove again", fremovexattr (fd, "user.one"));
    TELL ("a value of 65537 bytes", setxattr ("xattr", "user.big", value, 65537, 0));
    TELL ("an unknown namespace", setxattr ("xattr", "nonsense.x", "x", 1, 0));
    TELL ("a trusted one", setxattr ("xattr", "trusted.x", "x", 1, 0));
    TELL ("reading it", getxattr ("xattr", "trusted.x", value, sizeof value));
    symlink ("xattr", "xlink");
    TELL ("on a link", lsetxattr ("xlink", "user.x", "x", 1, 0));
    TELL ("a trusted one on a link", lsetxattr ("xlink", "trusted.x", "yes", 3, 0));
    TELL ("reading that", lgetxattr ("xlink", "trusted.x", value, sizeof value));
    TELL ("on a directory", setxattr (".", "user.dir", "x", 1, 0));
    TELL ("removing that", removexattr (".", "user.dir"));
    close (fd);
}

/* --- directories ---------------------------------------------------------------------------- */

static int
by_name (const void *a, const void *b)
{
    return strcmp (*(char *const *) a, *(char *const *) b);
}

static void
directories (void)
{
    char name[32], *names[600];
    unsigned n = 0;
    long middle = 0;
    struct dirent *entry;
    DIR *dir;

    mkdir ("many", 0755);
    for (unsigned i = 0; i < 500; i++) {
        snprintf (name, sizeof name, "many/%u", i);
        close (open (name, O_CREAT | O_WRONLY, 0600));
    }
    dir = opendir ("many");
    while ((entry = readdir (dir)) && n < 600) {
        names[n++] = strdup (entry->d_name);
        if (n == 250)
            middle = telldir (dir);
    }
    printf ("%u entries\n", n);
    seekdir (dir, middle);
    for (n = 0; readdir (dir);)
        n++;
    printf ("%u from the middle on\n", n);
    rewinddir (dir);
    for (n = 0; readdir (dir);)
        n++;
    printf ("%u again\n", n);
    qsort (names, n, sizeof names[0], by_name);
    printf ("first %s, second %s, last %s\n", names[0], names[1], names[n - 1]);
    closedir (dir);
    TELL ("fsync of a directory", fsync (open ("many", O_RDONLY)));
    TELL ("a type", open ("many", O_RDONLY | O_DIRECTORY) >= 0);
    dir = opendir ("many");
    unlink ("many/7");
    unlink ("many/400");
    for (n = 0; readdir (dir);)
        n++;
    printf ("%u after two went\n", n);
    closedir (dir);
}

/* --- locks ---------------------------------------------------------------------------------- */

static void
locks (void)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 10 };
    int fd = make_file ("locked", "0123456789012345678901234567890"), other = open ("locked", O_RDWR);
    pid_t child;
    int status;

    TELL ("lock", fcntl (fd, F_SETLK, &lock));
    fflush (stdout);
    child = fork ();
    if (child == 0) {
        struct flock mine = lock;
        TELL ("another process asks", fcntl (fd, F_GETLK, &mine));
        printf ("type %d, start %ld, length %ld, by its parent %d\n", mine.l_type, (long) mine.l_start,
                (long) mine.l_len, mine.l_pid == getppid ());
        mine = lock;
        TELL ("and wants it", fcntl (fd, F_SETLK, &mine));
        mine.l_start = 20;
        TELL ("and what is behind", fcntl (fd, F_SETLK, &mine));
        fflush (stdout);
        _exit (0);
    }
    waitpid (child, &status, 0);
    lock.l_start = 0;
    lock.l_len = 0;
    TELL ("all of it, as the child is gone", fcntl (fd, F_SETLK, &lock));
    lock.l_type = F_UNLCK;
    TELL ("unlock", fcntl (fd, F_SETLK, &lock));
    TELL ("flock", flock (fd, LOCK_EX));
    TELL ("flock of the other descriptor", flock (other, LOCK_EX | LOCK_NB));
    TELL ("shared", flock (fd, LOCK_SH));
    TELL ("shared by the other", flock (other, LOCK_SH | LOCK_NB));
    TELL ("unlock", flock (fd, LOCK_UN));
    TELL ("now for it alone", flock (other, LOCK_EX | LOCK_NB));
    close (other);
    close (fd);
}

static void
others (void)
{
    struct pollfd ready = { .events = POLLIN | POLLOUT };
    struct statvfs fs;
    int fd = make_file ("others", "x");

    ready.fd = fd;
    TELL ("poll", poll (&ready, 1, 0));
    printf ("ready for %d\n", ready.revents);
    TELL ("fsync", fsync (fd));
    TELL ("fdatasync", fdatasync (fd));
    TELL ("statvfs", statvfs (".", &fs));
    printf ("longest name %lu\n", fs.f_namemax);
    TELL ("O_TMPFILE", open (".", O_TMPFILE | O_RDWR, 0600) < 0 && errno != EOPNOTSUPP);
    TELL ("O_PATH", open ("others", O_PATH) < 0);
    close (fd);
}

static const struct {
    const char *name;
    void (*run) (void);
} parts[] = { { "names", names },
              { "making", making },
              { "links", links },
              { "renaming", renaming },
              { "reading and writing", reading_and_writing },
              { "large offsets", large_offsets },
              { "room", room },
              { "copying", copying },
              { "mapping", mapping },
              { "unlinked", unlinked },
              { "attributes", attributes },
              { "extended attributes", extended_attributes },
              { "directories", directories },
              { "locks", locks },
              { "others", others } };

int
main (int argc, char **argv)
{
    if (argc != 2 || chdir (argv[1]) < 0) {
        fprintf (stderr, "usage: ops DIRECTORY, an empty one\n");
        return 2;
    }
    umask (022);
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char dir[8];
        snprintf (dir, sizeof dir, "%u", i);
        printf ("--- %s\n", parts[i].name);
        if (mkdir (dir, 0755) < 0 || chdir (dir) < 0) {
            printf ("%s: %s\n", dir, strerrorname_np (errno));
            return 1;
        }
        parts[i].run ();
        if (chdir ("..") < 0)
            printf ("no way back: %s\n", strerrorname_np (errno));
    }
    return 0;
}
