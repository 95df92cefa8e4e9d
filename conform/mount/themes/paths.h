/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* paths.c: each call that takes a path (path-calls.c) with each class of path. */
#ifndef WINDLASS_CONFORM_MOUNT_PATHS_H
#define WINDLASS_CONFORM_MOUNT_PATHS_H

/* Makes the call and prints its result. argument is the row's. */
typedef void path_call_fn (const char *path, unsigned argument);

struct path_call {
    const char *name;
    path_call_fn *run;
    unsigned argument;
    const char *spec; /* further objects that are made before, or NULL */
};

extern const struct path_call path_calls[]; /* ends with a row without name */

#endif
