/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values on the wire to servers. */
#include "../program.h"
#include "rpc/call.h"
#include "rpc/text-dict.h"

#include <string.h>

/* --- values ----------------------------------------------------------------------------------- */

START_TEST (values_come_back)
{
    struct xdr_out out;
    struct xdr_in in;
    size_t size;
    g_autofree char *text = NULL;

    xdr_out_init (&out);
    xdr_put_u32 (&out, 0x01020304);
    xdr_put_u64 (&out, 0x0102030405060708);
    xdr_put_opaque (&out, "abcde", 5);
    xdr_put_string (&out, "text");
    for (unsigned i = 0; i < 1000; i++)
        xdr_put_u32 (&out, i);
    ck_assert_mem_eq (out.bytes, "\1\2\3\4", 4);
    ck_assert_uint_eq (out.used, 4 + 8 + 12 + 8 + 4000);
    in = xdr_in_of (out.bytes, out.used);
    ck_assert_uint_eq (xdr_get_u32 (&in), 0x01020304);
    ck_assert_uint_eq (xdr_get_u64 (&in), 0x0102030405060708);
    ck_assert_mem_eq (xdr_get_opaque (&in, 5, &size), "abcde", 5);
    text = xdr_get_string (&in, 100);
    ck_assert_str_eq (text, "text");
    for (unsigned i = 0; i < 1000; i++)
        ck_assert_uint_eq (xdr_get_u32 (&in), i);
    ck_assert (!in.failed && xdr_left (&in) == 0);
    xdr_out_clear (&out);
}
END_TEST

START_TEST (a_length_that_lies_fails)
{
    const uint8_t bytes[] = { 0xff, 0xff, 0xff, 0xfd, 1, 2, 3, 4 };
    struct xdr_in in = xdr_in_of (bytes, sizeof bytes);
    size_t size = 1;

    ck_assert_ptr_null (xdr_get_opaque (&in, SIZE_MAX, &size));
    ck_assert (in.failed);
    ck_assert_uint_eq (size, 0);
    ck_assert_uint_eq (xdr_get_u32 (&in), 0);
}
END_TEST

START_TEST (texts_come_back)
{
    g_autoptr (dict_t) dict = dict_new (), again = NULL;
    struct xdr_out out;
    struct xdr_in in;

    dict_set_str (dict, "remote-subvolume", "brick");
    dict_set_str (dict, "empty", "");
    xdr_out_init (&out);
    text_dict_put (&out, dict);
    in = xdr_in_of (out.bytes, out.used);
    again = text_dict_get (&in);
    ck_assert_uint_eq (dict_count (again), 2);
    ck_assert_str_eq (dict_get_str (again, "remote-subvolume"), "brick");
    ck_assert_str_eq (dict_get_str (again, "empty"), "");
    for (size_t size = 8; size < out.used; size += 4) {
        g_autoptr (dict_t) part = NULL;

        in = xdr_in_of (out.bytes, size);
        part = text_dict_get (&in);
        ck_assert (in.failed && !part);
    }
    xdr_out_clear (&out);
}
END_TEST

/* RFC 5531 limits credentials to 400 bytes, and GlusterFS's servers allow 91 groups less the bytes
 * of the owner: groups are left out, never the owner of locks. */
START_TEST (credentials_have_the_groups_that_fit)
{
    gid_t groups[200] = { 0 };
    const struct rpc_credentials caller = { .groups = groups,
                                            .ngroups = 200,
                                            .owner = "12345678",
                                            .owner_size = 8 };
    struct rpc_call call = { 0 };
    struct xdr_in in;
    size_t size;

    rpc_call_begin (&call, RPC_FILES, 400, 1, &caller);
    in = xdr_in_of (call.out.bytes + 32, call.out.used - 32);
    xdr_get_opaque (&in, 400, &size);
    ck_assert (!in.failed);
    ck_assert_uint_eq (size, 9 * 4 + (91 - 8) * 4 + 8);
    ck_assert_mem_eq (in.at - 8, "12345678", 8);
    xdr_out_clear (&call.out);
}
END_TEST

TEST_PROGRAM (test_xdr)
{
    Suite *suite = suite_create ("xdr");
    TCase *values = tcase_create ("values");

    tcase_add_test (values, values_come_back);
    tcase_add_test (values, a_length_that_lies_fails);
    tcase_add_test (values, texts_come_back);
    tcase_add_test (values, credentials_have_the_groups_that_fit);
    suite_add_tcase (suite, values);
    return suite_run (suite);
}
