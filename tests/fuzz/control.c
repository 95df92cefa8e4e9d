/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzzes the control socket: bytes as a request and as an answer. A parsed message packs to the
 * same bytes. */
#include "fuzz.h"

#include "control/control.h"

static void
check_request (const struct control_request *request)
{
    g_autofree char *error = NULL;
    g_autoptr (GBytes) packed = control_pack (request, &error);
    struct control_request again = { 0 };
    gsize size;
    const void *bytes;

    g_assert (packed);
    bytes = g_bytes_get_data (packed, &size);
    g_assert (control_parse (bytes, size, &again, &error) == 0);
    g_assert_cmpstr (again.command, ==, request->command);
    g_assert_cmpstr (again.target, ==, request->target);
    g_assert (g_bytes_equal (again.input, request->input));
    control_request_clear (&again);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct control_request request = { 0 };
    g_autofree char *error = NULL, *answer_error = NULL;
    g_autoptr (GString) text = g_string_new (NULL);
    int status;

    if (control_parse (data, size, &request, &error) == 0) {
        check_request (&request);
        control_request_clear (&request);
    }
    control_parse_answer (data, size, &status, text, &answer_error);
    return 0;
}
