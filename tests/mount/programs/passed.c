/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * passed FILE PID: reads and writes FILE while process PID is stopped. During this time a mount
 * that PID serves answers no request.
 *
 * passed DIRECTORY: checks what each opener of a file must see, however the file was opened and
 * whichever opener writes. Each step prints its errors; exit status 1. The results are the same
 * whether the kernel or the daemon reads and writes the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

static int failures;

#define must(cond_)                                                                                \
    do {                                                                                           \
        if (!(cond_)) {                                                                            \
            fprintf (stderr, "line %d: not so: %s (%s)\n", __LINE__, #cond_, strerror (errno));    \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static int
open_new (const char *name, int flags)
{
    int fd = open (name, flags | O_CREAT | O_TRUNC, 0644);

    must (fd >= 0);
    return fd;
}

static bool
reads (int fd, off_t at, const char *text)
{
    char buf[64] = "";

    return pread (fd, buf, sizeof buf - 1, at) == (ssize_t) strlen (text)
        && strcmp (buf, text) == 0;
}

static off_t
size_of (int fd)
{
    struct stat st;

    return fstat (fd, &st) < 0 ? -1 : st.st_size;
}

static void
second_open (void)
{
    int a = open_new ("second", O_RDWR), b = open ("second", O_RDONLY),
        c = open ("second", O_WRONLY);

    must (write (a, "first", 5) == 5);
    must (reads (b, 0, "first"));
    must (pwrite (c, "F", 1, 0) == 1);
    must (reads (a, 0, "First") && reads (b, 0, "First"));
    must (close (a) == 0 && reads (b, 0, "First"));
    a = open ("second", O_RDWR | O_TRUNC);
    must (a >= 0 && reads (b, 0, "") && size_of (b) == 0);
    must (pwrite (c, "x", 1, 3) == 1 && size_of (a) == 4 && size_of (b) == 4);
    close (a);
    close (b);
    close (c);
}

static void
truncated (void)
{
    int a = open_new ("truncated", O_RDWR), b = open ("truncated", O_RDWR);
    struct stat st;

    must (write (a, "0123456789", 10) == 10);
    must (truncate ("truncated", 4) == 0 && reads (a, 0, "0123") && reads (b, 0, "0123"));
    must (ftruncate (b, 2) == 0 && reads (a, 0, "01") && size_of (a) == 2);
    must (write (a, "z", 1) == 1 && size_of (b) == 11); /* the position stays */
    must (stat ("truncated", &st) == 0 && st.st_size == 11);
    must (fallocate (a, 0, 0, 100) == 0 && size_of (b) == 100);
    close (a);
    close (b);
}

static void
appended (void)
{
    int a = open_new ("appended", O_WRONLY | O_APPEND), b = open ("appended", O_WRONLY | O_APPEND),
        c = open ("appended", O_RDWR);

    for (int i = 0; i < 3; i++)
        must (write (a, "a", 1) == 1 && write (b, "b", 1) == 1);
    must (pwrite (c, "ccccccc", 7, 0) == 7 && write (a, "a", 1) == 1);
    must (reads (c, 0, "ccccccca"));
    must (fcntl (a, F_SETFL, 0) == 0 && pwrite (a, "X", 1, 1) == 1);
    must (reads (c, 0, "cXccccca"));
    must (fcntl (c, F_SETFL, O_APPEND) == 0 && write (c, "e", 1) == 1);
    must (reads (c, 0, "cXcccccae"));
    close (a);
    close (b);
    close (c);
}

/* If the file system has no O_DIRECT, there is nothing to check. */
static void
direct (void)
{
    int a = open_new ("direct", O_RDWR | O_DIRECT), b;
    char *page = aligned_alloc (PAGE, PAGE);

    if (a < 0 && errno == EINVAL)
        failures--;
    b = open ("direct", O_RDWR);
    memset (page, 'd', PAGE);
    must (a < 0 || pwrite (a, page, PAGE, 0) == PAGE);
    must (a < 0 || reads (b, PAGE - 2, "dd"));
    must (pwrite (b, "bb", 2, 0) == 2);
    must (a < 0 || (pread (a, page, PAGE, 0) == PAGE && memcmp (page, "bbd", 3) == 0));
    if (a >= 0) { /* as dd does at the end, which opens for writing only */
        close (a);
        a = open ("direct", O_WRONLY | O_DIRECT);
        must (fcntl (a, F_SETFL, 0) == 0 && pwrite (a, "tail", 4, PAGE) == 4);
    }
    must (a < 0 || reads (b, PAGE - 1, "dtail"));
    must (fcntl (b, F_SETFL, O_DIRECT) == 0 || errno == EINVAL);
    free (page);
    close (a);
    close (b);
}

static void
mapped (void)
{
    int a = open_new ("mapped", O_RDWR), b = open ("mapped", O_RDWR);
    char *shared, *again;

    must (ftruncate (a, 2 * PAGE) == 0);
    shared = mmap (NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, a, 0);
    must (shared != MAP_FAILED);
    if (shared == MAP_FAILED)
        return;
    must (pwrite (b, "written", 7, 0) == 7 && memcmp (shared, "written", 7) == 0);
    memcpy (shared + PAGE, "mapped", 6);
    must (msync (shared, 2 * PAGE, MS_SYNC) == 0);
    close (a);
    close (b);
    /* The map remains, and so does the decision for the inode. */
    a = open ("mapped", O_RDWR);
    must (pwrite (a, "W", 1, 0) == 1 && memcmp (shared, "Written", 7) == 0);
    again = mmap (NULL, PAGE, PROT_READ, MAP_PRIVATE, a, PAGE);
    must (again != MAP_FAILED && memcmp (again, "mapped", 6) == 0);
    munmap (again, PAGE);
    munmap (shared, 2 * PAGE);
    close (a);
}

static void
spliced (void)
{
    int a = open_new ("spliced", O_RDWR), b = open ("spliced", O_RDWR), pipes[2];
    char buf[8] = "";

    must (pipe (pipes) == 0);
    must (pwrite (b, "one", 3, 0) == 3);
    must (sendfile (pipes[1], a, &(off_t){ 0 }, 3) == 3 && read (pipes[0], buf, 3) == 3
          && strcmp (buf, "one") == 0);
    must (pwrite (b, "two", 3, 0) == 3);
    must (sendfile (pipes[1], a, &(off_t){ 0 }, 3) == 3 && read (pipes[0], buf, 3) == 3
          && strcmp (buf, "two") == 0);
    must (write (pipes[1], "in", 2) == 2 && splice (pipes[0], NULL, b, &(off_t){ 1 }, 2, 0) == 2
          && reads (a, 0, "tin"));
    close (pipes[0]);
    close (pipes[1]);
    close (a);
    close (b);
}

/* Appends go to the daemon, while other writes bypass it. The kernel keeps pages that were spliced
 * from the file for a moment. */
static void
spliced_while_others_write (void)
{
    int a = open_new ("mixed", O_RDWR), b = open ("mixed", O_RDWR | O_APPEND), pipes[2];
    char buf[8] = "";

    must (pipe (pipes) == 0);
    must (pwrite (a, "one", 3, 0) == 3);
    must (sendfile (pipes[1], b, &(off_t){ 0 }, 3) == 3 && read (pipes[0], buf, 3) == 3
          && strcmp (buf, "one") == 0);
    must (pwrite (a, "two", 3, 0) == 3);
    for (int i = 0; i < 3000 && strcmp (buf, "two") != 0; i++) {
        usleep (i ? 10000 : 0);
        must (sendfile (pipes[1], b, &(off_t){ 0 }, 3) == 3 && read (pipes[0], buf, 3) == 3);
    }
    must (strcmp (buf, "two") == 0);
    must (write (b, "six", 3) == 3 && reads (a, 0, "twosix"));
    close (pipes[0]);
    close (pipes[1]);
    close (a);
    close (b);
}

static void
copied (void)
{
    int a = open_new ("from", O_RDWR), b = open_new ("to", O_RDWR), c = open ("to", O_RDONLY);

    must (write (a, "copied", 6) == 6);
    must (copy_file_range (a, &(off_t){ 0 }, b, &(off_t){ 2 }, 6, 0) == 6);
    must (pwrite (b, "__", 2, 0) == 2 && reads (c, 0, "__copied"));
    must (copy_file_range (c, &(off_t){ 0 }, a, &(off_t){ 6 }, 2, 0) == 2
          && reads (a, 0, "copied__"));
    close (a);
    close (b);
    close (c);
}

/* If the first open appends, the daemon reads and writes the file. A map from that time outlives
 * the descriptors. */
static void
mapped_either_way (void)
{
    char *old, *new;
    int a = open_new ("either", O_RDWR | O_APPEND), b = open ("either", O_RDWR);

    must (ftruncate (b, PAGE) == 0);
    old = mmap (NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, b, 0);
    must (old != MAP_FAILED);
    memcpy (old, "old map", 7);
    close (a);
    close (b);
    a = open ("either", O_RDWR);
    must (size_of (a) == PAGE);
    must (pwrite (a, "OLD", 3, 0) == 3 && memcmp (old, "OLD map", 7) == 0);
    munmap (old, PAGE);
    close (a);
    b = open ("either", O_RDWR);
    new = mmap (NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, b, 0);
    must (new != MAP_FAILED && memcmp (new, "OLD map", 7) == 0);
    must (pwrite (b, "new", 3, 0) == 3 && memcmp (new, "new map", 7) == 0);
    munmap (new, PAGE);
    close (b);
}

#define BLOCK 65536

/* Reads 64 KiB while another process truncates the file and writes it again: a read returns data of
 * the file, or is short. */
static void
read_while_cut (void)
{
    static char block[BLOCK];
    int fd = open_new ("cut", O_RDWR);
    pid_t child = fork ();
    int status = 0;

    if (child == 0) {
        int own = open ("cut", O_WRONLY);

        memset (block, 'x', sizeof block);
        for (int i = 0; i < 60; i++)
            if (ftruncate (own, 0) < 0 || pwrite (own, block, BLOCK, i % 8 * BLOCK) != BLOCK)
                _exit (1);
        _exit (0);
    }
    for (int i = 0; waitpid (child, &status, WNOHANG) == 0; i++) {
        ssize_t n = pread (fd, block, BLOCK, i % 8 * BLOCK);

        must (n >= 0);
        for (ssize_t at = 0; at < n; at++)
            if (block[at] != 'x' && block[at] != 0) {
                must (!"other bytes than the file has ever had");
                return;
            }
    }
    must (status == 0);
    close (fd);
}

static void
attributes (void)
{
    int a = open_new ("times", O_RDWR);
    struct stat st, later;
    const struct timespec past[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

    must (futimens (a, past) == 0 && fstat (a, &st) == 0 && st.st_mtim.tv_sec == 1000);
    must (write (a, "later", 5) == 5);
    must (stat ("times", &later) == 0 && later.st_mtim.tv_sec > 1000 && later.st_size == 5);
    must (lseek (a, 0, SEEK_END) == 5);
    close (a);
}

static pid_t stopped;

static void
too_long (int signal_number)
{
    kill (stopped, SIGCONT);
    _exit (3);
}

/* The first write makes the kernel request the file capabilities. */
static int
without (const char *path, pid_t pid)
{
    int fd = open (path, O_RDWR);

    stopped = pid;
    must (fd >= 0 && pwrite (fd, "0123456789", 10, 0) == 10);
    signal (SIGALRM, too_long);
    alarm (30);
    must (kill (pid, SIGSTOP) == 0);
    must (reads (fd, 0, "0123456789"));
    must (pwrite (fd, "abc", 3, 8) == 3 && reads (fd, 6, "67abc"));
    must (kill (pid, SIGCONT) == 0);
    return failures ? 1 : 0;
}

int
main (int argc, char **argv)
{
    if (argc == 3)
        return without (argv[1], atoi (argv[2]));
    if (argc != 2 || chdir (argv[1]) < 0)
        return 2;
    second_open ();
    truncated ();
    appended ();
    direct ();
    mapped ();
    spliced ();
    spliced_while_others_write ();
    copied ();
    mapped_either_way ();
    read_while_cut ();
    attributes ();
    return failures ? 1 : 0;
}
