/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls on their way into a realm. */
#include "core/realm/internal.h"
#include "core/data/dict.h"
#include "core/edge/stack.h"
#include "core/table/fops-rows.h"

#include <errno.h>

/* The operations that open a file: the caller makes a new fd, and the answer contains it. */
#define FOP(name) | (0
#define RET(kind, name) || KIND_##kind == KIND_FD
#define END(name) ? OPSET_OF (FOP_##name) : 0)
static const opset_t realm_opening = 0
#include "fops.def"
    ;

static struct realm *
realm_of_slot (const xlator_t *this, unsigned slot)
{
    return realm_slot_of (this, slot)->child->realm;
}

/* --- arguments -------------------------------------------------------------------------------- */

/* Makes an inode in the realm's table for a name whose inode is not known there. A lookup, and an
 * operation that makes an object, need a new inode: the bridge makes one for them above in the same
 * way. Returns NULL for any other operation. */
static inode_t *
realm_call_made (struct realm_call *below, const loc_t *loc)
{
    const struct call *call = &below->changed.call;

    if (!loc->inode || !loc->name || (call->op != FOP_lookup && !gfid_is_null (&loc->inode->gfid)))
        return NULL;
    return below->made[below->n_locs - 1] =
        inode_new (realm_of_slot (call->this, below->slot)->itable);
}

/* The parent of a slot's root is the root itself: no way leads out of it. */
static bool
realm_is_up_from_root (const struct realm_call *below, const loc_t *loc)
{
    return loc->name && strcmp (loc->name, "..") == 0 && loc->parent
        && gfid_equal (&loc->parent->gfid, &gfid_root);
}

/* Whether the call is about names. */
static bool
realm_call_names (const struct realm_call *below)
{
    return opset_has (OPS_CHANGE_NAMES | OPSET_OF (FOP_lookup), below->changed.call.op);
}

static loc_t *
realm_call_loc (struct realm_call *below, loc_t *loc)
{
    xlator_t *this = below->changed.call.this;
    loc_t *place = &below->places[below->n_locs];

    if (!loc)
        return NULL;
    below->locs[below->n_locs++] = place;
    below->above = loc->inode;
    if (realm_is_up_from_root (below, loc)) {
        place->inode = realm_below (this, loc->parent, below->slot);
        below->above = loc->parent;
        return place;
    }
    place->name = loc->name;
    place->parent = realm_below (this, loc->parent, below->slot);
    place->inode = realm_below (this, loc->inode, below->slot);
    if (!place->inode)
        place->inode = realm_call_made (below, loc);
    if (loc->name && !place->parent && place->inode && !realm_call_names (below))
        place->name = NULL; /* the call is about the inode, which may have another name below */
    if (place->name ? !place->parent : !place->inode)
        below->error = ESTALE;
    return place;
}

static fd_t *
realm_call_opened (struct realm_call *below, fd_t *fd)
{
    const bool has_inode = fd->inode && below->n_locs > 0;

    below->opens = fd;
    below->opened = fd_new (&realm_of_slot (below->changed.call.this, below->slot)->fd_maker,
                            has_inode ? below->places[0].inode : NULL, fd->flags, fd->pid);
    below->opened->unflushed = fd->unflushed;
    return below->opened;
}

static fd_t *
realm_call_fd (struct realm_call *below, fd_t *fd)
{
    if (!fd || below->error)
        return NULL;
    if (opset_has (realm_opening, below->changed.call.op))
        return realm_call_opened (below, fd);
    below->listed = realm_fd (below->changed.call.this, fd, below->slot);
    if (!below->listed)
        below->error = EBADF;
    return below->listed;
}

#define SAME(below, value) value
#define BELOW_LOC realm_call_loc
#define BELOW_FD realm_call_fd
#define BELOW_BYTES SAME
#define BELOW_COUNT SAME
#define BELOW_DEV SAME
#define BELOW_DICT SAME
#define BELOW_FLAGS SAME
#define BELOW_IATT SAME
#define BELOW_INT SAME
#define BELOW_IOBREF SAME
#define BELOW_LOCK SAME
#define BELOW_MODE SAME
#define BELOW_NAME SAME
#define BELOW_OFFSET SAME
#define BELOW_SIZE SAME
#define BELOW_VECTOR SAME

#define MAP(kind, name) args->name = BELOW_##kind (below, args->name);
#define ENTER(fop)                                                                                 \
    case FOP_##fop: {                                                                              \
        struct fop##_call *args = &below->changed.args.fop;                                        \
        FOP_ARGS_##fop (MAP)                                                                       \
        break;                                                                                     \
    }

static void
realm_call_map (struct realm_call *below)
{
    switch (below->changed.call.op) {
        FOP_LIST (ENTER)
    default:
        g_assert_not_reached ();
    }
}

/* --- winding ---------------------------------------------------------------------------------- */

static void
realm_call_clear (struct realm_call *below)
{
    for (unsigned i = 0; i < below->n_locs; i++)
        loc_wipe_path (&below->places[i]);
    inode_unref (below->made[0]);
    inode_unref (below->made[1]);
    fd_unref (below->opened);
    dict_unref (below->xdata);
}

/* The fields of the call that stand for its arguments. */
static void
realm_call_fields (struct realm_call *below)
{
    struct call *call = &below->changed.call;

    call->loc = below->locs[0];
    call->newloc = below->n_locs > 1 ? below->locs[1] : NULL;
    if (call->op == FOP_copy_file_range) {
        call->fd = below->changed.args.copy_file_range.fd_in;
        call->fd_out = below->changed.args.copy_file_range.fd_out;
    } else {
        call->fd = below->opened ? below->opened : below->listed;
    }
}

bool
realm_call (const struct call *call, unsigned slot, struct realm_call *ret_below)
{
    if (!realm_slot_root (realm_slot_of (call->this, slot))) {
        realm_walk (call, slot);
        return false;
    }
    memset ((char *) ret_below + sizeof ret_below->changed, 0,
            sizeof *ret_below - sizeof ret_below->changed);
    call_change (call, &ret_below->changed);
    ret_below->slot = slot;
    realm_call_map (ret_below);
    if (ret_below->error) {
        realm_call_clear (ret_below);
        call_fail (call, ret_below->error);
        return false;
    }
    realm_call_fields (ret_below);
    ret_below->xdata = realm_keys_filter (call->this, call->xdata);
    call_change_xdata (&ret_below->changed, ret_below->xdata);
    return true;
}

/* What the answer needs, in the request's memory. */
static struct realm_asked *
realm_asked_new (const struct realm_call *below, void *cookie)
{
    const struct call *call = &below->changed.call;
    struct realm_asked *asked = stack_alloc (call->frame->root, sizeof *asked, NULL);

    *asked = (struct realm_asked){ .slot = realm_slots_first (call->this->slots) + below->slot,
                                   .cookie = cookie, .flags = call->flags,
                                   .names_at = names_now (),
                                   .opens = fd_ref (below->opens),
                                   .opened = fd_ref (below->opened) };
    if (opset_has (OPS_CHANGE_NAMES | OPSET_OF (FOP_lookup), call->op)) {
        asked->above = inode_ref (below->above);
        for (unsigned i = 0; i < below->n_locs; i++)
            loc_copy (&asked->places[i], below->locs[i]);
    }
    if (call->op == FOP_readdirp && below->listed)
        asked->directory = inode_ref (below->listed->inode);
    return asked;
}

void
realm_call_wind_at (struct realm_call *below, void *cookie, const struct call_site *site)
{
    const struct call *call = &below->changed.call;

    call_wind_at (call, realm_slot_of (call->this, below->slot)->child,
                  realm_asked_new (below, cookie), site);
    realm_call_clear (below);
}

void
realm_wind_at (const struct call *call, unsigned slot, void *cookie, const struct call_site *site)
{
    struct realm_call below;

    if (realm_call (call, slot, &below))
        realm_call_wind_at (&below, cookie, site);
}
