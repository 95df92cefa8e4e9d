/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The context of an inode, which stores the copies that may be read; and the choice among them. */
#include "copies.h"

#include <string.h>
#include <unistd.h>

static void *
inode_context_new (xlator_t *this, inode_t *inode)
{
    struct replicate_inode *kept = g_new0 (struct replicate_inode, 1);

    pthread_mutex_init (&kept->lock, NULL);
    byte_claims_init (&kept->claims);
    return kept;
}

static void
inode_context_free (void *data)
{
    struct replicate_inode *kept = data;

    pthread_mutex_destroy (&kept->lock);
    g_free (kept->copies);
    g_free (kept);
}

struct replicate_inode *
replicate_inode_of (xlator_t *this, inode_t *inode)
{
    return inode_ctx_make (inode, this, inode_context_new, inode_context_free);
}

void
replicate_forget (xlator_t *this, inode_t *inode)
{
    struct replicate_inode *kept = inode_ctx_get (inode, this);

    if (kept)
        inode_context_free (kept);
}

/* --- reports of copies ------------------------------------------------------------------------ */

static bool
copies_are_clear (const struct copy *copies, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!counter_is_clear (&copies[i].dirty))
            return false;
        for (unsigned j = 0; j < n; j++)
            if (!counter_is_clear (&copies[i].accuses[j]))
                return false;
    }
    return true;
}

copies_t
copies_with_data (const replicate_t *priv, copies_t copies)
{
    return priv->arbiter < 0 ? copies : copies & ~COPY (priv->arbiter);
}

/* Adds the copy that favorite-child-policy selects in a split brain to *readable. Returns whether
 * there is one. */
static bool
readable_favor (const replicate_t *priv, const struct copy *copies, struct readable *readable)
{
    const int policy = __atomic_load_n (&priv->favorite, __ATOMIC_RELAXED);
    const copies_t among = copies_with_data (priv, readable->found);
    int best;

    if (policy == FAVORITE_NONE || !among || (readable->data && readable->metadata)
        || copies[copies_first (among)].iatt.ia_type == IA_IFDIR)
        return false;
    best = copies_favorite (copies, priv->n, among, (enum favorite) policy);
    if (best < 0)
        return false;
    if (!readable->data)
        readable->data = COPY (best);
    if (!readable->metadata)
        readable->metadata = COPY (best);
    return true;
}

struct lookup_start
lookup_started (replicate_t *priv)
{
    return (struct lookup_start){ children_generation (priv),
                          __atomic_add_fetch (&priv->lookups, 1, __ATOMIC_ACQ_REL) };
}

/* Stores a report in the context, and takes *noted. Drops the report if its lookup began before the
 * pending counters of a change were on the bricks: the report may lack these counters. */
static void
learn_locked (struct replicate_inode *kept, const struct readable *readable, bool favored,
              const struct lookup_start *start, struct copy **noted)
{
    if (start->number <= kept->recorded_at)
        return;
    kept->generation = start->generation;
    kept->readable = *readable;
    kept->readable.data &= ~(kept->missed[COUNTER_DATA] | kept->missed[COUNTER_ENTRY]);
    kept->readable.metadata &= ~kept->missed[COUNTER_METADATA];
    kept->favored = favored;
    g_free (kept->copies);
    kept->copies = g_steal_pointer (noted);
}

void
inode_learn (xlator_t *this, inode_t *inode, const struct copy *copies,
             const struct lookup_start *start)
{
    replicate_t *priv = this->private;
    struct replicate_inode *kept = replicate_inode_of (this, inode);
    struct readable readable = copies_judge (copies, priv->n, priv->arbiter);
    const bool favored = readable_favor (priv, copies, &readable);
    struct copy *noted = NULL;

    if (!copies_are_clear (copies, priv->n))
        noted = g_memdup2 (copies, priv->n * sizeof *copies);
    pthread_mutex_lock (&kept->lock);
    learn_locked (kept, &readable, favored, start, &noted);
    pthread_mutex_unlock (&kept->lock);
    g_free (noted);
}

static struct readable
readable_all (const replicate_t *priv, copies_t copies, ia_type_t type)
{
    const copies_t whole = type == IA_IFDIR ? copies : copies_with_data (priv, copies);

    return (struct readable){ copies, whole, whole };
}

void
inode_assume_good (xlator_t *this, inode_t *inode, ia_type_t type, const struct lookup_start *start)
{
    const replicate_t *priv = this->private;
    struct replicate_inode *kept = replicate_inode_of (this, inode);
    const struct readable readable = readable_all (priv, children_up (priv), type);
    struct copy *none = NULL;

    pthread_mutex_lock (&kept->lock);
    learn_locked (kept, &readable, false, start, &none);
    pthread_mutex_unlock (&kept->lock);
}

/* Adds the copy that a user has chosen with split-brain-choice to *readable, in a split brain. */
static void
choice_apply_locked (const struct replicate_inode *kept, struct readable *readable)
{
    const copies_t chosen = kept->chosen & readable->found;

    if (!chosen || clock_now () >= kept->chosen_until)
        return;
    if (!readable->data)
        readable->data = chosen;
    if (!readable->metadata)
        readable->metadata = chosen;
}

void
inode_choose (xlator_t *this, inode_t *inode, copies_t chosen, int64_t until)
{
    struct replicate_inode *kept = replicate_inode_of (this, inode);

    pthread_mutex_lock (&kept->lock);
    kept->chosen = chosen;
    kept->chosen_until = until;
    pthread_mutex_unlock (&kept->lock);
}

struct readable
inode_reported (xlator_t *this, inode_t *inode)
{
    const replicate_t *priv = this->private;
    struct replicate_inode *kept = replicate_inode_of (this, inode);
    struct readable readable;

    pthread_mutex_lock (&kept->lock);
    readable = kept->copies ? copies_judge (kept->copies, priv->n, priv->arbiter)
                            : kept->readable;
    pthread_mutex_unlock (&kept->lock);
    return readable;
}

bool
inode_is_fresh (xlator_t *this, inode_t *inode, struct readable *ret_readable)
{
    struct replicate_inode *kept = replicate_inode_of (this, inode);
    bool fresh;

    pthread_mutex_lock (&kept->lock);
    fresh = kept->generation == children_generation (this->private);
    *ret_readable = kept->readable;
    choice_apply_locked (kept, ret_readable);
    pthread_mutex_unlock (&kept->lock);
    return fresh;
}

void
inode_good (xlator_t *this, inode_t *inode, struct readable *ret_readable)
{
    struct replicate_inode *kept = replicate_inode_of (this, inode);

    pthread_mutex_lock (&kept->lock);
    *ret_readable = kept->readable;
    pthread_mutex_unlock (&kept->lock);
}

void
inode_missed (xlator_t *this, inode_t *inode, enum counter_kind kind, copies_t missing,
              bool *missed)
{
    struct replicate_inode *kept = replicate_inode_of (this, inode);

    pthread_mutex_lock (&kept->lock);
    kept->unrecorded += !*missed;
    *missed = true;
    kept->missed[kind] |= missing;
    if (kind == COUNTER_METADATA)
        kept->readable.metadata &= ~missing;
    else
        kept->readable.data &= ~missing;
    pthread_mutex_unlock (&kept->lock);
}

void
inode_recorded (xlator_t *this, inode_t *inode, bool *missed)
{
    replicate_t *priv = this->private;
    struct replicate_inode *kept = replicate_inode_of (this, inode);

    pthread_mutex_lock (&kept->lock);
    if (*missed && --kept->unrecorded == 0) {
        memset (kept->missed, 0, sizeof kept->missed);
        kept->recorded_at = __atomic_load_n (&priv->lookups, __ATOMIC_ACQUIRE);
    }
    *missed = false;
    pthread_mutex_unlock (&kept->lock);
}

void
inode_made (xlator_t *this, inode_t *inode, ia_type_t type, copies_t copies, unsigned generation)
{
    struct replicate_inode *kept = replicate_inode_of (this, inode);

    pthread_mutex_lock (&kept->lock);
    if (kept->generation == 0) {
        kept->generation = generation;
        kept->readable = readable_all (this->private, copies, type);
    }
    pthread_mutex_unlock (&kept->lock);
}

static bool
kind_ails_locked (const replicate_t *priv, const struct replicate_inode *kept, copies_t good,
                  copies_t whole, enum counter_kind kind)
{
    const copies_t accused = kept->copies ? copies_accused (kept->copies, priv->n, kind) : 0;

    return good && ((whole & ~good) || kept->readable.found & accused);
}

unsigned
inode_needs_heal (xlator_t *this, inode_t *inode, copies_t *ret_found)
{
    const replicate_t *priv = this->private;
    struct replicate_inode *kept = replicate_inode_of (this, inode);
    const struct readable *readable = &kept->readable;
    const bool directory = inode->ia_type == IA_IFDIR;
    const enum counter_kind content = directory ? COUNTER_ENTRY : COUNTER_DATA;
    unsigned ails = 0;
    copies_t whole;

    pthread_mutex_lock (&kept->lock);
    *ret_found = readable->found;
    whole = directory ? readable->found : copies_with_data (priv, readable->found);
    if (kind_ails_locked (priv, kept, readable->metadata, whole, COUNTER_METADATA))
        ails |= HEAL_METADATA;
    if ((directory || inode->ia_type == IA_IFREG)
        && kind_ails_locked (priv, kept, readable->data, whole, content))
        ails |= directory ? HEAL_ENTRIES : HEAL_DATA;
    pthread_mutex_unlock (&kept->lock);
    return ails;
}

void
inode_stale (xlator_t *this, inode_t *inode)
{
    struct replicate_inode *kept = replicate_inode_of (this, inode);

    pthread_mutex_lock (&kept->lock);
    kept->generation = 0;
    pthread_mutex_unlock (&kept->lock);
}

/* --- choosing --------------------------------------------------------------------------------- */

static int
preferred_copy (const replicate_t *priv)
{
    const int named = child_of_name (priv, priv->read_name);

    if (named >= 0)
        return named;
    if (priv->read_index >= 0 && priv->read_index < (int64_t) priv->n)
        return (int) priv->read_index;
    return __atomic_load_n (&priv->choose_local, __ATOMIC_RELAXED)
               ? copies_first (copies_with_data (priv, priv->near))
               : -1;
}

int
choose_copy (replicate_t *priv, copies_t readable, const inode_t *inode)
{
    const copies_t with_data = copies_with_data (priv, readable);
    struct read_choice choice = {
        .n = priv->n,
        .preferred = preferred_copy (priv),
        .mode = (enum read_hash) __atomic_load_n (&priv->read_mode, __ATOMIC_RELAXED),
        .client = (uint32_t) getpid () * 2654435761u,
    };

    for (unsigned i = 0; choice.mode >= READ_LEAST_PENDING && i < priv->n; i++) {
        choice.pending[i] = __atomic_load_n (&priv->pending_reads[i], __ATOMIC_RELAXED);
        choice.latency[i] = __atomic_load_n (&priv->latency[i], __ATOMIC_RELAXED);
    }
    return copies_choose (&choice, with_data ? with_data : readable, &inode->gfid, inode->ia_type);
}
