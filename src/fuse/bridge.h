/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The fuse bridge, mount/fuse: the kernel's requests go down the graph, its answers go back.
 *
 * It is the translator on top of the graph, though no volfile names it: each request is a
 * call_stack whose first frame is the bridge's.
 */
#ifndef WINDLASS_FUSE_BRIDGE_H
#define WINDLASS_FUSE_BRIDGE_H

#include "graph/graph.h"

/* Which libfuse this runs with: its version. */
const char *bridge_library (void);

/* Values of the rows in bridge_options (windlass help mount/fuse). */
struct bridge_settings;

extern const struct xlator_option bridge_options[];

struct bridge;

/* options: pairs "key=value" of bridge_options rows, NULL at the end. mount_options: of -o, those
 * that are the kernel's (comma separated), or NULL. NULL after a message on stderr. */
struct bridge *bridge_new (struct graph *graph, const char *mountpoint, const char *const *options,
                           const char *mount_options, char **ret_error);

/* The bridge as a translator, with the options it was given. */
xlator_t *bridge_xlator (struct bridge *bridge);

/* The name of a directory in the root of the mount in which the kernel finds another graph, one of
 * graph_of_one, although no listing shows it; NULL: none is wanted. bridge_hide says which graph,
 * before it is mounted; it lives longer. */
const char *bridge_hidden_name (const struct bridge *bridge);
void bridge_hide (struct bridge *bridge, struct graph *graph);

/* Mounts. 0, or a negative errno and *ret_error says who, what and why. */
int bridge_mount (struct bridge *bridge, char **ret_error);

/* Starts the threads that answer the kernel. done is called, from one of them, when the mount is
 * gone. */
int bridge_start (struct bridge *bridge, void (*done) (void *data), void *data);

/* Waits until the kernel's INIT was answered: since then the mount works. */
int bridge_wait_ready (struct bridge *bridge);

/* After that: 0, or -ENOTSUP and why there is no kernel passthrough although it is required. */
int bridge_passthrough_check (struct bridge *bridge, char **ret_error);

/* A line, or two: does the kernel read and write the file by itself, and who or what decided? inode
 * may be NULL. */
void bridge_explain_passthrough (struct bridge *bridge, inode_t *inode, GString *out);

/* How many operations of each class run at a time: words are "data-limit=8" and the like, NULL at
 * the end; without any nothing changes. Appends how it is then. 0; or -EINVAL, what is wrong, and
 * nothing has changed. */
int bridge_set_limits (struct bridge *bridge, char *const *words, GString *answer);

/* How many files and directories the kernel has open. Any thread. */
unsigned bridge_count_open (struct bridge *bridge);

/* Do requests come through io_uring? No until the kernel has agreed to it. */
bool bridge_uses_io_uring (const struct bridge *bridge);

/* Calls fn for each of them, under a lock that an open and a release take: it must be short. */
void bridge_foreach_open (struct bridge *bridge, void (*fn) (fd_t *fd, void *data), void *data);

/* Unmounts (lazily if it is busy), waits for the threads, and frees what the kernel held. */
void bridge_stop (struct bridge *bridge);

/* Some request was never answered: its memory and thread are still in use, so the graph can't be
 * freed. bridge_free does nothing then. */
bool bridge_is_stuck (const struct bridge *bridge);
/* It is still mounted, since no process could be started for fusermount3 (RLIMIT_NPROC): this one
 * has to become it when all else is done. */
bool bridge_is_left (const struct bridge *bridge);
void bridge_become_unmount (const char *mountpoint);
void bridge_free (struct bridge *bridge);

/* The words of a list of mount options, between commas without a backslash before them; backslashes
 * stay. g_strfreev it. */
char **bridge_split_options (const char *options);

#endif
