/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The hash of a name, which decides the subvolume of a file. It equals GlusterFS's hash for every
 * name: a 32-bit Davies-Meyer hash with TEA as cipher. The code depends on no other part of the
 * translator. */
#ifndef WINDLASS_DISTRIBUTE_HASH_H
#define WINDLASS_DISTRIBUTE_HASH_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Regular expressions that match temporary names. The hash of such a name is the hash of the part
 * that the expression's first group matches: ".file.AbC123" and "file" have the same hash, so that
 * a rename of one to the other needs no linkto. `extra` is tried before `rsync`. */
struct hash_rules {
    bool has_rsync, has_extra;
    regex_t rsync, extra;
};

/* Default value of the option rsync-hash-regex, as in GlusterFS. */
#define HASH_RSYNC_DEFAULT "^\\.(.+)\\.[^.]+$"

/* Compiles two regular expressions into `rules`, which must be all zeros before. An expression that
 * is NULL or "none" matches no name. Returns 0; or -EINVAL, with the reason in ret_reason, a buffer
 * of `size` bytes. hash_rules_clear frees the rules; it also takes rules that are all zeros. */
int hash_rules_set (struct hash_rules *rules, const char *rsync, const char *extra,
                    char *ret_reason, size_t size);
void hash_rules_clear (struct hash_rules *rules);

uint32_t distribute_hash_bytes (const char *bytes, size_t size);

/* Returns the hash of a name. If a rule matches the name, only the part that the rule's first group
 * matches is hashed. */
uint32_t hash_name (const struct hash_rules *rules, const char *name);

#endif
