/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encryption/rot-13: the rotation of bytes. */
#ifndef WINDLASS_ROT_13_H
#define WINDLASS_ROT_13_H

#include <stddef.h>

/* At -O2 alone, gcc does not vectorise the loop: it handles one byte per iteration. */
#if defined __OPTIMIZE__ && !defined __clang__
#define ROT13_VECTORISED __attribute__ ((optimize ("O3")))
#else
#define ROT13_VECTORISED
#endif

/* The loop has no branch, so that the compiler can vectorise it. A letter's index in the alphabet
 * is below 26 in either case; the index of any other byte is 26 or more. */
static inline __attribute__ ((always_inline)) ROT13_VECTORISED void
rot13_loop (unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned char place = (bytes[i] | 0x20) - 'a';
        const unsigned char up = place < 13 ? 13 : 0;
        const unsigned char down = place >= 13 && place < 26 ? 13 : 0;

        bytes[i] += up - down;
    }
}

static ROT13_VECTORISED void
rot13_any (unsigned char *bytes, size_t size)
{
    rot13_loop (bytes, size);
}

#if defined __x86_64__ && defined __OPTIMIZE__ && !defined __clang__

/* Every x86-64 has 16-byte registers. The variants below use registers of 32 and 64 bytes. */
static ROT13_VECTORISED __attribute__ ((target ("avx2"))) void
rot13_avx2 (unsigned char *bytes, size_t size)
{
    rot13_loop (bytes, size);
}

static ROT13_VECTORISED __attribute__ ((target ("avx512bw,prefer-vector-width=512"))) void
rot13_avx512 (unsigned char *bytes, size_t size)
{
    rot13_loop (bytes, size);
}

static void
rot13_bytes (unsigned char *bytes, size_t size)
{
    if (__builtin_cpu_supports ("avx512bw"))
        rot13_avx512 (bytes, size);
    else if (__builtin_cpu_supports ("avx2"))
        rot13_avx2 (bytes, size);
    else
        rot13_any (bytes, size);
}

#else

static void
rot13_bytes (unsigned char *bytes, size_t size)
{
    rot13_any (bytes, size);
}

#endif

#endif
