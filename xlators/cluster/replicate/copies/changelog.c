/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "changelog.h"

struct counter
counter_read (const void *value, size_t size)
{
    struct counter counter = { { 1, 1, 1 } };

    if (size != COUNTER_SIZE)
        return counter;
    for (int i = 0; i < COUNTER_KINDS; i++) {
        uint32_t number;

        memcpy (&number, (const char *) value + i * sizeof number, sizeof number);
        counter.count[i] = (int32_t) GUINT32_FROM_BE (number);
    }
    return counter;
}

void
counter_set (dict_t *dict, const char *key, const struct counter *counter)
{
    uint32_t numbers[COUNTER_KINDS];

    for (int i = 0; i < COUNTER_KINDS; i++)
        numbers[i] = GUINT32_TO_BE ((uint32_t) counter->count[i]);
    dict_set (dict, key, numbers, COUNTER_SIZE);
}

bool
counter_is_clear (const struct counter *counter)
{
    for (int i = 0; i < COUNTER_KINDS; i++)
        if (counter->count[i] != 0)
            return false;
    return true;
}

static struct counter
counter_get (const dict_t *dict, const char *key)
{
    size_t size;
    const void *value = dict_get (dict, key, &size);

    return value && size > 0 ? counter_read (value, size) : (struct counter){ 0 };
}

void
copy_read_changelog (struct copy *ret_copy, const struct changelog_names *names,
                     const dict_t *dict)
{
    ret_copy->dirty = counter_get (dict, names->dirty);
    for (unsigned i = 0; i < names->n; i++)
        ret_copy->accuses[i] = counter_get (dict, names->pending[i]);
}

copies_t
copies_accused (const struct copy *copies, unsigned n, enum counter_kind kind)
{
    copies_t accused = 0;

    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; copies[i].there && j < n; j++)
            if (copies[i].accuses[j].count[kind] != 0)
                accused |= COPY (j);
    return accused;
}

static void
counter_print (const struct counter *counter, GString *out)
{
    static const char *const names[COUNTER_KINDS] = { "data", "metadata", "entries" };
    const char *between = "";

    for (int i = 0; i < COUNTER_KINDS; i++)
        if (counter->count[i] != 0) {
            g_string_append_printf (out, "%s%s (%d)", between, names[i], counter->count[i]);
            between = ", ";
        }
}

void
copies_print (const struct copy *copies, unsigned n, const char *const *names, GString *out)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; copies[i].there && j < n; j++)
            if (!counter_is_clear (&copies[i].accuses[j])) {
                g_string_append_printf (out, "%s reports that %s has missed changes of ", names[i],
                                        i == j ? "itself" : names[j]);
                counter_print (&copies[i].accuses[j], out);
                g_string_append_c (out, '\n');
            }
        if (copies[i].there && !counter_is_clear (&copies[i].dirty)) {
            g_string_append_printf (out, "%s has changes under way, or cut off, of ", names[i]);
            counter_print (&copies[i].dirty, out);
            g_string_append_c (out, '\n');
        }
    }
}
