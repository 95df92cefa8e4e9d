/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The operations whose rows of rpc/wire/wire.def have FILE, OPEN, NAME, NEW or LINK in the column
 * "in the client". Macros generate two functions from each such row. The first is the operation: it
 * sets the call's fields from its arguments, and sends the call. The second receives the reply: it
 * answers the operation with the reply's fields.
 */
#include "../client.h"

#include <errno.h>
#include <linux/falloc.h>
#include <unistd.h>

/* --- from an operation's arguments to a call's fields ----------------------------------------- */

/* Each kind of field has a macro CLIENT_PUT_<kind>, which sets the field of `put` from the
 * operation's argument of the same name. If the protocol cannot express the argument, the macro
 * sets `error` to an errno. */
#define CLIENT_PUT(kind_, name_) CLIENT_PUT_##kind_ (name_)
#define CLIENT_PUT_LOC(name_) /* put by client_begin_file */
#define CLIENT_PUT_FD(name_)  /* put by client_begin_fd */
#define CLIENT_PUT_LINKED(name_) put.name_ = *loc_gfid (name_);
#define CLIENT_PUT_PARENT(name_) put.name_##_parent = name_->parent->gfid;
#define CLIENT_PUT_NAME(name_) put.name_##_name = name_->name;
#define CLIENT_PUT_U32(name_) put.name_ = (uint32_t) name_;
#define CLIENT_PUT_BOOL(name_) put.name_ = name_ ? 1 : 0;
#define CLIENT_PUT_U64(name_) put.name_ = (uint64_t) name_;
#define CLIENT_PUT_START(name_) put.name_ = (uint64_t) (range.offset = name_);
#define CLIENT_PUT_LENGTH(name_) put.name_ = range.size = name_;
#define CLIENT_PUT_WHENCE(name_) put.name_ = name_ == SEEK_HOLE ? 1 : 0;
#define CLIENT_PUT_TEXT(name_) put.name_ = name_;
#define CLIENT_PUT_PATH(name_) put.name_ = name_;
#define CLIENT_PUT_DICT(name_) put.name_ = name_;
#define CLIENT_PUT_XDATA(name_) put.name_ = name_;
#define CLIENT_PUT_NEW_XDATA(name_)                                                                \
    g_autoptr (dict_t) with_gfid = client_with_gfid (this, name_);                                 \
    put.name_ = with_gfid;
/* For a rename: the protocol has no flags of renameat2(2), so a rename with any flag fails with
 * EINVAL. */
#define CLIENT_PUT_NO_FLAGS(name_) error = name_ == 0 ? 0 : EINVAL;
/* For a fallocate: the procedure has no modes but 0 and FALLOC_FL_KEEP_SIZE, so an operation with
 * another mode fails. Discard and zerofill have procedures of their own. */
#define CLIENT_PUT_KEEP_SIZE(name_)                                                                \
    put.name_ = name_ & FALLOC_FL_KEEP_SIZE ? 1 : 0;                                               \
    error = name_ & ~FALLOC_FL_KEEP_SIZE ? EOPNOTSUPP : 0;
/* For setattr and fsetattr: a server ignores a new size in these calls, so an operation with a new
 * size fails with EOPNOTSUPP. A truncate changes the size. */
#define CLIENT_PUT_CHANGES(name_)                                                                  \
    put.name_ = wire_changes_of (name_, valid);                                                    \
    error = valid & IATT_SIZE ? EOPNOTSUPP : 0;

/* --- from a reply's fields to an operation's results ------------------------------------------ */

#define CLIENT_GIVE(kind_, name_) , CLIENT_GIVE_##kind_ (name_)
#define CLIENT_GIVE_IATT(name_) &got.name_
#define CLIENT_GIVE_STATVFS(name_) &got.name_
#define CLIENT_GIVE_DICT(name_) got.name_
#define CLIENT_GIVE_OFFSET(name_) (off_t) got.name_
#define CLIENT_GIVE_INODE(name_) name_ /* set by CLIENT_GET_NEW */

/* --- both functions of a row ------------------------------------------------------------------ */

#define CLIENT_ARGUMENT(kind_, name_) , C_##kind_ name_

/* Defines the two functions of a row: the operation, and the one that receives the reply. begin_:
 * an expression that makes the call, or is NULL after it has answered the frame. inode_: the inode
 * whose data the call reads or writes, or NULL. get_: an expression that reads the reply; it is
 * true on success, else it answers the frame with the error. */
#define CLIENT_ROW(op_, begin_, inode_, get_)                                                      \
    static void client_##op_##_reply (struct client_call *call, struct rpc_reply *reply)           \
    {                                                                                              \
        struct wire_##op_##_reply got = { 0 };                                                     \
        g_autoptr (inode_t) inode G_GNUC_UNUSED = NULL;                                            \
                                                                                                   \
        if (get_)                                                                                  \
            STACK_UNWIND (op_, call->frame, 0, 0 FOP_RETS_##op_ (CLIENT_GIVE));                    \
        wire_clear_reply (WIRE_##op_, &got);                                                       \
    }                                                                                              \
                                                                                                   \
    void client_##op_ (call_frame_t *frame, xlator_t *this FOP_ARGS_##op_ (CLIENT_ARGUMENT))       \
    {                                                                                              \
        const enum wire_procedure procedure = WIRE_##op_;                                          \
        client_reply_fn *const reply = client_##op_##_reply;                                       \
        struct client_range range = { .inode = inode_ };                                           \
        struct wire_##op_ put = { 0 };                                                             \
        int error = 0;                                                                             \
                                                                                                   \
        WIRE_ARGS_##op_ (CLIENT_PUT)                                                               \
        if (error)                                                                                 \
            frame_fail (frame, error);                                                             \
        else                                                                                       \
            client_ask (begin_, procedure, &put, &range);                                          \
    }

#define CLIENT_GET(op_) client_get (call, reply, WIRE_##op_, &got)
#define CLIENT_GET_NEW(op_) (CLIENT_GET (op_) && (inode = client_new_inode (call, &got.buf)))

#define CLIENT_ROW_FILE(op_)                                                                       \
    CLIENT_ROW (op_, client_begin_file (frame, this, loc, procedure, reply), loc->inode,           \
                CLIENT_GET (op_))
#define CLIENT_ROW_OPEN(op_)                                                                       \
    CLIENT_ROW (op_, client_begin_fd (frame, this, fd, procedure, reply), fd->inode,               \
                CLIENT_GET (op_))
#define CLIENT_ROW_NAME(op_)                                                                       \
    CLIENT_ROW (op_, client_call_begin (frame, this, procedure, reply), NULL, CLIENT_GET (op_))
#define CLIENT_ROW_NEW(op_)                                                                        \
    CLIENT_ROW (op_, client_begin_new (frame, this, loc, procedure, reply), NULL,                  \
                CLIENT_GET_NEW (op_))
#define CLIENT_ROW_LINK(op_)                                                                       \
    CLIENT_ROW (op_, client_begin_new (frame, this, oldloc, procedure, reply), NULL,               \
                CLIENT_GET_NEW (op_))
#define CLIENT_ROW_HAND(op_)
#define CLIENT_ROW_NONE(op_)

#define CLIENT_ROW_OF(name_, number_, text_, client_, brick_) CLIENT_ROW_##client_ (name_)
WIRE_LIST (CLIENT_ROW_OF)
