/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names in directories, and paths. */
#ifndef WINDLASS_CORE_BASE_NAME_H
#define WINDLASS_CORE_BASE_NAME_H

#include <stdbool.h>
#include <string.h>

/* Returns whether a name is "." or "..". */
static inline bool
name_is_dots (const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* Returns whether a path is dir, or below it. Both are absolute, and end with no slash; dir may be
 * "/". */
static inline bool
path_is_in (const char *path, const char *dir)
{
    const size_t size = strcmp (dir, "/") == 0 ? 0 : strlen (dir);

    return strncmp (path, dir, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

#endif
