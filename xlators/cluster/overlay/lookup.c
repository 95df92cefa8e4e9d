/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lookup of a name: a sequence through the layers, from the upper on. In each layer the name is
 * looked up as the caller. What is found there may have marks, which the translator reads as root.
 *
 *   - ENOENT and ENOTDIR mean that a layer does not have the name; any other error fails the
 *     lookup.
 *   - A whiteout, a file, and an opaque directory hide what the layers below have.
 *   - An object that was found in a lower may have been copied by another name of it: then the
 *     attributes are those of the copy.
 */
#include "overlay.h"

enum { OVERLAY_ANSWER_MAIN, OVERLAY_ANSWER_IDENTITY, OVERLAY_ANSWERS };

static xlator_t *
overlay_of_lookup (const struct overlay_local *local)
{
    return local->sequence.frame->this;
}

static inode_t *
overlay_lookup_directory (const struct overlay_local *local)
{
    return realm_below (overlay_of_lookup (local), local->loc.parent, local->slot);
}

void
overlay_lookup_drop (struct overlay_local *local)
{
    for (inode_t **one = local->below; one && *one != (inode_t *) local; one++)
        inode_unref (*one);
    g_free (local->below);
    loc_wipe (&local->loc);
}

/* --- winds ------------------------------------------------------------------------------------ */

static void
overlay_wind_look (struct overlay_local *local)
{
    xlator_t *this = overlay_of_lookup (local);
    xlator_t *layer = overlay_priv (this)->layers[local->slot].xlator;
    inode_t *known = realm_below (this, local->loc.inode, local->slot);
    g_autoptr (inode_t) fresh = known ? NULL : inode_new (layer->realm->itable);
    loc_t loc = { .name = local->loc.name, .parent = overlay_lookup_directory (local),
                  .inode = known ? known : fresh };

    STEP_WIND (&local->sequence, local->sequence.frame, OVERLAY_ANSWER_MAIN, layer, lookup, &loc,
               NULL);
    loc_wipe_path (&loc);
}

/* Marks of an object in the upper tell who it was; marks of a directory whether it is opaque. */
static void
overlay_wind_marks (struct overlay_local *local)
{
    xlator_t *this = overlay_of_lookup (local);
    xlator_t *layer = overlay_priv (this)->layers[local->slot].xlator;
    g_autofree char *opaque = overlay_mark_name (this, "opaque");
    g_autofree char *identity = overlay_mark_name (this, "windlass");
    inode_t *below = local->below[local->slot];
    const bool directory = below->ia_type == IA_IFDIR;
    loc_t loc = { .inode = below };

    if (!local->sequence.own)
        local->sequence.own = &stack_new_internal (this, local->sequence.frame)->frames[0];
    if (directory)
        STEP_WIND (&local->sequence, local->sequence.own, OVERLAY_ANSWER_MAIN, layer, getxattr,
                   &loc, opaque, NULL);
    if (local->slot == OVERLAY_UPPER)
        STEP_WIND (&local->sequence, local->sequence.own, OVERLAY_ANSWER_IDENTITY, layer, getxattr,
                   &loc, identity, NULL);
    loc_wipe_path (&loc);
}

static void
overlay_wind_stat (struct overlay_local *local)
{
    xlator_t *this = overlay_of_lookup (local);
    loc_t loc = { .inode = realm_below (this, local->inode, local->slot) };

    STEP_WIND (&local->sequence, local->sequence.frame, OVERLAY_ANSWER_MAIN,
               overlay_priv (this)->layers[local->slot].xlator, stat, &loc, NULL);
    loc_wipe_path (&loc);
}

static void
overlay_look_run (void *data)
{
    struct overlay_local *local = data;

    if (local->phase == OVERLAY_LOOK)
        overlay_wind_look (local);
    else if (local->phase == OVERLAY_MARKS)
        overlay_wind_marks (local);
    else
        overlay_wind_stat (local);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* The name was found in all layers where it counts: the inode above is known. */
static int
overlay_look_resolve (struct overlay_local *local)
{
    const overlay_private_t *priv = overlay_priv (overlay_of_lookup (local));
    xlator_t *this = overlay_of_lookup (local);
    struct overlay_inode *ctx;

    if (local->first == priv->n)
        return -ENOENT;
    local->inode = overlay_above (local->loc.inode, local->loc.parent->table,
                                  gfid_is_null (&local->origin) ? &local->buf.ia_gfid
                                                                : &local->origin);
    for (unsigned slot = 0; slot < priv->n; slot++)
        if (local->below[slot])
            realm_join (this, local->inode, slot, local->below[slot]);
    if (local->number) {
        ctx = overlay_inode_get (this, local->inode);
        __atomic_store_n (&ctx->number, local->number, __ATOMIC_RELAXED);
    }
    if (local->first == OVERLAY_UPPER || !realm_below (this, local->inode, OVERLAY_UPPER))
        return 0;
    local->phase = OVERLAY_STAT;
    local->slot = local->first = OVERLAY_UPPER;
    return STEP_REPEAT;
}

/* Goes to the next layer that has the directory. */
static int
overlay_look_next (struct overlay_local *local)
{
    const overlay_private_t *priv = overlay_priv (overlay_of_lookup (local));

    local->phase = OVERLAY_LOOK;
    do
        local->slot++;
    while (local->slot < priv->n && !overlay_lookup_directory (local));
    return local->done || local->slot >= priv->n ? overlay_look_resolve (local) : STEP_REPEAT;
}

static inode_t *
overlay_look_link (struct overlay_local *local, const struct lookup_reply *reply)
{
    g_autoptr (inode_t) fresh = NULL;
    inode_t *inode = reply->inode;

    if (!gfid_is_null (&inode->gfid) && !gfid_equal (&inode->gfid, &reply->buf.ia_gfid))
        inode = fresh = inode_new (inode->table);
    return inode_link (inode, overlay_lookup_directory (local), local->loc.name, &reply->buf);
}

/* Only directories are merged. */
static int
overlay_looked (struct overlay_local *local, const struct lookup_reply *reply)
{
    const overlay_private_t *priv = overlay_priv (overlay_of_lookup (local));
    const bool directory = reply->buf.ia_type == IA_IFDIR;
    const bool first = local->first == priv->n;
    g_autoptr (inode_t) linked = overlay_look_link (local, reply);

    local->done |= !directory;
    if (overlay_is_whiteout (&reply->buf) || (!first && !directory))
        return overlay_look_next (local);
    local->below[local->slot] = g_steal_pointer (&linked);
    if (first) {
        local->first = local->slot;
        local->buf = reply->buf;
    }
    if (local->slot != OVERLAY_UPPER && !directory)
        return overlay_look_next (local);
    local->phase = OVERLAY_MARKS;
    return STEP_REPEAT;
}

static int
overlay_mark_error (const struct fan_answer *answer)
{
    const bool none = answer->op == FOP_NONE || answer->op_ret >= 0
                      || answer->op_errno == ENODATA || answer->op_errno == EOPNOTSUPP;

    return none ? 0 : -answer->op_errno;
}

static int
overlay_marked (struct overlay_local *local)
{
    xlator_t *this = overlay_of_lookup (local);
    const struct fan_answer *answers = local->sequence.fan.answers;
    const struct fan_answer *main = &answers[OVERLAY_ANSWER_MAIN];
    const struct fan_answer *who = &answers[OVERLAY_ANSWER_IDENTITY];
    g_autofree char *opaque = overlay_mark_name (this, "opaque");
    g_autofree char *identity = overlay_mark_name (this, "windlass");
    int r = overlay_mark_error (main);

    if (r == 0)
        r = overlay_mark_error (who);
    if (r < 0)
        return r;
    if (main->op != FOP_NONE && main->op_ret >= 0)
        local->done |= overlay_is_opaque (main->getxattr.dict, opaque);
    if (who->op != FOP_NONE && who->op_ret >= 0)
        overlay_identity_read (who->getxattr.dict, identity, &local->origin, &local->number);
    return overlay_look_next (local);
}

static int
overlay_look_judge (void *data)
{
    struct overlay_local *local = data;
    const struct fan_answer *main = &local->sequence.fan.answers[OVERLAY_ANSWER_MAIN];

    if (local->phase == OVERLAY_MARKS)
        return overlay_marked (local);
    if (local->phase == OVERLAY_LOOK && main->op_ret >= 0)
        return overlay_looked (local, &main->lookup);
    if (local->phase == OVERLAY_LOOK && (main->op_errno == ENOENT || main->op_errno == ENOTDIR)) {
        inode_unlink (overlay_lookup_directory (local), local->loc.name);
        return overlay_look_next (local);
    }
    if (main->op_ret < 0)
        return -main->op_errno;
    local->buf = main->stat.buf;
    return 0;
}

/* --- the operation ---------------------------------------------------------------------------- */

static void
overlay_look_answer (void *data)
{
    struct overlay_local *local = data;
    call_frame_t *frame = local->sequence.frame;

    overlay_iatt_above (frame->this, local->inode, local->first, &local->buf);
    if (gfid_is_null (&local->inode->gfid) && !gfid_is_null (&local->origin))
        local->buf.ia_gfid = local->origin; /* a copy whose inode was forgotten */
    STACK_UNWIND (lookup, frame, 0, 0, local->inode, &local->buf, NULL, NULL);
}

static const struct step overlay_look_steps[] = {
    STEP ("look", overlay_look_run, overlay_look_judge),
    {},
};

/* A lookup without a name, or of "." and "..". */
static void
overlay_lookup_inode (const struct call *call, struct overlay_local *local, inode_t *inode)
{
    local->slot = local->first = overlay_slot (call->this, inode);
    if (local->slot == overlay_priv (call->this)->n) {
        call_fail (call, ESTALE);
        return;
    }
    local->inode = inode_ref (inode);
    local->phase = OVERLAY_STAT;
    sequence_start (&local->sequence, call->frame, overlay_look_steps, OVERLAY_ANSWERS, inode,
                    overlay_look_answer);
}

static void
overlay_lookup_up (const struct call *call, struct overlay_local *local)
{
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;

    if (gfid_equal (&call->loc->parent->gfid, &gfid_root))
        overlay_lookup_inode (call, local, call->loc->parent);
    else if (inode_a_name (call->loc->parent, &parent, &name))
        overlay_lookup_inode (call, local, parent);
    else
        call_fail (call, ESTALE);
}

void
overlay_lookup (const struct call *call)
{
    const overlay_private_t *priv = overlay_priv (call->this);
    struct overlay_local *local = overlay_local_of (call->frame);
    const char *name = call->loc->parent ? call->loc->name : NULL;

    if (name && call->loc->parent->ia_type != IA_IFDIR) {
        call_fail (call, ENOTDIR);
        return;
    }
    if (!name || strcmp (name, ".") == 0) {
        overlay_lookup_inode (call, local, name ? call->loc->parent : call->loc->inode);
        return;
    }
    if (strcmp (name, "..") == 0) {
        overlay_lookup_up (call, local);
        return;
    }
    loc_copy (&local->loc, call->loc);
    local->slot = overlay_slot (call->this, call->loc->parent);
    local->first = priv->n;
    local->below = g_new0 (inode_t *, priv->n + 1);
    local->below[priv->n] = (inode_t *) local;
    if (local->slot == priv->n)
        call_fail (call, ESTALE);
    else
        sequence_start (&local->sequence, call->frame, overlay_look_steps, OVERLAY_ANSWERS,
                        call->loc->parent, overlay_look_answer);
}
