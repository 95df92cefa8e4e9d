/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records of a store, and its table in memory. */
#include "core/store/internal.h"

#include <errno.h>
#include <string.h>

/* The head of a record; numbers are little-endian. crc is that of what follows it, with key and
 * value, and of length. */
struct store_head {
    uint32_t length; /* of key and value */
    uint32_t crc;
    uint32_t key_length;
    uint32_t kind;
};

/* --- CRC32C (Castagnoli), bits reflected ------------------------------------------------------ */

static uint32_t crc_table[256];

static void __attribute__ ((constructor))
store_crc_init (void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;

        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
        crc_table[i] = crc;
    }
}

static uint32_t
store_crc (uint32_t crc, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    for (crc = ~crc; size > 0; size--, at++)
        crc = crc >> 8 ^ crc_table[(crc ^ *at) & 0xff];
    return ~crc;
}

/* Of a record whose head stands before its key and value. */
static uint32_t
store_record_crc (const uint8_t *record, uint32_t length)
{
    const size_t covered = sizeof (struct store_head) - offsetof (struct store_head, key_length);
    const uint32_t crc = store_crc (0, record, sizeof length);

    return store_crc (crc, record + offsetof (struct store_head, key_length), covered + length);
}

/* --- records ---------------------------------------------------------------------------------- */

uint64_t
store_record_size (const char *key, size_t size)
{
    return sizeof (struct store_head) + strlen (key) + size;
}

void
store_record_append (GByteArray *bytes, enum store_kind kind, const char *key, const void *value,
                     size_t size)
{
    const guint at = bytes->len;
    const uint32_t key_length = (uint32_t) strlen (key);
    const uint32_t length = key_length + (uint32_t) size;
    struct store_head head = { GUINT32_TO_LE (length), 0, GUINT32_TO_LE (key_length),
                               GUINT32_TO_LE (kind) };

    g_byte_array_append (bytes, (const guint8 *) &head, sizeof head);
    g_byte_array_append (bytes, (const guint8 *) key, key_length);
    if (size > 0)
        g_byte_array_append (bytes, value, (guint) size);
    head.crc = GUINT32_TO_LE (store_record_crc (bytes->data + at, length));
    memcpy (bytes->data + at, &head, sizeof head);
}

/* Returns the size of the record at an offset, and its head; 0 if there is none. */
static uint64_t
store_record_at (const GByteArray *bytes, uint64_t at, struct store_head *ret_head)
{
    struct store_head head;

    if (bytes->len - at < sizeof head)
        return 0;
    memcpy (&head, bytes->data + at, sizeof head);
    head = (struct store_head){ GUINT32_FROM_LE (head.length), GUINT32_FROM_LE (head.crc),
                                GUINT32_FROM_LE (head.key_length), GUINT32_FROM_LE (head.kind) };
    if ((head.kind != STORE_SET && head.kind != STORE_REMOVED) || head.key_length > head.length
        || head.length > bytes->len - at - sizeof head
        || store_record_crc (bytes->data + at, head.length) != head.crc)
        return 0;
    *ret_head = head;
    return sizeof head + head.length;
}

/* --- the table -------------------------------------------------------------------------------- */

static gint
store_key_order (gconstpointer a, gconstpointer b, gpointer data)
{
    return strcmp (a, b);
}

struct store_value *
store_value_new (const void *bytes, size_t size, uint64_t number)
{
    struct store_value *value = g_new (struct store_value, 1);

    *value = (struct store_value){ g_bytes_new (bytes, size), number };
    return value;
}

static void
store_value_free (gpointer data)
{
    struct store_value *value = data;

    g_bytes_unref (value->bytes);
    g_free (value);
}

GTree *
store_table_new (void)
{
    return g_tree_new_full (store_key_order, NULL, g_free, store_value_free);
}

static void
store_record_enter (const GByteArray *bytes, uint64_t at, const struct store_head *head,
                    GTree *table)
{
    const uint8_t *key = bytes->data + at + sizeof *head;
    g_autofree char *name = g_strndup ((const char *) key, head->key_length);

    if (head->kind == STORE_REMOVED)
        g_tree_remove (table, name);
    else
        g_tree_replace (table, g_steal_pointer (&name),
                        store_value_new (key + head->key_length, head->length - head->key_length,
                                         0));
}

/* Bytes that are no record count as damaged if a record follows, else as torn. */
int
store_records_read (const GByteArray *bytes, GTree *table, struct store_losses *ret_losses,
                    uint64_t *ret_end)
{
    uint64_t at = STORE_MAGIC_SIZE, size;
    struct store_head head;

    *ret_losses = (struct store_losses){ 0 };
    if (bytes->len < STORE_MAGIC_SIZE || memcmp (bytes->data, STORE_MAGIC, STORE_MAGIC_SIZE) != 0)
        return -EUCLEAN;
    for (*ret_end = at; at < bytes->len; at += MAX (size, 1)) {
        size = store_record_at (bytes, at, &head);
        if (size == 0)
            continue;
        store_record_enter (bytes, at, &head, table);
        ret_losses->damaged += at - *ret_end;
        *ret_end = at + size;
    }
    ret_losses->torn = bytes->len - *ret_end;
    return 0;
}

static gboolean
store_record_add (gpointer key, gpointer value, gpointer bytes)
{
    gsize size;
    const void *data = g_bytes_get_data (((const struct store_value *) value)->bytes, &size);

    store_record_append (bytes, STORE_SET, key, data, size);
    return FALSE;
}

GByteArray *
store_records_all (GTree *table)
{
    GByteArray *bytes = g_byte_array_new ();

    g_byte_array_append (bytes, (const guint8 *) STORE_MAGIC, STORE_MAGIC_SIZE);
    g_tree_foreach (table, store_record_add, bytes);
    return bytes;
}
