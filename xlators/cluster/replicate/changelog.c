/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "changelog.h"

struct mark
mark_read (const void *value, size_t size)
{
    struct mark mark = { { 1, 1, 1 } };

    if (size != MARK_SIZE)
        return mark;
    for (int i = 0; i < MARK_KINDS; i++) {
        uint32_t number;

        memcpy (&number, (const char *) value + i * sizeof number, sizeof number);
        mark.count[i] = (int32_t) GUINT32_FROM_BE (number);
    }
    return mark;
}

void
mark_set (dict_t *dict, const char *key, const struct mark *mark)
{
    uint32_t numbers[MARK_KINDS];

    for (int i = 0; i < MARK_KINDS; i++)
        numbers[i] = GUINT32_TO_BE ((uint32_t) mark->count[i]);
    dict_set (dict, key, numbers, MARK_SIZE);
}

bool
mark_is_clear (const struct mark *mark)
{
    for (int i = 0; i < MARK_KINDS; i++)
        if (mark->count[i] != 0)
            return false;
    return true;
}

static struct mark
mark_get (const dict_t *dict, const char *key)
{
    size_t size;
    const void *value = dict_get (dict, key, &size);

    return value && size > 0 ? mark_read (value, size) : (struct mark){ 0 };
}

void
copy_read_marks (struct copy *ret_copy, const struct mark_names *names, const dict_t *dict)
{
    ret_copy->dirty = mark_get (dict, names->dirty);
    for (unsigned i = 0; i < names->n; i++)
        ret_copy->accuses[i] = mark_get (dict, names->pending[i]);
}

copies_t
copies_accused (const struct copy *copies, unsigned n, enum mark_kind kind)
{
    copies_t accused = 0;

    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; copies[i].there && j < n; j++)
            if (copies[i].accuses[j].count[kind] != 0)
                accused |= COPY (j);
    return accused;
}

static void
mark_print (const struct mark *mark, GString *out)
{
    static const char *const names[MARK_KINDS] = { "data", "metadata", "entries" };
    const char *between = "";

    for (int i = 0; i < MARK_KINDS; i++)
        if (mark->count[i] != 0) {
            g_string_append_printf (out, "%s%s (%d)", between, names[i], mark->count[i]);
            between = ", ";
        }
}

void
copies_print (const struct copy *copies, unsigned n, const char *const *names, GString *out)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; copies[i].there && j < n; j++)
            if (!mark_is_clear (&copies[i].accuses[j])) {
                g_string_append_printf (out, "%s says that %s has missed changes of ", names[i],
                                        i == j ? "itself" : names[j]);
                mark_print (&copies[i].accuses[j], out);
                g_string_append_c (out, '\n');
            }
        if (copies[i].there && !mark_is_clear (&copies[i].dirty)) {
            g_string_append_printf (out, "%s has changes under way, or cut off, of ", names[i]);
            mark_print (&copies[i].dirty, out);
            g_string_append_c (out, '\n');
        }
    }
}
