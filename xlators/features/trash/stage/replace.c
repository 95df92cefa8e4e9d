/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rename. With `keep overwritten` a file that it replaces gets a further name, in the stage of the
 * directory, before the caller's own rename, which stays atomic. If that fails, the further name
 * goes. After a crash in between the file has two names, and the one in the stage goes.
 */
#include "../gluster/gluster.h"

#include <errno.h>

struct replacement {
    inode_t *victim;           /* with a reference */
    char *name;                /* in the stage */
    struct trash_stage *stage; /* entered, or NULL: nothing was kept */
    bool failed;               /* the rename has */
    struct rename_reply reply; /* while it waits for replacement_judge */
};

struct replacement_task {
    struct trash_task task;
    call_frame_t *frame;
};

static rename_cbk trash_rename_cbk;

/* --- before ----------------------------------------------------------------------------------- */

/* A task of maker. Another stage is made if the first has the name already, or is gone. Returns a
 * negative errno if the rename is refused. */
static int
replacement_link (xlator_t *this, struct replacement *replacement, inode_t *directory,
                  const struct trash_who *who)
{
    struct client *client = trash_priv (this)->maker.client;
    int r = -EEXIST;

    for (int try = 0; trash_stage_is_used_up (r) && try < 2; try++) {
        struct trash_stage *stage = trash_folder_enter (this, directory, who, try > 0, NULL, &r);

        if (!stage)
            break;
        r = trash_stage_reserve (this, stage, replacement->name)
                ? sync_name_link (client, replacement->victim, stage->folder, replacement->name)
                : -EEXIST;
        if (r == 0)
            replacement->stage = stage;
        else
            trash_stage_leave (this, stage, false);
    }
    if (r < 0 && trash_refuses (this, -r, replacement->name))
        return r;
    if (r < 0)
        trash_count_for_good (this, -r, replacement->name);
    return 0;
}

/* --- after ------------------------------------------------------------------------------------ */

static void
replacement_wipe (struct replacement *replacement)
{
    inode_unref (replacement->victim);
    g_free (replacement->name);
}

/* A task of maker: the further name goes if the rename failed, or if the file has others. The
 * answer waits for that, since link counts tell of the name. */
static void
replacement_judge (xlator_t *this, struct trash_task *task)
{
    struct replacement_task *own = (struct replacement_task *) task;
    call_frame_t *const frame = own->frame;
    struct replacement *replacement = frame->local;
    struct rename_reply reply = replacement->reply;

    g_free (own);
    stack_taken (frame->root);
    if (replacement->failed)
        sync_name_remove (trash_priv (this)->maker.client, replacement->stage->folder,
                          replacement->name, replacement->victim);
    else
        trash_drop_again (this, replacement->stage->folder, replacement->name,
                          replacement->victim);
    if (!replacement->failed)
        trash_stage_note (this, replacement->stage, replacement->name, frame->root->pid);
    trash_stage_leave (this, replacement->stage, !replacement->failed);
    replacement_wipe (replacement);
    reply_unwind (FOP_rename, &reply, frame, CALL_SITE);
    rename_reply_drop (&reply);
}

static void
trash_rename_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, struct iatt *buf, struct iatt *preoldparent,
                  struct iatt *postoldparent, struct iatt *prenewparent,
                  struct iatt *postnewparent, dict_t *xdata)
{
    struct replacement *replacement = frame->local;
    struct replacement_task *task;

    if (!replacement->stage) {
        replacement_wipe (replacement);
        STACK_UNWIND (rename, frame, op_ret, op_errno, buf, preoldparent, postoldparent,
                      prenewparent, postnewparent, xdata);
        return;
    }
    replacement->failed = op_ret < 0;
    rename_reply_keep (&replacement->reply, op_ret, op_errno, buf, preoldparent, postoldparent,
                       prenewparent, postnewparent, xdata);
    task = g_new (struct replacement_task, 1);
    *task = (struct replacement_task){ { .run = replacement_judge }, frame };
    trash_line_add (&trash_priv (this)->maker, &task->task);
}

/* --- the operation ---------------------------------------------------------------------------- */

static bool
is_replacing (xlator_t *this, const call_stack_t *root, const loc_t *oldloc, const loc_t *newloc,
              uint32_t flags)
{
    const trash_private_t *priv = this->private;

    return __atomic_load_n (&priv->keep, __ATOMIC_RELAXED) & TRASH_OVERWRITTEN && flags == 0
        && trash_takes (this, root) && newloc->inode && newloc->inode != oldloc->inode
        && trash_keeps (this, root, newloc) && !trash_has_inode (newloc->parent);
}

/* In the line `maker`. */
static void
trash_rename_kept (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc,
                   uint32_t flags, dict_t *xdata)
{
    const struct trash_who who = { trash_user (frame->root), frame->root->gid, frame->root->pid };
    struct replacement *replacement = frame_local_new (frame, sizeof *replacement);
    struct iatt buf;
    int r;

    replacement->victim = inode_ref (newloc->inode);
    replacement->name = g_strdup (newloc->name);
    trash_folder_stat (trash_priv (this)->maker.client, newloc->inode, &buf);
    if (trash_is_eliminated (this, frame->root, FOP_rename, newloc, &buf)) {
        STACK_WIND (frame, trash_rename_cbk, FIRST_CHILD (this), rename, oldloc, newloc, flags,
                    xdata);
        return;
    }
    r = replacement_link (this, replacement, newloc->parent, &who);
    if (r < 0) {
        replacement_wipe (replacement);
        STACK_UNWIND (rename, frame, -1, -r, NULL, NULL, NULL, NULL, NULL, NULL);
        return;
    }
    STACK_WIND (frame, trash_rename_cbk, FIRST_CHILD (this), rename, oldloc, newloc, flags, xdata);
}

void
trash_rename (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, uint32_t flags,
              dict_t *xdata)
{
    call_stub_t *stub = NULL;

    if (trash_gluster_guards (this, frame->root, oldloc)
        || trash_gluster_guards (this, frame->root, newloc)) {
        STACK_UNWIND (rename, frame, -1, EPERM, NULL, NULL, NULL, NULL, NULL, NULL);
        return;
    }
    if (is_replacing (this, frame->root, oldloc, newloc, flags))
        stub = fop_rename_stub (frame, trash_rename_kept, oldloc, newloc, flags, xdata);
    if (stub)
        trash_line_resume (&trash_priv (this)->maker, 0, stub);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), rename, oldloc, newloc, flags, xdata);
}
