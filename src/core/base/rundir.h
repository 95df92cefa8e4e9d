/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The folder for files that a daemon writes about itself while it runs, and for its control socket.
 *
 *   root       /run/windlass
 *   a user     $XDG_RUNTIME_DIR/windlass, /run/user/UID/windlass
 *   both       /tmp/windlass-UID, /tmp/windlass-UID.XXXXXX
 *
 * A daemon takes the first that it can make, or that is its user's own and closed to all others.
 * The variable may be another user's (su keeps it), and anybody may have made /tmp/windlass-UID
 * first. So the last name is a new one: nobody can make it before, and whoever looks for it, such
 * as root, finds it by its owner.
 */
#ifndef WINDLASS_CORE_BASE_RUNDIR_H
#define WINDLASS_CORE_BASE_RUNDIR_H

#include <glib.h>
#include <sys/types.h>

/* Returns the folders that a daemon of a user may have taken, the likeliest first; not all exist.
 * Asks no file system that another user could have mounted on one of them. Freed with
 * g_strfreev. */
char **run_dirs (uid_t user);

/* Opens one of run_dirs of any user for names in it alone (O_PATH), so that no link and no change
 * of the name leads elsewhere. Returns a descriptor, or a negative errno: -ENOENT if it is no
 * folder of that user alone. May never return for another user, who may have mounted a file system
 * there that never answers. */
int run_dir_look (const char *dir, uid_t user);

/* Opens one of run_dirs of this process, made on demand. Refuses a folder that is not for this user
 * alone. Returns a descriptor, or a negative errno and *ret_error (g_free it; NULL before). */
int run_dir_open (const char *dir, char **ret_error);

/* Makes the last resort. Returns its path (g_free it), or NULL and *ret_error. */
char *run_dir_make (char **ret_error);

/* Opens the folder of this process, made on demand. Returns a descriptor and *ret_dir (g_free it);
 * or a negative errno and *ret_error (g_free it; NULL before). */
int run_dir_take (char **ret_dir, char **ret_error);

/* Returns the path that run_dir_take would take, without making a folder; g_free it. */
char *run_dir (void);

/* Writes a file to the folder, with mode 0600. The new file replaces an older one only when it is
 * complete: no reader sees half of it, and after a failure the older file is unchanged. Returns 0
 * and *ret_path (g_free it), or a negative errno: -ENOSPC; -EPERM if the folder may belong to
 * another user or the name is not that of a file; -EINVAL for an invalid name. Must not be called
 * on a thread that serves requests, since that may have a caller's ids. */
int run_dir_write (const char *name, const char *bytes, size_t size, char **ret_path);

/* Returns the folder for what outlives a daemon of this user, such as logs and kept views:
 * $XDG_STATE_HOME/windlass, or ~/.local/state/windlass if that variable has a relative path, which
 * the XDG specification wants ignored. g_free it. */
char *state_dir (void);

#endif
