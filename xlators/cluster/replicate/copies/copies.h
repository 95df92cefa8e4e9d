/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The context of an inode: which of its copies may be read, from the changelog that the copies
 * reported last. A refresh asks them again.
 */
#ifndef WINDLASS_CLUSTER_REPLICATE_COPIES_H
#define WINDLASS_CLUSTER_REPLICATE_COPIES_H

#include "../replicate.h"

/* --- copies.c --------------------------------------------------------------------------------- */

struct replicate_inode {
    pthread_mutex_t lock;     /* guards all members; timers.lock may be taken under it */
    unsigned generation;      /* of the children at the last refresh; 0: none yet */
    struct readable readable;
    bool favored;             /* readable is the choice of favorite-child-policy */
    struct copy *copies;      /* what the copies reported last; NULL: all counters were 0 */

    /* Copies that missed a change whose pending counters are not on the bricks yet. A lookup that
     * began before the last of these transactions recorded it reports too little. */
    copies_t missed[COUNTER_KINDS];
    unsigned unrecorded;  /* number of transactions with such copies */
    uint64_t recorded_at; /* priv->lookups when the last of them had recorded it */

    /* choice.c: the copy to read in a split brain, and the end of that choice by clock_now */
    copies_t chosen;
    int64_t chosen_until;

    /* changes/eager-lock.c */
    struct txn *eager;  /* the transaction that keeps the eager lock, or NULL */
    struct byte_claims claims; /* of struct changing: changes of data that wait or run */
    bool pumping;       /* a thread starts changes */
    bool pump_again;    /* another thread has left it work */
};

struct replicate_inode *replicate_inode_of (xlator_t *this, inode_t *inode);
void replicate_forget (xlator_t *this, inode_t *inode);

/* When a lookup on the copies began. */
struct lookup_start {
    unsigned generation; /* priv->generation at that moment */
    uint64_t number;     /* number of this lookup: priv->lookups counts all of them */
};

struct lookup_start lookup_started (replicate_t *priv);

/* Stores the reports of all copies that can be reached. */
void inode_learn (xlator_t *this, inode_t *inode, const struct copy *copies,
                  const struct lookup_start *start);

/* Returns whether no child has come or gone since the last refresh, and the copies that may be
 * read. */
bool inode_is_fresh (xlator_t *this, inode_t *inode, struct readable *ret_readable);

/* Returns the good copies for a change: split-brain-choice lets callers read a copy, but a change
 * fails all the same. */
void inode_good (xlator_t *this, inode_t *inode, struct readable *ret_readable);

/* Returns the good copies of the last report, before favorite-child-policy is applied. */
struct readable inode_reported (xlator_t *this, inode_t *inode);

/* In a split brain callers read this copy until `until`, by clock_now. chosen 0: no copy. */
void inode_choose (xlator_t *this, inode_t *inode, copies_t chosen, int64_t until);

/* These copies miss a change of a transaction, and are not read from now on. *missed, a flag of the
 * transaction, stays set until inode_recorded, when the pending counters are on the bricks. */
void inode_missed (xlator_t *this, inode_t *inode, enum counter_kind kind, copies_t missing,
                   bool *missed);
void inode_recorded (xlator_t *this, inode_t *inode, bool *missed);

/* All copies are good: every brick has reported an empty index. */
void inode_assume_good (xlator_t *this, inode_t *inode, ia_type_t type,
                        const struct lookup_start *start);

/* These copies have the new object. */
void inode_made (xlator_t *this, inode_t *inode, ia_type_t type, copies_t copies,
                 unsigned generation);

/* Returns what needs a heal for which a good copy exists, a set of HEAL_*, by the last report;
 * *ret_found: the copies that exist. */
unsigned inode_needs_heal (xlator_t *this, inode_t *inode, copies_t *ret_found);

/* The next operation begins with a refresh. */
void inode_stale (xlator_t *this, inode_t *inode);

/* Returns the read child among `readable`; -1: the set is empty. */
int choose_copy (replicate_t *priv, copies_t readable, const inode_t *inode);

/* Returns the set without the arbiter. */
copies_t copies_with_data (const replicate_t *priv, copies_t copies);

/* --- refresh.c -------------------------------------------------------------------------------- */

/* Returns a new dict: xdata, which may be NULL, and the keys that ask a brick for the changelog. */
dict_t *changelog_asked (xlator_t *this, dict_t *xdata);

/* Reads the answer to a lookup. */
void copy_read (const replicate_t *priv, const struct lookup_reply *reply, struct copy *ret_copy);

/* The index of a brick lists the objects that need a heal from it. index_note keeps, for one
 * second, whether it is empty, from an answer to changelog_asked. The other two consider all
 * children that are up. */
void index_note (replicate_t *priv, unsigned child, const struct lookup_reply *reply,
                 const struct lookup_start *start);
bool index_is_known (replicate_t *priv);
bool index_is_empty (replicate_t *priv);

/* Looks the inode up on all copies; then calls done, with 0 or a positive errno. */
void inode_refresh (xlator_t *this, inode_t *inode, void (*done) (void *data, int error),
                    void *data);

#endif
