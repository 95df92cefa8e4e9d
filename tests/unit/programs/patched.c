/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Patches calls into functions and removes them while threads run in the functions. Uses only the
 * patcher and the hooks of Windlass, so it can be built for another processor and run in qemu. The
 * exit status is 0 if all results are correct.
 */
#include "trace/functions/hook.h"
#include "trace/functions/patch.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#define CHECK(condition_)                                                                          \
    do {                                                                                           \
        if (!(condition_)) {                                                                       \
            printf ("patched.c:%d: %s\n", __LINE__, #condition_);                                  \
            exit (1);                                                                              \
        }                                                                                          \
    } while (0)

#define UNTRACED __attribute__ ((patchable_function_entry (0, 0)))
#ifdef __clang__ /* it makes no clones */
#define TRACED __attribute__ ((noinline))
#else
#define TRACED __attribute__ ((noinline, noclone))
#endif

extern const uintptr_t __start___patchable_function_entries[],
    __stop___patchable_function_entries[];

/* --- traced functions: arguments in all kinds of registers, and on the stack --- */

struct pair {
    long a, b;
};

TRACED long
fibonacci (long n)
{
    return n < 2 ? n : fibonacci (n - 1) + fibonacci (n - 2);
}

TRACED double
mixed (int a, double b, long c, float d, long e, long f, long g, long h, long i, double j)
{
    return a + b + c + d + e + f + g + h + i + j;
}

TRACED struct pair
pair_of (long a, long b)
{
    return (struct pair){ b, a };
}

TRACED __int128
wide (int n, ...)
{
    __builtin_va_list args;
    __int128 sum = 0;

    __builtin_va_start (args, n);
    for (int i = 0; i < n; i++)
        sum += (__int128) __builtin_va_arg (args, long) << 40;
    __builtin_va_end (args);
    return sum;
}

TRACED int
deep (int n)
{
    volatile int below = n > 0 ? deep (n - 1) : 0;

    return below + 1;
}

static jmp_buf out;

TRACED void
jump (int n)
{
    if (n == 0)
        longjmp (out, 1);
    if (n > 0)
        jump (n - 1);
    __asm__ volatile ("");
}

/* --- backtraces --- */

struct seen {
    const void *wanted;
    int frames, hooks;
    bool found;
};

UNTRACED static _Unwind_Reason_Code
look (struct _Unwind_Context *context, void *data)
{
    struct seen *seen = data;

    seen->frames++;
    seen->hooks += _Unwind_GetIP (context) == (uintptr_t) hook_return;
    seen->found = seen->found
               || _Unwind_FindEnclosingFunction ((void *) _Unwind_GetIP (context)) == seen->wanted;
    return _URC_NO_REASON;
}

TRACED int
backtraced (int n, struct seen *seen)
{
    if (n > 0)
        return backtraced (n - 1, seen) + 1;
    _Unwind_Backtrace (look, seen);
    return 0;
}

/* --- on and off --- */

static struct patch_module module;

UNTRACED static int
compare (const void *a, const void *b)
{
    const struct patch_site *left = a, *right = b;

    return left->room < right->room ? -1 : left->room > right->room;
}

UNTRACED static void
sites_read (void)
{
    module.count = __stop___patchable_function_entries - __start___patchable_function_entries;
    module.sites = calloc (module.count, sizeof *module.sites);
    for (size_t i = 0; i < module.count; i++) {
        module.sites[i].room = __start___patchable_function_entries[i];
        patch_look (&module.sites[i]);
        CHECK (module.sites[i].jump && !module.sites[i].on);
    }
    qsort (module.sites, module.count, sizeof *module.sites, compare);
}

UNTRACED static void
turn (bool on)
{
    struct patch_module *const modules[] = { &module };
    const char *what = NULL;
    int r;

    for (size_t i = 0; i < module.count; i++)
        module.sites[i].wanted = on;
    r = patch_apply (modules, 1, &what);
    if (r < 0) {
        printf ("needs %s: %s\n", what, strerror (-r));
        exit (77);
    }
    for (size_t i = 0; i < module.count; i++)
        CHECK (module.sites[i].on == on && patch_is_on (&module.sites[i]) == on);
}

UNTRACED static void
work (void)
{
    const struct pair pair = pair_of (5, 7);

    CHECK (fibonacci (12) == 144);
    CHECK (mixed (1, 2, 3, 4, 5, 6, 7, 8, 9, 10) == 55);
    CHECK (pair.a == 7 && pair.b == 5);
    CHECK (wide (3, 1L, 2L, 3L) == (__int128) 6 << 40);
}

static int stop; /* atomic */

UNTRACED static void *
worker (void *data)
{
    long *rounds = data;

    while (!__atomic_load_n (&stop, __ATOMIC_RELAXED) || *rounds < 10) {
        work ();
        ++*rounds;
    }
    return NULL;
}

/* --- tests --- */

/* Returns the number of calls of a function that this thread has recorded since head. */
UNTRACED static int
recorded (const void *function, uint64_t since)
{
    const struct hook_thread *thread = hook_self ();
    int n = 0;

    for (uint64_t i = since; i < thread->head; i++) {
        const struct hook_call *call = &thread->ring[i & thread->mask];

        CHECK (call->begin <= call->end);
        n += HOOK_ADDRESS (call->function) == (uintptr_t) function;
    }
    return n;
}

UNTRACED static void
test_records (void)
{
    const uint64_t head = hook_self ()->head;

    CHECK (fibonacci (10) == 55);
    CHECK (recorded (fibonacci, head) == 177);
    CHECK (hook_self ()->top == hook_self ()->open);
}

/* Deeper than the hooks can record: the remaining calls are not recorded, but return correctly. */
UNTRACED static void
test_depth (void)
{
    const uint64_t head = hook_self ()->head;

    CHECK (deep (HOOK_DEPTH + 99) == HOOK_DEPTH + 100);
    CHECK (recorded (deep, head) == HOOK_DEPTH);
    CHECK (hook_self ()->deep == 100);
}

/* Calls that never return are forgotten with the next return of a call that contained them. */
TRACED void
test_jump (void)
{
    if (setjmp (out) == 0)
        jump (10);
}

UNTRACED static void
test_backtrace (bool hooked)
{
    struct seen seen = { .wanted = test_backtrace };

    CHECK (backtraced (5, &seen) == 5);
    CHECK (seen.found);
    CHECK (seen.hooks == (hooked ? 6 : 0));
}

/* Calls that have not returned when the trace stops, and calls that begin then. */
TRACED int
test_stop_inside (int n)
{
    turn (n % 2);
    return n > 0 ? test_stop_inside (n - 1) + 1 : 0;
}

int UNTRACED
main (int argc, char **argv)
{
    const int times = argc > 1 ? atoi (argv[1]) : 1000;
    long rounds[3] = { 0 };
    pthread_t threads[3];

    sites_read ();
    test_backtrace (false);
    hook.ring = 4096;
    hook.cycles = 1;
    hook.on = 1;
    for (int i = 0; i < 3; i++)
        CHECK (pthread_create (&threads[i], NULL, worker, &rounds[i]) == 0);
    turn (true);
    test_records ();
    test_depth ();
    test_jump ();
    CHECK (hook_self ()->top == hook_self ()->open);
    test_backtrace (true);
    CHECK (test_stop_inside (9) == 9);
    for (int i = 0; i < times; i++) {
        turn (true);
        work ();
        turn (false);
        work ();
    }
    __atomic_store_n (&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        pthread_join (threads[i], NULL);
    test_backtrace (false);
    printf ("%d times, %ld rounds beside\n", times, rounds[0] + rounds[1] + rounds[2]);
    return 0;
}
