/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/gfid.h"

#include <errno.h>
#include <stdio.h>

const gfid_t gfid_root = { { [15] = 1 } };

guint
gfid_hash (gconstpointer gfid)
{
    const uint8_t *b = ((const gfid_t *) gfid)->b;
    uint64_t high, low;

    memcpy (&high, b, 8);
    memcpy (&low, b + 8, 8);
    /* A derived gfid is mostly an inode number; this spreads the bits. */
    uint64_t h = (high ^ (low * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
    return (guint) (h >> 32);
}

gboolean
gfid_same (gconstpointer a, gconstpointer b)
{
    return gfid_equal (a, b);
}

gfid_t
gfid_of_bytes (const void *bytes, size_t size)
{
    g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
    uint8_t digest[32];
    gsize length = sizeof digest;
    gfid_t gfid;

    g_checksum_update (sum, bytes, size);
    g_checksum_get_digest (sum, digest, &length);
    memcpy (gfid.b, digest, sizeof gfid.b);
    gfid.b[6] = 0x80 | (gfid.b[6] & 0x0f);
    gfid.b[8] = 0x80 | (gfid.b[8] & 0x3f);
    return gfid;
}

const char *
gfid_text (const gfid_t *gfid, char text[GFID_TEXT_SIZE])
{
    const uint8_t *b = gfid->b;

    snprintf (text, GFID_TEXT_SIZE,
              "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
              b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
              b[15]);
    return text;
}

int
gfid_parse (const char *text, gfid_t *ret_gfid)
{
    gfid_t gfid;
    unsigned i = 0;

    for (const char *p = text; *p; p++) {
        if (*p == '-' && (p - text == 8 || p - text == 13 || p - text == 18 || p - text == 23))
            continue;
        int high = g_ascii_xdigit_value (p[0]);
        int low = high < 0 ? -1 : g_ascii_xdigit_value (p[1]);
        if (low < 0 || i == sizeof gfid.b)
            return -EINVAL;
        gfid.b[i++] = (uint8_t) (high << 4 | low);
        p++;
    }
    if (i != sizeof gfid.b || strlen (text) != GFID_TEXT_SIZE - 1)
        return -EINVAL;
    *ret_gfid = gfid;
    return 0;
}
