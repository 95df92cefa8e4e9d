/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/errors.h"
#include "core/base/suggest.h"

#include <string.h>

#define ERRORS_END 4096 /* the kernel treats no number from here on as an error */

const char *
error_name (int number)
{
    const char *name = number > 0 ? strerrorname_np (number) : NULL;
    char text[24];

    if (name)
        return name;
    g_snprintf (text, sizeof text, "errno %d", number);
    return number > -ERRORS_END && number < ERRORS_END ? g_intern_string (text)
                                                       : "an unknown error";
}

bool
error_is_known (int number)
{
    return number > 0 && strerrorname_np (number);
}

int
error_of_name (const char *name)
{
    for (int number = 1; number < ERRORS_END; number++) {
        const char *known = strerrorname_np (number);

        if (known && g_ascii_strcasecmp (known, name) == 0)
            return number;
    }
    if (g_ascii_strcasecmp (name, "EWOULDBLOCK") == 0)
        return error_of_name ("EAGAIN");
    return 0;
}

const char *
error_near (const char *word)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new ();

    for (int number = 1; number < ERRORS_END; number++)
        if (strerrorname_np (number))
            g_ptr_array_add (names, (char *) strerrorname_np (number));
    return suggest_near (word, names);
}
