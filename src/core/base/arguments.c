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
