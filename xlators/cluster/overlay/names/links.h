/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of a lower with several names: links.c. */
#ifndef WINDLASS_OVERLAY_LINKS_H
#define WINDLASS_OVERLAY_LINKS_H

#include "../overlay.h"

/* A copy that is about to be published gets a name in the index, durably, if the lower's file (its
 * attributes: buf) has names in the view beside that of the copy. named: the copy has one. Returns
 * 0 or a negative errno. *ret_indexed: lookups of the other names may find the copy, also after an
 * error. */
int overlay_index_add (struct overlay_act *act, inode_t *inode, const struct iatt *buf, bool named,
                       inode_t *made, bool *ret_indexed);
/* The gfid by which the lowers know an inode above. Copies are marked with it. */
gfid_t overlay_gfid_below (xlator_t *this, inode_t *inode);
/* A name of a file that only the lower had is in the upper now. */
void overlay_name_copied (xlator_t *this, inode_t *inode);
/* A name of a file that only the lower has is removed from the view; lost == false: that failed. */
void overlay_name_lost (xlator_t *this, inode_t *inode, bool lost);
/* A name of a file was removed from a directory above. If it was the last one, a job takes the copy
 * out of the index. */
void overlay_name_removed (struct overlay_act *act, inode_t *parent, inode_t *inode);
/* Removes a name from the index, unless something else than the copy has it, or the copy has
 * another name. What the view has removed is synced before. Returns 0 or a negative errno. */
int overlay_index_sweep (struct overlay_act *act, const char *name, const inode_t *copy);
/* Returns 0 or a negative errno. *ret_names: copies, with references -> their names in the index;
 * g_hash_table_unref it, also after an error. */
int overlay_index_read (struct overlay_act *act, GHashTable **ret_names);
/* Takes the files of a tree in work, `name`, which came from a directory of the upper, out of the
 * index; name NULL: all files. names: of overlay_index_read, which loses them. Calls gone for each
 * that the table above knows. */
int overlay_index_discard (struct overlay_act *act, GHashTable *names, inode_t *directory,
                           const char *name, void (*gone) (inode_t *above, void *data),
                           void *data);

/* Returns the inode above of a name in the index, with a reference; NULL: nobody knows it. */
inode_t *overlay_index_above (struct overlay_act *act, const char *name);

/* Whether the copy has the name of a lower's file in the index. Returns 0 or a negative errno. */
int overlay_index_has (struct overlay_act *act, const gfid_t *gfid, const inode_t *copy,
                       bool *ret_has);
/* Removes that name. Returns 0 or a negative errno. */
int overlay_index_remove (struct overlay_act *act, const gfid_t *gfid, inode_t *copy);
/* Adds the names in the index to `names`. Returns 0 or a negative errno. */
int overlay_index_list (struct overlay_act *act, GPtrArray *names);
/* In a pause: the upper has all names of a file, so the name in the index goes. Returns 0 or a
 * negative errno. */
int overlay_index_settled (struct overlay_act *act, const char *name);
/* The base has a name of a file no longer that the view had removed. */
void overlay_name_applied (xlator_t *this, struct itable *above, const gfid_t *gfid);
/* Names that the view had removed may be there again: links of files are counted anew. For a pause:
 * that happens when the state of an inode is next used (inode_now), under the lock of the
 * states. */
void overlay_links_forget (xlator_t *this);
void overlay_links_forget_locked (struct overlay_inode *state);
/* Returns the gfids (gfid_t) of all objects above of which the upper is known to have a copy, or of
 * which the view has removed a name. g_array_unref it. */
GArray *overlay_changed_gfids (xlator_t *this);
/* The base has the copy's names now. */
void overlay_links_applied (struct overlay_inode *state);

/* Steps of a lookup. */
bool overlay_index_when (void *data);
void overlay_index_run (void *data);
int overlay_index_judge (void *data);
/* What the lookup has found out of the copy's names. */
void overlay_index_record (xlator_t *this, inode_t *inode, const struct overlay_look *look);

#endif
