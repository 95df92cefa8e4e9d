/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An operation's answer, kept beyond the callback that it was lent to. */
#ifndef WINDLASS_CORE_EDGE_REPLY_H
#define WINDLASS_CORE_EDGE_REPLY_H

#include "core/data/iatt.h"
#include "core/table/fops.h"

#include <sys/statvfs.h>

/* struct lookup_reply { op_ret, op_errno, inode, buf, ... } */
#define REPLY(name)                                                                                \
    struct name##_reply {                                                                          \
        int32_t op_ret, op_errno;
#define RET(kind, name) K_##kind name;
#define END(name)                                                                                  \
    }                                                                                              \
    ;
#include "fops.def"

/* lookup_reply_keep (&reply, op_ret, op_errno, inode, ...) keeps an answer: with references, or as
 * copies. Without memory the answer kept is a failure, ENOMEM. lookup_reply_drop releases it; it
 * also takes a reply that is all zeros. */
#define REPLY(name)                                                                                \
    void name##_reply_drop (struct name##_reply *reply);                                           \
    void name##_reply_keep (struct name##_reply *ret_reply, int32_t op_ret, int32_t op_errno
#define RET(kind, name) , C_##kind name
#define END(name) );
#include "fops.def"

#endif
