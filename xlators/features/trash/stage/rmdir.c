/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rmdir: a real one. What the directory lost before is in its stage, which then becomes a child of
 * the stage of the parent. An empty directory becomes one, too, so that a tree comes back whole;
 * not one that `eliminate` or a rule names and that has lost nothing that is kept.
 */
#include "../gluster/gluster.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define ATTRIBUTES_ALL (IATT_MODE | IATT_UID | IATT_GID | IATT_ATIME | IATT_MTIME)

struct rmdir_task {
    struct trash_task task;
    call_frame_t *frame;
};

struct gone {
    loc_t loc;            /* with references */
    struct trash_who who;
    struct iatt buf;      /* of the directory, before; ia_type IA_INVAL: unknown */
    struct iatt parent;   /* of its parent, before */
    dict_t *xattrs;       /* with their values; or NULL */
    bool eliminated;
    struct iatt pre, post;
    bool has_pre, has_post;
    dict_t *xdata;        /* of the answer, with a reference; or NULL */
};

static void
gone_wipe (struct gone *gone)
{
    loc_wipe (&gone->loc);
    g_clear_pointer (&gone->xattrs, dict_unref);
}

/* --- before: what the directory is ------------------------------------------------------------ */

dict_t *
trash_xattrs (struct client *client, loc_t *loc)
{
    struct getxattr_reply names;
    dict_t *all = NULL;
    int r = sync_getxattr (client, loc, NULL, NULL, &names);

    for (size_t i = 0; r >= 0 && i < dict_count (names.dict); i++) {
        struct getxattr_reply one;
        const void *value;
        const char *name;
        size_t size;

        dict_nth (names.dict, i, &name, &value, &size);
        if (sync_getxattr (client, loc, name, NULL, &one) >= 0
            && (value = dict_get (one.dict, name, &size))) {
            all = all ? all : dict_new ();
            dict_set (all, name, value, size);
        }
        getxattr_reply_drop (&one);
    }
    getxattr_reply_drop (&names);
    return all;
}

/* A task of maker: gathers what the removed directory will need, then lets rmdir go on. */
static void
gone_gather (xlator_t *this, const call_stack_t *root, struct gone *gone)
{
    struct client *client = trash_priv (this)->maker.client;
    loc_t loc = { .inode = gone->loc.inode };

    trash_folder_stat (client, gone->loc.inode, &gone->buf);
    trash_folder_stat (client, gone->loc.parent, &gone->parent);
    if (gone->buf.ia_type != IA_INVAL)
        gone->xattrs = trash_xattrs (client, &loc);
    gone->eliminated = trash_fits_pattern (this, &gone->loc)
                    || trash_is_eliminated (this, root, FOP_rmdir, &gone->loc, &gone->buf);
    loc_wipe_path (&loc);
}

/* --- after: its stage ------------------------------------------------------------------------- */

/* Gives a folder what the directory had, and the times that it had before it lost its names. A
 * daemon of a user can't give files away. */
static void
folder_becomes (struct client *client, inode_t *folder, const struct gone *gone,
                const struct trash_stage *mine)
{
    loc_t loc = { .inode = folder };
    struct iatt to = gone->buf;
    const uint32_t owner = client->uid == 0 ? 0 : IATT_UID | IATT_GID;

    if (mine && mine->before.ia_type != IA_INVAL) {
        to.ia_mtime = mine->before.ia_mtime;
        to.ia_mtime_nsec = mine->before.ia_mtime_nsec;
    }
    sync_removexattr (client, &loc, TRASH_PLACE, NULL, NULL);
    if (gone->xattrs)
        sync_setxattr (client, &loc, gone->xattrs, 0, NULL, NULL);
    sync_setattr (client, &loc, &to, ATTRIBUTES_ALL & ~owner, NULL, NULL);
    loc_wipe_path (&loc);
}

/* Puts the directory's stage, or a new folder, into the stage of its parent. */
static int
folder_put (xlator_t *this, const struct gone *gone, const struct trash_stage *mine,
            struct trash_stage *parent, inode_t **ret_folder)
{
    struct client *client = trash_priv (this)->maker.client;
    g_autoptr (inode_t) of_user = NULL;
    g_autofree char *name = NULL;
    int r;

    if (!trash_stage_reserve (this, parent, gone->loc.name))
        return -EEXIST;
    if (!mine || !inode_a_name (mine->folder, &of_user, &name))
        return trash_folder_make (client, parent->folder, gone->loc.name, 0700, &gone->who,
                                  ret_folder);
    r = sync_name_rename (client, mine->folder, of_user, name, parent->folder, gone->loc.name,
                          trash_rename_flags (this));
    *ret_folder = r == 0 ? inode_ref (mine->folder) : NULL;
    return r;
}

/* The stage of the parent; another one if the first has the name already, or is gone. */
static int
gone_put (xlator_t *this, struct gone *gone, const struct trash_stage *mine, inode_t **ret_folder)
{
    int r = -EEXIST;

    for (int try = 0; trash_stage_is_used_up (r) && try < 2; try++) {
        struct trash_stage *parent = trash_folder_enter (this, gone->loc.parent, &gone->who,
                                                         try > 0, &gone->parent, &r);

        if (!parent)
            return r;
        r = folder_put (this, gone, mine, parent, ret_folder);
        if (r == 0)
            trash_stage_note (this, parent, gone->loc.name, gone->who.pid);
        trash_stage_leave (this, parent, r == 0);
    }
    return r;
}

static void
gone_stage (xlator_t *this, struct trash_task *task)
{
    struct rmdir_task *own = (struct rmdir_task *) task;
    G_GNUC_UNUSED g_autofree struct rmdir_task *freed = own;
    call_frame_t *frame = own->frame;
    struct gone *gone = frame->local;
    struct trash_stage *mine = trash_stage_take (this, gone->loc.inode, gone->who.uid);
    g_autoptr (inode_t) folder = NULL;
    dict_t *const xdata = gone->xdata;

    int r = 0;

    stack_taken (frame->root);
    if (gone->buf.ia_type != IA_INVAL && (mine || !gone->eliminated))
        r = gone_put (this, gone, mine, &folder);
    if (r < 0 && !mine)
        trash_count_for_good (this, -r, gone->loc.name);
    if (folder) {
        folder_becomes (trash_priv (this)->maker.client, folder, gone, mine);
        trash_stage_unref (this, mine);
    } else if (mine) {
        trash_stage_add (this, mine); /* it stays topmost, and becomes entries by itself */
        trash_stage_retire (this, mine);
    }
    gone_wipe (gone);
    STACK_UNWIND (rmdir, frame, 0, 0, gone->has_pre ? &gone->pre : NULL,
                  gone->has_post ? &gone->post : NULL, gone->xdata);
    dict_unref (xdata);
}

/* --- the operation ---------------------------------------------------------------------------- */

static rmdir_cbk trash_rmdir_cbk;

static struct gone *
gone_new (call_frame_t *frame, const loc_t *loc)
{
    struct gone *gone = frame_local_new (frame, sizeof *gone);

    loc_copy (&gone->loc, loc);
    gone->who = (struct trash_who){ trash_user (frame->root), frame->root->gid,
                                    frame->root->pid };
    return gone;
}

/* Called again in the line `maker`, where it gathers first. */
void
trash_rmdir (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t flags, dict_t *xdata)
{
    trash_private_t *priv = this->private;
    struct gone *gone = frame->local;
    call_stub_t *stub;

    if (!gone && trash_gluster_guards (this, frame->root, loc)) {
        STACK_UNWIND (rmdir, frame, -1, EPERM, NULL, NULL, NULL);
        return;
    }
    if (!gone && (priv->layout == TRASH_GLUSTER || !trash_takes (this, frame->root) || !loc->inode
                  || trash_has_inode (loc->parent))) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), rmdir, loc, flags, xdata);
        return;
    }
    if (!gone) {
        gone_new (frame, loc);
        stub = fop_rmdir_stub (frame, trash_rmdir, loc, flags, xdata);
        if (stub)
            trash_line_resume (&priv->maker, 0, stub);
        else
            STACK_UNWIND (rmdir, frame, -1, ENOMEM, NULL, NULL, NULL);
        return;
    }
    gone_gather (this, frame->root, gone);
    STACK_WIND (frame, trash_rmdir_cbk, FIRST_CHILD (this), rmdir, loc, flags, xdata);
}

static void
trash_rmdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    trash_private_t *priv = this->private;
    struct gone *gone = frame->local;
    struct rmdir_task *task;

    if (op_ret < 0) {
        gone_wipe (gone);
        STACK_UNWIND (rmdir, frame, op_ret, op_errno, preparent, postparent, xdata);
        return;
    }
    gone->xdata = dict_ref (xdata);
    gone->has_pre = preparent != NULL;
    gone->has_post = postparent != NULL;
    if (preparent)
        gone->pre = *preparent;
    if (postparent)
        gone->post = *postparent;
    task = g_new (struct rmdir_task, 1);
    *task = (struct rmdir_task){ { .run = gone_stage }, frame };
    trash_line_add (&priv->maker, &task->task);
}
