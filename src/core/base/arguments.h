/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words of a command line, which every user can read in /proc/PID/cmdline. */
#ifndef WINDLASS_CORE_BASE_ARGUMENTS_H
#define WINDLASS_CORE_BASE_ARGUMENTS_H

#include <glib.h>
#include <stdbool.h>

/* Overwrites VALUE with stars wherever argv, in main's memory, has the text KEY=VALUE, also with
 * backslashes as in -o. */
void arguments_hide (char *const *argv, const char *text);

/* Undoes that. before: a copy of argv from before. */
void arguments_show (char *const *argv, char *const *before, const char *text);

/* Returns a message on the first word --NAME=VALUE of argv, up to "--", whose option in entries
 * takes no value: glib takes the option, and drops the value without a word. g_free it; NULL: there
 * is none. */
char *arguments_needless_value (const GOptionEntry *entries, char *const *argv);

/* Returns whether the word is an option in entries whose value is the next word. entries: NULL for
 * none. */
bool arguments_takes_next (const GOptionEntry *entries, const char *word);

#endif
