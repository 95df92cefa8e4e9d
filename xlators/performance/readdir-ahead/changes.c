/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Notes changes. A change is noted when it begins and when it ends, since entries read meanwhile
 * may be from before or after it. In between, its inode counts the change as under way. The clock
 * only advances while a directory is, or has been, read ahead: a call that is made later sees all
 * changes that ended before.
 */
#include "readdir-ahead.h"

/* Context of each inode that changed. No lock: each write comes here twice.
 * core/cache/change-views.h states the guarantees. */
struct rda_inode {
    struct change_view file, names;
};

static struct rda_inode *
inode_get (xlator_t *this, inode_t *inode)
{
    return inode ? inode_ctx_get (inode, this) : NULL;
}

static void *
inode_new_views (xlator_t *this, inode_t *inode)
{
    return g_new0 (struct rda_inode, 1);
}

static struct rda_inode *
inode_make (xlator_t *this, inode_t *inode)
{
    return inode_ctx_make (inode, this, inode_new_views, g_free);
}

/* Two threads may arrive in another order than they took their times. */
static void
view_raise (struct change_view *view, uint64_t now)
{
    uint64_t was = RDA_GET (view->changed_at);

    while (was < now
           && !__atomic_compare_exchange_n (&view->changed_at, &was, now, false, __ATOMIC_SEQ_CST,
                                            __ATOMIC_SEQ_CST))
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

/* The time of the last change of a forgotten inode raises private.any: an older entry for that file
 * can't be checked against the inode any more. */
void
rda_forget (xlator_t *this, inode_t *inode)
{
    struct rda_inode *ri = inode_get (this, inode);

    if (!ri)
        return;
    view_raise (&rda_priv (this)->any, RDA_GET (ri->file.changed_at));
    g_free (ri);
}

/* --- noting ----------------------------------------------------------------------------------- */

static void
note (xlator_t *this, inode_t *inode, unsigned what, void (*fn) (xlator_t *, struct change_view *))
{
    struct rda_inode *ri = inode_make (this, inode);

    if (what & RDA_FILE)
        fn (this, &ri->file);
    if (what & RDA_NAMES)
        fn (this, &ri->names);
}

/* A removed name stood for an inode whose attributes change, and whose names may change too if it
 * is a directory. If the caller does not know the inode, it may have other names in directories
 * that were read ahead. A create may truncate an existing file; which file is known only at the
 * end. */
static void
note_change (xlator_t *this, const struct change *change, inode_t *inode, bool any,
             void (*fn) (xlator_t *, struct change_view *))
{
    const unsigned what = change->what & ~CHANGES_NAMES;

    if (change->parent)
        note (this, change->parent, RDA_NAMES | RDA_FILE, fn);
    if (what && inode)
        note (this, inode, change->parent ? RDA_FILE | RDA_NAMES : RDA_FILE, fn);
    else if (what && any)
        fn (this, &rda_priv (this)->any);
    else if (what && change->parent)
        fn (this, &rda_priv (this)->any_linked);
}

static void
rda_bracket_begin (const struct call *call, struct change *change)
{
    change->own[0] = (uintptr_t) change->inode;
    note_change (call->this, change, change->inode, call->op == FOP_create, view_begin);
}

static void
rda_bracket_end (const struct answer *answer, struct change *change)
{
    note_change (answer->this, change, (inode_t *) (uintptr_t) change->own[0],
                 answer->op == FOP_create, view_end);
}

static const struct change_bracket rda_bracket = {
    RDA_MATTERS, rda_bracket_begin, rda_bracket_end
};

void
rda_any_fop (const struct call *call)
{
    change_bracket_call (&rda_bracket, call);
}

void
rda_any_fop_cbk (const struct answer *answer)
{
    change_bracket_answer (&rda_bracket, answer);
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

/* --- checking --------------------------------------------------------------------------------- */

bool
rda_names_changed (xlator_t *this, inode_t *inode, uint64_t clock)
{
    const struct rda_inode *ri = inode_get (this, inode);

    return !change_view_holds (&rda_priv (this)->any_names, clock)
        || (ri && !change_view_holds (&ri->names, clock));
}

/* Looks up the inode by gfid: the table may hold the file under another inode than the one in the
 * entry. */
bool
rda_entry_is_stale (xlator_t *this, const gf_dirent_t *entry, uint64_t clock)
{
    const rda_private_t *priv = this->private;
    const bool linked = entry->d_stat.ia_nlink > 1 && entry->d_stat.ia_type != IA_IFDIR;
    g_autoptr (inode_t) inode = NULL;
    const struct rda_inode *ri;

    if (!change_view_holds (&priv->any, clock)
        || (linked && !change_view_holds (&priv->any_linked, clock)))
        return true;
    inode = inode_find (entry->inode->table, &entry->d_stat.ia_gfid);
    ri = inode_get (this, inode);
    return ri && !change_view_holds (&ri->file, clock);
}
