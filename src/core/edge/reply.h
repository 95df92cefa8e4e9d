/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An operation's answer, kept beyond the callback that it was lent to. */
#ifndef WINDLASS_CORE_EDGE_REPLY_H
#define WINDLASS_CORE_EDGE_REPLY_H

#include "core/data/iatt.h"
#include "core/table/fops.h"

#include <sys/statvfs.h>

/* struct lookup_reply { op_ret, op_errno, inode, buf, ... }. Bit i of `unset`: the i-th result was
 * NULL or 0. */
#define REPLY(name)                                                                                \
    struct name##_reply {                                                                          \
        int32_t op_ret, op_errno;                                                                  \
        uint32_t unset;
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

/* Returns whether two answers to readv have the same bytes, or have both failed with one error. */
bool readv_reply_same (const struct readv_reply *one, const struct readv_reply *other);

/* Keep and drop for a reply of any operation, by its number: the size of its struct, the drop, the
 * fields of struct answer (core/edge/any-fop.h) that have a result, and an answer to frame. Results
 * are lent from the reply; those that were NULL are NULL again. */
struct answer;
struct call_site;
size_t reply_size (enum fop op);
void reply_drop (enum fop op, void *reply);
void reply_fields (enum fop op, void *reply, struct answer *ret_answer);
void reply_unwind (enum fop op, void *reply, call_frame_t *frame, const struct call_site *site);

#endif
