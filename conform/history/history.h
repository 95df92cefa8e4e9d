/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random histories of operations on a graph, judged by a model.
 *
 *   verbs.def    what a client can do: name, arguments, effect, function that starts it
 *   make.c       makes the clients' scripts from a seed
 *   script.c     scripts as text: printing, reading
 *   gate.c       gates on every edge, which hold calls and answers back
 *   drive.c      the clients: lines become operations, which are wound and recorded
 *   run.c        one history, in a process of its own: graph, scheduler, disk, verdict
 *   late.c       writes that were answered and then failed: which clients have to be told
 *   model.c      a file system in memory; apply.c: the effect and answer of each operation
 *   check.c      is there an order in which the model gives every answer that was seen?
 *   shrink.c     shortens a history that fails
 *   bricks.c     ends and beginnings of the bricks below protocol/client: conform/brick
 *   histories.c  the part of `windlass conform`
 *
 * Reasons, and what is judged:
 *
 * - A history runs in a process of its own, which may crash or hang: 60 seconds.
 * - A random decision about a line depends on the seed, the line's number and its progress, never
 *   on a count of earlier decisions. So shrinking can remove a line and the rest goes on as before.
 * - A script leaves most kinds of operations out and has a favourite file and range: a script with
 *   a bit of everything hardly finds a stale cache. One of four is narrow: a few verbs of one theme
 *   about two or three names, answers of storage held back for long, and time that passes. A stale
 *   cache takes three clients: one asks, one changes and ends meanwhile, one asks again. If a cache
 *   has two guards, both have to be broken before a history can tell.
 * - core/time/scheduler.h gives the virtual clock, timers, order of threads and random_seed, to all
 *   that use clock_*, timer_*, thread_* and random_seed. A thread that waits in a system call keeps
 *   the baton and stops all, so record locks are not in histories.
 * - Files are identified by gfid: a file that changes its gfid fails, and so do two with the same.
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
/* observers: clients, the one that reads everything back at the end, and for each of these one more
 * for attributes that came with a listing */
#define SEERS_MAX (2 * (CLIENTS_MAX + 1))
#define CLIENT_FDS 3       /* f0, f1, f2: a client's open files */
#define FILE_SIZE_MAX 65536 /* maximum of offsets and of sizes */

/* --- scripts: make.c, script.c ---------------------------------------------------------------- */

enum verb {
#define VERB(name, ...) VERB_##name,
#include "conform/history/verbs.def"
    VERB_MAX
};

/* Abilities of the directory's file system. Operations that it can't do are left out. */
enum {
    CAN_EXCHANGE = 1 << 0, /* rename with RENAME_EXCHANGE */
    CAN_FALLOCATE = 1 << 1,
    CAN_DISCARD = 1 << 2,
    CAN_ZEROFILL = 1 << 3,
    CAN_XATTRS = 1 << 4,
    CAN_COPY = 1 << 5, /* copy_file_range */
};

/* Objects and open files for which the kernel sends an operation. */
enum {
    FITS_FILE = 1 << 0,
    FITS_DIRECTORY = 1 << 1,
    FITS_LINK = 1 << 2,
    FITS_READABLE = 1 << 3,
    FITS_WRITABLE = 1 << 4,
    FITS_ANY = (1 << 5) - 1,
};

struct actor;

/* A row of verbs.def. */
struct verb_row {
    const char *name, *arguments;
    enum fop op;
    void (*wind) (struct actor *actor);
    unsigned weight, needs, fits;
};
extern const struct verb_row verb_rows[VERB_MAX]; /* wind.c */

/* Returns the verb's first argument that is among these letters; 0: none is. */
char verb_takes (enum verb verb, const char *letters);

/* One action of one client. Fields that the verb does not use are 0 or NULL. */
struct script_line {
    unsigned number; /* stays when other lines are removed: random decisions about the line, and the
                        bytes it writes, depend on it */
    unsigned client; /* from 0 */
    enum verb verb;
    char *path, *word; /* word: the other path, a link's target, the name of an extended
                          attribute */
    unsigned fd, fd_out;
    off_t offset, offset_out; /* the offset is also a file's new size, and the time of utime */
    size_t size;
    uint32_t flags;
    mode_t mode;
    bool calm; /* the line is not held back */
};

struct script {
    uint64_t seed;
    unsigned clients;
    unsigned faults;  /* failures per 1000 calls of storage */
    GPtrArray *lines; /* of struct line */
};

struct script *script_make (uint64_t seed, unsigned clients, unsigned steps, unsigned faults,
                            unsigned abilities);
/* One of four histories is narrow: some clients ask for an object, some change it, and answers of
 * storage are held back for long. So a cache that keeps an outdated answer returns it once more. */
static inline bool
script_is_narrow (uint64_t seed)
{
    return seed % 4 == 1;
}

/* A history without lines. */
struct script *script_begin (uint64_t seed, unsigned clients, unsigned faults);
struct script *script_copy (const struct script *script); /* with lines of its own */
void script_free (struct script *script);                  /* takes NULL */

/* As text, a line for each; history_read parses it. Lines that begin with `#` are comments. Freed
 * with g_free. */
char *script_text (const struct script *script);
void line_print (const struct script_line *line, GString *out);

/* Returns NULL on error, and *ret_error ("FILE:LINE: what is wrong, what is allowed"; freed with
 * g_free). */
struct script *script_read (const char *path, char **ret_error);

/* The bytes that the line with that number writes. Freed with g_free. */
char *line_bytes (unsigned number, size_t size);

/* --- records: filled in by drive.c ------------------------------------------------------------ */

/* A file has a number: that of its gfid, in the order of first appearance; 0 is the root. Opens are
 * numbered too, across all clients. -1: none. */
struct operation {
    enum fop op; /* FOP_readdir stands for a directory from opendir to its end */
    unsigned line, client; /* below SEERS_MAX */
    /* the request */
    int node, parent, newparent;
    const char *name, *newname; /* owned by the record */
    int fd, fd_out;
    off_t offset, offset_out;
    size_t size;
    uint32_t flags;
    mode_t mode;
    GBytes *bytes; /* written bytes; a link's target; an attribute's value */
    /* the answer */
    int ret, err; /* op_ret, and op_errno if that is negative */
    int found;    /* the file in the answer */
    bool has_iatt;
    struct iatt iatt;
    GBytes *data;     /* bytes read, link target, value */
    GPtrArray *names; /* of a directory, sorted, each followed by a letter for its type: "af", "dd",
                         "sl" */
    /* times, on one count for all; responded G_MAXUINT: never */
    unsigned invoked, responded;
    bool refused;     /* by design: it must not have happened */
    bool fault;       /* an error was injected: the operation may have happened or not */
    bool late_fault;  /* it was answered, or will be, but failed later: late.c */
    bool interrupted; /* interrupted: with the answer EINTR it may have happened or not */
    bool inexact;     /* a directory that changed while it was read: not judged */
};

void operation_free (struct operation *seen);
void operation_print (const struct operation *seen, GString *out); /* "write f3 4096 20 = 20" */

/* --- the model: model.c, apply.c -------------------------------------------------------------- */

struct model;

struct model *model_new (void); /* a model with an empty root */
struct model *model_copy (const struct model *model);
void model_free (struct model *model);
bool model_equal (const struct model *a, const struct model *b);

/* Applies the operation, if the model gives the same answer. Otherwise puts the model's answer in
 * expected (may be NULL); the model must not be used any more. */
bool model_apply (struct model *model, const struct operation *seen, GString *expected);

/* Applies the operation whatever its answer was, for an operation whose answer was lost. */
void model_apply_unseen (struct model *model, const struct operation *seen);

/* --- judging: check.c ------------------------------------------------------------------------- */

/* seens: of struct seen, in any order. Returns NULL if there is an order; else an error text, freed
 * with g_free. */
char *check_order (const GPtrArray *seens);

/* --- running: run.c --------------------------------------------------------------------------- */

struct history_verdict {
    bool failed;
    char *text;    /* the errors, as lines */
    char *log;     /* the events, as lines: equal for equal histories */
    unsigned seen; /* number of judged operations */
    const char *by_design; /* the reason why the error is intended, by --allow, or NULL */
};

/* Runs it in a child; any kind of end gives a verdict. Returns 0, or a negative errno after a
 * message if it could not be run at all. */
int history_run (const struct conform_options *options, const struct script *script,
                 struct history_verdict *ret_verdict);
void verdict_clear (struct history_verdict *verdict);

/* bricks.c: the abilities (CAN_*) that translators of the volfile take away. */
unsigned history_inabilities (const struct conform_options *options);

/* Finds the abilities of the scratch directories' file system. Returns 0, or a negative errno after
 * a message. */
int history_probe (const struct conform_options *options, unsigned *ret_abilities);

/* --- shrinking: shrink.c ---------------------------------------------------------------------- */

/* Returns a shorter history that fails too, possibly in another way; `runs` limits the number of
 * runs. */
struct script *script_shrink (const struct conform_options *options,
                              const struct script *script, unsigned runs);

#endif
