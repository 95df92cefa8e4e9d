/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Users that act on a file of OWNER and GROUP_A. */
#include "conform/mount/roles.h"

const struct role roles[] = {
    { "owner", OWNER, GROUP_C, { 0 }, 0, 2 },
    { "owner in the group", OWNER, GROUP_A, { GROUP_B }, 1, 2 },
    { "group", STRANGER, GROUP_A, { 0 }, 0, 1 },
    { "second group", STRANGER, GROUP_C, { GROUP_B, GROUP_A }, 2, 1 },
    { "other", STRANGER, GROUP_C, { GROUP_B }, 1, 0 },
    { "another owner", OTHER_OWNER, GROUP_C, { 0 }, 0, 0 },
    { "root", 0, 0, { 0 }, 0, 0 },
    { NULL, 0, 0, { 0 }, 0, 0 },
};

void
as_role (const struct role *role, void (*fn) (void *data), void *data)
{
    as_other (role->uid, role->gid, role->groups, role->n, fn, data);
}
