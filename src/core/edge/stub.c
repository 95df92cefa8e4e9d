/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/edge/stub.h"
#include "core/base/audit.h"
#include "core/table/fops-rows.h"
#include "core/edge/reply.h"
#include "core/edge/stack.h"
#include "core/data/dict.h"
#include "core/data/dirent.h"
#include "core/data/iobuf.h"
#include "core/data/loc.h"

#include <fcntl.h>
#include <sys/file.h>

struct call_stub {
    call_frame_t *frame;
    call_stack_t *root; /* of the frame, which another request may use before the stub is freed */
    enum fop op;
    ret_fn_t fn;
    void (*resume) (call_stub_t *stub);
    void (*drop) (call_stub_t *stub);
    void *args; /* struct FOP_args */
    bool resumed;
};

/* A stub is made, or is resumed: by is 1 or -1. The keeper is right as long as one thread at a time
 * sets calls of a request aside; else a pause waits for the request, although it need not. */
static void
stub_aside (call_stub_t *stub, int by)
{
    call_stack_t *root = stub->root;
    const unsigned before = __atomic_fetch_add (&root->aside, (unsigned) by, __ATOMIC_ACQ_REL);

    if (by > 0 && before == 0)
        __atomic_store_n (&root->keeper, stub->frame->this, __ATOMIC_RELEASE);
    else if (by > 0 && __atomic_load_n (&root->keeper, __ATOMIC_RELAXED) != stub->frame->this)
        __atomic_store_n (&root->keeper, NULL, __ATOMIC_RELEASE);
    if (by > 0)
        stack_has_ended ();
}

static call_stub_t *
stub_new (call_frame_t *frame, enum fop op, ret_fn_t fn, size_t args_size)
{
    call_stub_t *stub = g_malloc0 (sizeof *stub + args_size);

    stub->frame = frame;
    stub->root = frame->root;
    stub->op = op;
    stub->fn = fn;
    stub->args = stub + 1;
    AUDIT (STUB, stub, 1);
    stack_keep (stub->root, 1);
    stub_aside (stub, 1);
    return stub;
}

#define DECLARE(kind, name) , C_##kind name
#define FIELD(kind, name) K_##kind name;
#define KEEP(kind, name) KEEP_##kind (args, name)
#define DROP(kind, name) DROP_##kind (args, name)
#define LEND(kind, name) , LEND_##kind (args, name)

#define STUB(fop)                                                                                  \
    struct fop##_args {                                                                            \
        FOP_ARGS_##fop (FIELD)                                                                     \
    };                                                                                             \
                                                                                                   \
    static void fop##_drop (call_stub_t *stub)                                                     \
    {                                                                                              \
        struct fop##_args *args = stub->args;                                                      \
        FOP_ARGS_##fop (DROP)                                                                      \
    }                                                                                              \
                                                                                                   \
    static void fop##_resume (call_stub_t *stub)                                                   \
    {                                                                                              \
        struct fop##_args *args = stub->args;                                                      \
        ((fop##_fop *) stub->fn) (stub->frame, stub->frame->this FOP_ARGS_##fop (LEND));           \
    }                                                                                              \
                                                                                                   \
    call_stub_t *fop_##fop##_stub (call_frame_t *frame, fop##_fop *fn FOP_ARGS_##fop (DECLARE))    \
    {                                                                                              \
        call_stub_t *stub =                                                                        \
            stub_new (frame, FOP_##fop, (ret_fn_t) fn, sizeof (struct fop##_args));                \
        struct fop##_args *args = stub->args;                                                      \
        int r = 0;                                                                                 \
        stub->resume = fop##_resume;                                                               \
        stub->drop = fop##_drop;                                                                   \
        FOP_ARGS_##fop (KEEP)                                                                      \
        if (r < 0)                                                                                 \
            g_clear_pointer (&stub, call_stub_destroy);                                            \
        return stub;                                                                               \
    }
FOP_LIST (STUB)

void
call_resume (call_stub_t *stub)
{
    stack_taken (stub->frame->root);
    stub->resumed = true;
    stub_aside (stub, -1);
    stub->resume (stub);
    call_stub_destroy (stub);
}

void
call_stub_destroy (call_stub_t *stub)
{
    call_stack_t *root = stub->root;

    if (!stub->resumed)
        stub_aside (stub, -1);
    stub->drop (stub);
    AUDIT (STUB, stub, -1);
    g_free (stub);
    stack_keep (root, -1);
}

void
call_resume_or_fail (call_stub_t *stub, int op_errno)
{
    call_frame_t *frame = stub->frame;

    if (op_errno == 0) {
        call_resume (stub);
        return;
    }
    stack_taken (frame->root);
    call_stub_destroy (stub);
    frame_fail (frame, op_errno);
}

call_frame_t *
call_stub_frame (const call_stub_t *stub)
{
    return stub->frame;
}

bool
call_stub_is_owed (const call_stub_t *stub)
{
    switch (stub->op) {
    case FOP_flush: case FOP_setattr: case FOP_fsetattr:
        return true;
    case FOP_lk:
        return ((const struct lk_args *) stub->args)->lock.l_type == F_UNLCK;
    case FOP_flock:
        return ((const struct flock_args *) stub->args)->operation & LOCK_UN;
    default:
        return false;
    }
}

enum fop
call_stub_op (const call_stub_t *stub)
{
    return stub->op;
}
