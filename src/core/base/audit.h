/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hooks for tests of the core: references, locals, and broken rules of the edge. No hooks are set
 * while a file system is mounted; each hook then costs one test of a pointer. Not for
 * translators. */
#ifndef WINDLASS_CORE_BASE_AUDIT_H
#define WINDLASS_CORE_BASE_AUDIT_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

struct audit_misuse; /* core/edge/stack.h */
struct xlator;

enum audit_kind {
    AUDIT_INODE,
    AUDIT_FD,
    AUDIT_DICT,
    AUDIT_IOBUF,
    AUDIT_IOBREF,
    AUDIT_STUB,
    AUDIT_KINDS
};

struct audit {
    /* A reference is being taken (1) or is about to be dropped (-1), by the code at caller (NULL:
     * the core). Returns true if the core must not drop it. Called with locks held (itable.lock),
     * so it may take only a leaf. */
    bool (*count) (enum audit_kind kind, void *object, int change, const void *caller);
    void (*misuse) (const struct audit_misuse *misuse);
    /* An fd or inode ends with a context of a translator that lacks the callback for it: release,
     * releasedir or forget. */
    void (*context_left) (const struct xlator *xlator, const char *callback, const void *ctx);
    /* local_new returns zeroed memory for a frame's local; local_gone ends its use. op: enum fop */
    void *(*local_new) (struct xlator *owner, int op, size_t size);
    void (*local_gone) (void *local);
    /* Returns a place in the code for which the calling function works: for audit_for. */
    const void *(*worker) (const void *caller);
};

/* NULL: no audit. Set before the first request. With an audit, the memory of a request is reused
 * only after many others. */
extern const struct audit *audit;

/* Not NULL: references that this thread takes belong to the code at that place, which drops them.
 * An answer to a synchronous call arrives on any thread, below the code of any translator, but what
 * it brings is the caller's. */
extern __thread const void *audit_for;

static inline bool
audit_count (enum audit_kind kind, void *object, int change, const void *caller)
{
    return G_UNLIKELY (audit) && audit->count (kind, object, change, caller);
}

#define AUDIT(kind_, object_, change_) \
    audit_count (AUDIT_##kind_, (object_), (change_), __builtin_return_address (0))

#endif
