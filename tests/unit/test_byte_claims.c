/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations on the same bytes start one after the other, all others at once. */
#include "core/data/byte-claims.h"

#include "../program.h"
#include <stdint.h>

START_TEST (claims_of_the_same_bytes_wait)
{
    struct byte_claim write = byte_claim_of (0, 10, true, NULL);
    struct byte_claim read = byte_claim_of (9, 1, false, NULL);
    struct byte_claim beside = byte_claim_of (10, 5, true, NULL);
    struct byte_claim other_read = byte_claim_of (9, 2, false, NULL);
    struct byte_claims claims;

    byte_claims_init (&claims);
    byte_claim_add (&claims, &write);
    byte_claim_add (&claims, &read);
    byte_claim_add (&claims, &beside);
    byte_claim_add (&claims, &other_read);
    ck_assert (byte_claims_start_next (&claims) == &write);
    ck_assert (!byte_claim_start (&claims, &read));
    ck_assert (byte_claims_start_next (&claims) == &beside);
    ck_assert (!byte_claims_start_next (&claims));
    ck_assert (claims.started == 2 && claims.waiting == 2);
    byte_claim_remove (&claims, &write);
    ck_assert (byte_claims_start_next (&claims) == &read);
    ck_assert (!byte_claims_start_next (&claims));
    byte_claim_remove (&claims, &beside);
    ck_assert (byte_claims_start_next (&claims) == &other_read);
    byte_claim_remove (&claims, &read);
    byte_claim_remove (&claims, &other_read);
    ck_assert (!claims.first && claims.last == &claims.first);
    ck_assert (claims.started == 0 && claims.waiting == 0);
}
END_TEST

/* A later claim does not overtake an earlier one of its bytes that waits itself. */
START_TEST (a_waiting_claim_is_not_overtaken)
{
    struct byte_claim write = byte_claim_of (5, 1, true, NULL);
    struct byte_claim all = byte_claim_of (0, 0, true, NULL);
    struct byte_claim last = byte_claim_of (100, 1, true, NULL);
    struct byte_claims claims;

    byte_claims_init (&claims);
    byte_claim_add (&claims, &write);
    ck_assert (byte_claim_start (&claims, &write));
    byte_claim_add (&claims, &all);
    byte_claim_add (&claims, &last);
    ck_assert (!byte_claims_start_next (&claims));
    byte_claim_remove (&claims, &all);
    ck_assert (byte_claims_start_next (&claims) == &last);
}
END_TEST

START_TEST (a_range_ends_with_the_largest_file)
{
    ck_assert (byte_claim_of (7, 0, true, NULL).to == INT64_MAX);
    ck_assert (byte_claim_of (7, 3, true, NULL).to == 10);
    ck_assert (byte_claim_of (INT64_MAX - 1, 3, true, NULL).to == INT64_MAX);
    ck_assert (byte_claim_of (7, SIZE_MAX, true, NULL).to == INT64_MAX);
}
END_TEST

TEST_PROGRAM (test_byte_claims)
{
    Suite *suite = suite_create ("byte-claims");
    TCase *tcase = tcase_create ("byte-claims");

    tcase_add_test (tcase, claims_of_the_same_bytes_wait);
    tcase_add_test (tcase, a_waiting_claim_is_not_overtaken);
    tcase_add_test (tcase, a_range_ends_with_the_largest_file);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
