/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Weights of files in a cache, from an option such as "*.html:3,*:1". A file with a greater weight
 * is kept longer. Patterns match as in fnmatch(3). Of the patterns that match, the longest decides;
 * of two of equal length, the first. "*.html" therefore takes precedence over "*" in any order. A
 * pattern without a slash matches the name as well as the path from the root of the mount. A file
 * of weight 0, or one that no pattern matches, isn't cached.
 */
#ifndef WINDLASS_CORE_CACHE_CACHE_WEIGHT_H
#define WINDLASS_CORE_CACHE_CACHE_WEIGHT_H

#include <glib.h>

#define PRIORITY_UNCACHED (-1)

struct priorities; /* constant after its creation */

/* Parses a list; NULL and "" give no list, NULL. Returns 0, or -EINVAL and the problem in
 * *ret_problem (g_free it). */
int priorities_parse (const char *text, struct priorities **ret_list, char **ret_problem);
void priorities_free (struct priorities *list); /* takes NULL */

/* Returns the class (core/cache/lru.h) of a path: below LRU_CLASSES, higher for a greater weight;
 * or PRIORITY_UNCACHED. Without a list all paths have class 0. A path of NULL matches only "*". */
int priorities_class (const struct priorities *list, const char *path);

/* Returns the weight of a class; 1 without a list. */
unsigned priorities_weight (const struct priorities *list, int class);

/* For struct xlator_option's check. */
int priorities_check (const char *text, char **ret_allowed);

#endif
