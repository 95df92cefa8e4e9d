/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that the kernel reads and writes itself. */
#ifndef WINDLASS_FUSE_PASSTHROUGH_H
#define WINDLASS_FUSE_PASSTHROUGH_H

#include "fuse/state.h"

struct passthrough *passthrough_new (void);
void passthrough_free (struct passthrough *all); /* takes NULL */
/* Asks the kernel for passthrough, if allowed, while INIT is answered. */
void passthrough_negotiate (struct bridge *bridge, struct fuse_conn_info *conn);

/* Completes fi, whose other fields are filled in, for an open of fd that is about to be answered.
 * passthrough_release must follow. */
void
passthrough_open (struct bridge *bridge, call_frame_t *frame, fd_t *fd, struct fuse_file_info *fi);
/* Ends an open: the kernel released it, or never got it. */
void passthrough_release (struct bridge *bridge, const fd_t *fd);

/* Returns whether the kernel reads or writes the inode itself, for one of its opens. */
bool passthrough_has (struct bridge *bridge, const inode_t *inode);
/* Returns whether the kernel writes the inode itself, for one of its opens. */
bool passthrough_writes (struct bridge *bridge, const inode_t *inode);

/* Has the kernel ask for the file's attributes again if stores through a mapping of this open, of
 * which nobody is told, may have changed times. Before a flush is answered, since close(2) does not
 * wait for the release, and at the release. */
void passthrough_forget_times (struct bridge *bridge, const fd_t *fd);
/* Returns whether data read with fi enters the kernel's page cache while other opens write past
 * that cache. After such an answer, the kernel has to drop the pages. */
bool passthrough_is_stale_soon (struct bridge *bridge, const fd_t *fd,
                                const struct fuse_file_info *fi);

void passthrough_dump (const struct bridge *bridge, GString *out);

#endif
