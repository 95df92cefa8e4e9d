/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values of options: the first byte selects a row, the rest is the text. An accepted value is
 * within the range of the row. A refused value has a message. */
#include "fuzz.h"

#include "core/edge/option.h"

#include <errno.h>
#include <math.h>

static const struct option_choice words[] = { { "none", 0 }, { "data", 1 }, { "all", 2 }, {} };

#define ROW(type_, c_type_, ...) \
    { \
        .key = { "x" }, .type = type_, .size = sizeof (c_type_), __VA_ARGS__ \
    }

static const struct xlator_option fuzz_option_rows[] = {
    ROW (OPTION_BOOL, bool),
    ROW (OPTION_INT, int),
    ROW (OPTION_INT, int64_t),
    ROW (OPTION_INT, int, .min = -5, .max = 1000),
    ROW (OPTION_INT, int64_t, .min = 1, .max = 1e12),
    ROW (OPTION_DOUBLE, double),
    ROW (OPTION_DOUBLE, double, .min = -INFINITY, .max = 10),
    ROW (OPTION_DOUBLE, double, .min = 0, .max = 4294967295.0),
    ROW (OPTION_SIZE, uint64_t),
    ROW (OPTION_SIZE, uint64_t, .min = 4096, .max = 1 << 30),
    ROW (OPTION_SIZE, uint64_t, .min = 1, .max = 0x1p64),
    ROW (OPTION_SIZE, uint64_t, .min = 3, .max = INFINITY),
    ROW (OPTION_PERCENT, double),
    ROW (OPTION_PERCENT, double, .min = 10, .max = 20),
    ROW (OPTION_PERCENT_OR_SIZE, struct option_share),
    ROW (OPTION_PERCENT_OR_SIZE, struct option_share, .min = 4096, .max = 0x1p40),
    ROW (OPTION_TIME, int64_t),
    ROW (OPTION_TIME, int64_t, .min = 0, .max = 86400),
    ROW (OPTION_PATH, char *),
    ROW (OPTION_STRING, char *),
    ROW (OPTION_ENUM, int, .values = words),
    ROW (OPTION_XLATOR, char *),
};

union value {
    bool boolean;
    int number;
    int64_t integer;
    uint64_t size;
    double real;
    struct option_share share;
    char *text;
};

static double
value_number (const struct xlator_option *row, const union value *value)
{
    switch (row->type) {
    case OPTION_INT:
        return row->size == sizeof (int) ? value->number : (double) value->integer;
    case OPTION_SIZE:
        return (double) value->size;
    case OPTION_TIME:
        return value->integer / 1e9;
    case OPTION_PERCENT_OR_SIZE:
        return value->share.amount;
    default:
        return value->real;
    }
}

static bool
has_range (const struct xlator_option *row, const union value *value)
{
    return (row->min != 0 || row->max != 0)
        && !(row->type == OPTION_PERCENT_OR_SIZE && value->share.percent);
}

/* A size prints as a text that parses to the same size. */
static void
check_size (uint64_t bytes)
{
    static const struct xlator_option any = ROW (OPTION_SIZE, uint64_t);
    g_autofree char *text = option_size_text (bytes), *allowed = NULL;
    uint64_t again;

    g_assert (option_parse (&any, text, &again, &allowed) == 0 && again == bytes);
}

static void
check_value (const struct xlator_option *row, const union value *value)
{
    if (has_range (row, value))
        g_assert (value_number (row, value) >= row->min && value_number (row, value) <= row->max);
    if (row->type == OPTION_SIZE)
        check_size (value->size);
    if (row->type == OPTION_TIME)
        g_assert (value->integer >= 0);
    if (row->type == OPTION_PERCENT
        || (row->type == OPTION_PERCENT_OR_SIZE && value->share.percent))
        g_assert (value_number (row, value) <= 100);
    if (row->type == OPTION_ENUM)
        g_assert (value->number >= 0 && value->number < 3);
    if (row->type == OPTION_PATH)
        g_assert (value->text[0] == '/');
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct input input = { data, size };
    const unsigned at = input_byte (&input) % G_N_ELEMENTS (fuzz_option_rows);
    const struct xlator_option *row = &fuzz_option_rows[at];
    g_autofree char *text = fuzz_input_text (&input), *allowed = NULL;
    const struct xlator_option table[] = { *row, { .key = { NULL } } };
    union value value = { 0 };
    int r = option_parse (row, text, &value, &allowed);

    g_assert (r == 0 || r == -EINVAL);
    g_assert ((r < 0) == (allowed != NULL));
    if (r == 0)
        check_value (row, &value);
    else
        g_assert (is_one_line (allowed));
    if (r == 0)
        option_clear (table, &value);
    return 0;
}
