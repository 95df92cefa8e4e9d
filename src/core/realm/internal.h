/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Declarations that the files of this room share. */
#ifndef WINDLASS_CORE_REALM_INTERNAL_H
#define WINDLASS_CORE_REALM_INTERNAL_H

#include "core/realm/realm.h"
#include "core/data/itable.h"

struct realm_slot {
    xlator_t *child;
    char *path;    /* of the root directory in the child's realm; constant */
    inode_t *root; /* with a reference; NULL: not looked up yet. Atomic; another one only in
                    * a pause */
    bool same_root; /* whether the boundary's predecessor has the same root; set before root */
    int failed;    /* errno of the last look-up of the root that failed, for the log. Atomic */
};

#define REALM_PIECE 16 /* entries at most */

/* The context of an inode above: its inodes below, by slot; that of an fd above: its fds below.
 * They hold a reference each, are atomic, and are set once. The first piece has the slots that were
 * made last, the last one first. A slot that comes into use later may need a further piece. */
struct realm_piece {
    struct realm_piece *more; /* NULL: none is needed yet. Atomic, set once */
    void *entries[];          /* REALM_PIECE, or as many as there are slots */
};

/* The slots of a boundary. Constant after init, but for what its members say. */
struct realm_slots {
    struct itable *above;    /* the table of inodes above */
    int inode_slot, fd_slot; /* of the contexts */
    unsigned n;
    unsigned first; /* the slots before are not in use yet: the functions' slot 0 is this one.
                     * Atomic; goes down in a pause */
    struct realm_slot *slots;
    xlator_t *successor; /* the boundary in the next graph; or NULL. Set while no request runs */
};

/* What an answer needs of its call. Lives as long as the request. */
struct realm_asked {
    unsigned slot;       /* counted from the first one that was made: a pause may begin the slots
                          * elsewhere before the answer */
    void *cookie;
    uint32_t flags;
    uint64_t names_at; /* names_now when the call was wound */
    inode_t *above;      /* the inode of the call's last place, with a reference; or NULL */
    fd_t *opens, *opened; /* the fd that the call opens, above and below, with references; or
                           * NULL */
    inode_t *directory;  /* below: that of a listing, with a reference; or NULL */
    loc_t places[2];     /* below, with references, of an operation on names */
};

static inline unsigned
realm_slots_first (const struct realm_slots *all)
{
    return __atomic_load_n (&all->first, __ATOMIC_RELAXED);
}

/* Slots in use. */
static inline unsigned
realm_slots_count (const xlator_t *this)
{
    return this->slots->n - realm_slots_first (this->slots);
}

static inline struct realm_slot *
realm_slot_of (const xlator_t *this, unsigned slot)
{
    g_assert (slot < realm_slots_count (this));
    return &this->slots->slots[realm_slots_first (this->slots) + slot];
}

/* The number that the slot of an answer has now. */
static inline unsigned
realm_asked_slot (const xlator_t *this, const struct realm_asked *asked)
{
    return asked->slot - realm_slots_first (this->slots);
}

static inline inode_t *
realm_slot_root (const struct realm_slot *slot)
{
    return __atomic_load_n (&slot->root, __ATOMIC_ACQUIRE);
}

/* Returns the inode above for one below: the known one with its gfid, else given if that has no
 * gfid yet, else a new one. With a reference, and joined to below. given may be NULL. */
inode_t *realm_above (xlator_t *this, unsigned slot, inode_t *given, inode_t *below);

/* Enters in the table below what the answer tells. Returns the inode of the answer as that table
 * has it, with a reference; or NULL. */
inode_t *realm_names_enter (const struct answer *answer, const struct realm_asked *asked);

/* Looks up the slot's root, and then resumes the call, or answers it with the error. */
void realm_walk (const struct call *call, unsigned slot);

/* Returns a dict of those keys that may pass the boundary, with a reference: dict itself if all
 * may; NULL if none is left. */
dict_t *realm_keys_filter (const xlator_t *this, dict_t *dict);

#endif
