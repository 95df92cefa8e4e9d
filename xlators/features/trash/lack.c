/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* no-trash: removals where no trash can be made, since the daemon may not write in the root of the
 * mount, such as that of a user over somebody else's directory. */
#include "trash.h"

#include <errno.h>
#include <unistd.h>

static bool
lack_lasts (int error)
{
    return error == EACCES || error == EPERM || error == EROFS;
}

bool
trash_refuses (xlator_t *this, int error, const char *name)
{
    trash_private_t *priv = this->private;

    if (!lack_lasts (error)
        || __atomic_load_n (&priv->no_trash, __ATOMIC_RELAXED) != TRASH_LACK_REFUSE)
        return false;
    if (__atomic_fetch_add (&priv->refused, 1, __ATOMIC_RELAXED) == 0)
        gf_log (this, GF_LOG_WARNING,
                "'%s' is not removed, since no trash can be made: %s; with 'option no-trash "
                "remove' it would be removed for good; further removals are counted (windlass "
                "explain)",
                name, g_strerror (error));
    return true;
}

/* A task of maker. */
static void
lack_tell (xlator_t *this, struct trash_task *task)
{
    trash_private_t *priv = this->private;
    loc_t root = { .inode = priv->root };
    const int r = error_or_0 (sync_access (priv->maker.client, &root, W_OK | X_OK, NULL, NULL));

    g_free (task);
    loc_wipe_path (&root);
    __atomic_store_n (&priv->lacks, lack_lasts (-r) ? -r : 0, __ATOMIC_RELAXED);
    if (!lack_lasts (-r))
        return;
    gf_log (this, GF_LOG_WARNING,
            "user %u may not make a trash in the root of the mount: %s; what would go there is %s "
            "(no-trash)",
            geteuid (), g_strerror (-r),
            __atomic_load_n (&priv->no_trash, __ATOMIC_RELAXED) == TRASH_LACK_REFUSE
                ? "not removed, and removals fail" : "removed for good");
}

void
trash_lack_begin (xlator_t *this)
{
    trash_private_t *priv = this->private;
    struct trash_task *task;

    if (priv->layout == TRASH_GLUSTER || !__atomic_load_n (&priv->on, __ATOMIC_RELAXED))
        return;
    task = g_new (struct trash_task, 1);
    *task = (struct trash_task){ lack_tell, .background = true };
    trash_line_add (&priv->maker, task);
}
