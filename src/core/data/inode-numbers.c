/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers for the kernel: generation in the upper half, slot in the lower. A stale or invented
 * number (file handles come from users) finds no inode, never freed memory. The highest bit tells
 * two tables apart.
 */
#include "core/data/itable.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

void
slots_init (struct itable *table)
{
    table->chunks = g_new0 (struct slot_chunk *, SLOT_CHUNKS);
    table->rooms = g_array_new (FALSE, TRUE, sizeof (struct slot_room));
}

void
slots_free (struct itable *table)
{
    for (guint i = 0; i < table->rooms->len; i++)
        munmap (table->chunks[i], sizeof (struct slot_chunk));
    g_array_unref (table->rooms);
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

static struct slot_room *
room_of (struct itable *table, uint32_t chunk)
{
    return &g_array_index (table->rooms, struct slot_room, chunk);
}

static bool
room_is_full (const struct slot_room *room)
{
    return !room->free && room->fresh == SLOT_CHUNK;
}

static void
room_list_locked (struct itable *table, uint32_t chunk)
{
    struct slot_room *room = room_of (table, chunk);

    if (room->listed || room_is_full (room))
        return;
    room->listed = true;
    room->next = table->room;
    table->room = chunk + 1;
}

/* Maps the chunk from the system instead of using malloc. Memory from malloc would leave holes
 * among inodes when it is freed, and pages with neighbouring inodes could not be returned. */
static void
chunk_add_locked (struct itable *table)
{
    uint32_t chunk = table->rooms->len;
    void *memory;

    g_assert (chunk < SLOT_CHUNKS); /* 268 million inodes: more than memory holds */
    memory = mmap (NULL, sizeof (struct slot_chunk), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        g_error ("no memory for more inodes: %s", g_strerror (errno));
    __atomic_store_n (&table->chunks[chunk], memory, __ATOMIC_RELEASE);
    g_array_set_size (table->rooms, chunk + 1);
    if (chunk == 0)
        room_of (table, 0)->fresh = ROOT_SLOT; /* the root comes first; slot 0 is not used */
    room_list_locked (table, chunk);
}

void
slot_take_locked (struct itable *table, inode_t *inode)
{
    struct slot_room *room;
    uint32_t chunk, place;

    if (!table->room)
        chunk_add_locked (table);
    chunk = table->room - 1;
    room = room_of (table, chunk);
    place = room->free ? room->free - 1 : room->fresh++;
    inode->slot = chunk * SLOT_CHUNK + place;
    if (room->free) {
        uint64_t word = slot_load (slot_at (table, inode->slot));
        room->free = (uint32_t) word >> 1;
        inode->generation = (uint32_t) (word >> 32);
    } else {
        inode->generation = room->generation | table->beside;
    }
    room->used++;
    if (room_is_full (room)) {
        table->room = room->next;
        room->listed = false;
    }
    table->n_slots = MAX (table->n_slots, inode->slot + 1);
    __atomic_store_n (&slot_at (table, inode->slot)->word, (uint64_t) (uintptr_t) inode,
                      __ATOMIC_RELEASE);
}

void
slot_give_locked (struct itable *table, inode_t *inode)
{
    const uint32_t next = (inode->generation + 1) & ~(uint32_t) (INODE_BESIDE >> 32);
    struct slot_room *room = room_of (table, inode->slot / SLOT_CHUNK);

    __atomic_store_n (&slot_at (table, inode->slot)->word,
                      (uint64_t) (next | table->beside) << 32 | (uint64_t) room->free << 1 | 1,
                      __ATOMIC_RELEASE);
    room->free = inode->slot % SLOT_CHUNK + 1;
    room->newest = MAX (room->newest, next);
    room->used--;
    room_list_locked (table, inode->slot / SLOT_CHUNK);
}

/* Returns an empty chunk's memory to the system. A thread that reads slots there meanwhile, without
 * the lock, finds free slots, or 0, which is no inode either. */
static void
chunk_trim_locked (struct itable *table, uint32_t chunk)
{
    struct slot_room *room = room_of (table, chunk);

    if (room->used > 0 || room->fresh == 0
        || sizeof (struct slot_chunk) % sysconf (_SC_PAGESIZE) != 0
        || madvise (table->chunks[chunk], sizeof (struct slot_chunk), MADV_DONTNEED) < 0)
        return;
    room->generation = room->newest;
    room->free = room->fresh = 0;
}

/* Trims all chunks and sorts those with room, so that chunks in use are filled first. */
void
slots_trim_locked (struct itable *table)
{
    table->room = 0;
    for (uint32_t chunk = table->rooms->len; chunk > 0; chunk--) {
        chunk_trim_locked (table, chunk - 1);
        room_of (table, chunk - 1)->listed = false;
    }
    for (int in_use = 0; in_use < 2; in_use++)
        for (uint32_t chunk = table->rooms->len; chunk > 0; chunk--)
            if ((room_of (table, chunk - 1)->used > 0) == in_use)
                room_list_locked (table, chunk - 1);
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
