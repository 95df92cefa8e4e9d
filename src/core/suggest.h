/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "did you mean ...?" */
#ifndef WINDLASS_CORE_SUGGEST_H
#define WINDLASS_CORE_SUGGEST_H

#include <glib.h>

/* The candidate (char *) nearest to word, or NULL when none is near. */
const char *suggest_near (const char *word, const GPtrArray *candidates);

/* "; did you mean 'near'?", or "" for NULL. g_free it. */
char *suggest_text (const char *near);

#endif
