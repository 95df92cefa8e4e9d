/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass run, windlass new, and the presets of both.
 *
 * A preset is a file NAME.vol: a volfile whose first comment lines are its head.
 *
 *   # preset: SUMMARY                            one line, without a full stop; must be given
 *   # flag --NAME SETTING [SETTING...]: HELP     a SETTING is VOLUME.OPTION=VALUE, or an option of
 *                                                windlass(1), such as --read-only
 *   # mount OPTION [OPTION...]                   options of windlass(1) that it always needs
 *
 * In the volumes, @DIR@ stands for the directory, @STATE@ for a folder that gets what is changed in
 * a view of it (overlay.c), and @BESIDE@ for the folder which that is in. @LOGS@ stands for a
 * folder for records, and @LOG@ for the name of a file of records, in that folder or in @BESIDE@
 * (logs.c). A preset with @HOST@ and @PATH@ takes HOST:PATH in its place, and is for `windlass new`
 * alone.
 */
#ifndef WINDLASS_CLI_RUN_RUN_H
#define WINDLASS_CLI_RUN_RUN_H

#include "cli/cli.h"

#include <sys/types.h>

/* --- preset.c: files of presets --- */

struct preset_flag {
    char *name;      /* "--read-only" */
    char **settings; /* "VOLUME.OPTION=VALUE", or options of windlass(1) */
    char *help;
};

struct preset {
    char *name, *path; /* path: its file */
    char *text;        /* of the file, with the head */
    char *summary;
    GPtrArray *flags;  /* struct preset_flag */
    GPtrArray *mount;  /* char *: options of windlass(1) */
};

/* Reads the preset of a name, or of a file if the name has a slash. Returns NULL, with a message in
 * *ret_error (g_free it) that lists the presets there are. */
struct preset *preset_read (const char *name, char **ret_error);
void preset_free (struct preset *preset);
typedef struct preset preset_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC (preset_t, preset_free)

/* Returns the names of all presets, sorted. Freed with g_ptr_array_unref. */
GPtrArray *preset_names (void);

/* Returns true if the preset takes HOST:PATH, not a directory. */
bool preset_is_of_host (const struct preset *preset);
/* Returns true if what is changed in a view goes to a folder of its own. */
bool preset_has_state (const struct preset *preset);
const struct preset_flag *preset_flag_find (const struct preset *preset, const char *name);
/* Returns true if a line of the file belongs to the head, or names the licence: what a volfile that
 * is made from the preset has no use for. */
bool preset_line_is_head (const char *line);

/* --- volfile.c: a volfile from a preset --- */

struct made_volfile {
    char *text;
    char **mount; /* options of windlass(1) that it is mounted with */
};

/* What stands in place of the marks in a preset. */
struct view_place {
    const char *directory; /* absolute; or HOST:PATH */
    const char *state;     /* the folder for changes; NULL: directory.overlay */
    char *logs, *log;      /* the folder for records, if the preset has @LOGS@, and a name for a
                            * file of them; g_free them */
    bool logs_apart;       /* the folder was made for this run alone */
};

/* words: OPTION=VALUE and --FLAG. Returns 0; or -EINVAL after messages on stderr. Values of secret
 * options are hidden in the words. */
int volfile_make (const struct cli_command *command, const struct preset *preset,
                  const struct view_place *place, char **words, const struct cli_graph *options,
                  struct made_volfile *ret_made);
void made_volfile_clear (struct made_volfile *made);

/* --- logs.c: where records go --- */

bool preset_has_log (const struct preset *preset);
/* Fills in place->logs and place->log for a run, and makes the folder. Returns CLI_OK, or CLI_USAGE
 * after a message. run_log_end removes a folder of this run alone, if it is empty. */
int run_log_begin (const struct cli_command *command, const struct preset *preset,
                   struct view_place *place);
void run_log_end (const struct view_place *place);
/* Fills them in for a volfile, or for a run whose preset has no @LOGS@, and makes nothing. */
void new_log_name (const struct preset *preset, struct view_place *place);
/* Tells on stderr which files the volumes of a volfile write records to. */
void run_log_tell (const char *volfile);

/* --- words.c: the command line of both --- */

struct run_words {
    struct cli_graph graph;
    struct preset *preset;
    char *place;    /* as it was given */
    char **words;   /* OPTION=VALUE and --FLAG; the strings are argv's */
    char **command; /* what follows after "--", in argv; NULL: nothing */
};

/* more: the command's own options, or NULL. Returns CLI_OK, or CLI_USAGE after a message. */
int run_words_parse (const struct cli_command *command, int argc, char **argv,
                     const GOptionEntry *more, struct run_words *ret_words);
void run_words_clear (struct run_words *words);

/* Prints "windlass COMMAND: TEXT"; bytes that a terminal may not show are escaped. Returns
 * CLI_USAGE. */
int run_refuse (const struct cli_command *command, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* --- overlay.c: views whose changes are kept or thrown away --- */

/* What `windlass run overlay` was asked for, and where its changes are. */
struct kept_view {
    gboolean apply, discard, json; /* options */
    char *keep;                    /* --keep: the name; g_free it, as what follows */
    char *from;                    /* --from: the name of another view */
    char *from_state;              /* the folder of that */
    GPtrArray *layers;             /* its frozen layers; or NULL */
    char *name, *state;            /* the name of the view, and its folder */
    char *changes;                 /* folder in that: the first subvolume of the overlay */
    char *entry;                   /* the name in the list of kept views */
    bool applied;                  /* the directory has the changes */
    bool drops;                    /* the folder of changes is removed at the end */
};

enum view_fate { VIEW_KEEP, VIEW_APPLY, VIEW_DISCARD };

#define KEPT_VOLFILE "view.vol" /* in the folder of a view */

char *kept_views_folder (void); /* the list of kept views; g_free it */

/* Refuses what does not fit. Returns CLI_OK, or CLI_USAGE after a message. */
int kept_view_check (const struct cli_command *command, const struct preset *preset,
                     const struct kept_view *kept);
/* Makes the folder of a view of the directory, and enters it in the list. The same results. */
int kept_view_begin (const struct cli_command *command, const char *directory,
                     struct kept_view *kept);
/* Tells which of the descriptors 0 to 2 are of files in the directory: they don't lead through the
 * view. */
void kept_view_tell_descriptors (const char *directory);
/* Writes the volfile beside the changes, so that a kept view can be mounted. */
void kept_view_write (const struct kept_view *kept, const char *volfile);
/* The command has ended with a status, and the view is still mounted: tells what has changed, finds
 * out what becomes of it, and applies it. Returns the status, or RUN_FAILED if --apply did not
 * succeed. */
int kept_view_answer (struct kept_view *kept, const char *where, int status);
/* The view has ended: throws the changes away, or tells where they are. lost: its daemon has ended
 * before, so they are kept. Frees kept. */
void kept_view_end (struct kept_view *kept, bool lost);
void kept_view_clear (struct kept_view *kept);

/* --- frozen.c: frozen layers --- */

/* Finds the frozen layers of --from. Returns CLI_OK, or CLI_USAGE after a message. */
int kept_view_from (const struct cli_command *command, const char *directory,
                    struct kept_view *kept);
/* Adds them to the volfile of the view. The same results. */
int kept_view_layers (const struct cli_command *command, const struct kept_view *kept,
                      struct made_volfile *made);
/* Records in the folders of the layers that this view needs them, or no longer. */
int kept_view_use (const struct cli_command *command, const struct kept_view *kept);
void kept_view_unuse (const struct kept_view *kept);
/* Returns the name of a view that needs the layers of this one; NULL: none does. g_free it. */
char *kept_view_user (const struct kept_view *kept);
/* Returns whether changes lie in frozen layers of the view's own; true if that is not known. */
bool kept_view_has_frozen (const struct kept_view *kept);

/* --- namespace.c: a mount namespace of its own --- */

/* A setting of sysctl(8) that decides whether ordinary users may make user namespaces, and a value
 * of each kind. */
struct namespace_switch {
    const char *setting, *refuses, *permits;
};

/* Returns the first of the system's switches that refuses them, or NULL: none does. root stands
 * before the path of each file: "", or a folder that a test fills. */
const struct namespace_switch *namespace_refused_by (const char *root);

/* Has this process, which has one thread, enter a new mount namespace from which no mount reaches
 * the one before; without privileges a user namespace too, where all ids but the user's own are
 * nobody's. Returns 0; or a negative errno and *ret_what, the call that failed (constant). Then the
 * process is of no use. */
int namespace_enter (const char **ret_what);
/* Tries it in another process, with the same result. */
int namespace_try (const char **ret_what);
/* In that namespace: makes the directory a mount of its own, with all mounts below it as they are
 * now. What is mounted or unmounted below it elsewhere from now on does not happen here. Returns 0
 * or a negative errno. */
int namespace_clone (const char *directory);
/* Lets a program that this process executes keep the right to mount, which only root's would. */
void namespace_lend_mount (void);

/* --- daemon.c: the daemon of the view --- */

struct view_daemon {
    pid_t pid;
    int fd;     /* the daemon ends when it is closed */
    char *log;  /* the path of its log, or NULL */
    bool ended; /* it has been waited for */
};

/* Starts the daemon, and waits until it has mounted. stays: the mount is left as it is at the end,
 * without a daemon: for a mount namespace that ends as well. Returns 0; or a negative errno, after
 * messages on stderr. */
int view_daemon_start (const struct made_volfile *made, const char *volfile, const char *name,
                       const char *mountpoint, bool stays, struct view_daemon *ret_daemon);
/* Ends it when everything is written, and waits for that. Returns its exit status, or -1 if a
 * signal ended it. */
int view_daemon_end (struct view_daemon *daemon);

/* --- child.c: the command --- */

#define RUN_FAILED 125 /* the status if there is no view, as of timeout(1) and its like */

/* Runs a program and waits until it has ended; passes signals on to it. closes: it inherits no
 * descriptors but 0, 1 and 2. lost is called when another child process has ended. Returns its
 * status as the shell has it: 128 and the signal, 127 if there is no such program, 126 if it can't
 * be executed. */
int child_run (char *const *argv, const char *directory, bool closes,
               void (*lost) (pid_t pid, void *data), void *data);

/* --- left.c: processes that outlive the command --- */

/* Tells on stderr which processes below this one are left, but for `besides`. */
void left_tell (pid_t besides);

#endif
