/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Catches accesses to lent memory, and crashes. The signal is synchronous: raised by the faulting
 * instruction, which is a translator's. So the handler may do more than one that interrupts
 * arbitrary code.
 */
#include "conform/inprocess/inprocess.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

static void (*fault_crashed) (const char *text);

/* The place in a translator that the thread is at, or that called the current code. */
static char *
fault_place (const ucontext_t *context)
{
    const void *at = NULL;

#if defined __x86_64__
    at = (const char *) context->uc_mcontext.gregs[REG_RIP] + 1;
#elif defined __aarch64__
    at = (const char *) context->uc_mcontext.pc + 1;
#endif
    if (!at || !place_type (at)) {
        const void *caller = place_in_stack ();
        at = caller ? caller : at;
    }
    return place_name (at);
}

static void
fault_tell (const struct loan *loan, const void *address, const char *place)
{
    if (loan->local)
        finding_add ("local used after its request", loan->to, loan->op,
                     "%s touches frame->local of a request that is over", place);
    else if (loan->sealed)
        finding_add ("lent memory changed", loan->to, loan->op,
                     "%s writes to %s of %s that it was lent", place, loan_part (loan, address),
                     loan->up ? "an answer" : "a call");
    else
        finding_add ("lent memory used later", loan->to, loan->op,
                     "%s touches %s of %s that is over: it kept no reference or copy", place,
                     loan_part (loan, address), loan->up ? "an answer" : "a call");
}

static void
fault_caught (int number, siginfo_t *info, void *context)
{
    const int error = errno;
    struct loan *loan = number == SIGSEGV || number == SIGBUS ? loan_of (info->si_addr) : NULL;
    g_autofree char *place = fault_place (context);

    if (!loan || __atomic_fetch_add (&loan->faults, 1, __ATOMIC_RELAXED) > 100) {
        g_autofree char *text = g_strdup_printf ("crash: %s in %s", strsignal (number), place);
        signal (number, SIG_DFL);
        fault_crashed (text);
        return;
    }
    fault_tell (loan, info->si_addr, place);
    loan_open (loan);
    errno = error;
}

void
faults_catch (void (*crashed) (const char *text))
{
    struct sigaction action = { .sa_sigaction = fault_caught, .sa_flags = SA_SIGINFO | SA_NODEFER };
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

    fault_crashed = crashed;
    for (size_t i = 0; i < G_N_ELEMENTS (numbers); i++)
        sigaction (numbers[i], &action, NULL);
}
