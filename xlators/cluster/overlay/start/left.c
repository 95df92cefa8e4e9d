/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an apply or a commit has left in the base, the last layer, when it was killed. */
#include "layers.h"
#include "../formats/moves.h"
#include "../formats/temporaries.h"

/* Directories that a commit was moving when it was killed. */
static int
left_moves (struct overlay_act *act)
{
    const int r = overlay_moves_finish (act);

    if (r < 0 && r != overlay_priv (act->this)->start_error)
        gf_log (act->this, GF_LOG_ERROR, "directories that a commit was moving in the last "
                "subvolume can't be moved: %s", g_strerror (-r));
    return r;
}

/* Names that an apply or a commit has left in the base when it was killed. Where they can't be
 * removed they stay noted, and the view does not show them. */
static void
left_temporaries (struct overlay_act *act)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    g_autofree char *path = NULL;
    const int r = overlay_temporaries_remove (act, &path);

    if (r < 0)
        gf_log (act->this, GF_LOG_WARNING, "'%s' of volume '%s', which an apply has left when it "
                "was interrupted, can't be removed: %s; the view does not show it, and the next "
                "apply or mount tries again", path ? path : "/",
                priv->layers[priv->n - 1].xlator->name, g_strerror (-r));
}

int
overlay_left_finish (struct overlay_act *act)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    int r;

    if (xlator_is_read_only (act->this))
        return overlay_left_check (act);
    if (!priv->cleans || !priv->records)
        return 0;
    r = left_moves (act);
    if (r == 0)
        left_temporaries (act);
    return r;
}

/* --- a read-only mount ------------------------------------------------------------------------ */

int
overlay_left_check (struct overlay_act *act)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    const char *base = priv->layers[priv->n - 1].xlator->name;
    g_autofree char *path = NULL;
    int r = priv->records ? overlay_moves_check (act, &path) : 0;

    if (path)
        r = -EROFS;
    if (r == priv->start_error)
        return r;
    if (path)
        gf_log (act->this, GF_LOG_ERROR, "a commit was interrupted when it moved the directory "
                "'%s' of volume '%s'; a read-only mount would not show that directory, and can't "
                "finish the move: mount the view once without '-o ro', and then read-only again",
                path, base);
    else if (r < 0 && r != -ENOTCONN)
        gf_log (act->this, GF_LOG_ERROR, "directories of volume '%s' that an interrupted commit "
                "was moving can't be looked up: %s", base, g_strerror (-r));
    return r;
}
