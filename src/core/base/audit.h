/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a test may listen to inside the core: references, locals, rules of the edge that were
 * broken. Nobody does while a file system is mounted; then each of these is one test of a pointer.
 * Not for translators. */
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
    /* A reference was taken (1), or is about to be given back (-1), from where caller is (NULL: the
     * core itself). true: leave it alone, it must not be given back. Called with locks held
     * (itable.lock), so it takes only a leaf. */
    bool (*count) (enum audit_kind kind, void *object, int change, const void *caller);
    void (*misuse) (const struct audit_misuse *misuse);
    /* An fd (or inode) ends, with which the translator keeps something, and it has no callback that
     * would be told: release, releasedir or forget. */
    void (*context_left) (const struct xlator *xlator, const char *callback, const void *ctx);
    /* Memory of a frame's local, zeroed; and it is over. */
    void *(*local_new) (struct xlator *owner, size_t size);
    void (*local_gone) (void *local);
};

/* NULL: nobody listens. Set before the first request. With it, requests are used again only after
 * many others. */
extern const struct audit *audit;

static inline bool
audit_count (enum audit_kind kind, void *object, int change, const void *caller)
{
    return G_UNLIKELY (audit) && audit->count (kind, object, change, caller);
}

#define AUDIT(kind_, object_, change_) \
    audit_count (AUDIT_##kind_, (object_), (change_), __builtin_return_address (0))

#endif
