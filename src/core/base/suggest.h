/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "did you mean ...?" */
#ifndef WINDLASS_CORE_BASE_SUGGEST_H
#define WINDLASS_CORE_BASE_SUGGEST_H

#include <glib.h>

/* The candidate (char *) nearest to word, or NULL when none is near. */
const char *suggest_near (const char *word, const GPtrArray *candidates);

/* "; did you mean 'near'?", or "" for NULL. g_free it. */
char *suggest_text (const char *near);

/* Of GLib's error about an unknown option of the command line: such a text for the name that was
 * meant, or "". */
char *suggest_option (const GError *error, const GPtrArray *names);

/* Adds the long names of entries (an empty row at the end; or NULL) to names. */
void suggest_add_options (GPtrArray *names, const GOptionEntry *entries);

#endif
