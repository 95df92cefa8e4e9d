/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The fuse bridge, mount/fuse: takes the kernel's requests down the graph, and the answers back.
 *
 * The bridge is the translator on top of the graph, though no volfile names it: each request is a
 * call_stack whose first frame is the bridge's.
 */
#ifndef WINDLASS_FUSE_BRIDGE_H
#define WINDLASS_FUSE_BRIDGE_H

#include "graph/graph.h"

/* Returns the version of libfuse that runs. */
const char *bridge_library (void);
/* Returns the features that the program's libfuse lacks, unlike a newer one; NULL: it lacks
 * none. */
const char *bridge_library_lacks (void);

/* Values of the rows in bridge_options (windlass help mount/fuse). */
struct bridge_settings;

extern const struct xlator_option bridge_options[];

struct bridge;

/* Returns whether the mount is going to be read-only, by the options of bridge_new. Of a wrong
 * option bridge_new tells. */
bool bridge_is_read_only (const char *const *options, const char *mount_options);

/* options: pairs "key=value" of bridge_options rows, NULL at the end. mount_options: the options of
 * -o for the kernel (comma separated), or NULL. Returns NULL and a message in *ret_error on
 * failure. */
struct bridge *bridge_new (struct graph *graph, const char *mountpoint, const char *const *options,
                           const char *mount_options, char **ret_error);

/* Returns the bridge as a translator, with its options. */
xlator_t *bridge_xlator (struct bridge *bridge);

/* bridge_hidden_name returns the name of a directory in the root of the mount that leads to another
 * graph, one of graph_of_one, and that no listing shows; NULL: there is none. bridge_hide sets the
 * graph, before the mount; the graph must outlive the bridge. */
const char *bridge_hidden_name (const struct bridge *bridge);
void bridge_hide (struct bridge *bridge, struct graph *graph);

/* Mounts. 0, or a negative errno and a message in *ret_error. */
int bridge_mount (struct bridge *bridge, char **ret_error);

/* Returns why a device, "/dev/fuse", can't be used, and what to do; NULL: it can. g_free it. */
char *bridge_device_cause (const char *device);

/* What the program does for the bridge. Called on any thread; each only tells the main thread. */
struct bridge_hooks {
    void (*gone) (void);       /* the mount is gone, or has to go */
    void (*dump_asked) (void); /* a server asks for a state dump */
};

/* Starts the threads that answer the kernel. hooks stay as long as the bridge. */
int bridge_start (struct bridge *bridge, const struct bridge_hooks *hooks);

/* Waits until the kernel's INIT was answered: from then on the mount works. */
int bridge_wait_ready (struct bridge *bridge);

/* Call this after bridge_wait_ready. Returns 0, or -ENOTSUP and the reason in *ret_error if kernel
 * passthrough is required but not possible. */
int bridge_passthrough_check (struct bridge *bridge, char **ret_error);

/* Appends one or two lines: whether the kernel reads and writes the file by itself, and the reason.
 * inode may be NULL. */
void bridge_explain_passthrough (struct bridge *bridge, inode_t *inode, GString *out);

/* Sets how many operations of each class run at a time: words are "data-limit=8" and the like, NULL
 * at the end; without words nothing changes. Appends the resulting limits to answer. Returns 0; or
 * -EINVAL with the problem in answer, and nothing has changed. */
int bridge_set_limits (struct bridge *bridge, char *const *words, GString *answer);

/* Returns how many files and directories the kernel has open. Any thread. */
unsigned bridge_count_open (struct bridge *bridge);

/* Returns whether the connection is closed, so that the kernel sends no more requests. Any
 * thread. */
bool bridge_connection_is_gone (const struct bridge *bridge);

/* Returns whether requests come through io_uring; false until the kernel has agreed. */
bool bridge_uses_io_uring (const struct bridge *bridge);

/* Calls fn for each open fd, under a lock that opens and releases take: fn must be short. */
void bridge_foreach_open (struct bridge *bridge, void (*fn) (fd_t *fd, void *data), void *data);

/* Moves the mount to another active graph, which has joined the table of the present one
 * (graph_join): requests wait meanwhile, and files stay open. moved is called when the bridge has
 * the new graph, while no request runs. Files that can't be opened there keep using the present
 * graph, which bridge_end_old_graphs frees. One move at a time, on one thread. Returns 0; or a
 * negative errno and a line in answer, and nothing has changed: -EAGAIN, it may be possible later;
 * -ETIMEDOUT, calls in the new graph may be under way, so it can't be freed. */
int bridge_move (struct bridge *bridge, struct graph *fresh, void (*moved) (void *data), void *data,
                 GString *answer);

/* Ends and frees the old graphs, those that the mount has left, if no file uses them. Returns false
 * if one is in use, or has requests of its own under way: call it again later. After bridge_stop it
 * always succeeds; call it before bridge_free. */
bool bridge_end_old_graphs (struct bridge *bridge);

/* Has bridge_stop leave the mount where it is, after everything is written: it ends with its mount
 * namespace, and until then every access fails. */
void bridge_leave_mounted (struct bridge *bridge);

/* Returns what whoever mounts should know although nothing is wrong: that the kernel decides about
 * rights before a system/posix-acl of the graph. g_free it; NULL: nothing. */
char *bridge_notice (const struct bridge *bridge);

/* Unmounts (lazily if the mount is busy), waits for the threads, and frees what the kernel held. */
void bridge_stop (struct bridge *bridge);

/* Returns whether a request was never answered: its memory and thread are still in use, so the
 * graph can't be freed, and bridge_free does nothing. */
bool bridge_is_stuck (const struct bridge *bridge);
/* bridge_is_left returns whether the mount remains because no process could be started for
 * fusermount3 (RLIMIT_NPROC). Then, when all else is done, bridge_become_unmount has to replace
 * this process by fusermount3. */
bool bridge_is_left (const struct bridge *bridge);
void bridge_become_unmount (const char *mountpoint);
void bridge_free (struct bridge *bridge);

/* Splits a list of mount options at commas that no backslash precedes; backslashes stay. g_strfreev
 * it. */
char **bridge_split_options (const char *options);

#endif
