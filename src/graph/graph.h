/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From a volfile to a graph that answers requests.
 *
 *   volfile_read     text -> volumes, and every error of the file at once
 *   graph_load       volumes -> modules, options checked and stored, needs checked; still no side
 *                    effect
 *   graph_activate   init of each translator, children first; routes; CHILD_UP and PARENT_UP
 *   graph_deactivate PARENT_DOWN, fini, parents first
 *
 * Reasons: the lexer is our own, not GScanner, so that problems have exact columns, a word may be
 * any bytes and quotes follow GlusterFS. Sections of a state dump name the volume, not only its
 * type: a graph may have two of a type.
 */
#ifndef WINDLASS_GRAPH_GRAPH_H
#define WINDLASS_GRAPH_GRAPH_H

#include "core/data/fd.h"
#include "core/data/inode.h"
#include "core/edge/translator.h"

#define LINE_OF_COMMAND (-1)

/* What is wrong, or suspicious, in a volfile: "home.vol:7:12: volume 'wb': what, and what is
 * allowed". */
struct problem {
    bool warning;
    int line, column; /* 0: of the whole file; LINE_OF_COMMAND: of the command line */
    char *text;       /* one line, printable */
};

/* One statement pair of `option KEY VALUE`. */
struct volfile_option {
    char *key, *value;
    int line, column;             /* of the key */
    int value_line, value_column;
    bool bad; /* a problem was reported: no more is said about it */
};

struct volfile_volume {
    char *name, *type;
    int line, column;           /* of the name */
    int type_line, type_column; /* type is NULL when there is none that can be used */
    bool again;                 /* the name was defined before */
    GPtrArray *options;         /* struct volfile_option */
    GPtrArray *subvolumes;      /* struct volfile_word */
    bool bad_subvolumes;        /* some could not be read */
};

struct volfile_word {
    char *text;
    int line, column;
};

struct volfile {
    char *path, *text;
    GPtrArray *volumes;  /* struct volfile_volume, in the order of the file */
    GPtrArray *problems; /* struct problem; by place, when volfile_read or graph_load return */
};

struct graph {
    struct volfile *volfile;
    GPtrArray *xlators; /* xlator_t, from the top down; only those that the top reaches */
    xlator_t *top;
    struct itable *itable; /* since graph_load */
    struct fd_maker fd_maker;
    unsigned id;
    bool active;
    /* a leaf: the settings of its translators, where another thread than the main one reads them.
     * That one alone changes them, and needs it for that alone */
    pthread_mutex_t settings_lock;
};

/* Reads and parses a file ("-": standard input). NULL only when it can't be read: *ret_error
 * (g_free it) says why. Otherwise look at problems. */
struct volfile *volfile_read (const char *path, char **ret_error);
struct volfile *volfile_parse (const char *path, const char *text, size_t size);
void volfile_free (struct volfile *volfile);
bool volfile_has_errors (const struct volfile *volfile);

/* Each problem as "file:line:column: error|warning: text" to stderr, those of the command line
 * last. */
void volfile_print_problems (const struct volfile *volfile);
void volfile_append_problems (const struct volfile *volfile, GString *out);

/* What the command line adds to the file. */
struct graph_settings {
    const char *volume_name;    /* --volume-name, or NULL */
    const char *const *options; /* --xlator-option VOLUME.KEY=VALUE, NULL at the end; may be NULL */
    const char *const *xlator_dirs; /* --xlator-dir; searched before WINDLASS_XLATOR_PATH and the
                                       installed folder; may be NULL */
    size_t inode_limit;         /* inodes remembered that nobody refers to */
};

/* Takes over volfile (also on failure it belongs to the graph). Problems are added to
 * volfile->problems; the graph is usable when there are no errors. Never NULL. */
struct graph *graph_load (struct volfile *volfile, const struct graph_settings *settings);

/* 0, or a negative errno after a log line that says which translator failed; what was started is
 * stopped again. */
int graph_activate (struct graph *graph);
void graph_deactivate (struct graph *graph);
void graph_free (struct graph *graph); /* deactivates it first; takes NULL */

/* Reads the volfile of an active graph again. Where nothing but options that may change while it
 * runs are others than before, they are taken over; else nothing is. settings: those it was loaded
 * with. 0, or a negative errno; answer gets a line for each change, each problem, and each reason
 * why it needs a remount. On the thread that owns the graph; requests go on. */
int graph_reload (struct graph *graph, const char *path, const struct graph_settings *settings,
                  GString *answer);

/* Puts a translator of that api, which is the program's own, on every edge of a graph that was
 * loaded and isn't active, and above its top, for tests: it must implement `every`, and keeps
 * nothing with inodes and fds. Each has one child and its private struct zeroed. */
void graph_splice (struct graph *graph, const struct xlator_api *api);

/* A graph of one translator, the program's own, without a volfile; it is active. private: what it
 * keeps, which g_free frees in the end. Its inodes' numbers have INODE_REALM. */
struct graph *graph_of_one (const struct xlator_api *api, const char *name, void *private);

/* The level of all that has none of its own; the routes with it, since TRACE watches winds. Any
 * thread. */
void graph_set_loglevel (struct graph *graph, gf_loglevel_t level);

xlator_t *graph_find (struct graph *graph, const char *name);

/* The OR of TOUCHES_* of all translators of the graph that aren't passed through. */
unsigned graph_touches (const struct graph *graph);

/* The text of the final graph, as GlusterFS logs it: numbered lines between rules. g_free it. */
char *graph_text (const struct graph *graph);
/* The same as a volfile, without rules and numbers. Any thread. g_free it. */
char *graph_volfile (struct graph *graph);
/* For graphviz. g_free it. */
char *graph_dot (const struct graph *graph);

/* Finds the module of a type and its xlator_api. NULL, and *ret_error (g_free it): where it was
 * looked for, what was wrong. */
const struct xlator_api *module_load (const char *type, const char *const *dirs, char **ret_error);

/* 0; or -ENOENT, and *ret_error which of these folders of the command line is none. */
int module_check_dirs (const char *const *dirs, char **ret_error);

/* Every type there is in the folders that are searched, sorted. */
GPtrArray *module_types (const char *const *dirs);

void setting_free (struct option_setting *setting);

/* Tables of options that aren't a module's: what every translator takes, and the bridge's. */
extern const struct xlator_option common_options[];

#endif
