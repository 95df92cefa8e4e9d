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

/* Regular expressions that match temporary names. The hash of such a name is the hash of the
 * expression's first group: ".file.AbC123" and "file" have the same hash, so that a rename of one
 * to the other needs no linkto. `extra` is tried before `rsync`. */
struct hash_rules {
    bool has_rsync, has_extra;
    regex_t rsync, extra;
};

/* Default value of the option rsync-hash-regex, as in GlusterFS. */
#define HASH_RSYNC_DEFAULT "^\\.(.+)\\.[^.]+$"

/* Sets rules, which must be zero before, from two expressions. NULL or "none": no name matches.
 * Returns 0, or -EINVAL with the reason in ret_reason, of size bytes. hash_rules_clear frees the
 * rules, and also takes rules that are zero. */
int hash_rules_set (struct hash_rules *rules, const char *rsync, const char *extra,
                    char *ret_reason, size_t size);
void hash_rules_clear (struct hash_rules *rules);

uint32_t distribute_hash_bytes (const char *bytes, size_t size);

/* Returns the hash of a name; if a rule matches it, the hash of the rule's first group. */
uint32_t hash_name (const struct hash_rules *rules, const char *name);

#endif
