/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state of a daemon as files: .meta in the root of the mount, with GlusterFS's layout.
 *
 * It is a translator below the bridge beside the user's graph, in a graph of its own. Its inodes
 * are in a table of their own, whose numbers have a bit set (INODE_BESIDE), and the bridge winds
 * requests for those numbers to it. So the user's translators never see such a request, their
 * requests cost nothing more, and .meta answers even when all of them are stuck.
 *
 * Reasons:
 *
 * - It is beside the user's graph, not on top as in GlusterFS, where each lookup, stat, open, read
 *   and write goes through it. The bridge is a translator twice, once for each graph. request_begin
 *   takes one of two from an array by the highest bit of the number: no branch, and no other part
 *   of the bridge tests it. A name in the root is compared with .meta, since users' names go there
 *   too.
 * - .meta refuses with EPERM and the like, never ENOSYS: the kernel takes that for the whole
 *   mount's answer and would ask for no locks or attributes of the user's files any more.
 * - Modes say that it is closed, and meta_refused checks it: with no_default_permissions the kernel
 *   checks no mode, and must not cache names or attributes of it.
 * - A link has its size, as the kernel cuts it there. A file has size 0 and direct I/O: its text is
 *   made by the open.
 * - Options are read while a reload may swap them: graph.settings_lock. dumpops are called on any
 *   thread.
 * - `profile` has GlusterFS's words and numbers_sum; `windlass stats` has the log-linear
 *   histograms.
 */
#ifndef WINDLASS_META_META_H
#define WINDLASS_META_META_H

#include "graph/graph.h"

/* The objects it shows; lent until its graph is freed. */
struct meta_of {
    const char *name;         /* of the directory */
    struct graph *graph;      /* the active one */
    xlator_t *bridge;         /* the translator on top of it */
    const char *command_line; /* of the program */
    const char *version;
};

/* Its root contains one directory of that name. Free it with graph_free, when no more requests
 * come, and before the objects in `of`. */
struct graph *meta_new (const struct meta_of *of);

/* The mount has moved to another graph, and no request runs. Files of a translator become those of
 * the one with the same name and type; the others are gone. */
void meta_move (struct graph *meta, struct graph *fresh);

#endif
