/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Steps of a lookup that are not in lookup.c. */
#ifndef WINDLASS_OVERLAY_LOOKUP_H
#define WINDLASS_OVERLAY_LOOKUP_H

#include "../overlay.h"

/* --- join.c --- */

int overlay_look_join (void *data);
bool overlay_look_is_copied (void *data);
void overlay_look_stat_run (void *data);
int overlay_look_stat_judge (void *data);
bool overlay_check_when (void *data);
void overlay_check_run (void *data);
int overlay_check_judge (void *data);
/* Judges an error, a positive errno, about an object that a layer had a moment ago. */
int overlay_look_error (struct overlay_local *local, int error);

/* --- own-mount.c: where a lower has the mount itself --- */

bool overlay_own_mount_when (void *data);
bool overlay_own_mount_unless (void *data);
int overlay_own_mount_judge (void *data);

bool overlay_is_own_mount (xlator_t *this, inode_t *inode);
uint64_t overlay_own_mount_number (xlator_t *this, inode_t *inode); /* st_ino */
/* Returns such a directory that the call is about, or that has the name which it is about; or
 * NULL. overlay_own_mount answers the call. Listings are no such calls. */
inode_t *overlay_own_mount_of (const struct call *call);
void overlay_own_mount (const struct call *call, inode_t *inode);

#endif
