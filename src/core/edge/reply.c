/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/edge/reply.h"
#include "core/table/fops-rows.h"
#include "core/data/dict.h"
#include "core/data/dirent.h"
#include "core/data/fd.h"
#include "core/data/inode.h"
#include "core/data/iobuf.h"
#include "core/data/loc.h"

#include <errno.h>

#define DECLARE(kind, name) , C_##kind name
#define KEEP(kind, name) KEEP_##kind (reply, name)
#define DROP(kind, name) DROP_##kind (reply, name)

#define KEPT(fop)                                                                                  \
    void fop##_reply_keep (struct fop##_reply *reply, int32_t op_ret,                              \
                           int32_t op_errno FOP_RETS_##fop (DECLARE))                              \
    {                                                                                              \
        int r = 0;                                                                                 \
        *reply = (struct fop##_reply){ .op_ret = op_ret, .op_errno = op_errno };                   \
        FOP_RETS_##fop (KEEP)                                                                      \
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
    }
FOP_LIST (KEPT)
