/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls put into functions that run, and taken out again, while threads are in them. What this
 * processor does is in patch-x86.c and patch-arm64.c.
 *
 * Each function is compiled with room before its entry, and with something at the entry that does
 * nothing. The call is written into the room while nobody can come there, and stays there for ever.
 * Then, in steps that any processor may see early or late, the entry becomes a jump back into the
 * room. Each step changes what one instruction fetch reads at once, and whatever mixture of steps a
 * thread meets does nothing or calls. Between two steps membarrier has each processor forget what
 * it fetched. So nobody is stopped, and nothing traps, which a debugger would hear of.
 */
#ifndef WINDLASS_TRACE_FUNCTIONS_PATCH_H
#define WINDLASS_TRACE_FUNCTIONS_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function that can be traced. */
struct patch_site {
    uintptr_t room;   /* as the compiler noted it */
    uintptr_t entry;  /* its symbol's; what hook_entry is told */
    uintptr_t jump;   /* where the entry is changed; 0: these aren't bytes that we know, */
    bool taken;       /* but perhaps those of a debugger's breakpoint */
    const char *name; /* NULL: its symbol isn't known */
    bool wanted;      /* shall it be traced? */
    bool on;          /* is it? */
    bool stuck;       /* somebody else has changed its bytes meanwhile, such as a debugger */
};

/* Of one loaded file; sites are sorted by address. */
struct patch_module {
    struct patch_site *sites;
    size_t count;
    void *page; /* near enough for a call from each room; leads to hook_entry. NULL: not made yet */
    bool open;  /* its code can be written to */
};

/* Finds out what there is at site->room. */
void patch_look (struct patch_site *site);

/* Makes each site of the modules be what it is wanted to be, as far as it can: where a debugger has
 * a breakpoint it is left as it is, and on says so. 0; or a negative errno when the kernel refuses,
 * nothing was changed, and *ret_what was. */
int patch_apply (struct patch_module *const *modules, size_t count, const char **ret_what);

/* Has all processors that run this process see what was written, as data and as instructions. 0, or
 * a negative errno. */
int patch_barrier (void);

/* --- of the processor --- */

#define PATCH_STEPS 2 /* of each way */
#if defined __x86_64__
#define PATCH_REACH (UINT64_C (0x7f000000)) /* of the call in a room */
#else
#define PATCH_REACH (UINT64_C (0x7000000))
#endif

/* Fills a page that leads to hook_entry. */
void patch_page (void *page);
/* Writes the call into the room, or finds it there. false: something else is there. */
bool patch_room (const struct patch_site *site, const void *page);
/* A step on the way in, or out. false: something else is there; nothing was changed. */
bool patch_step (const struct patch_site *site, int step, bool in);
bool patch_is_on (const struct patch_site *site);

#endif
