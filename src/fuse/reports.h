/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the bridge tells of itself: xlator_dumpops, and why a mount failed. */
#ifndef WINDLASS_FUSE_REPORTS_H
#define WINDLASS_FUSE_REPORTS_H

#include "core/edge/translator.h"

struct bridge;

/* --- dump.c --- */
void bridge_dump (xlator_t *this, GString *out);
void bridge_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);

/* --- about.c: the path that a running request is about --- */
bool
bridge_path (xlator_t *this, const call_stack_t *root, bool may_wait, char *ret_path, size_t size);

/* --- mount-cause.c --- */

/* After a mount failed with `error`, an errno: returns the known cause and what to do, or NULL.
 * g_free it. */
char *bridge_mount_cause (const struct bridge *bridge, int error);

#endif
