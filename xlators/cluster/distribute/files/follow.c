/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A step of operations on an open file that a rebalance moves: the step opens each of the file's
 * fds on the file's new subvolume, too. */
#include "../distribute.h"

#include <fcntl.h>

void
following_clear (struct op *op)
{
    struct following *following = &op->following;

    g_clear_pointer (&following->fds, g_ptr_array_unref);
    g_clear_pointer (&following->inode, inode_unref);
}

static void
follow_choose (struct op *op, fd_t *fd)
{
    GPtrArray *fds = op->following.fds;

    if (fd && !g_ptr_array_find (fds, fd, NULL))
        g_ptr_array_add (fds, fd_ref (fd));
    for (guint i = fds->len; i > 0; i--)
        if (fd_is_open_on (op->this, fds->pdata[i - 1], (int) op->following.child))
            g_ptr_array_remove_index_fast (fds, i - 1);
}

static void
follow_wind (struct op *op, unsigned slot, fd_t *fd)
{
    struct following *following = &op->following;
    loc_t loc = { .inode = following->inode };

    AS_SELF_AT (op, slot, op->priv->children[following->child], open, &loc,
                fd->flags & ~(uint32_t) (O_CREAT | O_EXCL | O_TRUNC), fd, NULL);
    loc_wipe_path (&loc);
}

void
follow_run (struct op *op, inode_t *inode, fd_t *fd, unsigned child)
{
    struct following *following = &op->following;

    if (!following->fds) {
        *following = (struct following){ .inode = inode_ref (inode),
                                         .fds = inode_fds (op->this, inode),
                                         .child = child };
        op->op_errno = 0;
        follow_choose (op, fd);
    }
    following->asked = MIN (following->fds->len - following->begun, op->seq.fan.n);
    for (unsigned i = 0; i < following->asked; i++)
        follow_wind (op, i, following->fds->pdata[following->begun + i]);
}

static void
follow_note (struct op *op, fd_t *fd, const struct fan_answer *answer)
{
    const struct following *following = &op->following;

    if (answer->op_ret >= 0) {
        fd_set_open_on (op->this, fd, (int) following->child);
        return;
    }
    op->op_errno = answer->op_errno;
    gf_log (op->this, is_missing (answer->op_errno) ? GF_LOG_DEBUG : GF_LOG_WARNING,
            "gfid %s, which a rebalance moves, can't be opened on %s: %s",
            GFID_OF (following->inode), op->priv->children[following->child]->name,
            g_strerror (answer->op_errno));
}

int
follow_judge (void *local)
{
    struct op *op = local;
    struct following *following = &op->following;

    for (unsigned i = 0; i < following->asked; i++)
        follow_note (op, following->fds->pdata[following->begun + i], &op->seq.fan.answers[i]);
    following->begun += following->asked;
    if (following->begun < following->fds->len)
        return STEP_REPEAT;
    following_clear (op);
    return 0;
}
