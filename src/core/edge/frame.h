/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The edge: how a request goes from one translator to the next and its answer comes back.
 *
 *   call_stack (a request)
 *     frames[0]   the bridge's    --wind--> frames[1]  rot13's  --wind--> frames[2]  posix's
 *                                 <-unwind-            <-unwind-
 *
 * A wind takes the frame's slot, the one place that is kept for its child, so that a linear stack
 * needs no allocation, no lock and no atomic operation. Only a frame that winds again (fan-out, or
 * one child after the other) goes the long way: it gets its slot back if the child has answered,
 * else a fresh strand of frames. A frame may be answered only after its children; work that
 * outlives a request needs a request of its own (stack_new_like).
 *
 * Wind and unwind are the last statement on their path: the frame belongs to others afterwards. No
 * lock is held across either.
 *
 * Watching an edge costs nothing while nobody does: a route's call is then the translator's own
 * function, else core/edge/watch.c's, which reports the wind, puts itself between the answer and
 * the callback, and calls on. So what was wound unwatched is unwound unwatched, and every report is
 * a pair.
 *
 * What failed is known without watching: an answer with op_ret < 0 leaves its errno in the frame.
 *
 * For gdb: what a wind does is part of the line that winds; what little is a function is named
 * frame_*, and skipped by `step`.
 *
 * Reasons:
 *
 * - A frame has two pointers, wind_from and unwind_from, to a static struct call_site: one store
 *   each, and a trace or a report can name the line.
 * - The work of a wind is in macros (FRAME_TAKE, FRAME_FILL, FRAME_ANSWER). As functions out of
 *   line it cost more than 61 instructions a layer. As inline functions they keep their lines in
 *   the line table, and `step` at -O2 stops in the middle of a wind.
 * - A frame that winds again goes to frame_push_again. In a release build for x86-64 it is called
 *   through frame_push_again_thunk, which saves all registers. An ordinary call makes every wind
 *   save its arguments first: 14 instructions of 60.
 * - The operation and whether it was answered are 16 bits that an unwind compares at once, so that
 *   an answer that comes twice, or to another operation, is found for nothing.
 * - Cost with gcc 12 on x86-64: 51 instructions for a wind and an unwind of stat through a layer,
 *   56 for writev, 53 for an error; 5.5 to 6 ns. tests/bench/edge.c measures it, under callgrind
 *   with --toggle-collect='calls*' exactly.
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

/* A callback, whatever it answers; called only as the type of frame->op. */
typedef void (*ret_fn_t) (void);

/* What core/edge/watch.c keeps of a frame that it reported. */
struct frame_watch {
    ret_fn_t ret;              /* what stood in the frame before: its parent's callback, */
    void *cookie;              /* and its cookie */
    xlator_t *callee;          /* who was wound to */
    uint64_t begin;            /* ticks */
    uint64_t below;            /* ticks that its own children took, those in its slot one after the
                                  other, */
    uint64_t beside;           /* and all others. Both atomic */
    struct frame_watch *outer; /* of who handed the request on with STACK_WIND_TAIL, or NULL */
    unsigned watchers;         /* who was told of the wind, and is to be told of the unwind */
    unsigned everybody;        /* and all outer ones' */
};

/* One translator's part in a request. */
struct call_frame {
    call_stack_t *root;
    call_frame_t *parent; /* who wound us */
    call_frame_t *slot;   /* where our child's frame goes; NULL at the end of a strand */
    xlator_t *this;       /* whose frame it is */
    void *local;          /* the translator's own; from frame_local_new */
    void *cookie;         /* of STACK_WIND_COOKIE */
    ret_fn_t ret;         /* the parent's callback */
    union {
        struct {
            union {
                struct {
                    enum fop op : 8;
                    unsigned complete : 8; /* it was answered */
                } __attribute__ ((packed));
                uint16_t awaited; /* op, while it isn't complete: what an unwind must be. Atomic */
            };
            uint8_t wound;   /* its slot was used. Atomic */
            uint8_t failed;  /* it was answered with op_ret < 0, */
        };
        uint32_t state; /* atomic: others look whether the child has answered */
    };
    int32_t op_errno;     /* and this. Both are valid once it is complete */
    const struct call_site *wind_from;   /* where the parent wound it */
    const struct call_site *unwind_from; /* where it was answered, or NULL */
    bool watched;                        /* .watch is in use: the frame can't be taken yet. Atomic;
                                            only watch.c sets and clears it */
    struct frame_watch watch;            /* while it is watched */
};

_Static_assert(offsetof (call_frame_t, wound) == offsetof (call_frame_t, state) + 2,
               "state covers wound");

#define FRAME_COMPLETE (1 << 8)

#define STACK_FRAMES 16      /* in one strand: as tall as a stack may be before it takes another */
#define STACK_LOCAL_SIZE 1024 /* bytes of locals that come with a request */

/* Somebody who is to be told that nobody waits for a request any more: stack_on_interrupt. */
struct interrupt_watch {
    void (*fn) (void *data);
    void *data;
    struct interrupt_watch *next; /* root->lock */
};

struct stack_local; /* a piece of frame_local_new's memory */
struct strand;      /* frames for those that wind more than once */

/* What storage shall do about the times of files: features/utime says it, and the bridge for the
 * mount options ro and noatime. */
enum {
    TIMES_OF_REQUEST = 1 << 0,   /* what a change moves on, or sets to "now", gets the request's
                                    ctime */
    TIMES_NOT_OF_READING = 1 << 1, /* reading what is opened moves no atime */
};

/* What the maker of a request keeps with it: the bridge, or a client that waits. */
struct stack_maker {
    void *asked;     /* the kernel's request, or the client */
    uint64_t number; /* the kernel's own number of the request */
    /* Lent by the kernel until it has the answer; NULL where there is none. An early answer takes
     * references first. */
    inode_t *lent_inodes[2];
    fd_t *lent_fds[2];
};

/* What rooms that look at requests keep with one. */
struct stack_onlooker {
    uint64_t reported; /* core/report/watchdog.c: the number of the last request here that it named */
    void *probed;      /* trace/probes.c: of the operation that the mount asks for now */
};

/* A request: who asks, and the memory that its frames and locals live in. */
struct call_stack {
    uint64_t unique;     /* its number; 0 while it is not in use. Atomic */
    enum fop op;         /* what was asked at the top */
    uid_t uid;
    gid_t gid;
    pid_t pid;
    mode_t umask;
    uint64_t lk_owner;
    struct timespec ctime; /* when it came, time of day */
    unsigned times;        /* TIMES_*. A translator that sets it does so in each operation that
                              looks at it. Atomic */
    int64_t begin;         /* the same, clock_now, to a few milliseconds */
    pid_t thread;          /* who took it up last: thread_id, 0 when that isn't known. Atomic */
    uint64_t about;        /* the number of the inode that the kernel asks about, or of the
                              directory of the name; 0: none */
    uint64_t caused_by;    /* the number of the request that stack_new_like was told of, or 0 */

    /* The caller's supplementary groups, found when first asked for: stack_groups. */
    int ngroups; /* -1: not asked yet */
    gid_t *groups;
    int (*find_groups) (call_stack_t *root);

    struct stack_maker maker;
    struct stack_onlooker onlooker;

    bool interrupted; /* lock */
    /* the caller was looked at, by who made this or by a translator that checks, on the way down:
     * he may search the directory of a name, and read the attribute that he names. So caches below
     * may answer him; storage acts as him */
    bool checked;
    struct interrupt_watch *on_interrupt; /* who is told; lock */

    pthread_mutex_t lock;         /* a leaf; not taken on the path of a linear stack */
    struct strand *strands;       /* lock */
    struct stack_local *locals;   /* lock */
    size_t local_used;            /* lock */
    call_stack_t *next;           /* while it waits for reuse: its thread's list */
    call_stack_t *all_next;       /* every stack there is, for stack_foreach; never unlinked */
    call_frame_t frames[STACK_FRAMES];
    char local_bytes[STACK_LOCAL_SIZE] __attribute__ ((aligned (16)));
};

/* --- requests ------------------------------------------------------------------------------- */

/* A new request whose first frame is this's. The caller fills in who asks. */
call_stack_t *stack_new (xlator_t *this);

/* The same caller as frame's, for work that goes on when frame was answered. */
call_stack_t *stack_new_like (xlator_t *this, const call_frame_t *frame);

/* Who asked, for longer than the request: to ask again in his name (stack_new_as) when it was
 * answered. His groups are found if they weren't yet; root's aren't, who needs none. g_free it. */
struct stack_caller {
    uid_t uid;
    gid_t gid;
    pid_t pid;
    mode_t umask;
    bool checked;
    unsigned times; /* TIMES_NOT_OF_READING, or 0 */
    uint64_t lk_owner, about, caused_by; /* as in the request; caused_by is its number */
    int ngroups;
    gid_t groups[];
};

struct stack_caller *stack_caller_new (call_stack_t *root);
call_stack_t *stack_new_as (xlator_t *this, const struct stack_caller *caller);

/* Has the one every right that the other has, by who they are: user, group and groups are the same,
 * or both are root. */
bool stack_caller_same (const struct stack_caller *caller, const struct stack_caller *other);

/* The request was answered: its locals are dropped and its memory is used again. A frame in it that
 * nobody answered is reported by name, and the memory is left alone for ever. */
void stack_done (call_stack_t *root);

/* Called at the end of a request that stack_new_like or stack_new_as made, before its frames go;
 * NULL: by nothing. Set before the first request. */
extern void (*stack_background_done) (const call_stack_t *root);

/* How many groups, and *ret_groups which; they live as long as the request. */
int stack_groups (call_stack_t *root, const gid_t **ret_groups);

/* The caller no longer waits: tells all who wanted to know. */
void stack_interrupt (call_stack_t *root);

/* Has watch->fn called when the request is interrupted, at once if it was already; from another
 * thread, under root->lock, so it must be short and take no lock. Any number may watch a request,
 * each with memory of its own, which lasts until it is taken back: after that fn isn't running.
 * stack_on_interrupt returns whether the request was interrupted; stack_off_interrupt takes one
 * that never watched, too. */
bool stack_on_interrupt (call_stack_t *root, struct interrupt_watch *watch);
void stack_off_interrupt (call_stack_t *root, struct interrupt_watch *watch);
bool stack_interrupted (call_stack_t *root);

/* Reports look at requests that other threads work on: what they see may be half of one state and
 * half of the next. Nothing is ever unmapped, so the worst is a line that is wrong. */
#define LOOKS_AT_RUNNING_REQUESTS __attribute__ ((no_sanitize ("thread")))

/* Calls fn for each request in use. What it sees may change under its eyes; for reports only. */
void stack_foreach (void (*fn) (const call_stack_t *root, void *data), void *data);

/* This thread works on the request from now on, as reports have it; what it answered before doesn't
 * wait for that. For those who go on with what was set aside, and who begin after an answer what
 * they made before it; stubs do it. */
void stack_taken (call_stack_t *root);

/* How many requests are in use. */
unsigned stack_count (void);

/* How many calls and answers are set aside (stubs). One lives a little longer than its request, and
 * keeps inodes: a graph may go when both are 0. */
unsigned stack_count_kept (void);
void stack_keep (int by); /* for those who make stubs: one more, or one less */

/* The request, and a line for each frame of it that is not answered yet, the deepest first. g_free
 * it. */
char *stack_describe (const call_stack_t *root);

/* Answers a frame with -1 and op_errno (positive), whatever was asked. */
#define frame_fail(frame_, op_errno_) frame_fail_at (frame_, op_errno_, CALL_SITE)
void frame_fail_at (call_frame_t *frame, int op_errno, const struct call_site *site);

/* --- locals --------------------------------------------------------------------------------- */

/* Zeroed memory for frame->local, which it sets. It goes when the request does; this's
 * api->local_drop, if there is one, is called first. Never NULL. */
void *frame_local_new (call_frame_t *frame, size_t size);

/* --- winding -------------------------------------------------------------------------------- */

/* What the macros need; not for others. frame_misused takes the place of a callback. */
call_frame_t *frame_push_again (call_frame_t *frame);
void frame_misused (call_frame_t *frame, void *cookie, xlator_t *this, ...);

#if defined __x86_64__ && defined __OPTIMIZE__
/* The same through a thunk that saves every register. An ordinary call here, although it is hardly
 * ever made, would have every wind save all its arguments first: 14 instructions of 60. */
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

/* These three are macros, not inline functions, since the lines of an inlined function stay in the
 * line table: at -O2 `step` would stop in the middle of a wind. The first is the child's frame of
 * frame_, taken. */
#define FRAME_TAKE(frame_)                                                                         \
    ({                                                                                             \
        call_frame_t *slot_ = (frame_)->slot;                                                      \
        if (G_UNLIKELY (!slot_ || __atomic_load_n (&(frame_)->wound, __ATOMIC_RELAXED)))           \
            slot_ = frame_slot_again (frame_);                                                     \
        __atomic_store_n (&(frame_)->wound, 1, __ATOMIC_RELAXED);                                  \
        slot_;                                                                                     \
    })

/* Fills in a frame that was taken. */
#define FRAME_FILL(next_, to_, ret_, cookie_, op_, site_)                                          \
    do {                                                                                           \
        (next_)->this = (to_);                                                                     \
        (next_)->local = NULL;                                                                     \
        (next_)->cookie = (cookie_);                                                               \
        (next_)->ret = (ret_fn_t) (ret_);                                                          \
        __atomic_store_n (&(next_)->state, (op_), __ATOMIC_RELAXED);                               \
        (next_)->wind_from = (site_);                                                              \
        (next_)->unwind_from = NULL;                                                               \
    } while (0)

/* Marks a frame as answered, if it waits for such an answer; else the answer goes to frame_misused,
 * which reports and drops it. complete is set last: from then on the frame's memory may be another
 * child's. */
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

/* What core/edge/watch.c puts in a route in place of a watched translator's fop. */
#define FOP(name) name##_fop watched_##name;
#include "fops.def"

/* Asks child_ for fop_; the answer comes to cbk_ (frame, cookie, this, op_ret, op_errno, ...). */
#define STACK_WIND(frame_, cbk_, child_, fop_, ...)                                                \
    STACK_WIND_COOKIE (frame_, cbk_, NULL, child_, fop_, __VA_ARGS__)

/* The same; cbk_ gets cookie_. */
#define STACK_WIND_COOKIE(frame_, cbk_, cookie_, child_, fop_, ...)                                \
    STACK_WIND_AT (frame_, cbk_, cookie_, CALL_SITE, child_, fop_, __VA_ARGS__)

/* The same in the name of another place. */
#define STACK_WIND_AT(frame_, cbk_, cookie_, site_, child_, fop_, ...)                             \
    do {                                                                                           \
        call_frame_t *const winder_ = (frame_);                                                    \
        const __auto_type route_ = &(child_)->routes.fop_;                                         \
        fop_##_cbk *const ret_ = (cbk_);                                                           \
        call_frame_t *const next_ = FRAME_TAKE (winder_);                                          \
        FRAME_FILL (next_, route_->to, ret_, cookie_, FOP_##fop_, site_);                          \
        __atomic_load_n (&route_->call, __ATOMIC_RELAXED) (next_, next_->this, __VA_ARGS__);       \
    } while (0)

/* Hands the request on to child_ for good: its answer goes straight to our parent. Only within the
 * same fop_. */
#define STACK_WIND_TAIL(frame_, child_, fop_, ...)                                                 \
    do {                                                                                           \
        const __auto_type route_ = &(child_)->routes.fop_;                                         \
        call_frame_t *const next_ = (frame_);                                                      \
        next_->local = NULL;                                                                       \
        next_->this = route_->to;                                                                  \
        __atomic_load_n (&route_->call, __ATOMIC_RELAXED) (next_, next_->this, __VA_ARGS__);       \
    } while (0)

/* Answers frame_: op_ret, op_errno and what fops.def lists. */
#define STACK_UNWIND(fop_, frame_, ...) FRAME_UNWIND (fop_, frame_, CALL_SITE, __VA_ARGS__)

/* The same in the name of another place. */
#define STACK_UNWIND_AT(fop_, frame_, site_, ...) FRAME_UNWIND (fop_, frame_, site_, __VA_ARGS__)

/* Its arguments are counted here, when all macros in them are expanded. */
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
