/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes with io_submit(2) and O_DIRECT while another thread reads the same file through the page
 * cache. After the writes, reads return the written data.
 *
 *   async-direct FILE ROUNDS
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
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCK 4096
#define BLOCKS 32

static int reading;
static bool over; /* atomic */

static void *
read_on (void *unused)
{
    char block[BLOCK];

    for (unsigned i = 0; !__atomic_load_n (&over, __ATOMIC_RELAXED); i++)
        if (pread (reading, block, sizeof block, (off_t) (i % BLOCKS) * BLOCK) < 0)
            perror ("pread");
    return NULL;
}

static void
write_all (aio_context_t context, int file, char *data, int value)
{
    struct iocb blocks[BLOCKS], *list[BLOCKS];
    struct io_event events[BLOCKS];

    memset (data, value, BLOCKS * BLOCK);
    memset (blocks, 0, sizeof blocks);
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i].aio_fildes = (uint32_t) file;
        blocks[i].aio_lio_opcode = IOCB_CMD_PWRITE;
        blocks[i].aio_buf = (uintptr_t) (data + i * BLOCK);
        blocks[i].aio_nbytes = BLOCK;
        blocks[i].aio_offset = (long long) i * BLOCK;
        list[i] = &blocks[i];
    }
    if (syscall (SYS_io_submit, context, BLOCKS, list) != BLOCKS
        || syscall (SYS_io_getevents, context, BLOCKS, BLOCKS, events, NULL) != BLOCKS) {
        perror ("io_submit, io_getevents");
        exit (2);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (events[i].res != BLOCK) {
            fprintf (stderr, "a write ended with %lld\n", (long long) events[i].res);
            exit (2);
        }
}

int
main (int argc, char **argv)
{
    aio_context_t context = 0;
    pthread_t reader;
    char *data, *found = malloc (BLOCKS * BLOCK);
    int file, status = 0;

    if (argc != 3 || posix_memalign ((void **) &data, BLOCK, BLOCKS * BLOCK) != 0)
        return 2;
    file = open (argv[1], O_RDWR | O_CREAT | O_DIRECT, 0600);
    reading = open (argv[1], O_RDONLY);
    if (file < 0 || reading < 0 || syscall (SYS_io_setup, BLOCKS, &context) < 0) {
        perror (argv[1]);
        return 2;
    }
    write_all (context, file, data, 'a');
    pthread_create (&reader, NULL, read_on, NULL);
    for (int round = 0; round < atoi (argv[2]) && status == 0; round++) {
        write_all (context, file, data, 'a' + round % 26);
        if (pread (reading, found, BLOCKS * BLOCK, 0) != BLOCKS * BLOCK
            || memcmp (found, data, BLOCKS * BLOCK) != 0) {
            fprintf (stderr, "stale data after round %d\n", round);
            status = 1;
        }
    }
    __atomic_store_n (&over, true, __ATOMIC_RELAXED);
    pthread_join (reader, NULL);
    return status;
}
