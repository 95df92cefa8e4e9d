/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The folder for what a daemon writes about itself while it runs: /run/windlass, or the user's
 * own. */
#ifndef WINDLASS_CORE_BASE_RUNDIR_H
#define WINDLASS_CORE_BASE_RUNDIR_H

#include <glib.h>

/* Its path; g_free it. The folder may not be there yet. */
char *run_dir (void);

/* Writes a file of that name there, 0600, beside an older one, which it then replaces: nobody sees
 * half of it, and when it fails, the older one is still there. 0 and *ret_path (g_free it), or a
 * negative errno: -ENOSPC, -EPERM when the folder could be somebody else's or the name stands for
 * something else than a file, -EINVAL when it is no name. Not on a thread that serves requests,
 * since it may have a caller's ids. */
int run_dir_write (const char *name, const char *bytes, size_t size, char **ret_path);

#endif
