/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading and writing: positions, ends of file, appending, vectors, descriptors without the right,
 * copying. */
#include "conform/mount/themes/themes.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

/* volatile, so that neither the compiler nor a sanitizer knows that it is an invalid address. */
static void *volatile nowhere = (void *) 1;

static void
run_reading (const struct mount_case *c)
{
    char text[64] = "";
    const int fd = make_file ("data", "0123456789");

    TELL ("pread in the middle", pread (fd, text, 4, 3));
    observe ("read %.4s", text);
    TELL ("pread over the end", pread (fd, text, 40, 8));
    TELL ("pread at the end", pread (fd, text, 4, 10));
    TELL ("pread behind the end", pread (fd, text, 4, 100));
    TELL ("pread of nothing", pread (fd, text, 0, 0));
    TELL ("pread into nowhere", pread (fd, nowhere, 4, 0));
    TELL ("read at the position, the end", read (fd, text, 4));
    TELL ("back", lseek (fd, -3, SEEK_END));
    TELL ("read", read (fd, text, 4));
    TELL ("position", lseek (fd, 0, SEEK_CUR));
    TELL ("readv", preadv (fd, (struct iovec[]){ { text, 3 }, { text + 3, 6 } }, 2, 0));
    observe ("read %.9s", text);
    TELL ("readv of too many", preadv (fd, (struct iovec[2000]){ { text, 3 } }, 2000, 0));
    TELL ("readv with a wrong flag", preadv2 (fd, (struct iovec[]){ { text, 3 } }, 1, 0, 1 << 20));
    close (fd);
}

static void
run_writing (const struct mount_case *c)
{
    struct iovec iov[2] = { { "two ", 4 }, { "parts", 5 } };
    const int fd = make_file ("data", "0123456789");

    TELL ("pwrite behind the end", pwrite (fd, "x", 1, 20));
    TELL ("size", lseek (fd, 0, SEEK_END));
    TELL ("writev", pwritev (fd, iov, 2, 0));
    TELL ("write of nothing", pwrite (fd, "", 0, 100));
    TELL ("write from nowhere", pwrite (fd, nowhere, 4, 0));
    show ("data", "data");
    show_content ("data");
    TELL ("append by a flag of the call", pwritev2 (fd, iov, 2, 0, RWF_APPEND));
    TELL ("write and sync", pwritev2 (fd, iov, 1, 2, RWF_DSYNC));
    show_content ("data");
    TELL ("ftruncate longer", ftruncate (fd, 1000));
    TELL ("ftruncate shorter", ftruncate (fd, 5));
    TELL ("ftruncate to a negative size", ftruncate (fd, -1));
    TELL ("longer again", ftruncate (fd, 12));
    show_content ("data");
    close (fd);
}

static void
run_appending (const struct mount_case *c)
{
    const int one = make_file ("data", "one"), two = open ("data", O_WRONLY | O_APPEND),
              three = open ("data", O_RDWR | O_APPEND);
    char text[16] = "";

    TELL ("append", write (two, "two", 3));
    TELL ("append by another", write (three, "three", 5));
    TELL ("pwrite appends too", pwrite (two, "!", 1, 0));
    TELL ("position", lseek (two, 0, SEEK_CUR));
    TELL ("read from the start", pread (three, text, 3, 0));
    TELL ("take the flag away", fcntl (two, F_SETFL, 0));
    TELL ("write at the start", pwrite (two, "O", 1, 0));
    TELL ("give it back", fcntl (two, F_SETFL, O_APPEND));
    TELL ("append", write (two, "end", 3));
    TELL ("write in the middle", pwrite (one, "M", 1, 4));
    show_content ("data");
}

/* What each open mode permits. */
static void
run_ways (const struct mount_case *c)
{
    static const struct {
        const char *name;
        int flags;
    } ways[] = { { "to read", O_RDONLY },
                 { "to write", O_WRONLY },
                 { "for both", O_RDWR },
                 { "as a path", O_PATH } };
    char text[4];

    for (size_t i = 0; i < G_N_ELEMENTS (ways); i++) {
        int fd;

        close (make_file ("data", "0123456789"));
        fd = TELL_FD (ways[i].name, open ("data", ways[i].flags));
        TELL ("read", read (fd, text, 1));
        TELL ("write", write (fd, "x", 1));
        TELL ("ftruncate", ftruncate (fd, 4));
        TELL ("fallocate", fallocate (fd, 0, 0, 10));
        TELL ("lseek", lseek (fd, 1, SEEK_SET));
        TELL ("fsync", fsync (fd));
        TELL ("fdatasync", fdatasync (fd));
        TELL ("sync_file_range", sync_file_range (fd, 0, 0, SYNC_FILE_RANGE_WRITE));
        TELL ("posix_fadvise", posix_fadvise (fd, 0, 0, POSIX_FADV_DONTNEED));
        TELL ("readahead", readahead (fd, 0, 4096));
        TELL ("fchmod", fchmod (fd, 0600));
        TELL ("fchown", fchown (fd, -1, -1));
        TELL ("futimens", futimens (fd, NULL));
        TELL ("a lease", fcntl (fd, F_SETLEASE, F_UNLCK));
        close (fd);
    }
}

static void
run_directory (const struct mount_case *c)
{
    const int fd = open (".", O_RDONLY);
    char text[4];

    TELL ("read a directory", read (fd, text, 1));
    TELL ("pread", pread (fd, text, 1, 0));
    TELL ("write", write (fd, "x", 1));
    TELL ("ftruncate", ftruncate (fd, 0));
    TELL ("fallocate", fallocate (fd, 0, 0, 1));
    TELL ("fsync", fsync (fd));
    TELL ("fdatasync", fdatasync (fd));
    TELL ("SEEK_DATA", lseek (fd, 0, SEEK_DATA) < 0 && errno != EINVAL && errno != ENXIO);
    TELL ("fchmod", fchmod (fd, 0700));
    TELL ("futimens", futimens (fd, NULL));
    close (fd);
}

/* --- limits of a process -------------------------------------------------------------------- */

static void
run_size_limit (const struct mount_case *c)
{
    const int fd = make_file ("data", "");
    struct rlimit old;

    getrlimit (RLIMIT_FSIZE, &old);
    signal (SIGXFSZ, SIG_IGN);
    NEED (setrlimit (RLIMIT_FSIZE, &(struct rlimit){ 5000, old.rlim_max }));
    TELL ("write over the limit", pwrite (fd, "0123456789", 10, 4995));
    TELL ("write at the limit", pwrite (fd, "x", 1, 5000));
    TELL ("write behind it", pwrite (fd, "x", 1, 6000));
    TELL ("ftruncate to it", ftruncate (fd, 5000));
    TELL ("ftruncate over it", ftruncate (fd, 5001));
    TELL ("truncate over it", truncate ("data", 5001));
    TELL ("fallocate over it", fallocate (fd, 0, 0, 10000));
    setrlimit (RLIMIT_FSIZE, &old);
    signal (SIGXFSZ, SIG_DFL);
    show ("data", "data");
}

/* --- copying -------------------------------------------------------------------------------- */

static void
run_copying (const struct mount_case *c)
{
    const int in = make_file ("in", "copy me as you are"), out = make_file ("out", "");
    loff_t from = 5, to = 0;

    TELL ("copy_file_range", copy_file_range (in, &from, out, &to, 2, 0));
    observe ("positions %jd, %jd", (intmax_t) from, (intmax_t) to);
    from = 0;
    TELL ("copy over the end", copy_file_range (in, &from, out, &to, 1000, 0));
    TELL ("copy from the end", copy_file_range (in, &from, out, &to, 1000, 0));
    TELL ("copy with flags", copy_file_range (in, &from, out, &to, 1, 1));
    TELL ("copy nothing", copy_file_range (in, &from, out, &to, 0, 0));
    from = 0;
    to = 4;
    TELL ("copy within a file", copy_file_range (in, &from, in, &to, 4, 0));
    from = 0;
    to = 2;
    TELL ("copy onto itself", copy_file_range (in, &from, in, &to, 4, 0));
    TELL ("copy from what is open to write",
          copy_file_range (open ("in", O_WRONLY), NULL, out, NULL, 4, 0));
    TELL ("copy to what is open to read",
          copy_file_range (in, NULL, open ("out", O_RDONLY), NULL, 4, 0));
    TELL ("copy to what appends",
          copy_file_range (in, NULL, open ("out", O_WRONLY | O_APPEND), NULL, 4, 0));
    TELL ("copy a directory", copy_file_range (open (".", O_RDONLY), NULL, out, NULL, 4, 0));
    show_content ("in");
    show_content ("out");
}

static void
run_sending (const struct mount_case *c)
{
    const int in = make_file ("in", "copy me as you are"), out = make_file ("out", "");
    int pipe_ends[2];
    off_t from = 5;
    loff_t to = 20;

    NEED (pipe (pipe_ends));
    TELL ("sendfile", sendfile (out, in, &from, 6));
    TELL ("sendfile over the end", sendfile (out, in, &from, 100));
    TELL ("sendfile at the end", sendfile (out, in, &from, 100));
    from = 0;
    TELL ("splice to a pipe", splice (in, (loff_t[]){ 2 }, pipe_ends[1], NULL, 10, 0));
    TELL ("splice to a file", splice (pipe_ends[0], NULL, out, &to, 10, 0));
    TELL ("sendfile to what appends", sendfile (open ("out", O_WRONLY | O_APPEND), in, &from, 6));
    show_content ("out");
}

/* --- large and odd pieces ------------------------------------------------------------------- */

static unsigned
sum_of (const char *bytes, size_t size)
{
    unsigned sum = 0;

    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + (unsigned char) bytes[i];
    return sum;
}

static void
run_pieces (const struct mount_case *c)
{
    static const size_t sizes[] = { 1,     511,    4095,   4096,    4097,
                                    65537, 131072, 131073, 1048577, 3000001 };
    const size_t total = 4 << 20;
    g_autofree char *bytes = g_malloc (total), *back = g_malloc (total);
    const int fd = make_file ("data", "");
    off_t at = 0;

    for (size_t i = 0; i < total; i++)
        bytes[i] = i * 2654435761u >> 13;
    for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++) {
        TELL ("write", pwrite (fd, bytes, sizes[i], at));
        TELL ("read", pread (fd, back, sizes[i], at));
        observe ("sum %u", sum_of (back, sizes[i]) - sum_of (bytes, sizes[i]));
        at += sizes[i] + i % 3;
    }
    TELL ("size", lseek (fd, 0, SEEK_END));
    close (fd);
    TELL ("all of it, opened again", read (open ("data", O_RDONLY), back, total));
    observe ("sum %u", sum_of (back, total));
}

static void
run_others (const struct mount_case *c)
{
    const int fd = make_file ("others", "x");
    struct pollfd ready = { .fd = fd, .events = POLLIN | POLLOUT };
    int n = -1;

    TELL ("poll", poll (&ready, 1, 0));
    observe ("ready for %d", ready.revents);
    TELL ("an unknown ioctl", ioctl (fd, 0x12345678, &n));
    TELL ("a pipe's size", fcntl (fd, F_GETPIPE_SZ));
    TELL ("a duplicate", dup (fd) < 0);
    TELL ("lseek to a wrong whence", lseek (fd, 0, 99));
    TELL ("seek to a negative offset", lseek (fd, -1, SEEK_SET));
    TELL ("back over the start", lseek (fd, -2, SEEK_END));
    TELL ("close", close (fd));
    TELL ("close again", close (fd));
}

void
data_cases (GPtrArray *list)
{
    static const struct {
        const char *name;
        case_fn *run;
    } rows[] = { { "reading", run_reading },       { "writing", run_writing },
                 { "appending", run_appending },   { "ways of opening", run_ways },
                 { "a directory", run_directory }, { "a limit of size", run_size_limit },
                 { "copying", run_copying },       { "sending", run_sending },
                 { "odd pieces", run_pieces },     { "others", run_others } };

    for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
        case_add (list, rows[i].run, 0, 0, 0, 0, "data/%s", rows[i].name);
}
