/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The procedures whose rows of rpc/wire/wire.def have FILE, OPEN or NEW in the column "in the
 * brick". Macros generate a function from each such row. The function executes the operation on the
 * storage with the call's fields as arguments, and sets the reply's fields from the results. The
 * xdata of the call is not passed to the storage.
 */
#include "conform/brick/request.h"

#include <errno.h>
#include <linux/falloc.h>
#include <unistd.h>

/* --- from a call's fields to an operation's arguments ----------------------------------------- */

/* Each kind of field has a macro BRICK_TAKE_<kind>, which defines a variable with the name of the
 * operation's argument, and sets the variable from the call's field. */
#define BRICK_TAKE(kind_, name_) BRICK_TAKE_##kind_ (name_)
#define BRICK_TAKE_LOC(name_)                                                                      \
    g_autoptr (inode_t) inode = brick_inode (q, &call->name_);                                     \
    loc_t of_inode = { .inode = inode }, *const name_ = &of_inode;                                 \
    if (!inode)                                                                                    \
        return -ENOENT;
#define BRICK_TAKE_FD(name_)                                                                       \
    g_autoptr (fd_t) name_ = brick_fd (q, &call->name_, &r);                                       \
    if (!name_)                                                                                    \
        return r;
#define BRICK_TAKE_PARENT(name_)                                                                   \
    g_auto (brick_place_t) place =                                                                 \
        brick_place (q, &call->name_##_parent, call->name_##_name,                                 \
                     inode_new (q->brick->graph->itable));                                         \
    loc_t *const name_ = &place.loc;                                                               \
    if (!name_->parent)                                                                            \
        return -ESTALE;
#define BRICK_TAKE_NAME(name_) /* BRICK_TAKE_PARENT reads the name too */
#define BRICK_TAKE_SAME(name_) const __typeof__ (call->name_) name_ = call->name_;
#define BRICK_TAKE_U32 BRICK_TAKE_SAME
#define BRICK_TAKE_BOOL BRICK_TAKE_SAME
#define BRICK_TAKE_U64 BRICK_TAKE_SAME
#define BRICK_TAKE_START BRICK_TAKE_SAME
#define BRICK_TAKE_LENGTH BRICK_TAKE_SAME
#define BRICK_TAKE_TEXT BRICK_TAKE_SAME
#define BRICK_TAKE_PATH BRICK_TAKE_SAME
#define BRICK_TAKE_SOME_NAME BRICK_TAKE_SAME
#define BRICK_TAKE_DICT BRICK_TAKE_SAME
#define BRICK_TAKE_XDATA(name_) dict_t *const name_ = NULL;
#define BRICK_TAKE_NEW_XDATA BRICK_TAKE_XDATA
#define BRICK_TAKE_KEEP_SIZE(name_) const int32_t name_ = call->name_ ? FALLOC_FL_KEEP_SIZE : 0;
#define BRICK_TAKE_WHENCE(name_) const int32_t name_ = call->name_ ? SEEK_HOLE : SEEK_DATA;
#define BRICK_TAKE_CHANGES(name_)                                                                  \
    struct iatt changes = call->name_.iatt, *const name_ = &changes;                               \
    const uint32_t valid = call->name_.valid;

/* --- from an operation's results to a reply's fields ------------------------------------------ */

#define BRICK_TELL(kind_, name_) BRICK_TELL_##kind_ (name_)
#define BRICK_TELL_XDATA(name_)
#define BRICK_TELL_NO_IATT(name_)
#define BRICK_TELL_IATT(name_) reply->name_ = brick_iatt (q, &got.name_);
#define BRICK_TELL_DICT(name_) reply->name_ = dict_ref (got.name_);
#define BRICK_TELL_U64(name_) reply->name_ = (uint64_t) got.name_;
#define BRICK_TELL_PATH(name_) reply->name_ = g_strdup (got.name_);
#define BRICK_TELL_STATVFS(name_) reply->name_ = got.name_;

/* --- the function of a row -------------------------------------------------------------------- */

#define BRICK_ARGUMENT(kind_, name_) , (C_##kind_) name_

#define BRICK_ROW(op_, made_)                                                                      \
    int brick_do_##op_ (struct brick_request *q, const struct wire_##op_ *call,                    \
                        struct wire_##op_##_reply *reply)                                          \
    {                                                                                              \
        struct op_##_reply got = { 0 };                                                            \
        int r;                                                                                     \
                                                                                                   \
        WIRE_ARGS_##op_ (BRICK_TAKE)                                                               \
        r = sync_##op_ (q->client FOP_ARGS_##op_ (BRICK_ARGUMENT), &got);                          \
        made_;                                                                                     \
        WIRE_RETS_##op_ (BRICK_TELL)                                                               \
        op_##_reply_drop (&got);                                                                   \
        return r;                                                                                  \
    }

#define BRICK_ROW_FILE(op_) BRICK_ROW (op_, )
#define BRICK_ROW_OPEN(op_) BRICK_ROW (op_, )
#define BRICK_ROW_NEW(op_)                                                                         \
    BRICK_ROW (op_, if (r >= 0) brick_made (q, loc, got.inode, &got.buf, call->xdata))
#define BRICK_ROW_HAND(op_)
#define BRICK_ROW_NONE(op_)
#define BRICK_ROW_OF(name_, number_, text_, client_, brick_) BRICK_ROW_##brick_ (name_)
WIRE_LIST (BRICK_ROW_OF)

/* --- all procedures --------------------------------------------------------------------------- */

static struct wire_reply
brick_reply_head (int r)
{
    return (struct wire_reply){ .op_ret = r < 0 ? -1 : r, .op_errno = r < 0 ? -r : 0 };
}

/* Defines a function that reads a call, executes it, and writes its reply. The function does not
 * execute a malformed call; brick_serve then ends the whole program with an error. */
#define BRICK_SERVE_HAND(name_)                                                                    \
    static void brick_serve_##name_ (struct brick_request *q)                                      \
    {                                                                                              \
        struct wire_##name_##_reply reply = { 0 };                                                 \
        struct wire_##name_ call = { 0 };                                                          \
                                                                                                   \
        wire_get_call (&q->in, WIRE_##name_, &call);                                               \
        if (!q->in.failed)                                                                         \
            reply.head = brick_reply_head (brick_do_##name_ (q, &call, &reply));                   \
        wire_put_reply (&q->out, WIRE_##name_, &reply);                                            \
        wire_clear_call (WIRE_##name_, &call);                                                     \
        wire_clear_reply (WIRE_##name_, &reply);                                                   \
    }
#define BRICK_SERVE_FILE BRICK_SERVE_HAND
#define BRICK_SERVE_OPEN BRICK_SERVE_HAND
#define BRICK_SERVE_NEW BRICK_SERVE_HAND
#define BRICK_SERVE_NONE(name_)
#define BRICK_SERVE(name_, number_, text_, client_, brick_) BRICK_SERVE_##brick_ (name_)
WIRE_LIST (BRICK_SERVE)

#define BRICK_ENTRY_HAND(name_) [WIRE_##name_] = brick_serve_##name_,
#define BRICK_ENTRY_FILE BRICK_ENTRY_HAND
#define BRICK_ENTRY_OPEN BRICK_ENTRY_HAND
#define BRICK_ENTRY_NEW BRICK_ENTRY_HAND
#define BRICK_ENTRY_NONE(name_)
#define BRICK_ENTRY(name_, number_, text_, client_, brick_) BRICK_ENTRY_##brick_ (name_)
static void (*const brick_procedures[WIRE_MAX]) (struct brick_request *q) = {
    WIRE_LIST (BRICK_ENTRY)
};

bool
brick_serve_files (struct brick_request *q, uint32_t procedure)
{
    if (procedure >= WIRE_MAX || !brick_procedures[procedure])
        return false;
    brick_procedures[procedure] (q);
    return true;
}
