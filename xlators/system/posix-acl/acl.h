/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A POSIX ACL: read from the bytes of system.posix_acl_access, and asked what it lets somebody do.
 * Knows no translator, so that a fuzzer can have it alone.
 *
 * Bytes are hostile, whoever they come from: a caller who sets an ACL, or the backing directory.
 */
#ifndef SYSTEM_POSIX_ACL_ACL_H
#define SYSTEM_POSIX_ACL_ACL_H

#include "xlator.h"

/* In the order in which a right ACL has them. The numbers are the kernel's. */
enum acl_tag {
    ACL_USER_OBJ = 0x01,
    ACL_USER = 0x02,
    ACL_GROUP_OBJ = 0x04,
    ACL_GROUP = 0x08,
    ACL_MASK = 0x10,
    ACL_OTHER = 0x20,
};

struct acl_entry {
    uint16_t tag;
    uint16_t perm; /* R_OK, W_OK, X_OK */
    uint32_t id;   /* of ACL_USER and ACL_GROUP */
};

/* Never changes once it was read. */
struct acl {
    int refs; /* atomic */
    unsigned count;
    struct acl_entry entries[];
};

/* Who asks. */
struct acl_caller {
    uid_t uid;
    gid_t gid;
    int ngroups;         /* -1: they are root's, asked for when they matter, which is dear */
    const gid_t *groups;
    call_stack_t *root;
};

/* *ret_acl is NULL for one without entries, as the kernel takes it. -EINVAL, or -EOPNOTSUPP for
 * another version. It is well formed then, not yet right: acl_check. */
int acl_decode (const void *bytes, size_t size, struct acl **ret_acl);

/* Has it one of each that it must have, in their order, with permissions that there are? 0 or
 * -EINVAL. */
int acl_check (const struct acl *acl);

struct acl *acl_ref (struct acl *acl);   /* takes NULL */
void acl_unref (struct acl *acl);        /* takes NULL */

bool acl_caller_has_group (const struct acl_caller *caller, gid_t gid);

/* May the caller, who isn't the owner, do all of want? acl was checked. *ret_entry is the entry
 * that decides, NULL where none of his groups lets him; *ret_mask the one that cuts it, or NULL.
 * Both may be NULL. */
bool
acl_permits (const struct acl *acl, const struct acl_caller *caller, gid_t group, unsigned want,
             const struct acl_entry **ret_entry, const struct acl_entry **ret_mask);

/* Appends "user:1000:r-x". */
void acl_entry_print (const struct acl_entry *entry, GString *out);
void acl_print (const struct acl *acl, GString *out); /* separated by commas */

#endif
