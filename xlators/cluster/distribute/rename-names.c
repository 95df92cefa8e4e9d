/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The locks and the lookups that a rename of a file or a directory needs for both of its names. */
#include "distribute.h"

#include <string.h>

static void
rename_ask_layout (struct op *op, unsigned slot, inode_t *parent, const char *name)
{
    const int hashed = name_hashed (op->this, parent, name);
    g_autoptr (dict_t) wanted = xdata_lookup (op->priv, NULL, NULL);
    loc_t loc = { .inode = parent };

    if (hashed != NO_CHILD)
        AS_SELF_AT (op, slot, op->priv->children[hashed], lookup, &loc, wanted);
    loc_wipe_path (&loc);
}

static bool
layout_answered_is_still (struct op *op, unsigned slot, const loc_t *loc, unsigned hashed)
{
    const struct fan_answer *answer = &op->seq.fan.answers[slot];

    return answer->op != FOP_NONE
        && layout_is_still (op->this, loc->parent, hashed, &answer->lookup);
}

bool
rename_layouts_are_still (struct op *op, unsigned hashed, unsigned new_hashed)
{
    return layout_answered_is_still (op, SELF (op) + 2, &op->loc, hashed)
        && layout_answered_is_still (op, SELF (op) + 3, &op->newloc, new_hashed);
}

void
rename_refresh (void *local)
{
    struct op *op = local;
    loc_t old = { .inode = op->loc.parent }, new = { .inode = op->newloc.parent };

    AS_SELF_AT (op, SELF (op), op->this, lookup, &old, NULL);
    AS_SELF_AT (op, SELF (op) + 1, op->this, lookup, &new, NULL);
    loc_wipe_path (&old);
    loc_wipe_path (&new);
}

static void
rename_look_at_names (struct op *op, dict_t *xdata)
{
    g_autoptr (inode_t) any = inode_new (op->newloc.parent->table);
    loc_t fresh = { .inode = any, .parent = op->newloc.parent, .name = op->newloc.name };

    AS_SELF_AT (op, SELF (op), op->this, lookup, &op->loc, xdata);
    AS_SELF_AT (op, SELF (op) + 1, op->this, lookup, &fresh, xdata);
    loc_wipe_path (&fresh);
}

void
rename_look (void *local)
{
    rename_look_at_names (local, NULL);
}

void
rename_look_locked (void *local)
{
    struct op *op = local;
    g_autoptr (dict_t) xdata = xdata_without_healing ();

    rename_ask_layout (op, SELF (op) + 2, op->loc.parent, op->loc.name);
    rename_ask_layout (op, SELF (op) + 3, op->newloc.parent, op->newloc.name);
    rename_look_at_names (op, xdata);
}

bool
rename_is_below (inode_t *inode, const gfid_t *directory)
{
    inode_t *at = inode_ref (inode), *parent;
    bool is_below = gfid_equal (&at->gfid, directory), goes_on = true;

    while (!is_below && goes_on) {
        g_autofree char *name = NULL;

        goes_on = inode_a_name (at, &parent, &name);
        if (goes_on) {
            inode_unref (at);
            at = parent;
            is_below = gfid_equal (&at->gfid, directory);
        }
    }
    inode_unref (at);
    return is_below;
}

static int
names_compare (const loc_t *a, const loc_t *b)
{
    const int by_parent = memcmp (&a->parent->gfid, &b->parent->gfid, sizeof (gfid_t));

    return by_parent ? by_parent : strcmp (a->name, b->name);
}

/* Adds the locks of two names to the operation's list. If both names are in one directory, its
 * layout is locked on subvolume `first` alone. That suffices, since a client that changes the
 * layout locks it on all subvolumes. */
static void
lock_names (struct op *op, unsigned first, const loc_t *loc, unsigned second, const loc_t *other)
{
    lock_name (op, first, loc);
    if (loc->parent == other->parent)
        lock_entry (op, second, other->parent, other->name);
    else
        lock_name (op, second, other);
}

/* The locks of the two names are ordered by the name of their hashed subvolume; if both names have
 * the same one, by the gfid of the directory, and then by the name. */
void
rename_note_name_locks (struct op *op, unsigned hashed, unsigned new_hashed)
{
    const int order = hashed == new_hashed ? names_compare (&op->loc, &op->newloc)
                                           : strcmp (op->priv->children[hashed]->name,
                                                     op->priv->children[new_hashed]->name);

    if (order <= 0)
        lock_names (op, hashed, &op->loc, new_hashed, &op->newloc);
    else
        lock_names (op, new_hashed, &op->newloc, hashed, &op->loc);
}
