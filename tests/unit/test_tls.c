/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which ciphers a client of TLS takes. */
#include "config.h"

#include "../program.h"
#include "tls_server.h"

#include <glib.h>
#include <string.h>

#if TLS_MODES > 1

/* Whatever a list of ciphers allows. */
START_TEST (unsafe_ciphers_are_refused)
{
    g_autofree char *anybody = tls_server_refused ("AECDH-AES128-SHA:@SECLEVEL=0"),
                    *plain = tls_server_refused ("ECDHE-ECDSA-NULL-SHA:@SECLEVEL=0"),
                    *safe = tls_server_refused ("ECDHE-ECDSA-AES128-GCM-SHA256");

    ck_assert_msg (anybody && strstr (anybody, "the server showed no certificate"), "%s", anybody);
    ck_assert_msg (plain && strstr (plain, "ECDHE-ECDSA-NULL-SHA does not encrypt"), "%s", plain);
    ck_assert_msg (safe == NULL, "%s", safe);
}
END_TEST

START_TEST (lists_of_unsafe_ciphers_are_refused)
{
    static const char *const lists[] = { "eNULL", "aNULL:@SECLEVEL=0", "HIGH:aNULL", "ALL",
                                         "HIGH:NULL-SHA256" };
    char *allowed;

    for (size_t i = 0; i < G_N_ELEMENTS (lists); i++) {
        allowed = NULL;
        ck_assert_msg (tls_check_ciphers (lists[i], &allowed) < 0, "%s", lists[i]);
        ck_assert_ptr_nonnull (strstr (allowed, "append ':!eNULL:!aNULL'"));
        g_free (allowed);
    }
    ck_assert_int_eq (tls_check_ciphers (TLS_CIPHERS, &allowed), 0);
    ck_assert_int_eq (tls_check_ciphers ("ALL:!eNULL:!aNULL", &allowed), 0);
    ck_assert_int_eq (tls_check_ciphers ("DEFAULT", &allowed), 0);
}
END_TEST

#endif

TEST_PROGRAM (test_tls)
{
    Suite *suite = suite_create ("tls");
    TCase *ciphers = tcase_create ("ciphers");

#if TLS_MODES > 1
    tcase_add_test (ciphers, unsafe_ciphers_are_refused);
    tcase_add_test (ciphers, lists_of_unsafe_ciphers_are_refused);
#endif
    tcase_set_timeout (ciphers, 240);
    suite_add_tcase (suite, ciphers);
    return suite_run (suite);
}
