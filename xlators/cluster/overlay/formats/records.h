/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records of the base, the last layer: what it had at a path when the view changed that. They are
 * in a store (core/store/store.h) named "records" in the work directory, under the path in the
 * base.
 *
 * A record is written, but not synced, before the upper has the change. A power cut may take the
 * record away and leave the change, which then needs --force to be applied.
 */
#ifndef WINDLASS_OVERLAY_RECORDS_H
#define WINDLASS_OVERLAY_RECORDS_H

#include "../overlay.h"

/* Opens the store in the work directory, which this daemon has claimed. Returns 0, or a negative
 * errno after a message. For a read-only mount it is only read; there may be none then, after a
 * message. */
int overlay_records_open (struct overlay_act *act, inode_t *work);
void overlay_records_close (xlator_t *this);

/* Before a name of an upper's directory changes: records what the lowers show there. */
int overlay_record_name (struct overlay_act *act, inode_t *parent, const char *name,
                         const struct overlay_name *at);
/* The same for the object of a lower that is about to be copied. */
int overlay_record_copy (struct overlay_act *act, inode_t *parent, const char *name, unsigned slot,
                         const struct iatt *buf);

/* --- for apply -------------------------------------------------------------------------------- */

enum overlay_verdict {
    RECORD_SAME,    /* the base is as it was, or as an apply has left it */
    RECORD_CHANGED,
    RECORD_MISSING, /* nothing tells how the base was */
};

/* Compares what the base has at a path now with the record. now NULL: nothing is there. */
enum overlay_verdict overlay_record_judge (xlator_t *this, const char *path,
                                           const struct iatt *now);
/* Whether an object of the base has the time of its last modification that is recorded. */
bool overlay_record_has_time (xlator_t *this, const char *path, const struct iatt *now);
/* Adds to a record what an apply is about to put there; NULL: nothing. The record then accepts
 * both, so that an apply that is killed can be given again. */
void overlay_record_applies (xlator_t *this, const char *path, const struct iatt *after);
/* The base has it now, with these attributes, and another layer may change the path as well: the
 * record, if there is one, tells that alone. */
void overlay_record_settle (xlator_t *this, const char *path, const struct iatt *now);
/* Returns the gfid of what an apply was about to put there; null: nothing is recorded. */
gfid_t overlay_record_applied (xlator_t *this, const char *path);
/* The view no longer changes the path, or what is below it. */
void overlay_record_drop (xlator_t *this, const char *path);
void overlay_records_drop_below (xlator_t *this, const char *path);
/* The same for those that there were when overlay_records_now has returned `until`: a pause notes
 * that, and they are dropped after it. */
uint64_t overlay_records_now (xlator_t *this);
void overlay_records_drop_until (xlator_t *this, const char *path, uint64_t until);

/* A directory of the base was moved: the records of it and of all below it, and the temporary names
 * there, move along. */
void overlay_records_move (xlator_t *this, const char *from, const char *to);

#endif
