/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inodes, their names, and the table of both.
 *
 *   itable --by_gfid--> inode --names--> dentry --parent--> inode (directory) --children--> dentry
 *          --by_name--> dentry
 *          --slots----> inode                by the number that the kernel uses
 *          --forgotten> inode, inode, ...    inodes without references; at most `limit`
 *          --detached-> inode, inode, ...    inodes without a gfid or a name: inode_detach
 *
 * An inode lives while it has a reference: from the kernel (all its lookups count as one), from a
 * child's dentry, an open file, or a translator. An inode without references that has a name joins
 * the list of forgotten inodes; the oldest is freed when there are more than the limit. inode_link
 * enters a new inode in the table.
 *
 * Several graphs may share a table: the mount's, the next one during a move, and those before that
 * open files still use. Each has contexts of its own in every inode. itable_join adds one more,
 * itable_leave removes one of them.
 *
 * Lock: itable.lock guards the maps, dentries, lookup counts and the list of forgotten inodes. It
 * is a leaf: no callback runs and no other lock is taken under it. forget callbacks run without it.
 */
#ifndef WINDLASS_CORE_DATA_INODE_H
#define WINDLASS_CORE_DATA_INODE_H

#include "core/base/gfid.h"
#include "core/data/iatt.h"
#include "core/data/types.h"

#include <pthread.h>
#include <stdbool.h>

struct dentry;
struct itable;

#define INODE_MAGIC 0x494e4f44u
#define INODE_MAKER_WORDS 5

/* A slot (xlator.inode_slot) names the graph in the table, and the translator in the graph. */
#define ITABLE_GRAPHS 4
#define INODE_SLOT(graph_, keeper_) ((int) ((graph_) << 16 | (keeper_)))

struct inode {
    uint32_t magic;
    int refs; /* atomic; changes from 0 to 1 only under table->lock */
    struct itable *table;
    gfid_t gfid;          /* set by inode_link, then constant */
    ia_type_t ia_type;    /* set by inode_link, then constant */
    uint32_t slot;        /* in table->slots; constant */
    uint32_t generation;  /* of the slot; constant */
    uint32_t maker[INODE_MAKER_WORDS]; /* of whoever makes requests, as call_stack_t.maker: the
                                        * bridge keeps a struct of its own here; 0 in a new inode */
    uint16_t keepers[ITABLE_GRAPHS]; /* contexts of each graph that lie in `own`; constant */
    bool detached;        /* inode_detach was called. Atomic; set under table->lock */
    bool unkept;          /* inode_set_unkept was called. Atomic; never reset */
    uint64_t named;       /* time of the names' clock when a name of it came or went. Atomic; set
                           * under table->lock */
    uint64_t nlookup;     /* number of lookups that the kernel has not forgotten. Atomic; set
                           * under table->lock */
    uint64_t unnamed;     /* time of the names' clock when a name of it went last; table->lock */
    struct dentry *names; /* table->lock */
    struct dentry *children; /* of a directory: the known names in it; table->lock */
    GList *forgotten;     /* table->lock; the element of table->forgotten, or NULL */
    void **ctx[ITABLE_GRAPHS]; /* of each graph: one per translator with WANTS_INODE, each atomic;
                                * or NULL. Set and cleared under table->lock */
    void *own[];
};

/* keepers: the number of translators with WANTS_INODE; xlator.inode_slot is below it. limit: the
 * maximum number of inodes without references. forget is called, without a lock, for each inode
 * that is freed. */
struct itable *itable_new (unsigned keepers, size_t limit,
                           void (*forget) (inode_t *inode, void *data), void *data);
void itable_destroy (struct itable *table);

/* itable_spare returns a number for one more graph, or -1 if there are ITABLE_GRAPHS already;
 * itable_join adds a graph with that number, and with no context in any inode yet, on the same
 * thread. itable_leave forgets all contexts of a graph that gets no more requests, and destroys the
 * table with the last graph. */
int itable_spare (struct itable *table);
void itable_join (struct itable *table, unsigned graph, unsigned keepers,
                  void (*forget) (inode_t *inode, void *data), void *data);
void itable_leave (struct itable *table, unsigned graph);

/* Sets INODE_BESIDE in all numbers of this table, that of the root too, so that they differ from
 * another table's. Call this before the table has inodes other than the root. */
void itable_set_beside (struct itable *table);

/* Returns the number of inodes, and of those without references. */
void itable_counts (struct itable *table, size_t *ret_known, size_t *ret_forgotten);

/* Returns the memory of unused numbers to the system. */
void itable_trim (struct itable *table);

/* Calls fn for every linked inode, and for those that were detached, with a reference held and no
 * lock. */
void itable_foreach (struct itable *table, void (*fn) (inode_t *inode, void *data), void *data);

/* Stores the numbers of at most max files (IA_IFREG) that the kernel knows, and returns how
 * many. */
unsigned itable_known_files (struct itable *table, uint64_t *ret_nodeids, unsigned max);

inode_t *itable_root (struct itable *table); /* no reference is taken: the root lives as long as the
                                              * table */

/* Returns a new inode that is not in the table yet, with one reference. */
inode_t *inode_new (struct itable *table);
inode_t *inode_ref (inode_t *inode);   /* takes NULL */
void inode_unref (inode_t *inode);     /* takes NULL */

G_DEFINE_AUTOPTR_CLEANUP_FUNC (inode_t, inode_unref)

/* Enters inode in the table under the gfid and type of iatt and, if parent and name are given,
 * under that name, which then stands for no other inode. If the table has an inode with the gfid
 * already, that inode is used instead. Returns the inode to use from now on, with a reference for
 * the caller even if it is inode itself. */
inode_t *inode_link (inode_t *inode, inode_t *parent, const char *name, const struct iatt *iatt);

/* The answer to a lookup may come after a rename or a removal that the lookup did not see: its name
 * must not come back. asked: names_now before the lookup was wound. inode_link_asked is inode_link,
 * but enters no name that stands for another inode since then, nor one more name of an inode that
 * has lost a name since then and has others. inode_unlink_asked, for a name that the lookup has not
 * found, removes none that an inode has got since then. Where a name was in doubt, the next lookup
 * enters or removes it. */
inode_t *inode_link_asked (inode_t *inode, inode_t *parent, const char *name,
                           const struct iatt *iatt, uint64_t asked);
void inode_unlink_asked (inode_t *parent, const char *name, uint64_t asked);

/* inode_unlink removes the name; inode_unname removes it only if it stands for inode. */
void inode_unlink (inode_t *parent, const char *name);
void inode_unname (inode_t *inode, inode_t *parent, const char *name);

/* Renames the inode of oldname to newname. With exchange the inode of newname also gets oldname. */
void inode_rename (inode_t *oldparent, const char *oldname, inode_t *newparent, const char *newname,
                   bool exchange);

/* Takes an inode out of the table, since its file is gone although the same gfid or the same name
 * may stand for a file again: a translator has thrown a change away. The inode loses its gfid in
 * the table and all its names; so the next look-up of either makes a new inode, with a number that
 * the kernel does not know yet. A directory takes with it the inodes whose only known names are in
 * it. The inode lives on with its references, open files and number, as that of a removed file:
 * itable_foreach, state dumps and the end of the mount find it, and a move to another graph leaves
 * its open files in the old one. inode_link gives it no name again, and enters none below it.
 * Answering calls about the inode as those about a removed file is the translator's part.
 *
 * A request under way may be about to link the inode: use pause_detach, inside a pause
 * (core/work/pause.h), which calls this.
 * The kernel learns of it by an invalidation of each name. Not for the root; takes an inode that is
 * detached already. */
void inode_detach (inode_t *inode);

static inline bool
inode_is_detached (const inode_t *inode)
{
    return __atomic_load_n (&inode->detached, __ATOMIC_RELAXED);
}

/* Marks a directory as unkept: a translator changes the names in it by itself, when no caller has
 * asked for it. Nothing above that translator keeps an answer about a name in an unkept directory,
 * be it there or not, or a listing of it, or its attributes: neither the kernel, whom the bridge
 * gives no time for them, nor the caches. So no invalidation has to follow such a change. What is
 * kept of the files in it is kept as ever.
 *
 * A translator does not call this, but tells by xlator_api.unkept which names stand for unkept
 * directories. */
static inline void
inode_set_unkept (inode_t *inode)
{
    __atomic_store_n (&inode->unkept, true, __ATOMIC_RELAXED);
}

static inline bool
inode_is_unkept (const inode_t *inode)
{
    return __atomic_load_n (&inode->unkept, __ATOMIC_RELAXED);
}

/* Has an inode marked as unkept when it gets a name, or is found to have it, for which the function
 * returns true. data is that of itable_join or itable_new. The function is called under the lock of
 * the table, so it takes no lock. graph: the number in the table, as of itable_spare; 0 for
 * itable_new. */
void itable_set_unkept (struct itable *table, unsigned graph,
                        bool (*unkept) (inode_t *parent, const char *name, void *data));

/* Return the inode that the name stood for when last seen, or the inode with the gfid, with a
 * reference; NULL if the table has none. */
inode_t *inode_grep (inode_t *parent, const char *name);
inode_t *inode_find (struct itable *table, const gfid_t *gfid);

/* Returns one of the inode's names and its directory (with a reference); false if it has no name.
 * g_free the name. */
bool inode_a_name (inode_t *inode, inode_t **ret_parent, char **ret_name);

/* Returns the name of an inode that has one name alone, in a buffer of NAME_MAX + 1 bytes, and its
 * directory (with a reference); else false. Allocates no memory. */
bool inode_only_name (inode_t *inode, inode_t **ret_parent, char *ret_name);

/* Call fn for each of the inode's names, and for each known name in a directory, with references
 * held and no lock. */
typedef void known_name_fn (inode_t *parent, const char *name, void *data);
void inode_each_name (inode_t *inode, known_name_fn *fn, void *data);
void inode_each_child (inode_t *directory, known_name_fn *fn, void *data);

/* The clock of names: one for the process, which each change of a name moves on. A fact about the
 * paths of an inode that was found after the clock had shown `then` still holds if names_are_of is
 * true. That is so until the inode gets or loses a name, or any directory moves: a rename of a
 * directory counts for all inodes. names_void makes it false for all inodes and earlier times. */
extern uint64_t names_clock, names_moved; /* atomic; in dentry.c */

static inline uint64_t
names_now (void)
{
    return __atomic_load_n (&names_clock, __ATOMIC_ACQUIRE);
}

static inline bool
names_are_of (const inode_t *inode, uint64_t then)
{
    return then >= __atomic_load_n (&inode->named, __ATOMIC_RELAXED)
        && then >= __atomic_load_n (&names_moved, __ATOMIC_RELAXED);
}

void names_void (void);

/* Returns the path of inode from the root of the mount, "/" for the root, or of name in inode.
 * "<gfid:...>" stands for an inode without a name. g_free it. */
char *inode_path (inode_t *inode, const char *name);

/* The same for the inode with a number, written to a buffer. A path that is too long begins with
 * "...". Returns false if there is no such inode, or if may_wait is false and another thread holds
 * the lock: a crash handler must not wait for it. Allocates no memory. */
bool inode_path_of_nodeid (struct itable *table, uint64_t nodeid, const char *name, bool may_wait,
                           char *ret_path, size_t size);

/* The number by which the kernel knows an inode, 1 for the root, and the inode of a number.
 * inode_of_nodeid takes no reference, since the kernel holds one while it uses the number. It
 * returns NULL for an unknown or stale number, and for an inode without references.
 * inode_get_nodeid takes a reference, for numbers that may be stale. */
/* Set in the numbers of a second table: itable_set_beside. */
#define INODE_BESIDE ((uint64_t) 1 << 63)
uint64_t inode_nodeid (const inode_t *inode);
inode_t *inode_of_nodeid (struct itable *table, uint64_t nodeid);
inode_t *inode_get_nodeid (struct itable *table, uint64_t nodeid);

/* inode_lookup counts a lookup by the kernel. inode_forget removes n lookups. */
void inode_lookup (inode_t *inode);
void inode_forget (inode_t *inode, uint64_t n);

/* The context in a slot (xlator.inode_slot). Translators use inode_ctx_get and inode_ctx_set of
 * core/edge/translator.h. inode_ctx_set_at stores ctx only if there is none yet, and returns the
 * context that is stored now. */
void *inode_ctx_get_at (inode_t *inode, int slot);

/* inode_ctx_get_at, inline and without its checks. */
static inline void *
inode_ctx_quickly (const inode_t *inode, int slot)
{
    return __atomic_load_n (&inode->ctx[(unsigned) slot >> 16][(unsigned) slot & 0xffff],
                            __ATOMIC_ACQUIRE);
}

void *inode_ctx_set_at (inode_t *inode, int slot, void *ctx);

#endif
