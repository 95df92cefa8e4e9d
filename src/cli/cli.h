/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The subcommands: `windlass check FILE` and the like. Each is a file here, and a row in cli.c. */
#ifndef WINDLASS_CLI_CLI_H
#define WINDLASS_CLI_CLI_H

#include "core/edge/option.h"
#include "graph/graph.h"

#include <stdio.h>

/* cli.c */

/* Runs the subcommand that argv[1] names and returns the exit status. When it names none,
 * *ret_handled is false: the command line is one of a mount. */
int cli_main (int argc, char **argv, bool *ret_handled);

/* For `windlass help`: a type that has no module. */
void cli_add_type (const char *type, const char *about, const struct xlator_option *options);

/* --- for the subcommands ---------------------------------------------------------------------- */

enum {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 64, /* EX_USAGE of sysexits.h */
};

struct cli_command {
    const char *name;
    const char *arguments; /* for its usage */
    const char *about;     /* one sentence, without a full stop */
    int (*run) (const struct cli_command *command, int argc, char **argv); /* argv[0] is its name */
};

extern const struct cli_command cli_commands[]; /* ends with a row without name */

/* What options that concern graphs hold. */
struct cli_graph {
    char **xlator_dirs;
    char *volume_name;
    char **options;
};

/* Takes argv's options: those of a graph, unless ret_graph is NULL, and the command's own (more,
 * NULL for none). argv keeps the command's name and the other arguments. false after a message. */
bool cli_parse (const struct cli_command *command, int *argc, char **argv,
                struct cli_graph *ret_graph, const GOptionEntry *more);
void cli_graph_clear (struct cli_graph *graph);

/* Reads a volfile and loads its graph, problems to stderr. NULL when the file can't be read. */
struct graph *cli_load (const struct cli_graph *options, const char *path);

/* A type that isn't a module's, of cli_add_type. */
struct cli_type {
    const char *type, *about;
    const struct xlator_option *options;
};
const struct cli_type *cli_type_find (const char *type);
void cli_types_foreach (void (*fn) (const struct cli_type *type, void *data), void *data);

/* check.c, conform.c, graph.c, help.c */

int cli_check (const struct cli_command *command, int argc, char **argv);
int cli_conform (const struct cli_command *command, int argc, char **argv);
int cli_draw (const struct cli_command *command, int argc, char **argv);
int cli_help (const struct cli_command *command, int argc, char **argv);

/* trace.c */

int cli_trace (const struct cli_command *command, int argc, char **argv);

/* inflight.c, tell.c, fault.c */

int cli_errors (const struct cli_command *command, int argc, char **argv);
int cli_explain (const struct cli_command *command, int argc, char **argv);
int cli_fault (const struct cli_command *command, int argc, char **argv);
int cli_inflight (const struct cli_command *command, int argc, char **argv);
int cli_power_cut (const struct cli_command *command, int argc, char **argv);
int cli_tell (const struct cli_command *command, int argc, char **argv);
/* the daemon's command of that name */
int cli_tell_daemon (const struct cli_command *command, int argc, char **argv);

/* Tells the daemon of a mount point (control_call), prints its answer or its refusal, and returns
 * the exit status. */
int cli_call (const struct cli_command *command, const char *mountpoint, const char *target,
              const char *what, GBytes *input);

/* The same for a command that answers in pieces (control_call_pieces), which take prints or
 * keeps. */
int cli_call_pieces (const struct cli_command *command, const char *mountpoint, const char *target,
                     const char *what, GBytes *input,
                     int (*take) (const char *bytes, size_t size, void *data, char **ret_error),
                     void *data);

/* Prints text of a daemon, which may be somebody else's: without what a terminal would act on. */
void cli_print_safely (FILE *file, const char *text);

/* Text of others, and its end of line: what a terminal would act on is printed as \xNN. */
void cli_print_safely (FILE *file, const char *text);

/* What is in a file ("-": standard input) that is to be sent. NULL after a message. */
GBytes *cli_read (const struct cli_command *command, const char *path);

/* Says what is wrong with the arguments. CLI_USAGE. */
int cli_usage (const struct cli_command *command, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* For a command whose first argument is one of verbs (NULL at the end): CLI_OK if word is one; else
 * CLI_USAGE after a message with all, their list for people. word NULL: there is none. */
int cli_check_verb (const struct cli_command *command, const char *const *verbs, const char *all,
                    const char *word);

/* stats.c, top.c */

int cli_top (const struct cli_command *command, int argc, char **argv);
int cli_stats (const struct cli_command *command, int argc, char **argv);

/* timeline.c */

int cli_timeline (const struct cli_command *command, int argc, char **argv);

/* output.c: what -o names */

/* A file that is there as a whole or not at all: written beside its name, and renamed. What isn't a
 * regular file is written to as it is, and NULL or "-" is the standard output. */
struct cli_output {
    FILE *file;
    char *path, *beside; /* beside: NULL if it isn't renamed */
};

/* 0; or -1 after a message, and then nothing is there. */
int cli_output_open (const struct cli_command *command, const char *path,
                     struct cli_output *ret_output);
int cli_output_done (const struct cli_command *command, struct cli_output *output);

/* Leaves no file behind. */
void cli_output_drop (struct cli_output *output);

/* man.c */

/* The section OPTIONS of a manual page, in the man macros. online: somebody takes over those that
 * may change while it runs. */
void cli_print_man (const struct xlator_option *options, bool online);

#endif
