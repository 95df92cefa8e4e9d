/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lookups, and what changes names. */
#include "nl-cache.h"

static lookup_cbk nlc_lookup_cbk;
static create_cbk nlc_create_cbk;
static mknod_cbk nlc_mknod_cbk;
static mkdir_cbk nlc_mkdir_cbk;
static symlink_cbk nlc_symlink_cbk;
static link_cbk nlc_link_cbk;
static unlink_cbk nlc_unlink_cbk;
static rmdir_cbk nlc_rmdir_cbk;
static rename_cbk nlc_rename_cbk;

#define REAL_FILENAME "glusterfs.get_real_filename:"

void
nlc_local_drop (xlator_t *this, void *data)
{
    struct nlc_local *local = data;

    inode_unref (local->parent);
    inode_unref (local->changes[0].parent);
    inode_unref (local->changes[1].parent);
}

/* --- lookup ------------------------------------------------------------------------------------- */

static bool
is_name (const loc_t *loc)
{
    const char *name = loc->name;

    return name && loc->parent && name[0] && !(name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])));
}

static struct nlc_local *
local_new (call_frame_t *frame, xlator_t *this, const char *name, const char *newname)
{
    const size_t size = strlen (name) + 1, newsize = newname ? strlen (newname) + 1 : 0;
    struct nlc_local *local = frame_local_new (frame, sizeof *local + size + newsize);
    char *text = (char *) (local + 1);

    local->at = nlc_now (this);
    local->name = local->changes[0].name = memcpy (text, name, size);
    if (newname)
        local->changes[1].name = memcpy (text + size, newname, newsize);
    return local;
}

/* Whether there is such a name is for those to know who may search the directory: storage refuses the others. */
void
nlc_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    nlc_private_t *priv = this->private;
    struct nlc_local *local;

    if (!is_name (loc)) {
        nlc_count (&priv->count.nameless);
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), lookup, loc, xdata);
        return;
    }
    if (frame->root->checked && nlc_is_absent (this, loc->parent, loc->name)) {
        nlc_count (&priv->count.hit);
        STACK_UNWIND (lookup, frame, -1, ENOENT, NULL, NULL, NULL, NULL);
        return;
    }
    local = local_new (frame, this, loc->name, NULL);
    local->parent = inode_ref (loc->parent);
    STACK_WIND (frame, nlc_lookup_cbk, FIRST_CHILD (this), lookup, loc, xdata);
}

static void
nlc_lookup_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, inode_t *inode, struct iatt *buf,
                dict_t *xdata, struct iatt *postparent)
{
    const struct nlc_local *local = frame->local;

    if (op_ret < 0 && op_errno == ENOENT)
        nlc_count (&nlc_priv (this)->count.miss);
    if (op_ret >= 0 || op_errno == ENOENT)
        nlc_keep (this, local->parent, local->name, op_ret >= 0 ? NLC_PRESENT : NLC_ABSENT, local->at);
    STACK_UNWIND (lookup, frame, op_ret, op_errno, inode, buf, xdata, postparent);
}

/* --- how a name is really spelt --------------------------------------------------------------------- */

void
nlc_getxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name, dict_t *xdata)
{
    nlc_private_t *priv = this->private;
    g_autoptr (dict_t) dict = NULL;
    bool absent = false;
    char *real = NULL;

    if (!name || !frame->root->checked || !NLC_OPTION (this, positive) || g_ascii_strncasecmp (name, REAL_FILENAME, strlen (REAL_FILENAME))) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), getxattr, loc, name, xdata);
        return;
    }
    real = nlc_real_name (this, loc->inode, name + strlen (REAL_FILENAME), &absent);
    nlc_count (real || absent ? &priv->count.real_hit : &priv->count.real_miss);
    if (real) {
        dict = dict_new ();
        dict_set (dict, name, real, strlen (real) + 1);
        g_free (real);
        STACK_UNWIND (getxattr, frame, 0, 0, dict, NULL);
    } else if (absent) {
        STACK_UNWIND (getxattr, frame, -1, ENOENT, NULL, NULL);
    } else {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), getxattr, loc, name, xdata);
    }
}

/* --- changes ------------------------------------------------------------------------------------ */

static void
change_begin_of (xlator_t *this, struct nlc_change *change, inode_t *parent, bool makes)
{
    change->parent = inode_ref (parent);
    change->makes = makes;
    change->begun = nlc_change_begin (this, parent, change->name, makes, &change->absent);
}

static void
change_end_of (xlator_t *this, const struct nlc_change *change, bool known, enum nlc_state state)
{
    if (change->parent)
        nlc_change_end (this, change->parent, change->name, change->begun, change->makes, known, state);
}

static void
begin (call_frame_t *frame, xlator_t *this, const loc_t *loc, bool makes)
{
    change_begin_of (this, &local_new (frame, this, loc->name, NULL)->changes[0], loc->parent, makes);
}

/* It was made. */
static void
made (call_frame_t *frame, xlator_t *this, int op_ret)
{
    const struct nlc_local *local = frame->local;

    change_end_of (this, &local->changes[0], op_ret >= 0, NLC_PRESENT);
}

static void
removed (call_frame_t *frame, xlator_t *this, int op_ret, int op_errno)
{
    const struct nlc_local *local = frame->local;

    change_end_of (this, &local->changes[0], op_ret >= 0 || op_errno == ENOENT, NLC_ABSENT);
}

void
nlc_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode, mode_t umask, fd_t *fd, dict_t *xdata)
{
    begin (frame, this, loc, true);
    STACK_WIND (frame, nlc_create_cbk, FIRST_CHILD (this), create, loc, flags, mode, umask, fd, xdata);
}

static void
nlc_create_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, fd_t *fd, inode_t *inode,
                struct iatt *buf, struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    made (frame, this, op_ret);
    STACK_UNWIND (create, frame, op_ret, op_errno, fd, inode, buf, preparent, postparent, xdata);
}

void
nlc_mknod (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, dev_t rdev, mode_t umask, dict_t *xdata)
{
    begin (frame, this, loc, true);
    STACK_WIND (frame, nlc_mknod_cbk, FIRST_CHILD (this), mknod, loc, mode, rdev, umask, xdata);
}

static void
nlc_mknod_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, inode_t *inode,
               struct iatt *buf, struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    made (frame, this, op_ret);
    STACK_UNWIND (mknod, frame, op_ret, op_errno, inode, buf, preparent, postparent, xdata);
}

void
nlc_mkdir (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask, dict_t *xdata)
{
    begin (frame, this, loc, true);
    STACK_WIND (frame, nlc_mkdir_cbk, FIRST_CHILD (this), mkdir, loc, mode, umask, xdata);
}

static void
nlc_mkdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, inode_t *inode,
               struct iatt *buf, struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    const struct nlc_local *local = frame->local;

    if (op_ret >= 0)
        nlc_keep_whole (this, &buf->ia_gfid, local->at);
    made (frame, this, op_ret);
    STACK_UNWIND (mkdir, frame, op_ret, op_errno, inode, buf, preparent, postparent, xdata);
}

void
nlc_symlink (call_frame_t *frame, xlator_t *this, const char *linkpath, loc_t *loc, mode_t umask, dict_t *xdata)
{
    begin (frame, this, loc, true);
    STACK_WIND (frame, nlc_symlink_cbk, FIRST_CHILD (this), symlink, linkpath, loc, umask, xdata);
}

static void
nlc_symlink_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, inode_t *inode,
                 struct iatt *buf, struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    made (frame, this, op_ret);
    STACK_UNWIND (symlink, frame, op_ret, op_errno, inode, buf, preparent, postparent, xdata);
}

void
nlc_link (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, dict_t *xdata)
{
    begin (frame, this, newloc, true);
    STACK_WIND (frame, nlc_link_cbk, FIRST_CHILD (this), link, oldloc, newloc, xdata);
}

static void
nlc_link_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, inode_t *inode,
              struct iatt *buf, struct iatt *preparent, struct iatt *postparent, dict_t *xdata)
{
    made (frame, this, op_ret);
    STACK_UNWIND (link, frame, op_ret, op_errno, inode, buf, preparent, postparent, xdata);
}

void
nlc_unlink (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t xflag, dict_t *xdata)
{
    begin (frame, this, loc, false);
    STACK_WIND (frame, nlc_unlink_cbk, FIRST_CHILD (this), unlink, loc, xflag, xdata);
}

static void
nlc_unlink_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct iatt *preparent,
                struct iatt *postparent, dict_t *xdata)
{
    removed (frame, this, op_ret, op_errno);
    STACK_UNWIND (unlink, frame, op_ret, op_errno, preparent, postparent, xdata);
}

void
nlc_rmdir (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t flags, dict_t *xdata)
{
    begin (frame, this, loc, false);
    STACK_WIND (frame, nlc_rmdir_cbk, FIRST_CHILD (this), rmdir, loc, flags, xdata);
}

static void
nlc_rmdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct iatt *preparent,
               struct iatt *postparent, dict_t *xdata)
{
    removed (frame, this, op_ret, op_errno);
    STACK_UNWIND (rmdir, frame, op_ret, op_errno, preparent, postparent, xdata);
}

/* What it leaves behind is nothing, unless something else comes there, or both are names of one file: then it does nothing. */
void
nlc_rename (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, uint32_t flags, dict_t *xdata)
{
    struct nlc_local *local = local_new (frame, this, oldloc->name, newloc->name);

    change_begin_of (this, &local->changes[0], oldloc->parent, flags & (RENAME_EXCHANGE | RENAME_WHITEOUT));
    change_begin_of (this, &local->changes[1], newloc->parent, true);
    local->known = local->changes[1].absent || flags & (RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT);
    STACK_WIND (frame, nlc_rename_cbk, FIRST_CHILD (this), rename, oldloc, newloc, flags, xdata);
}

static void
nlc_rename_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct iatt *buf,
                struct iatt *preoldparent, struct iatt *postoldparent, struct iatt *prenewparent, struct iatt *postnewparent,
                dict_t *xdata)
{
    const struct nlc_local *local = frame->local;

    change_end_of (this, &local->changes[1], op_ret >= 0, NLC_PRESENT);
    change_end_of (this, &local->changes[0], op_ret >= 0 && local->known, local->changes[0].makes ? NLC_PRESENT : NLC_ABSENT);
    STACK_UNWIND (rename, frame, op_ret, op_errno, buf, preoldparent, postoldparent, prenewparent, postnewparent, xdata);
}
