/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of error numbers. */
#ifndef WINDLASS_CORE_BASE_ERRORS_H
#define WINDLASS_CORE_BASE_ERRORS_H

#include <stdbool.h>

/* "EIO"; "errno -5" where there is no such error, and "an unknown error" beyond 4095. The text
 * stays valid. */
const char *error_name (int number);
bool error_is_known (int number); /* has it a name? */

/* The number of a name, in any case; 0 when there is none such. */
int error_of_name (const char *name);

/* The name nearest to word, or NULL. */
const char *error_near (const char *word);

#endif
