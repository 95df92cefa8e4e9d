/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The code that runs at the entry and at the return of each traced function, and its records.
 *
 * hook.c and hook-*.S are the only code here that runs on the path of a request. They are compiled
 * without sanitizers, without room at their own entries and with general registers alone, and call
 * no function, so that they may run within a signal handler, a lock or malloc. A signal handler
 * that interrupts a hook isn't traced.
 *
 *   function:  call hook_entry     keeps all registers; hook_enter notes the time and the return
 *                                  address, and makes the function return to hook_return
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

#define HOOK_DEPTH 1000  /* nested calls; deeper ones are not recorded */
/* further threads are not recorded, until the next start finds that some have ended */
#define HOOK_THREADS 512

/* A call that ended. `function`: the address of the function's entry, and the number of calls that
 * contain it. */
struct hook_call {
    uint64_t begin, end; /* ticks */
    uint64_t function;
};
#define HOOK_ADDRESS(function_) ((function_) & ((UINT64_C (1) << 48) - 1))
#define HOOK_CALL_DEPTH(function_) ((unsigned) ((function_) >> 48) & 0x7fff)
/* began while the gate was closed: not of interest, unless it opens meanwhile */
#define HOOK_ASIDE (UINT64_C (1) << 63)

/* A call that has not ended. hook-*.S depends on size and order: the unwinder passes hook_return by
 * it. */
struct hook_open {
    uint64_t slot;     /* address on the stack of its return address; 0: the element before the
                          first call */
    uint64_t ret;      /* its return address; in the element before the first: the next thread
                          (struct hook_thread ) */
    uint64_t function; /* as in struct hook_call */
    uint64_t begin;
};

struct hook_thread {
    struct hook_open *top; /* its own, read by others: atomic. Must be first, for the unwinder */
    int32_t id;            /* the kernel's thread id; 0: free. Atomic */
    uint8_t busy;          /* in a hook: calls from a signal handler are not recorded. Atomic */
    char name[16];         /* its own; other threads may read it while it changes */
    uint64_t gate;         /* open for calls with slots below this address; 0: closed. Its own */
    const void *gate_for;  /* the request that opened it. Its own */
    uint64_t deep;         /* calls that were too deep. Its own, read by others: atomic */
    struct hook_call *ring; /* mask + 1 elements; the main thread may replace it while the thread
                               isn't busy */
    uint64_t mask;
    uint64_t head; /* calls ever recorded. Its own, read by others: atomic */
    uint64_t base; /* head when the trace started; the main thread's */
    uint64_t base_deep; /* deep when the trace started; the main thread's */
    struct hook_open open[HOOK_DEPTH + 1];
};

/* Written by the main thread, which starts and stops traces; all atomic. */
struct hook_state {
    uint32_t on;    /* entries are recorded */
    uint32_t cycles; /* ticks come from the processor's counter, as core/time/ticks.h has decided;
                        else from CLOCK_MONOTONIC */
    uint32_t gated; /* only record where a thread's gate is open */
    uint64_t start; /* calls that began earlier are not recorded; UINT64_MAX: no call is */
    uint64_t min;   /* nor are shorter calls; ticks */
    uint64_t ring;  /* calls in a new thread's ring: a power of two */
    uint64_t unseen; /* calls of threads without a place; hooks increment it too */
};

extern struct hook_state hook;
extern struct hook_thread *hook_threads; /* the first; none is ever removed. Atomic */

/* The next thread, or NULL. */
static inline struct hook_thread *
hook_next (const struct hook_thread *thread)
{
    return (struct hook_thread *) (uintptr_t) thread->open[0].ret;
}

/* This thread's state; NULL if there is no place for it. */
struct hook_thread *hook_self (void);

/* Zeroed memory from the kernel; NULL if it has none. */
void *hook_map (size_t size);

/* Opens this thread's gate for calls below slot on the stack, and records the calls that lead
 * there. No effect if it is open there already for the same request. */
void hook_gate_open (uint64_t slot, const void *request);
/* Closes the gate. No effect if it is open there for that request; NULL: closes it in any case. */
void hook_gate_close (uint64_t slot, const void *request);

/* --- for hook-*.S --- */

/* Called at a function's entry. slot: a place on the stack that no other call has; ret: its return
 * address. Returns the address to return to instead. */
uintptr_t hook_enter (uint64_t function, uint64_t slot, uint64_t ret);
/* Called at the return. Returns the real return address. */
uintptr_t hook_leave (uint64_t slot);

/* Called from the room before an entry; not callable from C. */
void hook_entry (void);
void hook_return (void);

#endif
