/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions of this process that can be traced, and their names. */
#ifndef WINDLASS_TRACE_FUNCTIONS_SITES_H
#define WINDLASS_TRACE_FUNCTIONS_SITES_H

#include "trace/functions/patch.h"

#include <glib.h>

/* The program, or a loaded module. */
struct sites_module {
    struct patch_module patch; /* must be first */
    uintptr_t base;
    char *path;
    GStringChunk *names;
    bool there; /* was loaded at the last search */
};

/* Adds each loaded file with functions that have room, unless it is in modules (struct
 * sites_module) already. Removes those that are not loaded any more. */
void sites_find (GPtrArray *modules);

GPtrArray *sites_modules_new (void);

bool sites_is_program (const struct sites_module *module);

#endif
