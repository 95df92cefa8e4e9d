/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values of operations on the wire: program 1298437, version 400. Numbers of procedures and the
 * order of fields are facts of GlusterFS 10.3. */
#ifndef WINDLASS_PROTOCOL_CLIENT_WIRE_H
#define WINDLASS_PROTOCOL_CLIENT_WIRE_H

#include "rpc/xdr.h"
#include "xlator.h"

#include <sys/statvfs.h>

#define WIRE_VERSION 400

enum procedure {
    WIRE_STAT = 1,
    WIRE_READLINK = 2,
    WIRE_MKNOD = 3,
    WIRE_MKDIR = 4,
    WIRE_UNLINK = 5,
    WIRE_RMDIR = 6,
    WIRE_SYMLINK = 7,
    WIRE_RENAME = 8,
    WIRE_LINK = 9,
    WIRE_TRUNCATE = 10,
    WIRE_OPEN = 11,
    WIRE_READ = 12,
    WIRE_WRITE = 13,
    WIRE_STATFS = 14,
    WIRE_FLUSH = 15,
    WIRE_FSYNC = 16,
    WIRE_SETXATTR = 17,
    WIRE_GETXATTR = 18,
    WIRE_REMOVEXATTR = 19,
    WIRE_OPENDIR = 20,
    WIRE_FSYNCDIR = 21,
    WIRE_ACCESS = 22,
    WIRE_CREATE = 23,
    WIRE_FTRUNCATE = 24,
    WIRE_FSTAT = 25,
    WIRE_LK = 26,
    WIRE_LOOKUP = 27,
    WIRE_INODELK = 29,
    WIRE_FINODELK = 30,
    WIRE_ENTRYLK = 31,
    WIRE_FENTRYLK = 32,
    WIRE_XATTROP = 33,
    WIRE_FXATTROP = 34,
    WIRE_FGETXATTR = 35,
    WIRE_FSETXATTR = 36,
    WIRE_SETATTR = 38,
    WIRE_FSETATTR = 39,
    WIRE_READDIRP = 40,
    WIRE_RELEASE = 41,
    WIRE_RELEASEDIR = 42,
    WIRE_FREMOVEXATTR = 43,
    WIRE_FALLOCATE = 44,
    WIRE_DISCARD = 45,
    WIRE_ZEROFILL = 46,
    WIRE_SEEK = 48,
    WIRE_COPY_FILE_RANGE = 56,
};

const char *wire_procedure_name (enum procedure procedure); /* "WRITE" */

/* The number of no open file: the server opens the file by its gfid for the call. */
#define WIRE_ANONYMOUS (-2)

#define WIRE_NAME_MAX 255
#define WIRE_VALUE_MAX (1 << 20) /* of an attribute, or the target of a link */

void put_gfid (struct xdr_out *out, const gfid_t *gfid);

/* Attributes and which of them to change (IATT_*): the arguments of setattr. */
void put_changes (struct xdr_out *out, const struct iatt *iatt, uint32_t valid);

/* put_dict (out, NULL): no dict. A server stores an attribute unchanged only if its value was set
 * as bytes. */
void put_dict (struct xdr_out *out, const dict_t *dict);
void put_no_dict (struct xdr_out *out);

/* What a server sends. */
void put_iatt (struct xdr_out *out, const struct iatt *iatt);
void put_statvfs (struct xdr_out *out, const struct statvfs *buf);

/* Attributes. The inode's number is made of the gfid, as GlusterFS does, so that it is the same on
 * each brick. ret_iatt may be NULL: skips them. */
void get_iatt (struct xdr_in *in, struct iatt *ret_iatt);

/* The inode number of a file: the same on each brick. */
uint64_t ino_of_gfid (const gfid_t *gfid);

/* Returns a dict, or NULL if there is none or the server sent what is none. */
dict_t *get_dict (struct xdr_in *in);
void get_statvfs (struct xdr_in *in, struct statvfs *ret_buf);

void put_lock_type (struct xdr_out *out, const struct gf_flock *lock);
void put_flock (struct xdr_out *out, const struct gf_flock *lock, const void *owner,
                size_t owner_size);
void get_flock (struct xdr_in *in, struct gf_flock *ret_lock);

/* Flags of open(2), without those that the server does not know. */
uint32_t wire_open_flags (uint32_t flags);
uint32_t open_flags_of_wire (uint32_t wire);

/* Returns an errno of the server as ours: never 0, and EIO for what is none. */
int wire_errno (int32_t error);

#endif
