/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Roots: the directories of this machine that translators work on, as values of options with .root.
 *
 * A path means a directory only for a while. The mount may be made over that directory, or above
 * it, and from then on the path leads into the mount. The daemon also has fewer rights once it is
 * mounted. So no translator opens such a path. The graph opens it (O_PATH) before the first init,
 * which is before the mount, and each init takes the descriptor:
 *
 *   graph_load                    makes an empty set of roots
 *   graph_activate                opens what the options name; then init calls xlator_root
 *   the mount is made             a path may lead into it from here on
 *   another graph (graph_join)    shares the set: an equal path is the same root, and only a path
 *                                 that is not in the set is opened
 *
 * A root is closed when the last graph that uses it ends. A root that the mount hides stays open as
 * long as there is a graph, since no path leads to it any more.
 *
 * Storage must not enter the mount that it serves, where it would wait for its own answer. A name
 * below a root, or "..", may lead there; root_is_own_mount finds that out without a request.
 */
#ifndef WINDLASS_CORE_EDGE_ROOT_H
#define WINDLASS_CORE_EDGE_ROOT_H

#include "core/edge/translator.h"

#include <sys/types.h>

/* The roots of all graphs of a mount. The main thread alone changes them. */
struct roots;

/* Constant, but for users. The descriptors are lent: a translator never closes them. */
struct root {
    char *path;
    int fd;       /* O_PATH; or -errno: why there is none */
    int quiet_fd; /* the same directory in a mount of its own, in which reading moves no access
                   * time; -1 without CAP_SYS_ADMIN, before Linux 5.12, and for a root that was
                   * opened by a reload: the filter of system calls refuses it then */
    bool covered; /* the mount is over this directory itself */
    bool hidden;  /* the mount is over it, or over a directory above */
    unsigned users;
    struct roots *roots;
};

/* For init: the root that this translator's option names, or NULL if the option is unset. It lives
 * as long as the translator. */
const struct root *xlator_root (const xlator_t *this, const char *key);

/* Returns whether a descriptor (O_PATH is enough) is in the mount that this graph serves. Asks no
 * file system, so that it does not wait for that mount. Any thread. */
bool root_is_own_mount (const struct root *root, int fd);

/* Returns the mount point at which another mount begins below the root and above a path (from the
 * root, with a slash in front) or at it; NULL: the path is in the root's own mount, as far as is
 * known. A rename from there to the rest of the root fails with EXDEV. The kernel's list of mounts
 * is read, and no file system is asked. Any thread; g_free it. */
char *root_mount_inside (const struct root *root, const char *path);

/* Returns whether the graph is mounted, so that root_is_own_mount may return true. Any thread. */
bool root_is_mounted (const struct root *root);

/* Returns whether the graph serves a read-only mount (-o ro): then a translator changes nothing in
 * storage of its own accord. From init on; any thread. */
bool xlator_is_read_only (const xlator_t *this);

/* --- for the graph and the daemon --- */

struct roots *roots_new (void);
struct roots *roots_ref (struct roots *roots);
void roots_unref (struct roots *roots); /* takes NULL */

/* Says where the mount will be, a real path: before the first root is opened. */
void roots_set_mountpoint (struct roots *roots, const char *mountpoint);

/* Says what the mount is, once it is made, and before the first request. */
void roots_set_device (struct roots *roots, dev_t device);

/* Notes that the mount is read-only. Call it before the graph is activated. */
void roots_set_read_only (struct roots *roots);

/* Returns the root of a path, or NULL if there is none. */
struct root *roots_find (const struct roots *roots, const char *path);

/* Returns the root of a path, with one user more. Opens it if there is none; root->fd tells of a
 * failure. */
struct root *roots_use (struct roots *roots, const char *path);
void root_leave (struct root *root);

#endif
