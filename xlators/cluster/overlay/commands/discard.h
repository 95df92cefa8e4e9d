/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A discard of names (discard.c), and of everything (discard-all.c). */
#ifndef WINDLASS_OVERLAY_DISCARD_H
#define WINDLASS_OVERLAY_DISCARD_H

#include "commands.h"

/* A discard in its pause. */
struct discarding {
    xlator_t *this;
    struct pause *pause;
};

/* Detaches an inode above, with all that is known below it: files that programs have open go on as
 * removed ones, and no name can be made in directories. */
void discard_inode (const struct discarding *discarding, inode_t *inode);
/* For overlay_index_discard: detaches a hard-linked file of a lower, all names of which show the
 * lower's file again. data: struct discarding. */
void discard_linked (inode_t *above, void *data);

/* After the pause. discard_synced tells of a sync that has failed with r < 0, and returns r.
 * discard_records drops the records of a path, and below it, that there were in the pause. */
int discard_synced (struct job *job, int r);
void discard_records (xlator_t *this, const char *path, uint64_t until);
void discard_print (struct job *job, unsigned n, int64_t held);

/* Discards everything. Returns 0, or a negative errno after job_refuse; DISCARD_BY_NAMES, and
 * nothing was done: another graph of the mount uses the upper, too, and would go on with the old
 * one. */
#define DISCARD_BY_NAMES 1
int discard_all (struct job *job, const struct overlay_order *order);

/* Detaches the files that programs have open and that were removed in the view. Such a file has the
 * gfid of the lower's file, which may get its name back: that is another file. Called before
 * overlay_links_forget. */
void discard_removed (const struct overlay_act *act, struct pause *pause);

#endif
