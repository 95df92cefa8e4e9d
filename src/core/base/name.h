/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names in directories. */
#ifndef WINDLASS_CORE_BASE_NAME_H
#define WINDLASS_CORE_BASE_NAME_H

#include <stdbool.h>

/* Returns whether a name is "." or "..". */
static inline bool
name_is_dots (const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

#endif
