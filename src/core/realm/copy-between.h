/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Copies a range of bytes from a file of one child to a file of another one, which the operation
 * copy_file_range can't: it goes to one child.
 *
 * If no translator on the way of the reads, nor on that of the writes, changes, counts, delays or
 * keeps data, the storages lend descriptors, and the kernel copies: by a reflink where the file
 * system has it, else by copy_file_range(2). Otherwise, and if the kernel refuses, the bytes go
 * through the graph, by reads and writes of 1 MiB.
 *
 * The target has no data in the range before. Where the source has a hole, it gets none. The caller
 * sets the target's size afterwards, by an ftruncate through the child: translators that keep
 * attributes learn the new ones from its answer.
 */
#ifndef WINDLASS_CORE_REALM_COPY_BETWEEN_H
#define WINDLASS_CORE_REALM_COPY_BETWEEN_H

#include "core/data/fd.h"
#include "core/edge/sync.h"

struct copy_between {
    struct client *reader, *writer; /* of the children, with the identity that copies; may be one */
    fd_t *from, *to; /* open for reading, and for writing, each in its child's realm */
    off_t offset;                   /* of the range, in both files */
    uint64_t size;
    /* copy_between calls it before each MiB, with the offset that it has reached; true ends the
     * copy. NULL: the copy is never ended so. A reflink is made in one step. */
    bool (*stops) (void *data, off_t at);
    void *data;                     /* for stops */
    bool by_kernel; /* set: the kernel has copied all of it */
};

/* Waits for requests: on a thread of core/work. Returns 0; also if the source ends inside of the
 * range. -ECANCELED: stops has returned true. Another negative errno: a part may be copied. */
int copy_between (struct copy_between *copy);

#endif
