/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A store: a small table that survives the process. Keys are texts, values are bytes. The whole
 * table is in memory. Its file lies in a directory of a child, and is read and written through that
 * child, so that faults, power cuts, encryption and the network apply to it as to other files.
 *
 *   struct store *store;
 *   const struct store_plan plan = { this, FIRST_CHILD (this), directory, "records", false };
 *   int r = store_open (&plan, &store);
 *   ...
 *   store_set (store, "/a_file", &value, sizeof value);
 *   r = store_sync (store);             now a power cut does not take it away
 *   ...
 *   store_close (store, this);
 *
 * The file:
 *
 *   "windlass store 1\n"
 *   length  CRC32C  key length  kind  key  value         a record: numbers of 32 bits, little-
 *   ...                                                   endian; kind 1: set; 2: removed
 *
 *   - store_set and store_remove change the table in memory. store_write appends what has changed
 *     since, by one write; store_sync makes it durable as well. Several threads may call them: one
 *     of them writes for all. Each user says, where it calls them, what is durable before which
 *     answer.
 *   - A record that a power cut or a kill has torn is the last one: it is dropped. Bytes before a
 *     later record that can't be read are told by a warning, and the records around them count.
 *   - When half of the file is old, the table is written to a new file, which is synced and takes
 *     the name; then the directory is synced.
 *   - One process at a time uses the file: the caller sees to that, by a lock file
 *     (core/edge/sync-lock.h) or otherwise.
 *   - Whoever opens the same file again in this process, such as the volume's successor in the next
 *     graph, gets the same store. The file is then written through the child that came last; after
 *     store_close through the one before.
 *
 * Functions that write wait for requests: call them on a thread of core/work, without a lock.
 */
#ifndef WINDLASS_CORE_STORE_STORE_H
#define WINDLASS_CORE_STORE_STORE_H

#include "core/edge/sync.h"

struct store;

struct store_plan {
    xlator_t *maker;    /* in whose name requests are made */
    xlator_t *child;    /* gets the requests */
    inode_t *directory; /* in the child's table of inodes */
    const char *name;   /* of the file; NAME.new.* are used as well */
    bool read_only;     /* the file is read, and nothing is made or changed: nor may the table be */
};

/* Opens the store, and makes its file if there is none; a read-only store is empty then. Returns 0;
 * -EUCLEAN if the file is not a store; or another negative errno of the child. */
int store_open (const struct store_plan *plan, struct store **ret_store);

/* Writes what has not been written, and ends the use of the store by maker. The last one frees the
 * store. Takes NULL. */
void store_close (struct store *store, const xlator_t *maker);

/* Returns the value of a key, with a reference; NULL: none. */
GBytes *store_get (struct store *store, const char *key);
void store_set (struct store *store, const char *key, const void *value, size_t size);
void store_remove (struct store *store, const char *key);

/* store_now returns the number of the last change. store_remove_until removes a key, unless a
 * change after number `until` has set it. So a thread that may not take long notes the number, and
 * later removes what there was then. */
uint64_t store_now (struct store *store);
void store_remove_until (struct store *store, const char *key, uint64_t until);

/* Calls fn for each key that begins with prefix, in the order of the keys. The table may be changed
 * meanwhile: fn sees it as it was at the begin. */
void store_each (struct store *store, const char *prefix,
                 void (*fn) (const char *key, GBytes *value, void *data), void *data);

/* Return 0; or a negative errno of the child: then the next call tries again. */
int store_write (struct store *store);
int store_sync (struct store *store);

/* What the file had that could not be read when it was opened. */
struct store_losses {
    uint64_t torn;    /* bytes of the last record, which was dropped */
    uint64_t damaged; /* bytes before the last record */
};
struct store_losses store_losses (const struct store *store);

#endif
