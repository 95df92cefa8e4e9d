/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the layers lie: a lower may contain the folder of the changes, and does not show it. It may
 * not be that folder, nor be in a layer of it. */
#include "layers.h"

/* Directories of the first child that a lower must not be: its root, and those on the way to the
 * upper and to the work directory, which are written. Attributes of each are added. */
static int
overlay_add_way (struct overlay_act *act, const char *path, GArray *ways)
{
    g_auto (GStrv) names = g_strsplit (path, "/", -1);
    int r = 0;

    for (guint depth = 0; r == 0 && depth <= g_strv_length (names); depth++) {
        g_autoptr (inode_t) inode = NULL;
        struct iatt buf;

        r = overlay_walk_child (act, OVERLAY_UPPER, names, depth, false, &inode, &buf);
        if (r == 0)
            g_array_append_val (ways, buf);
    }
    return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

/* Whether the root of a lower is somewhere in a directory. */
static bool
overlay_is_inside (const GArray *way, const struct iatt *directory)
{
    for (guint i = 0; i < way->len; i++) {
        const struct root_above *above = &g_array_index (way, struct root_above, i);

        if (above->dev == directory->ia_dev && above->ino == directory->ia_ino)
            return true;
    }
    return false;
}

/* The directories above the root of a lower, as far as its storage tells them. */
static void
overlay_find_way (struct overlay_act *act, unsigned slot, inode_t *root, GArray *way)
{
    loc_t loc = { .inode = root };
    struct getxattr_reply reply;
    size_t size = 0;
    const int r = sync_getxattr (overlay_daemon (act, slot), &loc, XDATA_ROOT_WAY, NULL, &reply);
    const void *value = r >= 0 ? dict_get (reply.dict, XDATA_ROOT_WAY, &size) : NULL;

    if (value)
        g_array_append_vals (way, value, (guint) (size / sizeof (struct root_above)));
    getxattr_reply_drop (&reply);
    loc_wipe_path (&loc);
}

/* A lower inside the upper, a frozen layer or the work directory. Beside them it may be. */
static int
overlay_probe_inside (struct overlay_act *act, unsigned slot, inode_t *root)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    g_autoptr (GArray) way = g_array_new (FALSE, FALSE, sizeof (struct root_above));

    overlay_find_way (act, slot, root, way);
    for (unsigned i = 0; i <= priv->frozen + 1; i++) {
        const char *path = i <= priv->frozen ? priv->layers[i].path : priv->work_directory;
        g_autoptr (inode_t) inode = NULL;
        struct iatt buf;

        if (overlay_find (act, OVERLAY_UPPER, path, false, &inode, &buf) < 0
            || !overlay_is_inside (way, &buf))
            continue;
        gf_log (act->this, GF_LOG_ERROR, "volume '%s' is inside the directory '%s' of '%s', which "
                "takes the changes: a subvolume that is only read must lie elsewhere",
                priv->layers[slot].xlator->name, path, priv->layers[OVERLAY_UPPER].xlator->name);
        return -EINVAL;
    }
    return 0;
}

/* A lower that can't be reached yet is not compared. */
static int
overlay_probe_lower (struct overlay_act *act, unsigned slot, GArray *ways)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    g_autoptr (inode_t) root = NULL;
    struct iatt buf;

    if (overlay_root_of (act, slot, &root, &buf) < 0)
        return 0;
    for (guint i = 0; i < ways->len; i++) {
        const struct iatt *way = &g_array_index (ways, struct iatt, i);

        if (buf.ia_dev != way->ia_dev || buf.ia_ino != way->ia_ino)
            continue;
        gf_log (act->this, GF_LOG_ERROR,
                "volume '%s' is %s '%s', which takes the changes: give the changes a folder of "
                "their own", priv->layers[slot].xlator->name,
                i == 0 ? "the directory of" : "a directory in",
                priv->layers[OVERLAY_UPPER].xlator->name);
        return -EINVAL;
    }
    return overlay_probe_inside (act, slot, root);
}

/* A lower may contain the folder of changes, and is not to show it. */
static void
overlay_find_place (struct overlay_act *act)
{
    loc_t loc = { .inode = itable_root (FIRST_CHILD (act->this)->realm->itable) };
    struct root_place *place = &overlay_priv (act->this)->place;
    struct getxattr_reply reply;
    size_t size = 0;
    const int r = sync_getxattr (overlay_daemon (act, OVERLAY_UPPER), &loc, XDATA_ROOT_PLACE, NULL,
                                 &reply);
    const void *value = r >= 0 ? dict_get (reply.dict, XDATA_ROOT_PLACE, &size) : NULL;

    *place = (struct root_place){ 0 };
    if (value && size > offsetof (struct root_place, name))
        memcpy (place, value, MIN (size, sizeof *place));
    place->name[sizeof place->name - 1] = '\0';
    getxattr_reply_drop (&reply);
    loc_wipe_path (&loc);
}

int
overlay_probe_lowers (struct overlay_act *act)
{
    overlay_private_t *priv = overlay_priv (act->this);
    g_autoptr (GArray) ways = g_array_new (FALSE, FALSE, sizeof (struct iatt));
    int r = overlay_add_way (act, priv->upper, ways);

    if (r == 0)
        r = overlay_add_way (act, priv->layers[OVERLAY_UPPER].path, ways);
    if (r == 0)
        r = overlay_add_way (act, priv->work_directory, ways);
    if (ways->len > 0) {
        priv->folder_dev = g_array_index (ways, struct iatt, 0).ia_dev;
        priv->folder_ino = g_array_index (ways, struct iatt, 0).ia_ino;
    }
    overlay_find_place (act);
    for (unsigned slot = priv->frozen + 1; r == 0 && slot < priv->n; slot++)
        r = overlay_probe_lower (act, slot, ways);
    return r;
}
