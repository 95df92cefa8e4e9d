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

/* --- applied objects -------------------------------------------------------------------------- */

gfid_t
overlay_gfid_above (xlator_t *this, const gfid_t *gfid)
{
    overlay_private_t *priv = overlay_priv (this);
    const gfid_t *above;
    gfid_t found;

    if (__atomic_load_n (&priv->n_applied, __ATOMIC_ACQUIRE) == 0)
        return *gfid;
    pthread_mutex_lock (&priv->lock);
    above = g_hash_table_lookup (priv->applied, gfid);
    found = above ? *above : *gfid;
    pthread_mutex_unlock (&priv->lock);
    return found;
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
applied_drop (xlator_t *this, const gfid_t *gfid)
{
    overlay_private_t *priv = overlay_priv (this);

    pthread_mutex_lock (&priv->lock);
    g_hash_table_remove (priv->applied, gfid);
    __atomic_store_n (&priv->n_applied, g_hash_table_size (priv->applied), __ATOMIC_RELEASE);
    pthread_mutex_unlock (&priv->lock);
}

static void
applied_add (xlator_t *this, const gfid_t *below, const gfid_t *above)
{
    overlay_private_t *priv = overlay_priv (this);

    pthread_mutex_lock (&priv->lock);
    g_hash_table_replace (priv->applied, g_memdup2 (below, sizeof *below),
                          g_memdup2 (above, sizeof *above));
    __atomic_store_n (&priv->n_applied, g_hash_table_size (priv->applied), __ATOMIC_RELEASE);
    pthread_mutex_unlock (&priv->lock);
}

/* The gfid by which the layers know the inode is that of its first object afterwards. */
static void
applied_note (xlator_t *this, inode_t *inode, const inode_t *first)
{
    struct overlay_inode *ctx = overlay_inode_get (this, inode);

    if (!gfid_is_null (&ctx->applied))
        applied_drop (this, &ctx->applied);
    ctx->applied = first->gfid;
    if (!gfid_equal (&first->gfid, &inode->gfid))
        applied_add (this, &first->gfid, &inode->gfid);
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

    if (!state)
        return;
    if (!gfid_is_null (&state->applied))
        applied_drop (this, &state->applied);
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
