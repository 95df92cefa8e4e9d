/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Puts each form of a value on GlusterFS's wire, and gets it from there. The order of the fields is
 * that of GlusterFS 10.3.
 *
 * wire_get_* read bytes that a server sent and that may be hostile: see rpc/xdr.h.
 */
#ifndef WINDLASS_RPC_WIRE_VALUES_H
#define WINDLASS_RPC_WIRE_VALUES_H

#include "core/base/gfid.h"
#include "core/data/dict.h"
#include "core/data/iatt.h"
#include "core/data/types.h"
#include "rpc/xdr.h"

#include <sys/statvfs.h>

/* An open file: its gfid, and the number that the server gave it for this connection. */
struct wire_fd {
    gfid_t gfid;
    int64_t number;
};

/* Value of wire_fd.number for a file that isn't open: the server opens the file by its gfid for
 * this call only. */
#define WIRE_ANONYMOUS (-2)

/* Attributes, and which of them to change: IATT_*. */
struct wire_changes {
    struct iatt iatt;
    uint32_t valid;
};

#define WIRE_NAME_MAX 255
#define WIRE_VALUE_MAX (1 << 20) /* most bytes of the value of an extended attribute */

void wire_put_gfid (struct xdr_out *out, const gfid_t *gfid);
gfid_t wire_get_gfid (struct xdr_in *in);

/* Returns the inode number of a file. As in GlusterFS, it is made from the gfid, so that it is the
 * same whichever brick the file is on. */
uint64_t wire_ino_of_gfid (const gfid_t *gfid);

void wire_put_iatt (struct xdr_out *out, const struct iatt *iatt);
void wire_get_iatt (struct xdr_in *in, struct iatt *ret_iatt);

/* Returns the changes of a setattr for a server. A server ignores IATT_ATIME_NOW and
 * IATT_MTIME_NOW, so these become the present time. It would change an owner to -1, so -1 becomes
 * no change. */
struct wire_changes wire_changes_of (const struct iatt *iatt, uint32_t valid);
void wire_put_changes (struct xdr_out *out, const struct wire_changes *changes);
void wire_get_changes (struct xdr_in *in, struct wire_changes *ret_changes);

void wire_put_statvfs (struct xdr_out *out, const struct statvfs *buf);
void wire_get_statvfs (struct xdr_in *in, struct statvfs *ret_buf);

/* wire_put_dict writes a dict. dict NULL: it writes that there is no dict, which differs from an
 * empty dict. Values of extended attributes must be set as bytes, because a server changes values
 * of other types before it stores them. wire_get_dict returns a new dict, or NULL if the bytes
 * contain no dict or an empty one, or are invalid. */
void wire_put_dict (struct xdr_out *out, const dict_t *dict);
dict_t *wire_get_dict (struct xdr_in *in);

/* A lock with its owner. wire_lock_type returns the lock's type, which calls also have in a field
 * of its own. */
uint32_t wire_lock_type (const struct gf_flock *lock);
void wire_put_flock (struct xdr_out *out, const struct gf_flock *lock);
void wire_get_flock (struct xdr_in *in, struct gf_flock *ret_lock);

/* Convert flags of open(2) to and from those of the wire, which are the values of x86 on every
 * processor. Flags that the wire doesn't have are left out. */
uint32_t wire_of_open_flags (uint32_t flags);
uint32_t wire_to_open_flags (uint32_t wire);

/* Returns this system's errno for an errno from the server: never 0, and EIO for an invalid one. */
int wire_errno (int32_t error);

#endif
