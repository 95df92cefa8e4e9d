/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan valgrind */
/* Values of options: which are accepted, their values, and the messages for refused ones. */
#include "core/edge/option.h"

#include "../program.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct option_choice colors[] = { { "red", 0 }, { "crimson", 0 }, { "green", 1 }, {} };

/* Parses text as type within min and max. Returns the value as a double, or NAN if it is
 * refused. */
static double
option_test_number (enum option_type type, double min, double max, const char *text)
{
    const struct xlator_option row = { .key = { "k" },
                                       .type = type,
                                       .min = min,
                                       .max = max,
                                       .values = colors,
                                       .size = type == OPTION_BOOL ? sizeof (bool)
                                             : type == OPTION_ENUM ? sizeof (int)
                                             : type == OPTION_PERCENT_OR_SIZE
                                                 ? sizeof (struct option_share)
                                                 : 8 };
    union {
        bool b;
        int i;
        int64_t l;
        uint64_t u;
        double d;
        struct option_share s;
    } field;
    g_autofree char *allowed = NULL;

    memset (&field, 0xa5, sizeof field);
    if (option_parse (&row, text, &field, &allowed) < 0) {
        ck_assert_ptr_nonnull (allowed);
        ck_assert (g_str_has_prefix (allowed, "must be "));
        return NAN;
    }
    ck_assert_ptr_null (allowed);
    switch (type) {
    case OPTION_BOOL:
        return field.b;
    case OPTION_ENUM:
        return field.i;
    case OPTION_SIZE:
        return field.u;
    case OPTION_PERCENT_OR_SIZE:
        return field.s.percent ? -field.s.amount : field.s.amount;
    case OPTION_DOUBLE:
    case OPTION_PERCENT:
        return field.d;
    default:
        return field.l;
    }
}

struct value {
    const char *text;
    double value; /* NAN: refused */
};

static void
option_test_check_values (enum option_type type, double min, double max,
                          const struct value *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double got = option_test_number (type, min, max, values[i].text);
        const bool same = isnan (values[i].value) ? isnan (got)
                                                  : fabs (got - values[i].value) < 1e-9;

        ck_assert_msg (same, "'%s' is %.17g, should be %.17g", values[i].text, got,
                       values[i].value);
    }
}

#define CHECK_VALUES(type_, min_, max_, ...)                                                       \
    do {                                                                                           \
        const struct value values_[] = { __VA_ARGS__ };                                            \
        option_test_check_values (type_, min_, max_, values_, G_N_ELEMENTS (values_));             \
    } while (0)

START_TEST (booleans)
{
    CHECK_VALUES (OPTION_BOOL, 0, 0, { "on", 1 }, { "YES", 1 }, { "True", 1 }, { "enable", 1 },
                  { "1", 1 }, { "off", 0 }, { "No", 0 }, { "FALSE", 0 }, { "disable", 0 },
                  { "0", 0 }, { "", NAN }, { "maybe", NAN }, { "on ", NAN }, { "2", NAN },
                  { "01", NAN }, { "enabled", NAN });
}
END_TEST

START_TEST (integers)
{
    CHECK_VALUES (OPTION_INT, 0, 0, { "42", 42 }, { "-1", -1 }, { "+7", 7 }, { "0x10", 16 },
                  { "010", 8 }, { "0", 0 }, { "08", NAN }, { "0x", NAN }, { "", NAN },
                  { " 1", NAN }, { "1 ", NAN }, { "1K", NAN }, { "1.0", NAN }, { "1e3", NAN },
                  { "--1", NAN }, { "- 1", NAN }, { "9223372036854775808", NAN },
                  { "-9223372036854775809", NAN }, { "nan", NAN },
                  { "999999999999999999999999", NAN });
    CHECK_VALUES (OPTION_INT, 1, 64, { "1", 1 }, { "64", 64 }, { "0", NAN }, { "65", NAN },
                  { "-1", NAN });
    CHECK_VALUES (OPTION_INT, -1, INFINITY, { "-1", -1 }, { "100000", 100000 }, { "-2", NAN });
    CHECK_VALUES (OPTION_INT, 5, 0, { "5", 5 }, { "100000", 100000 }, { "4", NAN });
}
END_TEST

START_TEST (small_integers)
{
    const struct xlator_option row = { .key = { "k" }, .type = OPTION_INT, .size = sizeof (int) };
    int fields[2] = { 0, 77 };
    g_autofree char *allowed = NULL;

    ck_assert_int_eq (option_parse (&row, "-2147483648", fields, &allowed), 0);
    ck_assert_int_eq (fields[0], -2147483647 - 1);
    ck_assert_int_eq (fields[1], 77);
    ck_assert_int_eq (option_parse (&row, "2147483648", fields, &allowed), -EINVAL);
    ck_assert_int_eq (fields[0], -2147483647 - 1);
}
END_TEST

START_TEST (doubles)
{
    CHECK_VALUES (OPTION_DOUBLE, 0, 0, { "1", 1 }, { "0.25", 0.25 }, { "1e3", 1000 }, { ".5", 0.5 },
                  { "-1", NAN }, { "nan", NAN }, { "inf", NAN }, { "1e999", NAN }, { "0x1p3", NAN },
                  { "1,5", NAN }, { "", NAN }, { "1.5.2", NAN }, { "1s", NAN }, { "e", NAN });
    CHECK_VALUES (OPTION_DOUBLE, -2, 2, { "-1.5", -1.5 }, { "-2.1", NAN }, { "2.1", NAN });
}
END_TEST

START_TEST (option_test_sizes)
{
    CHECK_VALUES (OPTION_SIZE, 0, 0, { "0", 0 }, { "512", 512 }, { "512B", 512 }, { "64KB", 65536 },
                  { "64kb", 65536 }, { "1MB", 1048576 }, { "1.5GB", 1610612736 }, { ".5KB", 512 },
                  { "2TB", 0x1p41 }, { "1PB", 0x1p50 }, { "64K", NAN }, { "1M", NAN },
                  { "1G", NAN }, { "1 MB", NAN }, { "-1", NAN }, { "+1", NAN }, { "", NAN },
                  { "KB", NAN }, { ".", NAN }, { ".KB", NAN }, { "1.2.3", NAN }, { "0x10", NAN },
                  { "1e3", NAN }, { "nan", NAN }, { "inf", NAN }, { "1KBB", NAN }, { "1MB ", NAN },
                  { "16384PB", NAN },
                  { "18446744073709551616", NAN }, { "99999999999999999999999999PB", NAN });
    CHECK_VALUES (OPTION_SIZE, 4096, 1 << 30, { "4KB", 4096 }, { "1GB", 1 << 30 }, { "4095", NAN },
                  { "1.1GB", NAN });
}
END_TEST

START_TEST (shares)
{
    CHECK_VALUES (OPTION_PERCENT, 0, 0, { "10", 10 }, { "10%", 10 }, { "0.5%", 0.5 },
                  { "100%", 100 }, { "101", NAN }, { "-1%", NAN }, { "%", NAN }, { "10%%", NAN },
                  { "10 %", NAN }, { "", NAN }, { "1KB", NAN });
    CHECK_VALUES (OPTION_PERCENT, 1, 50, { "1", 1 }, { "50%", 50 }, { "51%", NAN }, { "0", NAN });
    CHECK_VALUES (OPTION_PERCENT_OR_SIZE, 0, 0, { "10%", -10 }, { "10", 10 }, { "1KB", 1024 },
                  { "101%", NAN }, { "1K", NAN }, { "%", NAN }, { "", NAN });
    CHECK_VALUES (OPTION_PERCENT_OR_SIZE, 4096, 8192, { "10%", -10 }, { "4KB", 4096 },
                  { "1KB", NAN }, { "9KB", NAN });
}
END_TEST

START_TEST (times)
{
    CHECK_VALUES (OPTION_TIME, 0, 0, { "0", 0 }, { "10", 10e9 }, { "10s", 10e9 }, { "10sec", 10e9 },
                  { "500ms", 5e8 }, { "1.5s", 15e8 }, { "2m", 120e9 }, { "2min", 120e9 },
                  { "1h", 3600e9 }, { "1HR", 3600e9 }, { "1d", 86400e9 }, { "2days", 172800e9 },
                  { "1w", 604800e9 }, { "1wk", 604800e9 }, { "1y", NAN }, { "-1", NAN },
                  { "1 s", NAN }, { "", NAN }, { "s", NAN }, { "10seconds", NAN }, { "inf", NAN },
                  { "100000w", NAN },
                  { "9999999999999999999s", NAN });
    CHECK_VALUES (OPTION_TIME, 1, 600, { "1", 1e9 }, { "10m", 600e9 }, { "11m", NAN },
                  { "999ms", NAN });
}
END_TEST

START_TEST (enums)
{
    CHECK_VALUES (OPTION_ENUM, 0, 0, { "red", 0 }, { "Crimson", 0 }, { "GREEN", 1 },
                  { "blue", NAN }, { "", NAN }, { "gree", NAN }, { "1", NAN });
    ck_assert_str_eq (option_choice_name (colors, 0), "red");
    ck_assert_str_eq (option_choice_name (colors, 1), "green");
    ck_assert_ptr_null (option_choice_name (colors, 2));
}
END_TEST

/* Texts are copied completely; the allowed texts depend on the type. */
static bool
text_is_allowed (enum option_type type, const char *text)
{
    const struct xlator_option rows[] = { { .key = { "k" }, .type = type, .size = sizeof (char *) },
                                          { .key = { NULL } } };
    char *field = NULL;
    g_autofree char *allowed = NULL;
    const int r = option_parse (rows, text, &field, &allowed);

    if (r == 0) {
        ck_assert_str_eq (field, text);
        ck_assert_ptr_ne (field, text);
    } else {
        ck_assert_ptr_null (field);
    }
    option_clear (rows, &field);
    ck_assert_ptr_null (field);
    return r == 0;
}

START_TEST (texts)
{
    g_autofree char *long_path = g_strnfill (5000, '/');

    ck_assert (text_is_allowed (OPTION_STRING, ""));
    ck_assert (text_is_allowed (OPTION_STRING, "a b\n\xff"));
    ck_assert (text_is_allowed (OPTION_XLATOR, "brick"));
    ck_assert (!text_is_allowed (OPTION_XLATOR, ""));
    ck_assert (text_is_allowed (OPTION_PATH, "/"));
    ck_assert (text_is_allowed (OPTION_PATH, "/a/..b/c.."));
    ck_assert (!text_is_allowed (OPTION_PATH, "/a/../b"));
    ck_assert (!text_is_allowed (OPTION_PATH, "/.."));
    ck_assert (!text_is_allowed (OPTION_PATH, "a/b"));
    ck_assert (!text_is_allowed (OPTION_PATH, ""));
    ck_assert (!text_is_allowed (OPTION_PATH, long_path));
}
END_TEST

START_TEST (checked_not_stored)
{
    const struct xlator_option row = { .key = { "k" }, .type = OPTION_STRING };
    char canary = 'c';
    char *allowed = NULL;

    ck_assert_int_eq (option_parse (&row, "text", NULL, &allowed), 0);
    ck_assert_int_eq (option_parse (&row, "text", &canary, &allowed), 0);
    ck_assert_int_eq (canary, 'c');
}
END_TEST

static void
check_allowed (struct xlator_option row, const char *wanted)
{
    g_autofree char *allowed = option_allowed (&row);

    ck_assert_str_eq (allowed, wanted);
}

START_TEST (allowed_texts)
{
    check_allowed ((struct xlator_option){ .type = OPTION_BOOL }, "on or off");
    check_allowed ((struct xlator_option){ .type = OPTION_INT, .min = 1, .max = 64 }, "1 to 64");
    check_allowed ((struct xlator_option){ .type = OPTION_INT, .min = -1, .max = INFINITY },
                   "-1 or more");
    check_allowed ((struct xlator_option){ .type = OPTION_INT, .min = -INFINITY, .max = 3 },
                   "at most 3");
    check_allowed ((struct xlator_option){ .type = OPTION_SIZE, .min = 4096, .max = 1 << 30 },
                   "4KB to 1GB");
    check_allowed ((struct xlator_option){ .type = OPTION_SIZE, .min = 0, .max = 0x1p64 },
                   "0 to 18446744073709551615B");
    check_allowed ((struct xlator_option){ .type = OPTION_TIME, .min = 0.5, .max = 60 },
                   "0.5s to 60s");
    check_allowed ((struct xlator_option){ .type = OPTION_ENUM, .values = colors },
                   "one of red, crimson, green");
    check_allowed ((struct xlator_option){ .type = OPTION_PATH, .min = 1, .max = 2 },
                   "an absolute path without '..'");
    check_allowed (
        (struct xlator_option){ .type = OPTION_PERCENT_OR_SIZE, .min = 4096, .max = 8192 },
        "0% to 100%, or 4KB to 8KB");
    check_allowed ((struct xlator_option){ .type = OPTION_PERCENT_OR_SIZE },
                   "a percentage, 0% to 100%, or a size such as 64KB, 1MB or 1.5GB");
}
END_TEST

START_TEST (refusal_says_what_is_allowed)
{
    const struct xlator_option row = {
        .key = { "k" }, .type = OPTION_SIZE, .min = 4096, .max = 1 << 30
    };
    g_autofree char *range = NULL, *unit = NULL;

    ck_assert_int_eq (option_parse (&row, "0", NULL, &range), -EINVAL);
    ck_assert_str_eq (range, "must be 4KB to 1GB");
    ck_assert_int_eq (option_parse (&row, "64K", NULL, &unit), -EINVAL);
    ck_assert_str_eq (unit, "must be 4KB to 1GB, with B, KB, MB, GB, TB or PB");
}
END_TEST

START_TEST (size_texts)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } option_test_sizes[] = { { 0, "0" },
                  { 1, "1B" },
                  { 1024, "1KB" },
                  { 1536, "1536B" },
                  { 1048576, "1MB" },
                  { 3ull << 29, "1536MB" },
                  { 1ull << 60, "1024PB" },
                  { UINT64_MAX, "18446744073709551615B" } };

    for (size_t i = 0; i < G_N_ELEMENTS (option_test_sizes); i++) {
        g_autofree char *text = option_size_text (option_test_sizes[i].bytes);

        ck_assert_str_eq (text, option_test_sizes[i].text);
    }
}
END_TEST

START_TEST (finding)
{
    const struct xlator_option rows[] = { { .key = { "a", "b", "c", "d" } },
                                          { .key = { "e" } },
                                          { .key = { NULL } } };

    ck_assert_ptr_eq (option_find (rows, "d"), &rows[0]);
    ck_assert_ptr_eq (option_find (rows, "e"), &rows[1]);
    ck_assert_ptr_null (option_find (rows, "A"));
    ck_assert_ptr_null (option_find (rows, ""));
    ck_assert_ptr_null (option_find (NULL, "a"));
    ck_assert_str_eq (option_type_name (OPTION_SIZE), "size");
}
END_TEST

TEST_PROGRAM (test_option)
{
    Suite *suite = suite_create ("option");
    TCase *tcase = tcase_create ("values");

    tcase_add_test (tcase, booleans);
    tcase_add_test (tcase, integers);
    tcase_add_test (tcase, small_integers);
    tcase_add_test (tcase, doubles);
    tcase_add_test (tcase, option_test_sizes);
    tcase_add_test (tcase, shares);
    tcase_add_test (tcase, times);
    tcase_add_test (tcase, enums);
    tcase_add_test (tcase, texts);
    tcase_add_test (tcase, checked_not_stored);
    tcase_add_test (tcase, allowed_texts);
    tcase_add_test (tcase, refusal_says_what_is_allowed);
    tcase_add_test (tcase, size_texts);
    tcase_add_test (tcase, finding);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
