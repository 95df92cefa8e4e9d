/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between copy-up.c, which copies, and copy-wait.c, which knows who waits for that. */
#ifndef WINDLASS_OVERLAY_COPY_UP_H
#define WINDLASS_OVERLAY_COPY_UP_H

#include "overlay.h"

/* Copies as overlay_copy_up does, as long as overlay_copy_is_wanted. Returns -ECANCELED if that
 * ends. */
int overlay_copy_up_wanted (xlator_t *this, inode_t *inode);

/* Counts threads that want the copy. */
void overlay_copy_want (struct overlay_inode *state, int threads);

/* Whether a thread or a call waits for the copy. */
bool overlay_copy_is_wanted (struct overlay_inode *state);

#endif
