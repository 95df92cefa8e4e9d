/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hash.h"

#include <errno.h>
#include <string.h>

#define PART_ROUNDS 6
#define LAST_ROUNDS 10
#define DELTA 0x9e3779b9u

struct hash_state {
    uint32_t h0, h1;
};

/* --- the hash --------------------------------------------------------------------------------- */

static void
state_mix (struct hash_state *state, const uint32_t key[4], unsigned rounds)
{
    uint32_t b0 = state->h0, b1 = state->h1, sum = 0;

    for (unsigned i = 0; i < rounds; i++) {
        sum += DELTA;
        b0 += ((b1 << 4) + key[0]) ^ (b1 + sum) ^ ((b1 >> 5) + key[1]);
        b1 += ((b0 << 4) + key[2]) ^ (b0 + sum) ^ ((b0 >> 5) + key[3]);
    }
    state->h0 += b0;
    state->h1 += b1;
}

static uint32_t
word_at (const char *bytes)
{
    const unsigned char *b = (const unsigned char *) bytes;

    return b[0] | (uint32_t) b[1] << 8 | (uint32_t) b[2] << 16 | (uint32_t) b[3] << 24;
}

/* Returns a word that has the last `size` bytes of a name (0 to 3) in its low bits, and the low
 * bits of `pad` above them. Each byte is sign-extended, as in GlusterFS on x86-64, where char is
 * signed: a byte above 0x7f, as in UTF-8, sets all bits above it. */
static uint32_t
word_of_rest (const char *bytes, size_t size, uint32_t pad)
{
    uint32_t word = pad;

    for (size_t i = 0; i < size; i++)
        word = word << 8 | (uint32_t) (int32_t) (signed char) bytes[i];
    return word;
}

uint32_t
distribute_hash_bytes (const char *bytes, size_t size)
{
    const uint32_t length = (uint32_t) size, half = length | length << 8, pad = half | half << 16;
    struct hash_state state = { 0x9464a485, 0x542e1a94 };
    uint32_t key[4];

    for (; size >= sizeof key; bytes += sizeof key, size -= sizeof key) {
        for (unsigned i = 0; i < 4; i++)
            key[i] = word_at (bytes + 4 * i);
        state_mix (&state, key, PART_ROUNDS);
    }
    for (unsigned i = 0; i < 4; i++) {
        const size_t here = size < 4 ? size : 4;

        key[i] = here == 4 ? word_at (bytes) : word_of_rest (bytes, here, pad);
        bytes += here;
        size -= here;
    }
    state_mix (&state, key, LAST_ROUNDS);
    return state.h0 ^ state.h1;
}

/* --- rules ------------------------------------------------------------------------------------ */

static int
rule_set (regex_t *rule, bool *has, const char *text, char *ret_reason, size_t size)
{
    int error;

    if (!text || strcmp (text, "none") == 0)
        return 0;
    error = regcomp (rule, text, REG_EXTENDED);
    if (error) {
        regerror (error, rule, ret_reason, size);
        return -EINVAL;
    }
    *has = true;
    return 0;
}

int
hash_rules_set (struct hash_rules *rules, const char *rsync, const char *extra, char *ret_reason,
                size_t size)
{
    int r = rule_set (&rules->rsync, &rules->has_rsync, rsync, ret_reason, size);

    return r < 0 ? r : rule_set (&rules->extra, &rules->has_extra, extra, ret_reason, size);
}

void
hash_rules_clear (struct hash_rules *rules)
{
    if (rules->has_rsync)
        regfree (&rules->rsync);
    if (rules->has_extra)
        regfree (&rules->extra);
    *rules = (struct hash_rules){ 0 };
}

/* Returns whether the rule matches the name. If so, sets *ret_from and *ret_size to the offset and
 * the size of the part of the name to hash, the one that the rule's first group matches. */
static bool
rule_match (const regex_t *rule, const char *name, size_t *ret_from, size_t *ret_size)
{
    regmatch_t matches[2];

    if (regexec (rule, name, 2, matches, 0) != 0 || matches[1].rm_so < 0)
        return false;
    *ret_from = (size_t) matches[1].rm_so;
    *ret_size = (size_t) (matches[1].rm_eo - matches[1].rm_so);
    return true;
}

uint32_t
hash_name (const struct hash_rules *rules, const char *name)
{
    size_t from = 0, size = strlen (name);

    if (!rules->has_extra || !rule_match (&rules->extra, name, &from, &size))
        if (rules->has_rsync)
            rule_match (&rules->rsync, name, &from, &size);
    return distribute_hash_bytes (name + from, size);
}
