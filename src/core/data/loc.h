/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where an operation takes place: an inode, or a name in a directory and what is known of it. */
#ifndef WINDLASS_CORE_DATA_LOC_H
#define WINDLASS_CORE_DATA_LOC_H

#include "core/data/inode.h"

struct loc {
    const char *name; /* in parent, or NULL: inode alone is meant */
    inode_t *inode;   /* what it is, or is to become; NULL where that isn't known */
    inode_t *parent;  /* the directory, or NULL */
    char *path;       /* of loc_path, or NULL until somebody asks */
};

/* The path from the root of the mount. Belongs to the loc. */
const char *loc_path (loc_t *loc);

/* The gfid of the inode or, where it has none yet, the null one. */
const gfid_t *loc_gfid (const loc_t *loc);

/* A copy with references of its own; loc_wipe gives them back. A loc on the stack that only
 * borrows gives back its path alone: loc_wipe_path. */
void loc_copy (loc_t *ret_loc, const loc_t *loc);
void loc_wipe (loc_t *loc);
void loc_wipe_path (loc_t *loc);

#endif
