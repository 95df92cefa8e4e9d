/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opens files in folders where other users may create names, such as /tmp. Another user could place
 * a link to a file that only the daemon may write, a second name of such a file, a pipe that
 * blocks, or a file that the other user reads or writes meanwhile.
 */
#ifndef WINDLASS_CORE_BASE_SAFE_OPEN_H
#define WINDLASS_CORE_BASE_SAFE_OPEN_H

#include <sys/types.h>

#define NOT_OURS "it must not be another user's file or link, nor have a second name"

/* Like open(2), for files owned by the process's user or root. Returns a descriptor, or a negative
 * errno. -EPERM: NOT_OURS. A link is followed if its owner is one of these users and flags has no
 * O_NOFOLLOW; its target is the owner's choice. */
int open_ours (const char *path, int flags, mode_t mode);

#endif
