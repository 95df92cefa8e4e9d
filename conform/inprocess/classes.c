/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The classes of each argument of each operation. The first one is the normal value. */
#include "conform/inprocess/inprocess.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

#define END { NULL, 0, NULL }

static const struct class_value places[] = {
    { "file", LOC_FILE, NULL }, { "dir", LOC_DIR, NULL }, { "full", LOC_FULL, NULL },
    { "symlink", LOC_LINK, NULL }, { "fifo", LOC_FIFO, NULL }, { "root", LOC_ROOT, NULL },
    { "nameless", LOC_NAMELESS, NULL }, { "removed", LOC_GONE, NULL }, END,
};
static const struct class_value directories[] = {
    { "full", LOC_FULL, NULL }, { "dir", LOC_DIR, NULL }, { "root", LOC_ROOT, NULL },
    { "removed", LOC_IN_GONE, NULL }, { "file", LOC_FILE, NULL }, END,
};
static const struct class_value loc_names[] = {
    { "file", LOC_FILE, NULL }, { "dir", LOC_DIR, NULL }, { "full", LOC_FULL, NULL },
    { "symlink", LOC_LINK, NULL }, { "fifo", LOC_FIFO, NULL }, { "missing", LOC_NEW, NULL },
    { "in-removed", LOC_IN_GONE, NULL }, { "below-file", LOC_UNDER_FILE, NULL },
    { "too-long", LOC_LONG, NULL }, { "empty", LOC_EMPTY, NULL }, { "slash", LOC_SLASH, NULL }, END,
};
static const struct class_value empty_directories[] = {
    { "dir", LOC_DIR, NULL }, { "full", LOC_FULL, NULL }, { "file", LOC_FILE, NULL },
    { "missing", LOC_NEW, NULL }, { "too-long", LOC_LONG, NULL },
    { "in-removed", LOC_IN_GONE, NULL }, END,
};
static const struct class_value new_names[] = {
    { "missing", LOC_NEW, NULL }, { "file", LOC_FILE, NULL }, { "dir", LOC_DIR, NULL },
    { "symlink", LOC_LINK, NULL }, { "in-removed", LOC_IN_GONE, NULL },
    { "below-file", LOC_UNDER_FILE, NULL }, { "too-long", LOC_LONG, NULL },
    { "empty", LOC_EMPTY, NULL }, { "dot", LOC_DOT, NULL }, { "slash", LOC_SLASH, NULL }, END,
};
static const struct class_value links[] = {
    { "symlink", LOC_LINK, NULL }, { "file", LOC_FILE, NULL }, { "dir", LOC_DIR, NULL }, END,
};
static const struct class_value files[] = {
    { "read-write", FD_RW, NULL }, { "read-only", FD_RO, NULL }, { "write-only", FD_WO, NULL },
    { "append", FD_APPEND, NULL }, { "unlinked", FD_UNLINKED, NULL }, { "directory", FD_DIR, NULL },
    END,
};
static const struct class_value others[] = {
    { "other", FD_OTHER, NULL }, { "read-only", FD_RO, NULL }, { "append", FD_APPEND, NULL },
    { "read-write", FD_RW, NULL }, END,
};
static const struct class_value open_directories[] = {
    { "directory", FD_DIR, NULL }, { "read-only", FD_RO, NULL }, END,
};
static const struct class_value size_classes[] = {
    { "4096", 4096, NULL }, { "0", 0, NULL }, { "1", 1, NULL }, { "4095", 4095, NULL },
    { "4097", 4097, NULL }, { "128K", 128 << 10, NULL }, { "1M", 1 << 20, NULL },
    { "2^31", 1L << 31, NULL }, { "2^32", 1L << 32, NULL }, { "2^63-1", INT64_MAX, NULL },
    { "negative", -1, NULL }, END,
};
/* For operations that allocate this much space. */
static const struct class_value length_values[] = {
    { "4096", 4096, NULL }, { "0", 0, NULL }, { "1", 1, NULL }, { "4095", 4095, NULL },
    { "128K", 128 << 10, NULL }, { "1M", 1 << 20, NULL }, END,
};
static const struct class_value offset_classes[] = {
    { "1", 1, NULL }, { "0", 0, NULL }, { "4095", 4095, NULL }, { "4096", 4096, NULL },
    { "4097", 4097, NULL }, { "128K", 128 << 10, NULL }, { "1M", 1 << 20, NULL },
    { "2^31", 1L << 31, NULL }, { "2^32", 1L << 32, NULL }, { "2^63-1", INT64_MAX, NULL },
    { "negative", -1, NULL }, END,
};
static const struct class_value none[] = { { "0", 0, NULL }, END };
static const struct class_value open_flag_values[] = {
    { "O_RDWR", O_RDWR, NULL }, { "O_RDONLY", O_RDONLY, NULL }, { "O_WRONLY", O_WRONLY, NULL },
    { "O_TRUNC", O_RDWR | O_TRUNC, NULL }, { "O_APPEND", O_WRONLY | O_APPEND, NULL },
    { "O_DIRECTORY", O_RDONLY | O_DIRECTORY, NULL }, { "O_NOFOLLOW", O_RDONLY | O_NOFOLLOW, NULL },
    { "O_SYNC", O_RDWR | O_SYNC, NULL }, END,
};
static const struct class_value create_flags[] = {
    { "O_EXCL", O_RDWR | O_EXCL, NULL }, { "O_RDWR", O_RDWR, NULL }, { "O_WRONLY", O_WRONLY, NULL },
    { "O_TRUNC", O_RDWR | O_TRUNC, NULL }, { "O_APPEND", O_WRONLY | O_APPEND, NULL }, END,
};
static const struct class_value rename_flags[] = {
    { "0", 0, NULL }, { "NOREPLACE", RENAME_NOREPLACE, NULL },
    { "EXCHANGE", RENAME_EXCHANGE, NULL }, { "unknown", 1 << 20, NULL }, END,
};
static const struct class_value xattr_flags[] = {
    { "0", 0, NULL }, { "CREATE", XATTR_CREATE, NULL }, { "REPLACE", XATTR_REPLACE, NULL },
    { "both", XATTR_CREATE | XATTR_REPLACE, NULL }, END,
};
static const struct class_value mode_values[] = {
    { "0644", 0644, NULL }, { "0", 0, NULL }, { "0777", 0777, NULL }, { "setuid", 04755, NULL },
    { "sticky", 01777, NULL }, END,
};
static const struct class_value node_modes[] = {
    { "fifo", S_IFIFO | 0644, NULL }, { "file", S_IFREG | 0600, NULL },
    { "socket", S_IFSOCK | 0755, NULL }, { "device", S_IFCHR | 0600, NULL }, END,
};
static const struct class_value umasks[] = {
    { "022", 022, NULL }, { "0", 0, NULL }, { "0777", 0777, NULL }, END,
};
static const struct class_value devices[] = { { "0", 0, NULL }, { "null", 0x103, NULL }, END };
static const struct class_value text_classes[] = {
    { "file", 0, "file" }, { "absolute", 0, "/nowhere/else" }, { "empty", 0, "" },
    { "too-long", TEXT_LONG, NULL }, END,
};
static const struct class_value attribute_names[] = {
    { "user", 0, "user.known" }, { "missing", 0, "user.missing" }, { "all", 0, NULL },
    { "trusted", 0, "trusted.x" }, { "security", 0, "security.x" },
    { "acl", 0, "system.posix_acl_access" }, { "unknown", 0, "nonsense.x" },
    { "too-long", TEXT_LONG, NULL }, { "empty", 0, "" }, { "prefix", 0, "user." }, END,
};
static const struct class_value attributes[] = {
    { "new", 0, "user.new" }, { "known", 0, "user.known" }, { "none", 2, NULL },
    { "trusted", 0, "trusted.x" }, { "security", 0, "security.x" },
    { "bad-acl", 0, "system.posix_acl_access" }, { "unknown", 0, "nonsense.x" },
    { "too-long", TEXT_LONG, NULL }, { "empty", 0, "" }, { "prefix", 0, "user." }, END,
};
static const struct class_value xdatas[] = {
    { "unknown", 1, NULL }, { "none", 0, NULL }, { "large", 2, NULL }, END,
};
static const struct class_value boolean_classes[] = { { "0", 0, NULL }, { "1", 1, NULL }, END };
static const struct class_value mask_values[] = {
    { "R", R_OK, NULL }, { "F", F_OK, NULL }, { "W", W_OK, NULL },
    { "RWX", R_OK | W_OK | X_OK, NULL }, { "bad", 1 << 10, NULL }, END,
};
static const struct class_value lock_commands[] = {
    { "SETLK", F_SETLK, NULL }, { "GETLK", F_GETLK, NULL }, { "SETLKW", F_SETLKW, NULL },
    { "bad", 9999, NULL }, END,
};
static const struct class_value locks[] = {
    { "write", F_WRLCK, NULL }, { "read", F_RDLCK, NULL }, { "unlock", F_UNLCK, NULL }, END,
};
static const struct class_value flocks[] = {
    { "EX", LOCK_EX | LOCK_NB, NULL }, { "SH", LOCK_SH | LOCK_NB, NULL }, { "UN", LOCK_UN, NULL },
    { "bad", 0, NULL }, END,
};
static const struct class_value domains[] = { { "dht.layout.heal", 0, "dht.layout.heal" }, END };
static const struct class_value entries[] = { { "file", 0, "file" }, { "all", 0, NULL }, END };
static const struct class_value inodelk_commands[] = {
    { "SETLK", F_SETLK, NULL }, { "SETLKW", F_SETLKW, NULL }, { "bad", 9999, NULL }, END,
};
static const struct class_value entrylk_commands[] = {
    { "LOCK_NB", ENTRYLK_LOCK_NB, NULL }, { "LOCK", ENTRYLK_LOCK, NULL },
    { "UNLOCK", ENTRYLK_UNLOCK, NULL }, { "bad", 9999, NULL }, END,
};
static const struct class_value entrylk_types[] = {
    { "write", ENTRYLK_WRLCK, NULL }, { "read", ENTRYLK_RDLCK, NULL }, END,
};
static const struct class_value whats[] = {
    { "DATA", SEEK_DATA, NULL }, { "HOLE", SEEK_HOLE, NULL }, { "bad", 77, NULL }, END,
};
static const struct class_value seek_offsets[] = {
    { "0", 0, NULL }, { "1", 1, NULL }, { "4096", 4096, NULL }, { "1M", 1 << 20, NULL },
    { "negative", -1, NULL }, END,
};
static const struct class_value allocations[] = {
    { "0", 0, NULL }, { "KEEP_SIZE", FALLOC_FL_KEEP_SIZE, NULL },
    { "PUNCH_HOLE", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, NULL },
    { "ZERO_RANGE", FALLOC_FL_ZERO_RANGE, NULL }, { "bad", 1 << 20, NULL }, END,
};
static const struct class_value valids[] = {
    { "MODE", IATT_MODE, NULL }, { "UID", IATT_UID, NULL }, { "GID", IATT_GID, NULL },
    { "times", IATT_ATIME | IATT_MTIME, NULL }, { "MTIME", IATT_MTIME, NULL },
    { "NOW", IATT_ATIME_NOW | IATT_MTIME_NOW, NULL }, { "none", 0, NULL }, END,
};
static const struct class_value vectors[] = {
    { "3x1365", 3, NULL }, { "4096", 4096, NULL }, { "0", 0, NULL }, { "1", 1, NULL },
    { "4095", 4095, NULL }, { "4097", 4097, NULL }, { "128K", 128 << 10, NULL },
    { "1M", 1 << 20, NULL }, END,
};
static const struct class_value ioctl_commands[] = {
    { "GETFLAGS", FS_IOC_GETFLAGS, NULL }, { "FSGETXATTR", FS_IOC_FSGETXATTR, NULL },
    { "unknown", 0x1234, NULL }, END,
};
static const struct class_value out_sizes[] = {
    { "64", 64, NULL }, { "0", 0, NULL }, { "1", 1, NULL }, { "64K", 64 << 10, NULL }, END,
};
static const struct class_value counts_of_bytes[] = {
    { "1000", 1000, NULL }, { "64K", 64 << 10, NULL }, { "0", 0, NULL }, { "1M", 1 << 20, NULL },
    END,
};

/* The first matching row counts. */
static const struct {
    enum fop op; /* FOP_NONE: any */
    const char *arg;
    const struct class_value *values;
} class_rows[] = {
    { FOP_lookup, "loc", loc_names }, { FOP_unlink, "loc", loc_names },
    { FOP_rmdir, "loc", empty_directories }, { FOP_mkdir, "loc", new_names },
    { FOP_mknod, "loc", new_names }, { FOP_symlink, "loc", new_names },
    { FOP_create, "loc", new_names }, { FOP_NONE, "newloc", new_names },
    { FOP_rename, "oldloc", loc_names }, { FOP_link, "oldloc", places },
    { FOP_readlink, "loc", links },
    { FOP_opendir, "loc", directories }, { FOP_tmpfile, "loc", directories },
    { FOP_NONE, "loc", places }, { FOP_open, "fd", NULL }, { FOP_opendir, "fd", NULL },
    { FOP_create, "fd", NULL }, { FOP_tmpfile, "fd", NULL },
    { FOP_readdir, "fd", open_directories }, { FOP_readdirp, "fd", open_directories },
    { FOP_fsyncdir, "fd", open_directories }, { FOP_NONE, "fd", files },
    { FOP_NONE, "fd_in", files }, { FOP_NONE, "fd_out", others },
    { FOP_open, "flags", open_flag_values },
    { FOP_create, "flags", create_flags }, { FOP_tmpfile, "flags", create_flags },
    { FOP_rename, "flags", rename_flags }, { FOP_setxattr, "flags", xattr_flags },
    { FOP_fsetxattr, "flags", xattr_flags }, { FOP_NONE, "flags", none },
    { FOP_mknod, "mode", node_modes }, { FOP_fallocate, "mode", allocations },
    { FOP_NONE, "mode", mode_values }, { FOP_NONE, "umask", umasks }, { FOP_NONE, "rdev", devices },
    { FOP_NONE, "linkpath", text_classes }, { FOP_NONE, "name", attribute_names },
    { FOP_NONE, "dict", attributes }, { FOP_NONE, "xdata", xdatas }, { FOP_NONE, "xflag", none },
    { FOP_NONE, "datasync", boolean_classes }, { FOP_NONE, "mask", mask_values },
    { FOP_inodelk, "cmd", inodelk_commands }, { FOP_finodelk, "cmd", inodelk_commands },
    { FOP_entrylk, "cmd", entrylk_commands }, { FOP_fentrylk, "cmd", entrylk_commands },
    { FOP_NONE, "type", entrylk_types }, { FOP_NONE, "volume", domains },
    { FOP_NONE, "basename", entries },
    { FOP_lk, "cmd", lock_commands }, { FOP_NONE, "lock", locks },
    { FOP_NONE, "operation", flocks }, { FOP_NONE, "what", whats },
    { FOP_seek, "offset", seek_offsets }, { FOP_NONE, "valid", valids },
    { FOP_NONE, "stbuf", NULL }, { FOP_NONE, "vector", vectors },
    { FOP_ioctl, "cmd", ioctl_commands },
    { FOP_NONE, "in", NULL }, { FOP_NONE, "out_size", out_sizes },
    { FOP_NONE, "count", NULL }, { FOP_NONE, "iobref", NULL }, { FOP_readlink, "size", out_sizes },
    { FOP_copy_file_range, "len", counts_of_bytes }, { FOP_NONE, "len", length_values },
    { FOP_readdir, "size", counts_of_bytes }, { FOP_readdirp, "size", counts_of_bytes },
    { FOP_NONE, "size", size_classes },
    { FOP_readdir, "offset", none }, { FOP_readdirp, "offset", none },
    { FOP_NONE, "offset", offset_classes }, { FOP_NONE, "off_in", offset_classes },
    { FOP_NONE, "off_out", offset_classes },
};

const struct class_value *
classes_of (enum fop op, const char *arg)
{
    for (size_t i = 0; i < G_N_ELEMENTS (class_rows); i++)
        if ((class_rows[i].op == op || class_rows[i].op == FOP_NONE)
            && strcmp (class_rows[i].arg, arg) == 0)
            return class_rows[i].values;
    return none;
}
