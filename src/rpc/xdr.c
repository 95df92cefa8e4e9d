/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/xdr.h"

#include <glib.h>
#include <string.h>

#define UNIT 4

static size_t
xdr_padded (size_t size)
{
    return (size + UNIT - 1) & ~(size_t) (UNIT - 1);
}

/* --- writing ---------------------------------------------------------------------------------- */

void
xdr_out_init (struct xdr_out *out)
{
    out->bytes = out->within;
    out->used = 0;
    out->room = sizeof out->within;
}

void
xdr_out_clear (struct xdr_out *out)
{
    if (out->bytes != out->within)
        g_free (out->bytes);
    xdr_out_init (out);
}

static uint8_t *
out_take (struct xdr_out *out, size_t size)
{
    uint8_t *at;

    if (out->room - out->used < size) {
        uint8_t *old = out->bytes;

        out->room = (out->used + size) * 2;
        out->bytes = g_malloc (out->room);
        memcpy (out->bytes, old, out->used);
        if (old != out->within)
            g_free (old);
    }
    at = out->bytes + out->used;
    out->used += size;
    return at;
}

void
xdr_put_u32 (struct xdr_out *out, uint32_t value)
{
    const uint32_t wire = GUINT32_TO_BE (value);

    memcpy (out_take (out, sizeof wire), &wire, sizeof wire);
}

void
xdr_put_u64 (struct xdr_out *out, uint64_t value)
{
    const uint64_t wire = GUINT64_TO_BE (value);

    memcpy (out_take (out, sizeof wire), &wire, sizeof wire);
}

void
xdr_put_fixed (struct xdr_out *out, const void *bytes, size_t size)
{
    uint8_t *at = out_take (out, xdr_padded (size));

    if (size > 0)
        memcpy (at, bytes, size);
    memset (at + size, 0, xdr_padded (size) - size);
}

void
xdr_put_opaque (struct xdr_out *out, const void *bytes, size_t size)
{
    xdr_put_u32 (out, (uint32_t) size);
    xdr_put_fixed (out, bytes, size);
}

void
xdr_put_string (struct xdr_out *out, const char *text)
{
    xdr_put_opaque (out, text, strlen (text));
}

void
xdr_set_u32 (struct xdr_out *out, size_t at, uint32_t value)
{
    const uint32_t wire = GUINT32_TO_BE (value);

    memcpy (out->bytes + at, &wire, sizeof wire);
}

/* --- reading ---------------------------------------------------------------------------------- */

const void *
xdr_get_fixed (struct xdr_in *in, size_t size)
{
    const void *at = in->at;

    if (in->failed || size > xdr_left (in) || xdr_padded (size) > xdr_left (in)) {
        in->failed = true;
        in->at = in->end;
        return NULL;
    }
    in->at += xdr_padded (size);
    return at;
}

uint32_t
xdr_get_u32 (struct xdr_in *in)
{
    const void *at = xdr_get_fixed (in, sizeof (uint32_t));
    uint32_t wire = 0;

    if (at)
        memcpy (&wire, at, sizeof wire);
    return GUINT32_FROM_BE (wire);
}

uint64_t
xdr_get_u64 (struct xdr_in *in)
{
    const void *at = xdr_get_fixed (in, sizeof (uint64_t));
    uint64_t wire = 0;

    if (at)
        memcpy (&wire, at, sizeof wire);
    return GUINT64_FROM_BE (wire);
}

const void *
xdr_get_opaque (struct xdr_in *in, size_t max, size_t *ret_size)
{
    const size_t size = xdr_get_u32 (in);
    const void *at = NULL;

    if (size > max)
        in->failed = true;
    else
        at = xdr_get_fixed (in, size);
    *ret_size = at ? size : 0;
    return at;
}

char *
xdr_get_string (struct xdr_in *in, size_t max)
{
    size_t size;
    const void *at = xdr_get_opaque (in, max, &size);

    if (!at)
        return NULL;
    if (memchr (at, '\0', size)) {
        in->failed = true;
        return NULL;
    }
    return g_strndup (at, size);
}
