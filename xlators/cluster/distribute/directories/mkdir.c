/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mkdir. Under the lock of the name the directory is made first on the hashed subvolume, whose
 * error fails the operation. Then it is made on all other subvolumes, with the same gfid; an error
 * of these does not fail the operation. At the end each subvolume gets its range of hashes. */
#include "../distribute.h"

#include <string.h>

struct mkdir {
    struct op op;
    mode_t mode, umask;
    unsigned hashed;
    inode_t *inode;
    struct iatt buf, preparent, postparent;
    dict_t *xdata;
    struct layout *layout;
    bool whole;   /* all subvolumes have the directory */
    bool exists;  /* a subvolume answered EEXIST: the name is the directory, or a stale linkto */
    bool blocked; /* a subvolume could not make the directory: a stale linkto has its name */
};

static void
mkdir_clear (struct op *op)
{
    struct mkdir *mkdir = (struct mkdir *) op;

    inode_unref (mkdir->inode);
    dict_unref (mkdir->xdata);
    layout_unref (mkdir->layout);
}

/* --- refresh, plan ---------------------------------------------------------------------------- */

static int
mkdir_plan (void *local)
{
    struct mkdir *mkdir = local;
    struct op *op = &mkdir->op;
    const int hashed = name_hashed (op->this, op->loc.parent, op->loc.name);

    if (hashed == NO_CHILD)
        return op->seq.tries < STEPS_TRIES ? STEP_AGAIN (EIO)
                                           : -name_unhashed (op->this, &op->loc);
    mkdir->hashed = (unsigned) hashed;
    lock_name (op, mkdir->hashed, &op->loc);
    return 0;
}

/* --- make ------------------------------------------------------------------------------------- */

/* Winds the mkdir to the hashed subvolume, with the range that this client knows of the parent
 * directory there (op_guard). The brick refuses the mkdir if it stores another range. */
static void
mkdir_make (void *local)
{
    static const uint8_t none[4];
    struct mkdir *mkdir = local;
    struct op *op = &mkdir->op;
    g_autoptr (dict_t) xdata = dict_copy (op->xdata);

    op_guard (op, mkdir->hashed, xdata);
    if (op->priv->n > 1)
        dict_set (xdata, op->priv->mds_key, none, sizeof none);
    AS_CALLER (op, mkdir->hashed, mkdir, &op->loc, mkdir->mode, mkdir->umask, xdata);
}

static int
mkdir_made (void *local)
{
    struct mkdir *mkdir = local;
    struct op *op = &mkdir->op;
    const struct mkdir_reply *reply = &op->seq.fan.answers[mkdir->hashed].mkdir;

    if (reply->op_ret < 0 && op_guard_refused (reply->xdata))
        return STEP_AGAIN (reply->op_errno);
    if (reply->op_ret < 0) {
        name_no_room (op->this, &op->loc, mkdir->hashed, reply->op_errno);
        return -reply->op_errno;
    }
    mkdir->inode = inode_ref (reply->inode);
    mkdir->buf = reply->buf;
    mkdir->preparent = reply->preparent;
    mkdir->postparent = reply->postparent;
    mkdir->xdata = dict_ref (reply->xdata);
    mkdir->layout = layout_new (op->priv->n);
    layout_fail (mkdir->layout, mkdir->hashed, RANGE_UNSET);
    return 0;
}

/* --- make on all others ----------------------------------------------------------------------- */

static void
mkdir_make_on_others (void *local)
{
    struct mkdir *mkdir = local;
    struct op *op = &mkdir->op;
    g_autoptr (dict_t) xdata = dict_copy (op->xdata);

    dict_set (xdata, "gfid-req", mkdir->buf.ia_gfid.b, sizeof mkdir->buf.ia_gfid.b);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (i != mkdir->hashed)
            AS_CALLER (op, i, mkdir, &op->loc, mkdir->mode, mkdir->umask, xdata);
}

/* Logs that subvolume i failed the mkdir. If the subvolume is down, protocol/client has logged that
 * before, so this is only a debug message. */
static void
mkdir_log_failure (const struct mkdir *mkdir, unsigned i, int op_errno)
{
    const struct op *op = &mkdir->op;

    gf_log (op->this, op_errno == ENOTCONN ? GF_LOG_DEBUG : GF_LOG_WARNING,
            "the new directory '%s' could not be made on %s: %s; its files go to other subvolumes "
            "until a lookup has made it there", loc_path ((loc_t *) &op->loc),
            op->priv->children[i]->name, g_strerror (op_errno));
}

/* Links the new inode into the inode table: the calls of later steps need an inode that has its
 * gfid. */
static void
mkdir_link_inode (struct mkdir *mkdir)
{
    const loc_t *loc = &mkdir->op.loc;
    inode_t *linked = inode_link (mkdir->inode, loc->parent, loc->name, &mkdir->buf);

    inode_unref (mkdir->inode);
    mkdir->inode = linked;
}

/* If a subvolume answers EEXIST, either another client's lookup has made the directory there, or
 * a stale linkto there has the directory's name. In the second case the step "set ranges" fails
 * there, with ENOENT or ESTALE, and the step "heal" follows. */
static int
mkdir_made_on_others (void *local)
{
    struct mkdir *mkdir = local;
    struct op *op = &mkdir->op;

    mkdir->whole = true;
    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct mkdir_reply *reply = &op->seq.fan.answers[i].mkdir;

        if (i == mkdir->hashed)
            continue;
        if (reply->op_ret < 0 && reply->op_errno != EEXIST) {
            mkdir_log_failure (mkdir, i, reply->op_errno);
            layout_fail (mkdir->layout, i, RANGE_DOWN);
            mkdir->whole = false;
            continue;
        }
        layout_fail (mkdir->layout, i, RANGE_UNSET);
        mkdir->exists |= reply->op_ret < 0;
        iatt_merge (&mkdir->buf, &reply->buf);
        iatt_merge (&mkdir->preparent, &reply->preparent);
        iatt_merge (&mkdir->postparent, &reply->postparent);
    }
    mkdir_link_inode (mkdir);
    return 0;
}

/* --- the layout ------------------------------------------------------------------------------- */

static int
mkdir_name_unlocked (void *local)
{
    struct mkdir *mkdir = local;

    lock_layout (&mkdir->op, mkdir->hashed, mkdir->inode, true);
    return 0;
}

static void
mkdir_set_ranges (void *local)
{
    struct mkdir *mkdir = local;
    struct op *op = &mkdir->op;
    g_autoptr (dict_t) xdata = xdata_internal ();
    loc_t loc = { .inode = mkdir->inode };
    const uint32_t commit = mkdir->whole ? __atomic_load_n (&op->priv->commit, __ATOMIC_RELAXED)
                                         : LAYOUT_UNSURE;

    layout_assign (op->this, mkdir->layout, &op->loc, &mkdir->buf.ia_gfid, commit);
    for (unsigned i = 0; i < op->priv->n; i++) {
        g_autoptr (dict_t) value = layout_value (op->this, mkdir->layout, i);

        if (mkdir->layout->ranges[i].state == RANGE_SET)
            AS_SELF (op, i, setxattr, &loc, value, 0, xdata);
    }
    loc_wipe_path (&loc);
}

static int
mkdir_ranges_set (void *local)
{
    struct mkdir *mkdir = local;
    struct op *op = &mkdir->op;

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct fan_answer *answer = &op->seq.fan.answers[i];

        if (answer->op == FOP_NONE || answer->op_ret >= 0)
            continue;
        gf_log (op->this, op->priv->n == 1 ? GF_LOG_DEBUG : GF_LOG_WARNING,
                "new directory '%s' gets no range of hashes on %s: %s; the next lookup tries again",
                loc_path (&op->loc), op->priv->children[i]->name, g_strerror (answer->op_errno));
        layout_fail (mkdir->layout, i, RANGE_UNSET);
        mkdir->blocked |= mkdir->exists && is_missing (answer->op_errno);
    }
    layout_seal (mkdir->layout);
    inode_set_layout (op->this, mkdir->inode, mkdir->layout, (int) mkdir->hashed);
    return 0;
}

/* --- heal, and the answer --------------------------------------------------------------------- */

static bool
mkdir_is_blocked (void *local)
{
    return ((const struct mkdir *) local)->blocked;
}

/* Winds a lookup of the directory to distribute itself. The lookup heals the directory: it removes
 * the stale linkto, and makes the directory in its place. */
static void
mkdir_heal (void *local)
{
    struct mkdir *mkdir = local;
    loc_t loc = { .inode = mkdir->inode, .parent = mkdir->op.loc.parent,
                  .name = mkdir->op.loc.name };

    op_look (&mkdir->op, &loc);
    loc_wipe_path (&loc);
}

static void
mkdir_answer (void *local)
{
    struct mkdir *mkdir = local;
    struct op *op = &mkdir->op;

    directory_attributes (op->this, mkdir->inode, &mkdir->buf);
    STACK_UNWIND (mkdir, op->frame, 0, 0, mkdir->inode, &mkdir->buf,
                  directory_attributes_of_one (op->this, op->loc.parent, &mkdir->preparent),
                  directory_attributes_of_one (op->this, op->loc.parent, &mkdir->postparent),
                  mkdir->xdata);
}

static const struct step mkdir_steps[] = {
    STEP ("refresh", op_refresh, NULL, .when = op_is_again),
    STEP ("plan", NULL, mkdir_plan, .again = "refresh"),
    STEP_LOCK ("lock name", .interruptible = true),
    STEP ("make", mkdir_make, mkdir_made, .again = "refresh"),
    STEP ("make on others", mkdir_make_on_others, mkdir_made_on_others),
    STEP ("unlock name", locks_undo, mkdir_name_unlocked),
    STEP_LOCK ("lock layout"),
    STEP ("set ranges", mkdir_set_ranges, mkdir_ranges_set),
    STEP ("unlock layout", locks_undo, step_ignore, .when = mkdir_is_blocked),
    STEP ("heal", mkdir_heal, step_ignore, .when = mkdir_is_blocked),
    {},
};

void
dht_mkdir (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask,
           dict_t *xdata)
{
    struct mkdir *mkdir = op_new (frame, this, sizeof *mkdir, loc, NULL, xdata);

    mkdir->op.clear = mkdir_clear;
    mkdir->mode = mode;
    mkdir->umask = umask;
    space_refresh (&mkdir->op);
    op_run (&mkdir->op, mkdir_steps, mkdir_answer);
}
