/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The OPTIONS of a manual page, from the same rows that check the values. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

/* Escapes text for roff: '\' and '-' anywhere, '.' and ''' at the start of a line. */
static void
man_put (const char *text, bool line_start)
{
    if (line_start && strchr (".'", *text))
        fputs ("\\&", stdout);
    for (; *text; text++) {
        if (*text == '\\')
            fputs ("\\e", stdout);
        else if (*text == '-')
            fputs ("\\-", stdout);
        else if (*text == '\'')
            fputs ("\\(aq", stdout);
        else
            putchar (*text == '\n' ? ' ' : *text);
    }
}

static void
man_put_key (const struct xlator_option *row)
{
    printf (".TP\n\\fB");
    man_put (row->key[0], false);
    printf ("\\fR");
    for (int i = 1; i < OPTION_KEYS && row->key[i]; i++) {
        printf (", \\fB");
        man_put (row->key[i], false);
        printf ("\\fR");
    }
    putchar ('\n');
}

static void
man_put_row (const struct xlator_option *row, bool online)
{
    g_autofree char *allowed = option_allowed (row);

    man_put_key (row);
    if (row->help) {
        g_autofree char *sentence = g_strdup (row->help);

        *sentence = g_ascii_toupper (*sentence);
        man_put (sentence, true);
        printf (".\n");
    }
    if (row->inert)
        printf ("It is accepted, as GlusterFS has it, and does nothing.\n");
    printf ("Allowed: ");
    man_put (allowed, false);
    if (row->required) {
        printf ("; must be given");
    } else if (row->value) {
        printf ("; default \\fB");
        man_put (*row->value ? row->value : "\"\"", false);
        printf ("\\fR");
    }
    printf (".\n");
    if (row->online && online)
        printf ("It may change while it is mounted.\n");
}

void
cli_print_man (const struct xlator_option *options, bool online)
{
    printf (".SH OPTIONS\n");
    for (; options && options->key[0]; options++)
        man_put_row (options, online);
}
