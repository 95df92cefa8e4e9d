/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rename of a directory, under the locks of both names. The rename is wound first to the hashed
 * subvolume of the new name, whose error fails the operation, and then to all other subvolumes. If
 * one of these fails, the operation fails as well, and the directory gets its old name back on all
 * subvolumes that have renamed it. */
#include "../distribute.h"

struct moving_op {
    struct emptying emptying; /* state of the check that `replaced` is empty; first member */
    inode_t *replaced;        /* inode of the replaced directory, with a reference; or NULL */
    unsigned new_hashed;
    bool *moved;              /* by subvolume: it has renamed the directory */
    bool blocked;             /* a subvolume failed the rename with ENOTDIR: it may have a stale
                               * linkto with the new name */
    struct iatt buf, old_pre, old_post, new_pre, new_post;
    dict_t *xdata;
};

static void
moving_clear (struct op *op)
{
    struct moving_op *moving = (struct moving_op *) op;

    emptying_clear (&moving->emptying);
    inode_unref (moving->replaced);
    dict_unref (moving->xdata);
    g_free (moving->moved);
}

/* --- plan ------------------------------------------------------------------------------------- */

/* Reads the answers to the lookups of both names. Those lookups also heal: they make each directory
 * on the subvolumes that lack it, under the lock of its name. So the lookups run before the rename
 * takes its own locks of the names: a heal would wait for these. */
static int
moving_plan (void *local)
{
    struct moving_op *moving = local;
    struct op *op = &moving->emptying.op;
    const struct lookup_reply *old = &op->seq.fan.answers[SELF (op)].lookup,
                              *new = &op->seq.fan.answers[SELF (op) + 1].lookup;
    const int hashed = name_hashed (op->this, op->loc.parent, op->loc.name),
              new_hashed = name_hashed (op->this, op->newloc.parent, op->newloc.name);

    if (old->op_ret < 0)
        return -old->op_errno;
    if (hashed == NO_CHILD || new_hashed == NO_CHILD)
        return -EIO;
    if (new->op_ret >= 0 && gfid_equal (&new->buf.ia_gfid, &old->buf.ia_gfid)) {
        moving->buf = old->buf;
        return STEP_END; /* both names are the same directory: no change */
    }
    moving->new_hashed = (unsigned) new_hashed;
    rename_note_name_locks (op, (unsigned) hashed, moving->new_hashed);
    return 0;
}

/* --- check ------------------------------------------------------------------------------------ */

static int
moving_check (void *local)
{
    struct moving_op *moving = local;
    struct op *op = &moving->emptying.op;
    struct lookup_reply *old = &op->seq.fan.answers[SELF (op)].lookup,
                        *new = &op->seq.fan.answers[SELF (op) + 1].lookup;

    if (old->op_ret < 0)
        return -old->op_errno;
    if (!gfid_equal (&old->buf.ia_gfid, &op->loc.inode->gfid))
        return -ESTALE;
    if (new->op_ret < 0)
        return is_missing (new->op_errno) ? 0 : -new->op_errno;
    if (new->buf.ia_type != IA_IFDIR)
        return -ENOTDIR;
    moving->replaced = inode_link (new->inode, op->newloc.parent, op->newloc.name, &new->buf);
    moving->emptying.directory = moving->replaced;
    return 0;
}

static bool
moving_replaces (void *local)
{
    return ((const struct moving_op *) local)->replaced;
}

/* --- rename ----------------------------------------------------------------------------------- */

static void
moving_take (struct moving_op *moving, unsigned i, const struct rename_reply *reply)
{
    moving->moved[i] = true;
    iatt_merge (&moving->buf, &reply->buf);
    iatt_merge (&moving->old_pre, &reply->preoldparent);
    iatt_merge (&moving->old_post, &reply->postoldparent);
    iatt_merge (&moving->new_pre, &reply->prenewparent);
    iatt_merge (&moving->new_post, &reply->postnewparent);
}

static void
moving_rename (void *local)
{
    struct moving_op *moving = local;
    struct op *op = &moving->emptying.op;

    AS_CALLER (op, moving->new_hashed, rename, &op->loc, &op->newloc, 0, op->xdata);
}

static int
moving_renamed (void *local)
{
    struct moving_op *moving = local;
    const struct rename_reply *reply =
        &moving->emptying.op.seq.fan.answers[moving->new_hashed].rename;

    if (reply->op_ret < 0)
        return -reply->op_errno;
    moving->xdata = dict_ref (reply->xdata);
    moving_take (moving, moving->new_hashed, reply);
    return 0;
}

static void
moving_rename_back (void *local)
{
    struct moving_op *moving = local;
    struct op *op = &moving->emptying.op;

    for (unsigned i = 0; i < op->priv->n; i++)
        if (moving->moved[i])
            AS_SELF (op, i, rename, &op->newloc, &op->loc, 0, NULL);
}

/* --- rename on all others --------------------------------------------------------------------- */

static void
moving_rename_on_others (void *local)
{
    struct moving_op *moving = local;
    struct op *op = &moving->emptying.op;

    for (unsigned i = 0; i < op->priv->n; i++)
        if (!moving->moved[i])
            AS_CALLER (op, i, rename, &op->loc, &op->newloc, 0, op->xdata);
}

/* A subvolume answers ENOTDIR if its object with the new name is a stale linkto or a file. Later
 * steps then remove the stale linktos, and wind the rename once more to the subvolumes that failed
 * it. */
static int
moving_renamed_on_others (void *local)
{
    struct moving_op *moving = local;
    struct op *op = &moving->emptying.op;
    int failed = NO_CHILD, error;

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct rename_reply *reply = &op->seq.fan.answers[i].rename;

        if (moving->moved[i])
            continue;
        if (reply->op_ret >= 0)
            moving_take (moving, i, reply);
        else
            failed = (int) i;
    }
    if (failed == NO_CHILD)
        return 0;
    error = op->seq.fan.answers[failed].op_errno;
    if (error == ENOTDIR && !moving->blocked) {
        moving->blocked = true;
        return 0;
    }
    gf_log (op->this, GF_LOG_WARNING, "directory '%s' could not be renamed on %s: %s; renamed back "
            "on all others", loc_path (&op->loc), op->priv->children[failed]->name,
            g_strerror (error));
    return -error;
}

static bool
moving_is_blocked (void *local)
{
    return ((const struct moving_op *) local)->blocked;
}

/* Unlinks the new name on the subvolumes that failed the rename. A brick refuses this unlink if the
 * name is a file, not a linkto. */
static void
moving_unlink_linktos (void *local)
{
    struct moving_op *moving = local;
    struct op *op = &moving->emptying.op;
    g_autoptr (dict_t) only = xdata_only_linkto ();

    for (unsigned i = 0; i < op->priv->n; i++)
        if (!moving->moved[i])
            AS_SELF (op, i, unlink, &op->newloc, 0, only);
}

static void
moving_answer (void *local)
{
    struct moving_op *moving = local;
    struct op *op = &moving->emptying.op;
    inode_t *old = op->loc.parent, *new = op->newloc.parent;
    xlator_t *this = op->this;

    directory_attributes (this, op->loc.inode, &moving->buf);
    STACK_UNWIND (rename, op->frame, 0, 0, &moving->buf,
                  directory_attributes_of_one (this, old, &moving->old_pre),
                  directory_attributes_of_one (this, old, &moving->old_post),
                  directory_attributes_of_one (this, new, &moving->new_pre),
                  directory_attributes_of_one (this, new, &moving->new_post), moving->xdata);
}

static const struct step moving_steps[] = {
    STEP ("look", rename_look, moving_plan),
    STEP_LOCK ("lock", .interruptible = true),
    STEP ("check", rename_look_locked, moving_check),
    STEP ("open", empty_open, NULL, .when = moving_replaces),
    STEP ("list", empty_list, empty_listed, .when = moving_replaces),
    STEP ("unlink linktos", empty_unlink, empty_unlinked, .when = empty_has_linktos),
    STEP ("rename", moving_rename, moving_renamed, .undo = moving_rename_back),
    STEP ("rename on others", moving_rename_on_others, moving_renamed_on_others),
    STEP ("unlink linktos of new name", moving_unlink_linktos, step_ignore,
          .when = moving_is_blocked),
    STEP ("rename on others again", moving_rename_on_others, moving_renamed_on_others,
          .when = moving_is_blocked),
    {},
};

void
rename_directory (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc,
                  dict_t *xdata)
{
    const dht_private_t *priv = this->private;
    struct moving_op *moving;

    if (!children_are_up (priv)) {
        frame_fail (frame, ENOTCONN);
        return;
    }
    if (rename_is_below (newloc->parent, &oldloc->inode->gfid)) {
        frame_fail (frame, EINVAL);
        return;
    }
    moving = op_new (frame, this, sizeof *moving, oldloc, newloc, xdata);
    moving->emptying.op.clear = moving_clear;
    moving->moved = g_new0 (bool, priv->n);
    op_run (&moving->emptying.op, moving_steps, moving_answer);
}
