/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/arguments.h"

#include <stddef.h>
#include <string.h>

/* Returns the length at `at` of the first `size` bytes of text, with escaping backslashes; 0 if
 * they differ. */
static size_t
arguments_match (const char *at, const char *text, size_t size)
{
    const char *begin = at;

    for (size_t i = 0; i < size; i++, at++) {
        while (*at == '\\' && text[i] != '\\')
            at++;
        if (*at != text[i])
            return 0;
    }
    return at - begin;
}

/* Overwrites the value wherever word has text: with stars, or with the bytes of `before`. */
static void
arguments_overwrite (char *word, const char *before, const char *text)
{
    const size_t key = strcspn (text, "=") + 1, size = strlen (text);

    for (size_t at = 0; size > key && word[at]; at++) {
        const size_t skip = arguments_match (before + at, text, key),
                     whole = arguments_match (before + at, text, size);

        if (!whole)
            continue;
        if (word == before)
            memset (word + at + skip, '*', whole - skip);
        else
            memcpy (word + at + skip, before + at + skip, whole - skip);
    }
}

void
arguments_hide (char *const *argv, const char *text)
{
    for (; *argv; argv++)
        arguments_overwrite (*argv, *argv, text);
}

void
arguments_show (char *const *argv, char *const *before, const char *text)
{
    for (; *argv; argv++, before++)
        arguments_overwrite (*argv, *before, text);
}

/* Returns whether an option of entries is `name`, of size bytes, and takes no value. */
static bool
arguments_no_value (const GOptionEntry *entries, const char *name, size_t size)
{
    for (; entries->long_name; entries++)
        if (entries->arg == G_OPTION_ARG_NONE && strlen (entries->long_name) == size
            && strncmp (entries->long_name, name, size) == 0)
            return true;
    return false;
}

char *
arguments_needless_value (const GOptionEntry *entries, char *const *argv)
{
    for (; *argv && strcmp (*argv, "--") != 0; argv++) {
        const bool is_long = strncmp (*argv, "--", 2) == 0;
        const char *name = *argv + 2, *is = is_long ? strchr (name, '=') : NULL;

        if (is && arguments_no_value (entries, name, (size_t) (is - name)))
            return g_strdup_printf ("option '--%.*s' takes no value, got '%s'", (int) (is - name),
                                    name, is + 1);
    }
    return NULL;
}

bool
arguments_takes_next (const GOptionEntry *entries, const char *word)
{
    for (; entries && entries->long_name; entries++) {
        const bool is_long = strncmp (word, "--", 2) == 0
                          && strcmp (word + 2, entries->long_name) == 0,
                   is_short = word[0] == '-' && entries->short_name
                           && word[1] == entries->short_name && !word[2];

        if (is_long || is_short)
            return entries->arg != G_OPTION_ARG_NONE
                && !(entries->flags & G_OPTION_FLAG_OPTIONAL_ARG);
    }
    return false;
}
