/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random histories of operations on a graph, judged by a model.
 *
 *   make.c       what clients shall do, from a seed
 *   script.c     the same as text: printed, read back
 *   gate.c       stand on every edge and hold calls and answers back
 *   drive.c      the clients: lines become operations, which are wound and recorded
 *   run.c        one history, in a process of its own: graph, scheduler, disk, verdict
 *   late.c       writes that were answered and then failed: who has to be told
 *   model.c      a file system in memory; apply.c: what each operation does to it and answers
 *   check.c      is there an order in which the model gives every answer that was seen?
 *   shrink.c     a history that fails, made as short as it will go
 *   histories.c  the part of `windlass conform`
 *
 * Reasons, and what is judged:
 *
 * - A history runs in a process of its own, which may crash or hang: 60 seconds.
 * - Chance decides about a line by the seed, the line's number and its progress, never by a count
 *   of earlier decisions. So shrinking can take a line out and the rest goes on as before.
 * - A script leaves most kinds of operations out and has a favourite file and range: one that does
 *   a bit of everything hardly finds a stale cache. One of four is narrow: a few verbs of one theme
 *   about two or three names, answers of storage held back for long, and time that passes. A stale
 *   cache takes three clients: one asks, one changes and ends meanwhile, one asks again. Where a
 *   cache has two guards, both have to be broken before a history can tell.
 * - core/time/scheduler.h gives the virtual clock, timers, order of threads and random_seed, to all
 *   that use clock_*, timer_*, thread_* and random_seed. A thread that waits in a system call keeps
 *   the baton and stops all, so record locks are not in histories.
 * - Files are told apart by gfid: a file that changes its gfid fails, and so do two with the same.
 * - With TOUCHES_ANSWERS a translator's own writes fail at storage too (late.c). With --faults,
 *   errors are injected at storage into calls of clients, before or after they were done: the
 *   operation may have happened or not. Other calls that a translator makes by itself don't fail:
 *   no caller would be told.
 * - Not judged: attributes before and after, those of a read, a readlink or a rename, the names of
 *   a directory that is listed while they change, link counts and sizes of directories.
 * - For a graph that touches neither data, names nor attributes, the directory itself is compared
 *   too.
 */
#ifndef WINDLASS_CONFORM_HISTORY_H
#define WINDLASS_CONFORM_HISTORY_H

#include "conform/conform.h"
#include "core/edge/any-fop.h"
#include "core/data/iatt.h"

#define CLIENTS_MAX 8
/* who sees something: clients, the one that looks at everything in the end, and for each of these
 * one that sees attributes of which a listing brought it */
#define SEERS_MAX (2 * (CLIENTS_MAX + 1))
#define CLIENT_FDS 3       /* f0, f1, f2: a client's open files */
#define FILE_SIZE_MAX 65536 /* of offsets and of sizes */

/* --- scripts: make.c, script.c ---------------------------------------------------------------- */

enum verb {
    VERB_CREATE,
    VERB_OPEN,
    VERB_CLOSE,
    VERB_READ,
    VERB_WRITE,
    VERB_CAT,
    VERB_STAT,
    VERB_FSTAT,
    VERB_TRUNCATE,
    VERB_FTRUNCATE,
    VERB_FALLOCATE,
    VERB_DISCARD,
    VERB_ZEROFILL,
    VERB_COPY,
    VERB_FLUSH,
    VERB_FSYNC,
    VERB_CHMOD,
    VERB_UTIME,
    VERB_MKDIR,
    VERB_RMDIR,
    VERB_UNLINK,
    VERB_RENAME,
    VERB_LINK,
    VERB_SYMLINK,
    VERB_READLINK,
    VERB_LS,
    VERB_SETXATTR,
    VERB_GETXATTR,
    VERB_REMOVEXATTR,
    VERB_MAX
};

/* One thing that one client does. What a verb doesn't take is 0 or NULL. */
struct line {
    unsigned number; /* stays when others are taken out: what chance decides about the line, and
                        what it writes, hangs on it */
    unsigned client; /* from 0 */
    enum verb verb;
    char *path, *word; /* word: the other path, what a link says, the name of an extended
                          attribute */
    unsigned fd, fd_out;
    off_t offset, offset_out; /* the offset is a file's new size, too, and the time of utime */
    size_t size;
    uint32_t flags;
    mode_t mode;
    bool calm; /* nothing holds it back */
};

struct history {
    uint64_t seed;
    unsigned clients;
    unsigned faults;  /* of 1000 calls of storage, so many fail */
    GPtrArray *lines; /* of struct line */
};

/* What the directory's file system can do; the rest is left out. */
struct history_abilities {
    bool exchange, fallocate, discard, zerofill, xattrs, copy;
};

struct history *history_make (uint64_t seed, unsigned clients, unsigned steps, unsigned faults,
                              const struct history_abilities *abilities);
/* One of four is about a single thing: some ask for it, some change it, and what storage answered
 * is held back for long. So it is answered once more by whoever kept, of an answer, what wasn't so
 * any more. */
static inline bool
history_is_narrow (uint64_t seed)
{
    return seed % 4 == 1;
}

/* Without lines yet. */
struct history *history_begin (uint64_t seed, unsigned clients, unsigned faults);
struct history *history_copy (const struct history *history); /* with lines of its own */
void history_free (struct history *history);                  /* takes NULL */

/* As text, a line for each; history_read takes it back. With `#` before the line begins a comment.
 * g_free it. */
char *history_text (const struct history *history);
void line_print (const struct line *line, GString *out);

/* NULL, and *ret_error ("FILE:LINE: what is wrong, what is allowed"; g_free it). */
struct history *history_read (const char *path, char **ret_error);

/* size bytes that the line with that number writes. g_free it. */
char *line_bytes (unsigned number, size_t size);

/* --- what was seen: drive.c fills it in ------------------------------------------------------- */

/* Files are told apart by numbers: that of a gfid, in the order in which they were first seen; 0 is
 * the root. Opens are numbered as well, whoever made them. -1: none. */
struct seen {
    enum fop op; /* FOP_readdir: a directory from opendir to its end */
    unsigned line, client; /* below SEERS_MAX */
    /* what was asked */
    int node, parent, newparent;
    const char *name, *newname; /* belong to the record */
    int fd, fd_out;
    off_t offset, offset_out;
    size_t size;
    uint32_t flags;
    mode_t mode;
    GBytes *bytes; /* what is written; a link's text; an attribute's value */
    /* what was answered */
    int ret, err; /* op_ret, and where it is negative op_errno */
    int found;    /* the file it answered with */
    bool has_iatt;
    struct iatt iatt;
    GBytes *data;     /* read bytes, link, value */
    GPtrArray *names; /* of a directory, sorted, each with a letter of its type behind: "af", "dd",
                         "sl" */
    /* when, on one count for all; responded G_MAXUINT: never */
    unsigned invoked, responded;
    bool fault;       /* an injected error came in between: it may have happened or not */
    bool late_fault;  /* it was answered, or will be, but not done: late.c */
    bool interrupted; /* so may an operation that says EINTR */
    bool inexact;     /* a directory that others changed while it was read: not judged */
};

void seen_free (struct seen *seen);
void seen_print (const struct seen *seen, GString *out); /* "write f3 4096 20 = 20" */

/* --- the model: model.c, apply.c -------------------------------------------------------------- */

struct model;

struct model *model_new (void); /* an empty root */
struct model *model_copy (const struct model *model);
void model_free (struct model *model);
bool model_equal (const struct model *a, const struct model *b);

/* Does the operation, if its answer is what the model gives. Else says in expected (may be NULL)
 * what that would be; the model is then not to be used any more. */
bool model_apply (struct model *model, const struct seen *seen, GString *expected);

/* Does it whatever was answered, for one whose answer was lost. */
void model_apply_unseen (struct model *model, const struct seen *seen);

/* --- judging: check.c ------------------------------------------------------------------------- */

/* seens: of struct seen, in any order. NULL when there is an order; else what is wrong, as text.
 * g_free it. */
char *check_order (const GPtrArray *seens);

/* --- running: run.c --------------------------------------------------------------------------- */

struct verdict {
    bool failed;
    char *text;    /* what is wrong, lines */
    char *log;     /* what happened, lines: the same for the same history */
    unsigned seen; /* how many operations were judged */
    const char *by_design; /* why what is wrong is right after all, as --allow says, or NULL */
};

/* Runs it in a child, whose end, however it comes about, is a verdict. 0, or a negative errno after
 * a message when it could not be run at all. */
int history_run (const struct conform_options *options, const struct history *history,
                 struct verdict *ret_verdict);
void verdict_clear (struct verdict *verdict);

/* Tries what the scratch directories' file system can do. 0, or a negative errno after a
 * message. */
int history_probe (const struct conform_options *options, struct history_abilities *ret_abilities);

/* --- shrinking: shrink.c ---------------------------------------------------------------------- */

/* A shorter history that fails too, though maybe in another way; at most so many runs. */
struct history *history_shrink (const struct conform_options *options,
                                const struct history *history, unsigned runs);

#endif
