/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Temporary names of new objects in the base, which an apply or a commit makes (apply/make.c). They
 * stand in the store of records before they are made, so that a kill leaves none unknown: the next
 * start, or the next apply, removes those that the store has, and no others. The view shows none of
 * them, neither while an apply runs nor in a read-only mount after a kill.
 */
#ifndef WINDLASS_OVERLAY_TEMPORARIES_H
#define WINDLASS_OVERLAY_TEMPORARIES_H

#include "../overlay.h"

#define TEMPORARY_NAME ".windlass-apply." /* begins the names; 16 hexadecimal digits follow */
#define TEMPORARY_KEY "temporary:" /* begins keys of the store; a path in the base follows */

/* Adds a path in the base to the store, without a sync. */
void overlay_temporary_add (xlator_t *this, const char *path);

/* Whether a name in a directory of a slot, below, is such a name. */
bool overlay_is_temporary (xlator_t *this, unsigned slot, inode_t *directory, const char *name);

/* Removes what the store has, and syncs the directories; then the store forgets it, without a sync.
 * Returns 0; or a negative errno, and in *ret_failed the path that can't be removed, g_free it, or
 * NULL if it is a sync that failed. */
int overlay_temporaries_remove (struct overlay_act *act, char **ret_failed);

#endif
