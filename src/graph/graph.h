/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From a volfile to a graph that answers requests.
 *
 *   volfile_read     text -> volumes, with all errors of the file at once
 *   graph_load       volumes -> modules; options checked and stored, needs checked; no side effects
 *                    yet
 *   graph_activate   opens roots; init of each translator, children first; routes; CHILD_UP and
 *                    PARENT_UP
 *   graph_take_over  a graph that takes the place of another takes over its state
 *   graph_deactivate PARENT_DOWN, fini, parents first
 *   graph_reload     an active graph takes over options, or is replaced by another one (graph_join)
 *
 * Reasons: the lexer is written here and not GScanner, so that problems have exact columns, a word
 * may contain any bytes, and quotes follow GlusterFS. Sections of a state dump name the volume, not
 * only its type, since a graph may have two volumes of a type.
 */
#ifndef WINDLASS_GRAPH_GRAPH_H
#define WINDLASS_GRAPH_GRAPH_H

#include "core/data/fd.h"
#include "core/data/inode.h"
#include "core/edge/root.h"
#include "core/edge/translator.h"

#define LINE_OF_COMMAND (-1)

/* An error or warning about a volfile: "home.vol:7:12: volume 'wb': the problem, and the allowed
 * values". */
struct problem {
    bool warning;
    int line, column; /* 0: the whole file; LINE_OF_COMMAND: the command line */
    char *text;       /* one line, printable */
};

/* A pair in a statement `option KEY VALUE`. */
struct volfile_option {
    char *key, *value;
    int line, column;             /* of the key */
    int value_line, value_column;
    bool bad; /* a problem was reported; there are no further reports about it */
};

struct volfile_volume {
    char *name, *type;
    int line, column;           /* of the name */
    int type_line, type_column; /* type is NULL if the volume has no usable one */
    bool again;                 /* the name was defined before */
    GPtrArray *options;         /* struct volfile_option */
    GPtrArray *subvolumes;      /* struct volfile_word */
    bool bad_subvolumes;        /* a subvolume could not be read */
};

struct volfile_word {
    char *text;
    int line, column;
};

struct volfile {
    char *path, *text;
    bool fetched; /* from a server: its user did not write it, and can't change it */
    GPtrArray *volumes;  /* struct volfile_volume, in the order of the file */
    GPtrArray *problems; /* struct problem; ordered by place when volfile_read and graph_load
                          * return */
};

struct graph {
    struct volfile *volfile;
    GPtrArray *xlators; /* xlator_t, from the top down; only those that the top reaches */
    xlator_t *top;
    struct itable *itable; /* of the mount, not of realms; set by graph_load */
    unsigned in_itable;    /* the number of this graph in it */
    struct roots *roots;   /* shared with the graphs before and after; core/edge/root.h */
    GPtrArray *uses;       /* struct root: those of them that this graph uses while it is active */
    struct fd_maker fd_maker;
    GPtrArray *realms; /* struct realm, those above others first; set by graph_load */
    unsigned id;
    bool active;
    bool joined; /* by graph_join: it takes the place of another graph */
    bool sees_names; /* passthrough_sees_names of the top. Atomic; the main thread sets it after the
                      * options of translators have changed */
    /* A leaf; guards the settings of the translators. Only the main thread changes them, and holds
     * it for that. Other threads hold it to read them; the main thread reads them without. */
    pthread_mutex_t settings_lock;
};

/* Reads and parses a file ("-": standard input), or the volfile of a GlusterFS volume
 * ("SERVER[,SERVER...]:/VOLUME": rpc/volfile/volfile-server.h). Returns NULL only if it can't be
 * read, with the reason in *ret_error (g_free it). Otherwise check the problems. */
struct volfile *volfile_read (const char *path, char **ret_error);
/* The same for the volfile of a GlusterFS volume, which a server has told. */
struct volfile *volfile_of_server_text (const char *path, const char *text);
struct volfile *volfile_parse (const char *path, const char *text, size_t size);
void volfile_free (struct volfile *volfile);

/* Returns a word as it must be written in a volfile, with quotes if it needs them. A newline can't
 * be written: a word that has one is not the same when it is read. g_free it. */
char *volfile_word (const char *word);
bool volfile_has_errors (const struct volfile *volfile);

/* Returns NULL if the file has no volume of that name. */
const struct volfile_volume *volfile_find_volume (const struct volfile *volfile, const char *name);

/* Prints each problem as "file:line:column: error|warning: text" to stderr, those of the command
 * line last. */
void volfile_print_problems (const struct volfile *volfile);
void volfile_append_problems (const struct volfile *volfile, GString *out);
/* One of them, without a newline. */
void problem_append (const struct volfile *volfile, const struct problem *problem, GString *out);

/* Settings from the command line. */
struct graph_settings {
    const char *volume_name;    /* --volume-name, or NULL */
    const char *const *options; /* --xlator-option VOLUME.KEY=VALUE, NULL at the end; may be NULL */
    const char *const *xlator_dirs; /* --xlator-dir; searched before WINDLASS_XLATOR_PATH and the
                                     * installed folder; may be NULL */
    size_t inode_limit;         /* maximum number of inodes without references */
};

/* Takes ownership of volfile, even on failure. Problems are added to volfile->problems; the graph
 * is usable if there are no errors. Never NULL. */
struct graph *graph_load (struct volfile *volfile, const struct graph_settings *settings);

/* 0, or a negative errno after a log line that names the failed translator. On failure, stops what
 * was started. */
int graph_activate (struct graph *graph);
void graph_deactivate (struct graph *graph);
void graph_free (struct graph *graph); /* deactivates it first; takes NULL */

/* Compares an active graph with its volfile as it is now, of which it takes ownership. If only
 * online options have changed, takes them over and returns 0. If more has changed, returns 1 and
 * the graph of the new volfile, which is loaded and not started: the caller may move to it. A
 * negative errno: nothing was changed. settings: those that the graph was loaded with. answer gets
 * a line for each change and each problem. Call it on the thread that owns the graph; requests go
 * on. */
int graph_reload (struct graph *graph, struct volfile *volfile,
                  const struct graph_settings *settings, struct graph **ret_fresh,
                  GString *answer);

/* Has a loaded graph use the roots of an active one, and its tables of inodes, with contexts of its
 * own: that of the mount, and those of the realms that both have. Its translators prepare to take
 * over the state of active's (xlator_api.take_over_prepare). Returns false if ITABLE_GRAPHS use the
 * table of the mount already. */
bool graph_join (struct graph *fresh, struct graph *active);

/* Returns whether a translator in a realm has a reference to the fd there of an open fd of the
 * mount. No request may run. */
bool graph_holds_below (const struct graph *graph, fd_t *fd);

/* Brings an active graph that has joined another one into force: xlator_api.take_over of each
 * translator. Called once, while no request to the other graph is under way but waits for locks. A
 * graph that has joined none does so in graph_activate. */
void graph_take_over (struct graph *graph);

/* For tests: puts a translator of the program's own api on every edge of a loaded, inactive graph,
 * and above its top. The translator must implement `every`, and have no contexts of inodes and fds.
 * Each has one child, and a zeroed private struct. */
void graph_splice (struct graph *graph, const struct xlator_api *api);

/* Returns an active graph of one translator of the program's own, without a volfile. private: its
 * private data, which is freed with g_free in the end. Its inodes' numbers have INODE_BESIDE. */
struct graph *graph_of_one (const struct xlator_api *api, const char *name, void *private);

/* Sets the log level of all translators without their own level, and updates the routes, since
 * winds are logged from TRACE on. Any thread. */
void graph_set_loglevel (struct graph *graph, gf_loglevel_t level);

xlator_t *graph_find (struct graph *graph, const char *name);

/* Returns whether text, VOLUME.KEY=VALUE of the command line, has a value that nobody may see: that
 * of a secret option, or of one that the graph does not have. */
bool graph_option_is_secret (struct graph *graph, const char *text);

/* Returns the OR of TOUCHES_* of all translators in the graph that aren't passed through. */
unsigned graph_touches (const struct graph *graph);

/* Returns the text of the final graph, as GlusterFS logs it: numbered lines between rules. g_free
 * it. */
char *graph_text (const struct graph *graph);
/* Returns the same as a volfile, without rules and numbers. Any thread. g_free it. */
char *graph_volfile (struct graph *graph);
/* Returns the graph in graphviz's language. g_free it. */
char *graph_dot (const struct graph *graph);

/* Finds the module of a type and its xlator_api. NULL on failure, with the folders searched and the
 * problem in *ret_error (g_free it). */
const struct xlator_api *module_load (const char *type, const char *const *dirs, char **ret_error);

/* Returns 0; or -ENOENT, and in *ret_error the folder of the command line that doesn't exist. */
int module_check_dirs (const char *const *dirs, char **ret_error);

/* Returns all types in the searched folders, sorted. */
GPtrArray *module_types (const char *const *dirs);

/* For an unknown type, or a type without its category: returns "; did you mean 'TYPE'?" with the
 * type of the same name in another category, or a similar one, or "". g_free it. */
char *module_suggest (const char *type, const char *const *dirs);

void setting_free (struct option_setting *setting);

/* Options outside of modules: those of every translator, and the bridge's. */
extern const struct xlator_option common_options[];

#endif
