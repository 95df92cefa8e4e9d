/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/data/dict.h"
#include "core/base/audit.h"

#include <string.h>

struct pair {
    enum dict_type type;
    char *key;   /* stored after the value */
    size_t size;
    char value[];
};

/* xdata has a handful of keys, so a linear search is faster than a hash table. */
struct dict {
    int refs; /* atomic */
    GPtrArray *pairs;
};

dict_t *
dict_new (void)
{
    dict_t *dict = g_new (dict_t, 1);

    dict->refs = 1;
    dict->pairs = g_ptr_array_new_with_free_func (g_free);
    AUDIT (DICT, dict, 1);
    return dict;
}

dict_t *
dict_ref (dict_t *dict)
{
    if (!dict)
        return NULL;
    AUDIT (DICT, dict, 1);
    __atomic_add_fetch (&dict->refs, 1, __ATOMIC_RELAXED);
    return dict;
}

void
dict_unref (dict_t *dict)
{
    if (!dict || AUDIT (DICT, dict, -1)
        || __atomic_sub_fetch (&dict->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    g_ptr_array_free (dict->pairs, TRUE);
    g_free (dict);
}

static struct pair *
pair_new (enum dict_type type, const char *key, const void *value, size_t size)
{
    size_t key_size = strlen (key) + 1;
    struct pair *pair = g_malloc (sizeof *pair + size + 1 + key_size);

    pair->type = type;
    pair->size = size;
    if (size)
        memcpy (pair->value, value, size);
    pair->value[size] = '\0';
    pair->key = pair->value + size + 1;
    memcpy (pair->key, key, key_size);
    return pair;
}

/* Returns the index of key, or -1. */
static int
dict_index (const dict_t *dict, const char *key)
{
    for (guint i = 0; dict && i < dict->pairs->len; i++)
        if (strcmp (((struct pair *) dict->pairs->pdata[i])->key, key) == 0)
            return (int) i;
    return -1;
}

static void
dict_set_typed (dict_t *dict, enum dict_type type, const char *key, const void *value, size_t size)
{
    struct pair *pair = pair_new (type, key, value, size);
    int i = dict_index (dict, key);

    if (i < 0) {
        g_ptr_array_add (dict->pairs, pair);
        return;
    }
    g_free (dict->pairs->pdata[i]);
    dict->pairs->pdata[i] = pair;
}

dict_t *
dict_copy (const dict_t *dict)
{
    dict_t *copy = dict_new ();

    for (size_t i = 0; i < dict_count (dict); i++) {
        const struct pair *pair = dict->pairs->pdata[i];
        dict_set_typed (copy, pair->type, pair->key, pair->value, pair->size);
    }
    return copy;
}

void
dict_set (dict_t *dict, const char *key, const void *value, size_t size)
{
    dict_set_typed (dict, DICT_BYTES, key, value, size);
}

void
dict_set_str (dict_t *dict, const char *key, const char *value)
{
    dict_set_typed (dict, DICT_TEXT, key, value, strlen (value));
}

void
dict_set_u64 (dict_t *dict, const char *key, uint64_t value)
{
    dict_set_typed (dict, DICT_NUMBER, key, &value, sizeof value);
}

const void *
dict_get (const dict_t *dict, const char *key, size_t *ret_size)
{
    int i = dict_index (dict, key);

    if (i < 0)
        return NULL;
    const struct pair *pair = dict->pairs->pdata[i];
    if (ret_size)
        *ret_size = pair->size;
    return pair->value;
}

const char *
dict_get_str (const dict_t *dict, const char *key)
{
    return dict_get (dict, key, NULL);
}

bool
dict_get_u64 (const dict_t *dict, const char *key, uint64_t *ret_value)
{
    size_t size;
    const void *value = dict_get (dict, key, &size);

    if (!value || size != sizeof *ret_value)
        return false;
    memcpy (ret_value, value, size);
    return true;
}

bool
dict_has (const dict_t *dict, const char *key)
{
    return dict_index (dict, key) >= 0;
}

void
dict_del (dict_t *dict, const char *key)
{
    int i = dict_index (dict, key);

    if (i >= 0)
        g_ptr_array_remove_index (dict->pairs, i);
}

size_t
dict_count (const dict_t *dict)
{
    return dict ? dict->pairs->len : 0;
}

void
dict_nth (const dict_t *dict, size_t i, const char **ret_key, const void **ret_value,
          size_t *ret_size)
{
    const struct pair *pair = dict->pairs->pdata[i];

    *ret_key = pair->key;
    *ret_value = pair->value;
    *ret_size = pair->size;
}

enum dict_type
dict_nth_type (const dict_t *dict, size_t i)
{
    return ((const struct pair *) dict->pairs->pdata[i])->type;
}

bool
dict_equal (const dict_t *a, const dict_t *b)
{
    if (a == b)
        return true;
    if (dict_count (a) != dict_count (b))
        return false;
    for (guint i = 0; a && i < a->pairs->len; i++) {
        const struct pair *pair = a->pairs->pdata[i];
        size_t size;
        const void *value = dict_get (b, pair->key, &size);

        if (!value || size != pair->size || memcmp (value, pair->value, size) != 0)
            return false;
    }
    return true;
}
