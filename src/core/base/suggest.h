/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Suggestions: "did you mean ...?" */
#ifndef WINDLASS_CORE_BASE_SUGGEST_H
#define WINDLASS_CORE_BASE_SUGGEST_H

#include <glib.h>

/* Returns the candidate (char *) nearest to word, or NULL if none is near. */
const char *suggest_near (const char *word, const GPtrArray *candidates);

/* Returns "; did you mean 'near'?", or "" for NULL. g_free it. */
char *suggest_text (const char *near);

/* For GLib's error about an unknown option of the command line: returns such a text with the
 * nearest of names, or "". */
char *suggest_option (const GError *error, const GPtrArray *names);

/* Adds the long names of entries to names. entries ends with an empty row, and may be NULL. */
void suggest_add_options (GPtrArray *names, const GOptionEntry *entries);

#endif
