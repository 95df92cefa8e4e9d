/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The log: files and directories, and names that are not durable. */
#include "power-cut.h"

/* --- nodes --- */

struct cut_node *
cut_node_find (xlator_t *this, const gfid_t *gfid)
{
    return g_hash_table_lookup (cut_disk (this)->log.nodes, gfid);
}

struct cut_node *
cut_node_get (xlator_t *this, inode_t *inode)
{
    struct cut_node *node = cut_node_find (this, &inode->gfid);

    if (!node) {
        node = g_new0 (struct cut_node, 1);
        node->gfid = inode->gfid;
        node->inode = inode_ref (inode);
        g_hash_table_insert (cut_disk (this)->log.nodes, &node->gfid, node);
    }
    node->refs++;
    return node;
}

static struct cut_node *
node_ref (struct cut_node *node)
{
    if (node)
        node->refs++;
    return node;
}

void
cut_node_unref (xlator_t *this, struct cut_node *node)
{
    struct cut_log *log = &cut_disk (this)->log;

    if (!node || --node->refs > 0)
        return;
    if (g_hash_table_lookup (log->nodes, &node->gfid) == node)
        g_hash_table_remove (log->nodes, &node->gfid);
    g_clear_pointer (&node->slots, g_hash_table_unref);
    g_clear_pointer (&node->places, g_ptr_array_unref);
    dict_unref (node->xattrs);
    inode_unref (node->inode);
    g_free (node);
}

void
cut_node_dirty (xlator_t *this, struct cut_node *node)
{
    GQueue *dirty = &cut_disk (this)->log.dirty;

    if (node->dirty_link)
        return;
    g_queue_push_tail (dirty, node_ref (node));
    node->dirty_link = dirty->tail;
}

void
cut_node_cleaned (xlator_t *this, struct cut_node *node)
{
    if (!node->dirty_link || node->data || node->meta)
        return;
    g_queue_delete_link (&cut_disk (this)->log.dirty, node->dirty_link);
    node->dirty_link = NULL;
    cut_node_unref (this, node);
}

/* --- slots --- */

struct cut_slot *
cut_slot_find (const struct cut_node *dir, const char *name)
{
    return dir->slots ? g_hash_table_lookup (dir->slots, name) : NULL;
}

static void
slot_occupy (struct cut_slot *slot, struct cut_node *node)
{
    slot->current = node_ref (node);
    if (!node)
        return;
    if (!node->places)
        node->places = g_ptr_array_new ();
    g_ptr_array_add (node->places, slot);
}

static void
slot_vacate (xlator_t *this, struct cut_slot *slot)
{
    if (slot->current)
        g_ptr_array_remove_fast (slot->current->places, slot);
    cut_node_unref (this, slot->current);
    slot->current = NULL;
}

static struct cut_group *
group_new (struct cut_slot *slot)
{
    struct cut_group *group = g_new0 (struct cut_group, 1);

    group->slots = g_ptr_array_new ();
    g_ptr_array_add (group->slots, slot);
    return group;
}

struct cut_slot *
cut_slot_get (xlator_t *this, struct cut_node *dir, const char *name, struct cut_node *occupant)
{
    GQueue *slots = &cut_disk (this)->log.slots;
    struct cut_slot *slot = cut_slot_find (dir, name);

    if (slot)
        return slot;
    slot = g_new0 (struct cut_slot, 1);
    slot->name = g_strdup (name);
    slot->dir = node_ref (dir);
    slot->durable = node_ref (occupant);
    if (occupant)
        occupant->durable_refs++;
    slot_occupy (slot, occupant);
    slot->group = group_new (slot);
    if (!dir->slots)
        dir->slots = g_hash_table_new (g_str_hash, g_str_equal);
    g_hash_table_insert (dir->slots, slot->name, slot);
    g_queue_push_tail (slots, slot);
    slot->link = slots->tail;
    return slot;
}

void
cut_slot_set (xlator_t *this, struct cut_slot *slot, struct cut_node *current)
{
    node_ref (current); /* it may already be slot's current node */
    slot_vacate (this, slot);
    slot_occupy (slot, current);
    cut_node_unref (this, current);
}

/* The smaller group is merged into the larger, so that a slot is moved rarely. */
void
cut_slots_couple (struct cut_slot *one, struct cut_slot *other)
{
    struct cut_group *to = one->group, *from = other->group;

    if (to == from)
        return;
    if (to->slots->len < from->slots->len) {
        to = other->group;
        from = one->group;
    }
    for (guint i = 0; i < from->slots->len; i++) {
        struct cut_slot *slot = from->slots->pdata[i];
        slot->group = to;
        slot->index = to->slots->len;
        g_ptr_array_add (to->slots, slot);
    }
    g_ptr_array_unref (from->slots);
    g_free (from);
}

static void
slot_leave_group (struct cut_slot *slot)
{
    struct cut_group *group = slot->group;
    struct cut_slot *last = group->slots->pdata[group->slots->len - 1];

    g_ptr_array_remove_index_fast (group->slots, slot->index); /* the last slot takes its place */
    last->index = slot->index;
    if (group->slots->len > 0)
        return;
    g_ptr_array_unref (group->slots);
    g_free (group);
}

void
cut_slot_drop (xlator_t *this, struct cut_slot *slot)
{
    struct cut_node *durable = slot->durable;

    slot_leave_group (slot);
    g_queue_delete_link (&cut_disk (this)->log.slots, slot->link);
    g_hash_table_remove (slot->dir->slots, slot->name);
    slot_vacate (this, slot);
    if (durable && --durable->durable_refs == 0)
        cut_aside_drop (this, durable);
    cut_node_unref (this, durable);
    cut_node_unref (this, slot->dir);
    g_free (slot->name);
    g_free (slot);
}

void
cut_slot_tidy (xlator_t *this, struct cut_slot *slot)
{
    if (slot->durable == slot->current)
        cut_slot_drop (this, slot);
}

/* --- durability --- */

static void
group_durable (xlator_t *this, struct cut_group *group)
{
    bool last;

    do { /* the last slot frees the group */
        last = group->slots->len == 1;
        cut_slot_drop (this, group->slots->pdata[group->slots->len - 1]);
    } while (!last);
}

void
cut_names_durable_in (xlator_t *this, struct cut_node *dir)
{
    GHashTableIter iter;
    gpointer slot;

    for (;;) {
        if (!dir->slots)
            return;
        g_hash_table_iter_init (&iter, dir->slots);
        if (!g_hash_table_iter_next (&iter, NULL, &slot))
            return;
        group_durable (this, ((struct cut_slot *) slot)->group);
    }
}

void
cut_names_durable_of (xlator_t *this, struct cut_node *node)
{
    while (node->places && node->places->len > 0)
        group_durable (this, ((struct cut_slot *) node->places->pdata[0])->group);
}

void
cut_names_durable (xlator_t *this)
{
    GQueue *slots = &cut_disk (this)->log.slots;

    while (slots->head)
        cut_slot_drop (this, slots->head->data);
}

void
cut_log_clear (xlator_t *this)
{
    GQueue *dirty = &cut_disk (this)->log.dirty;

    cut_names_durable (this);
    while (dirty->head) {
        struct cut_node *node = dirty->head->data;
        node->refs++;
        cut_data_durable (this, node);
        cut_meta_durable (this, node, ~0u);
        cut_node_unref (this, node);
    }
}
