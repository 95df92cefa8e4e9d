/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Invalidations. A translator sends one upwards when it finds that a file changed otherwise than by
 * requests that passed all translators above it: storage that watches the directory, or a cache
 * that lost data for which it had answered.
 *
 *   struct invalidation changed = { .inode = inode,
 *                                   .what = INVALIDATE_DATA | INVALIDATE_ATTRIBUTES };
 *   xlator_pass_on (this, XLATOR_INVALIDATE, &changed);
 *
 * Each translator with a cache drops the entries concerned and passes the event on; at the top the
 * bridge tells the kernel. An answer on its way up may be older than the event. A translator that
 * caches answers therefore counts events, and caches no answer to a request that was sent before
 * the last event.
 */
#ifndef WINDLASS_CORE_EDGE_INVALIDATE_H
#define WINDLASS_CORE_EDGE_INVALIDATE_H

#include "core/data/inode.h"
#include "core/table/fops.h"

enum {
    INVALIDATE_DATA = CHANGES_DATA,
    INVALIDATE_ATTRIBUTES = CHANGES_ATTRIBUTES,
    INVALIDATE_XATTRS = CHANGES_XATTRS,
    INVALIDATE_NAMES = CHANGES_NAMES, /* the names in a directory, and the inodes they stand for */
    INVALIDATE_FILE = INVALIDATE_DATA | INVALIDATE_ATTRIBUTES | INVALIDATE_XATTRS,
    INVALIDATE_ALL = INVALIDATE_FILE | INVALIDATE_NAMES,
};

/* Lent for the call. */
struct invalidation {
    inode_t *inode;   /* the changed inode; with INVALIDATE_NAMES the directory. NULL: any inode,
                       * for instance after an overflow of a queue of changes */
    unsigned what;    /* INVALIDATE_* */
    const char *name; /* with INVALIDATE_NAMES: the changed name; NULL: any name */
};

#endif
