/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/edge/reply.h"
#include "core/table/fops-rows.h"
#include "core/data/dict.h"
#include "core/data/dirent.h"
#include "core/data/fd.h"
#include "core/data/inode.h"
#include "core/data/iobuf.h"
#include "core/data/loc.h"
#include "core/edge/any-fop.h"
#include "core/edge/call-fields.h"
#include "core/edge/frame.h"

#include <errno.h>

#define DECLARE(kind, name) , C_##kind name
#define KEEP(kind, name) KEEP_##kind (reply, name)
#define DROP(kind, name) DROP_##kind (reply, name)
#define NOTE_UNSET(kind, name) reply->unset |= name ? 0 : bit; bit <<= 1;
#define LEND(kind, name)                                                                           \
    C_##kind name = reply->unset & bit ? (C_##kind) 0 : LEND_##kind (reply, name);                 \
    (void) name; bit <<= 1;
#define FIELD(kind, name) GET_##kind##_##name (answer)
#define NAME(kind, name) , name
#define UNWIND(...) STACK_UNWIND_AT (__VA_ARGS__)

#define KEPT(fop)                                                                                  \
    void fop##_reply_keep (struct fop##_reply *reply, int32_t op_ret,                              \
                           int32_t op_errno FOP_RETS_##fop (DECLARE))                              \
    {                                                                                              \
        uint32_t bit = 1;                                                                          \
        int r = 0;                                                                                 \
        *reply = (struct fop##_reply){ .op_ret = op_ret, .op_errno = op_errno };                   \
        FOP_RETS_##fop (KEEP)                                                                      \
        FOP_RETS_##fop (NOTE_UNSET)                                                                \
        if (r < 0) {                                                                               \
            reply->op_ret = -1;                                                                    \
            reply->op_errno = -r;                                                                  \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    void fop##_reply_drop (struct fop##_reply *reply)                                              \
    {                                                                                              \
        FOP_RETS_##fop (DROP)                                                                      \
        *reply = (struct fop##_reply){ 0 };                                                        \
    }                                                                                              \
                                                                                                   \
    static void fop##_reply_fields (struct fop##_reply *reply, struct answer *answer)              \
    {                                                                                              \
        uint32_t bit = 1;                                                                          \
        FOP_RETS_##fop (LEND)                                                                      \
        FOP_RETS_##fop (FIELD)                                                                     \
    }                                                                                              \
                                                                                                   \
    static void fop##_reply_unwind (struct fop##_reply *reply, call_frame_t *frame,                \
                                    const struct call_site *site)                                  \
    {                                                                                              \
        uint32_t bit = 1;                                                                          \
        FOP_RETS_##fop (LEND)                                                                      \
        UNWIND (fop, frame, site, reply->op_ret, reply->op_errno FOP_RETS_##fop (NAME));           \
    }
FOP_LIST (KEPT)

bool
readv_reply_same (const struct readv_reply *one, const struct readv_reply *other)
{
    g_autofree char *bytes = NULL, *others = NULL;

    if (one->op_ret != other->op_ret)
        return false;
    if (one->op_ret < 0)
        return one->op_errno == other->op_errno;
    bytes = g_malloc ((gsize) one->op_ret);
    others = g_malloc ((gsize) other->op_ret);
    iov_unload (bytes, (size_t) one->op_ret, one->vector, one->count);
    iov_unload (others, (size_t) other->op_ret, other->vector, other->count);
    return memcmp (bytes, others, (size_t) one->op_ret) == 0;
}

/* --- by the operation's number ---------------------------------------------------------------- */

#define SIZE(fop) [FOP_##fop] = sizeof (struct fop##_reply),
static const size_t reply_sizes[FOP_MAX] = { FOP_LIST (SIZE) };

size_t
reply_size (enum fop op)
{
    return reply_sizes[op];
}

void
reply_drop (enum fop op, void *reply)
{
    switch (op) {
#define DROP_OF(fop) case FOP_##fop: fop##_reply_drop (reply); break;
        FOP_LIST (DROP_OF)
    default:
        break;
    }
}

void
reply_fields (enum fop op, void *reply, struct answer *ret_answer)
{
    switch (op) {
#define FIELDS_OF(fop) case FOP_##fop: fop##_reply_fields (reply, ret_answer); break;
        FOP_LIST (FIELDS_OF)
    default:
        break;
    }
}

void
reply_unwind (enum fop op, void *reply, call_frame_t *frame, const struct call_site *site)
{
    switch (op) {
#define UNWIND_OF(fop) case FOP_##fop: fop##_reply_unwind (reply, frame, site); break;
        FOP_LIST (UNWIND_OF)
    default:
        break;
    }
}
