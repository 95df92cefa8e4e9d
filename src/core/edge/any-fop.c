/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Connects the typed edge with translators that treat all operations alike. For each operation: a
 * fop and a callback that fill in struct call and struct answer, and functions that wind and unwind
 * from these structs.
 */
#include "core/edge/any-fop.h"
#include "core/table/fops-rows.h"
#include "core/edge/frame.h"
#include "core/data/dict.h"
#include "core/data/dirent.h"
#include "core/data/iobuf.h"
#include "core/data/loc.h"
#include "core/table/print-values.h"
#include "core/edge/call-fields.h"
#include "core/edge/reply.h"
#include "core/edge/stub.h"

#include <errno.h>
#include <fnmatch.h>
#include <stddef.h>

/* --- functions for each operation ------------------------------------------------------------- */

struct answer_stub {
    call_frame_t *frame;
    call_stack_t *root; /* of the frame, which another request may use before the stub is freed */
    enum fop op;
    void *reply; /* struct FOP_reply */
};

struct any_fop {
    ret_fn_t cbk; /* any_fop_FOP_cbk */
    void (*pass) (const struct call *call);
    void (*wind) (const struct call *call, xlator_t *child, ret_fn_t cbk, void *cookie,
                  const struct call_site *site);
    call_stub_t *(*keep) (const struct call *call, bool pass);
    void (*each) (const struct call *call, value_seen *see, void *data);
    void (*pass_answer) (const struct answer *answer, const struct call_site *site);
    int (*answer_keep) (const struct answer *answer, void *reply);
    void (*answer_each) (const struct answer *answer, value_seen *see, void *data);
    size_t args_size, xdata_at; /* of struct FOP_call */
};

#define DECLARE(kind, name) , C_##kind name
#define NAME(kind, name) , name
#define FIELD(kind, name) .name = name,
#define SEE(kind, name) SEE_##kind##_##name (&call)
#define GET(kind, name) GET_##kind##_##name (&answer)
#define OF_ARGS(kind, name) , args->name
#define ABOUT(kind, name) ABOUT_##kind (name)
#define OF_RETS(kind, name) , rets->name
#define SHOW_ARG(kind, name) see (KIND_##kind, #name, &args->name, data);
#define SHOW_RET(kind, name) see (KIND_##kind, #name, &rets->name, data);

/* What a call is about: its inodes, and the size of its data. */
struct call_about {
    const loc_t *locs[2];
    const fd_t *fds[2];
    unsigned n_locs, n_fds;
    bool has_vector; /* of a writev; false: size counts */
    const struct iovec *vector;
    int32_t count;
    size_t size;
};

#define ABOUT_LOC(name) about.locs[about.n_locs++] = name;
#define ABOUT_FD(name) about.fds[about.n_fds++] = name;
#define ABOUT_BYTES(name)
#define ABOUT_COUNT(name) about.has_vector = true, about.vector = vector, about.count = name;
#define ABOUT_DEV(name)
#define ABOUT_DICT(name)
#define ABOUT_FLAGS(name)
#define ABOUT_IATT(name)
#define ABOUT_INT(name)
#define ABOUT_IOBREF(name)
#define ABOUT_LOCK(name)
#define ABOUT_MODE(name)
#define ABOUT_NAME(name)
#define ABOUT_OFFSET(name)
#define ABOUT_SIZE(name) SEE_SIZE_##name (&about)
#define ABOUT_VECTOR(name)

#define MARK_OF(mark_, field_) __atomic_load_n (&(mark_)->field_, __ATOMIC_ACQUIRE)

/* Returns whether the caller's user or group, or the size, is beyond what any_fop has to see. Each
 * limit is loaded where it is compared, and a function would have to be called for the length of
 * several buffers, which is left to any_fop: so all fits registers that need not be saved. */
static inline __attribute__ ((always_inline)) bool
mark_excludes (const struct any_fop_mark *mark, const call_frame_t *frame,
               const struct call_about *about)
{
    const uid_t uid = frame->root->uid;
    uint64_t size = about->size;
    gid_t gid;

    if (uid < MARK_OF (mark, uid_first) || uid > MARK_OF (mark, uid_last))
        return true;
    gid = frame->root->gid;
    if (gid < MARK_OF (mark, gid_first) || gid > MARK_OF (mark, gid_last))
        return true;
    if (about->has_vector) {
        if (about->count != 1)
            return false;
        size = about->vector->iov_len;
    }
    return size < MARK_OF (mark, size_first) || size > MARK_OF (mark, size_last);
}

/* Returns whether an inode's mark lets the operation pass. */
static inline __attribute__ ((always_inline)) bool
mark_passes (xlator_t *this, inode_t *inode, const call_frame_t *frame, enum fop op,
             const struct call_about *about, bool by_name)
{
    const struct any_fop_mark *mark = inode_ctx_quickly (inode, this->inode_slot);
    uint64_t time;
    opset_t ops;

    if (!mark)
        return false;
    time = __atomic_load_n (&mark->time, __ATOMIC_ACQUIRE);
    ops = __atomic_load_n (by_name ? &mark->names : &mark->ops, __ATOMIC_ACQUIRE);
    return names_are_of (inode, time)
        && (!opset_has (ops, op) || mark_excludes (mark, frame, about))
        && __atomic_load_n (&mark->time, __ATOMIC_RELAXED) == time;
}

/* The compiler makes of this the few loads and comparisons that the operation needs. */
static inline __attribute__ ((always_inline)) bool
call_is_marked (xlator_t *this, const call_frame_t *frame, enum fop op,
                const struct call_about *about)
{
    const loc_t *loc = about->locs[0];
    const fd_t *fd = about->fds[0];

    if (about->n_locs > 1 || about->n_fds > 1)
        return false;
    if (about->n_locs == 0)
        return about->n_fds == 1 && mark_passes (this, fd->inode, frame, op, about, false);
    if (loc->name)
        return loc->parent && mark_passes (this, loc->parent, frame, op, about, true);
    return loc->inode && mark_passes (this, loc->inode, frame, op, about, false);
}

/* Expand the arguments before the edge's macros count them. */
#define WIND(...) STACK_WIND_AT (__VA_ARGS__)
#define TAIL(...) STACK_WIND_TAIL (__VA_ARGS__)
#define UNWIND(...) STACK_UNWIND_AT (__VA_ARGS__)

/* Not inline: the struct call would make marked_FOP move its arguments before it looks at the mark:
 * 6 instructions of 50. */
#define DOWN(fop)                                                                                  \
    void __attribute__ ((noinline))                                                                \
    any_fop_##fop (call_frame_t *frame, xlator_t *this FOP_ARGS_##fop (DECLARE))                   \
    {                                                                                              \
        const struct fop##_call args = { FOP_ARGS_##fop (FIELD) };                                 \
        struct call call = { .op = FOP_##fop, .frame = frame, .this = this, .args = &args };       \
        FOP_ARGS_##fop (SEE)                                                                       \
        this->api->any_fop (&call);                                                                \
    }                                                                                              \
    static void passed_##fop (call_frame_t *frame, xlator_t *this FOP_ARGS_##fop (DECLARE))        \
    {                                                                                              \
        TAIL (frame, FIRST_CHILD (this), fop FOP_ARGS_##fop (NAME));                               \
    }                                                                                              \
    static void pass_##fop (const struct call *call)                                               \
    {                                                                                              \
        const struct fop##_call *args = call->args;                                                \
        passed_##fop (call->frame, call->this FOP_ARGS_##fop (OF_ARGS));                           \
    }                                                                                              \
    static void wind_##fop (const struct call *call, xlator_t *child, ret_fn_t cbk, void *cookie,  \
                            const struct call_site *site)                                          \
    {                                                                                              \
        const struct fop##_call *args = call->args;                                                \
        WIND (call->frame, (fop##_cbk *) cbk, cookie, site, child, fop FOP_ARGS_##fop (OF_ARGS));  \
    }                                                                                              \
    static call_stub_t *keep_##fop (const struct call *call, bool pass)                            \
    {                                                                                              \
        const struct fop##_call *args = call->args;                                                \
        return fop_##fop##_stub (call->frame, pass ? passed_##fop : any_fop_##fop                  \
                                 FOP_ARGS_##fop (OF_ARGS));                                        \
    }                                                                                              \
    static void each_##fop (const struct call *call, value_seen *see, void *data)                  \
    {                                                                                              \
        const struct fop##_call *args = call->args;                                                \
        FOP_ARGS_##fop (SHOW_ARG)                                                                 \
    }
FOP_LIST (DOWN)

#define MARKED(fop)                                                                                \
    void marked_##fop (call_frame_t *frame, xlator_t *this FOP_ARGS_##fop (DECLARE))               \
    {                                                                                              \
        struct call_about about = { 0 };                                                           \
        FOP_ARGS_##fop (ABOUT)                                                                     \
        if (call_is_marked (this, frame, FOP_##fop, &about))                                       \
            TAIL (frame, FIRST_CHILD (this), fop FOP_ARGS_##fop (NAME));                           \
        else                                                                                       \
            any_fop_##fop (frame, this FOP_ARGS_##fop (NAME));                                     \
    }
FOP_LIST (MARKED)

#define UP(fop)                                                                                    \
    static void any_fop_##fop##_cbk (call_frame_t *frame, void *cookie, xlator_t *this,            \
                                   int32_t op_ret, int32_t op_errno FOP_RETS_##fop (DECLARE))      \
    {                                                                                              \
        const struct fop##_answer rets = { FOP_RETS_##fop (FIELD) };                               \
        struct answer answer = { .op = FOP_##fop, .frame = frame, .cookie = cookie, .this = this,  \
                                 .op_ret = op_ret, .op_errno = op_errno, .rets = &rets };          \
        FOP_RETS_##fop (GET)                                                                       \
        this->api->any_fop_cbk (&answer);                                                          \
    }                                                                                              \
    static void answer_pass_##fop (const struct answer *answer, const struct call_site *site)      \
    {                                                                                              \
        const struct fop##_answer *rets = answer->rets;                                            \
        UNWIND (fop, answer->frame, site, answer->op_ret,                                          \
                answer->op_errno FOP_RETS_##fop (OF_RETS));                                        \
    }                                                                                              \
    static int answer_keep_##fop (const struct answer *answer, void *to)                           \
    {                                                                                              \
        const struct fop##_answer *rets = answer->rets;                                            \
        struct fop##_reply *reply = to;                                                            \
        fop##_reply_keep (reply, answer->op_ret, answer->op_errno FOP_RETS_##fop (OF_RETS));       \
        return reply->op_ret == answer->op_ret ? 0 : -ENOMEM;                                      \
    }                                                                                              \
    static void answer_each_##fop (const struct answer *answer, value_seen *see, void *data)       \
    {                                                                                              \
        const struct fop##_answer *rets = answer->rets;                                            \
        FOP_RETS_##fop (SHOW_RET)                                                                 \
    }
FOP_LIST (UP)

#define ROW(fop)                                                                                   \
    [FOP_##fop] = { (ret_fn_t) any_fop_##fop##_cbk, pass_##fop, wind_##fop, keep_##fop, each_##fop,\
                    answer_pass_##fop, answer_keep_##fop, answer_each_##fop,                       \
                    sizeof (struct fop##_call), offsetof (struct fop##_call, xdata) },
static const struct any_fop ops[FOP_MAX] = { FOP_LIST (ROW) };

/* --- marks ------------------------------------------------------------------------------------ */

void
any_fop_mark_set (struct any_fop_mark *mark, const struct any_fop_mark *value)
{
    if (__atomic_test_and_set (&mark->busy, __ATOMIC_ACQUIRE))
        return;
    if (value->time > __atomic_load_n (&mark->time, __ATOMIC_RELAXED)) {
        __atomic_store_n (&mark->time, 0, __ATOMIC_RELAXED);
        __atomic_thread_fence (__ATOMIC_RELEASE);
        __atomic_store_n (&mark->ops, value->ops, __ATOMIC_RELAXED);
        __atomic_store_n (&mark->names, value->names, __ATOMIC_RELAXED);
        __atomic_store_n (&mark->uid_first, value->uid_first, __ATOMIC_RELAXED);
        __atomic_store_n (&mark->uid_last, value->uid_last, __ATOMIC_RELAXED);
        __atomic_store_n (&mark->gid_first, value->gid_first, __ATOMIC_RELAXED);
        __atomic_store_n (&mark->gid_last, value->gid_last, __ATOMIC_RELAXED);
        __atomic_store_n (&mark->size_first, value->size_first, __ATOMIC_RELAXED);
        __atomic_store_n (&mark->size_last, value->size_last, __ATOMIC_RELAXED);
        __atomic_store_n (&mark->time, value->time, __ATOMIC_RELEASE);
    }
    __atomic_clear (&mark->busy, __ATOMIC_RELEASE);
}

/* --- calls through the table ------------------------------------------------------------------ */

void
call_pass (const struct call *call)
{
    ops[call->op].pass (call);
}

bool
call_changes (const struct call *call)
{
    return fop_changes (call->op, call->flags);
}

void
call_wind_at (const struct call *call, xlator_t *child, void *cookie, const struct call_site *site)
{
    ops[call->op].wind (call, child, ops[call->op].cbk, cookie, site);
}

void
call_wind_to (const struct call *call, xlator_t *child, ret_fn_t cbk, void *cookie,
              const struct call_site *site)
{
    ops[call->op].wind (call, child, cbk, cookie, site);
}

void
call_change (const struct call *call, struct changed_call *ret_changed)
{
    ret_changed->call = *call;
    memcpy (&ret_changed->args, call->args, ops[call->op].args_size);
    ret_changed->call.args = &ret_changed->args;
}

void
call_change_xdata (struct changed_call *changed, dict_t *xdata)
{
    char *args = (char *) &changed->args;

    *(dict_t **) (void *) (args + ops[changed->call.op].xdata_at) = xdata;
    changed->call.xdata = xdata;
}

void
call_fail_at (const struct call *call, int op_errno, const struct call_site *site)
{
    frame_fail_at (call->frame, op_errno, NULL, site);
}

struct call_stub *
call_keep (const struct call *call)
{
    return ops[call->op].keep (call, false);
}

struct call_stub *
call_keep_to_pass (const struct call *call)
{
    return ops[call->op].keep (call, true);
}

/* Copies loc: a lent loc would keep the computed path until its owner wipes it. */
static char *
path_of (const loc_t *loc)
{
    loc_t copy = { .name = loc->name, .inode = loc->inode, .parent = loc->parent };

    return loc->path ? g_strdup (loc->path) : (loc_path (&copy), copy.path);
}

char *
call_path (const struct call *call)
{
    if (call->loc)
        return path_of (call->loc);
    return call->fd && call->fd->inode ? inode_path (call->fd->inode, NULL) : NULL;
}

char *
call_new_path (const struct call *call)
{
    return call->newloc ? path_of (call->newloc) : NULL;
}

bool
call_is_at (const struct call *call, const char *pattern)
{
    g_autofree char *path = call_path (call), *new_path = call_new_path (call);

    return (path && fnmatch (pattern, path, 0) == 0)
        || (new_path && fnmatch (pattern, new_path, 0) == 0);
}

void
value_print (enum kind kind, const char *name, const void *value, GString *out)
{
    switch (kind) {
#define PRINT(kind)                                                                                \
    case KIND_##kind:                                                                              \
        print_##kind (out, name, *(C_##kind const *) value);                                       \
        break;
        KIND_LIST (PRINT)
    }
}

static void
print_to (enum kind kind, const char *name, const void *value, void *out)
{
    value_print (kind, name, value, out);
}

void
call_each (const struct call *call, value_seen *see, void *data)
{
    ops[call->op].each (call, see, data);
}

void
call_print (const struct call *call, GString *out)
{
    call_each (call, print_to, out);
}

void
answer_pass_at (const struct answer *answer, const struct call_site *site)
{
    ops[answer->op].pass_answer (answer, site);
}

void
answer_fail_at (const struct answer *answer, int op_errno, const struct call_site *site)
{
    frame_fail_at (answer->frame, op_errno, NULL, site);
}

struct answer_stub *
answer_keep (const struct answer *answer)
{
    struct answer_stub *stub = g_malloc0 (sizeof *stub + reply_size (answer->op));

    *stub = (struct answer_stub){ answer->frame, answer->frame->root, answer->op, stub + 1 };
    stack_keep (stub->root, 1);
    if (ops[answer->op].answer_keep (answer, stub->reply) < 0)
        g_clear_pointer (&stub, answer_stub_destroy);
    return stub;
}

void
answer_resume_at (struct answer_stub *stub, const struct call_site *site)
{
    reply_unwind (stub->op, stub->reply, stub->frame, site);
    answer_stub_destroy (stub);
}

void
answer_stub_destroy (struct answer_stub *stub)
{
    call_stack_t *root = stub->root;

    reply_drop (stub->op, stub->reply);
    g_free (stub);
    stack_keep (root, -1);
}

void
answer_each (const struct answer *answer, value_seen *see, void *data)
{
    ops[answer->op].answer_each (answer, see, data);
}

void
answer_print (const struct answer *answer, GString *out)
{
    answer_each (answer, print_to, out);
}
