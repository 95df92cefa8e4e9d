/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text as a volfile: parsed, loaded with the real modules, and printed; the printed text is parsed
 * again. The lines after a line "--" are values of --xlator-option; a line that begins with '@' is
 * the value of --volume-name.
 */
#include "fuzz.h"

#include "graph/graph.h"

#define SEPARATOR "\n--\n"

struct command {
    GPtrArray *options;
    char *volume_name;
};

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
    g_setenv ("WINDLASS_XLATOR_PATH", FUZZ_XLATOR_PATH, FALSE);
    return 0;
}

static struct command
command_read (const uint8_t *data, size_t size)
{
    struct input input = { data, size };
    struct command command = { g_ptr_array_new_with_free_func (g_free), NULL };

    while (input.left > 0) {
        char *line = input_line (&input);

        if (line[0] == '@') {
            g_free (command.volume_name);
            command.volume_name = g_strdup (line + 1);
            g_free (line);
        } else {
            g_ptr_array_add (command.options, line);
        }
    }
    g_ptr_array_add (command.options, NULL);
    return command;
}

static struct graph *
fuzz_volfile_load (const uint8_t *text, size_t size, const struct command *command)
{
    const struct graph_settings settings = {
        .volume_name = command ? command->volume_name : NULL,
        .options = command ? (const char *const *) command->options->pdata : NULL,
        .inode_limit = 10,
    };
    struct volfile *volfile = volfile_parse ("fuzz.vol", (const char *) text, size);

    return graph_load (volfile, &settings);
}

static void
fuzz_volfile_check_problems (const struct volfile *volfile)
{
    for (guint i = 0; i < volfile->problems->len; i++) {
        const struct problem *problem = volfile->problems->pdata[i];

        g_assert (*problem->text && is_one_line (problem->text));
        g_assert (problem->line >= LINE_OF_COMMAND && problem->column >= 0);
    }
}

/* Without the rules and the line numbers. */
static char *
text_without_numbers (const char *text)
{
    g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
    GString *out = g_string_new (NULL);

    for (char **line = lines; *line; line++) {
        const char *colon = **line == '+' ? NULL : strstr (*line, ": ");

        if (colon)
            g_string_append_printf (out, "%s\n", colon + 2);
    }
    return g_string_free (out, FALSE);
}

static void
fuzz_volfile_check_printed (const struct graph *graph)
{
    g_autofree char *text = graph_text (graph), *dot = graph_dot (graph);
    g_autofree char *plain = text_without_numbers (text), *again = NULL;
    struct graph *second = fuzz_volfile_load ((const uint8_t *) plain, strlen (plain), NULL);

    g_assert (g_str_has_suffix (dot, "}\n"));
    g_assert (!volfile_has_errors (second->volfile));
    again = graph_text (second);
    g_assert_cmpstr (again, ==, text);
    graph_free (second);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    const uint8_t *separator = size ? memmem (data, size, SEPARATOR, strlen (SEPARATOR)) : NULL;
    const size_t text_size = separator ? (size_t) (separator - data) : size;
    const size_t rest = separator ? text_size + strlen (SEPARATOR) : size;
    struct command command = command_read (data + rest, size - rest);
    struct graph *graph = fuzz_volfile_load (data, text_size, &command);

    fuzz_volfile_check_problems (graph->volfile);
    if (!volfile_has_errors (graph->volfile))
        fuzz_volfile_check_printed (graph);
    graph_free (graph);
    g_ptr_array_unref (command.options);
    g_free (command.volume_name);
    return 0;
}
