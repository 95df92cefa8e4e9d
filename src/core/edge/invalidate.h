/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is no longer so. Whoever finds that a file changed otherwise than by the requests that came
 * down through everybody above it (storage that watches the directory, a cache that lost what it
 * had answered for) tells it upwards:
 *
 *   struct invalidation changed = { .inode = inode, .what = INVALIDATE_DATA | INVALIDATE_ATTRIBUTES
 *       };
 *   xlator_pass_on (this, XLATOR_INVALIDATE, &changed);
 *
 * Each translator that remembers such a thing drops it and passes the event on; at the top the
 * bridge tells the kernel. An answer that is on its way up may be older than the event: one who
 * keeps answers counts events, and keeps none that was asked for before the last one.
 */
#ifndef WINDLASS_CORE_EDGE_INVALIDATE_H
#define WINDLASS_CORE_EDGE_INVALIDATE_H

#include "core/data/inode.h"
#include "core/table/fops.h"

enum {
    INVALIDATE_DATA = CHANGES_DATA,
    INVALIDATE_ATTRIBUTES = CHANGES_ATTRIBUTES,
    INVALIDATE_XATTRS = CHANGES_XATTRS,
    INVALIDATE_NAMES = CHANGES_NAMES, /* which names a directory has, and what they stand for */
    INVALIDATE_ALL = INVALIDATE_DATA | INVALIDATE_ATTRIBUTES | INVALIDATE_XATTRS | INVALIDATE_NAMES,
};

/* Lent for the call. */
struct invalidation {
    inode_t *inode;   /* what changed; of INVALIDATE_NAMES the directory. NULL: anything, as when a
                         queue of changes was too long */
    unsigned what;    /* INVALIDATE_* */
    const char *name; /* with INVALIDATE_NAMES: the one that changed; NULL: any */
};

#endif
