/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The hash of a name, which decides which subvolume has the file: the same as GlusterFS's, bit for
 * bit. Pure code, without translators. */
#ifndef WINDLASS_DISTRIBUTE_HASH_H
#define WINDLASS_DISTRIBUTE_HASH_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names whose hash is that of a part of them: a program that writes ".file.AbC123" and renames it
 * to "file" then needs no second subvolume. */
struct hash_rules {
    bool has_rsync, has_extra;
    regex_t rsync, extra;
};

/* GlusterFS's option rsync-hash-regex, if it isn't set. */
#define HASH_RSYNC_DEFAULT "^\\.(.+)\\.[^.]+$"

/* Sets rules that are all zeros. NULL or "none": no such rule. Returns 0, or -EINVAL with the
 * reason in ret_reason. hash_rules_clear takes rules that are all zeros. */
int hash_rules_set (struct hash_rules *rules, const char *rsync, const char *extra,
                    char *ret_reason, size_t size);
void hash_rules_clear (struct hash_rules *rules);

uint32_t hash_bytes (const char *bytes, size_t size);

/* The hash of a name, after the rules. */
uint32_t hash_name (const struct hash_rules *rules, const char *name);

#endif
