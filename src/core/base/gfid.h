/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The 128-bit identity of an inode. */
#ifndef WINDLASS_CORE_BASE_GFID_H
#define WINDLASS_CORE_BASE_GFID_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct gfid {
    uint8_t b[16];
} gfid_t;

#define GFID_TEXT_SIZE 37 /* 36 characters and a NUL */

/* The root of every graph has this gfid, as in GlusterFS: 00000000-0000-0000-0000-000000000001. */
extern const gfid_t gfid_root;

static inline bool
gfid_equal (const gfid_t *a, const gfid_t *b)
{
    return memcmp (a, b, sizeof *a) == 0;
}

static inline bool
gfid_is_null (const gfid_t *gfid)
{
    static const gfid_t null;
    return gfid_equal (gfid, &null);
}

/* Hash and equality for a GHashTable whose keys are gfid_t *. */
guint gfid_hash (gconstpointer gfid);
gboolean gfid_same (gconstpointer a, gconstpointer b);

/* Derives a gfid from bytes. Equal bytes give the same gfid, other bytes another (SHA-256, cut to
 * 128 bits and marked as a version 8 UUID, RFC 9562). */
gfid_t gfid_of_bytes (const void *bytes, size_t size);

/* Writes 8-4-4-4-12 hexadecimal digits to text, and returns it. */
const char *gfid_text (const gfid_t *gfid, char text[GFID_TEXT_SIZE]);

/* Parses the output of gfid_text. 0, or -EINVAL. */
int gfid_parse (const char *text, gfid_t *ret_gfid);

#endif
