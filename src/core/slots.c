/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers for the kernel: generation in the upper half, slot in the lower. A number that went stale, or that
 * somebody made up (file handles come from users), finds nothing instead of freed memory. The highest bit tells which of two tables
 * it is of.
 */
#include "core/itable.h"

#include <stdlib.h>

void
slots_init (struct itable *table)
{
    table->chunks = g_new0 (struct slot_chunk *, SLOT_CHUNKS);
    table->n_slots = 1; /* 0 is no inode; the first is the root, whose number must be 1 */
}

void
slots_free (struct itable *table)
{
    for (unsigned i = 0; i < SLOT_CHUNKS && table->chunks[i]; i++) /* they came one after the other */
        g_free (table->chunks[i]);
    g_free (table->chunks);
}

static struct slot *
slot_at (struct itable *table, uint32_t slot)
{
    struct slot_chunk *chunk = NULL;

    if (slot / SLOT_CHUNK < SLOT_CHUNKS)
        chunk = __atomic_load_n (&table->chunks[slot / SLOT_CHUNK], __ATOMIC_ACQUIRE);
    return chunk ? &chunk->slots[slot % SLOT_CHUNK] : NULL;
}

static uint64_t
slot_load (struct slot *at)
{
    return __atomic_load_n (&at->word, __ATOMIC_ACQUIRE);
}

inode_t *
slot_inode (struct itable *table, uint32_t slot)
{
    struct slot *at = slot_at (table, slot);
    uint64_t word = at ? slot_load (at) : 0;

    return word & 1 ? NULL : (inode_t *) (uintptr_t) word;
}

/* One that nobody had yet: generation 0. */
static uint32_t
slot_fresh_locked (struct itable *table)
{
    uint32_t slot = table->n_slots++;

    g_assert (slot / SLOT_CHUNK < SLOT_CHUNKS); /* 268 million inodes: memory ends before */
    if (!slot_at (table, slot))
        __atomic_store_n (&table->chunks[slot / SLOT_CHUNK], g_new0 (struct slot_chunk, 1), __ATOMIC_RELEASE);
    return slot;
}

void
slot_take_locked (struct itable *table, inode_t *inode)
{
    uint32_t slot = table->free_slot;
    uint64_t word = slot ? slot_load (slot_at (table, slot)) : (uint64_t) table->realm << 32;

    if (slot)
        table->free_slot = (uint32_t) word >> 1;
    else
        slot = slot_fresh_locked (table);
    inode->slot = slot;
    inode->generation = (uint32_t) (word >> 32);
    __atomic_store_n (&slot_at (table, slot)->word, (uint64_t) (uintptr_t) inode, __ATOMIC_RELEASE);
}

void
slot_give_locked (struct itable *table, inode_t *inode)
{
    uint64_t generation = ((inode->generation + 1) & ~(uint32_t) (INODE_REALM >> 32)) | table->realm;

    __atomic_store_n (&slot_at (table, inode->slot)->word,
                      generation << 32 | (uint64_t) table->free_slot << 1 | 1, __ATOMIC_RELEASE);
    table->free_slot = inode->slot;
}

uint64_t
inode_nodeid (const inode_t *inode)
{
    return (uint64_t) inode->generation << 32 | inode->slot;
}

static inode_t *
slot_inode_of_nodeid (struct itable *table, uint64_t nodeid)
{
    inode_t *inode = slot_inode (table, (uint32_t) nodeid);

    return inode && inode->generation == nodeid >> 32 ? inode : NULL;
}

inode_t *
inode_of_nodeid (struct itable *table, uint64_t nodeid)
{
    inode_t *inode = slot_inode_of_nodeid (table, nodeid);

    return inode && __atomic_load_n (&inode->refs, __ATOMIC_RELAXED) > 0 ? inode : NULL;
}

inode_t *
inode_get_nodeid (struct itable *table, uint64_t nodeid)
{
    inode_t *inode;

    pthread_mutex_lock (&table->lock);
    inode = slot_inode_of_nodeid (table, nodeid);
    if (inode)
        inode_ref_locked (inode);
    pthread_mutex_unlock (&table->lock);
    return inode;
}
