/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the table of inodes: what inode.c, dentry.c and inode-numbers.c share. Not for
 * translators. */
#ifndef WINDLASS_CORE_DATA_ITABLE_H
#define WINDLASS_CORE_DATA_ITABLE_H

#include "core/data/inode.h"

/* A name in a directory. */
struct dentry {
    inode_t *inode;      /* no reference: the dentry goes with it */
    inode_t *parent;     /* with a reference */
    struct dentry *next; /* of the same inode */
    const char *name;    /* stands behind */
};

#define SLOT_CHUNK 4096
#define SLOT_CHUNKS 65536

/* The place of an inode's number: the inode, or, while it is free, the generation that tells the
 * next who has it from those who had it before, the next free place, and a 1 as the lowest bit,
 * which no pointer has. Atomic. */
struct slot {
    uint64_t word;
};

/* A struct, so that a debugger knows how many there are. Where nobody has a place in it its memory
 * goes back to the system, and all is 0. */
struct slot_chunk {
    struct slot slots[SLOT_CHUNK];
};

/* What is known of the places of a chunk. */
struct slot_room {
    uint32_t used, fresh; /* how many have one; the first that nobody had since the memory was given
                             back */
    uint32_t free;        /* one that somebody had, counted from 1, or 0 */
    uint32_t generation;  /* of the fresh ones: no number was ever given out with it */
    uint32_t newest;      /* larger than the generation of any number that was given out */
    uint32_t next;        /* another chunk with room, counted from 1, or 0 */
    bool listed;
};

struct itable {
    pthread_mutex_t lock;
    GHashTable *by_gfid;  /* set of &inode->gfid */
    GHashTable *by_name;  /* set of struct dentry */
    GQueue forgotten;     /* of inode_t, the oldest first */
    struct slot_chunk **chunks; /* atomic: chunks come and never go or move */
    GArray *rooms;    /* of struct slot_room, for each chunk */
    uint32_t room;    /* the first chunk with a place to give out, counted from 1, or 0 */
    uint32_t n_slots; /* from here on there never was an inode */
    uint32_t realm;       /* the highest bit of the generation of each number: INODE_REALM >> 32, or
                             0; constant */
    inode_t *root;
    unsigned keepers;
    size_t limit;
    void (*forget) (inode_t *inode, void *data);
    void *data;
};

/* Give up a reference, or take one, under the lock. What is to be freed is added to gone:
 * itable_unlock does it after it has unlocked. */
void inode_unref_locked (inode_t *inode, GSList **gone);
inode_t *inode_ref_locked (inode_t *inode);
void itable_unlock (struct itable *table, GSList *gone);

/* One of the table's inodes. */
struct itable_entry {
    inode_t *inode; /* with a reference */
    uint64_t nlookup;
    int refs; /* without that one */
    bool forgotten;
};

/* At most so many of those that are known, for reports. g_array_unref it, when the references were
 * given back. */
GArray *itable_some (struct itable *table, unsigned max);

/* dentry.c */
guint dentry_hash (gconstpointer dentry);
gboolean dentry_same (gconstpointer a, gconstpointer b);
void dentry_set_locked (inode_t *parent, const char *name, inode_t *inode, GSList **gone);
/* gone NULL: parents keep their references */
void dentry_drop_locked (struct dentry *dentry, GSList **gone);

/* inode-numbers.c */
void slots_init (struct itable *table);
void slots_free (struct itable *table);
void slot_take_locked (struct itable *table, inode_t *inode);
void slot_give_locked (struct itable *table, inode_t *inode);
inode_t *slot_inode (struct itable *table, uint32_t slot);
void slots_trim_locked (struct itable *table);

#endif
