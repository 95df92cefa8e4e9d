/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which functions of this process can be traced, and what they are called. */
#ifndef WINDLASS_TRACE_FUNCTIONS_SITES_H
#define WINDLASS_TRACE_FUNCTIONS_SITES_H

#include "trace/functions/patch.h"

#include <glib.h>

/* The program, or a module that was loaded. */
struct sites_module {
    struct patch_module patch; /* first */
    uintptr_t base;
    char *path;
    GStringChunk *names;
    bool there; /* it was, when we last looked */
};

/* Adds each file that is loaded and has functions with room, unless it is in modules (struct
 * sites_module) already, and takes out those that are gone. */
void sites_find (GPtrArray *modules);

GPtrArray *sites_modules_new (void);

#endif
