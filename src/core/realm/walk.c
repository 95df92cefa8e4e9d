/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Looks up the root directory of a slot, name by name. The call that needs the directory is set
 * aside meanwhile. Several calls may do so at a time: all find the same inode. If the caller of a
 * call is interrupted, the lookup that runs for that call is, too, and the call fails with EINTR.
 */
#include "core/realm/internal.h"
#include "core/edge/stub.h"

#include <errno.h>
#include <string.h>

struct realm_walk {
    xlator_t *this;
    unsigned slot;
    struct call_stub *stub; /* the call that was set aside */
    call_stack_t *root;     /* the request of the lookups */
    struct interrupt_watch watch; /* of the call's request */
    char **names;           /* the names of the slot's path, in order; ends with NULL */
    uint64_t names_at;      /* names_now before the last lookup was wound */
    char **at;              /* the name that is looked up now; NULL: the realm's root is */
    inode_t *directory;     /* the directory that contains the name, with a reference; or NULL */
};

static lookup_cbk realm_walk_cbk;

static void
realm_walk_free (struct realm_walk *walk)
{
    inode_unref_by_core (walk->directory);
    g_strfreev (walk->names);
    g_free (walk);
}

/* Each failure is logged once, until another one, or none, comes. */
static void
realm_walk_tell (const struct realm_walk *walk, int error)
{
    struct realm_slot *slot = realm_slot_of (walk->this, walk->slot);
    const int before = __atomic_exchange_n (&slot->failed, error, __ATOMIC_RELAXED);

    if (error && error != before && error != EINTR)
        gf_log (walk->this, GF_LOG_ERROR,
                "directory '%s' of volume '%s' can't be shown: '%s' in it: %s%s", slot->path,
                slot->child->name, walk->at && *walk->at ? *walk->at : "/", g_strerror (error),
                error == ENOTDIR ? " (a symbolic link is not followed)" : "");
}

static void
realm_walk_interrupt (void *data)
{
    const struct realm_walk *walk = data;

    stack_interrupt (walk->root);
}

static void
realm_walk_end (call_frame_t *frame, struct realm_walk *walk, int error)
{
    struct call_stub *stub = walk->stub;

    stack_off_interrupt (call_stub_frame (stub)->root, &walk->watch);
    realm_walk_tell (walk, error);
    realm_walk_free (walk);
    stack_done (frame->root);
    call_resume_or_fail (stub, error);
}

static void
realm_walk_wind (call_frame_t *frame, struct realm_walk *walk)
{
    xlator_t *child = realm_slot_of (walk->this, walk->slot)->child;
    struct itable *table = child->realm->itable;
    g_autoptr (inode_t) fresh = walk->at ? inode_new (table) : NULL;
    loc_t loc = { .inode = fresh ? fresh : itable_root (table) };

    if (walk->at) {
        loc.parent = walk->directory;
        loc.name = *walk->at;
    }
    walk->names_at = names_now ();
    STACK_WIND_COOKIE (frame, realm_walk_cbk, walk, child, lookup, &loc, NULL);
    loc_wipe_path (&loc);
}

/* Whether the graph before shows the same directory: then the realm's table has nothing but what
 * this graph may show, too. */
static bool
realm_walk_is_same (const struct realm_walk *walk)
{
    const xlator_t *before = walk->this->predecessor;

    return before && before->slots && walk->slot < realm_slots_count (before)
           && realm_slot_root (realm_slot_of (before, walk->slot)) == walk->directory;
}

/* The directory that was found is the root of the slot. */
static void
realm_walk_found (const struct realm_walk *walk)
{
    if (realm_walk_is_same (walk))
        __atomic_store_n (&realm_slot_of (walk->this, walk->slot)->same_root, true,
                          __ATOMIC_RELAXED);
    realm_slot_set_root (walk->this, walk->slot, walk->directory);
}

static void
realm_walk_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                inode_t *inode, struct iatt *buf, dict_t *xdata, struct iatt *postparent)
{
    struct realm_walk *walk = cookie;
    g_autoptr (inode_t) linked = NULL;

    if (op_ret < 0 || buf->ia_type != IA_IFDIR) {
        realm_walk_end (frame, walk, op_ret < 0 ? op_errno : ENOTDIR);
        return;
    }
    linked = inode_link_asked (inode, walk->directory, walk->at ? *walk->at : NULL, buf,
                               walk->names_at);
    inode_unref_by_core (walk->directory);
    walk->directory = inode_ref_by_core (linked);
    walk->at = walk->at ? walk->at + 1 : walk->names;
    while (*walk->at && !**walk->at)
        walk->at++;
    if (*walk->at && stack_interrupted (frame->root)) {
        realm_walk_end (frame, walk, EINTR);
        return;
    }
    if (*walk->at) {
        realm_walk_wind (frame, walk);
        return;
    }
    realm_walk_found (walk);
    realm_walk_end (frame, walk, 0);
}

void
realm_walk (const struct call *call, unsigned slot)
{
    struct call_stub *stub = call_keep (call);
    struct realm_walk *walk;
    call_stack_t *root;

    if (!stub) {
        call_fail (call, ENOMEM);
        return;
    }
    walk = g_new0 (struct realm_walk, 1);
    *walk = (struct realm_walk){ .this = call->this, .slot = slot, .stub = stub };
    walk->names = g_strsplit (realm_slot_of (call->this, slot)->path, "/", -1);
    root = walk->root = stack_new_internal (call->this, call->frame);
    root->op = FOP_lookup;
    walk->watch = (struct interrupt_watch){ .fn = realm_walk_interrupt, .data = walk };
    stack_on_interrupt (call->frame->root, &walk->watch);
    realm_walk_wind (&root->frames[0], walk);
}
