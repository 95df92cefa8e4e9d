/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words of -o, as passed by mount(8) and fstab. */
#include "fuzz.h"
#include "cli/cli.h"

#include "daemon/daemon.h"

#include <errno.h>

/* This program does not contain the main program. */
const struct cli_command cli_commands[] = { { NULL, NULL, NULL, NULL } };

/* The joined words are the original text, except for a comma at the end. */
static void
check_split (const char *text)
{
    g_auto (GStrv) words = bridge_split_options (text);
    g_autofree char *joined = g_strjoinv (",", words);

    g_assert (g_str_has_prefix (text, joined));
    g_assert (text[strlen (joined)] == '\0' || strcmp (text + strlen (joined), ",") == 0);
}

/* The options for the kernel are passed word by word, and contain none of Windlass. */
static void
fuzz_mount_options_check_kernel (const char *text)
{
    g_auto (GStrv) words = bridge_split_options (text);

    for (char **word = words; *word; word++) {
        g_auto (GStrv) pair = g_strsplit (*word, "=", 2);

        g_assert (pair[0] && *pair[0] && !option_find (bridge_options, pair[0]));
    }
}

/* The bridge accepts all accepted options. */
static void
check_bridge (const struct program_options *options)
{
    for (guint i = 0; i < options->bridge->len; i++) {
        g_auto (GStrv) pair = g_strsplit (options->bridge->pdata[i], "=", 2);
        const struct xlator_option *row = option_find (bridge_options, pair[0]);
        g_autofree char *allowed = NULL;

        g_assert (row && pair[1] && option_parse (row, pair[1], NULL, &allowed) == 0);
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct input input = { data, size };
    g_autofree char *text = fuzz_input_text (&input), *error = NULL;
    struct program_options options = { .bridge = g_ptr_array_new_with_free_func (g_free),
                                       .kernel = g_string_new (NULL) };
    int r = mount_options_add (&options, text, &error);

    g_assert (r == 0 || (r < 0 && error));
    check_split (text);
    fuzz_mount_options_check_kernel (options.kernel->str);
    check_bridge (&options);
    options_clear (&options);
    return 0;
}
