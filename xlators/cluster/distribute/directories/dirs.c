/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Attributes of directories. All subvolumes have the directory. A change is made first on the MDS,
 * the subvolume whose attributes are right if the subvolumes differ, then on all others. The next
 * lookup heals a subvolume that missed the change. The MDS has a counter, which is not 0 while
 * another subvolume may lack a change of extended attributes.
 */
#include "../distribute.h"

#include <string.h>

static bool
is_directory (const inode_t *inode)
{
    return inode && inode->ia_type == IA_IFDIR;
}

/* --- stat, fstat ------------------------------------------------------------------------------ */

/* Sets *ret_buf to the attributes on the MDS (if that has failed, on another subvolume), with the
 * latest times of all. bufs has NULL for a subvolume that has failed. Returns false if all have
 * failed. */
static bool
attributes_merge (struct op *op, const struct iatt **bufs, inode_t *inode, struct iatt *ret_buf)
{
    const int home = inode_home (op->this, inode);

    *ret_buf = home != NO_CHILD && bufs[home] ? *bufs[home] : (struct iatt){ 0 };
    for (unsigned i = 0; i < op->priv->n; i++)
        if (bufs[i])
            iatt_merge (ret_buf, bufs[i]);
    if (ret_buf->ia_type == IA_INVAL)
        return false;
    directory_attributes (op->this, inode, ret_buf);
    return true;
}

static int
first_error (const struct op *op)
{
    for (unsigned i = 0; i < op->priv->n; i++)
        if (op->fan.answers[i].op_ret < 0)
            return op->fan.answers[i].op_errno;
    return EIO;
}

static void
stat_answered (call_frame_t *frame)
{
    struct op *op = OP_OF (frame);
    g_autofree const struct iatt **bufs = g_new0 (const struct iatt *, op->priv->n);
    struct iatt buf;

    for (unsigned i = 0; i < op->priv->n; i++)
        if (op->fan.answers[i].op_ret >= 0)
            bufs[i] = &op->fan.answers[i].stat.buf;
    if (attributes_merge (op, bufs, op->loc.inode, &buf))
        STACK_UNWIND (stat, frame, 0, 0, &buf, NULL);
    else
        op_fail (op, first_error (op));
}

void
dht_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct op *op;

    if (!is_directory (loc->inode)) {
        any_fop_stat (frame, this, loc, xdata);
        return;
    }
    op = op_new (frame, this, sizeof *op, loc, NULL, xdata);
    step_begin (op, stat_answered);
    for (unsigned i = 0; i < op->priv->n; i++)
        ASK (op, i, stat, &op->loc, xdata);
    step_end (op);
}

static void
fstat_answered (call_frame_t *frame)
{
    struct op *op = OP_OF (frame);
    g_autofree const struct iatt **bufs = g_new0 (const struct iatt *, op->priv->n);
    struct iatt buf;

    for (unsigned i = 0; i < op->priv->n; i++)
        if (op->fan.answers[i].op_ret >= 0)
            bufs[i] = &op->fan.answers[i].fstat.buf;
    if (attributes_merge (op, bufs, op->loc.inode, &buf))
        STACK_UNWIND (fstat, frame, 0, 0, &buf, NULL);
    else
        op_fail (op, first_error (op));
}

/* The fstat of a directory is wound to all subvolumes. It fails on a subvolume that was down at the
 * opendir, and is answered from the others. */
void
dht_fstat (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    const loc_t loc = { .inode = fd->inode };
    struct op *op;

    if (!is_directory (fd->inode)) {
        any_fop_fstat (frame, this, fd, xdata);
        return;
    }
    op = op_new (frame, this, sizeof *op, &loc, NULL, xdata);
    step_begin (op, fstat_answered);
    for (unsigned i = 0; i < op->priv->n; i++)
        ASK (op, i, fstat, fd, xdata);
    step_end (op);
}

/* --- setattr, fsetattr ------------------------------------------------------------------------ */

struct setting {
    struct op op;
    unsigned home;
    struct iatt change, pre, post;
    uint32_t valid;
    bool by_fd;
    dict_t *xdata;
    enum fop what;
    /* members for a change of extended attributes */
    dict_t *dict;
    char *name;
    uint32_t flags;
    bool counted;       /* 1 was subtracted from the counter of the MDS */
    bool others_failed; /* a subvolume other than the MDS lacks the change */
};

static void
setting_clear (struct op *op)
{
    struct setting *setting = (struct setting *) op;

    dict_unref (setting->xdata);
    dict_unref (setting->dict);
    g_free (setting->name);
}

static struct setting *
setting_new (call_frame_t *frame, xlator_t *this, inode_t *inode, enum fop what, dict_t *xdata)
{
    const loc_t loc = { .inode = inode };
    struct setting *setting = op_new (frame, this, sizeof *setting, &loc, NULL, xdata);

    setting->op.clear = setting_clear;
    setting->what = what;
    setting->home = (unsigned) MAX (inode_home (this, inode), 0);
    return setting;
}

static void
setattr_answered (call_frame_t *frame)
{
    struct setting *setting = OP_OF (frame);
    struct op *op = &setting->op;

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct setattr_reply *reply = &op->fan.answers[i].setattr;

        if (reply->op_ret >= 0)
            iatt_merge (&setting->post, &reply->statpost);
    }
    directory_attributes_of_one (op->this, op->loc.inode, &setting->pre);
    directory_attributes (op->this, op->loc.inode, &setting->post);
    if (setting->what == FOP_setattr)
        STACK_UNWIND (setattr, frame, 0, 0, &setting->pre, &setting->post, setting->xdata);
    else
        STACK_UNWIND (fsetattr, frame, 0, 0, &setting->pre, &setting->post, setting->xdata);
}

static void
setattr_home_answered (call_frame_t *frame)
{
    struct setting *setting = OP_OF (frame);
    struct op *op = &setting->op;
    const struct setattr_reply *reply = &op->fan.answers[setting->home].setattr;

    if (reply->op_ret < 0) {
        op_fail (op, reply->op_errno);
        return;
    }
    setting->pre = reply->statpre;
    setting->post = reply->statpost;
    setting->xdata = dict_ref (reply->xdata);
    step_begin (op, setattr_answered);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (i != setting->home)
            ASK (op, i, setattr, &op->loc, &setting->change, setting->valid, op->xdata);
    step_end (op);
}

static void
directory_setattr (call_frame_t *frame, xlator_t *this, inode_t *inode, enum fop what,
                   const struct iatt *stbuf, uint32_t valid, dict_t *xdata)
{
    struct setting *setting = setting_new (frame, this, inode, what, xdata);
    struct op *op = &setting->op;

    setting->change = *stbuf;
    setting->valid = valid;
    ASK_ONE (op, setattr_home_answered, setting->home, setattr, &op->loc, &setting->change, valid,
             xdata);
}

void
dht_setattr (call_frame_t *frame, xlator_t *this, loc_t *loc, struct iatt *stbuf, uint32_t valid,
             dict_t *xdata)
{
    if (is_directory (loc->inode))
        directory_setattr (frame, this, loc->inode, FOP_setattr, stbuf, valid, xdata);
    else
        any_fop_setattr (frame, this, loc, stbuf, valid, xdata);
}

void
dht_fsetattr (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iatt *stbuf, uint32_t valid,
              dict_t *xdata)
{
    if (is_directory (fd->inode))
        directory_setattr (frame, this, fd->inode, FOP_fsetattr, stbuf, valid, xdata);
    else
        any_fop_fsetattr (frame, this, fd, stbuf, valid, xdata);
}

/* --- extended attributes ---------------------------------------------------------------------- */

/* Adds `by` to the counter on the MDS, the value of the directory's trusted.glusterfs.dht.mds. */
static void
xattr_count (struct setting *setting, int by)
{
    struct op *op = &setting->op;
    const uint32_t number = GUINT32_TO_BE ((uint32_t) by);
    g_autoptr (dict_t) value = dict_new ();

    dict_set (value, op->priv->mds_key, &number, sizeof number);
    AS_SELF (op, setting->home, xattrop, &op->loc, XATTROP_ADD_ARRAY, value, NULL);
}

static bool
xattr_counts (void *local)
{
    const struct op *op = local;

    return op->priv->n > 1 && !gfid_equal (&op->loc.inode->gfid, &gfid_root);
}

static void
xattr_count_down (void *local)
{
    xattr_count (local, -1);
}

static int
xattr_counted (void *local)
{
    struct setting *setting = local;
    const struct fan_answer *answer = &setting->op.seq.fan.answers[setting->home];

    setting->counted = answer->op_ret >= 0 || answer->op_errno == ENOSYS;
    return setting->counted ? 0 : -answer->op_errno;
}

/* Adds back the 1 that xattr_count_down has subtracted from the counter of the MDS. If another
 * subvolume lacks the change, nothing is added: the counter is then not 0, so that the next lookup
 * heals the directory. */
static void
xattr_count_up (void *local)
{
    struct setting *setting = local;

    if (setting->counted && !setting->others_failed)
        xattr_count (setting, 1);
}

static void
xattr_wind (struct setting *setting, unsigned child)
{
    struct op *op = &setting->op;

    if (setting->dict)
        AS_CALLER (op, child, setxattr, &op->loc, setting->dict, setting->flags, op->xdata);
    else
        AS_CALLER (op, child, removexattr, &op->loc, setting->name, op->xdata);
}

static void
xattr_change (void *local)
{
    struct setting *setting = local;

    xattr_wind (setting, setting->home);
}

/* The other subvolumes get no flags (XATTR_CREATE, XATTR_REPLACE): the MDS has obeyed them, and the
 * others set the attribute whether they have it or not. */
static void
xattr_change_on_others (void *local)
{
    struct setting *setting = local;

    setting->flags = 0;
    for (unsigned i = 0; i < setting->op.priv->n; i++)
        if (i != setting->home)
            xattr_wind (setting, i);
}

static int
xattr_changed_on_others (void *local)
{
    struct setting *setting = local;
    const struct op *op = &setting->op;

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct fan_answer *answer = &op->seq.fan.answers[i];

        if (answer->op != FOP_NONE && answer->op_ret < 0 && answer->op_errno != ENODATA)
            setting->others_failed = true;
    }
    return 0;
}

static void
xattr_answer (void *local)
{
    const struct setting *setting = local;
    const struct op *op = &setting->op;

    switch (setting->what) {
    case FOP_setxattr:
        STACK_UNWIND (setxattr, op->frame, 0, 0, setting->xdata);
        break;
    case FOP_fsetxattr:
        STACK_UNWIND (fsetxattr, op->frame, 0, 0, setting->xdata);
        break;
    case FOP_removexattr:
        STACK_UNWIND (removexattr, op->frame, 0, 0, setting->xdata);
        break;
    default:
        STACK_UNWIND (fremovexattr, op->frame, 0, 0, setting->xdata);
        break;
    }
}

static const struct step xattr_steps[] = {
    STEP ("count down", xattr_count_down, xattr_counted, .undo = xattr_count_up, .always = true,
          .when = xattr_counts),
    STEP ("change", xattr_change, NULL),
    STEP ("change on others", xattr_change_on_others, xattr_changed_on_others),
    {},
};

/* Returns whether an extended attribute is one of distribute's own (layout, linkto, MDS, commit
 * hash). A caller's change of such an attribute fails. */
static bool
name_is_own (const dht_private_t *priv, const char *name)
{
    return g_str_has_prefix (name, priv->layout_key);
}

static bool
dict_has_own (const dht_private_t *priv, dict_t *dict)
{
    const char *key;
    const void *value;
    size_t size;

    for (size_t i = 0; i < dict_count (dict); i++) {
        dict_nth (dict, i, &key, &value, &size);
        if (name_is_own (priv, key))
            return true;
    }
    return false;
}

static void
directory_setxattr (call_frame_t *frame, xlator_t *this, inode_t *inode, enum fop what,
                    dict_t *dict, uint32_t flags, dict_t *xdata)
{
    struct setting *setting = setting_new (frame, this, inode, what, xdata);

    setting->dict = dict_ref (dict);
    setting->flags = flags;
    op_run (&setting->op, xattr_steps, xattr_answer);
}

static void
directory_removexattr (call_frame_t *frame, xlator_t *this, inode_t *inode, enum fop what,
                       const char *name, dict_t *xdata)
{
    struct setting *setting = setting_new (frame, this, inode, what, xdata);

    setting->name = g_strdup (name);
    op_run (&setting->op, xattr_steps, xattr_answer);
}

void
dht_setxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *dict, uint32_t flags,
              dict_t *xdata)
{
    if (dict_has_own (this->private, dict))
        frame_fail (frame, EPERM);
    else if (is_directory (loc->inode))
        directory_setxattr (frame, this, loc->inode, FOP_setxattr, dict, flags, xdata);
    else
        any_fop_setxattr (frame, this, loc, dict, flags, xdata);
}

void
dht_fsetxattr (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *dict, uint32_t flags,
               dict_t *xdata)
{
    if (dict_has_own (this->private, dict))
        frame_fail (frame, EPERM);
    else if (is_directory (fd->inode))
        directory_setxattr (frame, this, fd->inode, FOP_fsetxattr, dict, flags, xdata);
    else
        any_fop_fsetxattr (frame, this, fd, dict, flags, xdata);
}

void
dht_removexattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name, dict_t *xdata)
{
    if (name_is_own (this->private, name))
        frame_fail (frame, EPERM);
    else if (is_directory (loc->inode))
        directory_removexattr (frame, this, loc->inode, FOP_removexattr, name, xdata);
    else
        any_fop_removexattr (frame, this, loc, name, xdata);
}

void
dht_fremovexattr (call_frame_t *frame, xlator_t *this, fd_t *fd, const char *name, dict_t *xdata)
{
    if (name_is_own (this->private, name))
        frame_fail (frame, EPERM);
    else if (is_directory (fd->inode))
        directory_removexattr (frame, this, fd->inode, FOP_fremovexattr, name, xdata);
    else
        any_fop_fremovexattr (frame, this, fd, name, xdata);
}

/* --- fsyncdir --------------------------------------------------------------------------------- */

static void
fsyncdir_answered (call_frame_t *frame)
{
    struct op *op = OP_OF (frame);

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct fan_answer *answer = &op->fan.answers[i];

        if (answer->op != FOP_NONE && answer->op_ret < 0) {
            op_fail (op, answer->op_errno);
            return;
        }
    }
    STACK_UNWIND (fsyncdir, frame, 0, 0, NULL);
}

void
dht_fsyncdir (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t datasync, dict_t *xdata)
{
    struct op *op = op_new (frame, this, sizeof *op, NULL, NULL, xdata);

    step_begin (op, fsyncdir_answered);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (fd_is_open_on (this, fd, (int) i))
            ASK (op, i, fsyncdir, fd, datasync, xdata);
    step_end (op);
}
