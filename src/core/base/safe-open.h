/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files whose names another user may have laid out, in a folder such as /tmp: as a link to where we
 * may write and that user may not, as a second name of such a file, as a pipe that waits, or as a
 * file that is read or written by that user meanwhile.
 */
#ifndef WINDLASS_CORE_BASE_SAFE_OPEN_H
#define WINDLASS_CORE_BASE_SAFE_OPEN_H

#include <sys/types.h>

#define NOT_OURS "it must not be another user's file or link, nor have a second name"

/* As open(2), for what is ours or root's: a descriptor, or a negative errno. -EPERM: NOT_OURS. A
 * link is followed if it is ours or root's, and flags has no O_NOFOLLOW; where it leads is up to
 * its owner. */
int open_ours (const char *path, int flags, mode_t mode);

#endif
