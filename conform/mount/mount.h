/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The same system calls on the bare directory and through a mount.
 *
 *   mount.c      for root and for a user, for each theme: run on both, compare, report
 *   stage.c      the scratch directories and the daemon
 *   run.c        a child that runs cases, and its output
 *   act.c        functions for writing cases: say, tell, must, show, make
 *   diff.c       lines that differ
 *   by-design.c  documented differences, and their reasons
 *   THEME.c      cases, most of them made from tables
 *
 * A case works in a new directory of its own, as a child process that knows nothing of the mount.
 * Its output must not contain values that may differ between two runs: inode numbers, times of day,
 * sizes of directories.
 */
#ifndef WINDLASS_CONFORM_MOUNT_MOUNT_H
#define WINDLASS_CONFORM_MOUNT_MOUNT_H

#include "conform/conform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* --- cases --- */

struct mount_case;
typedef void case_fn (const struct mount_case *c);

enum {
    CASE_NEEDS_ROOT = 1 << 0, /* for root only: it changes its identity, or makes devices */
};

struct mount_case {
    char *name; /* "theme/what it shows" */
    case_fn *run;
    unsigned a, b, c; /* for run: usually indices of its theme's tables */
    unsigned flags;   /* CASE_* */
};

/* Adds a case to a theme's list of struct mount_case. */
void case_add (GPtrArray *list, case_fn *run, unsigned a, unsigned b, unsigned c, unsigned flags,
               const char *name, ...) G_GNUC_PRINTF (7, 8);

struct mount_theme {
    const char *name;
    void (*list) (GPtrArray *list);
};
extern const struct mount_theme mount_themes[]; /* ends with a row without name */

/* --- act.c: for cases. All of it is the child's own; a child runs one case at a time --- */

struct act_identity {
    const char *name; /* "root" or "user" */
    uid_t uid;
    gid_t gid;
    bool privileged;  /* it can become root */
};

/* Call before the first case. out: descriptor for output lines. */
struct run_place;
void act_begin (const struct act_identity *actor, const struct run_place *place, int out);
const struct act_identity *act_actor (void);
/* A case begins. twin: make_tree, make_file and age work in this directory, which is the working
 * directory as seen below the mount; -1: in the working directory. */
void act_case (unsigned number, int twin);
void act_case_end (void);
/* A line of the protocol between the child and its parent: run.c. */
void act_put (char kind, const char *text);

/* Prints one line: an observation. Unprintable bytes are written as \xNN. */
void observe (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* Prints "what: ENOENT" or "what: 3" for a call that has just returned. Returns result. */
long observe_result (const char *what, long result);
#define TELL(what_, call_) (errno = 0, observe_result (what_, (long) (call_)))
/* Prints "what: ok" or its errno, for a call that returns a descriptor. Returns it. */
int tell_fd (const char *what, int fd);
#define TELL_FD(what_, call_) (errno = 0, tell_fd (what_, (call_)))
/* If the condition is false, fails the case, regardless of the bare directory. */
void must (bool condition, const char *rule);
/* The case can't be run here; only decided on the bare directory. */
void cannot (const char *reason);
/* A step of preparation; fails the case if it fails. */
void need (const char *what, long result);
#define NEED(call_) need (#call_, (long) (call_))

/* Shows lstat's results: type, mode, owner, links and size (not of directories), device. */
void show (const char *what, const char *path);
void show_stat (const char *what, const struct stat *st);
/* Shows all entries of the directory and below, sorted. */
void show_tree (const char *path);
void show_content (const char *path);
const char *errno_name (int error);

/* Makes the objects in spec, separated by spaces: f:NAME file, F:NAME file of ten bytes, d:NAME,
 * l:NAME:TARGET, h:NAME:OLD hard link, p:NAME fifo, s:NAME socket, c:NAME a device as /dev/null.
 * =MODE at the end sets the mode, octal. */
void make_tree (const char *spec);
int make_file (const char *path, const char *text); /* returns an open descriptor, O_RDWR */

/* Sets mtime and atime of a file to a time long ago; shows which times have changed since. */
void age (const char *path);
void show_age (const char *what, const char *path);
#define LONG_AGO 1000000000

/* Waits until a change gets another time than this one. */
void wait_tick (const struct timespec *after);

/* Changes the identity for the next calls. Only for a privileged actor. */
void act_become (uid_t uid, gid_t gid);
void become_actor (void);
void act_become_root (void);

/* Runs fn in a child of its own, as uid and gid with these groups, and waits for it. */
void
as_other (uid_t uid, gid_t gid, const gid_t *groups, size_t n, void (*fn) (void *), void *data);
/* Starts fn in a child with the same identity; child_end waits for it. */
pid_t child_start (void (*fn) (void *), void *data);
void child_end (pid_t pid);

/* --- run.c: a child runs cases --- */

/* The results of a case in one place. */
struct outcome {
    GPtrArray *lines; /* char *, in order */
    GPtrArray *broken; /* char *: rules that must() found broken */
    char *cannot;     /* NULL, or the reason why it isn't run */
    char *bad;        /* NULL, or an abnormal end: hung, killed */
    bool ran;
};
struct outcome *outcome_new (void);
void outcome_free (struct outcome *outcome);

struct run_watch {
    void (*done) (void *data, unsigned number); /* called after each case; may be NULL */
    void (*stuck) (void *data); /* called if a case does not end; must make it possible to kill
                                   it */
    void *data;
};

struct run_place {
    const char *path; /* of the bare directory or the mount */
    const char *twin; /* NULL, or storage's directory: cases make their files there before their
                         calls, where the mount refuses to make them by design */
    /* Returns true if a call may fail so by design; NULL: none may. */
    bool (*refused) (const void *data, int error);
    const void *data;
};

/* Runs the cases of list from number `from` on, in the place, for the actor, and fills in outcomes,
 * which has the same length. Returns list->len if all were run. If a case hung or died, its outcome
 * says so, and the number of the next case is returned. Returns a negative errno if it could not
 * start. */
int run_cases (GPtrArray *list, GPtrArray *outcomes, unsigned from,
               const struct run_place *place, const char *theme,
               const struct act_identity *actor, const struct run_watch *watch);

/* --- stage.c: directories and the daemon --- */

struct stage;

/* Makes the directories; the daemon is not started yet. Returns NULL after a message. */
struct stage *stage_new (const struct conform_options *options);
void stage_free (struct stage *stage); /* unmounts and removes everything; takes NULL */
void stage_leave (const struct stage *stage); /* for a forked process: the stage is the parent's */
const char *stage_bare (const struct stage *stage);
const char *stage_mounted (const struct stage *stage);
/* NULL, or the backing directory: --allow has refusals, and there is one storage/posix volume. */
const char *stage_twin (const struct stage *stage);
/* Returns 0 when the mount works; a negative errno after a message. */
int stage_mount (struct stage *stage);
/* Waits for the daemon's end. Returns 0, or -ETIMEDOUT if it had to be killed. */
int stage_unmount (struct stage *stage);
/* Kills the daemon, so that no process waits for it any more. */
void stage_kill (struct stage *stage);
bool stage_alive (const struct stage *stage);
/* The lines that the log got since the last call; mount_log_expected lines are left out. NULL if
 * there are none. Freed with g_free. */
char *stage_log (struct stage *stage);

/* For the conditions of by-design.c: is the type in the volfile; is a mount option, key=value or a
 * flag, set? */
bool stage_has_type (const struct stage *stage, const char *type);
bool stage_has_option (const struct stage *stage, const char *key);

/* --- diff.c --- */

/* Calls tell for each line that only one of the lists has, in order; the other argument is NULL. */
void diff_lines (const GPtrArray *a, const GPtrArray *b,
                 void (*tell) (void *data, const char *in_a, const char *in_b), void *data);

/* --- by-design.c --- */

/* The reason why a line of only one side, or a broken rule, is a documented difference; NULL: it is
 * not. */
const char *by_design_reason (const struct stage *stage, const char *case_name,
                              const char *line);
/* Returns true if a line of the log is harmless. */
bool by_design_log (const char *line);

#endif
