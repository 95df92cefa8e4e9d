/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whiteouts of fuse-overlayfs where it may not make devices, as an ordinary user. They are names:
 *
 *   .wh.NAME         hides NAME of the layers below
 *   .wh..wh..opq     hides all names of the layers below in this directory
 *
 * They are read in those lowers that option wh-volumes names. Elsewhere such names are ordinary
 * ones: programs may have made them, also in our own upper, and in the directory that the changes
 * are applied to.
 */
#include "wh.h"

static char **
wh_names (const xlator_t *this)
{
    const char *names = overlay_priv (this)->wh_volumes;

    return g_strsplit (names ? names : "", ",", -1);
}

bool
overlay_wh_is_of (const xlator_t *this, const xlator_t *child)
{
    g_auto (GStrv) names = wh_names (this);

    return g_strv_contains ((const char *const *) names, child->name);
}

static int
wh_check_one (xlator_t *this, const char *name)
{
    const xlator_list_t *child = this->children;

    for (child = child->next; child && child->next; child = child->next)
        if (strcmp (child->xlator->name, name) == 0)
            return 0;
    option_refuse (this, "wh-volumes", "must name subvolumes between the first and the last one, "
                   "got '%s': the first gets the changes, and under the last is nothing to hide",
                   name);
    return -EINVAL;
}

int
overlay_wh_check (xlator_t *this)
{
    g_auto (GStrv) names = wh_names (this);
    int r = 0;

    for (char **name = names; r == 0 && *name; name++)
        r = wh_check_one (this, *name);
    return r;
}

void
overlay_wh_wind (struct overlay_local *local, inode_t *directory)
{
    const struct overlay_look *look = &local->look;
    xlator_t *layer = overlay_priv (local->sequence.frame->this)->layers[local->slot].xlator;
    g_autofree char *name = look->wh == WH_OF_DIRECTORY ? g_strdup (OVERLAY_WH_OPAQUE)
                                                        : overlay_wh_name (look->names[look->at]);
    g_autoptr (inode_t) fresh = inode_new (layer->realm->itable);
    loc_t loc = { .name = name, .parent = directory, .inode = fresh };

    STEP_WIND (&local->sequence, local->sequence.own, 0, layer, lookup, &loc, NULL);
    loc_wipe_path (&loc);
}
