/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The context of an inode stores which of its copies may be read, by the changelogs that the copies
 * reported last. A refresh asks the copies for their changelogs again.
 */
#ifndef WINDLASS_CLUSTER_REPLICATE_COPIES_H
#define WINDLASS_CLUSTER_REPLICATE_COPIES_H

#include "../replicate.h"

/* --- copies.c --------------------------------------------------------------------------------- */

struct replicate_inode {
    pthread_mutex_t lock;     /* guards all members; a thread that holds it may take timers.lock */
    unsigned generation;      /* priv->generation at the last refresh; 0: a refresh is needed */
    struct readable readable; /* copies that may be read */
    bool favored;             /* whether favorite-child-policy has chosen copies in `readable` */
    struct copy *copies;      /* last reports of all copies; NULL: all counters were 0 */

    /* By kind of change: copies that missed a change, until the pending counters of all such
     * changes are on the bricks. A lookup that begins before then may not see these counters. */
    copies_t missed[COUNTER_KINDS];
    unsigned unrecorded;  /* number of transactions that a copy missed and whose pending counters
                           * are not on the bricks yet */
    uint64_t recorded_at; /* priv->lookups when `unrecorded` last became 0; reports of lookups with
                           * this number or a smaller one are dropped */

    /* The copy that a user has chosen to read in a split brain (choice.c), and the end of that
     * choice, by clock_now. */
    copies_t chosen;
    int64_t chosen_until;

    /* Members of the eager lock (changes/eager-lock.c). */
    struct txn *eager;  /* transaction that keeps the eager lock; NULL: none */
    struct byte_claims claims; /* of struct changing: changes of data that run, or wait to run */
    bool pumping;       /* whether a thread executes a step in eager_pump */
    bool pump_again;    /* whether that thread must look for another step */
};

struct replicate_inode *replicate_inode_of (xlator_t *this, inode_t *inode);
void replicate_forget (xlator_t *this, inode_t *inode);

/* The moment when a lookup on the copies, or a read of a directory, began. */
struct lookup_start {
    unsigned generation; /* priv->generation at that moment */
    uint64_t number;     /* priv->lookups at that moment, with this one counted */
};

struct lookup_start lookup_started (replicate_t *priv);

/* Stores in the context of the inode the reports of its copies, from a lookup that began at
 * `start`. */
void inode_learn (xlator_t *this, inode_t *inode, const struct copy *copies,
                  const struct lookup_start *start);

/* Returns true if no child has come or gone since the last refresh. Also stores in *ret_readable
 * the copies that may be read, by that refresh. */
bool inode_is_fresh (xlator_t *this, inode_t *inode, struct readable *ret_readable);

/* Stores in *ret_readable the copies that are good enough for a change. A copy that a user has
 * chosen with split-brain-choice is not added: it may be read, but a change fails with EIO. */
void inode_good (xlator_t *this, inode_t *inode, struct readable *ret_readable);

/* Returns the good copies by the last reports alone, without those that favorite-child-policy adds
 * in a split brain. */
struct readable inode_reported (xlator_t *this, inode_t *inode);

/* Lets callers read the copy `chosen` in a split brain until the time `until`, by clock_now. chosen
 * 0: ends an earlier choice. */
void inode_choose (xlator_t *this, inode_t *inode, copies_t chosen, int64_t until);

/* inode_missed records that the copies `missing` have missed a change of a transaction, so that no
 * caller reads them; it sets *missed, a flag of the transaction. inode_recorded is called when the
 * pending counters of the transaction are on the bricks, and clears the flag. */
void inode_missed (xlator_t *this, inode_t *inode, enum counter_kind kind, copies_t missing,
                   bool *missed);
void inode_recorded (xlator_t *this, inode_t *inode, bool *missed);

/* Records, without a lookup of the inode, that all its copies are good. The caller must have
 * checked that every brick reports an empty index, so that no object needs a heal. */
void inode_assume_good (xlator_t *this, inode_t *inode, ia_type_t type,
                        const struct lookup_start *start);

/* Records that this client has just made the object, and that only the set `copies` has it. */
void inode_made (xlator_t *this, inode_t *inode, ia_type_t type, copies_t copies,
                 unsigned generation);

/* Returns, as a set of HEAL_*, the parts of the object that need a heal by the last reports. A part
 * is left out if no copy of it is good. Stores the copies that exist in *ret_found. */
unsigned inode_needs_heal (xlator_t *this, inode_t *inode, copies_t *ret_found);

/* Makes the next operation on the inode begin with a refresh. */
void inode_stale (xlator_t *this, inode_t *inode);

/* Returns the copy among `readable` that the options select for reading; -1: the set is empty. */
int choose_copy (replicate_t *priv, copies_t readable, const inode_t *inode);

/* Returns the set without the arbiter, whose copy has no data. */
copies_t copies_with_data (const replicate_t *priv, copies_t copies);

/* --- refresh.c -------------------------------------------------------------------------------- */

/* Returns a new dict for a lookup: a copy of xdata, which may be NULL, with the keys by which a
 * brick is asked for its changelog. */
dict_t *changelog_asked (xlator_t *this, dict_t *xdata);

/* Stores in *ret_copy the report in a brick's answer to a lookup with changelog_asked. */
void copy_read (const replicate_t *priv, const struct lookup_reply *reply, struct copy *ret_copy);

/* The index of a brick lists the objects whose copies on this brick accuse another copy or are
 * dirty. The answer to a lookup with changelog_asked reports whether the index is empty; index_note
 * stores that report. index_is_known returns whether each child that is up has reported in the last
 * second; index_is_empty, whether each has reported an empty index in the last second. */
void index_note (replicate_t *priv, unsigned child, const struct lookup_reply *reply,
                 const struct lookup_start *start);
bool index_is_known (replicate_t *priv);
bool index_is_empty (replicate_t *priv);

/* Looks the inode up on all connected copies, and stores their reports in its context; then calls
 * done, with 0 or a positive errno. */
void inode_refresh (xlator_t *this, inode_t *inode, void (*done) (void *data, int error),
                    void *data);

#endif
