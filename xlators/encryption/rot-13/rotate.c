/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rot13.h"

/* -O2 alone leaves the loop at a byte a turn. */
#if defined __OPTIMIZE__ && !defined __clang__
#define ROT13_VECTORISED __attribute__ ((optimize ("O3")))
#else
#define ROT13_VECTORISED
#endif

/* Without a branch, so that it goes as many bytes at a time as the processor's registers have: a
 * letter's place in the alphabet is below 26 in either case, any other byte's isn't. */
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

/* Every x86-64 has registers of 16 bytes; these have 32 and 64. */
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

/* Bytes that were the caller's alone are changed in place, without a reference: so the next
 * translator may change them in place, too. */
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
