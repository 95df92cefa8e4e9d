/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inserts calls into functions, and removes them, while threads execute them. patch-x86.c and
 * patch-arm64.c have the details of each processor.
 *
 * Each function is compiled with room before its entry, and with an instruction at the entry that
 * does nothing. The call is written into the room while it can't be reached, and stays there. Then,
 * in steps that a processor may see early or late, the entry becomes a jump back into the room.
 * Each step changes bytes that one instruction fetch reads at once, and each mixture of steps does
 * nothing or calls. Between two steps, membarrier makes each processor discard fetched
 * instructions. So no thread is stopped, and no instruction traps, which a debugger would notice.
 */
#ifndef WINDLASS_TRACE_FUNCTIONS_PATCH_H
#define WINDLASS_TRACE_FUNCTIONS_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function that can be traced. */
struct patch_site {
    uintptr_t room;   /* as listed by the compiler */
    uintptr_t entry;  /* address of the symbol; passed to hook_entry */
    uintptr_t jump;   /* address of the changed bytes at the entry; 0: the bytes there are not
                         known, */
    bool taken;       /* but may be those of a debugger's breakpoint */
    const char *name; /* NULL: the symbol isn't known */
    bool wanted;      /* to be traced */
    bool on;          /* is traced */
    bool stuck;       /* another program, such as a debugger, has changed its bytes meanwhile */
};

/* A loaded file; sites are sorted by address. */
struct patch_module {
    struct patch_site *sites;
    size_t count;
    void *page; /* within reach of a call from each room; leads to hook_entry. NULL: not made yet */
    bool open;  /* its code is writable */
};

/* Examines the bytes at site->room. */
void patch_look (struct patch_site *site);

/* Traces each site of the modules as wanted, as far as possible: a site with a debugger's
 * breakpoint stays as it is, and `on` tells. Returns 0; or a negative errno if the kernel refuses,
 * with nothing changed and *ret_what set. */
int patch_apply (struct patch_module *const *modules, size_t count, const char **ret_what);

/* Makes all processors that run this process see written data and instructions. Returns 0 or a
 * negative errno. */
int patch_barrier (void);

/* --- depends on the processor --- */

#define PATCH_STEPS 2 /* of each direction */
#if defined __x86_64__
#define PATCH_REACH (UINT64_C (0x7f000000)) /* distance that the call in a room reaches */
#else
#define PATCH_REACH (UINT64_C (0x7000000))
#endif

/* Fills in a page that leads to hook_entry. */
void patch_page (void *page);
/* Writes the call into the room, or finds it there. Returns false if other bytes are there. */
bool patch_room (const struct patch_site *site, const void *page);
/* A step of switching on or off. Returns false if other bytes are there; then nothing was
 * changed. */
bool patch_step (const struct patch_site *site, int step, bool in);
bool patch_is_on (const struct patch_site *site);

#endif
