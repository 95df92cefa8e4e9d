/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random histories of operations on a graph, judged by a model.
 *
 *   verbs.def    what a client can do: name, arguments, effect, function that starts it
 *   make.c       makes the clients' scripts from a seed
 *   script.c     scripts as text: printing, reading
 *   gate.c       gates on every edge, which hold calls and answers back
 *   drive.c      the clients: each line becomes operations; the order of all events
 *   wind.c       winds the operations of a line; answered.c records their answers
 *   run.c        runs one history in a process of its own: graph, scheduler, verdict
 *   late.c       writes that failed after their answer, and the fsyncs that must report them
 *   model.c      a file system in memory; apply.c: the effect of each operation on it
 *   check.c      looks for an order of the operations in which the model gives all answers
 *   shrink.c     shortens the script of a history that fails
 *   bricks.c     stops and starts the bricks below protocol/client (conform/brick)
 *   histories.c  the part of `windlass conform`
 *
 * A script is the list of lines that the clients execute. A history is the record of one run: the
 * operations of all clients, each with the times of its call and of its answer.
 *
 * - A history runs in a process of its own, since the tested code may crash or hang. After 60
 *   seconds it counts as hung.
 * - A random decision about a line depends on the seed, the line's number and the line's progress,
 *   never on the number of earlier decisions. So shrinking can remove a line without changing the
 *   decisions about the other lines.
 * - A script uses a few verbs, and mostly one file and one range: with all verbs and many files it
 *   hardly ever repeats an operation, which is needed to find a stale cache. One script of four is
 *   narrow: a few verbs of one theme about two or three names. Its gates hold answers of storage
 *   for long, and its clock jumps ahead before some lines, so that cached data expire. A history
 *   finds a stale cache if one client reads, another changes the file before the reader has its
 *   answer, and a third reads again. If a cache has two checks against stale answers, a history
 *   fails only if both checks are broken.
 * - core/time/scheduler.h provides the virtual clock, the timers, the order of the threads and the
 *   random numbers for all code that uses clock_*, timer_*, thread_* and random_seed. A thread that
 *   waits in a system call would stop all others, so histories have no record locks.
 * - The gfid identifies a file. A history fails if a file changes its gfid, or if two files have
 *   the same one.
 * - With --faults, gates above storage let calls of clients fail, before or after storage executes
 *   them, so such an operation may have happened or not. They also let writes fail that a
 *   translator with TOUCHES_ANSWERS makes by itself (late.c). Other calls that a translator makes
 *   by itself don't fail, since no caller would get the error.
 * - The model does not judge the attributes before and after an operation; the attributes in the
 *   answers of read, readlink and rename; a listing during which names change; the link counts and
 *   sizes of directories.
 * - If the graph changes neither data nor names nor attributes, the directory of storage is
 *   compared with the mount's content too.
 */
#ifndef WINDLASS_CONFORM_HISTORY_H
#define WINDLASS_CONFORM_HISTORY_H

#include "conform/conform.h"
#include "core/edge/any-fop.h"
#include "core/data/iatt.h"

#define CLIENTS_MAX 8
/* Number of observers: the clients, the client that reads everything back at the end, and for each
 * of these another one, for attributes that came with a listing. */
#define SEERS_MAX (2 * (CLIENTS_MAX + 1))
#define CLIENT_FDS 3        /* open files of a client: f0, f1, f2 */
#define FILE_SIZE_MAX 65536 /* maximum of an offset and of a size in a script, in bytes */

/* --- scripts: make.c, script.c ---------------------------------------------------------------- */

enum verb {
#define VERB(name, ...) VERB_##name,
#include "conform/history/verbs.def"
    VERB_MAX
};

/* Abilities of the file system that has the scratch directories. Scripts leave out the operations
 * that this file system can't do. */
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
    unsigned number; /* constant when shrinking removes other lines: random decisions about the
                        line, and the bytes that it writes, depend on the number */
    unsigned client; /* number of the client, from 0 */
    enum verb verb;
    char *path;
    char *word; /* second path, target of a link, or name of an extended attribute */
    unsigned fd, fd_out;      /* numbers of open files of the client; fd_out: of copy's target */
    off_t offset, offset_out; /* in bytes; offset: also a file's new size, and the time of utime in
                                 seconds */
    size_t size;              /* in bytes */
    uint32_t flags;
    mode_t mode;
    bool calm; /* whether gates pass the line's calls and answers at once, and no brick ends */
};

struct script {
    uint64_t seed;
    unsigned clients;
    unsigned faults;  /* failures per 1000 calls of storage */
    GPtrArray *lines; /* of struct script_line, in the order in which the lines begin */
};

struct script *script_make (uint64_t seed, unsigned clients, unsigned steps, unsigned faults,
                            unsigned abilities);
/* Returns whether the script of the seed is narrow: some clients read an object, others change it,
 * and gates hold answers of storage for long. So a cache that stores an outdated answer is likely
 * to return it later. */
static inline bool
script_is_narrow (uint64_t seed)
{
    return seed % 4 == 1;
}

/* Returns a script without lines. */
struct script *script_begin (uint64_t seed, unsigned clients, unsigned faults);
/* The copy has lines of its own. */
struct script *script_copy (const struct script *script);
void script_free (struct script *script); /* takes NULL */

/* Returns the script as text that script_read parses. The caller frees it with g_free. */
char *script_text (const struct script *script);
void line_print (const struct script_line *line, GString *out);

/* Reads a file. Returns NULL on error, and *ret_error, the text "FILE:LINE: problem: 'line'", which
 * the caller frees with g_free. Lines that begin with `#` are comments. */
struct script *script_read (const char *path, char **ret_error);

/* Returns the bytes that the line with that number writes; freed with g_free. */
char *line_bytes (unsigned number, size_t size);

/* --- records: filled in by wind.c and answered.c ---------------------------------------------- */

/* One operation of a client, as it was seen. Files have numbers in the order in which their gfids
 * appear; 0 is the root. Opens have numbers too, across all clients. -1: none. */
struct operation {
    enum fop op;     /* FOP_readdir: a whole listing, from opendir to the last readdir */
    unsigned line;   /* number of the script's line */
    unsigned client; /* number of the observer, below SEERS_MAX */
    /* The call. */
    int node;                   /* number of the file */
    int parent, newparent;      /* numbers of the directories of name and newname */
    const char *name, *newname; /* owned by the record */
    int fd, fd_out;             /* numbers of opens */
    off_t offset, offset_out;
    size_t size;
    uint32_t flags; /* of open, rename, fallocate and setxattr; IATT_* of setattr; of flush: whether
                       the client closes the file */
    mode_t mode;
    GBytes *bytes; /* written bytes, target of a link, or value of an extended attribute */
    /* The answer. */
    int ret, err; /* op_ret, and op_errno if op_ret is negative */
    int found;    /* number of the file in the answer */
    bool has_iatt;
    struct iatt iatt;
    GBytes *data;     /* bytes read, target of a link, or value of an extended attribute */
    GPtrArray *names; /* sorted names in a listing, each with a letter for its type at the end:
                         "af", "dd", "sl" */
    unsigned invoked;   /* time of the call, on a clock that counts the events of all clients */
    unsigned responded; /* time of the answer; G_MAXUINT: none has come */
    bool refused;     /* failure by design: the operation must not have happened */
    bool fault;       /* injected error: the operation may have happened or not */
    bool late_fault;  /* possible failure of a write after its answer: late.c */
    bool interrupted; /* interrupted call: with the answer EINTR it may have happened or not */
    bool inexact;     /* listing during which names changed: its names are not judged */
};

void operation_free (struct operation *seen);
/* Appends text like "writev fd3 offset 4096 size 20 = 20". */
void operation_print (const struct operation *seen, GString *out);

/* --- the model: model.c, apply.c -------------------------------------------------------------- */

struct model;

struct model *model_new (void); /* has an empty root */
struct model *model_copy (const struct model *model);
void model_free (struct model *model);
bool model_equal (const struct model *a, const struct model *b);

/* Applies the operation. Returns whether the model gives the same answer. Otherwise appends the
 * model's answer to expected (may be NULL), and the caller must not use the model any more. */
bool model_apply (struct model *model, const struct operation *seen, GString *expected);

/* Applies an operation whose answer was lost: the answer is not compared. */
void model_apply_unseen (struct model *model, const struct operation *seen);

/* --- judging: check.c ------------------------------------------------------------------------- */

/* seens: of struct operation, in any order. Returns NULL if the model gives all answers in some
 * order of the operations; else an error text, which the caller frees with g_free. */
char *check_order (const GPtrArray *seens);

/* --- running: run.c --------------------------------------------------------------------------- */

struct history_verdict {
    bool failed;
    char *text;            /* errors, as lines */
    char *log;             /* events, as lines; equal for each run of the same script */
    unsigned seen;         /* number of judged operations */
    const char *by_design; /* reason for which the file of --allow permits the error, or NULL */
};

/* Runs the script in a child process. Returns 0 with a verdict, also if the child crashes or hangs.
 * Returns a negative errno after a message if the graph can't be started. */
int history_run (const struct conform_options *options, const struct script *script,
                 struct history_verdict *ret_verdict);
void verdict_clear (struct history_verdict *verdict);

/* bricks.c. Returns the abilities (CAN_*) that a graph of the volfile lacks on any file system. */
unsigned history_inabilities (const struct conform_options *options);

/* Finds the abilities (CAN_*) of the graph over the file system of the scratch directories. Returns
 * 0, or a negative errno after a message. */
int history_probe (const struct conform_options *options, unsigned *ret_abilities);

/* --- shrinking: shrink.c ---------------------------------------------------------------------- */

/* Returns a shorter script whose history fails too, possibly with another error. Runs at most
 * `runs` histories. */
struct script *script_shrink (const struct conform_options *options,
                              const struct script *script, unsigned runs);

#endif
