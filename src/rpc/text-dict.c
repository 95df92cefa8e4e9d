/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/text-dict.h"

#include <string.h>

#define SIZE_MAX_ALLOWED (1 << 20)

/* The format: the number of pairs; then of each pair the length of the key, the length of the
 * value, the key with a NUL, the value with a NUL. The length of a value counts its NUL; the length
 * of a key doesn't. */
void
text_dict_put (struct xdr_out *out, const dict_t *dict)
{
    g_autoptr (GByteArray) bytes = g_byte_array_new ();
    const size_t n = dict_count (dict);
    uint32_t number = GUINT32_TO_BE ((uint32_t) n);
    const char *key;
    const void *value;
    size_t size;

    g_byte_array_append (bytes, (uint8_t *) &number, sizeof number);
    for (size_t i = 0; i < n; i++) {
        dict_nth (dict, i, &key, &value, &size);
        number = GUINT32_TO_BE ((uint32_t) strlen (key));
        g_byte_array_append (bytes, (uint8_t *) &number, sizeof number);
        number = GUINT32_TO_BE ((uint32_t) size + 1);
        g_byte_array_append (bytes, (uint8_t *) &number, sizeof number);
        g_byte_array_append (bytes, (const uint8_t *) key, (guint) strlen (key) + 1);
        g_byte_array_append (bytes, value, (guint) size + 1);
    }
    xdr_put_opaque (out, bytes->data, bytes->len);
}

static uint32_t
text_dict_take_u32 (const uint8_t **at, const uint8_t *end, bool *failed)
{
    uint32_t number = 0;

    if (end - *at < (ptrdiff_t) sizeof number) {
        *failed = true;
        return 0;
    }
    memcpy (&number, *at, sizeof number);
    *at += sizeof number;
    return GUINT32_FROM_BE (number);
}

/* Moves one pair from *at into dict. Returns false if the bytes are not in the format. */
static bool
text_dict_take_pair (const uint8_t **at, const uint8_t *end, dict_t *dict)
{
    bool failed = false;
    const size_t key_size = text_dict_take_u32 (at, end, &failed),
                 size = text_dict_take_u32 (at, end, &failed);
    const char *key = (const char *) *at;

    if (failed || key_size >= SIZE_MAX_ALLOWED || size >= SIZE_MAX_ALLOWED
        || key_size + 1 + size > (size_t) (end - *at) || strnlen (key, key_size + 1) != key_size)
        return false;
    *at += key_size + 1;
    dict_set (dict, key, *at, size > 0 && (*at)[size - 1] == '\0' ? size - 1 : size);
    *at += size;
    return true;
}

dict_t *
text_dict_get (struct xdr_in *in)
{
    g_autoptr (dict_t) dict = dict_new ();
    bool failed = false;
    size_t size;
    const uint8_t *at = xdr_get_opaque (in, SIZE_MAX_ALLOWED, &size), *end = at + size;
    uint32_t n;

    if (!at || size == 0)
        return in->failed ? NULL : g_steal_pointer (&dict);
    n = text_dict_take_u32 (&at, end, &failed);
    for (uint32_t i = 0; i < n && !failed; i++)
        failed = !text_dict_take_pair (&at, end, dict);
    in->failed = in->failed || failed;
    return failed ? NULL : g_steal_pointer (&dict);
}
