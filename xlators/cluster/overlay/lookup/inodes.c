/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inodes above: which layers have them, and their numbers and attributes. */
#include "../formats/temporaries.h"
#include "../names/links.h"

unsigned
overlay_slot (xlator_t *this, inode_t *inode)
{
    const overlay_private_t *priv = overlay_priv (this);
    unsigned slot = 0;

    while (slot < priv->n && !realm_below (this, inode, slot))
        slot++;
    return slot;
}

/* In more than one layer. */
static bool
overlay_is_merged (xlator_t *this, inode_t *inode)
{
    const overlay_private_t *priv = overlay_priv (this);
    unsigned found = 0;

    for (unsigned slot = 0; slot < priv->n; slot++)
        found += realm_below (this, inode, slot) != NULL;
    return found > 1;
}

unsigned
overlay_data_slot (xlator_t *this, inode_t *inode, unsigned slot)
{
    const struct overlay_inode *ctx = overlay_inode_known (this, inode);
    const unsigned data = ctx ? __atomic_load_n (&ctx->data_slot, __ATOMIC_ACQUIRE) : 0;

    return slot != OVERLAY_UPPER && data > 0 ? data : slot;
}

bool
overlay_is_copied (xlator_t *this, inode_t *inode)
{
    return __atomic_load_n (&overlay_inode_get (this, inode)->copied, __ATOMIC_RELAXED);
}

/* --- applied objects --------------------------------------------------------------------------
 *
 * An object that was applied has another gfid in the base than it had in the layer, which its inode
 * above goes on to have. All graphs of the mount know that, so the inode stays the same one at a
 * reload. After a discard, the next lookup makes another inode with this gfid. So each inode that
 * has it counts.
 */

struct overlay_applied {
    gfid_t below, above;
    unsigned inodes; /* whose state has `below` as its member applied */
};

GHashTable *
overlay_applied_new (void)
{
    return g_hash_table_new_full (gfid_hash, gfid_same, NULL, g_free);
}

gfid_t
overlay_gfid_above (xlator_t *this, const gfid_t *gfid)
{
    struct overlay_shared *parts = overlay_priv (this)->parts;
    const struct overlay_applied *applied;
    gfid_t found;

    if (__atomic_load_n (&parts->n_applied, __ATOMIC_ACQUIRE) == 0)
        return *gfid;
    pthread_mutex_lock (&parts->lock);
    applied = g_hash_table_lookup (parts->applied, gfid);
    found = applied ? applied->above : *gfid;
    pthread_mutex_unlock (&parts->lock);
    return found;
}

gfid_t
overlay_applied (struct overlay_inode *state)
{
    gfid_t applied;

    pthread_mutex_lock (&state->parts->lock);
    applied = state->applied;
    pthread_mutex_unlock (&state->parts->lock);
    return applied;
}

void
overlay_number_applied (xlator_t *this, inode_t *directory, const char *name, uint64_t *number)
{
    const overlay_private_t *priv = overlay_priv (this);
    g_autoptr (inode_t) known = NULL;
    const struct overlay_inode *ctx;

    if (__atomic_load_n (&priv->parts->n_kept, __ATOMIC_ACQUIRE) == 0)
        return;
    known = inode_grep (directory, name);
    ctx = known ? inode_ctx_get (known, this) : NULL;
    if (ctx && __atomic_load_n (&ctx->number, __ATOMIC_RELAXED))
        *number = __atomic_load_n (&ctx->number, __ATOMIC_RELAXED);
}

static void
applied_count_locked (struct overlay_shared *parts)
{
    __atomic_store_n (&parts->n_applied, g_hash_table_size (parts->applied), __ATOMIC_RELEASE);
}

/* Whether an object of a layer has the gfid of another inode above. */
static bool
applied_is_another_locked (const struct overlay_inode *state, const gfid_t *below)
{
    const struct overlay_applied *applied = g_hash_table_lookup (state->parts->applied, below);

    return applied && !gfid_equal (&applied->above, &state->inode->gfid);
}

void
overlay_applied_drop_locked (struct overlay_inode *state)
{
    struct overlay_shared *parts = state->parts;
    struct overlay_applied *applied = g_hash_table_lookup (parts->applied, &state->applied);

    if (applied && !applied_is_another_locked (state, &state->applied) && --applied->inodes == 0)
        g_hash_table_remove (parts->applied, &state->applied);
    state->applied = (gfid_t){ 0 };
    applied_count_locked (parts);
}

/* An object of the base is one file: what was known of its gfid before is not so any more. */
static void
applied_set_locked (struct overlay_inode *state, const gfid_t *below)
{
    struct overlay_shared *parts = state->parts;
    struct overlay_applied *applied;

    overlay_applied_drop_locked (state);
    state->applied = *below;
    if (gfid_equal (below, &state->inode->gfid))
        return;
    applied = g_hash_table_lookup (parts->applied, below);
    if (!applied || applied_is_another_locked (state, below)) {
        applied = g_new0 (struct overlay_applied, 1);
        *applied = (struct overlay_applied){ *below, state->inode->gfid, 0 };
        g_hash_table_replace (parts->applied, &applied->below, applied);
    }
    applied->inodes++;
    applied_count_locked (parts);
}

/* The gfid by which the layers know the inode is that of its first object afterwards. */
static void
applied_note (xlator_t *this, inode_t *inode, const inode_t *first)
{
    struct overlay_inode *state = overlay_inode_get (this, inode);

    pthread_mutex_lock (&state->parts->lock);
    applied_set_locked (state, &first->gfid);
    pthread_mutex_unlock (&state->parts->lock);
}

void
overlay_applied_join (xlator_t *this, inode_t *inode, const gfid_t *gfid)
{
    struct overlay_inode *state;

    if (gfid_equal (gfid, &inode->gfid))
        return;
    state = overlay_inode_get (this, inode);
    pthread_mutex_lock (&state->parts->lock);
    if (gfid_is_null (&state->applied) && !applied_is_another_locked (state, gfid))
        applied_set_locked (state, gfid);
    pthread_mutex_unlock (&state->parts->lock);
}

void
overlay_inode_applied (xlator_t *this, inode_t *inode, unsigned slot, inode_t *below)
{
    const unsigned base = overlay_priv (this)->n - 1, first = overlay_slot (this, inode);
    struct overlay_inode *ctx = overlay_inode_get (this, inode);
    const bool shows = first == slot;

    if (shows)
        applied_note (this, inode, below);
    else if (overlay_priv (this)->layers[slot].origins) /* the copy's origin goes */
        applied_note (this, inode, realm_below (this, inode, first));
    overlay_number_keep (ctx);
    if (shows) {
        overlay_links_applied (ctx);
        inode_unref (__atomic_exchange_n (&ctx->copy, NULL, __ATOMIC_ACQ_REL));
    }
    if (shows || inode->ia_type == IA_IFDIR)
        realm_replace (this, inode, base, below);
    realm_replace (this, inode, slot, NULL);
}

void
overlay_inode_forget (xlator_t *this, inode_t *inode)
{
    struct overlay_inode *state = inode_ctx_get (inode, this);

    if (state)
        overlay_inode_drop (state);
}

inode_t *
overlay_above (inode_t *given, struct itable *table, const gfid_t *gfid)
{
    inode_t *known;

    if (given && gfid_equal (&given->gfid, gfid))
        return inode_ref (given);
    known = inode_find (table, gfid);
    if (known)
        return known;
    return given && gfid_is_null (&given->gfid) ? inode_ref (given) : inode_new (table);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Each step is a bijection of 64 bits, of which 62 are kept. */
static uint64_t
overlay_mix (uint64_t hash)
{
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    return hash ^ hash >> 31;
}

/* Numbers of the upper's file system pass unchanged; those of another one are hashed, as they may
 * be equal to them. */
uint64_t
overlay_number (xlator_t *this, unsigned slot, uint64_t number)
{
    const uint64_t seed = overlay_priv (this)->layers[slot].seed;

    if (!seed)
        return number;
    return OVERLAY_HASHED | (overlay_mix (number ^ overlay_mix (seed)) & (OVERLAY_HASHED - 1));
}

/* Returns the number of an object of a slot; another one if an applied object has kept that. */
static uint64_t
number_above (xlator_t *this, inode_t *inode, unsigned slot, uint64_t number)
{
    const uint64_t above = overlay_number (this, slot, number);
    uint64_t other = above;

    while (overlay_number_is_kept (overlay_priv (this)->parts, other, inode))
        other = OVERLAY_HASHED | (overlay_mix (other) & (OVERLAY_HASHED - 1));
    if (other != above)
        __atomic_store_n (&overlay_inode_get (this, inode)->number, other, __ATOMIC_RELAXED);
    return other;
}

/* --- attributes ------------------------------------------------------------------------------- */

bool
overlay_is_whiteout (const struct iatt *iatt)
{
    return iatt->ia_type == IA_IFCHR && iatt->ia_rdev == 0;
}

/* By its place. The root of a layer's realm has a gfid of its own there. */
static bool
overlay_is_at_place (const overlay_private_t *priv, unsigned slot, const inode_t *directory,
                     const char *name)
{
    if (slot <= priv->frozen || !*priv->place.name || strcmp (name, priv->place.name) != 0)
        return false;
    return directory == itable_root (directory->table)
               ? priv->layers[slot].has_folder
               : gfid_equal (&directory->gfid, &priv->place.directory);
}

/* Also where another mount shows the folder under another name. */
bool
overlay_is_folder (xlator_t *this, unsigned slot, const inode_t *directory, const char *name,
                   uint64_t dev, uint64_t ino)
{
    const overlay_private_t *priv = overlay_priv (this);

    return slot != OVERLAY_UPPER
           && ((ino == priv->folder_ino && dev == priv->folder_dev)
               || overlay_is_at_place (priv, slot, directory, name));
}

bool
overlay_is_ours (xlator_t *this, unsigned slot, inode_t *directory, const char *name, uint64_t dev,
                 uint64_t ino)
{
    return overlay_is_folder (this, slot, directory, name, dev, ino)
           || overlay_is_temporary (this, slot, directory, name);
}

/* The names that the view has removed still count in the lower. In the upper the index counts, and
 * those names do not that only the lower has. */
static uint32_t
overlay_links (xlator_t *this, inode_t *inode, const struct overlay_inode *ctx, unsigned slot,
               const struct iatt *iatt)
{
    unsigned lost;

    if (iatt->ia_type == IA_IFDIR)
        return overlay_is_merged (this, inode) ? 1 : iatt->ia_nlink;
    if (!ctx)
        return iatt->ia_nlink;
    if (slot == OVERLAY_UPPER)
        return iatt->ia_nlink + __atomic_load_n (&ctx->other_names, __ATOMIC_RELAXED)
               - (__atomic_load_n (&ctx->indexed, __ATOMIC_RELAXED) && iatt->ia_nlink > 0);
    lost = __atomic_load_n (&ctx->lost_names, __ATOMIC_RELAXED);
    return iatt->ia_nlink > lost ? iatt->ia_nlink - lost : 0;
}

void
overlay_iatt_above (xlator_t *this, inode_t *inode, unsigned slot, struct iatt *iatt)
{
    const struct overlay_inode *ctx = overlay_inode_known (this, inode);
    const uint64_t number = ctx ? __atomic_load_n (&ctx->number, __ATOMIC_RELAXED) : 0;

    if (overlay_data_slot (this, inode, slot) != slot)
        iatt->ia_blocks = ctx->blocks;
    iatt->ia_nlink = overlay_links (this, inode, ctx, slot, iatt);
    iatt->ia_ino = number ? number : number_above (this, inode, slot, iatt->ia_ino);
    iatt->ia_dev = overlay_priv (this)->layers[OVERLAY_UPPER].dev;
    if (!gfid_is_null (&inode->gfid))
        iatt->ia_gfid = inode->gfid;
}
