/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What --version prints. */
#include "daemon/daemon.h"

#include "core/base/build-kind.h"

#include <stdio.h>

void
version_print (void)
{
    const char *lacks = bridge_library_lacks ();
    g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);

    printf ("windlass %s\nlibfuse %s\n", PACKAGE_VERSION, bridge_library ());
    printf ("program: %s\nbuild: %s\n", self ? self : "unknown, without /proc", build_kind ());
    if (lacks)
        printf ("not in the libfuse that it was built with: %s\n", lacks);
}
