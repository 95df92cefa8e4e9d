/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* roles.c: users that act on a file of OWNER and GROUP_A. */
#ifndef WINDLASS_CONFORM_MOUNT_ROLES_H
#define WINDLASS_CONFORM_MOUNT_ROLES_H

#include "conform/mount/mount.h"

enum {
    OWNER = 41001,
    OTHER_OWNER = 41002,
    STRANGER = 41003,
    GROUP_A = 42001,
    GROUP_B = 42002,
    GROUP_C = 42003
};

struct role {
    const char *name;
    uid_t uid;
    gid_t gid, groups[2];
    unsigned n;     /* number of groups */
    unsigned class; /* class of mode bits that applies: 2 the owner's, 1 the group's, 0 the
                       others' */
};

extern const struct role roles[]; /* ends with a row without name */

/* Runs fn in a child with the role's identity, and waits for it. Only for a privileged actor. */
void as_role (const struct role *role, void (*fn) (void *data), void *data);

#endif
