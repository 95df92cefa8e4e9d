/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The subcommands: `windlass check FILE` and the like. Each has a file here, and a row in cli.c. */
#ifndef WINDLASS_CLI_CLI_H
#define WINDLASS_CLI_CLI_H

#include "control/control.h"
#include "core/edge/option.h"
#include "graph/graph.h"

#include <stdio.h>

/* cli.c */

/* Runs the subcommand named by argv[1] and returns the exit status. If argv[1] is no subcommand,
 * *ret_handled is false: the command line is that of a mount. */
int cli_main (int argc, char **argv, bool *ret_handled);

/* For `windlass help`: adds a type without a module. */
void cli_add_type (const char *type, const char *about, const struct xlator_option *options);

/* A word of -o; value: "VALUE", "on|off" and the like, or NULL. */
typedef void cli_word_fn (const char *word, const char *value, void *data);

/* For `windlass help --json` and completion: the command line of a mount. */
struct cli_mount {
    void (*options) (void (*seen) (const GOptionEntry *entries)); /* calls seen with its rows */
    void (*words) (cli_word_fn *fn, void *data);                  /* calls fn for each word of -o */
};
extern const struct cli_mount *cli_mount; /* set by main before it calls cli_main */

/* --- for the subcommands ---------------------------------------------------------------------- */

enum {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 64, /* EX_USAGE of sysexits.h */
};

struct cli_command {
    const char *name;
    const char *arguments; /* for the usage message */
    const char *about;     /* one sentence, without a full stop */
    int (*run) (const struct cli_command *command, int argc, char **argv); /* argv[0] is the
                                                                              command's name */
};

extern const struct cli_command cli_commands[]; /* ends with a row without name */

/* The options of a command that loads a graph. */
struct cli_graph {
    char **xlator_dirs;
    char *volume_name;
    char **options;
};

/* If set, cli_parse calls it with the rows of options and returns false, so that the command does
 * nothing: describe.c. A command calls cli_parse first of all. */
extern void (*cli_options_seen) (const GOptionEntry *entries);

/* Parses argv's options: those for graphs, unless ret_graph is NULL, and the command's own (more,
 * NULL for none). argv keeps the command's name and the other arguments. Returns false after a
 * message. */
bool cli_parse (const struct cli_command *command, int *argc, char **argv,
                struct cli_graph *ret_graph, const GOptionEntry *more);
void cli_graph_clear (struct cli_graph *graph);

/* Returns the first word after argv[0] that is no option, and no value of one of the options for
 * graphs and of more (NULL for none). NULL: there is none. */
const char *cli_first_word (char *const *argv, const GOptionEntry *more);

/* Reads a volfile and loads its graph, with problems to stderr. Returns NULL if the file can't be
 * read. */
struct graph *cli_load (const struct cli_graph *options, const char *path);

/* A type without a module, from cli_add_type. */
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

/* doctor/doctor.c */

int cli_doctor (const struct cli_command *command, int argc, char **argv);

/* run/ */

int cli_new (const struct cli_command *command, int argc, char **argv);
int cli_rules (const struct cli_command *command, int argc, char **argv);
int cli_run (const struct cli_command *command, int argc, char **argv);
/* windlass overlay status without a mount point: the views that run overlay has kept. */
int kept_views_list (void);
/* Returns the volfile of a kept view, g_free it; NULL: there is none of that name. */
char *kept_view_volfile (const char *name);
/* Gives a command to the volume of a type of a view that is not mounted: its graph runs in this
 * process. The answer of the job goes to take. Returns its result; or a negative errno and
 * *ret_error (g_free it). */
int kept_view_command (const char *volfile, const char *type, const char *name, GBytes *input,
                       control_piece_fn *take, void *data, char **ret_error);
/* For `windlass help`: the list of presets; one preset. CLI_USAGE, and nothing is printed: there is
 * no such preset. */
int cli_help_presets (void);
int cli_help_preset (const char *name);

/* list.c, umount.c */

struct mount;

/* Returns the state of a mount as windlass list prints it, a constant text, after two seconds at
 * most; and in *ret_pid its daemon, or 0. */
const char *cli_mount_state (const struct mount *mount, pid_t *ret_pid);

int cli_list (const struct cli_command *command, int argc, char **argv);
int cli_umount (const struct cli_command *command, int argc, char **argv);

/* trace.c */

int cli_trace (const struct cli_command *command, int argc, char **argv);

/* inflight.c, tell.c, fault.c, heal.c */

int cli_errors (const struct cli_command *command, int argc, char **argv);
int cli_explain (const struct cli_command *command, int argc, char **argv);
int cli_fault (const struct cli_command *command, int argc, char **argv);
int cli_heal (const struct cli_command *command, int argc, char **argv);
int cli_inflight (const struct cli_command *command, int argc, char **argv);
int cli_power_cut (const struct cli_command *command, int argc, char **argv);
int cli_tell (const struct cli_command *command, int argc, char **argv);
/* sends the daemon's command of that name */
int cli_tell_daemon (const struct cli_command *command, int argc, char **argv);

/* Sends a command to the daemon of a mount point (control_call), prints its answer or its refusal,
 * and returns the exit status. */
int cli_call (const struct cli_command *command, const char *mountpoint, const char *target,
              const char *what, GBytes *input);

/* The same for a command that answers in pieces (control_call_pieces); `take` prints or keeps each
 * piece. */
int cli_call_pieces (const struct cli_command *command, const char *mountpoint, const char *target,
                     const char *what, GBytes *input,
                     int (*take) (const char *bytes, size_t size, void *data, char **ret_error),
                     void *data);

/* A command that asks a daemon until it is done calls this each time; since: 0 at first. After a
 * few seconds it says once what is waited for, since a daemon of another user may never be done. */
void cli_say_waiting (const struct cli_command *command, const char *mountpoint, gint64 *since);

/* Prints a line of text that is not trusted: control characters become \xNN. */
void cli_print_safely (FILE *file, const char *text);

/* Reads a file that is to be sent ("-": standard input). Returns NULL after a message. */
GBytes *cli_read (const struct cli_command *command, const char *path);

/* Reports an error in the arguments. Returns CLI_USAGE. */
int cli_usage (const struct cli_command *command, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* For a command whose first argument is one of verbs (NULL at the end): returns CLI_OK if word is
 * one; else CLI_USAGE after a message with all, the list of verbs for the user. word NULL: it is
 * missing. */
int cli_check_verb (const struct cli_command *command, const char *const *verbs, const char *all,
                    const char *word);

/* stats.c, top.c */

int cli_top (const struct cli_command *command, int argc, char **argv);
int cli_stats (const struct cli_command *command, int argc, char **argv);

/* jobs.c */

int cli_jobs (const struct cli_command *command, int argc, char **argv);

/* translator.c */

/* Returns the command of a translator whose type ends in /NAME; NULL if there is none. It stays
 * valid. dirs: as for module_load. */
const struct cli_command *cli_translator_find (const char *name, const char *const *dirs);

/* Returns the commands of translators whose names begin so: array of struct cli_command. Freed with
 * g_ptr_array_unref. */
GPtrArray *cli_translator_commands (const char *begin, const char *const *dirs);

/* timeline.c */

int cli_timeline (const struct cli_command *command, int argc, char **argv);

/* output.c: files named with -o */

/* A file of the user's own is written under another name and renamed, so that a reader sees a whole
 * one; until then a new file is empty. Any other file is written directly. NULL or "-" is the
 * standard output. */
struct cli_output {
    FILE *file;
    char *path, *beside; /* beside: NULL if it is not renamed */
    bool made;           /* there was no file before; a failure removes it */
};

/* Returns 0; or -1 after a message, and then no file is left. */
int cli_output_open (const struct cli_command *command, const char *path,
                     struct cli_output *ret_output);
int cli_output_done (const struct cli_command *command, struct cli_output *output);

/* Removes the unfinished file. */
void cli_output_drop (struct cli_output *output);

/* help-json.c: what `windlass help` tells, for programs */

void cli_json_all (const char *const *dirs);
void cli_json_command (const struct cli_command *command);
/* api: NULL for a type without a module. */
void cli_json_type (const char *type, const char *about, const struct xlator_api *api,
                    const struct xlator_option *options);
void cli_json_presets (void);
/* Returns CLI_USAGE, and prints nothing, if there is no such preset. */
int cli_json_preset (const char *name);

/* complete.c */

/* Prints what the last of the words of a command line may become, for completion.  */
int cli_complete (char *const *words, const char *const *dirs);

/* man.c */

/* Prints the section OPTIONS of a manual page, in the man macros. online: some options may change
 * while the translator runs. */
void cli_print_man (const struct xlator_option *options, bool online);

#endif
