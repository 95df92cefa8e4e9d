/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/data/loc.h"

const char *
loc_path (loc_t *loc)
{
    if (!loc->path) {
        if (loc->name && loc->parent)
            loc->path = inode_path (loc->parent, loc->name);
        else if (loc->inode)
            loc->path = inode_path (loc->inode, NULL);
        else
            loc->path = g_strdup (loc->name ? loc->name : "?");
    }
    return loc->path;
}

const gfid_t *
loc_gfid (const loc_t *loc)
{
    static const gfid_t null;

    return loc->inode ? &loc->inode->gfid : &null;
}

void
loc_copy (loc_t *ret_loc, const loc_t *loc)
{
    *ret_loc = (loc_t){
        .name = g_strdup (loc->name),
        .inode = inode_ref (loc->inode),
        .parent = inode_ref (loc->parent),
        .path = g_strdup (loc->path),
    };
}

void
loc_wipe (loc_t *loc)
{
    g_free ((char *) loc->name);
    inode_unref (loc->inode);
    inode_unref (loc->parent);
    g_free (loc->path);
    *loc = (loc_t){ 0 };
}

void
loc_wipe_path (loc_t *loc)
{
    g_clear_pointer (&loc->path, g_free);
}
