/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the edge: what frame.c, stack.c and watch.c share. Not for translators. */
#ifndef WINDLASS_CORE_EDGE_STACK_H
#define WINDLASS_CORE_EDGE_STACK_H

#include "core/edge/frame.h"

#include <errno.h>

#define STRAND_FRAMES 8

/* Frames for the children of one that winds more than once at a time. */
struct strand {
    struct strand *next; /* root->lock */
    call_frame_t frames[STRAND_FRAMES];
};

struct strand *strand_new (void); /* frames that nobody waits for */

/* A piece of memory that goes with the request. */
struct stack_local {
    struct stack_local *next;
    xlator_t *owner; /* whose local_drop is called, or NULL */
    bool on_heap;
    bool audited; /* it came from audit->local_new */
    char bytes[] __attribute__ ((aligned (16)));
};

/* Links n frames to a strand: each the parent of the next, the first a child of parent. */
void frames_lay_out (call_frame_t *frames, unsigned n, call_stack_t *root, call_frame_t *parent);

/* Zeroed memory until stack_done; owner's local_drop is called then, unless owner is NULL. */
void *stack_alloc (call_stack_t *root, size_t size, xlator_t *owner);

/* Who logs from TRACE on; and a watcher's bit in xlator_t.watchers, which it keeps. Under the lock
 * of the routes. */
struct watcher;
extern const struct watcher watch_log;
unsigned watch_bit_locked (const struct watcher *watcher);

/* How many requests there is memory for: as many as were under way at a time, and some. */
unsigned stack_count_made (void);

/* A rule of the edge that a translator broke; lent for the call of audit->misuse. */
struct audit_misuse {
    const xlator_t *xlator;         /* whose frame it is */
    enum fop op;                    /* what it was asked */
    const char *what;               /* "answered twice" */
    const struct call_site *site;   /* where */
    const struct call_site *before; /* where it had answered before, or NULL */
};

/* How often a translator broke the rules of the edge, since the start. */
void stack_count_misuse (void);
unsigned stack_misuses (void);

#endif
