/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A POSIX ACL: decoded from the bytes of system.posix_acl_access, and evaluated for a caller. Knows
 * no translator, so that a fuzzer can use it alone.
 *
 * The bytes are not trusted: they come from a caller that sets an ACL, or from the backing
 * directory.
 */
#ifndef SYSTEM_POSIX_ACL_ACL_H
#define SYSTEM_POSIX_ACL_ACL_H

#include "xlator.h"

/* In the order of a valid ACL. The numbers are the kernel's. */
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

/* Constant once it was decoded. */
struct acl {
    int refs; /* atomic */
    unsigned count;
    struct acl_entry entries[];
};

/* The caller of a request. */
struct acl_caller {
    uid_t uid;
    gid_t gid;
    int ngroups;         /* -1: the groups of root, read on demand, which is expensive */
    const gid_t *groups;
    call_stack_t *root;
};

/* Decodes bytes. *ret_acl is NULL for an ACL without entries, as in the kernel. Returns 0, -EINVAL,
 * or -EOPNOTSUPP for another version. The result is well formed, but not checked: acl_check. */
int acl_decode (const void *bytes, size_t size, struct acl **ret_acl);

/* Checks that all required entries are there, in order, with valid permissions. Returns 0 or
 * -EINVAL. */
int acl_check (const struct acl *acl);

struct acl *acl_ref (struct acl *acl);   /* takes NULL */
void acl_unref (struct acl *acl);        /* takes NULL */

bool acl_caller_has_group (const struct acl_caller *caller, gid_t gid);

/* Returns true if the caller, which is not the owner, may do all of want. acl was checked.
 * *ret_entry is the deciding entry, NULL if none of the caller's groups grants it; *ret_mask is the
 * mask entry that limits it, or NULL. Both may be NULL. */
bool
acl_permits (const struct acl *acl, const struct acl_caller *caller, gid_t group, unsigned want,
             const struct acl_entry **ret_entry, const struct acl_entry **ret_mask);

/* Appends "user:1000:r-x". */
void acl_entry_print (const struct acl_entry *entry, GString *out);
void acl_print (const struct acl *acl, GString *out); /* separated by commas */

#endif
