/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Values on GlusterFS's wire: how each form of a value is put and got. The order of fields is a
 * fact of GlusterFS 10.3.
 *
 * The functions that get read bytes of a server, so each of them may be hostile: see rpc/xdr.h.
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

/* The number of no open file: the server opens the file by its gfid for the call. */
#define WIRE_ANONYMOUS (-2)

/* Attributes, and which of them to change: IATT_*. */
struct wire_changes {
    struct iatt iatt;
    uint32_t valid;
};

#define WIRE_NAME_MAX 255
#define WIRE_VALUE_MAX (1 << 20) /* bytes of an attribute's value */

void wire_put_gfid (struct xdr_out *out, const gfid_t *gfid);
gfid_t wire_get_gfid (struct xdr_in *in);

/* The inode number of a file is made of its gfid, as GlusterFS does, so that each brick has the
 * same. */
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

/* dict NULL: no dict, which differs from an empty one. A server stores an attribute unchanged only
 * if its value was set as bytes. wire_get_dict returns a new dict; NULL: the server sent none, an
 * empty one, or something else. */
void wire_put_dict (struct xdr_out *out, const dict_t *dict);
dict_t *wire_get_dict (struct xdr_in *in);

/* A lock with its owner. wire_lock_type returns the lock's type, which calls also have in a field
 * of its own. */
uint32_t wire_lock_type (const struct gf_flock *lock);
void wire_put_flock (struct xdr_out *out, const struct gf_flock *lock);
void wire_get_flock (struct xdr_in *in, struct gf_flock *ret_lock);

/* Flags of open(2): on the wire all processors have the numbers of x86. Flags that a server does
 * not know are left out. */
uint32_t wire_of_open_flags (uint32_t flags);
uint32_t wire_to_open_flags (uint32_t wire);

/* Returns an errno of the server as this system's: never 0, and EIO for an invalid one. */
int wire_errno (int32_t error);

#endif
