/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules of debug/fault: each parsed rule prints as a line that parses to the same rule. */
#include "fuzz.h"

#include "../../xlators/debug/fault/rules.h"

static char *
rules_text (const struct rules *rules)
{
    GString *out = g_string_new (NULL);

    for (unsigned i = 0; i < rules->n; i++) {
        rule_print (&rules->rules[i], out);
        g_string_append_c (out, '\n');
    }
    return g_string_free (out, FALSE);
}

static void
fuzz_fault_rules_check_printed (const struct rules *rules)
{
    g_autofree char *text = rules_text (rules), *again_text = NULL, *error = NULL;
    struct rules *again = rules_parse (text, strlen (text), "printed", &fault_grammar, &error);

    g_assert (again);
    again_text = rules_text (again);
    g_assert_cmpstr (again_text, ==, text);
    rules_free (again);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    g_autofree char *error = NULL;
    struct rules *rules = rules_parse ((const char *) data, size, "fuzz", &fault_grammar, &error);

    g_assert ((rules == NULL) == (error != NULL));
    if (rules)
        fuzz_fault_rules_check_printed (rules);
    rules_free (rules);
    return 0;
}
