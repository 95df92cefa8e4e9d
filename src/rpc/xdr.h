/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * XDR (RFC 4506): big-endian units of four bytes.
 *
 * An xdr_out grows as values are written. An xdr_in reads bytes that a server sent, which may be
 * hostile. A value that exceeds the bytes, or a limit, sets `failed`; from then on every function
 * returns 0 or NULL. The caller may check `failed` once, after the last value.
 */
#ifndef WINDLASS_RPC_XDR_H
#define WINDLASS_RPC_XDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XDR_INLINE 448 /* bytes; enough for most calls, which so need no allocation */

struct xdr_out {
    uint8_t *bytes; /* points to `within`, or to memory from the heap */
    size_t used, room;
    uint8_t within[XDR_INLINE];
};

void xdr_out_init (struct xdr_out *out);
void xdr_out_clear (struct xdr_out *out);

void xdr_put_u32 (struct xdr_out *out, uint32_t value);
void xdr_put_u64 (struct xdr_out *out, uint64_t value);
void xdr_put_fixed (struct xdr_out *out, const void *bytes, size_t size); /* writes no length */
void xdr_put_opaque (struct xdr_out *out, const void *bytes, size_t size);
void xdr_put_string (struct xdr_out *out, const char *text);

/* Overwrites the four bytes at offset `at`, for a length that is known only after the bytes that
 * follow it are written. */
void xdr_set_u32 (struct xdr_out *out, size_t at, uint32_t value);

struct xdr_in {
    const uint8_t *at, *end;
    bool failed;
};

/* Returns a reader of `size` bytes. bytes may be NULL if size is 0. */
static inline struct xdr_in
xdr_in_of (const void *bytes, size_t size)
{
    const uint8_t *at = bytes ? bytes : "";

    return (struct xdr_in){ at, at + size, false };
}

uint32_t xdr_get_u32 (struct xdr_in *in);
uint64_t xdr_get_u64 (struct xdr_in *in);
static inline int32_t
xdr_get_i32 (struct xdr_in *in)
{
    return (int32_t) xdr_get_u32 (in);
}

/* Read bytes without and with a length before them. Both return a pointer to the bytes, in the
 * reader's memory; NULL after a failure. xdr_get_opaque fails if the length is larger than max. */
const void *xdr_get_fixed (struct xdr_in *in, size_t size);
const void *xdr_get_opaque (struct xdr_in *in, size_t max, size_t *ret_size);

/* Returns a copy of a string, to be freed with g_free; NULL after a failure. A string that contains
 * a NUL is a failure. */
char *xdr_get_string (struct xdr_in *in, size_t max);

static inline size_t
xdr_left (const struct xdr_in *in)
{
    return (size_t) (in->end - in->at);
}

#endif
