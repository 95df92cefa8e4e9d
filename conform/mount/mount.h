/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The same system calls on the bare directory and through a mount.
 *
 *   mount.c      for root and for a user, for each theme: run on both, compare, tell
 *   stage.c      the scratch directories and the daemon
 *   run.c        a child that runs cases, and what it says
 *   act.c        what cases are written with: say, tell, must, show, make
 *   diff.c       lines that differ
 *   by-design.c  what may differ, and why
 *   THEME.c      cases, most of them made from tables
 *
 * A case works in a new directory of its own, as a child of windlass that knows nothing of the
 * mount. What it says must not hold what may differ between two runs: inode numbers, times of day,
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
    CASE_NEEDS_ROOT = 1 << 0, /* as root alone: it becomes others, or makes devices */
};

struct mount_case {
    char *name; /* "theme/what it shows" */
    case_fn *run;
    unsigned a, b, c; /* for run: mostly rows of its theme's tables */
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

struct actor {
    const char *name; /* "root" or "user" */
    uid_t uid;
    gid_t gid;
    bool privileged;  /* it can become root */
};

/* Before the first case. out: where lines go. */
void act_begin (const struct actor *actor, int out);
const struct actor *act_actor (void);
/* A line of the protocol between the child and its parent: run.c. */
void act_put (char kind, const char *text);

/* One line: what was seen. Bytes that aren't printable are written \xNN. */
void say (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* "what: ENOENT" or "what: 3", of a call that has just returned. Returns result. */
long tell (const char *what, long result);
#define TELL(what_, call_) (errno = 0, tell (what_, (long) (call_)))
/* "what: ok" or its errno, where the number is a descriptor. Returns it. */
int tell_fd (const char *what, int fd);
#define TELL_FD(what_, call_) (errno = 0, tell_fd (what_, (call_)))
/* Fails the case, whatever the bare directory does. */
void must (bool condition, const char *rule);
/* The case can't be run here; on the bare directory alone it decides. */
void cannot (const char *reason);
/* A step of preparation; fails the case if it fails. */
void need (const char *what, long result);
#define NEED(call_) need (#call_, (long) (call_))

/* What lstat says: type, mode, owner, links and size (not of directories), device. */
void show (const char *what, const char *path);
void show_stat (const char *what, const struct stat *st);
/* All that is in the directory, below as well, sorted. */
void show_tree (const char *path);
void show_content (const char *path);
const char *errno_name (int error);

/* Makes what spec names, words apart by spaces: f:NAME file, F:NAME file of ten bytes, d:NAME,
 * l:NAME:TARGET, h:NAME:OLD hard link, p:NAME fifo, s:NAME socket, c:NAME a device as /dev/null.
 * =MODE at the end sets the mode, octal. */
void make (const char *spec);
int make_file (const char *path, const char *text); /* an open descriptor, O_RDWR */

/* Mtime and atime of a file to a time long ago; and which of its times have left it since. */
void age (const char *path);
void show_age (const char *what, const char *path);
#define LONG_AGO 1000000000

/* Waits until a change gets another time than this one. */
void wait_tick (const struct timespec *after);

/* Who makes the next calls. Only where the actor is privileged. */
void become (uid_t uid, gid_t gid);
void become_actor (void);
void become_root (void);

/* Runs fn in a child of its own, as uid and gid with these groups, and waits for it. */
void
as_other (uid_t uid, gid_t gid, const gid_t *groups, size_t n, void (*fn) (void *), void *data);
/* Starts fn in a child as whoever calls; child_end waits for it. */
pid_t child_start (void (*fn) (void *), void *data);
void child_end (pid_t pid);

/* --- run.c: a child runs cases --- */

/* What a case came to in one place. */
struct outcome {
    GPtrArray *lines; /* char *, in order */
    GPtrArray *broken; /* char *: rules that must() found broken */
    char *cannot;     /* NULL, or why it isn't run */
    char *bad;        /* NULL, or how it ended: hung, killed */
    bool ran;
};
struct outcome *outcome_new (void);
void outcome_free (struct outcome *outcome);

struct run_watch {
    void (*done) (void *data, unsigned number); /* after each case; NULL: nobody */
    void (*stuck) (void *data); /* a case doesn't end: make that it can be killed */
    void *data;
};

/* Runs the cases of list from number `from` on below path, for the actor, and fills outcomes, of
 * the same length. Returns the number of the first that wasn't run, list->len when all were: a case
 * hung or died, and its outcome says so. A negative errno if it couldn't begin. */
int run_cases (GPtrArray *list, GPtrArray *outcomes, unsigned from, const char *path,
               const char *theme, const struct actor *actor, const struct run_watch *watch);

/* --- stage.c: directories and the daemon --- */

struct stage;

/* Makes the directories; the daemon isn't running yet. NULL after a message. */
struct stage *stage_new (const struct conform_options *options);
void stage_free (struct stage *stage); /* unmounts, removes all; takes NULL */
void stage_leave (const struct stage *stage); /* in a process that forked: it is the parent's */
const char *stage_bare (const struct stage *stage);
const char *stage_mounted (const struct stage *stage);
/* 0 when the mount works; a negative errno after a message. */
int stage_mount (struct stage *stage);
/* Waits for the daemon's end. 0, or -ETIMEDOUT when it is still there and was killed. */
int stage_unmount (struct stage *stage);
/* So that nobody waits for it any more. */
void stage_kill (struct stage *stage);
bool stage_alive (const struct stage *stage);
/* What the log got since it was last asked, by lines; mount_log_expected lines are left out. NULL
 * if nothing; g_free it. */
char *stage_log (struct stage *stage);

/* What conditions of by-design.c look at: is the type in the volfile; is a mount option, key=value
 * or a flag, on? */
bool stage_has_type (const struct stage *stage, const char *type);
bool stage_has_option (const struct stage *stage, const char *key);

/* --- diff.c --- */

/* Tells each line that only one of the lists has, in order; the other is NULL. */
void diff_lines (const GPtrArray *a, const GPtrArray *b,
                 void (*tell) (void *data, const char *in_a, const char *in_b), void *data);

/* --- by-design.c --- */

/* Why a line that only one side says, or a rule that is broken, may differ; NULL: it may not. */
const char *by_design_reason (const struct stage *stage, const struct actor *actor,
                              const char *case_name, const char *line);
/* Is a line of the log no sign of trouble? */
bool by_design_log (const char *line);

#endif
