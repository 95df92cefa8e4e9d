/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The step of a lookup that finds the inode above for what the layers have. */
#include "overlay.h"

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

/* What is known of the object beside its inodes. One that was applied keeps its number. */
static void
look_record (struct overlay_local *local, bool own)
{
    const struct overlay_look *look = &local->look;
    struct overlay_inode *ctx = overlay_inode_get (local->sequence.frame->this, local->inode);
    const uint64_t number = look->number ? look->number : look->first_marks.number;

    if (number && !own && gfid_is_null (&ctx->applied))
        __atomic_store_n (&ctx->number, number, __ATOMIC_RELAXED);
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

int
overlay_look_join (void *data)
{
    struct overlay_local *local = data;
    const struct overlay_look *look = &local->look;
    bool own;

    local->inode = look_inode (local, &own);
    for (unsigned slot = 0; slot < look->n; slot++)
        if (look->below[slot])
            realm_join (local->sequence.frame->this, local->inode, slot, look->below[slot]);
    look_record (local, own);
    local->slot = look->first;
    return 0;
}
