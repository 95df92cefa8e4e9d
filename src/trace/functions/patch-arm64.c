/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * AArch64, with -fpatchable-function-entry=3,2: two instructions of room, and one at the entry.
 *
 *   off   nop
 *   on    b room     mov x9, x30; bl page
 *
 * The architecture permits replacing a nop by a branch, and back, while other threads execute them.
 * In a function that begins with a landing pad (bti), the instruction after it is replaced.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#if defined HAVE_FUNCTION_GRAPH && defined __aarch64__

#include "trace/functions/hook.h"
#include "trace/functions/patch.h"

#include <string.h>

#define ROOM 8
#define NOP UINT32_C (0xd503201f)
#define KEEP UINT32_C (0xaa1e03e9) /* mov x9, x30 */

static uint32_t
branch (uint32_t op, uintptr_t from, uintptr_t to)
{
    return op | (((intptr_t) (to - from) >> 2) & 0x3ffffff);
}

static uint32_t
jump_of (const struct patch_site *site)
{
    return branch (0x14000000, site->jump, site->room);
}

static uint32_t
at (uintptr_t place)
{
    return __atomic_load_n ((const uint32_t *) place, __ATOMIC_RELAXED);
}

bool
patch_is_on (const struct patch_site *site)
{
    return at (site->jump) == jump_of (site);
}

void
patch_look (struct patch_site *site)
{
    site->entry = site->room + ROOM;
    site->jump = (at (site->entry) & ~UINT32_C (0x80)) == 0xd503245f ? site->entry + 4
                                                                     : site->entry;
    site->on = patch_is_on (site);
    site->taken = (at (site->jump) & 0xffe0001f) == 0xd4200000; /* brk */
    if (!site->on && at (site->jump) != NOP)
        site->jump = 0;
}

void
patch_page (void *page)
{
    static const uint32_t jump[] = { 0x58000050, 0xd61f0200 }; /* ldr x16, (the next 8 bytes); br
                                                                  x16 */
    const uint64_t to = (uintptr_t) hook_entry;

    memcpy (page, jump, sizeof jump);
    memcpy ((uint8_t *) page + sizeof jump, &to, sizeof to);
    __builtin___clear_cache ((char *) page, (char *) page + sizeof jump);
}

static void
put (uintptr_t place, uint32_t instruction)
{
    __atomic_store_n ((uint32_t *) place, instruction, __ATOMIC_SEQ_CST);
    __builtin___clear_cache ((char *) place, (char *) place + 4);
}

bool
patch_room (const struct patch_site *site, const void *page)
{
    const uint32_t call = branch (0x94000000, site->room + 4, (uintptr_t) page);

    if (at (site->room) == KEEP && at (site->room + 4) == call)
        return true;
    if (at (site->room) != NOP || at (site->room + 4) != NOP)
        return false;
    put (site->room, KEEP);
    put (site->room + 4, call);
    return true;
}

/* One step suffices. It is the second step of switching on, when all processors see the room, and
 * the first step of switching off. */
bool
patch_step (const struct patch_site *site, int step, bool in)
{
    const uint32_t from = in ? NOP : jump_of (site), to = in ? jump_of (site) : NOP;

    if (step == (in ? 0 : 1))
        return true;
    if (at (site->jump) != from)
        return false;
    put (site->jump, to);
    return true;
}

#endif
