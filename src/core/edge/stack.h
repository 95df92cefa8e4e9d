/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Declarations that frame.c, stack.c and watch.c share. Not for translators. */
#ifndef WINDLASS_CORE_EDGE_STACK_H
#define WINDLASS_CORE_EDGE_STACK_H

#include "core/edge/frame.h"

#include "core/time/thread.h"

#include <errno.h>

#define STRAND_FRAMES 8

/* Frames for the children of a frame that winds to several children at a time. */
struct strand {
    struct strand *next; /* root->lock */
    call_frame_t frames[STRAND_FRAMES];
};

struct strand *strand_new (void); /* returns a strand whose frames wait for no answer */

/* Memory that is freed with the request. */
struct stack_local {
    struct stack_local *next;
    xlator_t *owner; /* the translator whose local_drop is called, or NULL */
    bool on_heap;
    bool audited; /* from audit->local_new */
    char bytes[] __attribute__ ((aligned (16)));
};

/* Links n frames to a strand: each is the parent of the next, and the first is a child of
 * parent. */
void frames_lay_out (call_frame_t *frames, unsigned n, call_stack_t *root, call_frame_t *parent);

/* Returns zeroed memory, valid until stack_done. With a frame it is a local of it: stack_done calls
 * local_drop of the frame's translator. */
void *stack_alloc (call_stack_t *root, size_t size, const call_frame_t *frame);

/* Gives a request a copy of a caller's groups; groups may be NULL if n is 0. */
void stack_copy_groups (call_stack_t *root, int n, const gid_t *groups);

/* watch_log logs winds and unwinds at level TRACE. watch_bit_locked returns the watcher's bit in
 * xlator_t.watchers, which never changes; the caller holds the lock of the routes. */
struct watcher;
extern const struct watcher watch_log;
unsigned watch_bit_locked (const struct watcher *watcher);

/* How far the requests of the process have ended; each includes those before it. A request of which
 * a call waits for a lock of its caller, or for a job that rests, counts for STACKS_GONE alone. */
enum stacks_end {
    STACKS_ANSWERED, /* no request is in use */
    STACKS_IDLE,     /* no call is set aside */
    STACKS_GONE,     /* no request waits for a lock, or for a job */
};

/* Waits until that is so, or until a time of clock_now. Returns whether it is. Meanwhile each
 * request that ends takes a lock; while no thread waits, it only looks at a flag. */
bool stack_wait_for_end (enum stacks_end end, int64_t until);

/* The same, without the requests whose calls the translator asker has set aside as stubs, and has
 * not resumed: a pause (core/work/pause.h). asker may be NULL. */
bool stack_wait_for_others (enum stacks_end end, const xlator_t *asker, int64_t until);

/* Numbers (uint64_t) of the inodes for whose requests stack_wait_for_others does not wait
 * (stack_rest_waits). NULL: none. g_array_unref it. */
GArray *stack_resting_inodes (void);

/* Returns whether stack_wait_for_others leaves the request out: it waits for a lock of its caller,
 * asker (NULL: none) has set it aside, or it is about one of the inodes `resting` (NULL: none). */
bool stack_is_waiter (const call_stack_t *root, const xlator_t *asker, const GArray *resting);

/* Number of threads in stack_wait_for_end; atomic. */
extern unsigned stack_awaited;

/* Wakes them. stack_has_ended does so if there are any; call it after a request has ended, is set
 * aside or no longer kept, or begins to wait for a lock, or for a job that rests. */
void stack_tell_waiting (void);
static inline void
stack_has_ended (void)
{
    thread_keep_order ();
    if (G_UNLIKELY (__atomic_load_n (&stack_awaited, __ATOMIC_RELAXED)))
        stack_tell_waiting ();
}

/* Returns how many requests have been allocated: at least as many as were ever in use at a time. */
unsigned stack_count_made (void);

/* The functions that stand in front of a translator's own if it hides names; NULL: the operation
 * meets none (hidden.c). */
extern const struct xlator_fops hidden_fops;

/* Further ones, if it corrects link counts, too (xlator_api.uncount): of operations that it
 * implements, and of those that it passes on. */
extern const struct xlator_fops hidden_counted_fops, hidden_passed_fops;

/* The function that a translator implements an operation with, NULL: it passes the operation on
 * (translator.c). */
#define FOP(name) name##_fop *xlator_plain_##name (const xlator_t *xl);
#include "fops.def"

/* A rule of the edge that a translator broke; lent for the call of audit->misuse. */
struct audit_misuse {
    const xlator_t *xlator;         /* the translator that works on the frame */
    enum fop op;                    /* the operation that it was asked for */
    const char *what;               /* "answered twice" */
    const struct call_site *site;   /* where the rule was broken */
    const struct call_site *before; /* where it had answered before, or NULL */
};

/* Count and return how often translators broke the rules of the edge, since the start. */
void stack_count_misuse (void);
unsigned stack_misuses (void);

#endif
