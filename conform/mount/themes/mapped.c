/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mapped files: what a mapping shows and changes; the end of the file. */
#include "conform/mount/themes/themes.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static sigjmp_buf fault;

static void
faulted (int signal)
{
    siglongjmp (fault, signal);
}

/* Shows a byte, or the signal that the access raises. */
static void
look (const char *what, volatile const char *at)
{
    int signal;

    sigaction (SIGBUS, &(struct sigaction){ .sa_handler = faulted }, NULL);
    sigaction (SIGSEGV, &(struct sigaction){ .sa_handler = faulted }, NULL);
    signal = sigsetjmp (fault, 1);
    if (signal == 0)
        observe ("%s: %d", what, *at);
    else
        observe ("%s: %s", what, sigabbrev_np (signal));
}

static void
poke (const char *what, volatile char *at)
{
    int signal = sigsetjmp (fault, 1);

    if (signal == 0)
        *at = 'P';
    observe ("%s: %s", what, signal ? sigabbrev_np (signal) : "ok");
}

static char *
map_file (int fd, size_t size, int rights, int flags)
{
    char *map = mmap (NULL, size, rights, flags, fd, 0);

    observe ("mmap: %s", map == MAP_FAILED ? errno_name (errno) : "ok");
    return map == MAP_FAILED ? NULL : map;
}

static void
run_shared (const struct mount_case *c)
{
    const int fd = make_file ("file", "mapped text"), other = open ("file", O_RDWR);
    char text[16] = "";
    char *map;

    TELL ("longer", ftruncate (fd, 8192));
    map = map_file (fd, 8192, PROT_READ | PROT_WRITE, MAP_SHARED);
    if (!map)
        return;
    memcpy (map, "MAPPED", 6);
    TELL ("read sees it", pread (fd, text, 11, 0));
    observe ("it holds %s", text);
    TELL ("write", pwrite (other, "seen", 4, 0));
    observe ("the map shows %.11s", map);
    map[5000] = 'y';
    TELL ("msync", msync (map, 8192, MS_SYNC));
    TELL ("msync without waiting", msync (map, 8192, MS_ASYNC));
    TELL ("msync, invalidating", msync (map, 8192, MS_INVALIDATE));
    TELL ("by another descriptor", pread (other, text, 1, 5000));
    observe ("it is %c", text[0]);
    TELL ("copied over", pwrite (other, "from the other", 14, 4090));
    observe ("the map shows %.14s", map + 4090);
    close (fd);
    close (other);
    memcpy (map, "closed", 6);
    TELL ("msync after close", msync (map, 8192, MS_SYNC));
    munmap (map, 8192);
    show_content ("file");
}

static void
run_private (const struct mount_case *c)
{
    const int fd = make_file ("file", "private text");
    char *map = map_file (fd, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);

    if (!map)
        return;
    TELL ("write before it is touched", pwrite (fd, "PRIVATE", 7, 0));
    observe ("the map shows %.12s", map);
    memcpy (map, "changed", 7);
    observe ("the map shows %.12s", map);
    TELL ("msync", msync (map, 4096, MS_SYNC));
    show_content ("file");
    TELL ("write after", pwrite (fd, "AGAIN", 5, 0));
    observe ("the map shows %.12s", map);
    munmap (map, 4096);
}

static void
run_end (const struct mount_case *c)
{
    const int fd = make_file ("file", "0123456789");
    char *map = map_file (fd, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED);

    if (!map)
        return;
    look ("in the file", map + 9);
    look ("behind the end, in its page", map + 10);
    look ("in the next page", map + 4096);
    TELL ("longer", ftruncate (fd, 8192));
    look ("now", map + 4096);
    poke ("write there", map + 4097);
    look ("two pages on", map + 8192);
    TELL ("shorter", ftruncate (fd, 5));
    look ("now", map + 4096);
    look ("behind the end", map + 7);
    poke ("write behind the end", map + 7);
    TELL ("longer again", ftruncate (fd, 4096));
    look ("what was behind the end", map + 7);
    TELL ("truncate and write", pwrite (fd, "new", 3, 4096));
    look ("it is there", map + 4097);
    munmap (map, 3 * 4096);
    show ("file", "file");
}

/* The rights that a mapping may have. */
static void
run_rights (const struct mount_case *c)
{
    static const struct {
        const char *name;
        int flags;
    } ways[] = { { "to read", O_RDONLY }, { "to write", O_WRONLY }, { "for both", O_RDWR } };
    static const int rights[] = { PROT_NONE, PROT_READ, PROT_WRITE, PROT_READ | PROT_WRITE,
                                  PROT_READ | PROT_EXEC };

    close (make_file ("file", "0123456789"));
    for (size_t way = 0; way < G_N_ELEMENTS (ways); way++) {
        const int fd = TELL_FD (ways[way].name, open ("file", ways[way].flags));

        for (size_t i = 0; i < G_N_ELEMENTS (rights); i++) {
            char *shared = map_file (fd, 10, rights[i], MAP_SHARED),
                 *own = map_file (fd, 10, rights[i], MAP_PRIVATE);

            if (shared)
                munmap (shared, 10);
            if (own)
                munmap (own, 10);
        }
        close (fd);
    }
    map_file (open (".", O_RDONLY), 10, PROT_READ, MAP_PRIVATE);
    map_file (open ("file", O_PATH), 10, PROT_READ, MAP_PRIVATE);
    map_file (open ("file", O_RDONLY), 0, PROT_READ, MAP_PRIVATE);
}

static void
run_unlinked (const struct mount_case *c)
{
    const int fd = make_file ("file", "still here");
    char *map = map_file (fd, 4096, PROT_READ | PROT_WRITE, MAP_SHARED);
    char text[16] = "";

    if (!map)
        return;
    TELL ("unlink", unlink ("file"));
    look ("the map", map);
    poke ("write to it", map);
    TELL ("msync", msync (map, 4096, MS_SYNC));
    TELL ("read", pread (fd, text, 10, 0));
    observe ("it holds %s", text);
    close (fd);
    look ("after close", map + 1);
    poke ("and write", map + 1);
    munmap (map, 4096);
}

/* Bytes written through a mapping of a file opened for appending stay at their offset. */
static void
run_append (const struct mount_case *c)
{
    const int fd = open ("file", O_RDWR | O_CREAT | O_APPEND, 0644);
    char *map;

    need ("open", fd);
    NEED (write (fd, "0123456789", 10));
    map = map_file (fd, 4096, PROT_READ | PROT_WRITE, MAP_SHARED);
    if (!map)
        return;
    memcpy (map, "MAP", 3);
    TELL ("msync", msync (map, 4096, MS_SYNC));
    TELL ("append", write (fd, "end", 3));
    munmap (map, 4096);
    close (fd);
    show ("file", "file");
    show_content ("file");
}

/* A mapping that another process writes to. */
static void
write_map (void *data)
{
    memcpy (data, "by the child", 12);
}

static void
run_processes (const struct mount_case *c)
{
    const int fd = make_file ("file", "0123456789abcdef");
    char *map = map_file (fd, 4096, PROT_READ | PROT_WRITE, MAP_SHARED);
    char text[16] = "";

    if (!map)
        return;
    child_end (child_start (write_map, map));
    observe ("the map shows %.12s", map);
    TELL ("read", pread (fd, text, 12, 0));
    observe ("it holds %s", text);
    TELL ("madvise", madvise (map, 4096, MADV_DONTNEED));
    observe ("the map shows %.12s", map);
    TELL ("punched", fallocate (fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096));
    look ("the map", map);
    munmap (map, 4096);
}

void
mapped_cases (GPtrArray *list)
{
    static const struct {
        const char *name;
        case_fn *run;
    } rows[] = { { "shared", run_shared },           { "private", run_private },
                 { "the end of the file", run_end }, { "rights", run_rights },
                 { "unlinked", run_unlinked },       { "two processes", run_processes },
                 { "open to append", run_append } };

    for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
        case_add (list, rows[i].run, 0, 0, 0, 0, "mapped/%s", rows[i].name);
}
