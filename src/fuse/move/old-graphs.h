/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The old graphs of a mount: the graphs that it has left for a new one (bridge_move). A file that
 * was open and could not move to the new graph uses its old graph until it is closed. An old graph
 * ends when no open file uses it any more.
 */
#ifndef WINDLASS_FUSE_MOVE_OLD_GRAPHS_H
#define WINDLASS_FUSE_MOVE_OLD_GRAPHS_H

#include "fuse/request.h"

/* An old graph. The top translator of a graph needs a parent, from which requests are wound to it.
 * bridge->xlator is the parent of the present graph's top. So each old graph has an xlator_t of its
 * own, which stands for the bridge. Only the main thread uses the members of type bool. */
struct old_graph {
    struct old_graph *next; /* next element of the list bridge->old_used */
    xlator_t xlator;        /* parent of the graph's top translator: stands for the bridge */
    xlator_list_t child, parent; /* the lists xlator.children and graph->top->parents, of one
                                  * element each */
    struct graph *graph;
    GHashTable *inodes; /* inode whose open files stay with the graph -> number of its open fds;
                         * guarded by bridge->fds_lock */
    GHashTable *waiting; /* set of inodes, with references, that stay with the graph, open or not,
                          * as requests about them waited in it at the move. It is emptied when no
                          * request and no job is under way in the graph any more; guarded by
                          * bridge->fds_lock */
    bool used;          /* whether the graph is in the list bridge->old_used */
    bool had_files;     /* whether an inode stayed with the graph when the mount left it */
    bool ending;        /* whether XLATOR_ENDING was sent to the graph's translators */
};

/* Returns the xlator_t that stands for the bridge and is the parent of the graph's top translator.
 * Requests to the graph are wound from it. graph: the present, the hidden or an old graph. */
xlator_t *bridge_entrance (struct bridge *bridge, const struct graph *graph);

/* old_graph_search and old_graph_entrance return the xlator_t from which requests for the inode are
 * wound, if the open files of the inode stay with an old graph: the parent of that graph's top
 * translator. Otherwise they return NULL. old_graph_entrance takes no lock if no old graph is in
 * bridge->old_used. */
xlator_t *old_graph_search (struct bridge *bridge, inode_t *inode);
static inline xlator_t *
old_graph_entrance (struct bridge *bridge, inode_t *inode)
{
    return __atomic_load_n (&bridge->old_used, __ATOMIC_RELAXED) ? old_graph_search (bridge, inode)
                                                                : NULL;
}

/* Makes the bridge's present graph an old graph. inodes: each inode whose open files stay with that
 * graph -> the number of its open fds. The old graph takes a reference to the table. waiting: set
 * of the inodes about which requests wait, in this graph or in older ones: an inode that is with an
 * older graph stays there. Called on the main thread, while the kernel's requests are held and all
 * are answered but those that wait. The caller gives the bridge its new graph next. Returns the
 * number of inodes that stay with the old graph, open or not. */
unsigned old_graph_new (struct bridge *bridge, GHashTable *inodes, GHashTable *waiting);

/* If the fd belongs to an old graph, adds `by` to the number of open fds that the graph has for the
 * fd's inode. The caller holds bridge->fds_lock. */
void old_graph_count_locked (struct bridge *bridge, fd_t *fd, int by);

#endif
