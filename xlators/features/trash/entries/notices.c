/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What callers who know a directory are told of names that trash makes or removes there. */
#include "../trash.h"

struct notice {
    struct trash_task task;
    inode_t *directory; /* with a reference */
    GPtrArray *names;   /* texts, to be freed */
};

static void
notice_send (xlator_t *this, struct trash_task *task)
{
    struct notice *notice = (struct notice *) task;
    struct invalidation changed = { .inode = notice->directory,
                                    .what = INVALIDATE_NAMES | INVALIDATE_ATTRIBUTES };
    trash_private_t *priv = this->private;
    bool ending = false;

    for (guint i = 0; i < notice->names->len && !ending; i++) {
        pthread_mutex_lock (&priv->lock);
        ending = priv->ending;
        pthread_mutex_unlock (&priv->lock);
        changed.name = notice->names->pdata[i];
        if (!ending)
            xlator_pass_on (this, XLATOR_INVALIDATE, &changed);
    }
    inode_unref (notice->directory);
    g_ptr_array_unref (notice->names);
    g_free (notice);
}

void
trash_notices (xlator_t *this, inode_t *directory, GPtrArray *names)
{
    struct notice *notice = g_new (struct notice, 1);

    *notice = (struct notice){ { notice_send, .background = true }, inode_ref (directory), names };
    trash_line_add (&trash_priv (this)->notices, &notice->task);
}

void
trash_notice (xlator_t *this, inode_t *directory, const char *name)
{
    GPtrArray *names;

    if (inode_is_unkept (directory))
        return;
    names = g_ptr_array_new_with_free_func (g_free);
    g_ptr_array_add (names, g_strdup (name));
    trash_notices (this, directory, names);
}
