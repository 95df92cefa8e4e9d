/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Slots, and which inodes and fds of a realm belong to those above. */
#include "core/realm/internal.h"

#include <errno.h>
#include <string.h>

int
realm_root_check (const char *text, char **ret_allowed)
{
    g_auto (GStrv) names = g_strsplit (text, "/", -1);
    unsigned n = 0;
    bool good = *text == '/';

    for (char **name = names; *name; name++) {
        good &= !name_is_dots (*name);
        n += **name != '\0';
    }
    if (good && n <= REALM_DEPTH_MAX)
        return 0;
    *ret_allowed = g_strdup_printf ("a path that begins with '/', of at most %d names, without '.' "
                                    "and '..'", REALM_DEPTH_MAX);
    return -EINVAL;
}

unsigned
realm_slot_new (xlator_t *this, xlator_t *child, const char *root)
{
    struct realm_slots *all = this->slots;

    g_assert (this->api->realms && child->realm->boundary == this);
    all->slots = g_renew (struct realm_slot, all->slots, all->n + 1);
    all->slots[all->n] = (struct realm_slot){ .child = child, .path = g_strdup (root) };
    return all->n++;
}

void
realm_slots_begin (xlator_t *this, unsigned first)
{
    g_assert (first < this->slots->n);
    __atomic_store_n (&this->slots->first, first, __ATOMIC_RELEASE);
}

/* --- contexts --------------------------------------------------------------------------------- */

static struct realm_piece *
realm_piece_new (const struct realm_slots *all)
{
    return g_malloc0 (sizeof (struct realm_piece) + MIN (all->n, REALM_PIECE) * sizeof (void *));
}

/* Returns the piece behind one, which is made if there is none. */
static struct realm_piece *
realm_piece_more (const struct realm_slots *all, struct realm_piece *piece)
{
    struct realm_piece *more = __atomic_load_n (&piece->more, __ATOMIC_ACQUIRE), *mine;

    if (more)
        return more;
    mine = realm_piece_new (all);
    if (__atomic_compare_exchange_n (&piece->more, &more, mine, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return mine;
    g_free (mine);
    return more;
}

/* Returns the entry of the slot that realm_slot_new has called `made`; NULL: the context has no
 * piece for it yet. */
static void **
realm_entry_of (const struct realm_slots *all, struct realm_piece *piece, unsigned made)
{
    unsigned n = all->n - 1 - made;

    for (; piece && G_UNLIKELY (n >= REALM_PIECE); n -= REALM_PIECE)
        piece = __atomic_load_n (&piece->more, __ATOMIC_ACQUIRE);
    return piece ? &piece->entries[n] : NULL;
}

static void **
realm_entry (const struct realm_slots *all, void *ctx, unsigned slot)
{
    return realm_entry_of (all, ctx, realm_slots_first (all) + slot);
}

static void **
realm_entry_make (const struct realm_slots *all, struct realm_piece *piece, unsigned slot)
{
    unsigned n = all->n - 1 - realm_slots_first (all) - slot;

    for (; n >= REALM_PIECE; n -= REALM_PIECE)
        piece = realm_piece_more (all, piece);
    return &piece->entries[n];
}

/* Calls fn for each entry that is set. made: as realm_entry_of. Frees the pieces. */
static void
realm_pieces_free (const struct realm_slots *all, struct realm_piece *piece,
                   void (*fn) (void *entry, unsigned made, void *data), void *data)
{
    const unsigned size = MIN (all->n, REALM_PIECE);
    unsigned made = all->n;

    while (piece) {
        struct realm_piece *more = piece->more;

        for (unsigned i = 0; i < size && made > 0; i++)
            if (made--, piece->entries[i])
                fn (piece->entries[i], made, data);
        g_free (piece);
        piece = more;
    }
}

static void *
realm_entry_get (void **entry)
{
    return entry ? __atomic_load_n (entry, __ATOMIC_ACQUIRE) : NULL;
}

static bool
realm_entry_set (void **entry, void *value)
{
    void *none = NULL;

    return __atomic_compare_exchange_n (entry, &none, value, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE);
}

inode_t *
realm_below (xlator_t *this, inode_t *inode, unsigned slot)
{
    const struct realm_slots *all = this->slots;
    struct realm_slot *at = realm_slot_of (this, slot);
    g_autoptr (inode_t) found = NULL;
    inode_t *below;

    if (!inode || gfid_equal (&inode->gfid, &gfid_root))
        return inode ? realm_slot_root (at) : NULL;
    below = realm_entry_get (realm_entry (all, inode_ctx_get_at (inode, all->inode_slot), slot));
    if (below || all->n > 1 || gfid_is_null (&inode->gfid))
        return below;
    /* An inode that another graph looked up: the realm's table may have it. If that graph showed
     * another directory, the inode may lie outside of this one. */
    if (!realm_slot_root (at) || !__atomic_load_n (&at->same_root, __ATOMIC_RELAXED))
        return NULL;
    found = inode_find (at->child->realm->itable, &inode->gfid);
    if (found)
        realm_join (this, inode, slot, found);
    return found;
}

void
realm_join (xlator_t *this, inode_t *inode, unsigned slot, inode_t *below)
{
    const struct realm_slots *all = this->slots;
    struct realm_piece *ctx = inode_ctx_get_at (inode, all->inode_slot), *mine;

    if (inode_is_unkept (below))
        inode_set_unkept (inode);
    if (gfid_equal (&inode->gfid, &gfid_root) || realm_entry_get (realm_entry (all, ctx, slot)))
        return;
    if (!ctx) {
        mine = realm_piece_new (all);
        ctx = inode_ctx_set_at (inode, all->inode_slot, mine);
        if (ctx != mine)
            g_free (mine);
    }
    inode_ref_by_core (below);
    if (!realm_entry_set (realm_entry_make (all, ctx, slot), below))
        inode_unref_by_core (below);
}

void
realm_replace (xlator_t *this, inode_t *inode, unsigned slot, inode_t *below)
{
    void **entry = realm_entry (this->slots, inode_ctx_get_at (inode, this->slots->inode_slot),
                                slot);

    if (!entry) {
        if (below)
            realm_join (this, inode, slot, below);
        return;
    }
    if (below)
        inode_ref_by_core (below);
    inode_unref_by_core (__atomic_exchange_n (entry, below, __ATOMIC_ACQ_REL));
}

fd_t *
realm_fd (xlator_t *this, fd_t *fd, unsigned slot)
{
    g_assert (slot < realm_slots_count (this));
    return realm_entry_get (realm_entry (this->slots, fd_ctx_get_at (fd, this->slots->fd_slot),
                                         slot));
}

inode_t *
realm_root_above (const xlator_t *this)
{
    return itable_root (this->slots->above);
}

void
realm_slot_set_root (xlator_t *this, unsigned slot, inode_t *root)
{
    inode_t *none = NULL;

    inode_ref_by_core (root);
    if (!__atomic_compare_exchange_n (&realm_slot_of (this, slot)->root, &none, root, false,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        inode_unref_by_core (root);
}

inode_t *
realm_slot_replace_root (xlator_t *this, unsigned slot, inode_t *root)
{
    inode_t *old;

    inode_ref_by_core (root);
    old = __atomic_exchange_n (&realm_slot_of (this, slot)->root, root, __ATOMIC_ACQ_REL);
    inode_ref (old);
    inode_unref_by_core (old);
    return old;
}

void
realm_fd_join (xlator_t *this, fd_t *fd, unsigned slot, fd_t *below)
{
    struct realm_piece *ctx = fd_ctx_get_at (fd, this->slots->fd_slot);
    void **entry;

    if (!ctx) {
        ctx = realm_piece_new (this->slots);
        fd_ctx_set_at (fd, this->slots->fd_slot, ctx);
    }
    entry = realm_entry_make (this->slots, ctx, slot);
    g_assert (!*entry);
    __atomic_store_n (entry, fd_ref (below), __ATOMIC_RELEASE);
}

void
realm_fd_replace (xlator_t *this, fd_t *fd, unsigned slot, fd_t *below)
{
    void **entry = realm_entry (this->slots, fd_ctx_get_at (fd, this->slots->fd_slot), slot);

    if (!realm_entry_get (entry))
        realm_fd_join (this, fd, slot, below);
    else
        fd_unref (__atomic_exchange_n (entry, fd_ref (below), __ATOMIC_ACQ_REL));
}

inode_t *
realm_above (xlator_t *this, unsigned slot, inode_t *given, inode_t *below)
{
    struct itable *above = this->slots->above;
    inode_t *inode;

    if (below == realm_slot_root (realm_slot_of (this, slot)))
        return inode_ref (itable_root (above));
    if (given && gfid_equal (&given->gfid, &below->gfid))
        inode = inode_ref (given);
    else
        inode = inode_find (above, &below->gfid);
    if (!inode)
        inode = given && gfid_is_null (&given->gfid) ? inode_ref (given) : inode_new (above);
    realm_join (this, inode, slot, below);
    return inode;
}

/* --- for the graph and reports ---------------------------------------------------------------- */

/* The inode of `above` in the realm of xl, which lies below the boundary: that of the child which
 * has the file, if that is in this realm. */
static inode_t *
realm_inode_followed (xlator_t *boundary, const xlator_t *xl, inode_t *above)
{
    const struct xlator_passthrough *says = &boundary->api->passthrough;
    inode_t *below = NULL;
    const xlator_t *child = says->follow ? says->follow (boundary, above, &below) : NULL;

    if (child && child->realm == xl->realm)
        return below;
    below = NULL;
    for (unsigned i = 0; !below && i < realm_slots_count (boundary); i++)
        if (realm_slot_of (boundary, i)->child->realm == xl->realm)
            below = realm_below (boundary, above, i);
    return below;
}

/* base: the realm of inode; NULL: the mount. */
static inode_t *
realm_inode_down (const struct realm *base, const xlator_t *xl, inode_t *inode)
{
    xlator_t *const boundary = xl->realm != base && xl->realm ? xl->realm->boundary : NULL;
    inode_t *above;

    if (!boundary || !inode)
        return inode;
    above = realm_inode_down (base, boundary, inode);
    return above ? realm_inode_followed (boundary, xl, above) : NULL;
}

inode_t *
realm_inode_of (const xlator_t *xl, inode_t *inode)
{
    return realm_inode_down (NULL, xl, inode);
}

inode_t *
realm_inode_from (const xlator_t *from, const xlator_t *xl, inode_t *inode)
{
    return realm_inode_down (from->realm, xl, inode);
}

fd_t *
realm_fd_of (const xlator_t *xl, fd_t *fd)
{
    xlator_t *const boundary = xl->realm ? xl->realm->boundary : NULL;
    fd_t *above, *below = NULL;

    if (!boundary)
        return fd;
    above = realm_fd_of (boundary, fd);
    for (unsigned i = 0; above && !below && i < realm_slots_count (boundary); i++)
        if (realm_slot_of (boundary, i)->child->realm == xl->realm)
            below = realm_fd (boundary, above, i);
    return below;
}

bool
realm_fd_is_held (const xlator_t *boundary, fd_t *fd)
{
    const struct realm_slots *all = boundary->slots;
    struct realm_piece *ctx;

    fd = realm_fd_of (boundary, fd);
    ctx = fd ? fd_ctx_get_at (fd, all->fd_slot) : NULL;
    for (unsigned i = realm_slots_first (all); ctx && i < all->n; i++) {
        const fd_t *below = realm_entry_get (realm_entry_of (all, ctx, i));

        if (below && __atomic_load_n (&below->refs, __ATOMIC_RELAXED) > 1)
            return true;
    }
    return false;
}

void
realm_slots_make (xlator_t *this, int inode_slot, int fd_slot)
{
    if (!this->slots)
        this->slots = g_new0 (struct realm_slots, 1);
    this->slots->inode_slot = inode_slot;
    this->slots->fd_slot = fd_slot;
}

void
realm_slots_above (xlator_t *this, struct itable *above)
{
    this->slots->above = above;
}

static void
realm_inode_drop (void *below, unsigned made, void *data)
{
    inode_unref_by_core (below);
}

void
realm_forget (xlator_t *this, inode_t *inode)
{
    realm_pieces_free (this->slots, inode_ctx_get_at (inode, this->slots->inode_slot),
                       realm_inode_drop, NULL);
}

/* An fd above that ends. */
struct realm_ending {
    const xlator_t *this;
    fd_t *fd;
};

/* Returns the fd that the next graph's boundary has in the same slot. Both count slots that are not
 * in use yet, too. */
static fd_t *
realm_fd_next (const xlator_t *next, fd_t *fd, unsigned made)
{
    const struct realm_slots *all = next->slots;

    return made < all->n
               ? realm_entry_get (realm_entry_of (all, fd_ctx_get_at (fd, all->fd_slot), made))
               : NULL;
}

/* An fd that moves to the next graph moves in the realm, too. */
static void
realm_fd_drop (void *below, unsigned made, void *data)
{
    const struct realm_ending *ending = data;
    const xlator_t *next = ending->this->slots->successor;
    fd_t *to = ending->fd->moved && next ? realm_fd_next (next, ending->fd->moved, made) : NULL;

    if (to)
        fd_move (below, to);
    fd_unref (below);
}

void
realm_release (xlator_t *this, fd_t *fd)
{
    realm_pieces_free (this->slots, fd_ctx_get_at (fd, this->slots->fd_slot), realm_fd_drop,
                       &(struct realm_ending){ this, fd });
}

void
realm_succeed (xlator_t *this, xlator_t *successor)
{
    this->slots->successor = successor;
}

void
realm_roots_drop (xlator_t *this, const struct realm *realm)
{
    for (unsigned i = 0; i < this->slots->n; i++) {
        struct realm_slot *slot = &this->slots->slots[i];

        if (slot->child->realm == realm)
            inode_unref_by_core (__atomic_exchange_n (&slot->root, NULL, __ATOMIC_ACQ_REL));
    }
}

void
realm_slots_free (xlator_t *this)
{
    struct realm_slots *all = this->slots;

    for (unsigned i = 0; all && i < all->n; i++)
        g_free (all->slots[i].path);
    if (all)
        g_free (all->slots);
    g_free (all);
    this->slots = NULL;
}
