/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/wire/values.h"

#include "core/time/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

void
wire_put_gfid (struct xdr_out *out, const gfid_t *gfid)
{
    xdr_put_fixed (out, gfid->b, sizeof gfid->b);
}

gfid_t
wire_get_gfid (struct xdr_in *in)
{
    const void *bytes = xdr_get_fixed (in, sizeof (gfid_t));
    gfid_t gfid = { 0 };

    if (bytes)
        memcpy (&gfid, bytes, sizeof gfid);
    return gfid;
}

/* --- attributes ------------------------------------------------------------------------------- */

void
wire_put_iatt (struct xdr_out *out, const struct iatt *iatt)
{
    wire_put_gfid (out, &iatt->ia_gfid);
    xdr_put_u64 (out, 0); /* mask of valid fields: servers ignore it */
    xdr_put_u64 (out, iatt->ia_ino);
    xdr_put_u64 (out, iatt->ia_dev);
    xdr_put_u64 (out, (uint64_t) major (iatt->ia_rdev) << 32 | minor (iatt->ia_rdev));
    xdr_put_u64 (out, iatt->ia_size);
    xdr_put_u64 (out, iatt->ia_blocks);
    xdr_put_u64 (out, 0);
    xdr_put_u64 (out, 0);
    xdr_put_u64 (out, (uint64_t) iatt->ia_atime);
    xdr_put_u64 (out, (uint64_t) iatt->ia_mtime);
    xdr_put_u64 (out, (uint64_t) iatt->ia_ctime);
    xdr_put_u64 (out, 0);
    xdr_put_u32 (out, iatt->ia_atime_nsec);
    xdr_put_u32 (out, iatt->ia_mtime_nsec);
    xdr_put_u32 (out, iatt->ia_ctime_nsec);
    xdr_put_u32 (out, 0);
    xdr_put_u32 (out, iatt->ia_nlink);
    xdr_put_u32 (out, iatt->ia_uid);
    xdr_put_u32 (out, iatt->ia_gid);
    xdr_put_u32 (out, iatt->ia_blksize);
    xdr_put_u32 (out, mode_of_iatt (iatt));
}

uint64_t
wire_ino_of_gfid (const gfid_t *gfid)
{
    uint64_t wire;

    memcpy (&wire, gfid->b + 8, sizeof wire);
    return GUINT64_FROM_BE (wire);
}

/* On the wire a device number has the major number in its upper 32 bits. */
static dev_t
wire_to_rdev (uint64_t rdev)
{
    return makedev ((unsigned) (rdev >> 32), (unsigned) rdev);
}

static void
wire_get_times (struct xdr_in *in, struct iatt *iatt)
{
    iatt->ia_atime = (int64_t) xdr_get_u64 (in);
    iatt->ia_mtime = (int64_t) xdr_get_u64 (in);
    iatt->ia_ctime = (int64_t) xdr_get_u64 (in);
    iatt->ia_btime = (int64_t) xdr_get_u64 (in);
    iatt->ia_atime_nsec = xdr_get_u32 (in) % 1000000000;
    iatt->ia_mtime_nsec = xdr_get_u32 (in) % 1000000000;
    iatt->ia_ctime_nsec = xdr_get_u32 (in) % 1000000000;
    iatt->ia_btime_nsec = xdr_get_u32 (in) % 1000000000;
}

void
wire_get_iatt (struct xdr_in *in, struct iatt *ret_iatt)
{
    struct iatt *iatt = ret_iatt;
    uint32_t mode;

    memset (iatt, 0, sizeof *iatt);
    iatt->ia_gfid = wire_get_gfid (in);
    iatt->ia_ino = wire_ino_of_gfid (&iatt->ia_gfid);
    xdr_get_u64 (in); /* skips the mask of valid fields: servers set all fields that are read
                       * here */
    xdr_get_u64 (in); /* inode number in the brick's file system */
    iatt->ia_dev = xdr_get_u64 (in);
    iatt->ia_rdev = wire_to_rdev (xdr_get_u64 (in));
    iatt->ia_size = xdr_get_u64 (in);
    iatt->ia_blocks = xdr_get_u64 (in);
    xdr_get_u64 (in);
    xdr_get_u64 (in);
    wire_get_times (in, iatt);
    iatt->ia_nlink = xdr_get_u32 (in);
    iatt->ia_uid = xdr_get_u32 (in);
    iatt->ia_gid = xdr_get_u32 (in);
    iatt->ia_blksize = xdr_get_u32 (in);
    mode = xdr_get_u32 (in);
    iatt->ia_type = ia_type_of_mode (mode);
    iatt->ia_prot = mode & 07777;
}

void
wire_put_statvfs (struct xdr_out *out, const struct statvfs *buf)
{
    xdr_put_u64 (out, buf->f_bsize);
    xdr_put_u64 (out, buf->f_frsize);
    xdr_put_u64 (out, buf->f_blocks);
    xdr_put_u64 (out, buf->f_bfree);
    xdr_put_u64 (out, buf->f_bavail);
    xdr_put_u64 (out, buf->f_files);
    xdr_put_u64 (out, buf->f_ffree);
    xdr_put_u64 (out, buf->f_favail);
    xdr_put_u64 (out, buf->f_fsid);
    xdr_put_u64 (out, buf->f_flag);
    xdr_put_u64 (out, buf->f_namemax);
}

void
wire_get_statvfs (struct xdr_in *in, struct statvfs *ret_buf)
{
    memset (ret_buf, 0, sizeof *ret_buf);
    ret_buf->f_bsize = xdr_get_u64 (in);
    ret_buf->f_frsize = xdr_get_u64 (in);
    ret_buf->f_blocks = xdr_get_u64 (in);
    ret_buf->f_bfree = xdr_get_u64 (in);
    ret_buf->f_bavail = xdr_get_u64 (in);
    ret_buf->f_files = xdr_get_u64 (in);
    ret_buf->f_ffree = xdr_get_u64 (in);
    ret_buf->f_favail = xdr_get_u64 (in);
    ret_buf->f_fsid = xdr_get_u64 (in);
    ret_buf->f_flag = xdr_get_u64 (in);
    ret_buf->f_namemax = xdr_get_u64 (in);
}

/* --- dicts ------------------------------------------------------------------------------------ */

enum { WIRE_TEXT_OLD = 1, WIRE_INT, WIRE_UINT, WIRE_DOUBLE, WIRE_TEXT, WIRE_BYTES, WIRE_GFID,
       WIRE_IATT, WIRE_TIMES };

#define TIMES_SIZE_ON_WIRE 36
#define KEY_MAX 4096

static void
wire_put_no_dict (struct xdr_out *out)
{
    xdr_put_u32 (out, 0);
    xdr_put_u32 (out, (uint32_t) -1);
    xdr_put_u32 (out, 0);
}

static void
wire_put_value (struct xdr_out *out, enum dict_type type, const void *value, size_t size)
{
    uint64_t number;

    switch (type) {
    case DICT_NUMBER:
        memcpy (&number, value, sizeof number);
        xdr_put_u32 (out, WIRE_UINT);
        xdr_put_u64 (out, number);
        break;
    case DICT_TEXT: /* the size on the wire counts the NUL, which a dict has behind each value */
        xdr_put_u32 (out, WIRE_TEXT);
        xdr_put_opaque (out, value, size + 1);
        break;
    case DICT_BYTES:
        xdr_put_u32 (out, WIRE_BYTES);
        xdr_put_opaque (out, value, size);
        break;
    }
}

/* The size that precedes the pairs must be exact: a server computes from it where the data of a
 * WRITE begin. */
void
wire_put_dict (struct xdr_out *out, const dict_t *dict)
{
    const size_t n = dict_count (dict), size_at = out->used;
    const char *key;
    const void *value;
    size_t size;

    if (!dict) {
        wire_put_no_dict (out);
        return;
    }
    xdr_put_u32 (out, 0);
    xdr_put_u32 (out, (uint32_t) n);
    xdr_put_u32 (out, (uint32_t) n);
    for (size_t i = 0; i < n; i++) {
        dict_nth (dict, i, &key, &value, &size);
        xdr_put_opaque (out, key, strlen (key) + 1);
        wire_put_value (out, dict_nth_type (dict, i), value, size);
    }
    xdr_set_u32 (out, size_at, (uint32_t) (out->used - size_at - 12));
}

/* Reads a value into the dict: attributes as a struct iatt, other values as their bytes on the
 * wire. A text keeps its NUL. */
static void
wire_get_value (struct xdr_in *in, dict_t *dict, const char *key)
{
    const void *value = NULL;
    size_t size = 0;
    struct iatt iatt;

    switch (xdr_get_u32 (in)) {
    case WIRE_INT:
    case WIRE_UINT:
    case WIRE_DOUBLE:
        dict_set_u64 (dict, key, xdr_get_u64 (in));
        return;
    case WIRE_TEXT_OLD:
    case WIRE_TEXT:
    case WIRE_BYTES:
        value = xdr_get_opaque (in, WIRE_VALUE_MAX, &size);
        break;
    case WIRE_GFID:
        value = xdr_get_fixed (in, size = sizeof (gfid_t));
        break;
    case WIRE_IATT:
        wire_get_iatt (in, &iatt);
        value = &iatt;
        size = sizeof iatt;
        break;
    case WIRE_TIMES:
        value = xdr_get_fixed (in, size = TIMES_SIZE_ON_WIRE);
        break;
    }
    if (value)
        dict_set (dict, key, value, size);
    else
        in->failed = true;
}

static void
wire_get_pair (struct xdr_in *in, dict_t *dict)
{
    size_t key_size;
    const char *key = xdr_get_opaque (in, KEY_MAX, &key_size);

    if (in->failed)
        return;
    if (key_size == 0 || strnlen (key, key_size) != key_size - 1)
        in->failed = true;
    else
        wire_get_value (in, dict, key);
}

dict_t *
wire_get_dict (struct xdr_in *in)
{
    dict_t *dict;
    int32_t count;

    xdr_get_u32 (in); /* size of the pairs, in bytes */
    count = xdr_get_i32 (in);
    if ((uint32_t) MAX (count, 0) != xdr_get_u32 (in))
        in->failed = true;
    if (in->failed || count <= 0)
        return NULL;
    dict = dict_new ();
    for (int32_t i = 0; i < count && !in->failed; i++)
        wire_get_pair (in, dict);
    if (in->failed)
        g_clear_pointer (&dict, dict_unref);
    return dict;
}

/* --- locks, flags, errors --------------------------------------------------------------------- */

enum { TYPE_READ, TYPE_WRITE, TYPE_NONE };

#define OWNER_MAX 1024 /* bytes of a lock owner */

uint32_t
wire_lock_type (const struct gf_flock *lock)
{
    return lock->l_type == F_RDLCK ? TYPE_READ : lock->l_type == F_WRLCK ? TYPE_WRITE : TYPE_NONE;
}

void
wire_put_flock (struct xdr_out *out, const struct gf_flock *lock)
{
    const uint64_t owner = GUINT64_TO_LE (lock->l_owner);

    xdr_put_u32 (out, wire_lock_type (lock));
    xdr_put_u32 (out, (uint32_t) lock->l_whence);
    xdr_put_u64 (out, (uint64_t) lock->l_start);
    xdr_put_u64 (out, (uint64_t) lock->l_len);
    xdr_put_u32 (out, (uint32_t) lock->l_pid);
    xdr_put_opaque (out, &owner, sizeof owner);
}

void
wire_get_flock (struct xdr_in *in, struct gf_flock *ret_lock)
{
    const uint32_t type = xdr_get_u32 (in);
    const void *owner;
    size_t size;

    *ret_lock = (struct gf_flock){ .l_type = type == TYPE_READ    ? F_RDLCK
                                             : type == TYPE_WRITE ? F_WRLCK
                                                                  : F_UNLCK };
    ret_lock->l_whence = (short) xdr_get_u32 (in);
    ret_lock->l_start = (off_t) xdr_get_u64 (in);
    ret_lock->l_len = (off_t) xdr_get_u64 (in);
    ret_lock->l_pid = (pid_t) xdr_get_u32 (in);
    owner = xdr_get_opaque (in, OWNER_MAX, &size);
    if (owner)
        memcpy (&ret_lock->l_owner, owner, MIN (size, sizeof ret_lock->l_owner));
    ret_lock->l_owner = GUINT64_FROM_LE (ret_lock->l_owner);
}

/* Flags of open(2) of this processor, and those of the wire, which are the values of x86. */
static const struct {
    uint32_t ours, wire;
} wire_open_flags[] = {
    { O_CREAT, 0100 },       { O_EXCL, 0200 },         { O_NOCTTY, 0400 },
    { O_TRUNC, 01000 },      { O_APPEND, 02000 },      { O_NONBLOCK, 04000 },
    { O_DSYNC, 010000 },     { O_DIRECT, 040000 },     { O_DIRECTORY, 0200000 },
    { O_NOFOLLOW, 0400000 }, { O_NOATIME, 01000000 },
};

uint32_t
wire_of_open_flags (uint32_t flags)
{
    uint32_t wire = flags & O_ACCMODE;

    for (size_t i = 0; i < G_N_ELEMENTS (wire_open_flags); i++)
        if (flags & wire_open_flags[i].ours)
            wire |= wire_open_flags[i].wire;
    return wire;
}

uint32_t
wire_to_open_flags (uint32_t wire)
{
    uint32_t flags = wire & O_ACCMODE;

    for (size_t i = 0; i < G_N_ELEMENTS (wire_open_flags); i++)
        if (wire & wire_open_flags[i].wire)
            flags |= wire_open_flags[i].ours;
    return flags;
}

int
wire_errno (int32_t error)
{
    return error > 0 && error < 1024 ? error : EIO;
}

/* --- changes of attributes -------------------------------------------------------------------- */

#define CHANGES_ON_WIRE                                                                            \
    (IATT_MODE | IATT_UID | IATT_GID | IATT_ATIME | IATT_MTIME | IATT_CTIME)

struct wire_changes
wire_changes_of (const struct iatt *iatt, uint32_t valid)
{
    struct wire_changes changes = { *iatt, valid };
    const struct timespec now = clock_today ();

    if (iatt->ia_uid == (uint32_t) -1)
        changes.valid &= ~(uint32_t) IATT_UID;
    if (iatt->ia_gid == (uint32_t) -1)
        changes.valid &= ~(uint32_t) IATT_GID;
    if (valid & IATT_ATIME_NOW) {
        changes.iatt.ia_atime = now.tv_sec;
        changes.iatt.ia_atime_nsec = (uint32_t) now.tv_nsec;
        changes.valid |= IATT_ATIME;
    }
    if (valid & IATT_MTIME_NOW) {
        changes.iatt.ia_mtime = now.tv_sec;
        changes.iatt.ia_mtime_nsec = (uint32_t) now.tv_nsec;
        changes.valid |= IATT_MTIME;
    }
    changes.valid &= CHANGES_ON_WIRE;
    return changes;
}

void
wire_put_changes (struct xdr_out *out, const struct wire_changes *changes)
{
    wire_put_iatt (out, &changes->iatt);
    xdr_put_u32 (out, changes->valid);
}

void
wire_get_changes (struct xdr_in *in, struct wire_changes *ret_changes)
{
    wire_get_iatt (in, &ret_changes->iatt);
    ret_changes->valid = xdr_get_u32 (in);
}
