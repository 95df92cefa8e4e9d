/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * keeper write DIR LOG SEED [SECONDS]: changes files below DIR at random, and writes a line to LOG
 * before and after each change. The exit status is 3 if the file system is gone, 0 after SECONDS. A
 * second run continues with the same LOG.
 *
 * keeper check DIR LOG [synced]: checks that DIR has the confirmed changes of LOG. Prints the
 * differences, with exit status 1. The exit status is 3 if files cannot be read.
 *
 * LOG is outside the tested file system. A change that has returned is confirmed; with `synced` a
 * change of data is confirmed by the return of a later fsync. A change that failed, or that was in
 * progress when the file system went away, may or may not have happened.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILES 16
#define SIZE_MAX_ 65536 /* of a file */
#define CHANGE_MAX 12000 /* bytes of a change */

enum op { WRITE, APPEND, MAPPED, TRUNCATE, CREATE, UNLINK, RENAME, SYNC, OPS };

struct change {
    unsigned long number;
    enum op op;
    int file, other;
    long offset, size;
};

static unsigned char
byte_of (const struct change *c, long i)
{
    return (unsigned char) ((c->number * 2654435761u + (unsigned long) (c->offset + i) * 40503u)
                            >> 7);
}

static const char *
name_of (int file)
{
    static char names[FILES][sizeof "a/file" + 11]; /* any int, for the compiler */

    snprintf (names[file], sizeof names[file], "%c/file%02d", "ab"[file % 2], file);
    return names[file];
}

/* --- write ------------------------------------------------------------------------------------ */

static uint64_t seed;

/* xorshift64* */
static unsigned
below (unsigned limit)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return (unsigned) ((seed * 2685821657736338717u) >> 33) % limit;
}

static struct change
draw (unsigned long number)
{
    static const enum op often[] = { WRITE,    WRITE,  WRITE,  WRITE,  APPEND, APPEND, MAPPED,
                                     TRUNCATE, CREATE, UNLINK, RENAME, SYNC,   SYNC,   SYNC };
    struct change c = { .number = number,
                        .op = often[below (sizeof often / sizeof *often)],
                        .file = (int) below (FILES) };

    c.other = (int) below (FILES);
    c.size = 1 + below (below (4) ? 600 : CHANGE_MAX);
    c.offset = below (SIZE_MAX_ - CHANGE_MAX);
    if (c.op == RENAME && c.other == c.file)
        c.op = SYNC;
    return c;
}

static long
write_at (int fd, const struct change *c, long offset)
{
    unsigned char bytes[CHANGE_MAX];

    for (long i = 0; i < c->size; i++)
        bytes[i] = byte_of (c, i);
    return offset < 0 ? write (fd, bytes, (size_t) c->size)
                      : pwrite (fd, bytes, (size_t) c->size, offset);
}

/* Changes existing data through a mapping and writes it back. Returns the number of changed
 * bytes. */
static long
write_mapped (int fd, const struct change *c)
{
    struct stat st;
    long end, r;

    if (fstat (fd, &st) < 0)
        return -1;
    end = c->offset + c->size < st.st_size ? c->offset + c->size : st.st_size;
    if (end <= c->offset)
        return 0;
    unsigned char *map = mmap (NULL, (size_t) end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return -1;
    for (long i = 0; c->offset + i < end; i++)
        map[c->offset + i] = byte_of (c, i);
    r = msync (map, (size_t) end, MS_SYNC);
    munmap (map, (size_t) end);
    return r < 0 ? -1 : end - c->offset;
}

static long
change_open (const struct change *c)
{
    static const int flags[OPS] = {
        [WRITE] = O_WRONLY,    [APPEND] = O_WRONLY | O_APPEND,          [MAPPED] = O_RDWR,
        [TRUNCATE] = O_WRONLY, [CREATE] = O_WRONLY | O_CREAT | O_TRUNC, [SYNC] = O_RDONLY
    };
    int fd = open (name_of (c->file), flags[c->op] | O_CLOEXEC, 0644);
    long r = -1;
    int error;

    if (fd < 0)
        return -1;
    switch (c->op) {
    case WRITE: r = write_at (fd, c, c->offset); break;
    case APPEND: {
        struct stat st;
        /* Limits the size of files. */
        r = fstat (fd, &st) < 0 ? -1 : st.st_size + c->size > SIZE_MAX_ ? 0 : write_at (fd, c, -1);
        break;
    }
    case MAPPED: r = write_mapped (fd, c); break;
    case TRUNCATE: r = ftruncate (fd, c->offset); break;
    case SYNC: r = c->number % 3 ? fsync (fd) : fdatasync (fd); break;
    default: r = 0;
    }
    error = errno;
    /* An answered write may have failed since. The next close reports this, once. */
    if (close (fd) < 0 && r >= 0)
        return -1;
    errno = error;
    return r;
}

static long
change_do (const struct change *c)
{
    switch (c->op) {
    case UNLINK: return unlink (name_of (c->file));
    case RENAME: return rename (name_of (c->file), name_of (c->other));
    default: return change_open (c);
    }
}

/* A single write, so that no line is split. */
static void
note (int log, const char *line, int len)
{
    if (write (log, line, (size_t) len) != len) {
        perror ("keeper: the log");
        exit (2);
    }
}

/* Returns whether the change happened. This is unknown unless the change failed for a reason that
 * leaves everything unchanged. */
static bool
is_uncertain (const struct change *c, long result)
{
    return result < 0 && result != -ENOENT && c->op != SYNC;
}

/* last: the result of the previous change. If the result is unknown, the files of the change are
 * removed, so that their state is known again. */
static int
keep_writing (int log, struct change c, long last, time_t until)
{
    int doubtful[2] = { -1, -1 };
    char line[128];

    while (!until || time (NULL) < until) {
        if (is_uncertain (&c, last)) {
            doubtful[0] = c.file;
            doubtful[1] = c.op == RENAME ? c.other : -1;
        }
        c = draw (c.number + 1);
        if (doubtful[0] >= 0) {
            c.op = UNLINK;
            c.file = doubtful[0];
            doubtful[0] = doubtful[1];
            doubtful[1] = -1;
        }
        note (log, line,
              snprintf (line, sizeof line, "B %lu %d %d %d %ld %ld\n", c.number, c.op, c.file,
                        c.other, c.offset, c.size));
        errno = 0;
        last = change_do (&c);
        if (last < 0 && (errno == ENOTCONN || errno == ECONNABORTED || errno == ENODEV))
            return 3;
        last = last < 0 ? -(long) errno : last;
        note (log, line, snprintf (line, sizeof line, "D %lu %ld\n", c.number, last));
    }
    return 0;
}

/* --- check ------------------------------------------------------------------------------------ */

enum { UNSYNCED = 1, UNCERTAIN = 2 };

struct file {
    bool known, exists;
    long size, size_min, size_max; /* between these two while the size is uncertain */
    unsigned char bytes[SIZE_MAX_ + CHANGE_MAX];
    unsigned char doubt[SIZE_MAX_ + CHANGE_MAX]; /* UNSYNCED | UNCERTAIN */
};

static struct file files[FILES];
static bool data_needs_sync;
static bool unreadable;

static void
set_size (struct file *f, long size, unsigned doubt)
{
    if (size < f->size) {
        memset (f->bytes + size, 0, (size_t) (f->size - size));
        memset (f->doubt + size, (int) doubt, (size_t) (f->size - size));
    } else {
        for (long i = f->size; i < size; i++) {
            f->bytes[i] = 0;
            f->doubt[i] |= (unsigned char) doubt;
        }
    }
    if (doubt & UNCERTAIN) {
        /* The change may have happened or not: the possible content grows, the certain content
         * remains. */
        f->size_min = size < f->size_min ? size : f->size_min;
        f->size_max = size > f->size_max ? size : f->size_max;
        f->size = f->size_max;
    } else {
        f->size = size;
        f->size_min = doubt ? (size < f->size_min ? size : f->size_min) : size;
        f->size_max = doubt ? (size > f->size_max ? size : f->size_max) : size;
    }
}

/* result: the number of bytes, or a negative errno; -EINTR if unknown. */
static void
replay_data (const struct change *c, long offset, long result)
{
    struct file *f = &files[c->file];
    long n = result < 0 ? c->size : result;
    unsigned doubt = (data_needs_sync && c->op != MAPPED ? UNSYNCED : 0)
                   | (result < 0 ? UNCERTAIN : 0);

    if (c->op == MAPPED && offset + n > f->size)
        n = f->size - offset;
    if (n <= 0)
        return;
    if (offset + n > f->size)
        set_size (f, offset + n, doubt);
    for (long i = 0; i < n; i++) {
        f->bytes[offset + i] = byte_of (c, offset + i - c->offset);
        f->doubt[offset + i] = (unsigned char) (doubt | (f->doubt[offset + i] & (doubt ? 3 : 0)));
    }
}

static void
replay_append (struct change *c, long result)
{
    struct file *f = &files[c->file];

    if (result == 0)
        return;
    if (f->size_min != f->size_max) { /* the size to append to is unknown */
        f->known = false;
        return;
    }
    /* The bytes depend on the offset in the change, wherever they were written. */
    const long at = f->size, n = result < 0 ? c->size : result;
    const unsigned doubt = (data_needs_sync ? UNSYNCED : 0) | (result < 0 ? UNCERTAIN : 0);
    if (at + n > SIZE_MAX_ + CHANGE_MAX) {
        f->known = false;
        return;
    }
    set_size (f, at + n, doubt);
    for (long i = 0; i < n; i++) {
        f->bytes[at + i] = byte_of (c, i);
        f->doubt[at + i] = (unsigned char) doubt;
    }
}

static void
replay_sync (struct file *f)
{
    for (long i = 0; i < f->size; i++)
        f->doubt[i] &= (unsigned char) ~UNSYNCED;
    bool certain = true;
    for (long i = 0; i < f->size; i++)
        certain = certain && !f->doubt[i];
    if (certain)
        f->size_min = f->size_max = f->size;
}

static void
replay_rename (const struct change *c, long result)
{
    if (result == -ENOENT)
        return;
    if (result < 0) {
        files[c->file].known = files[c->other].known = false;
        return;
    }
    files[c->other] = files[c->file];
    files[c->file] = (struct file){ .known = files[c->other].known };
}

/* Updates the known state for a change with this result. */
static void
replay (struct change *c, long result)
{
    struct file *f = &files[c->file];

    if (c->op == CREATE) {
        if (result >= 0)
            *f = (struct file){ .known = true, .exists = true };
        else
            f->known = false;
        return;
    }
    if (c->op == RENAME) {
        replay_rename (c, result);
        return;
    }
    if (c->op == UNLINK) {
        if (result == 0)
            *f = (struct file){ .known = true };
        else if (result != -ENOENT)
            f->known = false;
        return;
    }
    if (!f->known || (f->known && !f->exists))
        return;
    switch (c->op) {
    case WRITE:
    case MAPPED: replay_data (c, c->offset, result); break;
    case APPEND: replay_append (c, result); break;
    case TRUNCATE:
        set_size (f, c->offset, (data_needs_sync ? UNSYNCED : 0) | (result < 0 ? UNCERTAIN : 0));
        break;
    case SYNC:
        if (result == 0)
            replay_sync (f);
        break;
    default: break;
    }
}

/* The file system went away while files were changed: data that was not synced may be lost, and no
 * later fsync reports this. */
static void
replay_start (void)
{
    for (int i = 0; i < FILES && data_needs_sync; i++) {
        struct file *f = &files[i];
        f->known = f->known && f->size_min == f->size_max;
        for (long at = 0; at < f->size; at++)
            f->doubt[at] = f->doubt[at] ? UNCERTAIN : 0;
    }
}

/* Replays the log. Sets the last change, and returns its result. */
static long
read_log (FILE *log, struct change *ret_last)
{
    struct change c = { 0 };
    unsigned long number;
    bool open = false;
    char line[128];
    long result = 0;

    while (fgets (line, sizeof line, log)) {
        if (line[0] == 'S') {
            if (open)
                replay (&c, -EINTR);
            open = false;
            result = -EINTR;
            replay_start ();
        } else if (line[0] == 'B') {
            if (open)
                replay (&c, -EINTR);
            sscanf (line, "B %lu %d %d %d %ld %ld", &c.number, (int *) &c.op, &c.file, &c.other,
                    &c.offset, &c.size);
            open = true;
        } else if (open && sscanf (line, "D %lu %ld", &number, &result) == 2) {
            replay (&c, result);
            open = false;
        }
    }
    if (open)
        replay (&c, -EINTR);
    *ret_last = c;
    return open ? -EINTR : result;
}

static int
complain (int file, const char *what, long a, long b)
{
    printf ("keeper: %s: %s: %ld, expected %ld\n", name_of (file), what, a, b);
    return 1;
}

/* An unreadable file says nothing about its content, unless the file is missing. */
static int
check_unreadable (int file, int error)
{
    if (error == ENOENT)
        return files[file].exists ? complain (file, "is not there, errno", error, 0) : 0;
    fprintf (stderr, "keeper: %s: can't be read: %s\n", name_of (file), strerror (error));
    unreadable = true;
    return 0;
}

/* Reads all of the file: a read with an error after some pages returns only these pages, and only
 * the next read returns the error. */
static long
read_all (int fd, unsigned char *buf, size_t size)
{
    size_t done = 0;
    ssize_t n;

    while (done < size && (n = read (fd, buf + done, size - done)) != 0) {
        if (n < 0)
            return -1;
        done += (size_t) n;
    }
    return (long) done;
}

static int
check_file (int file)
{
    static unsigned char got[SIZE_MAX_ + CHANGE_MAX + 1];
    const struct file *f = &files[file];
    int fd, error;
    long n;

    if (!f->known)
        return 0;
    fd = open (name_of (file), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return check_unreadable (file, errno);
    n = read_all (fd, got, sizeof got);
    error = errno;
    close (fd);
    if (n < 0)
        return check_unreadable (file, error);
    if (!f->exists)
        return complain (file, "is there again, size", n, 0);
    if (n < f->size_min || n > f->size_max)
        return complain (file, "wrong size", n, f->size_min);
    for (long i = 0; i < n; i++)
        if (!f->doubt[i] && got[i] != f->bytes[i] && i < f->size_min)
            return printf ("keeper: %s: at %ld of %ld: %d, expected %d\n", name_of (file), i, n,
                           got[i], f->bytes[i]),
                   1;
    return 0;
}

int
main (int argc, char **argv)
{
    const bool writes = argc > 1 && strcmp (argv[1], "write") == 0;
    struct change last;
    FILE *log;
    long result;
    int wrong = 0;

    if (argc < 4 || (!writes && strcmp (argv[1], "check") != 0)) {
        fprintf (stderr,
                 "usage: keeper write DIR LOG SEED [SECONDS] | keeper check DIR LOG [synced]\n");
        return 2;
    }
    log = fopen (argv[3], writes ? "a+" : "r");
    if (!log || chdir (argv[2]) < 0) {
        perror (log ? argv[2] : argv[3]);
        return 2;
    }
    for (int i = 0; i < FILES; i++)
        files[i].known = true;
    data_needs_sync = !writes && argc > 4 && strcmp (argv[4], "synced") == 0;
    result = read_log (log, &last);
    if (writes) {
        seed = strtoull (argc > 4 ? argv[4] : "1", NULL, 0) * 2 + 1 + last.number * 7919;
        (void) mkdir ("a", 0755);
        (void) mkdir ("b", 0755);
        note (fileno (log), "S\n", 2);
        return keep_writing (fileno (log), last, result,
                             argc > 5 ? time (NULL) + atol (argv[5]) : 0);
    }
    for (int i = 0; i < FILES; i++)
        wrong += check_file (i);
    printf ("keeper: %lu changes, %d files wrong\n", last.number, wrong);
    return wrong > 0 ? 1 : unreadable ? 3 : 0;
}
