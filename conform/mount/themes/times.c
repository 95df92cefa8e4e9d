/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which call moves which time, by POSIX; and which times can be set. */
#include "conform/mount/themes/themes.h"

#include <inttypes.h>
#include <sys/mman.h>
#include <sys/xattr.h>
#include <time.h>

/* --- changes -------------------------------------------------------------------------------- */

enum { FILE_A = 1, FILE_M = 2, FILE_C = 4, DIR_M = 8, DIR_C = 16 };

static char text[64];

static void do_read (int fd) { NEED (pread (fd, text, 4, 0)); }
static void do_write (int fd) { NEED (pwrite (fd, "x", 1, 0)); }
static void do_write_nothing (int fd) { NEED (pwrite (fd, "", 0, 0)); }
static void do_append (int fd) { NEED (pwrite (fd, "x", 1, 10)); }
static void do_ftruncate (int fd) { NEED (ftruncate (fd, 3)); }
static void do_ftruncate_same (int fd) { NEED (ftruncate (fd, 10)); }
static void do_truncate (int fd) { NEED (truncate ("d/file", 3)); }
static void do_open_trunc (int fd) { NEED (close (open ("d/file", O_WRONLY | O_TRUNC))); }
static void do_open (int fd) { NEED (close (open ("d/file", O_RDWR))); }
static void do_open_creat (int fd) { NEED (close (open ("d/file", O_RDWR | O_CREAT, 0600))); }
static void do_chmod (int fd) { NEED (chmod ("d/file", 0600)); }
static void do_chmod_same (int fd) { NEED (fchmod (fd, 0644)); }
static void do_chown (int fd) { NEED (chown ("d/file", getuid (), getgid ())); }
static void do_chown_none (int fd) { NEED (chown ("d/file", -1, -1)); }
static void do_setxattr (int fd) { NEED (setxattr ("d/file", "user.x", "y", 1, 0)); }
static void do_getxattr (int fd) { NEED (getxattr ("d/file", "user.x", NULL, 0) < 0 ? 0 : 0); }
static void do_link (int fd) { NEED (link ("d/file", "d/link")); }
static void do_link_away (int fd) { NEED (link ("d/file", "link")); }
static void do_unlink (int fd) { NEED (unlink ("d/file")); }
static void do_rename (int fd) { NEED (rename ("d/file", "d/other")); }
static void do_rename_away (int fd) { NEED (rename ("d/file", "other")); }
static void do_rename_onto (int fd) { NEED (rename ("from", "d/file")); }
static void do_create (int fd) { NEED (close (open ("d/new", O_CREAT | O_WRONLY, 0600))); }
static void do_mkdir (int fd) { NEED (mkdir ("d/new", 0700)); }
static void do_rmdir (int fd) { NEED (rmdir ("d/sub")); }
static void do_symlink (int fd) { NEED (symlink ("x", "d/new")); }
static void do_mknod (int fd) { NEED (mkfifo ("d/new", 0600)); }
static void do_stat (int fd) { NEED (access ("d/file", F_OK)); }
static void do_fsync (int fd) { NEED (fsync (fd)); }
static void do_fallocate (int fd) { NEED (fallocate (fd, 0, 0, 100)); }
static void do_fallocate_keep (int fd) { NEED (fallocate (fd, FALLOC_FL_KEEP_SIZE, 0, 100000)); }
static void
do_punch (int fd)
{
    NEED (fallocate (fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096));
}
static void
do_copy (int fd)
{
    NEED (copy_file_range (open ("from", O_RDONLY), NULL, fd, NULL, 4, 0));
}
static void
do_futimens_omit (int fd)
{
    NEED (futimens (fd, (struct timespec[]){ { 0, UTIME_OMIT }, { 0, UTIME_OMIT } }));
}
static void do_futimens_now (int fd) { NEED (futimens (fd, NULL)); }

static void
do_map (int fd)
{
    char *map = mmap (NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    NEED (map == MAP_FAILED ? -1 : 0);
    map[0] = 'm';
    NEED (msync (map, 4096, MS_SYNC));
    munmap (map, 4096);
}

/* moves: times that POSIX, or the manual page, requires to change. Others are only compared. */
static const struct row {
    const char *name;
    void (*run) (int fd);
    unsigned moves;
} rows[] = {
    { "read", do_read, FILE_A },
    { "write", do_write, FILE_M | FILE_C },
    { "write nothing", do_write_nothing, 0 },
    { "append", do_append, FILE_M | FILE_C },
    { "ftruncate", do_ftruncate, FILE_M | FILE_C },
    { "ftruncate to the same", do_ftruncate_same, 0 },
    { "truncate", do_truncate, FILE_M | FILE_C },
    { "open O_TRUNC", do_open_trunc, FILE_M | FILE_C },
    { "open", do_open, 0 },
    { "open O_CREAT", do_open_creat, 0 },
    { "chmod", do_chmod, FILE_C },
    { "chmod to the same", do_chmod_same, FILE_C },
    { "chown", do_chown, FILE_C },
    { "chown to nobody", do_chown_none, 0 },
    { "setxattr", do_setxattr, FILE_C },
    { "getxattr", do_getxattr, 0 },
    { "link", do_link, FILE_C | DIR_M | DIR_C },
    { "link elsewhere", do_link_away, FILE_C },
    { "unlink", do_unlink, DIR_M | DIR_C },
    { "rename", do_rename, DIR_M | DIR_C },
    { "rename elsewhere", do_rename_away, DIR_M | DIR_C },
    { "rename onto it", do_rename_onto, DIR_M | DIR_C },
    { "create beside it", do_create, DIR_M | DIR_C },
    { "mkdir beside it", do_mkdir, DIR_M | DIR_C },
    { "rmdir beside it", do_rmdir, DIR_M | DIR_C },
    { "symlink beside it", do_symlink, DIR_M | DIR_C },
    { "mkfifo beside it", do_mknod, DIR_M | DIR_C },
    { "access", do_stat, 0 },
    { "fsync", do_fsync, 0 },
    { "fallocate", do_fallocate, 0 },
    { "fallocate, keeping the size", do_fallocate_keep, 0 },
    { "punch a hole", do_punch, FILE_M | FILE_C },
    { "copy_file_range", do_copy, FILE_M | FILE_C },
    { "futimens, omitting both", do_futimens_omit, 0 },
    { "futimens now", do_futimens_now, FILE_A | FILE_M | FILE_C },
    { "a shared map", do_map, FILE_M | FILE_C },
};

static bool
later (const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

static unsigned
moved (const struct stat *file, const struct stat *file_now, const struct stat *dir,
       const struct stat *dir_now)
{
    return (later (&file_now->st_atim, &file->st_atim) ? FILE_A : 0)
         | (later (&file_now->st_mtim, &file->st_mtim) ? FILE_M : 0)
         | (later (&file_now->st_ctim, &file->st_ctim) ? FILE_C : 0)
         | (later (&dir_now->st_mtim, &dir->st_mtim) ? DIR_M : 0)
         | (later (&dir_now->st_ctim, &dir->st_ctim) ? DIR_C : 0);
}

static void
run_move (const struct mount_case *c)
{
    const struct row *row = &rows[c->a];
    struct stat file, dir, file_now, dir_now;
    unsigned got;
    int fd;

    make_tree ("d:d d:d/sub F:from");
    fd = make_file ("d/file", "0123456789");
    age ("d/file");
    age ("d");
    NEED (fstat (fd, &file));
    NEED (stat ("d", &dir));
    wait_tick (later (&file.st_ctim, &dir.st_ctim) ? &file.st_ctim : &dir.st_ctim);
    row->run (fd);
    NEED (fstat (fd, &file_now));
    NEED (stat ("d", &dir_now));
    got = moved (&file, &file_now, &dir, &dir_now);
    observe ("file: atime %d, mtime %d, ctime %d; its directory: mtime %d, ctime %d",
             !!(got & FILE_A), !!(got & FILE_M), !!(got & FILE_C), !!(got & DIR_M),
             !!(got & DIR_C));
    must ((got & row->moves & ~FILE_A) == (row->moves & ~FILE_A),
          "POSIX: a time that must move has not moved");
    must (file_now.st_ctim.tv_sec >= file.st_ctim.tv_sec, "ctime never goes back");
    close (fd);
}

/* --- setting -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    struct timespec time;
} settable[] = {
    { "1970", { 0, 0 } },
    { "a nanosecond", { 0, 1 } },
    { "999999999 nanoseconds", { 1234567890, 999999999 } },
    { "before 1970", { -1000, 5 } },
    { "1901", { INT32_MIN, 0 } },
    { "before 1901", { INT32_MIN - 1LL, 0 } },
    { "2038", { INT32_MAX, 0 } },
    { "after 2038", { INT32_MAX + 1LL, 7 } },
    { "2106", { UINT32_MAX, 7 } },
    { "after 2106", { UINT32_MAX + 1LL, 7 } },
    { "2446", { 15032385535LL, 0 } },
    { "after 2446", { 15032385536LL, 0 } },
    { "the largest", { INT64_MAX, 0 } },
    { "the smallest", { INT64_MIN, 0 } },
};

static void
show_times (const char *path)
{
    struct stat st;

    NEED (lstat (path, &st));
    observe ("atime %jd.%09ld mtime %jd.%09ld", (intmax_t) st.st_atim.tv_sec, st.st_atim.tv_nsec,
             (intmax_t) st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

static void
run_set (const struct mount_case *c)
{
    const struct timespec times[2] = { settable[c->a].time, { settable[c->a].time.tv_sec, 0 } };
    int fd;

    make_tree ("d:dir l:link:x");
    fd = make_file ("file", "x");
    TELL ("of a file", futimens (fd, times));
    show_times ("file");
    TELL ("of a directory", utimensat (AT_FDCWD, "dir", times, 0));
    show_times ("dir");
    TELL ("of a link", utimensat (AT_FDCWD, "link", times, AT_SYMLINK_NOFOLLOW));
    show_times ("link");
    TELL ("rename", rename ("file", "other"));
    show_times ("other");
    close (fd);
}

/* A read moves atime only if it was not after mtime: relatime; with O_NOATIME never. */
static void
run_atime (const struct mount_case *c)
{
    int fd = make_file ("file", "0123456789");
    struct stat st;

    NEED (futimens (fd, (struct timespec[]){ { LONG_AGO, 0 }, { LONG_AGO, 0 } }));
    close (fd);
    fd = open ("file", O_RDONLY | O_NOATIME);
    TELL ("read with O_NOATIME", read (fd, text, 4));
    close (fd);
    show_age ("it", "file");
    fd = open ("file", O_RDONLY);
    TELL ("read", read (fd, text, 4));
    close (fd);
    NEED (stat ("file", &st));
    observe ("atime moved: %d", st.st_atim.tv_sec != LONG_AGO);
}

void
times_cases (GPtrArray *list)
{
    for (unsigned i = 0; i < G_N_ELEMENTS (rows); i++)
        case_add (list, run_move, i, 0, 0, 0, "times/%s", rows[i].name);
    for (unsigned i = 0; i < G_N_ELEMENTS (settable); i++)
        case_add (list, run_set, i, 0, 0, 0, "times/set to %s", settable[i].name);
    case_add (list, run_atime, 0, 0, 0, 0, "times/of reading");
}
