/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* layout gluster: unlink is a rename to the directory of the trash. */
#include "gluster.h"

#include <errno.h>

struct burial {
    struct trash_task task; /* first; in the frame's memory */
    call_frame_t *frame;
    loc_t loc;       /* with references */
    int xflag;
    dict_t *xdata;   /* with a reference, or NULL */
    inode_t *folder; /* in the trash, with a reference; or NULL */
    char *name;      /* in it */
    unsigned tries;
    int error;       /* why the file is not kept: a positive errno; 0: a rule eliminates it */
    /* the answer */
    struct iatt pre, post;
    bool has_pre, has_post;
    dict_t *answered; /* with a reference, or NULL */
};

static void
burial_wipe (struct burial *burial)
{
    loc_wipe (&burial->loc);
    inode_unref (burial->folder);
    g_free (burial->name);
    g_clear_pointer (&burial->xdata, dict_unref);
}

/* Goes on with it in the line `maker`. */
static void
burial_task (struct burial *burial, void (*run) (xlator_t *this, struct trash_task *task))
{
    burial->task.run = run;
    trash_line_add (&trash_priv (burial->frame->this)->maker, &burial->task);
}

static struct burial *
burial_of_task (struct trash_task *task)
{
    struct burial *burial = (struct burial *) task;

    stack_taken (burial->frame->root);
    return burial;
}

/* --- for good --------------------------------------------------------------------------------- */

static void
burial_removed_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno, struct iatt *preparent, struct iatt *postparent,
                    dict_t *xdata)
{
    struct burial *burial = frame->local;

    if (op_ret >= 0 && burial->error != 0)
        trash_count_for_good (this, burial->error, burial->loc.name);
    burial_wipe (burial);
    STACK_UNWIND (unlink, frame, op_ret, op_errno, preparent, postparent, xdata);
}

static void
burial_for_good (struct burial *burial, int error)
{
    call_frame_t *frame = burial->frame;

    burial->error = error;
    STACK_WIND (frame, burial_removed_cbk, FIRST_CHILD (frame->this), unlink, &burial->loc,
                burial->xflag, burial->xdata);
}

/* The name stays: no-trash refuse. */
static void
burial_refuse (struct burial *burial, int error)
{
    call_frame_t *frame = burial->frame;

    burial_wipe (burial);
    STACK_UNWIND (unlink, frame, -1, error, NULL, NULL, NULL);
}

/* --- to the trash ----------------------------------------------------------------------------- */

static rename_cbk burial_renamed_cbk;

static void
burial_wind (struct burial *burial)
{
    call_frame_t *frame = burial->frame;
    loc_t newloc = { .parent = burial->folder };

    g_free (burial->name);
    burial->name = trash_gluster_name (burial->loc.name, ++burial->tries);
    newloc.name = burial->name;
    STACK_WIND (frame, burial_renamed_cbk, FIRST_CHILD (frame->this), rename, &burial->loc, &newloc,
                trash_rename_flags (frame->this), NULL);
    loc_wipe_path (&newloc);
}

static void
burial_begin (xlator_t *this, struct trash_task *task)
{
    struct client *client = trash_priv (this)->maker.client;
    struct burial *burial = burial_of_task (task);
    struct iatt buf;
    int r;

    trash_folder_stat (client, burial->loc.inode, &buf);
    if (trash_is_eliminated (this, burial->frame->root, FOP_unlink, &burial->loc, &buf)) {
        burial_for_good (burial, 0);
        return;
    }
    r = trash_gluster_folder (this, client, burial->loc.parent, &burial->folder);

    if (r == 0)
        burial_wind (burial);
    else if (trash_refuses (this, -r, burial->loc.name))
        burial_refuse (burial, -r);
    else
        burial_for_good (burial, -r);
}

static void
burial_end (struct burial *burial)
{
    call_frame_t *frame = burial->frame;
    dict_t *const xdata = burial->answered;

    __atomic_add_fetch (&trash_priv (frame->this)->kept, 1, __ATOMIC_RELAXED);
    burial_wipe (burial);
    STACK_UNWIND (unlink, frame, 0, 0, burial->has_pre ? &burial->pre : NULL,
                  burial->has_post ? &burial->post : NULL, xdata);
    dict_unref (xdata);
}

static void
burial_judge (xlator_t *this, struct trash_task *task)
{
    struct burial *burial = burial_of_task (task);

    trash_drop_again (this, burial->folder, burial->name, burial->loc.inode);
    burial_end (burial);
}

/* Takes a directory back that had the file's name by now. */
static void
burial_take_back (xlator_t *this, struct trash_task *task)
{
    struct burial *burial = burial_of_task (task);
    call_frame_t *frame = burial->frame;

    sync_name_rename (trash_priv (this)->maker.client, NULL, burial->folder, burial->name,
                      burial->loc.parent, burial->loc.name, trash_rename_flags (this));
    burial_wipe (burial);
    g_clear_pointer (&burial->answered, dict_unref);
    STACK_UNWIND (unlink, frame, -1, EISDIR, NULL, NULL, NULL);
}

static void
burial_note (struct burial *burial, const struct iatt *pre, const struct iatt *post, dict_t *xdata)
{
    burial->answered = dict_ref (xdata);
    burial->has_pre = pre != NULL;
    burial->has_post = post != NULL;
    if (pre)
        burial->pre = *pre;
    if (post)
        burial->post = *post;
}

static void
burial_renamed_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno, struct iatt *buf, struct iatt *preoldparent,
                    struct iatt *postoldparent, struct iatt *prenewparent,
                    struct iatt *postnewparent, dict_t *xdata)
{
    struct burial *burial = frame->local;

    if (op_ret < 0 && op_errno == EEXIST && burial->tries < TRASH_GLUSTER_TRIES) {
        burial_wind (burial);
        return;
    }
    if (op_ret < 0) {
        burial_for_good (burial, op_errno);
        return;
    }
    burial_note (burial, preoldparent, postoldparent, xdata);
    if (buf->ia_type == IA_IFDIR) {
        burial_task (burial, burial_take_back);
        return;
    }
    inode_rename (burial->loc.parent, burial->loc.name, burial->folder, burial->name, false);
    if (trash_is_dropped (this, buf))
        burial_task (burial, burial_judge);
    else
        burial_end (burial);
}

void
trash_gluster_unlink (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t xflag,
                      dict_t *xdata)
{
    struct burial *burial;

    if (!loc->inode || !trash_gluster_keeps (this, frame->root, loc->parent, loc->name)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), unlink, loc, xflag, xdata);
        return;
    }
    burial = frame_local_new (frame, sizeof *burial);
    burial->frame = frame;
    loc_copy (&burial->loc, loc);
    burial->xflag = xflag;
    burial->xdata = dict_ref (xdata);
    burial_task (burial, burial_begin);
}
