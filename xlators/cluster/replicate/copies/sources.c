/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sources.h"

/* --- quorum ----------------------------------------------------------------------------------- */

/* With QUORUM_AUTO, more than half of the copies are a quorum; so is exactly half of them, if the
 * first copy is among them. */
bool
quorum_holds (const struct quorum *quorum, copies_t copies)
{
    const unsigned count = copies_count (copies);

    if (quorum->type == QUORUM_NONE)
        return count > 0;
    if (quorum->type == QUORUM_FIXED)
        return count >= MAX (quorum->count, 1);
    if (count * 2 == quorum->n)
        return copies & COPY (0);
    return count * 2 > quorum->n;
}

/* --- reading ---------------------------------------------------------------------------------- */

static ia_type_t
type_of (const struct copy *copies, copies_t found)
{
    return found ? copies[copies_first (found)].iatt.ia_type : IA_INVAL;
}

/* Returns the copies in `among` that are shorter than another one in it. A client that was cut off
 * between a write and its post-op may have left them shorter. Returns none while a client has
 * locked the data: sizes then differ for the time of a write. */
static copies_t
copies_short (const struct copy *copies, unsigned n, copies_t among)
{
    uint64_t size = 0;
    copies_t smaller = 0;

    for (unsigned i = 0; i < n; i++)
        if (copies[i].there && copies[i].locked)
            return 0;
    for (unsigned i = 0; i < n; i++)
        if (among & COPY (i))
            size = MAX (size, copies[i].iatt.ia_size);
    for (unsigned i = 0; i < n; i++)
        if (among & COPY (i) && copies[i].iatt.ia_size < size)
            smaller |= COPY (i);
    return smaller;
}

struct readable
copies_judge (const struct copy *copies, unsigned n, int arbiter)
{
    struct readable readable = { 0 };
    ia_type_t type;

    for (unsigned i = 0; i < n; i++)
        if (copies[i].there)
            readable.found |= COPY (i);
    type = type_of (copies, readable.found);
    readable.metadata = readable.found & ~copies_accused (copies, n, COUNTER_METADATA);
    readable.data = readable.found
        & ~copies_accused (copies, n, type == IA_IFDIR ? COUNTER_ENTRY : COUNTER_DATA);
    if (arbiter >= 0 && type != IA_IFDIR) {
        readable.data &= ~COPY (arbiter);
        readable.metadata &= ~COPY (arbiter);
    }
    if (type == IA_IFREG)
        readable.data &= ~copies_short (copies, n, readable.data);
    return readable;
}

static int64_t
sources_time (const struct iatt *iatt, enum favorite policy)
{
    return policy == FAVORITE_CTIME ? iatt->ia_ctime : iatt->ia_mtime;
}

static uint32_t
nsec_of (const struct iatt *iatt, enum favorite policy)
{
    return policy == FAVORITE_CTIME ? iatt->ia_ctime_nsec : iatt->ia_mtime_nsec;
}

/* Compares the sizes or times of two copies, as the policy demands. Returns 1 if that of `a` is
 * greater, 0 if they are equal, else -1. */
static int
copy_compare (const struct copy *a, const struct copy *b, enum favorite policy)
{
    const int64_t at = sources_time (&a->iatt, policy), bt = sources_time (&b->iatt, policy);

    if (policy == FAVORITE_SIZE)
        return a->iatt.ia_size > b->iatt.ia_size ? 1 : a->iatt.ia_size < b->iatt.ia_size ? -1 : 0;
    if (at != bt)
        return at > bt ? 1 : -1;
    return nsec_of (&a->iatt, policy) > nsec_of (&b->iatt, policy)   ? 1
           : nsec_of (&a->iatt, policy) < nsec_of (&b->iatt, policy) ? -1
                                                                     : 0;
}

/* Returns a copy that more than half of all copies are equal to; -1: none. Copies are equal if they
 * have the same size and modification time. */
static int
favorite_of_majority (const struct copy *copies, unsigned n, copies_t among)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned equal = 0;

        for (unsigned j = 0; among & COPY (i) && j < n; j++)
            equal += among & COPY (j)
                     && copy_compare (&copies[i], &copies[j], FAVORITE_SIZE) == 0
                     && copy_compare (&copies[i], &copies[j], FAVORITE_MTIME) == 0;
        if (equal * 2 > n)
            return (int) i;
    }
    return -1;
}

/* If two copies share the greatest size or latest time, the policy selects neither, and -1 is
 * returned. */
int
copies_favorite (const struct copy *copies, unsigned n, copies_t among, enum favorite policy)
{
    int best = -1;
    bool tie = false;

    if (policy == FAVORITE_NONE)
        return -1;
    if (policy == FAVORITE_MAJORITY)
        return favorite_of_majority (copies, n, among);
    for (unsigned i = 0; i < n; i++) {
        int order;

        if (!(among & COPY (i)))
            continue;
        order = best < 0 ? 1 : copy_compare (&copies[i], &copies[best], policy);
        tie = order == 0 || (tie && order < 0);
        if (order > 0)
            best = (int) i;
    }
    return tie ? -1 : best;
}

static uint32_t
sources_hash (const gfid_t *gfid, uint32_t more)
{
    const uint32_t hash = fnv32 (FNV32_START ^ more, gfid->b, sizeof gfid->b);

    return hash ^ hash >> 15;
}

static uint64_t
load_of (const struct read_choice *choice, unsigned i)
{
    if (choice->mode == READ_LEAST_PENDING)
        return choice->pending[i];
    if (choice->mode == READ_LEAST_LATENCY)
        return choice->latency[i];
    return (choice->pending[i] + 1) * choice->latency[i];
}

static int
least_loaded (const struct read_choice *choice, copies_t readable)
{
    int best = -1;

    for (unsigned i = 0; i < choice->n; i++)
        if (readable & COPY (i)
            && (best < 0 || load_of (choice, i) < load_of (choice, (unsigned) best)))
            best = (int) i;
    return best;
}

int
copies_choose (const struct read_choice *choice, copies_t readable, const gfid_t *gfid,
               ia_type_t type)
{
    const bool by_client = choice->mode == READ_BY_GFID_AND_CLIENT && type != IA_IFDIR;
    int child = -1;

    if (choice->preferred >= 0 && readable & COPY (choice->preferred))
        return choice->preferred;
    if (choice->mode >= READ_LEAST_PENDING && type != IA_IFDIR)
        return least_loaded (choice, readable);
    if (choice->mode != READ_FIRST)
        child = (int) (sources_hash (gfid, by_client ? choice->client : 0) % choice->n);
    return child >= 0 && readable & COPY (child) ? child : copies_first (readable);
}

/* --- healing ---------------------------------------------------------------------------------- */

/* Returns the copies that accuse themselves. copies_direction ignores the accusations of such a
 * copy against others. */
static copies_t
copies_confessed (const struct copy *copies, unsigned n, enum counter_kind kind)
{
    copies_t confessed = 0;

    for (unsigned i = 0; i < n; i++)
        if (copies[i].accuses[i].count[kind] != 0)
            confessed |= COPY (i);
    return confessed;
}

static copies_t
keep_best (const struct copy *copies, unsigned n, copies_t sources,
           uint64_t (*value) (const struct copy *copy, enum counter_kind kind),
           enum counter_kind kind)
{
    uint64_t best = 0;
    copies_t kept = 0;

    for (unsigned i = 0; i < n; i++)
        if (sources & COPY (i))
            best = MAX (best, value (&copies[i], kind));
    for (unsigned i = 0; i < n; i++)
        if (sources & COPY (i) && value (&copies[i], kind) == best)
            kept |= COPY (i);
    return kept;
}

static uint64_t
size_value (const struct copy *copy, enum counter_kind kind)
{
    return copy->iatt.ia_size;
}

static uint64_t
dirty_value (const struct copy *copy, enum counter_kind kind)
{
    return (uint64_t) MAX (copy->dirty.count[kind], 0);
}

static uint64_t
ctime_value (const struct copy *copy, enum counter_kind kind)
{
    return (uint64_t) MAX (copy->iatt.ia_ctime, 0);
}

static bool
sources_disagree (const struct copy *copies, unsigned n, copies_t sources, enum counter_kind kind,
                  int arbiter)
{
    int first = -1;

    for (unsigned i = 0; i < n; i++) {
        if (!(sources & COPY (i)))
            continue;
        if (copies[i].dirty.count[kind] != 0)
            return true;
        if (kind != COUNTER_DATA || (int) i == arbiter)
            continue;
        if (first >= 0 && copies[i].iatt.ia_size != copies[first].iatt.ia_size)
            return true;
        first = (int) i;
    }
    return false;
}

/* Selects one source. Copies that nobody accuses may differ, because a client stopped before it had
 * completed a change on all copies. The caller makes the others sinks. */
static copies_t
one_source (const struct copy *copies, unsigned n, copies_t sources, enum counter_kind kind,
            int arbiter)
{
    const copies_t with_data = arbiter < 0 ? sources : sources & ~COPY (arbiter);

    if (kind == COUNTER_DATA && with_data)
        sources = keep_best (copies, n, with_data, size_value, kind);
    sources = keep_best (copies, n, sources, dirty_value, kind);
    sources = keep_best (copies, n, sources, ctime_value, kind);
    return COPY (copies_first (sources));
}

struct heal_direction
copies_direction (const struct copy *copies, unsigned n, enum counter_kind kind, int arbiter)
{
    const copies_t confessed = copies_confessed (copies, n, kind);
    struct heal_direction direction = { 0 };
    copies_t all = 0, accused = 0;

    for (unsigned i = 0; i < n; i++) {
        all |= copies[i].there ? COPY (i) : 0;
        for (unsigned j = 0; !(confessed & COPY (i)) && j < n; j++)
            if (copies[i].accuses[j].count[kind] != 0)
                accused |= COPY (j);
    }
    accused &= all;
    direction.sources = all & ~accused;
    direction.sinks = accused | (confessed && direction.sources & ~confessed ? confessed : 0);
    direction.sources &= ~direction.sinks;
    if (!direction.sources) {
        direction.split_brain = true;
        direction.sinks = all;
    } else if (kind != COUNTER_ENTRY
               && sources_disagree (copies, n, direction.sources, kind, arbiter)) {
        direction.sources = one_source (copies, n, direction.sources, kind, arbiter);
        direction.sinks = all & ~direction.sources;
    }
    return direction;
}
