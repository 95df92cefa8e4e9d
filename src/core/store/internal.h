/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Declarations that the files of this room share. */
#ifndef WINDLASS_CORE_STORE_INTERNAL_H
#define WINDLASS_CORE_STORE_INTERNAL_H

#include "core/store/store.h"

#include <pthread.h>

/* A use of the store: the child that its file is reached by. */
struct store_way {
    struct store_plan plan; /* the directory has a reference, the name is owned */
    struct client *client;
};

struct store_value {
    GBytes *bytes;
    uint64_t number; /* of the change that has set it (store.taken); 0: it was read */
};

struct store {
    pthread_mutex_t lock;    /* guards what follows, but for what the writer alone uses */
    pthread_cond_t changed;  /* the writer has ended */
    GTree *table;            /* key: char *, owned; value: struct store_value */
    GByteArray *pending;     /* records that were not written */
    uint64_t taken, written, synced; /* numbers of changes: made, in the file, durable */
    uint64_t live;           /* bytes of a file that has each key once */
    struct store_losses losses;
    bool writing;            /* a thread is the writer */
    gfid_t gfid;             /* of the file */

    /* Of the writer. */
    GPtrArray *ways;         /* of struct store_way; the last one is used */
    fd_t *fd;                /* of the file; NULL: it must be opened again */
    off_t end;               /* of the records in the file */
    uint64_t compact_at;     /* size of the file at which it is compacted */
};

#define STORE_MAGIC "windlass store 1\n"
#define STORE_MAGIC_SIZE (sizeof STORE_MAGIC - 1)

/* --- records.c: records and the table in memory --- */

enum store_kind { STORE_SET = 1, STORE_REMOVED = 2 };

GTree *store_table_new (void);
struct store_value *store_value_new (const void *bytes, size_t size, uint64_t number);
void store_record_append (GByteArray *bytes, enum store_kind kind, const char *key,
                          const void *value, size_t size);
/* Returns the size of the record of a key and a value. */
uint64_t store_record_size (const char *key, size_t size);
/* Reads the records of a file's bytes into the table. Puts the offset behind the last one into
 * *ret_end. Returns 0, or -EUCLEAN if the bytes are no store. */
int store_records_read (const GByteArray *bytes, GTree *table, struct store_losses *ret_losses,
                        uint64_t *ret_end);
/* Returns the bytes of a file that has each key once. */
GByteArray *store_records_all (GTree *table);

/* --- file.c: the file, for the writer --- */

/* Opens the file that has the name. Sets fd and gfid. */
int store_file_open (struct store *store);
int store_file_read_all (struct store *store, GByteArray *ret_bytes);
/* Makes the bytes the content of a new file, which takes the name. */
int store_file_replace (struct store *store, const GByteArray *bytes);
int store_file_append (struct store *store, const GByteArray *bytes);
int store_file_sync (struct store *store);
/* Removes what a killed process has left of new files. */
void store_file_clean (struct store *store);
/* Cuts off what is behind the records. */
int store_file_trim (struct store *store);

static inline struct store_way *
store_way (const struct store *store)
{
    return store->ways->pdata[store->ways->len - 1];
}

#endif
