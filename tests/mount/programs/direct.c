/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * direct answers FILE [moved]: prints the results of reads and writes of a file that is opened with
 * O_DIRECT, aligned and unaligned, before and after fcntl(2) removes and sets O_DIRECT; with
 * `moved`, also from and to odd addresses, without fcntl(2). Each result is a line. A mount gives
 * the same results as a bare directory.
 *
 * direct shared FILE: writes a file directly, through the page cache and through a map. Each of
 * them sees the data of the others.
 *
 * direct switched FILE ROUNDS: the same, while fcntl(2) changes O_DIRECT of the descriptor all the
 * time.
 *
 * Exit status: 1 with a message on failure; 77 if the file system has no O_DIRECT.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096
#define BLOCKS 16

static int failures;

#define must(cond_)                                                                                \
    do {                                                                                           \
        if (!(cond_)) {                                                                            \
            fprintf (stderr, "line %d: not so: %s (%s)\n", __LINE__, #cond_, strerror (errno));    \
            __atomic_add_fetch (&failures, 1, __ATOMIC_RELAXED);                                   \
        }                                                                                          \
    } while (0)

static char *
pages_new (int value)
{
    char *pages = aligned_alloc (PAGE, 2 * PAGE);

    memset (pages, value, 2 * PAGE);
    return pages;
}

static int
open_or_die (const char *path, int flags)
{
    int fd = open (path, flags, 0644);

    if (fd >= 0)
        return fd;
    perror (path);
    exit (errno == EINVAL && flags & O_DIRECT ? 77 : 2);
}

/* --- answers ---------------------------------------------------------------------------------- */

static ssize_t
asynchronous (int fd, int what, char *buf, size_t size, off_t at)
{
    aio_context_t context = 0;
    struct iocb block = { .aio_fildes = (uint32_t) fd,
                          .aio_lio_opcode = (uint16_t) what,
                          .aio_buf = (uintptr_t) buf,
                          .aio_nbytes = size,
                          .aio_offset = at };
    struct iocb *list = &block;
    struct io_event event = { .res = -EIO };

    if (syscall (SYS_io_setup, 1, &context) < 0)
        return -1;
    if (syscall (SYS_io_submit, context, 1, &list) == 1)
        (void) syscall (SYS_io_getevents, context, 1, 1, &event, NULL);
    else
        event.res = -errno;
    syscall (SYS_io_destroy, context);
    errno = event.res < 0 ? (int) -event.res : 0;
    return event.res < 0 ? -1 : (ssize_t) event.res;
}

static void
say (const char *when, const char *what, ssize_t n)
{
    if (n < 0)
        printf ("%s: %s: %s\n", when, what, strerror (errno));
    else
        printf ("%s: %s: %zd\n", when, what, n);
}

static void
answers_now (const char *when, int fd, bool moved)
{
    char *pages = pages_new ('a');

    say (when, "write a page", pwrite (fd, pages, PAGE, 0));
    say (when, "read a page", pread (fd, pages, PAGE, 0));
    say (when, "write 512 bytes", pwrite (fd, pages, 512, PAGE));
    say (when, "write 4 bytes", pwrite (fd, pages, 4, 2 * PAGE));
    say (when, "read 4 bytes", pread (fd, pages, 4, 2 * PAGE));
    say (when, "write at an odd offset", pwrite (fd, pages, PAGE, 1));
    say (when, "read at an odd offset", pread (fd, pages, PAGE, 1));
    say (when, "read at the end", pread (fd, pages, PAGE, 4 * PAGE));
    say (when, "write a page, asynchronously", asynchronous (fd, IOCB_CMD_PWRITE, pages, PAGE, 0));
    say (when, "read a page, asynchronously", asynchronous (fd, IOCB_CMD_PREAD, pages, PAGE, 0));
    say (when, "write 4 bytes, asynchronously",
         asynchronous (fd, IOCB_CMD_PWRITE, pages, 4, 2 * PAGE));
    if (moved) {
        say (when, "write from an odd address", pwrite (fd, pages + 1, PAGE, 0));
        say (when, "read to an odd address", pread (fd, pages + 1, PAGE, 0));
    }
    free (pages);
}

static void
answers (const char *path, bool moved, bool switched)
{
    int fd = open_or_die (path, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT);

    must (ftruncate (fd, 4 * PAGE) == 0);
    answers_now ("direct", fd, moved);
    if (switched) {
        must (fcntl (fd, F_SETFL, 0) == 0);
        answers_now ("no more direct", fd, moved);
        must (fcntl (fd, F_SETFL, O_DIRECT) == 0);
        answers_now ("direct again", fd, moved);
    }
    close (fd);
}

/* --- all ways at a time ----------------------------------------------------------------------- */

static bool
is_all (const char *page, char value)
{
    return page[0] == value && memcmp (page, page + 1, PAGE - 1) == 0;
}

static bool
page_reads (int fd, off_t at, char value)
{
    char *pages = pages_new (0);
    bool same = pread (fd, pages, PAGE, at) == PAGE && is_all (pages, value);

    free (pages);
    return same;
}

struct ways {
    int direct, cached;
    char *map;
};

static void
block_goes_round (const struct ways *ways, int block, int round)
{
    const off_t at = (off_t) block * PAGE;
    const char value = (char) ('A' + round % 50);
    char *pages = pages_new (value);

    must (pwrite (ways->direct, pages, PAGE, at) == PAGE);
    must (is_all (ways->map + at, value) && page_reads (ways->cached, at, value)
          && page_reads (ways->direct, at, value));
    memset (pages, value + 1, PAGE);
    must (pwrite (ways->cached, pages, PAGE, at) == PAGE);
    must (page_reads (ways->direct, at, (char) (value + 1))
          && is_all (ways->map + at, (char) (value + 1)));
    memset (ways->map + at, value + 2, PAGE);
    must (page_reads (ways->direct, at, (char) (value + 2))
          && page_reads (ways->cached, at, (char) (value + 2)));
    free (pages);
}

static struct ways
ways_open (const char *path)
{
    struct ways ways = { .cached = open_or_die (path, O_RDWR | O_CREAT | O_TRUNC) };

    must (ftruncate (ways.cached, BLOCKS * PAGE) == 0);
    ways.direct = open_or_die (path, O_RDWR | O_DIRECT);
    ways.map = mmap (NULL, BLOCKS * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ways.cached, 0);
    must (ways.map != MAP_FAILED);
    if (ways.map == MAP_FAILED)
        exit (1);
    return ways;
}

static void
shared (const char *path)
{
    struct ways ways = ways_open (path);
    char *pages = pages_new ('e'), *late;

    for (int round = 0; round < 3 * BLOCKS; round++)
        block_goes_round (&ways, round % BLOCKS, round);
    /* of the direct descriptor itself */
    late = mmap (NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ways.direct, 0);
    must (late != MAP_FAILED);
    must (pwrite (ways.direct, pages, PAGE, 0) == PAGE && is_all (late, 'e')
          && is_all (ways.map, 'e'));
    memset (late, 'f', PAGE);
    must (page_reads (ways.direct, 0, 'f') && page_reads (ways.cached, 0, 'f'));
    must (pwrite (ways.direct, pages, PAGE, BLOCKS * PAGE) == PAGE
          && lseek (ways.cached, 0, SEEK_END) == (BLOCKS + 1) * PAGE);
    must (ftruncate (ways.cached, PAGE) == 0 && pread (ways.direct, pages, PAGE, PAGE) == 0);
    must (fsync (ways.direct) == 0);
    free (pages);
}

/* --- while it is switched --------------------------------------------------------------------- */

static struct ways switching;
static int rounds;
static bool over; /* atomic */

static void *
switch_on_and_off (void *unused)
{
    for (unsigned i = 0; !__atomic_load_n (&over, __ATOMIC_RELAXED); i++)
        must (fcntl (switching.direct, F_SETFL, i % 2 ? O_DIRECT : 0) == 0);
    return NULL;
}

static void *
go_round (void *first)
{
    for (int round = 0; round < rounds; round++)
        block_goes_round (&switching, (int) (intptr_t) first + round % (BLOCKS / 4), round);
    return NULL;
}

static void
switched (const char *path)
{
    pthread_t threads[4], switcher;

    switching = ways_open (path);
    must (pthread_create (&switcher, NULL, switch_on_and_off, NULL) == 0);
    for (intptr_t i = 0; i < 4; i++)
        must (pthread_create (&threads[i], NULL, go_round, (void *) (i * BLOCKS / 4)) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join (threads[i], NULL);
    __atomic_store_n (&over, true, __ATOMIC_RELAXED);
    pthread_join (switcher, NULL);
}

int
main (int argc, char **argv)
{
    if (argc >= 3 && strcmp (argv[1], "answers") == 0)
        answers (argv[2], argc > 3 && strcmp (argv[3], "moved") == 0, argc == 3);
    else if (argc == 3 && strcmp (argv[1], "shared") == 0)
        shared (argv[2]);
    else if (argc == 4 && strcmp (argv[1], "switched") == 0 && (rounds = atoi (argv[3])) > 0)
        switched (argv[2]);
    else
        return 2;
    return failures ? 1 : 0;
}
