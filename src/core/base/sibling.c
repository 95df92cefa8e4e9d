/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/sibling.h"

#include <glib.h>
#include <unistd.h>

char *
sibling_program (const char *name, const char *folder)
{
    g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
    g_autofree char *own = self ? g_path_get_dirname (self) : NULL;
    char *path = own ? g_build_filename (own, name, NULL) : NULL;

    if (path && access (path, X_OK) == 0)
        return path;
    g_free (path);
    return g_build_filename (folder, name, NULL);
}
