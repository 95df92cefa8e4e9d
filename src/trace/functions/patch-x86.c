/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * x86-64, with -fpatchable-function-entry=7,5: five bytes of room, and two bytes at the entry.
 *
 *   off        90 90   nop; nop      or 66 90, a nop of two bytes, by other compilers
 *   half way   90 f9   nop; stc      the carry flag has no meaning at a function's entry
 *   on         eb f9   jmp -7        to the room: e8 ........ call page
 *
 * Each step changes one byte. A thread that is between the two bytes, or saw only the first change,
 * executes stc or nop and goes on.
 *
 * Or with -fpatchable-function-entry=5,5 -fcf-protection=branch: five bytes of room, and endbr64 at
 * the entry, which does nothing unless branches are guarded. No thread is within that single
 * instruction, and the jump replaces its first two bytes at once. If these two bytes are on both
 * sides of a boundary over which a processor does not store atomically, the function is left alone.
 *
 *   off        f3 0f 1e fa   endbr64
 *   on         eb f9 1e fa   jmp -7
 *
 * CFLAGS with -fcf-protection, as Debian's packages are built, put an endbr64 before the two nops
 * of the first kind, and it is patched as in the second. Traced functions return elsewhere than
 * they were called from, which a shadow stack would not allow: hook-x86.S does not say that it
 * supports one, so the linker does not mark the program for it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#if defined HAVE_FUNCTION_GRAPH && defined __x86_64__

#include "trace/functions/hook.h"
#include "trace/functions/patch.h"

#include <string.h>

#define ROOM 5

#define JUMP 0xeb
#define BACK 0xf9 /* the distance to the room; alone, stc */
#define ENDBR_HALF 0x0ff3 /* as read from memory */
#define JUMP_BOTH 0xf9eb

static const uint8_t nops[] = { 0x90, 0x90, 0x90, 0x90, 0x90 },
                     long_nop[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

/* Returns true if the entry had endbr64. */
static bool
is_whole (const struct patch_site *site)
{
    const uint8_t *at = (const uint8_t *) site->jump;

    return at[2] == 0x1e && at[3] == 0xfa;
}

static bool
is_off (const struct patch_site *site)
{
    const uint8_t *at = (const uint8_t *) site->jump;

    if (is_whole (site))
        return at[0] == 0xf3 && at[1] == 0x0f && site->jump % 8 != 7;
    return (at[0] == 0x90 || at[0] == 0x66) && (at[1] == 0x90 || at[1] == BACK);
}

bool
patch_is_on (const struct patch_site *site)
{
    const uint8_t *at = (const uint8_t *) site->jump;

    return at[0] == JUMP && at[1] == BACK;
}

void
patch_look (struct patch_site *site)
{
    site->jump = site->entry = site->room + ROOM;
    site->on = patch_is_on (site);
    site->taken = *(const uint8_t *) site->entry == 0xcc;
    if (!site->on && !is_off (site))
        site->jump = 0;
}

void
patch_page (void *page)
{
    static const uint8_t jump[] = { 0xff, 0x25, 0, 0, 0, 0 }; /* jmp *(the next 8 bytes) */
    const uint64_t to = (uintptr_t) hook_entry;

    memcpy (page, jump, sizeof jump);
    memcpy ((uint8_t *) page + sizeof jump, &to, sizeof to);
}

/* memcmp is not used: a sanitizer replaces it. */
static bool
patch_is_same (const uint8_t *room, const uint8_t *bytes)
{
    for (unsigned i = 0; i < ROOM; i++)
        if (room[i] != bytes[i])
            return false;
    return true;
}

bool
patch_room (const struct patch_site *site, const void *page)
{
    const int32_t distance = (uintptr_t) page - (site->room + ROOM);
    uint8_t *room = (uint8_t *) site->room, call[ROOM] = { 0xe8 };

    memcpy (call + 1, &distance, sizeof distance);
    if (patch_is_same (room, call))
        return true;
    if (!patch_is_same (room, nops) && !patch_is_same (room, long_nop))
        return false;
    for (unsigned i = 0; i < ROOM; i++)
        __atomic_store_n (&room[i], call[i], __ATOMIC_RELAXED);
    return true;
}

static bool
change (uint8_t *byte, uint8_t from, uint8_t to)
{
    return __atomic_compare_exchange_n (byte, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

bool
patch_step (const struct patch_site *site, int step, bool in)
{
    uint8_t *at = (uint8_t *) site->jump;
    uint16_t before = in ? ENDBR_HALF : JUMP_BOTH;

    if (is_whole (site))
        return step == (in ? 0 : 1)
            || __atomic_compare_exchange_n ((uint16_t *) at, &before, in ? JUMP_BOTH : ENDBR_HALF,
                                            false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    if (in && step == 0)
        return (at[0] == 0x90 || at[0] == 0x66) && (at[1] == BACK || change (at + 1, 0x90, BACK));
    if (in)
        return change (at, 0x90, JUMP) || change (at, 0x66, JUMP);
    return step == 0 ? change (at, JUMP, 0x90) : change (at + 1, BACK, 0x90);
}

#endif
