/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words that commands of the daemon read, and what they say of a command. */
#include "daemon/daemon.h"

#include "core/base/printable.h"

#include <errno.h>
#include <string.h>

char **
command_words (GBytes *input)
{
    gsize size;
    const char *bytes = g_bytes_get_data (input, &size);
    g_autofree char *text = g_strndup (bytes, size);
    GPtrArray *words = g_ptr_array_new ();
    g_auto (GStrv) lines = g_strsplit (text ? text : "", "\n", -1);

    for (char **line = lines; *line; line++)
        if (**line)
            g_ptr_array_add (words, g_strdup (*line));
    g_ptr_array_add (words, NULL);
    return (char **) g_ptr_array_free (words, FALSE);
}

int
command_refuse_word (const char *word, const char *allowed, GString *answer)
{
    g_string_append (answer, "'");
    line_append (answer, word, 100);
    g_string_append_printf (answer, "' can't be understood; there are %s", allowed);
    return -EINVAL;
}

void
say_command (const struct running *running, const char *what, const char *command, GString *answer)
{
    g_autofree char *quoted = g_shell_quote (running->mountpoint);
    const bool plain =
        running->mountpoint[strspn (running->mountpoint,
                                    G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "/._-+,@:=%")]
        == '\0';

    g_string_append_printf (answer, "%s: windlass %s %s", what, command,
                            plain ? running->mountpoint : quoted);
}
