/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of the program of files. rpc/wire/wire.def has a row for each procedure, and each procedure
 * has a function here:
 *
 *   int brick_do_stat (q, call, reply)     op_ret, or a negative errno
 *
 * It reads the call's fields and sets the reply's; those are cleared afterwards. rows.c makes the
 * functions of most rows. A function that returns an inode or an fd returns it with a reference.
 */
#ifndef WINDLASS_CONFORM_BRICK_REQUEST_H
#define WINDLASS_CONFORM_BRICK_REQUEST_H

#include "conform/brick/brick.h"

#include "core/data/dict.h"
#include "core/data/loc.h"
#include "rpc/wire/wire.h"

#define BRICK_GROUPS_MAX 64

/* A call that is being done. */
struct brick_request {
    struct brick *brick;
    struct brick_peer *peer;
    struct client *client; /* makes the storage's operations, with the identity of the caller */
    struct xdr_in in;      /* the call; behind its fields, the data of a write */
    struct xdr_out out;    /* the reply */
    struct xdr_out tail;   /* bytes behind the reply's fields: data of a read, entries */
    bool waits;            /* the call waits for a lock, so it has no reply yet */
    gid_t groups[BRICK_GROUPS_MAX];
};

/* rows.c: does a call of the program of files. Returns false if there is no such procedure. */
bool brick_serve_files (struct brick_request *q, uint32_t procedure);

#define BRICK_DECLARE(name_, number_, text_, client_, brick_) BRICK_DECLARE_##brick_ (name_)
#define BRICK_DECLARE_HAND(name_)                                                                  \
    int brick_do_##name_ (struct brick_request *q, const struct wire_##name_ *call,                \
                          struct wire_##name_##_reply *reply);
#define BRICK_DECLARE_FILE BRICK_DECLARE_HAND
#define BRICK_DECLARE_OPEN BRICK_DECLARE_HAND
#define BRICK_DECLARE_NEW BRICK_DECLARE_HAND
#define BRICK_DECLARE_NONE(name_)
WIRE_LIST (BRICK_DECLARE)
#undef BRICK_DECLARE

/* request.c */
inode_t *brick_inode (struct brick_request *q, const gfid_t *wire); /* NULL: no such file */
/* Returns the open file that a call names, with a reference. If the file is not open, returns NULL,
 * with a negative errno in *ret_r. */
fd_t *brick_fd (struct brick_request *q, const struct wire_fd *wire, int *ret_r);
uint64_t brick_keep_open (struct brick_request *q, fd_t *fd); /* returns the open file's number */
struct iatt brick_iatt (struct brick_request *q, const struct iatt *local); /* for a reply */

/* A name in a directory. */
typedef struct brick_place {
    loc_t loc; /* parent NULL: there is no such directory */
} brick_place_t;

/* Finds the directory of a name. inode: inode of the name's file, or NULL; the place takes the
 * caller's reference. */
brick_place_t brick_place (struct brick_request *q, const gfid_t *parent, const char *name,
                           inode_t *inode);
void brick_place_clear (brick_place_t *place);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (brick_place_t, brick_place_clear)

/* names.c: to be called after the storage has given the name in loc to a file. Links the inode
 * under that name, gives a new file the gfid that the call chose, and sets the attributes in
 * xdata. */
void brick_made (struct brick_request *q, const loc_t *loc, inode_t *inode, const struct iatt *buf,
                 dict_t *xdata);

/* locks.c */
unsigned brick_locks_of_inode (const struct brick *brick, const gfid_t *gfid, const char *domain);
bool brick_name_is_locked (const struct brick *brick, const gfid_t *parent, const char *name);

/* xattrs.c. brick_make_xattrs sets the attributes in a call's xdata on the new file. The other
 * functions make a new dict for the reply's xdata, with the attributes and counts that the call's
 * xdata asked for. */
void brick_make_xattrs (struct brick_request *q, inode_t *inode, dict_t *xdata);
dict_t *brick_asked_xattrs (struct brick_request *q, inode_t *inode, dict_t *asked);
dict_t *brick_asked_of_lookup (struct brick_request *q, const struct lookup_reply *reply,
                               const loc_t *loc, dict_t *asked);
dict_t *brick_asked_of_write (struct brick_request *q, const inode_t *inode, bool appended,
                              dict_t *asked);

#endif
