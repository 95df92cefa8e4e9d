/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of the program RPC_FILES (operations on files). rpc/wire/wire.def has a row for each
 * procedure. Each procedure that the brick has is executed by a function such as
 *
 *   int brick_do_stat (q, call, reply)     returns op_ret, or a negative errno
 *
 * The function reads the fields of the call and sets the fields of the reply; its caller frees both
 * afterwards. rows.c generates the functions of most rows. Functions in this header that return an
 * inode or an fd return it with a reference.
 */
#ifndef WINDLASS_CONFORM_BRICK_REQUEST_H
#define WINDLASS_CONFORM_BRICK_REQUEST_H

#include "conform/brick/brick.h"

#include "core/data/dict.h"
#include "core/data/loc.h"
#include "rpc/wire/wire.h"

#define BRICK_GROUPS_MAX 64

/* A call while the brick executes it. */
struct brick_request {
    struct brick *brick;
    struct brick_peer *peer;
    struct client *client; /* client of the storage, with the identity of the caller */
    struct xdr_in in;      /* reader of the bytes of the call: its fields, and behind them the data
                            * of a write */
    struct xdr_out out;    /* fields of the reply */
    struct xdr_out tail;   /* bytes that follow the reply's fields: the data of a read, or the
                            * entries of a directory */
    bool waits;            /* the call has to wait for a lock, so no reply is sent now */
    gid_t groups[BRICK_GROUPS_MAX];
};

/* In rows.c. Executes a call of the program RPC_FILES. Returns false if the brick has no such
 * procedure. */
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
/* Returns the inode of a file by its gfid in the call, or NULL if there is no such file. */
inode_t *brick_inode (struct brick_request *q, const gfid_t *wire);
/* Returns the open file that the call names by `wire`, with a reference. If there is no such open
 * file, returns NULL, and sets *ret_r to a negative errno. */
fd_t *brick_fd (struct brick_request *q, const struct wire_fd *wire, int *ret_r);
/* Keeps the file open for the connection. Returns the number by which later calls name it. */
uint64_t brick_keep_open (struct brick_request *q, fd_t *fd);
/* Returns the attributes `local`, which the storage gave, with the gfid that the file has in calls
 * and replies. The storage has another gfid for the file (gfids.c). */
struct iatt brick_iatt (struct brick_request *q, const struct iatt *local);

/* A name in a directory, as a loc whose references brick_place_clear drops. */
typedef struct brick_place {
    loc_t loc; /* loc.parent is NULL if there is no such directory */
} brick_place_t;

/* Returns the place of `name` in the directory with the gfid `parent`. inode: the inode for
 * loc.inode, or NULL; the caller's reference to it passes to the place. */
brick_place_t brick_place (struct brick_request *q, const gfid_t *parent, const char *name,
                           inode_t *inode);
void brick_place_clear (brick_place_t *place);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (brick_place_t, brick_place_clear)

/* In names.c. Called after the storage has made the name in loc: links the inode into the table of
 * inodes by that name, records the gfid that the client has sent in xdata for a new file, and sets
 * the extended attributes that xdata has for the file. */
void brick_made (struct brick_request *q, const loc_t *loc, inode_t *inode, const struct iatt *buf,
                 dict_t *xdata);

/* locks.c */
unsigned brick_locks_of_inode (const struct brick *brick, const gfid_t *gfid, const char *domain);
bool brick_name_is_locked (const struct brick *brick, const gfid_t *parent, const char *name);

/* In xattrs.c. brick_make_xattrs takes the extended attributes from the xdata of a call that made a
 * file, and sets them on that file. The other functions return a new dict for the xdata of the
 * reply. It has the attributes and counts that the keys in `asked`, the xdata of the call,
 * request. */
void brick_make_xattrs (struct brick_request *q, inode_t *inode, dict_t *xdata);
dict_t *brick_asked_xattrs (struct brick_request *q, inode_t *inode, dict_t *asked);
dict_t *brick_asked_of_lookup (struct brick_request *q, const struct lookup_reply *reply,
                               const loc_t *loc, dict_t *asked);
dict_t *brick_asked_of_write (struct brick_request *q, const inode_t *inode, bool appended,
                              dict_t *asked);

#endif
