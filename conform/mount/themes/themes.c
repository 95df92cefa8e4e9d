/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The themes, in the order in which they run. */
#include "conform/mount/mount.h"

#include "conform/mount/themes/themes.h"

const struct mount_theme mount_themes[] = {
    { "paths", paths_cases },
    { "rename", rename_cases },
    { "permissions", permissions_cases },
    { "privileges", privileges_cases },
    { "acl", acl_cases },
    { "attributes", attributes_cases },
    { "times", times_cases },
    { "links", links_cases },
    { "xattrs", xattrs_cases },
    { "data", data_cases },
    { "offsets", offsets_cases },
    { "mapped", mapped_cases },
    { "unlinked", unlinked_cases },
    { "directories", directories_cases },
    { "special", special_cases },
    { "locks", locks_cases },
    { "concurrent", concurrent_cases },
    { NULL, NULL },
};
