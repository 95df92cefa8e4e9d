/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares a dict with a hash table: both have the same content after any sets, deletions and
 * copies. */
#include "fuzz.h"

#include "core/data/dict.h"

enum { SET, SET_STR, SET_U64, DEL, COPY, CHANGE_COPY, N_STEPS };

struct both {
    dict_t *dict;
    GHashTable *table; /* char * to GBytes */
};

static void
check_same (const dict_t *dict, GHashTable *table)
{
    g_assert (dict_count (dict) == g_hash_table_size (table));
    for (size_t i = 0; i < dict_count (dict); i++) {
        const char *key;
        const void *value;
        size_t size, again;
        gsize wanted_size;

        dict_nth (dict, i, &key, &value, &size);
        GBytes *wanted = g_hash_table_lookup (table, key);
        g_assert (wanted);
        const void *bytes = g_bytes_get_data (wanted, &wanted_size);
        g_assert (size == wanted_size && (size == 0 || memcmp (value, bytes, size) == 0));
        g_assert (((const char *) value)[size] == '\0');
        g_assert (dict_has (dict, key) && dict_get (dict, key, &again) == value && again == size);
    }
}

static void
table_set (GHashTable *table, const char *key, const void *value, size_t size)
{
    g_hash_table_replace (table, g_strdup (key), g_bytes_new (value, size));
}

static void
set_u64 (struct both *both, const char *key, uint64_t number)
{
    const void *value;
    uint64_t got;
    size_t size;

    dict_set_u64 (both->dict, key, number);
    g_assert (dict_get_u64 (both->dict, key, &got) && got == number);
    value = dict_get (both->dict, key, &size);
    table_set (both->table, key, value, size);
}

/* A copy is independent: changes of the copy do not change the original. */
static void
change_copy (struct both *both, const char *key)
{
    g_autoptr (dict_t) copy = dict_copy (both->dict);

    check_same (copy, both->table);
    dict_set_str (copy, key, "another");
    dict_del (copy, "a");
}

static void
take_copy (struct both *both)
{
    dict_t *copy = dict_copy (both->dict);

    dict_unref (both->dict);
    both->dict = copy;
}

static void
fuzz_dict_step (struct both *both, struct input *input)
{
    const unsigned what = input_byte (input) % N_STEPS;
    size_t key_size = input_byte (input) % 8, size = input_byte (input);
    const uint8_t *key_bytes = input_bytes (input, key_size, &key_size);
    g_autofree char *key = g_strndup ((const char *) key_bytes, key_size);
    const uint8_t *value = input_bytes (input, size, &size);
    g_autofree char *text = g_strndup ((const char *) value, size);
    uint64_t number = 0;

    memcpy (&number, value, MIN (size, sizeof number));
    switch (what) {
    case SET:
        dict_set (both->dict, key, value, size);
        table_set (both->table, key, value, size);
        break;
    case SET_STR:
        dict_set_str (both->dict, key, text);
        table_set (both->table, key, text, strlen (text));
        g_assert_cmpstr (dict_get_str (both->dict, key), ==, text);
        break;
    case SET_U64:
        set_u64 (both, key, number);
        break;
    case DEL:
        dict_del (both->dict, key);
        g_hash_table_remove (both->table, key);
        break;
    case COPY:
        take_copy (both);
        break;
    case CHANGE_COPY:
        change_copy (both, key);
        break;
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct input input = { data, size };
    struct both both = { dict_new (), g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                                             (GDestroyNotify) g_bytes_unref) };

    while (input.left > 0)
        fuzz_dict_step (&both, &input);
    check_same (both.dict, both.table);
    dict_unref (both.dict);
    g_hash_table_unref (both.table);
    return 0;
}
