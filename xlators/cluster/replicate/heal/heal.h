/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Healing: brings copies that missed changes up to date, and clears the marks. It heals one object
 * at a time, on a thread of core/work that waits for each answer. It takes the locks that
 * GlusterFS's self-heal daemon takes: two healers do not meet, and writers wait only for the piece
 * that is being healed.
 *
 * Two copies are enough: one that is good, and one to heal. Marks against a copy that is not there
 * stay.
 *
 *   heal.c           the objects to heal, the command
 *   heal-tools.c     the report, locks, marks, looking at all copies
 *   heal-metadata.c, heal-data.c, heal-entries.c, heal-moved.c
 */
#ifndef WINDLASS_CLUSTER_REPLICATE_HEAL_H
#define WINDLASS_CLUSTER_REPLICATE_HEAL_H

#include "../copies/copies.h"

/* All heals of a translator. */
struct heals {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t idle;  /* running is 0 */
    GQueue all;           /* of struct heal: running, and finished ones that are asked for; lock */
    GQueue waiting;       /* of struct waiting: too many heals were running; lock */
    unsigned running, background; /* lock */
    unsigned last;        /* number; lock */
    bool ending;          /* atomic; set under the lock */
};

static inline struct heals *
heals_of (const xlator_t *this)
{
    return ((replicate_t *) this->private)->heals;
}

struct heal {
    struct work_item work;
    xlator_t *this;
    unsigned number;
    unsigned what;                       /* HEAL_* */
    char *path;                          /* from the root of the mount; NULL: inode is known */
    GQueue objects;                      /* of inode_t, with references: still to heal */
    struct client *self;                 /* makes requests to this translator */
    struct client *children[COPIES_MAX]; /* and to each child */
    struct copy copies[COPIES_MAX];      /* what they said last */
    copies_t there;                      /* the copies that take part: at least two */
    int chosen;                          /* the source in a split brain; -1: a policy decides */
    void (*ended) (void *data, bool failed); /* NULL: a report is asked for */
    void *data;
    inode_t *background;                 /* the inode whose look-up or open began this heal, or
                                          * NULL; `objects` holds the reference, others only
                                          * compare the address. Nobody asks for its report */

    /* heals.lock */
    GString *report;
    uint64_t done, total; /* bytes of the present file */
    bool finished, failed;
    bool missing; /* it failed since no copy has the path; written before `finished` */
    int64_t finished_at;
};

/* --- heal-tools.c ----------------------------------------------------------------------------- */

/* Adds a line to the report. */
void heal_tell (struct heal *heal, const char *format, ...) G_GNUC_PRINTF (2, 3);
void heal_progress (struct heal *heal, uint64_t done, uint64_t total);
bool heal_must_stop (const struct heal *heal); /* the mount ends */

/* What to lock. */
struct heal_lock {
    inode_t *inode;
    bool entry;
    const char *name; /* of an entry; NULL: all names */
    off_t from, len;  /* else */
    bool only_healers; /* in the healers' own kind of locks */
    copies_t held;
};

/* Locks the copies that take part. 0; -EAGAIN without wait if another client has one; -ENOTCONN if
 * a copy has gone. After a failure nothing is locked. */
int heal_lock (struct heal *heal, struct heal_lock *lock, bool wait);
void heal_unlock (struct heal *heal, struct heal_lock *lock);

/* Looks at the copies of an inode: heal->copies. 0, or -ENOTCONN if a copy has gone. */
int heal_look (struct heal *heal, inode_t *inode);

/* Decides from where to heal what heal->copies say. Returns the source; -1: nothing is to be done;
 * -EIO: split brain, reported. */
int heal_direct (struct heal *heal, inode_t *inode, enum counter_kind kind,
                 struct direction *ret_direction);

/* Takes back the marks in heal->copies against the copies that took part, but those of `unhealed`.
 * "dirty" stays while a copy is not there that is not accused: it may differ. */
int heal_clear_counters (struct heal *heal, inode_t *inode, enum counter_kind kind,
                         copies_t unhealed);

/* Each returns 1 if it healed something, 0 if there was nothing to heal, or a negative errno, which
 * it has reported. */
int heal_metadata (struct heal *heal, inode_t *inode);
int heal_data (struct heal *heal, inode_t *inode);
int heal_entries (struct heal *heal, inode_t *inode);

/* Renames a directory on one copy, which has it under another name. Returns 1; 0: the copy does not
 * tell that name; or a negative errno. -EAGAIN: a client or a healer changes a name of its path. */
int heal_move (struct heal *heal, unsigned child, inode_t *directory, loc_t *to);

#endif
