/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads an ACL from bytes and evaluates it. The order of checks is that of the kernel's
 * posix_acl_permission. */
#include "acl.h"

#include <errno.h>
#include <linux/posix_acl_xattr.h>
#include <string.h>
#include <unistd.h>

#define ACL_PERMS (R_OK | W_OK | X_OK)

static bool
tag_has_id (unsigned tag)
{
    return tag == ACL_USER || tag == ACL_GROUP;
}

static bool
tag_is_known (unsigned tag)
{
    return tag == ACL_USER_OBJ || tag == ACL_USER || tag == ACL_GROUP_OBJ || tag == ACL_GROUP
        || tag == ACL_MASK || tag == ACL_OTHER;
}

/* The bytes need not be aligned, so each entry is copied. */
static int
entry_decode (const char *bytes, struct acl_entry *ret_entry)
{
    struct posix_acl_xattr_entry raw;

    memcpy (&raw, bytes, sizeof raw);
    ret_entry->tag = GUINT16_FROM_LE (raw.e_tag);
    ret_entry->perm = GUINT16_FROM_LE (raw.e_perm);
    ret_entry->id = tag_has_id (ret_entry->tag) ? GUINT32_FROM_LE (raw.e_id) : 0;
    if (!tag_is_known (ret_entry->tag))
        return -EINVAL;
    /* -1 is not a valid id */
    return tag_has_id (ret_entry->tag) && ret_entry->id == UINT32_MAX ? -EINVAL : 0;
}

int
acl_decode (const void *bytes, size_t size, struct acl **ret_acl)
{
    struct posix_acl_xattr_header head;
    struct acl *acl;
    size_t count;
    int r = 0;

    *ret_acl = NULL;
    if (size == 0)
        return 0;
    if (size < sizeof head)
        return -EINVAL;
    memcpy (&head, bytes, sizeof head);
    if (GUINT32_FROM_LE (head.a_version) != POSIX_ACL_XATTR_VERSION)
        return -EOPNOTSUPP;
    size -= sizeof head;
    count = size / sizeof (struct posix_acl_xattr_entry);
    if (size % sizeof (struct posix_acl_xattr_entry) != 0)
        return -EINVAL;
    if (count == 0)
        return 0;
    acl = g_try_malloc (sizeof *acl + count * sizeof *acl->entries);
    if (!acl)
        return -ENOMEM;
    acl->refs = 1;
    acl->count = (unsigned) count;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = entry_decode ((const char *) bytes + sizeof head
                              + i * sizeof (struct posix_acl_xattr_entry),
                          &acl->entries[i]);
    if (r < 0)
        g_clear_pointer (&acl, g_free);
    *ret_acl = acl;
    return r;
}

/* Checks the order of entries. *at: the tag of the last required entry that was read. */
static int
check_next (const struct acl_entry *entry, unsigned *at, bool *named)
{
    switch (entry->tag) {
    case ACL_USER_OBJ:
        if (*at != 0)
            return -EINVAL;
        *at = ACL_USER_OBJ;
        return 0;
    case ACL_USER:
        *named = true;
        return *at == ACL_USER_OBJ ? 0 : -EINVAL;
    case ACL_GROUP_OBJ:
        if (*at != ACL_USER_OBJ)
            return -EINVAL;
        *at = ACL_GROUP_OBJ;
        return 0;
    case ACL_GROUP:
        *named = true;
        return *at == ACL_GROUP_OBJ ? 0 : -EINVAL;
    case ACL_MASK:
        if (*at != ACL_GROUP_OBJ)
            return -EINVAL;
        *at = ACL_MASK;
        return 0;
    default:
        if (*at != ACL_MASK && (*at != ACL_GROUP_OBJ || *named))
            return -EINVAL;
        *at = ACL_OTHER;
        return 0;
    }
}

int
acl_check (const struct acl *acl)
{
    unsigned at = 0;
    bool named = false;
    int r = 0;

    for (unsigned i = 0; r == 0 && i < acl->count; i++) {
        if (acl->entries[i].perm & ~ACL_PERMS)
            return -EINVAL;
        r = check_next (&acl->entries[i], &at, &named);
    }
    return r == 0 && at == ACL_OTHER ? 0 : -EINVAL;
}

struct acl *
acl_ref (struct acl *acl)
{
    if (acl)
        __atomic_add_fetch (&acl->refs, 1, __ATOMIC_RELAXED);
    return acl;
}

void
acl_unref (struct acl *acl)
{
    if (acl && __atomic_sub_fetch (&acl->refs, 1, __ATOMIC_ACQ_REL) == 0)
        g_free (acl);
}

/* --- evaluation ------------------------------------------------------------------------------- */

bool
acl_caller_has_group (const struct acl_caller *caller, gid_t gid)
{
    const gid_t *groups = caller->groups;
    int n = caller->ngroups;

    if (gid == caller->gid)
        return true;
    if (n < 0)
        n = stack_groups (caller->root, &groups);
    for (int i = 0; i < n; i++)
        if (groups[i] == gid)
            return true;
    return false;
}

static bool
allows (const struct acl_entry *entry, unsigned want)
{
    return (entry->perm & want) == want;
}

/* Returns true if the entry decides. A group entry that does not grant `want` leaves the decision
 * to the next group entry; after it, the entry for others does not count. */
static bool
decides (const struct acl_entry *entry, const struct acl_caller *caller, gid_t group, unsigned want,
         bool *is_member)
{
    if (entry->tag == ACL_USER)
        return entry->id == caller->uid;
    if (entry->tag == ACL_OTHER)
        return !*is_member;
    if (entry->tag != ACL_GROUP_OBJ && entry->tag != ACL_GROUP)
        return false;
    if (!acl_caller_has_group (caller, entry->tag == ACL_GROUP ? entry->id : group))
        return false;
    *is_member = true;
    return allows (entry, want);
}

static const struct acl_entry *
acl_mask_of (const struct acl *acl, const struct acl_entry *entry)
{
    if (entry->tag == ACL_OTHER)
        return NULL;
    for (; entry < acl->entries + acl->count; entry++)
        if (entry->tag == ACL_MASK)
            return entry;
    return NULL;
}

bool
acl_permits (const struct acl *acl, const struct acl_caller *caller, gid_t group, unsigned want,
             const struct acl_entry **ret_entry, const struct acl_entry **ret_mask)
{
    const struct acl_entry *entry = acl->entries, *const end = entry + acl->count, *mask = NULL;
    bool is_member = false;

    while (entry < end && !decides (entry, caller, group, want, &is_member))
        entry++;
    if (entry == end)
        entry = NULL;
    else
        mask = acl_mask_of (acl, entry);
    if (ret_entry)
        *ret_entry = entry;
    if (ret_mask)
        *ret_mask = mask;
    return entry && allows (entry, want) && (!mask || allows (mask, want));
}

/* --- text ------------------------------------------------------------------------------------- */

void
acl_entry_print (const struct acl_entry *entry, GString *out)
{
    const char *name = entry->tag == ACL_MASK ? "mask" : entry->tag == ACL_OTHER ? "other"
                       : entry->tag == ACL_USER_OBJ || entry->tag == ACL_USER ? "user" : "group";

    if (tag_has_id (entry->tag))
        g_string_append_printf (out, "%s:%u:", name, entry->id);
    else
        g_string_append_printf (out, "%s::", name);
    g_string_append_printf (out, "%c%c%c", entry->perm & R_OK ? 'r' : '-',
                            entry->perm & W_OK ? 'w' : '-', entry->perm & X_OK ? 'x' : '-');
}

void
acl_print (const struct acl *acl, GString *out)
{
    for (unsigned i = 0; i < acl->count; i++) {
        if (i > 0)
            g_string_append_c (out, ',');
        acl_entry_print (&acl->entries[i], out);
    }
}
