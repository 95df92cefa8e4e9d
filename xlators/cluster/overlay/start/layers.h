/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Layers in the first child: the upper, and those that were frozen (layers.c). */
#ifndef WINDLASS_OVERLAY_LAYERS_H
#define WINDLASS_OVERLAY_LAYERS_H

#include "../overlay.h"

#define OVERLAY_LAYERS_ROOM 100 /* layers that can be frozen in one mount. An inode above gets room
                                 * for sixteen slots at a time: core/realm */

/* Makes the slots, before the layers are known. */
void overlay_slots_make (xlator_t *this);
/* Finds the layers that were frozen, before any slot is used. Returns 0, or a negative errno;
 * -ENFILE after a message. */
int overlay_layers_find (struct overlay_act *act);
/* Removes frozen layers in which a commit has left nothing, and finds the layers anew. This daemon
 * has claimed the upper, and no slot is used yet. Returns as overlay_layers_find. */
int overlay_layers_clean (struct overlay_act *act);
/* Returns the path of the next layer, by the names that are there; NULL: the option upper does not
 * end with a number. g_free it. */
int overlay_layer_next (struct overlay_act *act, char **ret_path);
/* In a pause: the upper, whose root has the attributes, is frozen, and `root` is the upper now. */
void overlay_layer_push (struct overlay_act *act, inode_t *root, const struct iatt *buf,
                         const char *path, bool origins);
/* In a pause: the upper, whose root had the attributes, has been emptied. */
void overlay_upper_emptied (struct overlay_act *act, const struct iatt *buf);
/* The root has the inode number of the layer that was frozen first, with these attributes. */
void overlay_root_number (struct overlay_act *act, const struct iatt *buf);
/* Adds the names of the views that were begun with frozen layers of this one: links in a directory
 * of the first child. Returns 0 with that directory, or a negative errno: -ENOENT if there is
 * none, -ENOTDIR if something else has its name. */
int overlay_users_list (struct overlay_act *act, inode_t **ret_directory, GPtrArray *names);
/* Whether this graph has a slot for one more layer. */
bool overlay_layers_have_room (xlator_t *this);

/* Makes the root of a new upper in work, `name`, like the root of a layer. */
int overlay_upper_make (struct overlay_act *act, inode_t *work, const char *name,
                        const struct overlay_model *model, inode_t **ret_inode);
/* Gives it its name: a path in the first child. *ret_directory: where that is. */
int overlay_upper_publish (struct overlay_act *act, inode_t *work, const char *name,
                           inode_t *inode, const char *path, inode_t **ret_directory);

/* A layer that loses all its names, by one rename: an empty directory gets its place, and the old
 * one lies in work then. Begins as { 0 }. */
struct overlay_clearing {
    unsigned slot;
    inode_t *directory; /* where the layer is, with a reference */
    const char *last;   /* its name there; constant */
    char *name;         /* of the new root in work, and then of the old one; owned */
    inode_t *fresh;     /* the new root, with a reference */
    inode_t *old;       /* the old one; NULL: the layer has its names. Lent: jobs of this graph may
                         * have it lent until the graph ends, so it is kept until then */
};

/* Before the pause: makes the new root, durably. In it: renames. After it: makes that durable, with
 * all names of the upper that are not synced yet. Return 0 or a negative errno. */
int overlay_clearing_begin (struct overlay_act *act, unsigned slot,
                            const struct overlay_model *model, struct overlay_clearing *clearing);
int overlay_clearing_run (struct overlay_act *act, struct overlay_clearing *clearing);
int overlay_clearing_sync (struct overlay_act *act, const struct overlay_clearing *clearing);
/* Frees it. removes: what lies in work is removed; not if the rename could not be synced, as the
 * layer may have it back after a power cut. Then the next start removes what it finds. */
void overlay_clearing_end (struct overlay_act *act, struct overlay_clearing *clearing,
                           bool removes);

/* --- start.c: objects of a child, before the roots of the slots are known --- */

/* Each returns 0 or a negative errno. */
int overlay_root_of (struct overlay_act *act, unsigned slot, inode_t **ret_root,
                     struct iatt *ret_buf);
/* As overlay_walk, from the root of the child on. */
int overlay_walk_child (struct overlay_act *act, unsigned slot, char **names, guint depth,
                        bool make, inode_t **ret_inode, struct iatt *ret_buf);
int overlay_find (struct overlay_act *act, unsigned slot, const char *path, bool make,
                  inode_t **ret_inode, struct iatt *ret_buf);

/* --- places.c: where the layers lie --- */

/* Finds the folder of the changes: folder_dev, folder_ino and place. Returns 0; or a negative
 * errno, after a message if a lower would show the changes and the layers as its own names. */
int overlay_probe_lowers (struct overlay_act *act);

/* --- left.c: what a command that was killed has left in the base --- */

/* At the start, when the roots of the slots are known: ends the moves of directories, and removes
 * temporary names; a read-only mount checks. Returns 0; or a negative errno, after a message if it
 * is another one than at the start before. */
int overlay_left_finish (struct overlay_act *act);
/* For a read-only mount, also before its start. Returns 0; or a negative errno, after a message but
 * for -ENOTCONN: -EROFS if the view would not show a directory that a commit was moving. */
int overlay_left_check (struct overlay_act *act);

#endif
