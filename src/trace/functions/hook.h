/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The code that runs at the entry and at the return of each traced function, and what it leaves for
 * others to read.
 *
 * hook.c and hook-*.S are the only code here that runs on the path of a request. They are compiled
 * without sanitizers, without room at their own entries and with general registers alone, and call
 * nothing, so that they may run in the midst of a signal handler, a lock or malloc. A signal
 * handler that comes in the midst of a hook isn't traced.
 *
 *   function:  call hook_entry     keeps all registers; hook_enter notes the time and where the
 *                                  function returns to, and makes it return to hook_return
 *   hook_return                    hook_leave makes a record and knows the real return address
 *
 * So a record is a whole call, made when it ends. The ring of a thread has the last ones in the
 * order of their ends: the caller of a call that is in the ring is there as well, or still runs.
 */
#ifndef WINDLASS_TRACE_FUNCTIONS_HOOK_H
#define WINDLASS_TRACE_FUNCTIONS_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOOK_DEPTH 1000  /* calls inside of each other; deeper ones aren't seen */
/* further threads aren't seen, until the next start finds some of them gone */
#define HOOK_THREADS 512

/* A call that ended. In its number: the address of the function's entry, and how many others it was
 * in. */
struct hook_call {
    uint64_t begin, end; /* ticks */
    uint64_t function;
};
#define HOOK_ADDRESS(function_) ((function_) & ((UINT64_C (1) << 48) - 1))
#define HOOK_CALL_DEPTH(function_) ((unsigned) ((function_) >> 48) & 0x7fff)
/* began while the gate was closed: of no interest, unless it opens meanwhile */
#define HOOK_ASIDE (UINT64_C (1) << 63)

/* A call that goes on. hook-*.S knows size and order: the unwinder's way past hook_return. */
struct hook_open {
    uint64_t slot;     /* where on the stack it returns from; 0: the one before the first */
    uint64_t ret;      /* where to; in the one before the first: the next thread (struct hook_thread
                          *) */
    uint64_t function; /* as in struct hook_call */
    uint64_t begin;
};

struct hook_thread {
    struct hook_open *top; /* its own, read by others: atomic. First in here for the unwinder */
    int32_t id;            /* of the kernel; 0: nobody's. Atomic */
    uint8_t busy;          /* in a hook: what a signal calls meanwhile isn't seen. Atomic */
    char name[16];         /* its own; read as it is */
    uint64_t gate;         /* open for calls whose slots are below; 0: for none. Its own */
    const void *gate_for;  /* the request that it was opened for. Its own */
    uint64_t deep;         /* calls that were too deep. Its own, read by others: atomic */
    struct hook_call *ring; /* of mask + 1; who starts a trace may replace it while the thread isn't
                               busy */
    uint64_t mask;
    uint64_t head; /* calls that were ever put in. Its own, read by others: atomic */
    uint64_t base; /* head when the trace started; who starts it */
    uint64_t base_deep; /* the same of deep */
    struct hook_open open[HOOK_DEPTH + 1];
};

/* Written by who starts and stops, the main thread; all atomic. */
struct hook_state {
    uint32_t on;    /* entries are of interest */
    uint32_t cycles; /* ticks are the processor's own, as core/time/ticks.h has found; else
                        CLOCK_MONOTONIC */
    uint32_t gated; /* only where a thread's gate is open */
    uint64_t start; /* calls that began earlier are of no interest when they end; UINT64_MAX: none
                       is */
    uint64_t min;   /* nor are shorter ones; ticks */
    uint64_t ring;  /* calls that a new thread's ring holds: a power of two */
    uint64_t unseen; /* calls of threads that found no place; hooks count, too */
};

extern struct hook_state hook;
extern struct hook_thread *hook_threads; /* the first; none ever goes. Atomic */

/* The one after it, or NULL. */
static inline struct hook_thread *
hook_next (const struct hook_thread *thread)
{
    return (struct hook_thread *) (uintptr_t) thread->open[0].ret;
}

/* This thread's; NULL when there is no place for it. */
struct hook_thread *hook_self (void);

/* Memory of the kernel's, zeroed; NULL when it has none. */
void *hook_map (size_t size);

/* Opens this thread's gate for what is called below (on the stack) of slot, and says that the calls
 * that lead there are of interest. Not if it is open there already for the same request. */
void hook_gate_open (uint64_t slot, const void *request);
/* Closes it; but not when it is open for what is called there for that request; NULL: for any. */
void hook_gate_close (uint64_t slot, const void *request);

/* --- for hook-*.S --- */

/* The function is entered. slot: a place on the stack that no other call has; ret: where it will
 * return to. Returns where it shall return to. */
uintptr_t hook_enter (uint64_t function, uint64_t slot, uint64_t ret);
/* It returned. Where to? */
uintptr_t hook_leave (uint64_t slot);

/* What the room before an entry calls; not for C. */
void hook_entry (void);
void hook_return (void);

#endif
