/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/data/origin.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define ORIGIN_VERSION 0
#define ORIGIN_MAGIC 0xfb
#define ORIGIN_BIG_ENDIAN 1u
#define ORIGIN_ANY_ENDIAN 2u
#define ORIGIN_UPPER 4u
#define ORIGIN_FLAGS (ORIGIN_BIG_ENDIAN | ORIGIN_ANY_ENDIAN | ORIGIN_UPPER)
#define ORIGIN_OUR_ENDIAN (__BYTE_ORDER == __BIG_ENDIAN ? ORIGIN_BIG_ENDIAN : 0)

size_t
origin_encode (const struct origin *origin, unsigned char ret_bytes[ORIGIN_MAX])
{
    const size_t size = ORIGIN_HEAD + origin->size;
    const unsigned char head[] = { ORIGIN_VERSION, ORIGIN_MAGIC, (unsigned char) size,
                                   (unsigned char) (ORIGIN_OUR_ENDIAN
                                                    | (origin->upper ? ORIGIN_UPPER : 0)),
                                   (unsigned char) origin->type };

    if (origin->type < 0 || origin->type > 255 || origin->size == 0
        || origin->size > ORIGIN_HANDLE_MAX)
        return 0;
    memcpy (ret_bytes, head, sizeof head);
    memcpy (ret_bytes + sizeof head, origin->uuid, sizeof origin->uuid);
    memcpy (ret_bytes + ORIGIN_HEAD, origin->handle, origin->size);
    return size;
}

/* The handle's numbers are in the byte order of the machine that made it. */
static bool
origin_is_known (unsigned version, unsigned flags)
{
    return version <= ORIGIN_VERSION && (flags & ~ORIGIN_FLAGS) == 0
        && (flags & ORIGIN_ANY_ENDIAN || (flags & ORIGIN_BIG_ENDIAN) == ORIGIN_OUR_ENDIAN);
}

int
origin_decode (const void *bytes, size_t size, struct origin *ret_origin)
{
    const unsigned char *b = bytes;

    if (size == 0)
        return -ENODATA;
    if (size < ORIGIN_HEAD || b[1] != ORIGIN_MAGIC || b[2] > size)
        return -EINVAL;
    if (!origin_is_known (b[0], b[3]))
        return -ENODATA;
    if (b[2] <= ORIGIN_HEAD || b[2] - ORIGIN_HEAD > ORIGIN_HANDLE_MAX)
        return -EINVAL;
    *ret_origin = (struct origin){ .type = b[4], .size = b[2] - ORIGIN_HEAD,
                                   .upper = b[3] & ORIGIN_UPPER };
    memcpy (ret_origin->uuid, b + 5, sizeof ret_origin->uuid);
    memcpy (ret_origin->handle, b + ORIGIN_HEAD, ret_origin->size);
    return 0;
}
