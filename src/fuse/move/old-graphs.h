/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The old graphs of a mount: those that it has left. A file that could not move to the new graph
 * uses its old graph until the file is closed. Then the old graph ends.
 */
#ifndef WINDLASS_FUSE_MOVE_OLD_GRAPHS_H
#define WINDLASS_FUSE_MOVE_OLD_GRAPHS_H

#include "fuse/request.h"

/* An old graph. Its top translator needs a parent that winds requests to it. bridge->xlator is the
 * parent of the present graph's top, so each old graph has a second xlator_t of the bridge. Only
 * the main thread uses the members of type bool. */
struct old_graph {
    struct old_graph *next; /* in bridge->old_used */
    xlator_t xlator;
    xlator_list_t child, parent;
    struct graph *graph;
    GHashTable *inodes; /* inodes that stay with the graph, with the number of their open fds;
                         * guarded by bridge->fds_lock */
    bool used;          /* whether the graph is in bridge->old_used */
    bool had_files;     /* whether a file stayed with the graph when the mount left it */
    bool ending;        /* whether the graph's translators were sent XLATOR_ENDING */
};

/* Returns the xlator_t of the bridge that is the parent of that graph's top translator. */
xlator_t *bridge_entrance (struct bridge *bridge, const struct graph *graph);

/* Returns the xlator_t of the bridge that is the parent of an old graph's top translator: the graph
 * with which the inode stays. Returns NULL if the inode belongs to the present graph. */
xlator_t *old_graph_search (struct bridge *bridge, inode_t *inode);
static inline xlator_t *
old_graph_entrance (struct bridge *bridge, inode_t *inode)
{
    return __atomic_load_n (&bridge->old_used, __ATOMIC_RELAXED) ? old_graph_search (bridge, inode)
                                                                : NULL;
}

/* Makes the bridge's present graph an old one, with the inodes that stay with it and the number of
 * their fds. Called on the main thread while no request runs; the bridge gets another graph
 * next. */
void old_graph_new (struct bridge *bridge, GHashTable *inodes);

/* Adds `by` to the number of the inode's fds, if the fd belongs to an old graph. Under
 * bridge->fds_lock. */
void old_graph_count_locked (struct bridge *bridge, fd_t *fd, int by);

#endif
