/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Callers that were killed while they waited in the kernel for the lock of a directory or file.
 * They get the lock one after the other: each sends its request when the one before has been
 * answered. Over the device the kernel takes such a request back. Over another transport it does
 * not: so once the caller of a request was found dying, callers of requests about the same inode
 * are looked at as their requests come, and requests of dying callers are refused before they
 * begin.
 */
#ifndef WINDLASS_FUSE_THREADS_DYING_H
#define WINDLASS_FUSE_THREADS_DYING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bridge;

struct dying_callers {
    bool noted;          /* whether the transport needs this; set once; atomic */
    int64_t until;       /* until this clock_now, callers are looked at; atomic */
    uint64_t inodes[64]; /* for each hash, the last inode whose caller was dying; atomic */
};

/* Records that the caller of a request about that inode was found dying. */
void dying_note (struct bridge *bridge, uint64_t about);
/* Returns whether the caller of a request about that inode is dying, as another one was shortly
 * before. Worth a call once bridge->dying.until is set. */
bool dying_is_next (struct bridge *bridge, uint64_t about, pid_t pid);

#endif
