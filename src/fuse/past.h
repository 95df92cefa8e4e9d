/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A mount that moves to another graph: requests are held meanwhile, and files that could not move
 * use the graph before until they are closed. */
#ifndef WINDLASS_FUSE_PAST_H
#define WINDLASS_FUSE_PAST_H

#include "fuse/internal.h"

/* A graph that the mount has left, and the bridge as its top's parent. */
struct past_graph {
    struct past_graph *next; /* in bridge->past */
    xlator_t xlator;
    xlator_list_t child, parent;
    struct graph *graph;
    GHashTable *inodes; /* inode_t to the number of its fds that use it; bridge->fds_lock */
    /* The main thread: it is in bridge->past; it once was; its translators hold nothing back. */
    bool entered, had_files, ending;
};

/* --- hold.c --- */

/* Has libfuse handle a request, when requests aren't held. */
void hold_process (struct reader *reader, struct fuse_buf *buf);
/* hold_begin holds new requests, and waits until no thread handles one; hold_answered until all are
 * answered; hold_idle until, beside that, nothing is held back for later; each until a time of
 * clock_now. hold_end lets requests go on. */
bool hold_begin (struct bridge *bridge, int64_t until);
bool hold_answered (int64_t until);
bool hold_idle (int64_t until);
void hold_end (struct bridge *bridge);

/* --- past.c --- */

/* The bridge as the parent of a graph's top. */
xlator_t *bridge_entrance (struct bridge *bridge, const struct graph *graph);
/* Returns the entrance to the graph before in which the inode is still used, or NULL. */
xlator_t *bridge_stays_slow (struct bridge *bridge, inode_t *inode);
static inline xlator_t *
bridge_stays (struct bridge *bridge, inode_t *inode)
{
    return __atomic_load_n (&bridge->past, __ATOMIC_RELAXED) ? bridge_stays_slow (bridge, inode)
                                                            : NULL;
}
/* The bridge is about to get another graph; inodes are those that stay with the present one, to the
 * number of their fds. No request runs. */
void past_new (struct bridge *bridge, GHashTable *inodes);
/* Counts an open file, if it is in a graph before. */
void past_count_locked (struct bridge *bridge, fd_t *fd, int by);

#endif
