/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What may stand on a command line, from the same rows that parse it: for `windlass help --json`
 * and for completion.
 *
 * An option is described by its row of glib's parser. Arguments are described by the synopsis in
 * the table of commands: "start|stop MOUNTPOINT [FILE]". A word in capitals is of a kind
 * (cli_kinds); words in small letters stand for themselves. The value of an option is described in
 * the same way: "FILE", "root|user", "VOLUME,..." for a list.
 */
#ifndef WINDLASS_CLI_DESCRIBE_H
#define WINDLASS_CLI_DESCRIBE_H

#include "cli/cli.h"

struct cli_option {
    char *name;          /* without the -- */
    char letter;         /* 0: none */
    char *value;         /* "FILE", "root|user"; NULL: it takes no value */
    bool value_optional;
    char *about;
};

struct cli_argument {
    char *name; /* "MOUNTPOINT", "start|stop|cat" */
    bool optional, repeats;
    bool after_dashes; /* it follows a word "--" */
};

struct cli_description {
    GPtrArray *options;   /* struct cli_option */
    GPtrArray *arguments; /* struct cli_argument */
};

/* Returns the command of a name, or NULL. */
const struct cli_command *cli_command_find (const char *name);

/* Describes a command, or the command line of a mount (NULL). cli_description_free it. */
struct cli_description *cli_describe (const struct cli_command *command);
void cli_description_free (struct cli_description *description);

/* Describes rows of glib's parser: adds to an array of struct cli_option. */
GPtrArray *cli_options_new (void);
void cli_options_add (GPtrArray *options, const GOptionEntry *entries);

/* The words "a|b|[c]" of a value or an argument, those in small letters, or those in capitals.
 * g_strfreev them. */
char **cli_literal_words (const char *text);
char **cli_kind_words (const char *text);

/* All kinds that completion knows, or knows that it can't complete; NULL at the end. */
extern const char *const cli_kinds[];

#endif
