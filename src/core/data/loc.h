/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The place of an operation: an inode, or a name in a directory with the inode if it is known. */
#ifndef WINDLASS_CORE_DATA_LOC_H
#define WINDLASS_CORE_DATA_LOC_H

#include "core/data/inode.h"

struct loc {
    const char *name; /* name in parent, or NULL if the operation is about inode alone */
    inode_t *inode;   /* the existing inode, or the one to create; NULL if unknown */
    inode_t *parent;  /* the directory, or NULL */
    char *path;       /* filled in by loc_path; NULL before */
};

/* Returns the path from the root of the mount. The loc owns it. */
const char *loc_path (loc_t *loc);

/* Returns the gfid of the inode; the null gfid if it has none yet. */
const gfid_t *loc_gfid (const loc_t *loc);

/* loc_copy copies a loc and takes references; loc_wipe drops them. A loc on the stack that only
 * borrows its members frees just the path: loc_wipe_path. */
void loc_copy (loc_t *ret_loc, const loc_t *loc);
void loc_wipe (loc_t *loc);
void loc_wipe_path (loc_t *loc);

#endif
