/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that a rebalance moves, or has moved, while they are in use. */
#include "distribute.h"

#include <fcntl.h>
#include <string.h>

#define MARKS (S_ISVTX | S_ISGID)

bool
iatt_is_moving (const struct iatt *buf)
{
    return buf->ia_type == IA_IFREG && (buf->ia_prot & MARKS) == MARKS;
}

void
marks_strip (struct iatt *buf)
{
    if (iatt_is_moving (buf))
        buf->ia_prot &= ~(uint32_t) MARKS;
}

/* --- asking another subvolume ----------------------------------------------------------------- */

static void
file_resume (struct file_op *file)
{
    struct op *op = &file->op;
    struct call_stub *call = g_steal_pointer (&file->call);

    file->chosen = true;
    if (op->own) {
        stack_done (op->own->root);
        op->own = NULL;
        fan_clear (&op->own_fan);
    }
    call_resume (call);
}

/* The operation ends with the answer that it had. */
static void
file_keep_answer (struct op *op)
{
    struct file_op *file = (struct file_op *) op;
    struct answer_stub *answer = g_steal_pointer (&file->answer);

    if (file->call)
        call_stub_destroy (g_steal_pointer (&file->call));
    if (answer)
        answer_resume (answer);
    else
        frame_fail (op->frame, op->op_errno);
}

static void
file_opened (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);
    struct op *op = &file->op;
    const struct fan_answer *answer = &op->own_fan.answers[file->child];

    if (answer->op_ret < 0) {
        gf_log (op->this, GF_LOG_WARNING, "gfid %s, which a rebalance moves, can't be opened on %s: "
                "%s", GFID_OF (file->inode), op->priv->children[file->child]->name,
                g_strerror (answer->op_errno));
        op->op_errno = answer->op_errno;
        op_end (op, file_keep_answer);
        return;
    }
    fd_set_open_on (op->this, file->fd, file->child);
    if (!file->both && file->answer)
        answer_stub_destroy (g_steal_pointer (&file->answer));
    file_resume (file);
}

void
file_go (struct file_op *file, int child)
{
    struct op *op = &file->op;
    loc_t loc = { .inode = file->inode };

    file->child = child;
    if (file->fd && !fd_is_open_on (op->this, file->fd, child)) {
        OWN_ONE (op, file_opened, (unsigned) child, open, &loc,
                 file->fd->flags & ~(uint32_t) (O_CREAT | O_EXCL | O_TRUNC), file->fd, NULL);
        loc_wipe_path (&loc);
        return;
    }
    if (!file->both && file->answer)
        answer_stub_destroy (g_steal_pointer (&file->answer));
    file_resume (file);
}

/* --- a file that has moved -------------------------------------------------------------------- */

static void
file_found (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);
    struct op *op = &file->op;
    const struct lookup_reply *reply = &op->own_fan.answers[SELF (op)].lookup;
    const int cached = inode_cached (op->this, file->inode);

    inode_set_target (op->this, file->inode, NO_CHILD);
    if (reply->op_ret < 0 || cached == NO_CHILD || cached == file->child)
        op_end (op, file_keep_answer);
    else
        file_go (file, cached);
}

void
file_find (struct file_op *file, int op_errno)
{
    struct op *op = &file->op;
    loc_t loc = { .inode = file->inode };

    op->tries++;
    op->op_errno = op_errno ? op_errno : EIO;
    own_lookup (op, &loc, file_found);
    loc_wipe_path (&loc);
}

/* --- a file that is being copied -------------------------------------------------------------- */

static int
child_of_name (const dht_private_t *priv, const char *name, size_t size)
{
    for (unsigned i = 0; name && i < priv->n; i++)
        if (strnlen (name, size) == strlen (priv->children[i]->name)
            && strncmp (priv->children[i]->name, name, size) == 0)
            return (int) i;
    return NO_CHILD;
}

/* The file tells where to. Without that, it has the marks of another's making. */
static void
file_target_told (call_frame_t *own)
{
    struct file_op *file = OP_OF (own);
    struct op *op = &file->op;
    const struct getxattr_reply *reply = &op->own_fan.answers[file->child].getxattr;
    size_t size = 0;
    const char *name = reply->op_ret < 0 ? NULL
                                         : dict_get (reply->dict, op->priv->linkto_key, &size);
    const int target = child_of_name (op->priv, name, size);

    inode_set_target (op->this, file->inode, target);
    if (target == NO_CHILD || target == file->child) {
        op_end (op, file_keep_answer);
        return;
    }
    file->both = true;
    file_go (file, target);
}

void
file_do_both (struct file_op *file)
{
    struct op *op = &file->op;
    loc_t loc = { .inode = file->inode };

    OWN_ONE (op, file_target_told, (unsigned) file->child, getxattr, &loc, op->priv->linkto_key,
             NULL);
    loc_wipe_path (&loc);
}
