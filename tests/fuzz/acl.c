/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzzes the parser of system/posix-acl with the bytes of an ACL, as set by a caller or stored in a
 * directory. An accepted ACL is written with the same content. The parser accepts exactly what the
 * kernel accepts. Every check has an answer, and a mask or a missing right never makes this answer
 * larger.
 */
#include "fuzz.h"

#include "../../xlators/system/posix-acl/acl.h"

#include <errno.h>
#include <linux/posix_acl_xattr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static char fuzz_acl_file[64];

static void
remove_file (void)
{
    unlink (fuzz_acl_file);
}

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
    const char *dir = access ("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    int fd;

    snprintf (fuzz_acl_file, sizeof fuzz_acl_file, "%s/windlass-acl-XXXXXX", dir);
    fd = mkstemp (fuzz_acl_file);
    g_assert (fd >= 0);
    close (fd);
    atexit (remove_file);
    if (setxattr (fuzz_acl_file, "system.posix_acl_access", "", 0, 0) < 0 && errno == EOPNOTSUPP)
        remove_file (); /* there is nothing to compare with */
    return 0;
}

static GByteArray *
encode (const struct acl *acl)
{
    GByteArray *bytes = g_byte_array_new ();
    const struct posix_acl_xattr_header head = { GUINT32_TO_LE (POSIX_ACL_XATTR_VERSION) };

    g_byte_array_append (bytes, (const guint8 *) &head, sizeof head);
    for (unsigned i = 0; i < acl->count; i++) {
        const struct acl_entry *entry = &acl->entries[i];
        const struct posix_acl_xattr_entry raw = { GUINT16_TO_LE (entry->tag),
                                                   GUINT16_TO_LE (entry->perm),
                                                   GUINT32_TO_LE (entry->id) };

        g_byte_array_append (bytes, (const guint8 *) &raw, sizeof raw);
    }
    return bytes;
}

static void
check_same_again (const struct acl *acl)
{
    g_autoptr (GByteArray) bytes = encode (acl);
    struct acl *again;

    g_assert (acl_decode (bytes->data, bytes->len, &again) == 0 && again
              && again->count == acl->count);
    g_assert (memcmp (again->entries, acl->entries, acl->count * sizeof *acl->entries) == 0);
    acl_unref (again);
}

static void
check_rights (const struct acl *acl, uid_t uid, gid_t gid, gid_t other)
{
    const struct acl_caller caller = { uid, gid, 1, &other, NULL };
    const struct acl_entry *entry, *mask;

    for (unsigned want = 1; want < 8; want++) {
        const bool may = acl_permits (acl, &caller, other, want, &entry, &mask);

        g_assert (
            !may
            || (entry && (entry->perm & want) == want && (!mask || (mask->perm & want) == want)));
        g_assert (!entry || (entry >= acl->entries && entry < acl->entries + acl->count));
        for (unsigned less = 1; may && less < want; less++)
            g_assert ((less & ~want) != 0 || acl_permits (acl, &caller, other, less, NULL, NULL));
    }
}

/* Only the kernel refuses ids above those that this system supports. */
static void
fuzz_acl_check_kernel (const uint8_t *data, size_t size, int r)
{
    const int set = setxattr (fuzz_acl_file, "system.posix_acl_access", data, size, 0);
    const int got = set == 0 ? 0 : -errno;

    if (got == 0 || got == -EINVAL || got == -EOPNOTSUPP)
        g_assert_cmpint (got, ==, r);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    g_autoptr (GString) text = g_string_new (NULL);
    struct acl *acl;
    int r = acl_decode (data, size, &acl);

    g_assert ((r == 0) || !acl);
    if (acl) {
        check_same_again (acl);
        acl_print (acl, text);
        r = acl_check (acl);
        g_assert (r == 0 || r == -EINVAL);
        for (unsigned i = 0; r == 0 && i < MIN (acl->count, 8); i++)
            check_rights (acl, acl->entries[i].id, acl->entries[i].id,
                          acl->entries[acl->count / 2].id);
    }
    if (size < 4096 && access (fuzz_acl_file, F_OK) == 0)
        fuzz_acl_check_kernel (data, size, r);
    acl_unref (acl);
    return 0;
}
