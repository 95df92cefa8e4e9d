/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Error numbers, and their names. */
#ifndef WINDLASS_CORE_BASE_ERRORS_H
#define WINDLASS_CORE_BASE_ERRORS_H

#include <stdbool.h>

/* Returns the negative errno of a call that failed; 0 for any other result, such as a number of
 * bytes. A function, since glib's MIN evaluates the call that is its argument twice. */
static inline int
error_or_0 (int result)
{
    return result < 0 ? result : 0;
}

/* Returns "EIO"; "errno -5" for a number without a name, and "an unknown error" beyond 4095. The
 * text stays valid. */
const char *error_name (int number);
bool error_is_known (int number); /* whether it has a name */

/* Returns the number of a name, in any case; 0 for an unknown name. */
int error_of_name (const char *name);

/* Returns the name nearest to word, or NULL. */
const char *error_near (const char *word);

#endif
