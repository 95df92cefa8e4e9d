/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The folder for files that a daemon writes about itself while it runs: /run/windlass, or the
 * user's own. */
#ifndef WINDLASS_CORE_BASE_RUNDIR_H
#define WINDLASS_CORE_BASE_RUNDIR_H

#include <glib.h>

/* Returns the path; g_free it. The folder may not exist yet. */
char *run_dir (void);

/* Writes a file to the folder, with mode 0600. The new file replaces an older one only when it is
 * complete: no reader sees half of it, and after a failure the older file is unchanged. Returns 0
 * and *ret_path (g_free it), or a negative errno: -ENOSPC; -EPERM if the folder may belong to
 * another user or the name is not that of a file; -EINVAL for an invalid name. Must not be called
 * on a thread that serves requests, since that may have a caller's ids. */
int run_dir_write (const char *name, const char *bytes, size_t size, char **ret_path);

#endif
