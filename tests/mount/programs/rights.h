/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cases of permissions: a scene of two directories whose modes, owners, groups, ACLs and default
 * ACLs depend on a seed, a caller, and an operation of the caller. A case can be created, and
 * executed with system calls, in any directory.
 *
 *   SCENE/a, SCENE/b    directories, as is SCENE itself
 *     file, second      regular files                   sub, sub/inner  a directory with or without
 *                       a file
 *     fifo, link        a fifo, a symbolic link         new             does not exist
 */
#ifndef TESTS_RIGHTS_H
#define TESTS_RIGHTS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/fs.h>
#include <linux/posix_acl_xattr.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACL_ACCESS "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"
#define GROUPS_MAX 3

enum rights_verb {
    V_LOOK,
    V_OPEN,
    V_OPENDIR,
    V_ACCESS,
    V_CREATE,
    V_CREATE_THERE,
    V_TMPFILE,
    V_MKDIR,
    V_MKNOD,
    V_SYMLINK,
    V_LINK,
    V_UNLINK,
    V_RMDIR,
    V_RENAME,
    V_TRUNCATE,
    V_CHMOD,
    V_FCHMOD,
    V_CHOWN,
    V_UTIMES,
    V_FUTIMES,
    V_SETXATTR,
    V_FSETXATTR,
    V_GETXATTR,
    V_FGETXATTR,
    V_REMOVEXATTR,
    V_SETACL,
    V_SETFLAGS,
    V_READLINK,
    N_VERBS
};

static const char *const verb_names[] = {
    "look",      "open",     "opendir",   "access",      "create", "create-there", "tmpfile",
    "mkdir",     "mknod",    "symlink",   "link",        "unlink", "rmdir",        "rename",
    "truncate",  "chmod",    "fchmod",    "chown",       "utimes", "futimes",      "setxattr",
    "fsetxattr", "getxattr", "fgetxattr", "removexattr", "setacl", "setflags",     "readlink"
};

struct acl_bytes {
    size_t size;
    unsigned char bytes[4 + 16 * 8];
};

struct rcase {
    uint64_t random;
    uid_t uid;
    gid_t gid;
    int ngroups;
    gid_t groups[GROUPS_MAX];
    mode_t umask;
    enum rights_verb verb;
    const char *dir, *name, *dir2, *name2; /* "a", "file" */
    uint32_t flags; /* of open, rename */
    unsigned mode;  /* of a new file, or of chmod; of access */
    dev_t rdev;
    uid_t to_uid;
    gid_t to_gid;
    struct timespec times[2];
    const char *xattr;
    struct acl_bytes value;
};

/* --- chance ----------------------------------------------------------------------------------- */

static uint64_t
rights_draw (uint64_t *state)
{
    uint64_t z = (*state += UINT64_C (0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static unsigned
rights_pick (uint64_t *state, unsigned n)
{
    return (unsigned) (rights_draw (state) >> 20) % n;
}

#define PICK(state_, first_, ...)                                                                  \
    ({                                                                                             \
        const __typeof__ (0 ? (first_) : (first_)) of_[] = { first_, __VA_ARGS__ };                \
        of_[rights_pick (state_, G_N_ELEMENTS (of_))];                                             \
    })

static uid_t
pick_uid (uint64_t *state)
{
    static const uid_t uids[] = { 1000, 1000, 1001, 1002, 0 };

    return uids[rights_pick (state, 5)];
}

static gid_t
pick_gid (uint64_t *state)
{
    static const gid_t gids[] = { 2000, 2001, 2002, 0 };

    return gids[rights_pick (state, 4)];
}

static unsigned
pick_perm (uint64_t *state)
{
    return rights_pick (state, 3) ? 7 & (rights_draw (state) >> 30 | rights_draw (state) >> 30)
                                  : 7 & rights_draw (state) >> 30;
}

static void
acl_put (struct acl_bytes *acl, unsigned tag, unsigned perm, uint32_t id)
{
    const struct posix_acl_xattr_entry entry = { GUINT16_TO_LE (tag), GUINT16_TO_LE (perm),
                                                 GUINT32_TO_LE (id) };

    memcpy (acl->bytes + acl->size, &entry, sizeof entry);
    acl->size += sizeof entry;
}

static struct acl_bytes
pick_acl (uint64_t *state)
{
    const uint32_t version = GUINT32_TO_LE (POSIX_ACL_XATTR_VERSION);
    struct acl_bytes acl = { sizeof version, { 0 } };
    bool named = false;

    memcpy (acl.bytes, &version, sizeof version);
    acl_put (&acl, 1, pick_perm (state), 0);
    for (uid_t uid = 1000; uid <= 1002; uid++)
        if (rights_pick (state, 3) == 0) {
            acl_put (&acl, 2, pick_perm (state), uid);
            named = true;
        }
    acl_put (&acl, 4, pick_perm (state), 0);
    for (gid_t gid = 2000; gid <= 2002; gid++)
        if (rights_pick (state, 3) == 0) {
            acl_put (&acl, 8, pick_perm (state), gid);
            named = true;
        }
    if (named || rights_pick (state, 3) == 0)
        acl_put (&acl, 0x10, pick_perm (state), 0);
    acl_put (&acl, 0x20, pick_perm (state), 0);
    return acl;
}

/* Returns an ACL that may be malformed, in a byte or in its length. */
static struct acl_bytes
pick_any_acl (uint64_t *state)
{
    struct acl_bytes acl = pick_acl (state);

    if (rights_pick (state, 3) == 0)
        acl.bytes[rights_pick (state, (unsigned) acl.size)]
            = (unsigned char) PICK (state, 0, 1, 2, 4, 8, 9, 16, 32, 255);
    if (rights_pick (state, 8) == 0)
        acl.size = rights_pick (state, 2) ? 4 : rights_pick (state, (unsigned) acl.size);
    return acl;
}

/* --- the case --------------------------------------------------------------------------------- */

static void
pick_caller (struct rcase *c, uint64_t *state)
{
    c->uid = rights_pick (state, 20) == 0 ? 0 : 1000 + rights_pick (state, 3);
    c->gid = rights_pick (state, 2) ? 3000 : 2000 + rights_pick (state, 3);
    c->ngroups = (int) rights_pick (state, GROUPS_MAX);
    for (int i = 0; i < c->ngroups; i++)
        c->groups[i] = 2000 + rights_pick (state, 3);
    c->umask = PICK (state, 0, 022, 077, 027);
}

static struct timespec
pick_time (uint64_t *state)
{
    return (struct timespec){ 1000, PICK (state, UTIME_NOW, UTIME_NOW, UTIME_OMIT, 5L) };
}

/* Fields of some operations only. */
static void
pick_for_verb (struct rcase *c, uint64_t *state)
{
    switch (c->verb) {
    case V_OPEN:
    case V_CREATE_THERE:
    case V_FUTIMES:
    case V_SETFLAGS:
        c->name = PICK (state, "file", "second");
        break;
    case V_OPENDIR:
        c->name = PICK (state, "sub", "");
        break;
    case V_TMPFILE:
        c->name = "";
        break;
    case V_CREATE:
    case V_MKDIR:
    case V_SYMLINK:
    case V_MKNOD:
        c->name = "new";
        c->mode |= c->verb == V_MKNOD ? PICK (state, S_IFREG, S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK)
                                      : 0;
        c->rdev = S_ISCHR (c->mode) && rights_pick (state, 2) ? 0 : 0x103;
        break;
    case V_LINK:
        c->name2 = "new";
        break;
    case V_RENAME:
        c->flags = PICK (state, 0u, 0u, (unsigned) RENAME_EXCHANGE, (unsigned) RENAME_NOREPLACE);
        break;
    case V_SETACL:
        c->xattr = PICK (state, ACL_ACCESS, ACL_ACCESS, ACL_DEFAULT);
        c->name = PICK (state, "file", "sub", "fifo", "");
        break;
    case V_UNLINK:
    case V_RMDIR:
        c->name = rights_pick (state, 2) ? c->name : "sub";
        break;
    case V_TRUNCATE:
    case V_CHMOD:
    case V_FCHMOD:
        c->name = PICK (state, "file", "sub", "fifo");
        break;
    default:
        break;
    }
    if (c->verb == V_FCHMOD || c->verb == V_FSETXATTR || c->verb == V_FGETXATTR)
        c->name = PICK (state, "file", "sub");
}

static struct rcase
pick_case (uint64_t seed)
{
    uint64_t state = seed;
    struct rcase c = { .random = rights_draw (&state) };

    pick_caller (&c, &state);
    c.verb = rights_pick (&state, N_VERBS);
    c.dir = PICK (&state, "a", "b");
    c.dir2 = PICK (&state, "a", "b");
    c.name = PICK (&state, "file", "file", "sub", "fifo", "link", "second");
    c.name2 = PICK (&state, "new", "new", "second", "sub", "file");
    c.flags = (uint32_t) PICK (&state, O_RDONLY, O_WRONLY, O_RDWR)
            | (uint32_t) PICK (&state, 0, 0, O_TRUNC, O_APPEND, O_NOATIME);
    c.mode = rights_pick (&state, 2) ? rights_pick (&state, 01000) : rights_pick (&state, 010000);
    c.to_uid = PICK (&state, (uid_t) -1, 1000u, 1001u);
    c.to_gid = PICK (&state, (gid_t) -1, 2000u, 2001u, 2002u);
    c.times[0] = pick_time (&state);
    c.times[1] = rights_pick (&state, 2) ? c.times[0] : pick_time (&state);
    /* needs no right, not even for the path */
    if (c.times[0].tv_nsec == UTIME_OMIT && c.times[1].tv_nsec == UTIME_OMIT)
        c.times[0].tv_nsec = UTIME_NOW;
    c.xattr = PICK (&state, "user.x", "user.x", "user.y", "trusted.x", "security.x", "foo.x",
                    ACL_ACCESS, ACL_DEFAULT);
    c.value = pick_any_acl (&state);
    pick_for_verb (&c, &state);
    return c;
}

static void
case_print (const struct rcase *c, GString *out)
{
    g_string_append_printf (out, "uid %u gid %u groups", c->uid, c->gid);
    for (int i = 0; i < c->ngroups; i++)
        g_string_append_printf (out, " %u", c->groups[i]);
    g_string_append_printf (out,
                            " umask %03o: %s %s/%s -> %s/%s flags %#x mode %o owner %d:%d rdev %#x "
                            "times %ld %ld xattr %s, %zu bytes\n",
                            c->umask, verb_names[c->verb], c->dir, c->name, c->dir2, c->name2,
                            c->flags, c->mode, (int) c->to_uid, (int) c->to_gid, (unsigned) c->rdev,
                            c->times[0].tv_nsec, c->times[1].tv_nsec, c->xattr, c->value.size);
}

/* --- the scene, made by root ------------------------------------------------------------------ */

/* Draws the same random numbers, whatever their use. */
static void
dress (const char *path, uint64_t *state, unsigned kind, bool open)
{
    const uid_t uid = pick_uid (state);
    const gid_t gid = pick_gid (state);
    const unsigned perm = open && rights_pick (state, 4)
                            ? 0777
                            : pick_perm (state) << 6 | pick_perm (state) << 3 | pick_perm (state);
    const unsigned special = rights_pick (state, 3) == 0 ? rights_pick (state, 8) << 9 : 0;
    const bool sticky = rights_pick (state, 3) == 0, has_acl = rights_pick (state, 2),
               has_default = rights_pick (state, 3) == 0, has_user = rights_pick (state, 2);
    const struct acl_bytes acl = pick_acl (state), standard = pick_acl (state);
    const bool is_link = S_ISLNK (kind), is_dir = S_ISDIR (kind);

    g_assert (lchown (path, uid, gid) == 0);
    if (is_link)
        return;
    g_assert (chmod (path, perm | special | (is_dir && sticky ? S_ISVTX : 0)) == 0);
    if (has_user && (is_dir || S_ISREG (kind)))
        g_assert (setxattr (path, "user.x", "1", 1, 0) == 0);
    if (has_acl && !(open && perm == 0777))
        g_assert (setxattr (path, ACL_ACCESS, acl.bytes, acl.size, 0) == 0);
    if (has_default && is_dir)
        g_assert (setxattr (path, ACL_DEFAULT, standard.bytes, standard.size, 0) == 0);
}

static void
scene_file (const char *scene, const char *dir, const char *name, mode_t kind, uint64_t *state)
{
    g_autofree char *path = g_build_filename (scene, dir, name, NULL);

    if (S_ISDIR (kind))
        g_assert (mkdir (path, 0700) == 0);
    else if (S_ISLNK (kind))
        g_assert (symlink ("file", path) == 0);
    else
        g_assert (mknod (path, kind | 0600, 0) == 0);
    if (S_ISDIR (kind) && rights_pick (state, 2)) {
        g_autofree char *inner = g_build_filename (path, "inner", NULL);
        g_assert (mknod (inner, S_IFREG | 0600, 0) == 0);
    }
    dress (path, state, kind, false);
}

static void
scene_make (const char *scene, uint64_t seed)
{
    uint64_t state = seed ^ UINT64_C (0x5ce2e);

    umask (0);
    g_assert (mkdir (scene, 0777) == 0);
    for (int i = 0; i < 2; i++) {
        const char *dir = i ? "b" : "a";
        g_autofree char *path = g_build_filename (scene, dir, NULL);

        g_assert (mkdir (path, 0700) == 0);
        scene_file (scene, dir, "file", S_IFREG, &state);
        scene_file (scene, dir, "second", S_IFREG, &state);
        scene_file (scene, dir, "sub", S_IFDIR, &state);
        scene_file (scene, dir, "fifo", S_IFIFO, &state);
        scene_file (scene, dir, "link", S_IFLNK, &state);
        dress (path, &state, S_IFDIR, true);
    }
    dress (scene, &state, S_IFDIR, true);
}

static int
rights_by_name (gconstpointer a, gconstpointer b)
{
    return strcmp (*(char *const *) a, *(char *const *) b);
}

/* Returns the state of the scene: a line for each name, with mode, owner and ACLs. mask: the bits
 * of the mode to compare. */
static void
scene_print (const char *path, unsigned mask, bool owners, GString *out)
{
    static const char *const xattrs[] = { ACL_ACCESS, ACL_DEFAULT, "user.x",
                                          "user.y",   "trusted.x", "security.x" };
    g_autoptr (GDir) dir = NULL;
    struct stat st;
    char value[256];

    if (lstat (path, &st) < 0)
        return;
    g_string_append_printf (out, "%s %o", strrchr (path, '/') + 1, st.st_mode & (S_IFMT | mask));
    if (owners)
        g_string_append_printf (out, " %u:%u", st.st_uid, st.st_gid);
    for (size_t i = 0; i < G_N_ELEMENTS (xattrs); i++) {
        const ssize_t n = lgetxattr (path, xattrs[i], value, sizeof value);

        if (n >= 0)
            g_string_append_printf (out, " %s=", xattrs[i]);
        for (ssize_t j = 0; j < n; j++)
            g_string_append_printf (out, "%02x", (unsigned char) value[j]);
    }
    g_string_append_c (out, '\n');
    if (!S_ISDIR (st.st_mode) || !(dir = g_dir_open (path, 0, NULL)))
        return;
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    for (const char *name; (name = g_dir_read_name (dir));)
        g_ptr_array_add (names, g_strdup (name));
    g_ptr_array_sort (names, rights_by_name);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *inner = g_build_filename (path, names->pdata[i], NULL);
        scene_print (inner, mask, owners, out);
    }
}

static void
scene_remove (const char *path)
{
    g_autoptr (GDir) dir = NULL;

    if (unlink (path) == 0)
        return;
    dir = g_dir_open (path, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name (dir));) {
        g_autofree char *inner = g_build_filename (path, name, NULL);
        scene_remove (inner);
    }
    g_assert (rmdir (path) == 0);
}

/* --- doing it, with system calls -------------------------------------------------------------- */

static int
result_of (long r)
{
    return r < 0 ? -errno : 0;
}

static int
closed (int fd)
{
    if (fd < 0)
        return -errno;
    close (fd);
    return 0;
}

/* Sets the ids of this thread only, so not through the C library. */
static void
become (const struct rcase *c)
{
    g_assert (syscall (SYS_setgroups, (size_t) c->ngroups, c->groups) == 0);
    g_assert (syscall (SYS_setresgid, -1, c->gid, -1) == 0);
    g_assert (syscall (SYS_setresuid, -1, c->uid, -1) == 0);
    umask (c->umask);
}

static void
become_root (void)
{
    g_assert (syscall (SYS_setresuid, -1, 0, -1) == 0);
    g_assert (syscall (SYS_setresgid, -1, 0, -1) == 0);
    umask (0);
}

static int
do_by_path (const struct rcase *c, const char *path, const char *path2)
{
    char value[256];

    switch (c->verb) {
    case V_LOOK: {
        struct stat st;
        return result_of (lstat (path, &st));
    }
    case V_OPEN:
        return closed (open (path, (int) c->flags));
    case V_OPENDIR:
        return closed (open (path, O_RDONLY | O_DIRECTORY));
    case V_ACCESS:
        return result_of (syscall (SYS_faccessat2, AT_FDCWD, path, c->mode & 7,
                                   AT_EACCESS | AT_SYMLINK_NOFOLLOW));
    case V_CREATE:
        return closed (open (path, (int) c->flags | O_CREAT | O_EXCL, c->mode & 07777));
    case V_CREATE_THERE:
        return closed (open (path, (int) c->flags | O_CREAT, c->mode & 07777));
    case V_TMPFILE:
        return closed (open (path, O_TMPFILE | O_RDWR, c->mode & 07777));
    case V_MKDIR:
        return result_of (mkdir (path, c->mode & 07777));
    case V_MKNOD:
        return result_of (mknod (path, c->mode, c->rdev));
    case V_SYMLINK:
        return result_of (symlink ("nowhere", path));
    case V_LINK:
        return result_of (link (path, path2));
    case V_UNLINK:
        return result_of (unlink (path));
    case V_RMDIR:
        return result_of (rmdir (path));
    case V_RENAME:
        return result_of (renameat2 (AT_FDCWD, path, AT_FDCWD, path2, c->flags));
    case V_TRUNCATE:
        return result_of (truncate (path, 0));
    case V_CHMOD:
        return result_of (chmod (path, c->mode & 07777));
    case V_CHOWN:
        return result_of (lchown (path, c->to_uid, c->to_gid));
    case V_UTIMES:
        return result_of (utimensat (AT_FDCWD, path, c->times, AT_SYMLINK_NOFOLLOW));
    case V_SETXATTR:
    case V_SETACL:
        return result_of (lsetxattr (path, c->xattr, c->value.bytes, c->value.size, 0));
    case V_GETXATTR:
        return result_of (lgetxattr (path, c->xattr, value, sizeof value));
    case V_REMOVEXATTR:
        return result_of (lremovexattr (path, c->xattr));
    case V_READLINK:
        return result_of (readlink (path, value, sizeof value));
    default:
        g_assert_not_reached ();
    }
}

/* Operations on a file that another user has opened. */
static bool
verb_is_by_fd (enum rights_verb verb)
{
    return verb == V_FCHMOD || verb == V_FUTIMES || verb == V_FSETXATTR || verb == V_FGETXATTR
        || verb == V_SETFLAGS;
}

static int
do_by_fd (const struct rcase *c, int fd)
{
    char value[256];
    int flags = FS_NODUMP_FL;

    switch (c->verb) {
    case V_FCHMOD:
        return result_of (fchmod (fd, c->mode & 07777));
    case V_FUTIMES:
        return result_of (futimens (fd, c->times));
    case V_FSETXATTR:
        return result_of (fsetxattr (fd, c->xattr, c->value.bytes, c->value.size, 0));
    case V_FGETXATTR:
        return result_of (fgetxattr (fd, c->xattr, value, sizeof value));
    default:
        return result_of (ioctl (fd, FS_IOC_SETFLAGS, &flags));
    }
}

/* Runs the case in a scene as the caller. Returns the result, or a negative errno. */
static int
case_do (const struct rcase *c, const char *scene)
{
    g_autofree char *path = g_build_filename (scene, c->dir, *c->name ? c->name : NULL, NULL);
    g_autofree char *path2 = g_build_filename (scene, c->dir2, c->name2, NULL);
    int fd = verb_is_by_fd (c->verb) ? open (path, O_RDONLY) : -1, r;

    become (c);
    r = fd >= 0 ? do_by_fd (c, fd) : do_by_path (c, path, path2);
    become_root ();
    if (fd >= 0)
        close (fd);
    return r;
}

#endif
