/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_FUNCTION_GRAPH

/* In each kind of build: it determines the cost of a traced call. clang has no such pragma. */
#ifndef __clang__
#pragma GCC optimize("O2")
#endif

#include "trace/functions/hook.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#define likely(condition_) __builtin_expect (!!(condition_), 1)
#define unlikely(condition_) __builtin_expect (!!(condition_), 0)

#define load(place_) __atomic_load_n (place_, __ATOMIC_RELAXED)
#define store(place_, value_) __atomic_store_n (place_, value_, __ATOMIC_RELAXED)

struct hook_state hook;
struct hook_thread *hook_threads;

static __thread struct hook_thread *own_thread __attribute__ ((tls_model ("initial-exec")));

/* --- system calls without the C library, which may be traced or intercepted by a sanitizer --- */

static long
call_kernel (long number, long a, long b, long c, long d)
{
#if defined __x86_64__
    register long r10 __asm__ ("r10") = d;
    register long r8 __asm__ ("r8") = -1;
    register long r9 __asm__ ("r9") = 0;
    long result;

    __asm__ volatile ("syscall"
                      : "=a"(result)
                      : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                      : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__ ("x8") = number;
    register long x0 __asm__ ("x0") = a;
    register long x1 __asm__ ("x1") = b;
    register long x2 __asm__ ("x2") = c;
    register long x3 __asm__ ("x3") = d;
    register long x4 __asm__ ("x4") = -1;
    register long x5 __asm__ ("x5") = 0;

    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#endif
}

void *
hook_map (size_t size)
{
    const long at = call_kernel (SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);

    return at < 0 && at > -4096 ? NULL : (void *) at;
}

/* Like ticks_now. But a hook can't call the C library, which may use any register, so without a
 * counter it is expensive. */
static inline uint64_t
hook_ticks (void)
{
    if (likely (load (&hook.cycles))) {
#if defined __x86_64__
        return __builtin_ia32_rdtsc ();
#else
        uint64_t ticks;

        __asm__ volatile ("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
#endif
    }
    struct timespec now = { 0 };

    call_kernel (SYS_clock_gettime, CLOCK_MONOTONIC, (long) &now, 0, 0);
    return now.tv_sec * UINT64_C (1000000000) + now.tv_nsec;
}

/* --- threads --- */

/* Takes over the memory of a thread that has ended. */
static struct hook_thread *
thread_again (int32_t id)
{
    for (struct hook_thread *thread = __atomic_load_n (&hook_threads, __ATOMIC_ACQUIRE); thread;
         thread = hook_next (thread)) {
        int32_t nobody = 0;

        if (load (&thread->id) == 0
            && __atomic_compare_exchange_n (&thread->id, &nobody, id, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED))
            return thread;
    }
    return NULL;
}

static struct hook_thread *
hook_thread_new (int32_t id)
{
    static uint32_t made; /* atomic */
    struct hook_thread *first, *thread;

    if (load (&made) >= HOOK_THREADS)
        return NULL;
    thread = hook_map (sizeof *thread);
    if (!thread)
        return NULL;
    __atomic_fetch_add (&made, 1, __ATOMIC_RELAXED);
    thread->top = thread->open;
    thread->id = id;
    first = __atomic_load_n (&hook_threads, __ATOMIC_RELAXED);
    do
        thread->open[0].ret = (uintptr_t) first;
    while (!__atomic_compare_exchange_n (&hook_threads, &first, thread, false, __ATOMIC_RELEASE,
                                         __ATOMIC_RELAXED));
    return thread;
}

static void
hook_thread_name (struct hook_thread *thread)
{
    call_kernel (SYS_prctl, PR_GET_NAME, (long) thread->name, 0, 0);
}

/* The first call on a thread, and each call while there is no place for it. */
static __attribute__ ((noinline)) struct hook_thread *
hook_thread_begin (void)
{
    const int32_t id = call_kernel (SYS_gettid, 0, 0, 0, 0);
    struct hook_thread *thread = thread_again (id);
    const uint64_t calls = load (&hook.ring);

    if (!thread)
        thread = hook_thread_new (id);
    if (thread && !thread->ring) {
        thread->mask = calls - 1;
        thread->ring = hook_map (calls * sizeof *thread->ring);
    }
    if (!thread || !thread->ring) {
        __atomic_fetch_add (&hook.unseen, 1, __ATOMIC_RELAXED);
        if (thread)
            __atomic_store_n (&thread->id, 0, __ATOMIC_RELEASE);
        return NULL;
    }
    hook_thread_name (thread);
    own_thread = thread;
    return thread;
}

struct hook_thread *
hook_self (void)
{
    return own_thread ? own_thread : hook_thread_begin ();
}

/* --- calls --- */

/* Returns HOOK_ASIDE if the call is not of interest. Closes a gate that was left behind, because
 * the stack is no longer so deep. */
static inline uint64_t
gate_look (struct hook_thread *thread, uint64_t slot)
{
    if (likely (!load (&hook.gated)) || slot <= thread->gate)
        return 0;
    thread->gate = 0;
    return HOOK_ASIDE;
}

uintptr_t
hook_enter (uint64_t function, uint64_t slot, uint64_t ret)
{
    struct hook_thread *thread = own_thread;
    struct hook_open *open;

    if (unlikely (!load (&hook.on)))
        return ret;
    if (unlikely (!thread)) {
        thread = hook_thread_begin ();
        if (!thread)
            return ret;
    }
    if (unlikely (thread->busy))
        return ret;
    store (&thread->busy, 1);
    atomic_signal_fence (memory_order_seq_cst);
    open = thread->top + 1;
    if (unlikely (open == thread->open + HOOK_DEPTH + 1)) {
        store (&thread->deep, thread->deep + 1);
    } else {
        open->slot = slot;
        open->ret = ret;
        open->function = function | (uint64_t) (open - thread->open - 1) << 48
                       | gate_look (thread, slot);
        ret = (uintptr_t) hook_return;
        open->begin = hook_ticks ();
        __atomic_store_n (&thread->top, open, __ATOMIC_RELEASE);
    }
    atomic_signal_fence (memory_order_seq_cst);
    store (&thread->busy, 0);
    return ret;
}

/* A thread may get its name after its first call, so the name is read again from time to time. */
#define NAME_EVERY 4096
#define NAME_FIRST 16

static inline void
call_record (struct hook_thread *thread, const struct hook_open *open, uint64_t end)
{
    const uint64_t head = thread->head;
    struct hook_call *call = &thread->ring[head & thread->mask];

    store (&call->begin, open->begin);
    store (&call->end, end);
    store (&call->function, open->function);
    __atomic_store_n (&thread->head, head + 1, __ATOMIC_RELEASE);
    if (unlikely (head % NAME_EVERY == NAME_FIRST))
        hook_thread_name (thread);
}

/* Calls that longjmp has left are still there, above the one that returns. */
uintptr_t
hook_leave (uint64_t slot)
{
    uint64_t end = hook_ticks ();
    struct hook_thread *thread = own_thread;
    struct hook_open *open;
    uintptr_t ret;

    store (&thread->busy, 1);
    atomic_signal_fence (memory_order_seq_cst);
    open = thread->top;
    while (unlikely (open->slot != slot)) {
        if (open->slot == 0)
            __builtin_trap (); /* not this thread's stack: the return address is unknown */
        open--;
    }
    ret = open->ret;
    if (end < open->begin)
        end = open->begin; /* another processor's clock may be slightly behind */
    if (open->begin >= load (&hook.start) && !(open->function & HOOK_ASIDE)
        && end - open->begin >= load (&hook.min))
        call_record (thread, open, end);
    __atomic_store_n (&thread->top, open - 1, __ATOMIC_RELEASE);
    atomic_signal_fence (memory_order_seq_cst);
    store (&thread->busy, 0);
    return ret;
}

void
hook_gate_open (uint64_t slot, const void *request)
{
    struct hook_thread *thread = hook_self ();

    if (!thread || (slot <= thread->gate && thread->gate_for == request))
        return;
    thread->gate = slot;
    thread->gate_for = request;
    for (struct hook_open *open = thread->top; open->function & HOOK_ASIDE; open--)
        __atomic_store_n (&open->function, open->function & ~HOOK_ASIDE, __ATOMIC_RELAXED);
}

void
hook_gate_close (uint64_t slot, const void *request)
{
    if (own_thread && !(request && slot <= own_thread->gate && own_thread->gate_for == request))
        own_thread->gate = 0;
}

#endif
