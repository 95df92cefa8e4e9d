/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rot13.h"

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

static void
rot13_iovec (const struct iovec *vector, int count)
{
    for (int i = 0; i < count; i++)
        rot13_bytes (vector[i].iov_base, vector[i].iov_len);
}

/* Where the bytes were changed in place, *ret_copy is NULL: an extra reference would keep the next
 * translator from changing them in place too. */
int
rot13_rotate (const struct iovec *vector, int count, struct iobref *iobref,
              struct iovec *ret_vector, int *ret_count, struct iobref **ret_copy)
{
    struct iobref *held = NULL;
    const int r = iov_writable (vector, count, iobref, ret_vector, ret_count, &held);

    if (r < 0)
        return r;
    if (held == iobref) {
        iobref_unref (held);
        held = NULL;
    }
    rot13_iovec (ret_vector, *ret_count);
    *ret_copy = held;
    return 0;
}
