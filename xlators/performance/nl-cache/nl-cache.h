/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside performance/nl-cache:
 *
 *   nl-cache.c   options, init and fini, dumps, invalidation
 *   names.c      the table of names
 *   ops.c        lookup, getxattr, and changes of names
 *
 *   nlc_private --shards[hash of the directory's gfid]--> nlc_shard
 *               --lru----> nlc_name, nlc_name, ...
 *   nlc_shard   --names--> nlc_name --same--> nlc_name   differ in upper and lower case
 *               --views--> change_view                   is such a name being changed?
 *
 * There is no record of a directory. That all its names are known is itself a name, the empty one.
 * Names and views are found by a hash that ignores upper and lower case, because a directory may
 * ignore them (ext4's casefold).
 *
 * Locks: nlc_shard.lock, and lru.lock under it.
 *
 * Whether a kept name still holds: core/cache/change-views.h. Which caller may be answered from it:
 * root->checked, see md-cache.
 */
#ifndef WINDLASS_NL_CACHE_H
#define WINDLASS_NL_CACHE_H

#include "xlator.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NLC_SHARDS 8
#define NLC_VIEWS 128

enum nlc_state {
    NLC_ABSENT,  /* the name does not exist */
    NLC_MAYBE,   /* an operation may have made the name; the directory's other names stay
                    known */
    NLC_PRESENT, /* the name exists */
    NLC_WHOLE,   /* the empty name: all other names of the directory are known */
};

struct nlc_name {
    struct lru_entry lru;  /* must be first */
    struct nlc_name *same; /* shard.lock: the next one with the same hash */
    gfid_t directory;      /* constant */
    guint hash;            /* constant */
    enum nlc_state state;  /* shard.lock, like the fields below, except name */
    uint64_t asked;
    int64_t time;
    bool gone; /* not to be found any more; the thread that took it out of the lru frees it */
    char name[]; /* constant */
};

struct nlc_shard {
    pthread_mutex_t lock;
    GHashTable *names;                         /* lock; maps to the first struct nlc_name with the
                                                  same hash; the key is that struct; NULL: none
                                                  yet */
    struct change_view views[NLC_VIEWS];       /* of names; written under lock */
    struct change_view directories[NLC_VIEWS]; /* is a name being made in the directory? Written
                                                  under lock */
};

struct nlc_counts {
    uint64_t hit, miss, nameless, real_hit, real_miss, invalidations;
};

typedef struct nlc_private {
    uint64_t limit; /* limit of lru; online */
    int64_t timeout; /* nanoseconds; online, atomic */
    bool positive;   /* online, atomic */

    bool begun; /* constant after init */
    struct lru lru;
    struct change_clock clock;
    struct change_view all; /* written under all_lock */
    pthread_mutex_t all_lock; /* a leaf */
    struct nlc_shard shards[NLC_SHARDS];
    struct nlc_counts count; /* atomic */
} nlc_private_t;

struct nlc_asked {
    uint64_t asked;
    int64_t time;
};

struct nlc_local {
    struct nlc_asked at;
    inode_t *parent; /* of a lookup; with a reference */
    char *name;      /* in the request's memory */
};

static inline nlc_private_t *
nlc_priv (const xlator_t *this)
{
    return this->private;
}

static inline void
nlc_count (uint64_t *counter)
{
    __atomic_fetch_add (counter, 1, __ATOMIC_RELAXED);
}

#define NLC_OPTION(this_, field_) __atomic_load_n (&nlc_priv (this_)->field_, __ATOMIC_RELAXED)

static inline struct nlc_asked
nlc_now (xlator_t *this)
{
    return (struct nlc_asked){ change_clock_now (&nlc_priv (this)->clock), clock_roughly () };
}

/* --- names.c --- */
void nlc_shard_init (struct nlc_shard *shard);
void nlc_shard_destroy (xlator_t *this, struct nlc_shard *shard);

/* Returns true if the directory is known to have no such name. */
bool nlc_is_absent (xlator_t *this, const inode_t *parent, const char *name);
/* The real spelling of a name that may differ in upper and lower case: NULL, or a new string.
 * *ret_absent: the name does not exist. */
char *nlc_real_name (xlator_t *this, const inode_t *parent, const char *name, bool *ret_absent);

/* Keeps the state of a name, as answered. */
void nlc_keep (xlator_t *this, const inode_t *parent, const char *name, enum nlc_state state,
               struct nlc_asked at);
/* Notes that the directory with that gfid was made, and is empty. */
void nlc_keep_whole (xlator_t *this, const gfid_t *directory, struct nlc_asked at);

/* *ret_absent: the name is known not to exist now. */
uint64_t nlc_change_begin (xlator_t *this, const inode_t *parent, const char *name, bool makes,
                           bool *ret_absent);
/* state: the state now, unless another operation changed the name. */
void nlc_change_end (xlator_t *this, const inode_t *parent, const char *name, uint64_t begun,
                     bool makes, bool known, enum nlc_state state);

void nlc_name_changed (xlator_t *this, const inode_t *parent, const char *name);
void nlc_directory_changed (xlator_t *this, const inode_t *parent);
void nlc_all_changed (xlator_t *this);
void nlc_set_limit (xlator_t *this, uint64_t limit);
bool nlc_is_whole (xlator_t *this, const inode_t *directory);

/* --- ops.c --- */
void nlc_local_drop (xlator_t *this, void *local);
extern lookup_fop nlc_lookup;
extern getxattr_fop nlc_getxattr;
any_fop_t nlc_any_fop;
any_fop_cbk_t nlc_any_fop_cbk;

#endif
