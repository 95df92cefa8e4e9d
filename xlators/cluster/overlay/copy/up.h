/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between up.c, which copies, and wait.c, which knows who waits for that. */
#ifndef WINDLASS_OVERLAY_COPY_UP_H
#define WINDLASS_OVERLAY_COPY_UP_H

#include "../overlay.h"

/* Copies as overlay_copy_up does, as long as overlay_copy_is_wanted. Returns -ECANCELED if that
 * ends. job: that does so, NULL: none. */
int overlay_copy_up_wanted (xlator_t *this, inode_t *inode, struct job *job);

/* A call that empties a file: an open with O_TRUNC, or a truncate. */
struct overlay_emptying {
    const struct call *call;
    bool done; /* the call's caller has emptied the copy, before anybody saw it */
    struct iatt before; /* if done: attributes before, as they are above */
};

/* Copies a regular file, unless it is in the upper, or a thread copies it already; without its
 * bytes, unless it has several names. Returns 0, or a negative errno of the copy or of the
 * emptying: then the file is as it was. */
int overlay_copy_up_empty (xlator_t *this, inode_t *inode, struct overlay_emptying *emptying);

/* Counts threads that want the copy. */
void overlay_copy_want (struct overlay_inode *state, int threads);

/* Whether a thread or a call waits for the copy. */
bool overlay_copy_is_wanted (struct overlay_inode *state);

/* Between two pieces of a copy by a job: rests during a hold, if a move need not wait for those who
 * wait for the copy (job_rest). */
void overlay_copy_rest (struct overlay_inode *state, struct job *job);

#endif
