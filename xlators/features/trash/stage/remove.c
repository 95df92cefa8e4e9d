/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* unlink: a rename into the stage of the directory. */
#include "../gluster/gluster.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define REMOVAL_STAGES 3 /* stages that a removal tries, if others have taken its name there */
#define REMOVAL_VANISHED 2 /* the same, if the folder of a stage may be gone */

struct removal {
    call_frame_t *frame;
    loc_t loc;        /* with references */
    int xflag;
    dict_t *xdata;    /* with a reference, or NULL */
    struct trash_who who;
    struct trash_stage *stage; /* entered, or NULL */
    unsigned stages;  /* that were tried */
    int error;        /* why there is no stage: a positive errno, or 0: it lies in a trash, or a
                       * rule eliminates it */
    /* what the answer says of the directory */
    struct iatt pre, post;
    bool has_pre, has_post;
    dict_t *answered; /* xdata of the answer, with a reference; or NULL */
};

/* --- what is kept ----------------------------------------------------------------------------- */

bool
trash_takes (xlator_t *this, const call_stack_t *root)
{
    const trash_private_t *priv = this->private;

    return __atomic_load_n (&priv->on, __ATOMIC_RELAXED) && !root->internal && root->pid >= 0;
}

bool
trash_has_inode (inode_t *directory)
{
    g_autofree char *path = inode_path (directory, NULL);

    return trash_has (path);
}

bool
trash_has (const char *path)
{
    if (!g_str_has_prefix (path, "/.Trash"))
        return false;
    path += strlen ("/.Trash");
    return *path == '/' || *path == '\0' || *path == '-';
}

void
trash_count_for_good (xlator_t *this, int error, const char *name)
{
    trash_private_t *priv = this->private;

    if (__atomic_exchange_n (&priv->for_good_error, error, __ATOMIC_RELAXED) != error)
        gf_log (this, GF_LOG_WARNING,
                "'%s' was removed for good, since it can't go to the trash: %s; further removals "
                "are counted (windlass explain)",
                name, g_strerror (error));
    __atomic_add_fetch (&priv->for_good, 1, __ATOMIC_RELAXED);
    if (error == ENOSPC || error == EDQUOT)
        trash_limits_soon (this);
}

bool
trash_is_dropped (xlator_t *this, const struct iatt *buf)
{
    const uint64_t most = __atomic_load_n (&trash_priv (this)->max_filesize, __ATOMIC_RELAXED);

    if (buf->ia_type == IA_IFDIR || buf->ia_type == IA_INVAL)
        return false;
    return (most > 0 && buf->ia_size > most)
        || (buf->ia_nlink > 1 && !xlator_is_remote (FIRST_CHILD (this)));
}

void
trash_drop_again (xlator_t *this, inode_t *folder, const char *name, inode_t *inode)
{
    struct client *client = trash_priv (this)->maker.client;
    struct iatt buf;

    if (!trash_links_lock (this))
        return;
    trash_folder_stat (client, inode, &buf);
    if (trash_is_dropped (this, &buf))
        sync_name_remove (client, folder, name, inode);
    trash_links_unlock (this);
}

/* A pipe, a socket and a device have no content. What a process makes for itself alone and removes
 * while it is open is a temporary file. */
bool
trash_keeps (xlator_t *this, const call_stack_t *root, const loc_t *loc)
{
    const ia_type_t type = loc->inode ? loc->inode->ia_type : IA_INVAL;

    return (type == IA_IFREG || type == IA_IFLNK)
        && !trash_is_temporary (this, root, loc->inode) && !trash_fits_pattern (this, loc);
}

/* --- for good --------------------------------------------------------------------------------- */

static unlink_cbk trash_unlink_cbk;

static void
removal_wipe (struct removal *removal)
{
    loc_wipe (&removal->loc);
    g_clear_pointer (&removal->xdata, dict_unref);
}

/* Removes the name after all: `error` keeps it out of the trash, or (0) it lies in one. */
static void
removal_for_good (struct removal *removal, int error)
{
    call_frame_t *frame = removal->frame;

    removal->error = error;
    STACK_WIND (frame, trash_unlink_cbk, FIRST_CHILD (frame->this), unlink, &removal->loc,
                removal->xflag, removal->xdata);
}

/* The name stays: no-trash refuse. */
static void
removal_refuse (struct removal *removal, int error)
{
    call_frame_t *frame = removal->frame;

    removal_wipe (removal);
    STACK_UNWIND (unlink, frame, -1, error, NULL, NULL, NULL);
}

static void
trash_unlink_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    struct removal *removal = frame->local;

    if (op_ret >= 0 && removal->error != 0)
        trash_count_for_good (this, removal->error, removal->loc.name);
    removal_wipe (removal);
    STACK_UNWIND (unlink, frame, op_ret, op_errno, preparent, postparent, xdata);
}

/* --- into a stage ----------------------------------------------------------------------------- */

static rename_cbk trash_staged_cbk;
static void removal_begin (struct removal *removal);
static void removal_refused (struct removal *removal, int error);

/* A line's task that works on a removal. */
struct removal_task {
    struct trash_task task;
    struct removal *removal;
};

static void
removal_task (struct removal *removal, void (*run) (xlator_t *this, struct trash_task *task))
{
    struct removal_task *task = g_new (struct removal_task, 1);
    trash_private_t *priv = trash_priv (removal->frame->this);

    *task = (struct removal_task){ { .run = run }, removal };
    trash_line_add (&priv->maker, &task->task);
}

static struct removal *
removal_of_task (struct trash_task *task)
{
    struct removal *removal = ((struct removal_task *) task)->removal;

    g_free (task);
    stack_taken (removal->frame->root);
    return removal;
}

/* Winds the rename into the stage. */
static void
removal_wind (struct removal *removal)
{
    call_frame_t *frame = removal->frame;
    xlator_t *this = frame->this;
    loc_t newloc = { .name = removal->loc.name };

    removal->stages++;
    if (!trash_stage_reserve (this, removal->stage, removal->loc.name)) {
        removal_refused (removal, EEXIST);
        return;
    }
    newloc.parent = removal->stage->folder;
    STACK_WIND (frame, trash_staged_cbk, FIRST_CHILD (this), rename, &removal->loc, &newloc,
                trash_rename_flags (this), NULL);
    loc_wipe_path (&newloc);
}

static void
removal_make_stage (xlator_t *this, struct trash_task *task)
{
    struct removal *removal = removal_of_task (task);
    int r = 0;

    if (removal->stage)
        trash_stage_admit (this, removal->stage, removal->who.pid);
    else
        removal->stage = trash_folder_enter (this, removal->loc.parent, &removal->who, false, NULL,
                                             &r);
    if (removal->stage)
        removal_wind (removal);
    else if (trash_refuses (this, -r, removal->loc.name))
        removal_refuse (removal, -r);
    else
        removal_for_good (removal, -r);
}

/* A task of maker: the rules need the attributes of the file. */
static void
removal_ask_rules (xlator_t *this, struct trash_task *task)
{
    struct removal *removal = removal_of_task (task);
    struct iatt buf;

    trash_folder_stat (trash_priv (this)->maker.client, removal->loc.inode, &buf);
    if (trash_is_eliminated (this, removal->frame->root, FOP_unlink, &removal->loc, &buf))
        removal_for_good (removal, 0);
    else
        removal_begin (removal);
}

/* Goes into the stage, if there is one for this process, too; otherwise has that made. */
static void
removal_begin (struct removal *removal)
{
    xlator_t *this = removal->frame->this;

    removal->stage = trash_stage_enter (this, removal->loc.parent, removal->who.uid);
    if (removal->stage && trash_stage_admits (removal->stage, removal->who.pid))
        removal_wind (removal);
    else if (!removal->stage && trash_has_inode (removal->loc.parent))
        removal_for_good (removal, 0);
    else
        removal_task (removal, removal_make_stage);
}

static void
removal_end (struct removal *removal)
{
    call_frame_t *frame = removal->frame;
    dict_t *const xdata = removal->answered;

    trash_stage_note (frame->this, removal->stage, removal->loc.name, removal->who.pid);
    trash_stage_leave (frame->this, removal->stage, true);
    removal_wipe (removal);
    STACK_UNWIND (unlink, frame, 0, 0, removal->has_pre ? &removal->pre : NULL,
                  removal->has_post ? &removal->post : NULL, xdata);
    dict_unref (xdata);
}

/* A task of maker, so that no other removal counts the links of the file at the same time. Drops
 * the name if the file has others, or is too large. */
static void
removal_judge (xlator_t *this, struct trash_task *task)
{
    struct removal *removal = removal_of_task (task);

    trash_drop_again (this, removal->stage->folder, removal->loc.name, removal->loc.inode);
    removal_end (removal);
}

/* Takes a directory back that had the file's name by now. */
static void
removal_take_back (xlator_t *this, struct trash_task *task)
{
    struct removal *removal = removal_of_task (task);
    call_frame_t *frame = removal->frame;

    sync_name_rename (trash_priv (this)->maker.client, NULL, removal->stage->folder,
                      removal->loc.name, removal->loc.parent, removal->loc.name,
                      trash_rename_flags (this));
    trash_stage_leave (this, removal->stage, false);
    removal_wipe (removal);
    g_clear_pointer (&removal->answered, dict_unref);
    STACK_UNWIND (unlink, frame, -1, EISDIR, NULL, NULL, NULL);
}

/* ENOENT: the stage's folder is gone, or the file: then the removal itself will say so. */
static void
removal_refused (struct removal *removal, int error)
{
    xlator_t *this = removal->frame->this;
    struct trash_stage *stage = g_steal_pointer (&removal->stage);
    const bool vanished = error == ENOENT || error == ESTALE;

    if (error == EEXIST || vanished)
        trash_stage_retire (this, stage);
    trash_stage_leave (this, stage, false);
    if ((error == EEXIST && removal->stages < REMOVAL_STAGES)
        || (vanished && removal->stages < REMOVAL_VANISHED))
        removal_begin (removal);
    else
        removal_for_good (removal, error);
}

static void
trash_staged_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, struct iatt *buf, struct iatt *preoldparent,
                  struct iatt *postoldparent, struct iatt *prenewparent,
                  struct iatt *postnewparent, dict_t *xdata)
{
    struct removal *removal = frame->local;

    if (op_ret < 0) {
        removal_refused (removal, op_errno);
        return;
    }
    removal->answered = dict_ref (xdata);
    removal->has_pre = preoldparent != NULL;
    removal->has_post = postoldparent != NULL;
    if (preoldparent)
        removal->pre = *preoldparent;
    if (postoldparent)
        removal->post = *postoldparent;
    if (buf->ia_type == IA_IFDIR) {
        removal_task (removal, removal_take_back);
        return;
    }
    inode_rename (removal->loc.parent, removal->loc.name, removal->stage->folder,
                  removal->loc.name, false);
    if (trash_is_dropped (this, buf))
        removal_task (removal, removal_judge);
    else
        removal_end (removal);
}

void
trash_unlink (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t xflag, dict_t *xdata)
{
    struct removal *removal;

    if (trash_priv (this)->layout == TRASH_GLUSTER) {
        trash_gluster_unlink (frame, this, loc, xflag, xdata);
        return;
    }
    if (!trash_takes (this, frame->root) || !trash_keeps (this, frame->root, loc)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), unlink, loc, xflag, xdata);
        return;
    }
    removal = frame_local_new (frame, sizeof *removal);
    removal->frame = frame;
    loc_copy (&removal->loc, loc);
    removal->xflag = xflag;
    removal->xdata = dict_ref (xdata);
    removal->who = (struct trash_who){ trash_user (frame->root), frame->root->gid,
                                       frame->root->pid };
    if (trash_rules_ask (this))
        removal_task (removal, removal_ask_rules);
    else if (trash_is_eliminated (this, frame->root, FOP_unlink, loc, NULL))
        removal_for_good (removal, 0);
    else
        removal_begin (removal);
}
