/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends each change to the first child, then to the second, and returns the first child's answer.
 * All other operations except lookups and opens go to the first child only. */
#include "xlator.h"

struct both_local {
    call_stub_t *second; /* the call once more */
    bool again;
    struct answer_stub *answer; /* the first child's answer */
};

static void
both_any_fop (const struct call *call)
{
    struct both_local *local = call->frame->local;

    if (local && local->again) {
        call_wind (call, call->this->children->next->xlator, local);
        return;
    }
    local = frame_local_new (call->frame, sizeof *local);
    local->second = call_keep (call);
    call_wind (call, FIRST_CHILD (call->this), NULL);
}

static void
both_any_fop_cbk (const struct answer *answer)
{
    struct both_local *local = answer->frame->local;

    if (answer->cookie) {
        answer_resume (local->answer);
        return;
    }
    local->answer = answer_keep (answer);
    local->again = true;
    call_resume (local->second);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/both",
    .about = "has two children do the same",
    .children = { .min = 2, .max = 2 },
    .touches = TOUCHES_NOTHING,
    .any_fop = both_any_fop,
    .any_fop_ops = OPSET_OF (FOP_lookup) | OPSET_OF (FOP_open) | OPSET_OF (FOP_create)
               | OPSET_OF (FOP_mknod) | OPSET_OF (FOP_mkdir) | OPSET_OF (FOP_symlink)
               | OPSET_OF (FOP_link) | OPSET_OF (FOP_unlink) | OPSET_OF (FOP_rmdir)
               | OPSET_OF (FOP_rename) | OPSET_OF (FOP_truncate) | OPSET_OF (FOP_ftruncate)
               | OPSET_OF (FOP_writev) | OPSET_OF (FOP_fallocate) | OPSET_OF (FOP_setattr)
               | OPSET_OF (FOP_fsetattr),
    .any_fop_cbk = both_any_fop_cbk,
};
