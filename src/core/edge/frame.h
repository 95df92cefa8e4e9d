/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The edge: how a request goes from one translator to the next and its answer comes back.
 *
 *   call_stack (a request)
 *     frames[0]   the bridge's    --wind--> frames[1]  rot13's  --wind--> frames[2]  posix's
 *                                 <-unwind-            <-unwind-
 *
 * A wind takes the frame's slot: each frame reserves one place for a child. A linear stack
 * therefore needs no allocation, no lock and no atomic read-modify-write. A frame that winds again
 * (to several children, or to one child after the other) calls frame_push_again: it gets its slot
 * back if the child has answered, else a new strand of frames. A frame may be answered only after
 * its children. Work that outlives a request needs a request of its own (stack_new_like).
 *
 * Wind and unwind are the last statement on their path: after them another translator owns the
 * frame. No lock is held across either.
 *
 * An unwatched edge pays nothing for watching. A route's call is then the translator's own
 * function. On a watched edge it is a function of core/edge/watch.c, which reports the wind, puts
 * itself between the answer and the callback, and calls the translator's function. A wind that was
 * not reported is therefore not reported at its unwind either: reports come in pairs.
 *
 * Failures are recorded without watching: an answer with op_ret < 0 leaves its errno in the frame.
 *
 * For gdb: the steps of a wind belong to the line that winds. The few functions are named frame_*,
 * and `step` skips them.
 *
 * Reasons:
 *
 * - A frame has two pointers, wind_from and unwind_from, to a static struct call_site: one store
 *   each, and a trace or a report can name the line.
 * - The steps of a wind are macros (FRAME_TAKE, FRAME_FILL, FRAME_ANSWER). Functions out of line
 *   cost more than 61 instructions a layer. Inline functions keep their lines in the line table,
 *   and `step` at -O2 stops in the middle of a wind.
 * - A frame that winds again goes to frame_push_again. In a release build for x86-64 it is called
 *   through frame_push_again_thunk, which saves all registers. An ordinary call makes every wind
 *   save its arguments first: 14 instructions of 60.
 * - The operation and the flag "answered" are 16 bits, which an unwind compares at once. This finds
 *   a second answer, and an answer to another operation, at no cost.
 * - Cost with gcc 12 on x86-64: 51 instructions for a wind and an unwind of stat through a layer,
 *   56 for writev, 53 for an error; 5.5 to 6 ns. tests/bench/edge.c measures it; under callgrind,
 *   --toggle-collect='calls*' gives the exact number.
 */
#ifndef WINDLASS_CORE_EDGE_FRAME_H
#define WINDLASS_CORE_EDGE_FRAME_H

#include "core/table/fops.h"
#include "core/edge/translator.h"

#include <pthread.h>
#include <time.h>

/* A place in the source that winds or unwinds. */
struct call_site {
    const char *function, *file;
    int line;
};

#define CALL_SITE                                                                                  \
    ({                                                                                             \
        static const struct call_site site_ = { __func__, __FILE__, __LINE__ };                    \
        &site_;                                                                                    \
    })

/* A callback of any operation. Code must cast it to the callback type of frame->op before the
 * call. */
typedef void (*ret_fn_t) (void);

/* State of core/edge/watch.c for a frame whose wind it reported. */
struct frame_watch {
    ret_fn_t ret;              /* the callback that frame->ret held before */
    void *cookie;              /* the cookie that frame->cookie held before */
    xlator_t *callee;          /* the translator that was called */
    uint64_t begin;            /* ticks of the wind */
    uint64_t below;            /* ticks that the frame's children in its slot took, one child after
                                * the other. Atomic */
    uint64_t beside;           /* ticks that all its other children took. Atomic */
    struct frame_watch *outer; /* the frame_watch of the translator that handed the request on with
                                * STACK_WIND_TAIL, or NULL */
    unsigned watchers;         /* bits of the watchers that were told of the wind; they are told of
                                * the unwind */
    unsigned everybody;        /* watchers, and those of all outer ones */
};

/* One translator's part in a request. */
struct call_frame {
    call_stack_t *root;
    call_frame_t *parent; /* the frame that wound this frame */
    call_frame_t *slot;   /* the reserved place for a child's frame; NULL at the end of a strand */
    xlator_t *this;       /* the translator that works on this frame */
    void *local;          /* private to the translator; from frame_local_new */
    void *cookie;         /* from STACK_WIND_COOKIE, for the parent's callback */
    ret_fn_t ret;         /* the parent's callback */
    union {
        struct {
            union {
                struct {
                    enum fop op : 8;
                    unsigned complete : 8; /* nonzero after the answer */
                } __attribute__ ((packed));
                uint16_t awaited; /* equals op while the frame waits for its answer. Atomic */
            };
            uint8_t wound;   /* the slot was used. Atomic */
            uint8_t failed;  /* the answer had op_ret < 0 */
        };
        uint32_t state; /* atomic: other threads read whether the child has answered */
    };
    int32_t op_errno;     /* the answer's errno if failed. Both are valid once the frame is
                           * complete */
    const struct call_site *wind_from;   /* where the parent wound it */
    const struct call_site *unwind_from; /* where it was answered, or NULL */
    bool watched;                        /* .watch is in use, so the frame can't be taken yet.
                                          * Atomic; only watch.c sets and clears it */
    struct frame_watch watch;            /* valid while watched is set */
};

_Static_assert(offsetof (call_frame_t, wound) == offsetof (call_frame_t, state) + 2,
               "state covers wound");

#define FRAME_COMPLETE (1 << 8)

#define STACK_FRAMES 16      /* in one strand: the deepest stack that needs no second strand */
#define STACK_LOCAL_SIZE 1024 /* bytes of locals that come with a request */

/* Calls fn when the caller no longer waits for the request: stack_on_interrupt. */
struct interrupt_watch {
    void (*fn) (void *data);
    void *data;
    struct interrupt_watch *next; /* root->lock */
};

struct stack_local; /* one allocation of frame_local_new */
struct strand;      /* frames for the children of a frame that winds more than once */

/* How storage sets the times of files. features/utime sets these bits, and the bridge sets them for
 * the mount options ro and noatime. */
enum {
    TIMES_OF_REQUEST = 1 << 0,   /* times that an operation changes, or sets to "now", get the
                                  * request's ctime */
    TIMES_NOT_OF_READING = 1 << 1, /* reading an open file or directory doesn't change its atime */
};

/* Data of a request's creator: the bridge, or a waiting client. */
struct stack_maker {
    void *asked;     /* the kernel's request, or the waiting client */
    uint64_t number; /* the kernel's number for the request */
    /* The kernel keeps these until it gets the answer; NULL: none. A translator that answers before
     * the work is done takes references first. */
    inode_t *lent_inodes[2];
    fd_t *lent_fds[2];
};

/* Data of code that watches requests. */
struct stack_onlooker {
    uint64_t reported; /* for core/report/watchdog.c: number of the last request in this memory that
                        * was reported */
    void *probed;      /* for trace/probes.c: state of the operation that the mount requests now */
};

/* A request: the caller's identity, and the memory of its frames and locals. */
struct call_stack {
    uint64_t unique;     /* the request's number; 0 while the memory is not in use. Atomic */
    enum fop op;         /* the operation that the top of the graph was asked for */
    uid_t uid;
    gid_t gid;
    pid_t pid;
    mode_t umask;
    uint64_t lk_owner;
    struct timespec ctime; /* time of day when the request came */
    unsigned times;        /* TIMES_*. A translator that sets a bit does so in each operation that
                            * depends on it. Atomic */
    int64_t begin;         /* when the request came, by clock_now, to a few milliseconds */
    pid_t thread;          /* thread_id of the thread that took the request last, 0 if unknown.
                            * Atomic */
    uint64_t about;        /* number of the inode that the kernel asks about, or of the directory of
                            * the name; 0: none */
    uint64_t caused_by;    /* number of the request that stack_new_like copied, or 0 */
    const char *internal;  /* name of the translator that makes the request for itself: for what it
                            * stores, for a job, for a move of files; NULL: the request is made for
                            * a caller. Such a request meets the hidden names of its translator, and
                            * no translator judges it by the rights of a caller, counts or limits
                            * it. Interned, as xlator.name is */

    /* The caller's supplementary groups. stack_groups fills them in at its first call. */
    int ngroups; /* -1: not found yet */
    gid_t *groups;
    int (*find_groups) (call_stack_t *root);

    struct stack_maker maker;
    struct stack_onlooker onlooker;

    bool interrupted; /* lock */
    /* The creator of the request, or a translator above, has checked the caller's rights: the
     * caller may search the directory of a name, and read the attribute that it names. Caches below
     * may therefore answer the request. Storage still acts as the caller. */
    bool checked;
    struct interrupt_watch *on_interrupt; /* watches to call; lock */
    unsigned kept;       /* calls and answers of this request that are set aside. Atomic */
    unsigned lock_waits; /* calls of this request that wait for a caller's lock. Atomic */
    unsigned rest_waits; /* calls of this request that wait for a job that rests. Atomic */
    unsigned aside;      /* stubs of this request that were not resumed yet. Atomic */
    xlator_t *keeper;    /* translator that made all of those stubs; NULL: several have. Only
                          * compared. Atomic */

    pthread_mutex_t lock;         /* a leaf; not taken on the path of a linear stack */
    struct strand *strands;       /* lock */
    struct stack_local *locals;   /* lock */
    size_t local_used;            /* lock */
    call_stack_t *next;           /* in the list of a thread or of the pool, while the memory waits
                                   * for reuse */
    call_stack_t *all_next;       /* list of all stacks, for stack_foreach; never unlinked */
    call_frame_t frames[STACK_FRAMES];
    char local_bytes[STACK_LOCAL_SIZE] __attribute__ ((aligned (16)));
};

/* --- requests ------------------------------------------------------------------------------- */

/* Returns a new request whose first frame belongs to this. The caller fills in the identity: uid,
 * gid, pid, umask, groups and lk_owner. */
call_stack_t *stack_new (xlator_t *this);

/* Returns a new request with the identity of frame's, for work that continues after frame was
 * answered. It is internal if that one is. */
call_stack_t *stack_new_like (xlator_t *this, const call_frame_t *frame);

/* Returns a new request that this makes for itself, as root: `internal` is its name. caused_by is
 * the request of cause, whose times and lock owner it also has; NULL: no request has caused it. */
call_stack_t *stack_new_internal (xlator_t *this, const call_frame_t *cause);

/* The identity of a caller, kept for longer than its request, so that a translator can make
 * requests as that caller later (stack_new_as). stack_caller_new finds the groups if they aren't
 * known yet, except for root, which needs none. g_free it. */
struct stack_caller {
    uid_t uid;
    gid_t gid;
    pid_t pid;
    mode_t umask;
    bool checked;
    unsigned times; /* TIMES_NOT_OF_READING, or 0 */
    uint64_t lk_owner, about, caused_by; /* as in the request; caused_by is that request's number */
    const char *internal;
    int ngroups;
    gid_t groups[];
};

struct stack_caller *stack_caller_new (call_stack_t *root);
call_stack_t *stack_new_as (xlator_t *this, const struct stack_caller *caller);

/* Returns whether caller has every right that other has, by identity: user, group and groups are
 * equal, or both are root. */
bool stack_caller_same (const struct stack_caller *caller, const struct stack_caller *other);

/* Ends an answered request: drops its locals and reuses its memory. If a frame in it was not
 * answered, reports the translator by name, and never uses the memory again. */
void stack_done (call_stack_t *root);

/* Called at the end of a request that stack_new_like or stack_new_as made, while its frames are
 * still valid. NULL: no call. Set before the first request. */
extern void (*stack_background_done) (const call_stack_t *root);

/* Returns the number of the caller's supplementary groups, and the groups in *ret_groups. The array
 * lives as long as the request. */
int stack_groups (call_stack_t *root, const gid_t **ret_groups);

/* Records that the caller no longer waits, and calls all watches of the request. */
void stack_interrupt (call_stack_t *root);

/* Has watch->fn called when the request is interrupted, or at once if it was interrupted before. fn
 * runs on another thread, under root->lock, so fn must be short and take no lock. A request may
 * have any number of watches. The caller owns the memory of each, and keeps it until
 * stack_off_interrupt: after that call fn is not running. stack_on_interrupt returns whether the
 * request was interrupted before. stack_off_interrupt accepts a watch that was never added. */
bool stack_on_interrupt (call_stack_t *root, struct interrupt_watch *watch);
void stack_off_interrupt (call_stack_t *root, struct interrupt_watch *watch);
bool stack_interrupted (call_stack_t *root);

/* Ends an interrupt of a request that a translator made: the calls that were wound before have all
 * been answered, and later ones don't see it. */
void stack_interrupt_over (call_stack_t *root);

/* Marks functions that read requests on which other threads work. They may see half of one state
 * and half of the next. The memory is never unmapped, so the worst result is a wrong line in a
 * report. */
#define LOOKS_AT_RUNNING_REQUESTS __attribute__ ((no_sanitize ("thread")))

/* Calls fn for each request in use. Other threads may change the request meanwhile: fn compares and
 * prints. All that a request did that is not in use any more has happened before. */
void stack_foreach (void (*fn) (const call_stack_t *root, void *data), void *data);

/* Records, for reports, that this thread works on the request from now on. If the thread still
 * holds an answer that it has not sent, sends it first (thread_before_other). For a thread that
 * continues a call that was set aside, or that starts work after an answer on a request made before
 * it. Stubs call this. */
void stack_taken (call_stack_t *root);

/* Returns how many requests are in use. */
unsigned stack_count (void);

/* stack_count_kept returns how many calls and answers are set aside (stubs), and how many calls a
 * job is about to make. A stub lives a little longer than its request, and holds inodes: a graph
 * may be freed when both counts are 0. stack_keep adds by, 1 or -1, to that count. root is the
 * request of the stub, or NULL for a job, which counts each of its calls from the moment when it
 * learns that no hold has begun until the answer. */
unsigned stack_count_kept (void);
void stack_keep (call_stack_t *root, int by);

/* Records that a call of the request waits until another owner of a lock releases it (by 1), or no
 * longer waits (by -1, before the answer). For the translator that sets an lk or flock aside. Such
 * a request does not hinder a move to another graph. Its file stays with the old one. */
void stack_lock_waits (call_stack_t *root, int by);

/* Records that a call of the request waits for a job that rests in a hold (job_rest), by 1; or, by
 * -1, that the job works again, or that the call no longer waits, before the call is answered. For
 * the translator that has set the call aside. Such a request, and others about the same inode
 * (call_stack.about), hinder no hold: in a move to another graph the inode, with its open files,
 * stays with the old one. So the request is about the inode that the call changes, and its
 * operation is none of OPS_NEVER_REST. */
void stack_rest_waits (call_stack_t *root, int by);

/* Operations that hinder a hold although they, or others about the same inode, wait for a job that
 * rests: one that changes names is about other inodes, too; the file that an open opens would
 * belong to the old graph; and copy_file_range is about the file that it reads. */
#define OPS_NEVER_REST (OPS_CHANGE_NAMES | OPSET_OF (FOP_open) | OPSET_OF (FOP_copy_file_range))

/* Returns a text that describes the request, with a line for each frame that is not answered yet,
 * the deepest first. g_free it. */
char *stack_describe (const call_stack_t *root);

/* Answers frame_ with -1 and op_errno_ (positive), for any operation; frame_fail_with: and with
 * xdata_. */
#define frame_fail(frame_, op_errno_) frame_fail_with (frame_, op_errno_, NULL)
#define frame_fail_with(frame_, op_errno_, xdata_)                                                 \
    frame_fail_at (frame_, op_errno_, xdata_, CALL_SITE)
void frame_fail_at (call_frame_t *frame, int op_errno, dict_t *xdata,
                    const struct call_site *site);

/* --- locals --------------------------------------------------------------------------------- */

/* Returns zeroed memory and sets frame->local to it. The memory is freed with the request; before
 * that, this's api->local_drop is called if it is set. Never NULL. */
void *frame_local_new (call_frame_t *frame, size_t size);

/* --- winding -------------------------------------------------------------------------------- */

/* For the macros below only. frame_misused takes the place of a callback. */
call_frame_t *frame_push_again (call_frame_t *frame);
void frame_misused (call_frame_t *frame, void *cookie, xlator_t *this, ...);

#if defined __x86_64__ && defined __OPTIMIZE__
/* Calls frame_push_again through a thunk that saves every register. An ordinary call here, although
 * rare, would make every wind save all its arguments first: 14 instructions of 60. */
static inline call_frame_t *
frame_slot_again (call_frame_t *frame)
{
    call_frame_t *next;

    __asm__ volatile("call frame_push_again_thunk@PLT"
                     : "=a"(next)
                     : "D"(frame)
                     : "r10", "r11", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
                       "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                       "xmm15");
    return next;
}
#else
#define frame_slot_again frame_push_again
#endif

/* FRAME_TAKE, FRAME_FILL and FRAME_ANSWER are macros, not inline functions: the lines of an inlined
 * function stay in the line table, and `step` at -O2 would stop in the middle of a wind. FRAME_TAKE
 * returns a frame for a child of frame_. */
#define FRAME_TAKE(frame_)                                                                         \
    ({                                                                                             \
        call_frame_t *slot_ = (frame_)->slot;                                                      \
        if (G_UNLIKELY (!slot_ || __atomic_load_n (&(frame_)->wound, __ATOMIC_RELAXED)))           \
            slot_ = frame_slot_again (frame_);                                                     \
        __atomic_store_n (&(frame_)->wound, 1, __ATOMIC_RELAXED);                                  \
        slot_;                                                                                     \
    })

/* Fills in a frame from FRAME_TAKE. state is set last: a report that sees the frame waiting then
 * finds the translator of this wind, not one of an earlier request, which may have been freed. */
#define FRAME_FILL(next_, to_, ret_, cookie_, op_, site_)                                          \
    do {                                                                                           \
        (next_)->this = (to_);                                                                     \
        (next_)->local = NULL;                                                                     \
        (next_)->cookie = (cookie_);                                                               \
        (next_)->ret = (ret_fn_t) (ret_);                                                          \
        (next_)->wind_from = (site_);                                                              \
        (next_)->unwind_from = NULL;                                                               \
        __atomic_store_n (&(next_)->state, (op_), __ATOMIC_RELEASE);                               \
    } while (0)

/* Marks a frame as answered if it waits for an answer of this operation. Otherwise the answer goes
 * to frame_misused, which reports and drops it. complete is set last: from then on another child
 * may use the frame's memory. */
#define FRAME_ANSWER(frame_, op_, op_ret_, op_errno_, site_, to_, cookie_, ret_)                   \
    do {                                                                                           \
        if (G_UNLIKELY (__atomic_load_n (&(frame_)->awaited, __ATOMIC_RELAXED) != (op_))) {        \
            to_ = (frame_);                                                                        \
            cookie_ = (void *) (site_);                                                            \
            ret_ = (ret_fn_t) frame_misused;                                                       \
        } else {                                                                                   \
            if (G_UNLIKELY ((op_ret_) < 0)) {                                                      \
                (frame_)->op_errno = (op_errno_);                                                  \
                (frame_)->failed = 1;                                                              \
            }                                                                                      \
            (frame_)->unwind_from = (site_);                                                       \
            __atomic_store_n (&(frame_)->awaited, FRAME_COMPLETE | (op_), __ATOMIC_RELEASE);       \
        }                                                                                          \
    } while (0)

/* core/edge/watch.c puts these in a route in place of a watched translator's fop. */
#define FOP(name) name##_fop watched_##name;
#include "fops.def"

/* Calls fop_ of child_. The answer goes to cbk_ (frame, cookie, this, op_ret, op_errno, ...). */
#define STACK_WIND(frame_, cbk_, child_, fop_, ...)                                                \
    STACK_WIND_COOKIE (frame_, cbk_, NULL, child_, fop_, __VA_ARGS__)

/* The same; cbk_ gets cookie_. */
#define STACK_WIND_COOKIE(frame_, cbk_, cookie_, child_, fop_, ...)                                \
    STACK_WIND_AT (frame_, cbk_, cookie_, CALL_SITE, child_, fop_, __VA_ARGS__)

/* The same; the frame records site_ instead of the current line. */
#define STACK_WIND_AT(frame_, cbk_, cookie_, site_, child_, fop_, ...)                             \
    do {                                                                                           \
        call_frame_t *const winder_ = (frame_);                                                    \
        const __auto_type route_ = &(child_)->routes.fop_;                                         \
        fop_##_cbk *const ret_ = (cbk_);                                                           \
        call_frame_t *const next_ = FRAME_TAKE (winder_);                                          \
        FRAME_FILL (next_, route_->to, ret_, cookie_, FOP_##fop_, site_);                          \
        __atomic_load_n (&route_->call, __ATOMIC_RELAXED) (next_, next_->this, __VA_ARGS__);       \
    } while (0)

/* Hands the request on to child_. The answer goes directly to this translator's parent. child_ must
 * be called for the same fop_. */
#define STACK_WIND_TAIL(frame_, child_, fop_, ...)                                                 \
    do {                                                                                           \
        const __auto_type route_ = &(child_)->routes.fop_;                                         \
        call_frame_t *const next_ = (frame_);                                                      \
        next_->local = NULL;                                                                       \
        next_->this = route_->to;                                                                  \
        __atomic_load_n (&route_->call, __ATOMIC_RELAXED) (next_, next_->this, __VA_ARGS__);       \
    } while (0)

/* Answers frame_: op_ret, op_errno, and the results that fops.def lists. */
#define STACK_UNWIND(fop_, frame_, ...) FRAME_UNWIND (fop_, frame_, CALL_SITE, __VA_ARGS__)

/* The same; the frame records site_ instead of the current line. */
#define STACK_UNWIND_AT(fop_, frame_, site_, ...) FRAME_UNWIND (fop_, frame_, site_, __VA_ARGS__)

/* Takes the arguments as one list, after all macros in them are expanded. */
#define FRAME_UNWIND(fop_, frame_, site_, op_ret_, op_errno_, ...)                                 \
    do {                                                                                           \
        call_frame_t *const done_ = (frame_);                                                      \
        const int32_t failed_ = (op_ret_), errno_ = (op_errno_);                                   \
        call_frame_t *to_ = done_->parent;                                                         \
        void *cookie_ = done_->cookie;                                                             \
        ret_fn_t ret_ = done_->ret;                                                                \
        FRAME_ANSWER (done_, FOP_##fop_, failed_, errno_, site_, to_, cookie_, ret_);              \
        ((fop_##_cbk *) ret_) (to_, cookie_, to_->this, failed_, errno_, __VA_ARGS__);             \
    } while (0)

#endif
