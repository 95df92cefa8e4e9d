/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass conform VOLFILE: checks whether a graph behaves as a bare directory does.
 *
 *   conform/main.c      the command line; calls the three below
 *   mount/              system calls through a mount and on the bare directory, compared
 *   inprocess/          operations on the graph itself, without the kernel
 *   history/            random histories of operations
 *   lowers.c            directories that cluster/overlay only reads
 *   keeper.c            cleans up after a run that was killed
 *   allow.c             intended differences, declared by the author
 *   report.c            counts cases and prints their results
 */
#ifndef WINDLASS_CONFORM_CONFORM_H
#define WINDLASS_CONFORM_CONFORM_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* --- options --- */

enum conform_as {
    CONFORM_AS_ROOT = 1 << 0,
    CONFORM_AS_USER = 1 << 1, /* uid and gid 65534 without groups; the user of the kit, unless that
                                 is root */
};

/* From the command line, which owns all pointers. They are not NULL unless noted. */
struct conform_options {
    const char *volfile;            /* as given by the user; "-" was copied to a file before */
    const char *directory;          /* parent of scratch directories: --directory, else $TMPDIR,
                                       else /tmp */
    const char *scratch;            /* an existing scratch directory that contains them instead, or
                                       NULL */
    const char *only;               /* a glob of case names, with @(a|b) and the like; NULL: all */
    const char *allow;              /* --allow: the file, for a command that repeats; or NULL */
    GPtrArray *allowed;             /* and its content: allow.c */
    unsigned as;                    /* CONFORM_AS_*: the requested ones that are possible */
    uint64_t seed;                  /* --seed, or a random one; a part that uses it prints it */
    unsigned histories;             /* --histories, else a default */
    unsigned steps, clients;        /* of a history: lines, and number of clients */
    unsigned faults;                /* --faults: failures per 1000 calls of storage */
    bool lowers;                    /* --lowers: trees are made in lowers of cluster/overlay */
    const char *const *commands;    /* --commands: of translators, for histories; NULL at the end;
                                       may be NULL */
    const char *history;            /* --history: the file of a single history to repeat; or NULL */
    bool verbose;                   /* a line for each case */
    bool list;                      /* only print the names of cases, one a line */
    const char *volume_name;        /* --volume-name, or NULL */
    const char *const *options;     /* --xlator-option, NULL at the end; may be NULL */
    const char *const *xlator_dirs; /* --xlator-dir, NULL at the end; may be NULL */
    const char *const *daemon;      /* arguments after `--`: more options for the mount, NULL at the
                                       end; may be NULL */
};

/* Returns true if the case is selected. */
bool conform_wanted (const struct conform_options *options, const char *case_name);

/* The start of the command that repeats a case, for conform_fail: "windlass conform VOLFILE --case
 * 'NAME'" with the relevant options. more: further options, put before the `--`, or NULL. Freed
 * with g_free. */
char *
conform_repeat (const struct conform_options *options, const char *case_name, const char *more);

/* Makes a new directory below options->directory, open to all users. Freed with g_free;
 * conform_scratch_remove removes all of it. Returns NULL after a message. */
char *conform_scratch (const struct conform_options *options);
/* The same, and *keeper has its keeper, which conform_keeper_end ends; NULL with a NULL. */
struct conform_keeper;
char *
conform_scratch_kept (const struct conform_options *options, struct conform_keeper **keeper);
void conform_scratch_remove (const char *path);
/* history/commands.c. command_is_known returns whether histories can give a command of this name to
 * a translator, commands_known the names of all such commands, for a message; g_free it. */
bool command_is_known (const char *name);
char *commands_known (void);
/* Makes a directory for a storage of the volfile, and in it the one that is shown if all volumes of
 * type features/subdirectory are above that storage, which is returned; g_free it. NULL after a
 * message. */
struct volfile;
char *conform_storage_make (const struct volfile *volfile, const char *path);
/* lowers.c. Returns whether a volume of the volfile is a lower of cluster/overlay, or below one. */
bool conform_is_lower (const struct volfile *volfile, const char *name);
/* Returns a line for each object below the directory: mode, links, size, times of change, sum of
 * the content. g_free it. */
char *conform_lower_text (const char *directory);
/* Returns true if it could be removed; without a message. */
bool conform_scratch_try_remove (const char *path);

/* keeper.c: unmounts everything below path, and removes it, when this process ends, even by a
 * signal, without conform_keeper_end, before which path should have been removed. A child process
 * that keeps the keeper's descriptor delays that; so it must exec, close all descriptors, or call
 * conform_keeper_leave. NULL if it can't be started; all functions take NULL. */
struct conform_keeper *conform_keeper_start (const char *path);
/* Has the keeper make the directory: a process that is killed at any moment leaves no directory
 * behind. path is an absolute template of g_mkdtemp, and then the directory's path. NULL and an
 * errno if it could not be made. */
struct conform_keeper *conform_keeper_make (char *path);
void conform_keeper_end (struct conform_keeper *keeper);
/* In a forked process: detaches it from the keeper. */
void conform_keeper_leave (const struct conform_keeper *keeper);
/* In a forked process that works in path: it ends as soon as its parent does, and the keeper waits
 * for both. */
void conform_die_with (pid_t parent);
/* lazy: at once, even if it is in use. */
void conform_unmount (const char *path, bool lazy);

/* --- intended differences: allow.c --- */

/* Returns NULL after a message. */
GPtrArray *conform_allow_read (const char *path);
/* Returns the reason why a line of a case may differ, or NULL. */
const char *
conform_allowed (const struct conform_options *options, const char *case_name, const char *line);
/* Returns the text without such lines; *why is set to the reason if there was one. Freed with
 * g_free. */
char *conform_without_allowed (const struct conform_options *options, const char *case_name,
                               const char *text, const char **why);
/* A call that a translator refuses by design. Returns the reason why a call may fail with error, or
 * NULL. call: the name of an operation; NULL: any. */
const char *conform_refused (const struct conform_options *options, const char *call, int error);
/* Returns true if the operation may be refused at all; NULL: if any may be. */
bool conform_may_refuse (const struct conform_options *options, const char *call);
struct graph;
struct xlator;
/* Sets *ret_below to the child of the lowest translator that refuses changes by design: the kit
 * makes its files and folders through that child. Sets it to NULL if no translator refuses. Returns
 * false after a message. */
bool conform_below (const struct conform_options *options, const struct graph *graph,
                    struct xlator **ret_below);

/* --- results: report.c --- */

/* For one thread. Cases are reported one after the other, within a group or without. */
struct conform_report {
    unsigned passed, failed, skipped, by_design;
    bool verbose;
    bool terminal;          /* output is a terminal: show progress */
    char *group;            /* NULL: none */
    unsigned group_passed, group_failed, group_by_design;
    GHashTable *group_skipped; /* reason -> how many */
};

void conform_report_init (struct conform_report *report, bool verbose);
/* Prints the last line, frees the report's members, and returns the exit status: 0, or 1 if a case
 * failed. */
int conform_report_end (struct conform_report *report);

/* Cases until conform_group_end are reported in one line, unless they fail or the report is
 * verbose. */
void conform_group (struct conform_report *report, const char *name);
void conform_group_end (struct conform_report *report);

void conform_pass (struct conform_report *report, const char *case_name);
/* text: lines about the failure; repeat_command: the command that repeats the case. */
void conform_fail (struct conform_report *report, const char *case_name, const char *repeat_command,
                   const char *text);
void conform_skip (struct conform_report *report, const char *case_name, const char *reason);
/* A difference that the manual documents, with its reason. */
void conform_by_design (struct conform_report *report, const char *case_name, const char *reason);

/* Orders an array of texts, for qsort and g_ptr_array_sort. */
int conform_by_text (const void *a, const void *b);

/* --- the parts --- */

/* Each runs its cases and reports them. Returns 0, or a negative errno after a message if it could
 * not start. With options->list, prints names instead. */
int conform_mount (const struct conform_options *options, struct conform_report *report);
int conform_in_process (const struct conform_options *options, struct conform_report *report);
int conform_histories (const struct conform_options *options, struct conform_report *report);

/* Prints the documented differences: as text, or in roff for the manual page. */
void conform_print_by_design (bool man);

#endif
