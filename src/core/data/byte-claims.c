/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/data/byte-claims.h"

#include <stdint.h>

void
byte_claims_init (struct byte_claims *claims)
{
    *claims = (struct byte_claims){ .last = &claims->first };
}

struct byte_claim
byte_claim_of (off_t offset, size_t size, bool writes, void *owner)
{
    const bool to_end = size == 0 || size > INT64_MAX || offset > INT64_MAX - (off_t) size;

    return (struct byte_claim){ .from = offset,
                                .to = to_end ? INT64_MAX : offset + (off_t) size,
                                .writes = writes,
                                .owner = owner };
}

void
byte_claim_add (struct byte_claims *claims, struct byte_claim *claim)
{
    claim->next = NULL;
    *claims->last = claim;
    claims->last = &claim->next;
    claims->waiting++;
}

static bool
byte_claims_conflict (const struct byte_claim *a, const struct byte_claim *b)
{
    return (a->writes || b->writes) && a->from < b->to && b->from < a->to;
}

bool
byte_claim_start (struct byte_claims *claims, struct byte_claim *claim)
{
    for (const struct byte_claim *at = claims->first; at != claim; at = at->next)
        if (byte_claims_conflict (at, claim))
            return false;
    claim->started = true;
    claims->started++;
    claims->waiting--;
    return true;
}

struct byte_claim *
byte_claims_start_next (struct byte_claims *claims)
{
    for (struct byte_claim *at = claims->waiting > 0 ? claims->first : NULL; at; at = at->next)
        if (!at->started && byte_claim_start (claims, at))
            return at;
    return NULL;
}

void
byte_claim_remove (struct byte_claims *claims, struct byte_claim *claim)
{
    struct byte_claim **at = &claims->first;

    while (*at != claim)
        at = &(*at)->next;
    *at = claim->next;
    if (!*at)
        claims->last = at;
    if (claim->started)
        claims->started--;
    else
        claims->waiting--;
}
