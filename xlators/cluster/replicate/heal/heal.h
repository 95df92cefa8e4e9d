/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Healing: makes the sinks of an object equal to a source, and clears the pending counters that
 * accuse the sinks. A heal is a job (core/work/job.h), and works on one object at a time. It takes
 * the locks that GlusterFS's self-heal daemon takes. So two healers never work on the same object,
 * and a writer waits only if it writes to the piece of the file that is being healed.
 *
 * A heal needs two connected copies: a source and a sink. Pending counters against a copy that is
 * not connected stay.
 *
 *   heal.c           the jobs, waiting objects, the command
 *   heal-tools.c     the report, locks, counters, lookups on all copies
 *   heal-metadata.c  attributes and extended attributes
 *   heal-data.c      data of a file
 *   heal-entries.c   names in a directory
 *   heal-moved.c     a directory that a copy has under an old name
 */
#ifndef WINDLASS_CLUSTER_REPLICATE_HEAL_H
#define WINDLASS_CLUSTER_REPLICATE_HEAL_H

#include "../copies/copies.h"

/* The background heals of a translator: those that a lookup or an open has begun. */
struct heals {
    pthread_mutex_t lock; /* guards the members below; no other lock is taken under it */
    GQueue background;    /* inodes that are being healed, only to be compared */
    GQueue waiting;       /* of struct waiting_heal: objects to heal after background heals end */
};

static inline struct heals *
heals_of (const xlator_t *this)
{
    return ((replicate_t *) this->private)->heals;
}

struct heal {
    xlator_t *this;
    struct job *job;                     /* the job that runs the heal */
    unsigned what;                       /* set of HEAL_*: parts of the next object to heal */
    char *path;                          /* path to heal, from the root of the mount; or NULL */
    GQueue objects;                      /* inodes still to heal, with references */
    struct client *self;                 /* client for synchronous calls to this translator */
    struct client *children[COPIES_MAX]; /* clients for synchronous calls, one for each copy */
    struct copy copies[COPIES_MAX];      /* state of the object's copies at the last heal_refresh */
    copies_t there;                      /* connected copies that the heal reads and writes: at
                                          * least two */
    int chosen;                          /* copy that a user chose as source in a split brain;
                                          * -1: favorite-child-policy decides */
    void (*ended) (void *data, bool failed); /* function called at the end, or NULL */
    void *data;                          /* argument for `ended` */
    inode_t *background;                 /* the inode whose lookup or open began this heal, only to
                                          * be compared; the reference is in `objects`. NULL: a
                                          * command, or heal_from, began the heal */
    bool failed;                         /* whether an object was not healed, or the heal has not
                                          * begun */
    bool missing;                        /* whether no copy has the path */
};

/* --- heal-tools.c ----------------------------------------------------------------------------- */

/* Prints a line for the command that has begun the heal, and logs it. */
void heal_tell (struct heal *heal, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* A lock that a heal takes on all copies that take part. */
struct heal_lock {
    inode_t *inode;
    bool entry;        /* whether to take an entry lock on `name`, not an inode lock on bytes */
    const char *name;  /* name to lock in the directory `inode`; NULL: the whole directory */
    off_t from, len;   /* first byte to lock, and number of bytes; len 0: to the end of the file */
    bool only_healers; /* whether the lock is in a domain of its own, so that it excludes only other
                        * healers, no writers */
    copies_t held;     /* copies that have granted the lock */
};

/* Takes the lock on the copies that take part. Returns 0, or a negative errno and leaves no copy
 * locked: -EAGAIN if another client has a conflicting lock, and `wait` is false; -ENOTCONN if a
 * copy is not connected any more. */
int heal_lock (struct heal *heal, struct heal_lock *lock, bool wait);
void heal_unlock (struct heal *heal, struct heal_lock *lock);

/* Looks the inode up on the copies that take part, and stores their states in heal->copies. Returns
 * 0 or a negative errno; -ESTALE if a copy has another object. */
int heal_refresh (struct heal *heal, inode_t *inode);

/* Decides from heal->copies which copies are sources and sinks. Returns the number of the source;
 * -1 if there is no sink; -EIO, after a line in the report, if no copy can be the source. */
int heal_direct (struct heal *heal, inode_t *inode, enum counter_kind kind,
                 struct heal_direction *ret_direction);

/* Subtracts, on each copy, the pending counters in heal->copies that accuse copies of this heal,
 * except copies in `unhealed`. Subtracts the dirty counters, too, if a pending counter accuses each
 * copy that took no part. A copy that took no part and is not accused may differ, and then only the
 * dirty counters show that. */
int heal_clear_counters (struct heal *heal, inode_t *inode, enum counter_kind kind,
                         copies_t unhealed);

/* Heal one part of an object. Each returns 1 if it healed a copy, 0 if there was no sink, or a
 * negative errno after a line in the report. */
int heal_metadata (struct heal *heal, inode_t *inode);
int heal_data (struct heal *heal, inode_t *inode);
int heal_entries (struct heal *heal, inode_t *inode);

/* Renames a directory to `to` on the one copy that has it under another name. Returns 1; 0 if the
 * brick does not report the path under which it has the directory; or a negative errno, such as
 * -EAGAIN if a client or another healer has locked a name on that path. */
int heal_move (struct heal *heal, unsigned child, inode_t *directory, loc_t *to);

#endif
