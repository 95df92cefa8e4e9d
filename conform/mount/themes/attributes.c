/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes, owners, umask, file flags, and the results of statx and statvfs. */
#include "conform/mount/roles.h"
#include "conform/mount/themes/themes.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>

static const unsigned modes[] = {
    0,     0111,  0222,  0444,  0644,  0755,  0777,    01000,  01777,
    02644, 02755, 04644, 04755, 06755, 07777, 0100644, 040755, 0200000
};
static const unsigned masks[] = { 0, 022, 027, 077, 0777, 07777 };

static void
run_chmod (const struct mount_case *c)
{
    make_tree ("F:file d:dir l:link:file p:fifo");
    TELL ("of a file", chmod ("file", modes[c->a]));
    TELL ("of a directory", chmod ("dir", modes[c->a]));
    TELL ("of a fifo", chmod ("fifo", modes[c->a]));
    show_tree (".");
    NEED (chmod ("dir", 0700));
    NEED (chmod ("file", 0600));
    TELL ("through a link", chmod ("link", modes[c->a]));
    TELL ("of a descriptor", fchmod (open ("dir", O_RDONLY), modes[c->a]));
    show_tree (".");
}

static void
run_umask (const struct mount_case *c)
{
    int fd;

    umask (masks[c->a]);
    fd = TELL_FD ("a file", open ("file", O_CREAT | O_RDWR, 06777));
    TELL ("write to it", write (fd, "x", 1));
    TELL ("a directory", mkdir ("dir", 07777));
    TELL ("a fifo", mkfifo ("fifo", 0777));
    TELL ("a link", symlink ("x", "link"));
    TELL ("a file by mknod", mknod ("node", S_IFREG | 0777, 0));
    TELL ("a closed file, open to write", open ("closed", O_CREAT | O_WRONLY, 0) < 0);
    umask (022);
    show_tree (".");
}

/* --- owners --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uid_t uid;
    gid_t gid;
} owners[] = {
    { "nobody", -1, -1 }, { "the same", OWNER, GROUP_A }, { "another user", STRANGER, -1 },
    { "the first group", -1, GROUP_A }, { "the second group", -1, GROUP_B },
    { "another group", -1, 49999 }, { "both", STRANGER, 49999 }, { "root", 0, 0 },
    { "the largest", 0xfffffffe, 0xfffffffe },
};

static void
try_chown (void *data)
{
    const unsigned i = GPOINTER_TO_UINT (data);

    TELL ("of a file", chown ("file", owners[i].uid, owners[i].gid));
    TELL ("of a directory", chown ("dir", owners[i].uid, owners[i].gid));
    TELL ("of a link", lchown ("link", owners[i].uid, owners[i].gid));
    TELL ("of a descriptor", fchown (open ("file", O_RDONLY), owners[i].uid, owners[i].gid));
}

static void
run_chown (const struct mount_case *c)
{
    make_tree ("F:file=6755 d:dir l:link:file");
    NEED (chown ("file", OWNER, GROUP_A));
    NEED (chmod ("file", 06755));
    NEED (chown ("dir", OWNER, GROUP_A));
    NEED (lchown ("link", OWNER, GROUP_A));
    as_role (&roles[c->b], try_chown, GUINT_TO_POINTER (c->a));
    show_tree (".");
}

/* --- file flags ----------------------------------------------------------------------------- */

static void
run_flags (const struct mount_case *c)
{
    static const struct {
        const char *name;
        int flag;
    } flags[] = { { "nodump", FS_NODUMP_FL },
                  { "noatime", FS_NOATIME_FL },
                  { "append only", FS_APPEND_FL },
                  { "immutable", FS_IMMUTABLE_FL },
                  { "none", 0 } };
    const int fd = make_file ("file", "0123456789");
    int before = 0;

    TELL ("get", ioctl (fd, FS_IOC_GETFLAGS, &before));
    for (size_t i = 0; i < G_N_ELEMENTS (flags); i++) {
        int value = before | flags[i].flag, now = 0;

        observe ("%s", flags[i].name);
        TELL ("set", ioctl (fd, FS_IOC_SETFLAGS, &value));
        if (TELL ("get", ioctl (fd, FS_IOC_GETFLAGS, &now)) == 0)
            observe ("flags %#x", now);
        TELL ("open to write", open ("file", O_WRONLY) < 0);
        TELL ("open to append", open ("file", O_WRONLY | O_APPEND) < 0);
        TELL ("truncate", truncate ("file", 10));
        TELL ("chmod", chmod ("file", 0644));
        TELL ("rename", rename ("file", "other"));
        TELL ("and back", rename ("other", "file"));
        TELL ("link", link ("file", "other"));
        unlink ("other");
    }
    TELL ("none at last", ioctl (fd, FS_IOC_SETFLAGS, &before));
    TELL ("of a directory", ioctl (open (".", O_RDONLY), FS_IOC_GETFLAGS, &(int){ 0 }));
    close (fd);
}

static void
run_statx (const struct mount_case *c)
{
    static const unsigned wanted[] = { 0,          STATX_TYPE,        STATX_MODE,
                                       STATX_SIZE, STATX_BASIC_STATS, STATX_ALL };
    static const int ways[] = { AT_STATX_SYNC_AS_STAT, AT_STATX_FORCE_SYNC, AT_STATX_DONT_SYNC };

    make_tree ("F:file=0640");
    for (size_t i = 0; i < G_N_ELEMENTS (wanted); i++) {
        for (size_t way = 0; way < G_N_ELEMENTS (ways); way++) {
            struct statx st = { 0 };

            TELL ("statx", statx (AT_FDCWD, "file", ways[way], wanted[i], &st));
            observe ("all that was asked: %d, mode %o, size %llu, links %u",
                     (wanted[i] & STATX_BASIC_STATS & ~st.stx_mask) == 0,
                     st.stx_mode, (unsigned long long) st.stx_size, st.stx_nlink);
        }
    }
    TELL ("both ways at once", statx (AT_FDCWD, "file", AT_STATX_FORCE_SYNC | AT_STATX_DONT_SYNC, 0,
                                      &(struct statx){ 0 }));
    TELL ("an unknown flag", statx (AT_FDCWD, "file", 1 << 30, 0, &(struct statx){ 0 }));
    TELL ("a reserved bit", statx (AT_FDCWD, "file", 0, 1u << 31, &(struct statx){ 0 }));
}

static void
run_statvfs (const struct mount_case *c)
{
    struct statvfs fs;

    TELL ("statvfs", statvfs (".", &fs));
    observe (
        "names of %lu bytes, blocks of %lu, %lu; %llu blocks in all; some free: %d; some files: %d",
        fs.f_namemax, fs.f_bsize, fs.f_frsize, (unsigned long long) fs.f_blocks, fs.f_bavail > 0,
        fs.f_files > 0);
}

void
attributes_cases (GPtrArray *list)
{
    for (unsigned i = 0; i < G_N_ELEMENTS (modes); i++)
        case_add (list, run_chmod, i, 0, 0, 0, "attributes/chmod to %04o", modes[i]);
    for (unsigned i = 0; i < G_N_ELEMENTS (masks); i++)
        case_add (list, run_umask, i, 0, 0, 0, "attributes/umask %03o", masks[i]);
    for (unsigned i = 0; i < G_N_ELEMENTS (owners); i++)
        for (unsigned role = 0; roles[role].name; role++)
            case_add (list, run_chown, i, role, 0, CASE_NEEDS_ROOT, "attributes/chown to %s as %s",
                      owners[i].name, roles[role].name);
    case_add (list, run_flags, 0, 0, 0, 0, "attributes/file flags");
    case_add (list, run_statx, 0, 0, 0, 0, "attributes/statx");
    case_add (list, run_statvfs, 0, 0, 0, 0, "attributes/statvfs");
}
