/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass conform VOLFILE: does a graph behave as a bare directory does?
 *
 *   conform/main.c   its options; calls the three below
 *   mount/              system calls through a mount and on the bare directory, compared
 *   inprocess/          operations on the graph itself, without the kernel
 *   history/            random histories of operations
 *   keeper.c            what is left behind by a run that was killed goes as well
 *   allow.c             what an author says that differs by design
 *   report.c            counting and saying how each case went
 */
#ifndef WINDLASS_CONFORM_CONFORM_H
#define WINDLASS_CONFORM_CONFORM_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* --- what is asked for --- */

enum conform_as {
    CONFORM_AS_ROOT = 1 << 0,
    CONFORM_AS_USER = 1 << 1, /* uid and gid 65534 without groups; whoever runs it, unless that is
                                 root */
};

/* From the command line; nothing here belongs to who gets it. Never NULL unless it says so. */
struct conform_options {
    const char *volfile;            /* as the user wrote it; "-" was copied to a file before */
    const char *directory;          /* where scratch directories go: --directory, else $TMPDIR, else
                                       /tmp */
    const char *scratch;            /* one of ours that they go into instead, or NULL */
    const char *only;               /* a glob of case names, with @(a|b) and the like, or NULL:
                                       all */
    const char *allow;              /* --allow: the file, for a command that repeats, or NULL, */
    GPtrArray *allowed;             /* and what it says: allow.c */
    unsigned as;                    /* CONFORM_AS_*: those that are wanted and possible */
    uint64_t seed;                  /* --seed, else made up; whoever uses it prints it */
    unsigned histories;             /* --histories, else a default */
    unsigned steps, clients;        /* of a history: lines, and who does them */
    unsigned faults;                /* --faults: of 1000 calls of storage, so many fail */
    const char *history;            /* --history: a file to do again, alone; or NULL */
    bool verbose;                   /* a line for each case */
    bool list;                      /* only print the names of cases, one a line */
    const char *volume_name;        /* --volume-name, or NULL */
    const char *const *options;     /* --xlator-option, NULL at the end; may be NULL */
    const char *const *xlator_dirs; /* --xlator-dir, NULL at the end; may be NULL */
    const char *const *daemon;      /* what follows `--`: more options for the mount, NULL at the
                                       end; may be NULL */
};

/* Is the case asked for? */
bool conform_wanted (const struct conform_options *options, const char *case_name);

/* The start of the command that repeats a case, for conform_fail: "windlass conform VOLFILE --case
 * 'NAME'" with the options that matter. more: further options, put before the `--`, or NULL. g_free
 * it. */
char *
conform_repeat (const struct conform_options *options, const char *case_name, const char *more);

/* A new directory below options->directory, open to all. g_free it; conform_scratch_remove removes
 * all of it. NULL after a message. */
char *conform_scratch (const struct conform_options *options);
void conform_scratch_remove (const char *path);
/* Whether it is gone; without a message. */
bool conform_scratch_try_remove (const char *path);

/* keeper.c: unmounts what is below path, and removes it, when this process ends without having done
 * so, even killed; until conform_keeper_end, by which path should be gone. A process of ours that
 * keeps its descriptor holds that up: it execs, closes all, or leaves. NULL if it can't be; all
 * take NULL. */
struct conform_keeper;
struct conform_keeper *conform_keeper_start (const char *path);
void conform_keeper_end (struct conform_keeper *keeper);
/* In a process that forked: the keeper is not this one's. */
void conform_keeper_leave (const struct conform_keeper *keeper);
/* In a process that forked and works in path: it ends as soon as its parent does, and the keeper
 * waits for both. */
void conform_die_with (pid_t parent);
/* lazy: at once, whoever uses it. */
void conform_unmount (const char *path, bool lazy);

/* --- what an author allows: allow.c --- */

/* NULL after a message. */
GPtrArray *conform_allow_read (const char *path);
/* Why a line that a case says may differ, or NULL. */
const char *
conform_allowed (const struct conform_options *options, const char *case_name, const char *line);
/* The text without such lines; *why becomes the reason where there was one. g_free it. */
char *conform_without_allowed (const struct conform_options *options, const char *case_name,
                               const char *text, const char **why);

/* --- how it went: report.c --- */

/* For one thread. Cases are told one after the other, within a group or without. */
struct conform_report {
    unsigned passed, failed, skipped, by_design;
    bool verbose;
    bool terminal;          /* a progress line makes sense */
    char *group;            /* NULL: none */
    unsigned group_passed, group_failed, group_by_design;
    GHashTable *group_skipped; /* reason -> how many */
};

void conform_report_init (struct conform_report *report, bool verbose);
/* Prints the last line, frees what the report holds, and returns the exit status: 0, or 1 when
 * something failed. */
int conform_report_end (struct conform_report *report);

/* Cases until conform_group_end are told in one line, unless they fail or the report is verbose. */
void conform_group (struct conform_report *report, const char *name);
void conform_group_end (struct conform_report *report);

void conform_pass (struct conform_report *report, const char *case_name);
/* text: lines that say what is wrong; repeat_command: what to run to see it again. */
void conform_fail (struct conform_report *report, const char *case_name, const char *repeat_command,
                   const char *text);
void conform_skip (struct conform_report *report, const char *case_name, const char *reason);
/* It differs as the manual says that it does, for a reason. */
void conform_by_design (struct conform_report *report, const char *case_name, const char *reason);

/* --- the parts --- */

/* Each runs its cases, tells the report, and returns 0, or a negative errno after a message when it
 * could not even begin. With options->list they print names instead. */
int conform_mount (const struct conform_options *options, struct conform_report *report);
int conform_in_process (const struct conform_options *options, struct conform_report *report);
int conform_histories (const struct conform_options *options, struct conform_report *report);

/* Prints what differs by design: as text, or for the manual page in roff. */
void conform_print_by_design (bool man);

#endif
