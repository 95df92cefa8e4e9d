/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of whiteouts of fuse-overlayfs (wh.c), in any directory: for a diff, too. */
#include "wh.h"

char *
overlay_wh_name (const char *name)
{
    return g_strconcat (OVERLAY_WH, name, NULL);
}

int
overlay_wh_hides (struct client *client, bool wh, inode_t *directory, const char *name)
{
    g_autofree char *whiteout = name ? overlay_wh_name (name) : g_strdup (OVERLAY_WH_OPAQUE);
    g_autoptr (inode_t) inode = NULL;
    struct iatt buf;
    int r;

    if (!wh || !directory || strlen (whiteout) > NAME_MAX)
        return 0;
    r = sync_name_look (client, directory, whiteout, &inode, &buf);
    if (r == -ENOENT || r == -ENOTDIR)
        return 0;
    return r < 0 ? r : 1;
}
