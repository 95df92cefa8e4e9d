/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What goes on in a daemon, as files: .meta in the root of the mount, laid out as GlusterFS has it.
 *
 * It is a translator that stands below the bridge beside the user's graph, as a graph of its own: its inodes are in a table of their
 * own, whose numbers have a bit set (INODE_REALM), and the bridge winds what is about those to it. So the user's translators never see
 * such a request, theirs cost nothing more, and .meta answers also while all of theirs are stuck.
 */
#ifndef WINDLASS_META_META_H
#define WINDLASS_META_META_H

#include "graph/graph.h"

/* What it shows; lent until its graph is freed. */
struct meta_of {
    const char *name;         /* of the directory */
    struct graph *graph;      /* active */
    xlator_t *bridge;         /* what stands on it */
    const char *command_line; /* of the program */
    const char *version;
};

/* Below its root is one directory of that name. Free it with graph_free, before what it shows, when no requests come any more. */
struct graph *meta_new (const struct meta_of *of);

#endif
