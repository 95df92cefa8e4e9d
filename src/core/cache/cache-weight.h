/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which files a cache keeps longer than others, as an option says it: "*.html:3,*:1". Of the
 * patterns that match, as fnmatch(3) has it, the longest decides, of two as long the first one: in
 * whichever order they stand, "*.html" counts before "*". A pattern without a slash matches the
 * name as well as the path from the root of the mount. What is of weight 0, or matches none of
 * them, isn't kept at all.
 */
#ifndef WINDLASS_CORE_CACHE_CACHE_WEIGHT_H
#define WINDLASS_CORE_CACHE_CACHE_WEIGHT_H

#include <glib.h>

#define PRIORITY_UNCACHED (-1)

struct priorities; /* constant once it was made */

/* Reads a list; NULL and "" are none, NULL. 0, or -EINVAL and in *ret_problem (g_free it) what is
 * wrong with it. */
int priorities_parse (const char *text, struct priorities **ret_list, char **ret_problem);
void priorities_free (struct priorities *list); /* takes NULL */

/* The class (core/cache/lru.h) of what has that path: below LRU_CLASSES, a higher one for a greater
 * weight; or PRIORITY_UNCACHED. Without a list all are of class 0. A path of NULL is matched by
 * nothing but "*". */
int priorities_class (const struct priorities *list, const char *path);

/* The weight that makes a class, 1 without a list. */
unsigned priorities_weight (const struct priorities *list, int class);

/* For struct xlator_option's check. */
int priorities_check (const char *text, char **ret_allowed);

#endif
