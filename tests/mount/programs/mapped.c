/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mapped FILE: two processes open FILE, and add to the same number in it through shared mappings.
 * Prints the sum as seen through the mapping and by read(2).
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS 100000
#define AT 8192

static uint64_t *
map (const char *path, int *ret_fd)
{
    char *start;

    *ret_fd = open (path, O_RDWR);
    start = mmap (NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, *ret_fd, 0);
    return start == MAP_FAILED ? NULL : (uint64_t *) (start + AT);
}

static int
add (const char *path)
{
    int fd;
    uint64_t *number = map (path, &fd);

    for (int i = 0; number && i < TURNS; i++)
        __atomic_add_fetch (number, 1, __ATOMIC_RELAXED);
    return number && msync ((char *) number - AT, 3 * 4096, MS_SYNC) == 0 ? 0 : 1;
}

int
main (int argc, char **argv)
{
    uint64_t *number, seen = 0;
    int fd, mine, status = 0;
    pid_t child;

    if (argc != 2 || truncate (argv[1], 3 * 4096) < 0)
        return 2;
    child = fork ();
    if (child == 0)
        _exit (add (argv[1]));
    mine = add (argv[1]);
    if (waitpid (child, &status, 0) < 0 || mine != 0 || status != 0) {
        perror ("mapped");
        return 1;
    }
    number = map (argv[1], &fd);
    if (!number || pread (fd, &seen, sizeof seen, AT) != sizeof seen)
        return 1;
    printf ("%ju %ju\n", (uintmax_t) *number, (uintmax_t) seen);
    return 0;
}
