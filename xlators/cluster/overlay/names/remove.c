/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* unlink and rmdir. A name that has lowers gets a whiteout. */
#include "links.h"
#include "names.h"
#include "../formats/records.h"

#include <linux/stat.h>

/* A removal: what the name stands for, and the directory of rmdir. */
struct overlay_removal {
    const loc_t *loc;
    bool directory;
    inode_t *victim; /* above, with a reference */
    struct overlay_name at;
};

static int
overlay_removal_check (struct overlay_act *act, const struct overlay_removal *removal)
{
    const struct iatt *buf = overlay_name_buf (&removal->at);
    const bool is_directory = buf->ia_type == IA_IFDIR;

    if (!overlay_name_shows (&removal->at))
        return -ENOENT;
    if (!overlay_name_is (act->this, &removal->at, removal->victim))
        return OVERLAY_OTHER;
    if (removal->directory != is_directory)
        return is_directory ? -EISDIR : -ENOTDIR;
    if (buf->ia_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
        return -EPERM;
    return is_directory ? overlay_is_empty (act, removal->victim) : 0;
}

static int
overlay_remove_plainly (struct overlay_act *act, const struct overlay_removal *removal)
{
    inode_t *directory = realm_below (act->this, removal->loc->parent, OVERLAY_UPPER);
    const char *name = removal->loc->name;

    return sync_name_remove (overlay_caller (act), directory, name, removal->at.upper);
}

/* A lower's file loses the name before others miss it: from then on a lookup of the name fails, too
 * (look_answer). */
static int
overlay_remove_lower (struct overlay_act *act, const struct overlay_removal *removal)
{
    int r;

    if (!removal->directory)
        overlay_name_lost (act->this, removal->victim, true);
    r = overlay_whiteout (act, removal->loc->parent, removal->loc->name);
    if (r < 0 && !removal->directory)
        overlay_name_lost (act->this, removal->victim, false);
    return r;
}

static int
overlay_remove_name (struct overlay_act *act, const struct overlay_removal *removal)
{
    const struct overlay_name *at = &removal->at;
    const loc_t *loc = removal->loc;
    int r = -ENOTEMPTY;

    if (at->upper && !at->lower)
        r = overlay_remove_plainly (act, removal);
    if (r != -ENOTEMPTY)
        return r;
    r = overlay_may_change (act, loc->parent, overlay_name_buf (at));
    if (r == 0)
        r = overlay_record_name (act, loc->parent, loc->name, at);
    if (r < 0)
        return r;
    if (!at->upper)
        return overlay_remove_lower (act, removal);
    return removal->directory ? overlay_take_away (act, loc->parent, loc->name, at)
                              : overlay_cover (act, loc->parent, loc->name, at->upper);
}

static int
overlay_remove_at (struct overlay_act *act, struct overlay_removal *removal)
{
    const loc_t *loc = removal->loc;
    int r = overlay_name_look (act, loc->parent, loc->name, &removal->at);

    if (r == 0)
        r = overlay_removal_check (act, removal);
    if (r != 0)
        return r;
    if (removal->directory)
        overlay_die (act->this, removal->victim, true);
    r = overlay_remove_name (act, removal);
    if (r == 0 && !removal->directory)
        overlay_name_removed (act, loc->parent, removal->victim);
    if (r < 0 && removal->directory)
        overlay_die (act->this, removal->victim, false);
    return r;
}

static void
overlay_remove_answer (const struct call *call, struct overlay_parent *parent)
{
    struct iatt *pre = parent->has_post ? &parent->pre : NULL;
    struct iatt *post = parent->has_post ? &parent->post : NULL;

    if (call->op == FOP_unlink)
        STACK_UNWIND (unlink, call->frame, 0, 0, pre, post, NULL);
    else
        STACK_UNWIND (rmdir, call->frame, 0, 0, pre, post, NULL);
}

/* known: what the caller takes the name for, or NULL. The directory's own turn keeps names from
 * being made in it meanwhile. */
static int
overlay_remove_try (struct overlay_act *act, struct overlay_removal *removal, inode_t *known,
                    struct overlay_parent *parent)
{
    const loc_t *loc = removal->loc;
    inode_t *own;
    int r = overlay_look_above (act, loc->parent, loc->name, known, &removal->victim);

    if (r < 0)
        return r;
    own = removal->directory ? removal->victim : NULL;
    overlay_turns_take (act->this, loc->parent, own);
    overlay_parent_before (act, loc->parent, parent);
    r = overlay_remove_at (act, removal);
    overlay_parent_after (act, parent);
    overlay_turns_give (act->this, loc->parent, own);
    return r;
}

static void
overlay_removal_clear (struct overlay_removal *removal)
{
    overlay_name_clear (&removal->at);
    g_clear_pointer (&removal->victim, inode_unref);
}

void
overlay_remove (struct overlay_act *act, const struct call *call)
{
    struct overlay_removal removal = { .loc = call->loc, .directory = call->op == FOP_rmdir };
    struct overlay_parent parent = { 0 };
    int r = overlay_copy_up (act->this, call->loc->parent);

    if (r == 0)
        r = overlay_remove_try (act, &removal, call->loc->inode, &parent);
    for (unsigned tries = 1; r == OVERLAY_OTHER && tries < OVERLAY_TRIES; tries++) {
        overlay_removal_clear (&removal);
        removal.at = (struct overlay_name){ 0 };
        r = overlay_remove_try (act, &removal, NULL, &parent);
    }
    if (r != 0)
        call_fail (call, r < 0 ? -r : ESTALE);
    else
        overlay_remove_answer (call, &parent);
    overlay_removal_clear (&removal);
}
