/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inodes, their names, and the table that knows them.
 *
 *   itable --by_gfid--> inode <--names-- dentry --parent--> inode (directory)
 *          --by_name--> dentry
 *          --slots----> inode                the number the kernel knows it by
 *          --forgotten> inode, inode, ...    nobody refers to these; at most `limit` of them
 *
 * An inode lives while somebody holds a reference: the kernel (its lookup count stands for one), a
 * child's dentry, an open file, a translator. Then it waits among the forgotten, and the oldest
 * goes when there are more than the limit. A new inode becomes known by inode_link.
 *
 * Lock: itable.lock guards the maps, dentries, lookup counts and the list of the forgotten. It is
 * a leaf: nothing is called and no other lock is taken under it. forget callbacks run without it.
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

struct inode {
    uint32_t magic;
    int refs; /* atomic; 0 to 1 only under table->lock */
    struct itable *table;
    gfid_t gfid;          /* set by inode_link, then constant */
    ia_type_t ia_type;    /* set by inode_link, then constant */
    uint32_t slot;        /* in table->slots; constant */
    uint32_t generation;  /* of the slot; constant */
    uint32_t told_of_privileges; /* the bridge's, as the next two: fuse/ops/write.c; atomic */
    uint32_t cached_opens; /* descriptors of the kernel's that may use its page cache; atomic */
    bool written_past;    /* since the last open: past that cache; atomic */
    uint64_t nlookup;     /* how often the kernel was told of it; table->lock */
    struct dentry *names; /* table->lock */
    GList *forgotten;     /* table->lock; its place in the list of the forgotten, or NULL */
    void *ctx[];          /* one per translator that keeps inodes; atomic */
};

/* root_keepers: how many translators of the graph keep something with an inode (xlator.inode_slot
 * is below that). limit: how many inodes that nobody refers to are remembered. forget is called,
 * without a lock, for each inode that goes. */
struct itable *itable_new (unsigned keepers, size_t limit,
                           void (*forget) (inode_t *inode, void *data), void *data);
void itable_destroy (struct itable *table);

/* From now on its numbers have INODE_REALM set, that of the root too: so they can't be mistaken for
 * another table's. Before it has other inodes. */
void itable_set_realm (struct itable *table);

/* How many inodes there are, and how many of them nobody refers to. */
void itable_counts (struct itable *table, size_t *ret_known, size_t *ret_forgotten);

/* Gives memory back that nobody's number takes any more. */
void itable_trim (struct itable *table);

/* Calls fn for every linked inode, with a reference held and no lock. */
void itable_foreach (struct itable *table, void (*fn) (inode_t *inode, void *data), void *data);

/* Numbers of files (IA_IFREG) that the kernel knows, at most so many. How many it found. */
unsigned itable_known_files (struct itable *table, uint64_t *ret_nodeids, unsigned max);

inode_t *itable_root (struct itable *table); /* no reference is taken: it lives as long as the
                                                table */

/* A new inode that the table doesn't know yet; one reference. */
inode_t *inode_new (struct itable *table);
inode_t *inode_ref (inode_t *inode);   /* takes NULL */
void inode_unref (inode_t *inode);     /* takes NULL */

G_DEFINE_AUTOPTR_CLEANUP_FUNC (inode_t, inode_unref)

/* Makes inode known under the gfid and type of iatt, and, where parent and name are given, by that
 * name, which then stands for nothing else. If the gfid is known already the inode that has it is
 * used instead. Returns the inode to use from now on, with a reference for the caller (also when it
 * is inode itself). */
inode_t *inode_link (inode_t *inode, inode_t *parent, const char *name, const struct iatt *iatt);

/* The name stands for nothing now; inode_unname: if it stood for inode. */
void inode_unlink (inode_t *parent, const char *name);
void inode_unname (inode_t *inode, inode_t *parent, const char *name);

/* What oldname stood for is now called newname; with exchange the other way round too. */
void inode_rename (inode_t *oldparent, const char *oldname, inode_t *newparent, const char *newname,
                   bool exchange);

/* What a name stood for when last seen, with a reference, or NULL. */
inode_t *inode_grep (inode_t *parent, const char *name);
inode_t *inode_find (struct itable *table, const gfid_t *gfid);

/* One of the inode's names and the directory it is in (with a reference). false when it has none.
 * g_free the name. */
bool inode_a_name (inode_t *inode, inode_t **ret_parent, char **ret_name);

/* The path of an inode from the root of the mount, "/" for the root, or of a name in it;
 * "<gfid:...>" in place of what has no name. g_free it. */
char *inode_path (inode_t *inode, const char *name);

/* The same of what a number stands for, into a buffer: one that is too long begins with "...".
 * false: there is no such inode, or, unless may_wait, somebody holds the lock: in a crash nobody
 * may wait for it. Takes no memory. */
bool inode_path_of_nodeid (struct itable *table, uint64_t nodeid, const char *name, bool may_wait,
                           char *ret_path, size_t size);

/* The number the kernel knows an inode by, 1 for the root, and the other way: NULL when there is no
 * such inode (any more). No reference is taken by inode_of_nodeid: the kernel holds one while it
 * has the number; one that nobody refers to is none. inode_get_nodeid takes one, for numbers that
 * may be stale. */
/* in the numbers of a table that lives beside another: itable_set_realm */
#define INODE_REALM ((uint64_t) 1 << 63)
uint64_t inode_nodeid (const inode_t *inode);
inode_t *inode_of_nodeid (struct itable *table, uint64_t nodeid);
inode_t *inode_get_nodeid (struct itable *table, uint64_t nodeid);

/* The kernel was told of the inode once more; the kernel forgets it n times. */
void inode_lookup (inode_t *inode);
void inode_forget (inode_t *inode, uint64_t n);

/* What is kept with the inode in a slot: xlator.inode_slot. inode_ctx_get and inode_ctx_set of
 * core/edge/translator.h are for translators. inode_ctx_set_at sets it if there is none yet, and
 * returns what is there now. */
void *inode_ctx_get_at (inode_t *inode, int slot);
void *inode_ctx_set_at (inode_t *inode, int slot, void *ctx);

#endif
