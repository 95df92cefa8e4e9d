/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events on their way out of a realm. */
#include "core/realm/internal.h"

/* Returns the inode above of an object in the slot's realm, with a reference; or NULL. The realm's
 * own root has gfid_root, as the slot's root has above. */
static inode_t *
realm_find_above (xlator_t *this, const struct realm_slot *slot, const gfid_t *gfid)
{
    struct itable *above = this->slots->above;
    const inode_t *root = realm_slot_root (slot);

    if (!root)
        return NULL;
    if (gfid_equal (gfid, &root->gfid))
        return inode_ref (itable_root (above));
    return gfid_equal (gfid, &gfid_root) ? NULL : inode_find (above, gfid);
}

bool
realm_up (xlator_t *this, const struct invalidation *below, struct invalidation *ret_above)
{
    inode_t *inode = NULL;

    *ret_above = *below;
    if (!below->inode)
        return true;
    for (unsigned i = 0; !inode && i < realm_slots_count (this); i++) {
        const struct realm_slot *slot = realm_slot_of (this, i);

        if (slot->child->realm->itable == below->inode->table)
            inode = realm_find_above (this, slot, &below->inode->gfid);
    }
    ret_above->inode = inode;
    return inode != NULL;
}

static void
realm_invalidate (xlator_t *this, const struct invalidation *below)
{
    struct invalidation above;

    if (!realm_up (this, below, &above))
        return;
    xlator_pass_on (this, XLATOR_INVALIDATE, &above);
    inode_unref (above.inode);
}

/* The event names the object by its gfid, and does not say which child has sent it. So each slot is
 * asked for an inode above with that gfid, and the first one that is found gets the event. */
static void
realm_contended (xlator_t *this, const struct lock_contention *below)
{
    struct lock_contention above = *below;

    for (unsigned i = 0; i < realm_slots_count (this); i++) {
        g_autoptr (inode_t) inode =
            realm_find_above (this, realm_slot_of (this, i), &below->gfid);

        if (!inode)
            continue;
        above.gfid = inode->gfid;
        xlator_pass_on (this, XLATOR_LOCK_CONTENDED, &above);
        return;
    }
}

/* The inode above goes with that below, unless it has another one by now. */
static void
realm_detached (xlator_t *this, const inode_t *below)
{
    for (unsigned i = 0; i < realm_slots_count (this); i++) {
        const struct realm_slot *slot = realm_slot_of (this, i);
        g_autoptr (inode_t) inode = slot->child->realm->itable == below->table
                                      ? realm_find_above (this, slot, &below->gfid)
                                      : NULL;

        if (!inode || inode == itable_root (inode->table) || realm_below (this, inode, i) != below)
            continue;
        inode_detach (inode);
        xlator_pass_on (this, XLATOR_DETACHED, inode);
    }
}

void
realm_notify (xlator_t *this, enum xlator_event event, void *data)
{
    if (event == XLATOR_INVALIDATE)
        realm_invalidate (this, data);
    else if (event == XLATOR_LOCK_CONTENDED)
        realm_contended (this, data);
    else if (event == XLATOR_DETACHED)
        realm_detached (this, data);
    else
        xlator_pass_on (this, event, data);
}
