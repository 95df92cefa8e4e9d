/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whiteouts as names, of fuse-overlayfs: wh.c. */
#ifndef WINDLASS_OVERLAY_WH_H
#define WINDLASS_OVERLAY_WH_H

#include "../overlay.h"

#define OVERLAY_WH ".wh."
#define OVERLAY_WH_OPAQUE ".wh..wh..opq"

/* Reads the option: whether a child is named by it. */
bool overlay_wh_is_of (const xlator_t *this, const xlator_t *child);
/* Refuses an option that names no child, or a wrong one. Returns 0 or -EINVAL. */
int overlay_wh_check (xlator_t *this);

/* Such a name is no name of the view. */
static inline bool
overlay_wh_is_name (const struct overlay_layer *layer, const char *name)
{
    return layer->wh && strncmp (name, OVERLAY_WH, sizeof OVERLAY_WH - 1) == 0;
}

/* For a step of a lookup: asks a layer's directory, below, for the file of look->wh. */
void overlay_wh_wind (struct overlay_local *local, inode_t *directory);

/* wh-names.c */
char *overlay_wh_name (const char *name); /* of the whiteout of a name; g_free it */
/* Whether a directory of a layer, below, hides a name of the layers below it; or, for name NULL,
 * all names. Returns 1 or 0, or a negative errno. */
int overlay_wh_hides (struct client *client, bool wh, inode_t *directory, const char *name);

#endif
