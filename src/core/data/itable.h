/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Declarations that inode.c, dentry.c and inode-numbers.c share. Not for translators. */
#ifndef WINDLASS_CORE_DATA_ITABLE_H
#define WINDLASS_CORE_DATA_ITABLE_H

#include "core/data/inode.h"

/* A name in a directory. */
struct dentry {
    inode_t *inode;      /* no reference: the dentry is freed with the inode */
    inode_t *parent;     /* holds a reference */
    struct dentry *next; /* next name of the same inode */
    struct dentry *sibling, **back; /* next name in the same directory, and the link to this one */
    const char *name;    /* stored after the struct */
};

#define ROOT_SLOT 1 /* of each table's root: the kernel's number for it */
#define SLOT_CHUNK 4096
#define SLOT_CHUNKS 65536

/* The slot of an inode's number. A slot in use holds the inode's pointer. A free slot holds the
 * generation for its next inode, which tells that inode from earlier ones, the next free slot, and
 * a 1 as the lowest bit, which no pointer has. Atomic. */
struct slot {
    uint64_t word;
};

/* A struct, so that a debugger knows the number of slots. The memory of an unused chunk is returned
 * to the system, and all its slots read as 0. */
struct slot_chunk {
    struct slot slots[SLOT_CHUNK];
};

/* The free slots of a chunk. */
struct slot_room {
    uint32_t used, fresh; /* used: number of slots in use. fresh: the first slot that was never used
                           * since the memory was returned */
    uint32_t free;        /* head of the list of slots that were used before, counted from 1, or
                           * 0 */
    uint32_t generation;  /* of the fresh slots: no number was given out with it */
    uint32_t newest;      /* larger than the generation of any number that was given out */
    uint32_t next;        /* the next chunk with room, counted from 1, or 0 */
    bool listed;
};

/* A graph that keeps contexts in inodes. */
struct itable_graph {
    bool used;
    bool leaving; /* new inodes get no contexts */
    unsigned keepers;
    void (*forget) (inode_t *inode, void *data);
    bool (*unkept) (inode_t *parent, const char *name, void *data); /* NULL: no name is */
    void *data;
};

struct itable {
    pthread_mutex_t lock;
    GHashTable *by_gfid;  /* set of &inode->gfid */
    GHashTable *by_name;  /* set of struct dentry */
    GHashTable *detached; /* set of inode_t: they are not in by_gfid, and have no names */
    GQueue forgotten;     /* of inode_t, the oldest first */
    struct slot_chunk **chunks; /* atomic: chunks are added and never removed or moved */
    GArray *rooms;    /* a struct slot_room for each chunk */
    uint32_t room;    /* the first chunk with a free slot, counted from 1, or 0 */
    uint32_t n_slots; /* slots from here on were never used */
    uint32_t beside;      /* the highest bit of all generations: INODE_BESIDE >> 32, or 0;
                           * constant */
    inode_t *root;
    unsigned freeing; /* threads that free inodes; atomic, raised under the lock */
    size_t limit;
    struct itable_graph graphs[ITABLE_GRAPHS]; /* lock. keepers may be read without it: atomic */
};

/* Drop or take a reference under the lock. Inodes to free are added to gone: itable_unlock unlocks
 * the table and then frees them. */
void inode_unref_locked (inode_t *inode, GSList **gone);
inode_t *inode_ref_locked (inode_t *inode);
void itable_unlock (struct itable *table, GSList *gone);

/* As inode_ref and inode_unref, for a reference that an object of the core has: the audit must not
 * count it for the translator whose thread happens to begin or end that object. */
inode_t *inode_ref_by_core (inode_t *inode);
void inode_unref_by_core (inode_t *inode);

/* A copy of an inode's state for reports. */
struct itable_entry {
    inode_t *inode; /* holds a reference */
    uint64_t nlookup;
    int refs; /* without that reference */
    bool forgotten;
};

/* Returns at most max inodes of the table, detached ones too, for reports. Drop the references,
 * then g_array_unref it. */
GArray *itable_some (struct itable *table, unsigned max);

/* The inode that a key of by_gfid lies in. */
static inline inode_t *
inode_of_gfid_key (gpointer key)
{
    return (inode_t *) ((char *) key - offsetof (inode_t, gfid));
}

/* In dentry.c. */
guint dentry_hash (gconstpointer dentry);
gboolean dentry_same (gconstpointer a, gconstpointer b);
void dentry_set_locked (inode_t *parent, const char *name, inode_t *inode, GSList **gone);
/* Whether an answer that tells the name of an inode is from before a change of names:
 * inode_link_asked. */
bool dentry_is_late_locked (inode_t *parent, const char *name, const inode_t *inode,
                            uint64_t asked);
/* With gone NULL, the dentry's reference to its parent is not dropped. */
void dentry_drop_locked (struct dentry *dentry, GSList **gone);

/* In inode-numbers.c. */
void slots_init (struct itable *table);
void slots_free (struct itable *table);
void slot_take_locked (struct itable *table, inode_t *inode);
void slot_give_locked (struct itable *table, inode_t *inode);
inode_t *slot_inode (struct itable *table, uint32_t slot);
void slots_trim_locked (struct itable *table);

#endif
