/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between libfuse and the device: the flags of INIT that libfuse doesn't know. */
#ifndef WINDLASS_FUSE_INIT_FLAGS_H
#define WINDLASS_FUSE_INIT_FLAGS_H

#include "fuse/state.h"

/* How libfuse reads and writes the device. */
extern const struct fuse_custom_io init_flags_io;

#define FLAG_PASSTHROUGH (1ULL << 37) /* since kernel 6.9 */
/* Number of stacked file systems, this one on top: an overlay may still be stacked on it. */
#define PASSTHROUGH_DEPTH 1

/* The open that this thread answers next names a backing file. */
void init_flags_backing (struct fuse_file_info *fi, int id);

/* Answers a request under way with an errno, given the request's number in its header. A later
 * answer to it has no effect. */
void answer_early (struct bridge *bridge, uint64_t number, int error);

#endif
