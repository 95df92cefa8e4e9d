/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Supplementary groups of callers. */
#ifndef WINDLASS_FUSE_GROUPS_H
#define WINDLASS_FUSE_GROUPS_H

#include "core/edge/frame.h"

/* timeout: nanoseconds for which a caller's groups are remembered. */
struct groups_cache *groups_cache_new (int64_t timeout);
void groups_cache_free (struct groups_cache *cache);

/* Finds the groups of the caller: call_stack_t.find_groups of the kernel's requests. */
int groups_find (call_stack_t *root);
/* Returns the group that the kernel sent along with a message, or NO_GROUP. */
#define NO_GROUP ((gid_t) -1)
gid_t groups_sent (const void *message, size_t size);
/* Adds a group to those of the caller. Before the first wind of the request. */
void groups_add (call_stack_t *root, gid_t group);

#endif
