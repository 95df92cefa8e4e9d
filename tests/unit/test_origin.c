/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bytes of trusted.overlay.origin, both ways. tests/mount has those that the kernel writes. */
#include "core/data/origin.h"

#include "../program.h"

#include <endian.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#define OUR_ENDIAN (__BYTE_ORDER == __BIG_ENDIAN ? 1 : 0)
#define UUID "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"

static const struct origin origin_sample = { .uuid = UUID, .type = 1, .size = 8,
                                      .handle = "\x0c\0\0\0\x9a\x78\x56\x34" };

START_TEST (an_origin_has_the_bytes_of_overlayfs)
{
    static const unsigned char expected[29] = "\0\xfb\x1d\0\x01" UUID "\x0c\0\0\0\x9a\x78\x56\x34";
    unsigned char bytes[ORIGIN_MAX];
    struct origin again = origin_sample;

    ck_assert_uint_eq (origin_encode (&origin_sample, bytes), sizeof expected);
    ck_assert_uint_eq (bytes[3], OUR_ENDIAN);
    bytes[3] = 0;
    ck_assert_int_eq (memcmp (bytes, expected, sizeof expected), 0);
    again.upper = true;
    origin_encode (&again, bytes);
    ck_assert_uint_eq (bytes[3], 4 | OUR_ENDIAN);
}
END_TEST

START_TEST (an_origin_comes_back_at_each_size)
{
    for (unsigned size = 1; size <= ORIGIN_HANDLE_MAX; size++) {
        struct origin origin = { .uuid = UUID, .type = 255, .size = size, .upper = size % 2 }, got;
        unsigned char bytes[ORIGIN_MAX];
        size_t n;

        memset (origin.handle, (int) size, size);
        n = origin_encode (&origin, bytes);
        ck_assert_uint_eq (n, ORIGIN_HEAD + size);
        ck_assert_int_eq (origin_decode (bytes, n, &got), 0);
        ck_assert_int_eq (memcmp (&origin, &got, sizeof got), 0);
    }
}
END_TEST

static const struct {
    int type;
    unsigned size;
} not_origins[] = { { -1, 8 }, { 256, 8 }, { 1, 0 }, { 1, ORIGIN_HANDLE_MAX + 1 } };

START_TEST (what_has_no_place_in_the_bytes_is_refused)
{
    struct origin origin = origin_sample;
    unsigned char bytes[ORIGIN_MAX];

    origin.type = not_origins[_i].type;
    origin.size = not_origins[_i].size;
    ck_assert_uint_eq (origin_encode (&origin, bytes), 0);
}
END_TEST

static const struct {
    size_t size;
    unsigned place;
    unsigned char byte;
    int r;
} spoilt[] = {
    { 29, 0, 0, 0 },          { 0, 0, 0, -ENODATA },  { 1, 0, 0, -EINVAL },
    { 20, 0, 0, -EINVAL },    { 28, 0, 0, -EINVAL },  { 30, 0, 0, 0 },
    { 29, 0, 1, -ENODATA },   { 29, 2, 30, -EINVAL }, { 29, 2, 21, -EINVAL },
    { 29, 1, 0xfa, -EINVAL }, { 29, 2, 22, 0 },       { 29, 3, 8, -ENODATA },
    { 29, 3, !OUR_ENDIAN, -ENODATA }, { 29, 3, 2 | !OUR_ENDIAN, 0 },
};

START_TEST (spoilt_bytes_are_told_from_an_unknown_origin)
{
    unsigned char bytes[ORIGIN_MAX] = { 0 };
    struct origin got;

    origin_encode (&origin_sample, bytes);
    if (spoilt[_i].byte || spoilt[_i].place)
        bytes[spoilt[_i].place] = spoilt[_i].byte;
    ck_assert_int_eq (origin_decode (bytes, spoilt[_i].size, &got), spoilt[_i].r);
}
END_TEST

TEST_PROGRAM (test_origin)
{
    Suite *suite = suite_create ("origin");
    TCase *tcase = tcase_create ("origin");

    tcase_add_test (tcase, an_origin_has_the_bytes_of_overlayfs);
    tcase_add_test (tcase, an_origin_comes_back_at_each_size);
    tcase_add_loop_test (tcase, what_has_no_place_in_the_bytes_is_refused, 0,
                         G_N_ELEMENTS (not_origins));
    tcase_add_loop_test (tcase, spoilt_bytes_are_told_from_an_unknown_origin, 0,
                         G_N_ELEMENTS (spoilt));
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
