/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Repeats one kind of work and measures its duration. Compiled by tests/bench/run.
 *
 *   load [-c CLIENTS] WORK DIRECTORY COUNT [SIZE [PER_FOLDER]]
 *
 * Prints the number of operations, their duration in nanoseconds, and the CPU time of the program
 * in nanoseconds. The files are DIRECTORY/dNNN/fNNNNNN, with PER_FOLDER files in each directory.
 * Data works use the file DIRECTORY/data. A chain is DIRECTORY/cNNN/d/d/.../f, with SIZE nested
 * directories. A direct work opens its file with O_DIRECT. With CLIENTS, this number of processes
 * runs in parallel, each with its share of COUNT.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 4096
#define CLIENTS_MAX 256

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

/* Looks up a missing name that no cache has. */
static unsigned
missing_one (struct load *load, unsigned i)
{
    struct name name = name_of (load, 'x', i);

    if (access (name.text, F_OK) == 0 || errno != ENOENT)
        die ("unexpected answer about", name.text);
    return 1;
}

/* Requests attributes that no cache may answer. */
static unsigned
getattr_one (struct load *load, unsigned i)
{
    struct statx stx;

    check (statx (load->fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &stx),
           "cannot stat", "f000000");
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

/* --- chains of directories -------------------------------------------------------------------- */

#define CHAIN_MAX 256

struct chain {
    char text[16 + 2 * CHAIN_MAX];
};

static struct chain
chain_of (const struct load *load, unsigned i)
{
    struct chain chain;
    int n = snprintf (chain.text, sizeof chain.text, "c%03u", i);

    for (size_t depth = 0; depth < load->size; depth++)
        n += snprintf (chain.text + n, sizeof chain.text - n, "/d");
    snprintf (chain.text + n, sizeof chain.text - n, "/f");
    return chain;
}

static unsigned
chain_make_one (struct load *load, unsigned i)
{
    struct chain chain = chain_of (load, i);
    int fd;

    for (char *slash = chain.text; (slash = strchr (slash, '/')); slash++) {
        *slash = '\0';
        check (mkdir (chain.text, 0755), "cannot make", chain.text);
        *slash = '/';
    }
    fd = open (chain.text, O_CREAT | O_EXCL | O_WRONLY, 0644);
    check (fd, "cannot create", chain.text);
    check (close (fd), "cannot close", chain.text);
    return 1;
}

static unsigned
chain_stat_one (struct load *load, unsigned i)
{
    struct chain chain = chain_of (load, i);
    struct stat st;

    check (stat (chain.text, &st), "cannot stat", chain.text);
    return 1;
}

/* --- data ----------------------------------------------------------------------------------- */

static void
data_open (struct load *load)
{
    load->fd = open ("data", O_RDWR);
    check (load->fd, "cannot open", "data");
}

static void
data_open_direct (struct load *load)
{
    load->fd = open ("data", O_RDWR | O_DIRECT);
    check (load->fd, "cannot open with O_DIRECT", "data");
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
    check (pwrite (load->fd, load->buf, load->size, (off_t) i * load->size), "cannot write",
           "data");
    return 1;
}

static unsigned
read_one (struct load *load, unsigned i)
{
    check (pread (load->fd, load->buf, load->size, (off_t) i * load->size), "cannot read", "data");
    return 1;
}

/* Reads each block once, in an order that read-ahead cannot predict; count is a power of 2. */
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

/* Data counts as written when it is on the disk. */
static unsigned
write_synced_one (struct load *load, unsigned i)
{
    write_one (load, i);
    if (i + 1 == load->count)
        check (fsync (load->fd), "cannot synchronise", "data");
    return 1;
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
    { "chain-make", NULL, chain_make_one },
    { "chain-stat", NULL, chain_stat_one },
    { "write", data_create, write_one },
    { "read", data_open, read_one },
    { "write-synced", data_create, write_synced_one },
    { "random-write", data_open, random_write_one },
    { "random-read", data_open, random_read_one },
    { "direct-write", data_open_direct, write_one },
    { "direct-read", data_open_direct, read_one },
    { "direct-random-write", data_open_direct, random_write_one },
    { "direct-random-read", data_open_direct, random_read_one },
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

/* Shared by the clients. A client writes a byte when it is ready, and begins when the other pipe is
 * closed. */
struct meeting {
    int ready[2], go[2];
    uint64_t *done; /* of each client */
};

static uint64_t
part_do (const struct work *work, struct load *load, unsigned from, unsigned to)
{
    uint64_t done = 0;

    for (unsigned i = from; i < to; i++)
        done += work->one (load, i);
    if (load->fd >= 0)
        check (close (load->fd), "cannot close", "data");
    return done;
}

static void
client_start (const struct work *work, struct load *load, struct meeting *meeting, unsigned client,
              unsigned clients)
{
    pid_t pid = fork ();
    char byte;

    check (pid, "cannot start", "a client");
    if (pid > 0)
        return;
    close (meeting->ready[0]);
    close (meeting->go[1]);
    if (work->begin)
        work->begin (load);
    check (write (meeting->ready[1], "", 1), "cannot say", "ready");
    close (meeting->ready[1]);
    check (read (meeting->go[0], &byte, 1), "cannot wait for", "the others");
    meeting->done[client] = part_do (work, load, (uint64_t) load->count * client / clients,
                                     (uint64_t) load->count * (client + 1) / clients);
    exit (0);
}

static int64_t
children_cpu (void)
{
    struct rusage used;

    getrusage (RUSAGE_CHILDREN, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000ll
           + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000ll;
}

/* Waits until all clients are ready, or a client has ended. */
static void
clients_start (const struct work *work, struct load *load, struct meeting *meeting,
               unsigned clients)
{
    char byte;

    check (pipe (meeting->ready) < 0 ? -1 : pipe (meeting->go), "cannot make", "a pipe");
    for (unsigned i = 0; i < clients; i++)
        client_start (work, load, meeting, i, clients);
    close (meeting->ready[1]);
    close (meeting->go[0]);
    for (unsigned i = 0; i < clients && read (meeting->ready[0], &byte, 1) == 1; i++)
        ;
}

static void
clients_run (const struct work *work, struct load *load, unsigned clients)
{
    struct meeting meeting = { .done = mmap (NULL, clients * sizeof (uint64_t),
                                             PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                                             0) };
    int status, failed = 0;
    uint64_t done = 0;

    clients_start (work, load, &meeting, clients);
    int64_t begin = nanoseconds (CLOCK_MONOTONIC);
    close (meeting.go[1]);
    for (unsigned i = 0; i < clients; i++) {
        check (wait (&status), "cannot wait for", "a client");
        failed |= status;
    }
    int64_t end = nanoseconds (CLOCK_MONOTONIC);
    if (failed)
        exit (1);
    for (unsigned i = 0; i < clients; i++)
        done += meeting.done[i];
    printf ("%llu %lld %lld\n", (unsigned long long) done, (long long) (end - begin),
            (long long) children_cpu ());
}

static void
one_client_run (const struct work *work, struct load *load)
{
    if (work->begin)
        work->begin (load);
    int64_t begin = nanoseconds (CLOCK_MONOTONIC), cpu = nanoseconds (CLOCK_PROCESS_CPUTIME_ID);
    uint64_t done = part_do (work, load, 0, load->count);
    printf ("%llu %lld %lld\n", (unsigned long long) done,
            (long long) (nanoseconds (CLOCK_MONOTONIC) - begin),
            (long long) (nanoseconds (CLOCK_PROCESS_CPUTIME_ID) - cpu));
}

/* Returns a number from 1 to most, or ends the program. */
static unsigned
number_read (const char *text, unsigned most)
{
    char *end;
    unsigned long n = strtoul (text, &end, 10);

    if (*end || n < 1 || n > most) {
        fprintf (stderr, "load: '%s' isn't a number from 1 to %u\n", text, most);
        exit (64);
    }
    return (unsigned) n;
}

int
main (int argc, char **argv)
{
    unsigned clients = 1;

    if (argc > 2 && strcmp (argv[1], "-c") == 0) {
        clients = number_read (argv[2], CLIENTS_MAX);
        argc -= 2;
        argv += 2;
    }
    if (argc < 4) {
        fprintf (stderr, "usage: load [-c CLIENTS] WORK DIRECTORY COUNT [SIZE [PER_FOLDER]]\n");
        return 64;
    }
    const struct work *work = work_find (argv[1]);
    struct load load = { .count = number_read (argv[3], UINT32_MAX),
                         .size = argc > 4 ? strtoul (argv[4], NULL, 10) : BLOCK,
                         .per_folder = argc > 5 ? number_read (argv[5], UINT32_MAX) : 1000,
                         .fd = -1 };

    load.buf = aligned_alloc (BLOCK, (load.size + BLOCK) / BLOCK * BLOCK);
    memset (load.buf, 'x', load.size);
    check (chdir (argv[2]), "cannot change to", argv[2]);
    if (clients > 1)
        clients_run (work, &load, clients);
    else
        one_client_run (work, &load);
    return 0;
}
