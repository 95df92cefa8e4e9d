/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The last steps of a lookup: they find the inode above for what the layers have, and see whether
 * that has changed meanwhile.
 *
 * A lookup takes no turn. If the upper had nothing of the name, and a thread has changed names of
 * the directory meanwhile, the upper is asked again. Has it something of the name now, the lookup
 * begins again. It does so once, since an upper that has something of a lower's name goes on to
 * have something, if only a whiteout.
 *
 * What was found may be gone before the lookup has asked for all of it: a rename has replaced it.
 * Then the lookup begins again, too, since the name was not missing.
 */
#include "lookup.h"
#include "../names/links.h"

/* The gfid of the origin, or the one that the copy says; else the object's own. */
const gfid_t *
overlay_look_gfid (const struct overlay_local *local)
{
    const struct overlay_look *look = &local->look;

    if (!gfid_is_null (&look->gfid))
        return &look->gfid;
    return gfid_is_null (&look->first_marks.gfid) ? &local->buf.ia_gfid : &look->first_marks.gfid;
}

/* Two objects of the upper that say the same origin are not one file: the second one to be looked
 * up is known by its own gfid. */
static inode_t *
look_inode (struct overlay_local *local, bool *ret_own)
{
    const struct overlay_look *look = &local->look;
    struct itable *table = look->loc.parent->table;
    const gfid_t gfid = overlay_gfid_above (local->sequence.frame->this, overlay_look_gfid (local));
    inode_t *above = overlay_above (look->loc.inode, table, &gfid);
    const inode_t *upper = realm_below (local->sequence.frame->this, above, OVERLAY_UPPER);

    *ret_own = upper && look->below[OVERLAY_UPPER] && upper != look->below[OVERLAY_UPPER];
    if (!*ret_own) {
        local->buf.ia_gfid = gfid;
        return above;
    }
    inode_unref (above);
    return overlay_above (look->loc.inode, table, &local->buf.ia_gfid);
}

/* An object that was applied keeps the number that it has. */
static void
look_record_number (struct overlay_inode *ctx, const struct overlay_look *look)
{
    const uint64_t number = look->number ? look->number : look->first_marks.number;
    const gfid_t applied = number ? overlay_applied (ctx) : (gfid_t){ 0 };

    if (number && (gfid_is_null (&applied)
                   || __atomic_load_n (&ctx->number, __ATOMIC_RELAXED) == 0))
        __atomic_store_n (&ctx->number, number, __ATOMIC_RELAXED);
}

/* What is known of the object beside its inodes. */
static void
look_record (struct overlay_local *local, bool own)
{
    const struct overlay_look *look = &local->look;
    struct overlay_inode *ctx = overlay_inode_get (local->sequence.frame->this, local->inode);

    if (!own) {
        look_record_number (ctx, look);
        overlay_applied_join (local->sequence.frame->this, local->inode,
                              overlay_look_gfid (local));
    }
    if (overlay_has (&look->first_marks, OVERLAY_ORIGIN))
        __atomic_store_n (&ctx->copied, true, __ATOMIC_RELAXED);
    if (look->data_slot > 0) {
        ctx->blocks = look->blocks;
        __atomic_store_n (&ctx->data_slot, look->data_slot, __ATOMIC_RELEASE);
    }
    if (look->marked & overlay_slot_bit (OVERLAY_UPPER))
        __atomic_store_n (&ctx->impure, true, __ATOMIC_RELAXED);
    if (!own)
        overlay_index_record (local->sequence.frame->this, local->inode, look);
    if (local->buf.ia_type == IA_IFDIR)
        __atomic_store_n (&ctx->marked, look->marked, __ATOMIC_RELAXED);
}

/* The inode is entered in the table at once, and gets its name by the translator at the top. So a
 * thread that removes the object meanwhile finds the same inode, and what it records of it. */
int
overlay_look_join (void *data)
{
    struct overlay_local *local = data;
    const struct overlay_look *look = &local->look;
    bool own;
    g_autoptr (inode_t) above = look_inode (local, &own);
    const bool fresh = gfid_is_null (&above->gfid);

    local->inode = fresh ? inode_link (above, NULL, NULL, &local->buf) : inode_ref (above);
    for (unsigned slot = 0; slot < look->n; slot++)
        if (look->below[slot])
            realm_join (local->sequence.frame->this, local->inode, slot, look->below[slot]);
    look_record (local, own);
    local->slot = look->first;
    return 0;
}

/* --- attributes ------------------------------------------------------------------------------- */

/* Another name has been copied. */
bool
overlay_look_is_copied (void *data)
{
    const struct overlay_local *local = data;

    return local->slot != OVERLAY_UPPER
           && realm_below (local->sequence.frame->this, local->inode, OVERLAY_UPPER);
}

void
overlay_look_stat_run (void *data)
{
    struct overlay_local *local = data;
    xlator_t *this = local->sequence.frame->this;
    loc_t loc = { 0 };

    local->slot = overlay_slot (this, local->inode);
    loc.inode = realm_below (this, local->inode, local->slot);
    STEP_WIND (&local->sequence, local->sequence.frame, 0,
               overlay_priv (this)->layers[local->slot].xlator, stat, &loc, NULL);
    loc_wipe_path (&loc);
}

/* The copy has another gfid than the inode above. */
int
overlay_look_stat_judge (void *data)
{
    struct overlay_local *local = data;
    const gfid_t gfid = local->buf.ia_gfid;
    const struct fan_answer *answer = &local->sequence.fan.answers[0];

    if (answer->op_ret < 0)
        return local->look.loc.name ? overlay_look_error (local, answer->op_errno)
                                    : -answer->op_errno;
    local->buf = answer->stat.buf;
    local->buf.ia_gfid = gfid;
    return 0;
}

/* --- changes meanwhile ------------------------------------------------------------------------ */

int
overlay_look_error (struct overlay_local *local, int error)
{
    if (error != ENOENT && error != ESTALE)
        return -error;
    overlay_look_again (local);
    return STEP_AGAIN (ESTALE);
}

/* A thread has the turn of the directory, or has had it since the upper was asked. */
bool
overlay_check_when (void *data)
{
    const struct overlay_local *local = data;
    const struct overlay_look *look = &local->look;
    xlator_t *this = local->sequence.frame->this;

    return look->first != OVERLAY_UPPER && realm_below (this, look->loc.parent, OVERLAY_UPPER)
           && (look->turns % 2 == 1 || look->turns != overlay_turns (this, look->loc.parent));
}

void
overlay_check_run (void *data)
{
    struct overlay_local *local = data;
    xlator_t *this = local->sequence.frame->this, *upper = FIRST_CHILD (this);
    g_autoptr (inode_t) fresh = inode_new (upper->realm->itable);
    loc_t loc = { .name = local->look.loc.name, .inode = fresh,
                  .parent = realm_below (this, local->look.loc.parent, OVERLAY_UPPER) };

    STEP_WIND (&local->sequence, local->sequence.frame, 0, upper, lookup, &loc, NULL);
    loc_wipe_path (&loc);
}

int
overlay_check_judge (void *data)
{
    struct overlay_local *local = data;
    const struct fan_answer *answer = &local->sequence.fan.answers[0];

    if (answer->op_ret < 0)
        return answer->op_errno == ENOENT ? 0 : -answer->op_errno;
    overlay_look_again (local);
    return STEP_AGAIN (ESTALE);
}
