/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who changes what. A change is noted when it begins and when it ends, since what is read meanwhile may be from before or after. In
 * between its inode is busy. The clock goes on only while something is, or is being, read ahead: what is asked for later sees
 * all that ended before.
 */
#include "readdir-ahead.h"

/* Kept with each inode that changed. Without a lock, since a write comes here twice: core/changes.h tells what holds. */
struct rda_inode {
    struct change_view file, names;
};

static struct rda_inode *
inode_get (xlator_t *this, inode_t *inode)
{
    return inode ? inode_ctx_get (inode, this) : NULL;
}

static struct rda_inode *
inode_make (xlator_t *this, inode_t *inode)
{
    struct rda_inode *ri = inode_ctx_get (inode, this), *there;

    if (ri)
        return ri;
    ri = g_new0 (struct rda_inode, 1);
    there = inode_ctx_set (inode, this, ri);
    if (there != ri)
        g_free (ri);
    return there;
}

/* Two may come here in another order than they got their times in. */
static void
view_raise (struct change_view *view, uint64_t now)
{
    uint64_t was = RDA_GET (view->changed_at);

    while (was < now
           && !__atomic_compare_exchange_n (&view->changed_at, &was, now, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
}

static void
view_stamp (xlator_t *this, struct change_view *view)
{
    if (RDA_GET (rda_priv (this)->watching) > 0)
        view_raise (view, change_clock_next (&rda_priv (this)->clock));
}

static void
view_begin (xlator_t *this, struct change_view *view)
{
    __atomic_add_fetch (&view->under_way, 1, __ATOMIC_SEQ_CST);
    view_stamp (this, view);
}

static void
view_end (xlator_t *this, struct change_view *view)
{
    view_stamp (this, view);
    __atomic_sub_fetch (&view->under_way, 1, __ATOMIC_SEQ_CST);
}

/* An inode that goes takes along when it changed: whoever has an old entry of it doesn't find it any more. */
void
rda_forget (xlator_t *this, inode_t *inode)
{
    struct rda_inode *ri = inode_get (this, inode);

    if (!ri)
        return;
    view_raise (&rda_priv (this)->any, RDA_GET (ri->file.changed_at));
    g_free (ri);
}

/* --- noting ------------------------------------------------------------------------------------- */

static void
inode_begin (xlator_t *this, inode_t *inode, unsigned what)
{
    struct rda_inode *ri = inode_make (this, inode);

    if (what & RDA_FILE)
        view_begin (this, &ri->file);
    if (what & RDA_NAMES)
        view_begin (this, &ri->names);
}

static void
inode_end (xlator_t *this, inode_t *inode, unsigned what)
{
    struct rda_inode *ri = inode_get (this, inode);

    if (what & RDA_FILE)
        view_end (this, &ri->file);
    if (what & RDA_NAMES)
        view_end (this, &ri->names);
}

static void
changes_begin (xlator_t *this, const struct rda_changes *changes)
{
    for (unsigned i = 0; i < changes->n; i++)
        inode_begin (this, changes->inodes[i], changes->what[i]);
    if (changes->any)
        view_begin (this, &rda_priv (this)->any);
    if (changes->any_linked)
        view_begin (this, &rda_priv (this)->any_linked);
}

static void
changes_end (xlator_t *this, const struct rda_changes *changes)
{
    for (unsigned i = 0; i < changes->n; i++)
        inode_end (this, changes->inodes[i], changes->what[i]);
    if (changes->any)
        view_end (this, &rda_priv (this)->any);
    if (changes->any_linked)
        view_end (this, &rda_priv (this)->any_linked);
}

void
rda_changes_clear (struct rda_changes *changes)
{
    for (unsigned i = 0; i < changes->n; i++)
        inode_unref (changes->inodes[i]);
}

void
rda_changed (xlator_t *this, inode_t *inode, unsigned what)
{
    rda_private_t *priv = this->private;
    const uint64_t now = change_clock_next (&priv->clock);
    struct rda_inode *ri = inode ? inode_make (this, inode) : NULL;

    if (what & RDA_FILE)
        view_raise (ri ? &ri->file : &priv->any, now);
    if (what & RDA_NAMES)
        view_raise (ri ? &ri->names : &priv->any_names, now);
}

/* --- asking ------------------------------------------------------------------------------------- */

bool
rda_names_changed (xlator_t *this, inode_t *inode, uint64_t clock)
{
    const struct rda_inode *ri = inode_get (this, inode);

    return !change_view_holds (&rda_priv (this)->any_names, clock) || (ri && !change_view_holds (&ri->names, clock));
}

/* The table may know the file by another inode than the one that was answered. */
bool
rda_entry_is_stale (xlator_t *this, const gf_dirent_t *entry, uint64_t clock)
{
    const rda_private_t *priv = this->private;
    const bool linked = entry->d_stat.ia_nlink > 1 && entry->d_stat.ia_type != IA_IFDIR;
    g_autoptr (inode_t) inode = NULL;
    const struct rda_inode *ri;

    if (!change_view_holds (&priv->any, clock) || (linked && !change_view_holds (&priv->any_linked, clock)))
        return true;
    inode = inode_find (entry->inode->table, &entry->d_stat.ia_gfid);
    ri = inode_get (this, inode);
    return ri && !change_view_holds (&ri->file, clock);
}

/* --- the operations ----------------------------------------------------------------------------- */

static void
changes_add (struct rda_changes *changes, inode_t *inode, unsigned what)
{
    if (!inode)
        return;
    changes->inodes[changes->n] = inode_ref (inode);
    changes->what[changes->n++] = (uint8_t) what;
}

/* A name that goes. Where nobody knows what it stands for, that may have other names, of which something was read ahead. */
static void
changes_add_gone (struct rda_changes *changes, const loc_t *loc, unsigned what)
{
    changes_add (changes, loc->parent, RDA_NAMES | RDA_FILE);
    changes_add (changes, loc->inode, what);
    if (!loc->inode)
        changes->any_linked = true;
}

static void
changes_of (const struct call *call, struct rda_changes *changes)
{
    switch (call->op) {
    case FOP_create: /* may be of a file that is there; which one nobody knows */
        changes->any = call->flags & O_TRUNC && !(call->flags & O_EXCL);
        /* fall through */
    case FOP_mknod:
    case FOP_mkdir:
    case FOP_symlink: changes_add (changes, call->loc->parent, RDA_NAMES | RDA_FILE); break;
    case FOP_link:
        changes_add (changes, call->loc->inode, RDA_FILE);
        changes_add (changes, call->newloc->parent, RDA_NAMES | RDA_FILE);
        break;
    case FOP_unlink: changes_add_gone (changes, call->loc, RDA_FILE); break;
    case FOP_rmdir: changes_add_gone (changes, call->loc, RDA_FILE | RDA_NAMES); break;
    case FOP_rename:
        changes_add_gone (changes, call->loc, RDA_FILE);
        changes_add_gone (changes, call->newloc, RDA_FILE | RDA_NAMES);
        break;
    case FOP_copy_file_range: changes_add (changes, call->fd_out->inode, RDA_FILE); break;
    default: changes_add (changes, call->fd ? call->fd->inode : call->loc->inode, RDA_FILE); break;
    }
}

void
rda_every (const struct call *call)
{
    struct rda_local *local = frame_local_new (call->frame, sizeof *local);

    changes_of (call, &local->changes);
    changes_begin (call->this, &local->changes);
    call_wind (call, FIRST_CHILD (call->this), NULL);
}

void
rda_every_cbk (const struct answer *answer)
{
    const struct rda_local *local = answer->frame->local;

    changes_end (answer->this, &local->changes);
    answer_pass (answer);
}

static open_cbk rda_open_cbk;
static writev_cbk rda_writev_cbk;

void
rda_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd, dict_t *xdata)
{
    if (!(flags & O_TRUNC)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), open, loc, flags, fd, xdata);
        return;
    }
    inode_begin (this, loc->inode, RDA_FILE);
    STACK_WIND_COOKIE (frame, rda_open_cbk, inode_ref (loc->inode), FIRST_CHILD (this), open, loc, flags, fd, xdata);
}

static void
change_over (xlator_t *this, inode_t *inode)
{
    inode_end (this, inode, RDA_FILE);
    inode_unref (inode);
}

static void
rda_open_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, fd_t *fd, dict_t *xdata)
{
    change_over (this, cookie);
    STACK_UNWIND (open, frame, op_ret, op_errno, fd, xdata);
}

void
rda_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count, off_t offset, uint32_t flags,
            struct iobref *iobref, dict_t *xdata)
{
    inode_begin (this, fd->inode, RDA_FILE);
    STACK_WIND_COOKIE (frame, rda_writev_cbk, inode_ref (fd->inode), FIRST_CHILD (this), writev, fd, vector, count, offset, flags,
                       iobref, xdata);
}

static void
rda_writev_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct iatt *prebuf,
                struct iatt *postbuf, dict_t *xdata)
{
    change_over (this, cookie);
    STACK_UNWIND (writev, frame, op_ret, op_errno, prebuf, postbuf, xdata);
}
