/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One kind of work, done again and again, and how long it took. Compiled by tests/bench/run.
 *
 *   load WORK DIRECTORY COUNT [SIZE [PER_FOLDER]]
 *
 * prints the number of operations, the nanoseconds they took, and the nanoseconds of CPU it used for them. The
 * files are DIRECTORY/dNNN/fNNNNNN, PER_FOLDER in each folder; that of the data works is DIRECTORY/data.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 4096
#define READERS 16

struct load {
    unsigned count, per_folder;
    size_t size;
    char *buf; /* size bytes */
    int fd;
};

static void __attribute__ ((noreturn))
die (const char *what, const char *name)
{
    fprintf (stderr, "load: %s '%s': %s\n", what, name, strerror (errno));
    exit (1);
}

static void
check (int64_t r, const char *what, const char *name)
{
    if (r < 0)
        die (what, name);
}

static int64_t
nanoseconds (clockid_t clock)
{
    struct timespec now;

    clock_gettime (clock, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* --- names ---------------------------------------------------------------------------------- */

struct name {
    char text[32];
};

static struct name
name_of (const struct load *load, char prefix, unsigned i)
{
    struct name name;

    snprintf (name.text, sizeof name.text, "d%03u/%c%06u", i / load->per_folder, prefix, i);
    return name;
}

static void
folders_make (struct load *load)
{
    for (unsigned i = 0; i < load->count; i += load->per_folder) {
        struct name name = name_of (load, 'f', i);
        *strchr (name.text, '/') = '\0';
        if (mkdir (name.text, 0755) < 0 && errno != EEXIST)
            die ("cannot make", name.text);
    }
}

static unsigned
create_one (struct load *load, unsigned i)
{
    struct name name = name_of (load, 'f', i);
    int fd = open (name.text, O_CREAT | O_EXCL | O_WRONLY, 0644);

    check (fd, "cannot create", name.text);
    if (load->size > 0)
        check (write (fd, load->buf, load->size), "cannot write", name.text);
    check (close (fd), "cannot close", name.text);
    return 1;
}

static unsigned
stat_one (struct load *load, unsigned i)
{
    struct name name = name_of (load, 'f', i);
    struct stat st;

    check (stat (name.text, &st), "cannot stat", name.text);
    return 1;
}

static unsigned
open_one (struct load *load, unsigned i)
{
    struct name name = name_of (load, 'f', i);
    int fd = open (name.text, O_RDONLY);

    check (fd, "cannot open", name.text);
    check (read (fd, load->buf, load->size), "cannot read", name.text);
    check (close (fd), "cannot close", name.text);
    return 1;
}

static unsigned
rename_one (struct load *load, unsigned i)
{
    struct name from = name_of (load, 'f', i), to = name_of (load, 'r', i);

    check (rename (from.text, to.text), "cannot rename", from.text);
    return 1;
}

static unsigned
unlink_one (struct load *load, unsigned i)
{
    struct name name = name_of (load, 'r', i);

    check (unlink (name.text), "cannot unlink", name.text);
    return 1;
}

/* A name that isn't there, which nobody remembers. */
static unsigned
missing_one (struct load *load, unsigned i)
{
    struct name name = name_of (load, 'x', i);

    if (access (name.text, F_OK) == 0 || errno != ENOENT)
        die ("unexpected answer about", name.text);
    return 1;
}

/* Attributes that nobody may answer from a cache. */
static unsigned
getattr_one (struct load *load, unsigned i)
{
    struct statx stx;

    check (statx (load->fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &stx), "cannot stat",
           "f000000");
    return 1;
}

/* Like ls -U, and like ls -lU. */
static unsigned
list_folder (bool attributes)
{
    DIR *dir = opendir ("d000");
    unsigned n = 0;
    struct stat st;

    if (!dir)
        die ("cannot open", "d000");
    for (const struct dirent *entry; (entry = readdir (dir)); n++)
        if (attributes)
            check (fstatat (dirfd (dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW), "cannot stat",
                   entry->d_name);
    closedir (dir);
    return n;
}

static unsigned
list_one (struct load *load, unsigned i)
{
    return list_folder (false);
}

static unsigned
list_stat_one (struct load *load, unsigned i)
{
    return list_folder (true);
}

/* --- data ----------------------------------------------------------------------------------- */

static void
data_open (struct load *load)
{
    load->fd = open ("data", O_RDWR);
    check (load->fd, "cannot open", "data");
}

static void
data_create (struct load *load)
{
    load->fd = open ("data", O_CREAT | O_TRUNC | O_WRONLY, 0644);
    check (load->fd, "cannot create", "data");
}

static void
first_open (struct load *load)
{
    load->fd = open (name_of (load, 'f', 0).text, O_RDONLY);
    check (load->fd, "cannot open", "f000000");
}

static unsigned
write_one (struct load *load, unsigned i)
{
    check (pwrite (load->fd, load->buf, load->size, (off_t) i * load->size), "cannot write", "data");
    return 1;
}

static unsigned
read_one (struct load *load, unsigned i)
{
    check (pread (load->fd, load->buf, load->size, (off_t) i * load->size), "cannot read", "data");
    return 1;
}

/* Each block once, in an order that no read-ahead guesses; count is a power of 2. */
static off_t
scattered (const struct load *load, unsigned i)
{
    return (off_t) (i * 2654435761u % load->count) * load->size;
}

static unsigned
random_write_one (struct load *load, unsigned i)
{
    check (pwrite (load->fd, load->buf, load->size, scattered (load, i)), "cannot write", "data");
    return 1;
}

static unsigned
random_read_one (struct load *load, unsigned i)
{
    check (pread (load->fd, load->buf, load->size, scattered (load, i)), "cannot read", "data");
    return 1;
}

/* What was written counts when it is on the disk. */
static unsigned
write_synced_one (struct load *load, unsigned i)
{
    write_one (load, i);
    if (i + 1 == load->count)
        check (fsync (load->fd), "cannot synchronise", "data");
    return 1;
}

/* Sixteen at once, each with blocks of its own. */
static void *
reader (void *data)
{
    const struct load *load = data;
    static unsigned number;
    const unsigned own = __atomic_fetch_add (&number, 1, __ATOMIC_RELAXED) % READERS;
    char buf[BLOCK];

    for (unsigned i = own; i < load->count; i += READERS)
        check (pread (load->fd, buf, sizeof buf, scattered (load, i)), "cannot read", "data");
    return NULL;
}

static unsigned
readers_one (struct load *load, unsigned i)
{
    pthread_t threads[READERS];

    if (i > 0)
        return 0;
    for (unsigned n = 0; n < READERS; n++)
        check (-pthread_create (&threads[n], NULL, reader, load), "cannot start", "a thread");
    for (unsigned n = 0; n < READERS; n++)
        pthread_join (threads[n], NULL);
    return load->count;
}

/* --- the program ---------------------------------------------------------------------------- */

static const struct work {
    const char *name;
    void (*begin) (struct load *load); /* not timed */
    unsigned (*one) (struct load *load, unsigned i);
} works[] = {
    { "create", folders_make, create_one },
    { "stat", NULL, stat_one },
    { "open", NULL, open_one },
    { "rename", NULL, rename_one },
    { "unlink", NULL, unlink_one },
    { "missing", NULL, missing_one },
    { "getattr", first_open, getattr_one },
    { "list", NULL, list_one },
    { "list-stat", NULL, list_stat_one },
    { "write", data_create, write_one },
    { "read", data_open, read_one },
    { "write-synced", data_create, write_synced_one },
    { "readers", data_open, readers_one },
    { "random-write", data_open, random_write_one },
    { "random-read", data_open, random_read_one },
};

static const struct work *
work_find (const char *name)
{
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++)
        if (strcmp (works[i].name, name) == 0)
            return &works[i];
    errno = EINVAL;
    die ("no such work", name);
}

int
main (int argc, char **argv)
{
    if (argc < 4) {
        fprintf (stderr, "usage: load WORK DIRECTORY COUNT [SIZE [PER_FOLDER]]\n");
        return 64;
    }
    const struct work *work = work_find (argv[1]);
    struct load load = { .count = strtoul (argv[3], NULL, 10),
                         .size = argc > 4 ? strtoul (argv[4], NULL, 10) : BLOCK,
                         .per_folder = argc > 5 ? strtoul (argv[5], NULL, 10) : 1000,
                         .fd = -1 };
    uint64_t done = 0;

    load.buf = malloc (load.size + 1);
    memset (load.buf, 'x', load.size);
    check (chdir (argv[2]), "cannot change to", argv[2]);
    if (work->begin)
        work->begin (&load);
    int64_t begin = nanoseconds (CLOCK_MONOTONIC), cpu = nanoseconds (CLOCK_PROCESS_CPUTIME_ID);
    for (unsigned i = 0; i < load.count; i++)
        done += work->one (&load, i);
    if (load.fd >= 0)
        check (close (load.fd), "cannot close", "data");
    printf ("%llu %lld %lld\n", (unsigned long long) done,
            (long long) (nanoseconds (CLOCK_MONOTONIC) - begin),
            (long long) (nanoseconds (CLOCK_PROCESS_CPUTIME_ID) - cpu));
    return 0;
}
