/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* POSIX ACLs, in the kernel's form of extended attributes: acl(5), linux/posix_acl_xattr.h. */
#include "conform/mount/roles.h"
#include "conform/mount/themes/themes.h"

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/xattr.h>

#define ACCESS "system.posix_acl_access"
#define DEFAULT "system.posix_acl_default"

/* "u::rw-,u:41003:r--,m::r--,g::---,o::---" as bytes. */
static GByteArray *
acl_bytes (const char *text)
{
    g_auto (GStrv) entries = g_strsplit (text, ",", -1);
    const uint32_t version = GUINT32_TO_LE (POSIX_ACL_XATTR_VERSION);
    GByteArray *bytes = g_byte_array_new ();

    g_byte_array_append (bytes, (const guint8 *) &version, sizeof version);
    for (char **entry = entries; *entry && **entry; entry++) {
        g_auto (GStrv) words = g_strsplit (*entry, ":", 3);
        const bool named = *words[1];
        struct posix_acl_xattr_entry one = { .e_id = GUINT32_TO_LE (named ? atoi (words[1]) : -1) };
        unsigned tag = 0;

        switch (words[0][0]) {
        case 'u': tag = named ? ACL_USER : ACL_USER_OBJ; break;
        case 'g': tag = named ? ACL_GROUP : ACL_GROUP_OBJ; break;
        case 'm': tag = ACL_MASK; break;
        case 'o': tag = ACL_OTHER; break;
        }
        one.e_tag = GUINT16_TO_LE (tag);
        one.e_perm = GUINT16_TO_LE ((words[2][0] == 'r') * 4 + (words[2][1] == 'w') * 2
                                    + (words[2][2] == 'x'));
        g_byte_array_append (bytes, (const guint8 *) &one, sizeof one);
    }
    return bytes;
}

static void
set_acl (const char *path, const char *which, const char *text)
{
    g_autoptr (GByteArray) bytes = acl_bytes (text);

    TELL (text, setxattr (path, which, bytes->data, bytes->len, 0));
}

static void
show_acl (const char *path, const char *which)
{
    unsigned char bytes[512];
    const ssize_t n = getxattr (path, which, bytes, sizeof bytes);

    if (n < 0) {
        observe ("%s %s: %s", path, which, errno_name (errno));
        return;
    }
    for (size_t at = sizeof (uint32_t); at + sizeof (struct posix_acl_xattr_entry) <= (size_t) n;
         at += sizeof (struct posix_acl_xattr_entry)) {
        struct posix_acl_xattr_entry one;

        memcpy (&one, bytes + at, sizeof one);
        observe ("%s %s: tag %#x, id %d, %o", path, which, one.e_tag, (int) one.e_id, one.e_perm);
    }
}

/* --- access --------------------------------------------------------------------------------- */

static const struct {
    const char *name, *acl;
} lists[] = {
    { "a user may read", "u::---,u:41003:r--,g::---,m::rwx,o::---" },
    { "a user may do all", "u::---,u:41003:rwx,g::---,m::rwx,o::---" },
    { "the mask takes writing away", "u::rwx,u:41003:rwx,g::rwx,m::r--,o::rwx" },
    { "the mask takes all away", "u::rwx,u:41003:rwx,g::rwx,m::---,o::rwx" },
    { "a user may nothing, others all", "u::rwx,u:41003:---,g::rwx,m::rwx,o::rwx" },
    { "a group may write", "u::---,g::---,g:42002:-w-,m::rwx,o::---" },
    { "one group may read, the other write", "u::---,g::r--,g:42002:-w-,m::rwx,o::---" },
    { "a group may nothing, others all", "u::rwx,g::---,g:42002:---,m::rwx,o::rwx" },
    { "no more than the mode", "u::rw-,g::r--,o::---" },
};

static void
try_file (void *data)
{
    TELL_FD ("read", open ("file", O_RDONLY));
    TELL_FD ("write", open ("file", O_WRONLY));
    TELL_FD ("both", open ("file", O_RDWR));
    TELL ("access R_OK", access ("file", R_OK));
    TELL ("access W_OK", access ("file", W_OK));
    TELL ("access X_OK", access ("file", X_OK));
    TELL ("truncate", truncate ("file", 1));
    TELL ("read the list", getxattr ("file", ACCESS, NULL, 0));
    TELL ("take it away", removexattr ("file", ACCESS));
}

static void
run_access (const struct mount_case *c)
{
    make_tree ("F:file");
    NEED (chown ("file", OWNER, GROUP_A));
    set_acl ("file", ACCESS, lists[c->a].acl);
    as_role (&roles[c->b], try_file, NULL);
    show_acl ("file", ACCESS);
    show ("file", "file");
}

/* --- the list and the mode ------------------------------------------------------------------ */

static void
run_list (const struct mount_case *c)
{
    char names[256];

    make_tree ("F:file d:dir");
    set_acl ("file", ACCESS, lists[c->a].acl);
    show ("file", "file");
    show_acl ("file", ACCESS);
    TELL ("names", listxattr ("file", names, sizeof names));
    TELL ("chmod", chmod ("file", 0751));
    show_acl ("file", ACCESS);
    TELL ("chmod setgid", chmod ("file", 02624));
    show_acl ("file", ACCESS);
    show ("file", "file");
    TELL ("remove", removexattr ("file", ACCESS));
    TELL ("remove again", removexattr ("file", ACCESS));
    show ("file", "file");
    show_acl ("file", ACCESS);
    set_acl ("dir", ACCESS, lists[c->a].acl);
    show ("dir", "dir");
    set_acl ("file", DEFAULT, lists[c->a].acl);
}

/* --- inheritance ---------------------------------------------------------------------------- */

static const unsigned masks[] = { 0, 022, 077, 0777 };

static void
run_inherit (const struct mount_case *c)
{
    static const char *const made[] = { "dir/file", "dir/sub", "dir/fifo", "dir/closed",
                                        "dir/sub/sub" };

    make_tree ("d:dir");
    set_acl ("dir", DEFAULT, lists[c->a].acl);
    show_acl ("dir", DEFAULT);
    NEED (chmod (".", 0755));
    umask (masks[c->b]);
    TELL_FD ("a file", open ("dir/file", O_CREAT | O_WRONLY, 0666));
    TELL ("a directory", mkdir ("dir/sub", 0777));
    TELL ("a fifo", mkfifo ("dir/fifo", 0640));
    TELL_FD ("a closed file", open ("dir/closed", O_CREAT | O_WRONLY, 0600));
    TELL ("a link", symlink ("x", "dir/link"));
    TELL ("a directory in the new one", mkdir ("dir/sub/sub", 0755));
    for (size_t i = 0; i < G_N_ELEMENTS (made); i++) {
        show (made[i], made[i]);
        show_acl (made[i], ACCESS);
        show_acl (made[i], DEFAULT);
    }
}

static const struct {
    const char *name, *acl;
} wrong[] = {
    { "without others", "u::rwx,g::rwx" },
    { "without a mask", "u::rwx,u:41003:rwx,g::rwx,o::rwx" },
    { "out of order", "o::rwx,g::rwx,u::rwx" },
    { "twice the owner", "u::rwx,u::rwx,g::rwx,o::rwx" },
    { "a user twice", "u::rwx,u:41003:rwx,u:41003:r--,g::rwx,m::rwx,o::rwx" },
    { "nothing", "" },
    { "an unknown tag", "u::rwx,x::rwx,g::rwx,o::rwx" },
};

static void
run_wrong (const struct mount_case *c)
{
    make_tree ("F:file d:dir");
    set_acl ("file", ACCESS, wrong[c->a].acl);
    set_acl ("dir", DEFAULT, wrong[c->a].acl);
    show ("file", "file");
    show ("dir", "dir");
    TELL ("cut off", setxattr ("file", ACCESS, "\2\0\0", 3, 0));
    TELL ("empty", setxattr ("file", ACCESS, "", 0, 0));
    TELL ("of another version", setxattr ("file", ACCESS, "\3\0\0\0", 4, 0));
    show_acl ("file", ACCESS);
}

void
acl_cases (GPtrArray *list)
{
    for (unsigned i = 0; i < G_N_ELEMENTS (lists); i++) {
        for (unsigned role = 0; roles[role].name; role++)
            case_add (list, run_access, i, role, 0, CASE_NEEDS_ROOT, "acl/%s, as %s", lists[i].name,
                      roles[role].name);
        for (unsigned mask = 0; mask < G_N_ELEMENTS (masks); mask++)
            case_add (list, run_inherit, i, mask, 0, 0, "acl/handed down: %s, umask %03o",
                      lists[i].name, masks[mask]);
        case_add (list, run_list, i, 0, 0, 0, "acl/set: %s", lists[i].name);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS (wrong); i++)
        case_add (list, run_wrong, i, 0, 0, 0, "acl/wrong: %s", wrong[i].name);
}
