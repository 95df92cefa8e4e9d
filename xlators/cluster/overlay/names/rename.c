/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rename. Both objects are in the upper first, but for an object that is replaced. A directory that
 * has lowers gets a redirect to them. In the user form of the marks there are no redirects, as in
 * the kernel's overlayfs: then the rename fails with EXDEV, and programs copy the directory.
 *
 * A name that is replaced is missing at no time, in the view or on storage, also after a power cut:
 * one rename of the upper gives the name to the other object.
 *
 * A redirect may have the names of directories above, so directories are renamed one at a time.
 */
#include "links.h"
#include "names.h"
#include "../formats/records.h"

#include <linux/stat.h>

struct overlay_renaming {
    struct overlay_act *act;
    const loc_t *from, *to;
    uint32_t flags;
    inode_t *subject, *victim; /* above, with references; victim may be NULL */
    struct overlay_name at, over;
    struct iatt buf; /* of the subject */
    bool alone;      /* a directory is renamed */
    inode_t *replaced; /* the victim, if it is a directory whose turn is taken */
    GPtrArray *emptied; /* names whose whiteouts were removed from the victim; or NULL */
    bool again;      /* what the caller takes the names for was wrong */
};

static bool
overlay_has_lowers (xlator_t *this, inode_t *inode)
{
    unsigned slot = OVERLAY_UPPER + 1;

    while (slot < overlay_priv (this)->n && !realm_below (this, inode, slot))
        slot++;
    return slot < overlay_priv (this)->n;
}

/* Brings the object of a name to the upper. */
static int
overlay_rename_object (struct overlay_act *act, inode_t *inode)
{
    if (inode->ia_type == IA_IFDIR && overlay_has_lowers (act->this, inode)
        && *overlay_priv (act->this)->prefix == 'u')
        return -EXDEV;
    return overlay_copy_up (act->this, inode);
}

/* Another name of a lower's file may have been copied: this one becomes a link to the copy. */
static int
overlay_rename_link (struct overlay_act *act, const loc_t *loc, inode_t *inode,
                     struct overlay_name *at)
{
    inode_t *directory = realm_below (act->this, loc->parent, OVERLAY_UPPER);
    inode_t *copy = realm_below (act->this, inode, OVERLAY_UPPER);
    int r;

    if (at->upper || !at->lower)
        return 0;
    r = copy ? sync_name_link (overlay_daemon (act, OVERLAY_UPPER), copy, directory, loc->name)
             : -ESTALE;
    overlay_name_clear (at);
    *at = (struct overlay_name){ 0 };
    if (r == 0)
        overlay_name_copied (act->this, inode);
    return r < 0 ? r : overlay_name_look (act, loc->parent, loc->name, at);
}

/* --- checks ----------------------------------------------------------------------------------- */

static int
overlay_rename_onto (struct overlay_renaming *renaming)
{
    const bool directory = overlay_name_buf (&renaming->over)->ia_type == IA_IFDIR;
    const bool moves_directory = renaming->subject->ia_type == IA_IFDIR;

    if (renaming->flags & RENAME_EXCHANGE)
        return 0;
    if (renaming->victim == renaming->subject)
        return 0;
    if (directory != moves_directory)
        return directory ? -EISDIR : -ENOTDIR;
    return directory ? overlay_is_empty (renaming->act, renaming->victim) : 0;
}

/* Returns whether a directory is `top`, or below it. */
static bool
overlay_is_within (inode_t *directory, const inode_t *top)
{
    g_autoptr (inode_t) at = inode_ref (directory);

    while (at != top) {
        g_autoptr (inode_t) parent = NULL;
        g_autofree char *name = NULL;

        if (!inode_a_name (at, &parent, &name))
            return false;
        inode_unref (at);
        at = g_steal_pointer (&parent);
    }
    return true;
}

/* A directory does not move into itself, nor over one that it is in. The kernel checks that before
 * it asks, in this order; other callers rely on the answer. */
static int
overlay_rename_circle (const struct overlay_renaming *renaming)
{
    if (overlay_name_shows (&renaming->over) && renaming->flags & RENAME_NOREPLACE)
        return -EEXIST;
    if (overlay_is_within (renaming->to->parent, renaming->subject))
        return -EINVAL;
    if (!renaming->victim || !overlay_is_within (renaming->from->parent, renaming->victim))
        return 0;
    return renaming->flags & RENAME_EXCHANGE ? -EINVAL : -ENOTEMPTY;
}

static int
overlay_rename_check (struct overlay_renaming *renaming)
{
    struct overlay_act *act = renaming->act;
    const bool replaces = overlay_name_shows (&renaming->over);
    int r;

    if (!overlay_name_shows (&renaming->at))
        return -ENOENT;
    if (!replaces && renaming->flags & RENAME_EXCHANGE)
        return -ENOENT;
    r = overlay_rename_circle (renaming);
    if (r == 0)
        r = overlay_may_change (act, renaming->from->parent, overlay_name_buf (&renaming->at));
    if (r == 0)
        r = overlay_may_change (act, renaming->to->parent,
                                replaces ? overlay_name_buf (&renaming->over) : NULL);
    return r == 0 && replaces ? overlay_rename_onto (renaming) : r;
}

/* --- the rename ------------------------------------------------------------------------------- */

static struct overlay_move
overlay_rename_move (const struct overlay_renaming *renaming)
{
    xlator_t *this = renaming->act->this;

    return (struct overlay_move){
        realm_below (this, renaming->from->parent, OVERLAY_UPPER), renaming->from->name,
        renaming->at.upper, realm_below (this, renaming->to->parent, OVERLAY_UPPER),
        renaming->to->name, renaming->over.upper,
    };
}

/* A directory goes on to have the lowers that it has, also if the new name has others. The mark is
 * synced: after a power cut the new name would show other lowers without it. */
static int
overlay_rename_mark (struct overlay_renaming *renaming, const loc_t *from, inode_t *inode,
                     const struct overlay_name *at, const struct overlay_name *over)
{
    struct overlay_act *act = renaming->act;
    const bool merged = overlay_has_lowers (act->this, inode);
    int r;

    if (inode->ia_type != IA_IFDIR || (!merged && !over->lower))
        return 0;
    r = merged ? overlay_redirect_set (act, from->parent, from->name, inode,
                                       renaming->from->parent == renaming->to->parent)
               : overlay_mark_set (act, at->upper, OVERLAY_OPAQUE, "y", 1);
    return r < 0 ? r : overlay_sync_inode (act, OVERLAY_UPPER, at->upper);
}

/* Marks all that is in the way of the move. */
static int
overlay_rename_marks (struct overlay_renaming *renaming)
{
    struct overlay_act *act = renaming->act;
    const bool exchange = renaming->flags & RENAME_EXCHANGE;
    int r = overlay_rename_mark (renaming, renaming->from, renaming->subject, &renaming->at,
                                 &renaming->over);

    if (r == 0 && overlay_is_copied (act->this, renaming->subject))
        r = overlay_impure_set (act, renaming->to->parent);
    if (r == 0 && exchange)
        r = overlay_rename_mark (renaming, renaming->to, renaming->victim, &renaming->over,
                                 &renaming->at);
    if (r == 0 && exchange && overlay_is_copied (act->this, renaming->victim))
        r = overlay_impure_set (act, renaming->from->parent);
    return r;
}

static int
overlay_rename_exchange (struct overlay_renaming *renaming)
{
    const struct overlay_move move = overlay_rename_move (renaming);
    const int r = overlay_rename_marks (renaming);

    return r < 0 ? r : overlay_move (renaming->act, &move, RENAME_EXCHANGE, &renaming->buf);
}

/* The whiteout of the new name comes to the old one, which may need one. */
static int
overlay_rename_over_whiteout (struct overlay_renaming *renaming)
{
    struct overlay_act *act = renaming->act;
    const struct overlay_move move = overlay_rename_move (renaming);
    int r = overlay_move (act, &move, RENAME_EXCHANGE, &renaming->buf);

    if (r < 0 || renaming->at.lower)
        return r;
    return sync_name_remove (overlay_daemon (act, OVERLAY_UPPER), move.directory, move.name,
                             renaming->over.upper);
}

/* --- a directory that is replaced ------------------------------------------------------------- */

/* The view has found the directory empty, so the upper has whiteouts in it alone. */
static int
overlay_rename_reveal (struct overlay_renaming *renaming, const char *name)
{
    struct client *client = overlay_daemon (renaming->act, OVERLAY_UPPER);
    g_autoptr (inode_t) inode = NULL;
    struct iatt buf;
    int r = sync_name_look (client, renaming->over.upper, name, &inode, &buf);

    if (r == 0 && !overlay_is_whiteout (&buf))
        return -ENOTEMPTY;
    if (r == 0)
        r = sync_name_remove (client, renaming->over.upper, name, inode);
    if (r == 0)
        g_ptr_array_add (renaming->emptied, g_strdup (name));
    return r == -ENOENT ? 0 : r;
}

/* Storage replaces an empty directory in one step. So the whiteouts are removed from the victim
 * first. Before that a mark, which is synced, keeps the names of its lowers hidden after a kill or
 * a power cut; in the running view those are hidden since the directory is dead. */
static int
overlay_rename_empty (struct overlay_renaming *renaming)
{
    struct overlay_act *act = renaming->act;
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    int r = sync_names_list (overlay_daemon (act, OVERLAY_UPPER), overlay_fds (act, OVERLAY_UPPER),
                             renaming->over.upper, names);

    if (r < 0 || names->len == 0)
        return r;
    renaming->emptied = g_ptr_array_new_with_free_func (g_free);
    r = overlay_mark_set (act, renaming->over.upper, OVERLAY_OPAQUE, "y", 1);
    if (r == 0)
        r = overlay_sync_inode (act, OVERLAY_UPPER, renaming->over.upper);
    for (guint i = 0; r == 0 && i < names->len; i++)
        r = overlay_rename_reveal (renaming, names->pdata[i]);
    return r;
}

static int
overlay_rename_refill (struct overlay_renaming *renaming)
{
    loc_t loc = { .inode = renaming->over.upper };
    int r = 0;

    for (guint i = 0; r == 0 && i < renaming->emptied->len; i++)
        r = overlay_whiteout (renaming->act, renaming->victim, renaming->emptied->pdata[i]);
    if (r == 0)
        r = error_or_0 (sync_setattr (overlay_daemon (renaming->act, OVERLAY_UPPER), &loc,
                                      &renaming->over.upper_buf, IATT_ATIME | IATT_MTIME, NULL,
                                      NULL));
    loc_wipe_path (&loc);
    return r;
}

/* The rename has failed: the victim goes on as it was. Without its whiteouts it would show names of
 * the lowers that the view has removed. */
static void
overlay_rename_revive (struct overlay_renaming *renaming)
{
    g_autofree char *path = inode_path (renaming->to->parent, renaming->to->name);
    const int r = renaming->emptied ? overlay_rename_refill (renaming) : 0;

    if (r == 0)
        overlay_die (renaming->act->this, renaming->victim, false);
    else
        gf_log (renaming->act->this, GF_LOG_ERROR,
                "the directory '%s' takes no names until the next mount: a rename over it has "
                "failed, and then its whiteouts could not be made again: %s",
                path, g_strerror (-r));
}

static int
overlay_rename_names (struct overlay_renaming *renaming)
{
    struct overlay_act *act = renaming->act;
    const bool directory = renaming->at.upper->ia_type == IA_IFDIR;
    struct overlay_move move;
    int r = overlay_rename_marks (renaming);

    if (r == 0 && directory && renaming->over.upper && !renaming->over.whiteout)
        r = overlay_rename_empty (renaming);
    if (r < 0)
        return r;
    if (directory && renaming->over.whiteout)
        return overlay_rename_over_whiteout (renaming);
    move = overlay_rename_move (renaming);
    return overlay_move (act, &move, renaming->at.lower ? RENAME_WHITEOUT : 0, &renaming->buf);
}

/* --- the operation ---------------------------------------------------------------------------- */

static void
overlay_renamed (struct overlay_renaming *renaming, bool lost)
{
    overlay_iatt_above (renaming->act->this, renaming->subject, OVERLAY_UPPER, &renaming->buf);
    if (!renaming->victim || renaming->flags & RENAME_EXCHANGE)
        return;
    if (renaming->victim->ia_type == IA_IFDIR)
        return;
    if (lost)
        overlay_name_lost (renaming->act->this, renaming->victim, true);
    overlay_name_removed (renaming->act, renaming->to->parent, renaming->victim);
}

static bool
overlay_rename_is_other (const struct overlay_renaming *renaming)
{
    xlator_t *this = renaming->act->this;

    return !overlay_name_is (this, &renaming->at, renaming->subject)
           || !overlay_name_is (this, &renaming->over, renaming->victim);
}

static int
overlay_rename_look (struct overlay_renaming *renaming)
{
    struct overlay_act *act = renaming->act;
    int r = overlay_name_look (act, renaming->from->parent, renaming->from->name, &renaming->at);

    if (r == 0)
        r = overlay_name_look (act, renaming->to->parent, renaming->to->name, &renaming->over);
    if (r == 0 && overlay_rename_is_other (renaming))
        return OVERLAY_OTHER;
    if (r == 0)
        r = overlay_record_name (act, renaming->from->parent, renaming->from->name, &renaming->at);
    if (r == 0)
        r = overlay_record_name (act, renaming->to->parent, renaming->to->name, &renaming->over);
    if (r == 0 && !renaming->at.whiteout)
        r = overlay_rename_link (act, renaming->from, renaming->subject, &renaming->at);
    if (r == 0 && renaming->flags & RENAME_EXCHANGE && !renaming->over.whiteout)
        r = overlay_rename_link (act, renaming->to, renaming->victim, &renaming->over);
    return r;
}

/* Two names of one file stay as they are. */
static int
overlay_rename_at (struct overlay_renaming *renaming)
{
    int r = overlay_rename_look (renaming);
    bool lost, ends;

    if (r == 0)
        r = overlay_rename_check (renaming);
    if (r != 0)
        return r;
    if (renaming->victim == renaming->subject) {
        renaming->buf = renaming->at.upper_buf;
        overlay_iatt_above (renaming->act->this, renaming->subject, OVERLAY_UPPER, &renaming->buf);
        return 0;
    }
    lost = !renaming->over.upper && renaming->over.lower;
    ends = renaming->victim && renaming->victim->ia_type == IA_IFDIR
           && !(renaming->flags & RENAME_EXCHANGE);
    if (ends)
        overlay_die (renaming->act->this, renaming->victim, true);
    r = renaming->flags & RENAME_EXCHANGE ? overlay_rename_exchange (renaming)
                                          : overlay_rename_names (renaming);
    if (r == 0)
        overlay_renamed (renaming, lost);
    else if (ends)
        overlay_rename_revive (renaming);
    return r;
}

/* Before the turns are taken: they exclude copies. */
static int
overlay_rename_prepare (struct overlay_renaming *renaming)
{
    struct overlay_act *act = renaming->act;
    const loc_t *from = renaming->from, *to = renaming->to;
    const bool again = renaming->again;
    int r = overlay_look_above (act, from->parent, from->name, again ? NULL : from->inode,
                                &renaming->subject);

    if (r == 0)
        r = overlay_look_above (act, to->parent, to->name, again ? NULL : to->inode,
                                &renaming->victim);
    if (r == -ENOENT && renaming->subject && !(renaming->flags & RENAME_EXCHANGE))
        r = 0;
    if (r == 0)
        r = overlay_rename_object (act, renaming->subject);
    if (r == 0 && renaming->flags & RENAME_EXCHANGE)
        r = overlay_rename_object (act, renaming->victim);
    if (r == 0)
        r = overlay_copy_up (act->this, from->parent);
    return r < 0 ? r : overlay_copy_up (act->this, to->parent);
}

/* The turn of the work directory is that of renames of directories. The turn of a directory that is
 * replaced keeps names from being made in it meanwhile. */
static void
overlay_rename_alone (struct overlay_renaming *renaming)
{
    inode_t *victim = renaming->victim;
    const bool directory = victim && victim->ia_type == IA_IFDIR;
    const bool exchange = renaming->flags & RENAME_EXCHANGE;

    renaming->alone = renaming->subject->ia_type == IA_IFDIR || (exchange && directory);
    if (directory && !exchange && victim != renaming->from->parent
        && victim != renaming->to->parent) /* those are not replaced: overlay_rename_circle */
        renaming->replaced = victim;
    if (renaming->alone)
        overlay_turns_take (renaming->act->this, overlay_work (renaming->act), renaming->replaced);
}

static void
overlay_rename_answer (const struct call *call, struct overlay_renaming *renaming,
                       struct overlay_parent *old, struct overlay_parent *new)
{
    STACK_UNWIND (rename, call->frame, 0, 0, &renaming->buf, old->has_post ? &old->pre : NULL,
                  old->has_post ? &old->post : NULL, new->has_post ? &new->pre : NULL,
                  new->has_post ? &new->post : NULL, NULL);
}

static int
overlay_rename_try (struct overlay_renaming *renaming, struct overlay_parent *old,
                    struct overlay_parent *new)
{
    struct overlay_act *act = renaming->act;
    inode_t *from = renaming->from->parent, *to = renaming->to->parent;
    int r = overlay_rename_prepare (renaming);

    if (r < 0)
        return r;
    overlay_rename_alone (renaming);
    overlay_turns_take (act->this, from, to);
    overlay_parent_before (act, from, old);
    overlay_parent_before (act, to, new);
    r = overlay_rename_at (renaming);
    overlay_parent_after (act, old);
    overlay_parent_after (act, new);
    overlay_turns_give (act->this, from, to);
    if (renaming->alone)
        overlay_turns_give (act->this, overlay_work (act), renaming->replaced);
    return r;
}

static void
overlay_renaming_clear (struct overlay_renaming *renaming)
{
    overlay_name_clear (&renaming->at);
    overlay_name_clear (&renaming->over);
    renaming->at = renaming->over = (struct overlay_name){ 0 };
    renaming->replaced = NULL;
    g_clear_pointer (&renaming->emptied, g_ptr_array_unref);
    g_clear_pointer (&renaming->subject, inode_unref);
    g_clear_pointer (&renaming->victim, inode_unref);
}

void
overlay_rename (struct overlay_act *act, const struct call *call)
{
    struct overlay_renaming renaming = { .act = act, .from = call->loc, .to = call->newloc,
                                         .flags = call->flags };
    struct overlay_parent old = { 0 }, new = { 0 };
    int r = overlay_rename_try (&renaming, &old, &new);

    for (unsigned tries = 1; r == OVERLAY_OTHER && tries < OVERLAY_TRIES; tries++) {
        overlay_renaming_clear (&renaming);
        renaming.again = true;
        r = overlay_rename_try (&renaming, &old, &new);
    }
    if (r != 0)
        call_fail (call, r < 0 ? -r : ESTALE);
    else
        overlay_rename_answer (call, &renaming, &old, &new);
    overlay_renaming_clear (&renaming);
}
