/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random histories of operations on a graph, judged by a model.
 *
 *   verbs.def    the actions of clients: name, arguments, operation, function that starts it
 *   make.c       makes the clients' scripts from a seed
 *   script.c     prints scripts as text, and reads them
 *   gate.c       gates: translators on every edge of the graph, which delay calls and answers
 *   drive.c      the schedule: decides which event happens next, and lets clients begin their lines
 *   wind.c       winds the operations of a line; answered.c records their answers
 *   run.c        runs one history in a process of its own: graph, scheduler, verdict
 *   late.c       writes that failed after clients had their answers; the fsyncs that must report it
 *   model.c      a file system in memory; apply.c: the effect of each operation on it
 *   check.c      looks for an order of the operations in which the model gives all answers
 *   shrink.c     shortens the script of a history that fails
 *   lowers.c     files that cluster/overlay has in its lowers when a history begins
 *   commands.c   commands of translators, such as a discard
 *   reload.c     moves to another graph
 *   bricks.c     kills and starts the bricks below protocol/client (conform/brick)
 *   histories.c  the part of the command `windlass conform` that runs histories
 *
 * A script is the list of lines that the clients execute. A history is the record of one run: the
 * operations of all clients, each with the times of its call and of its answer.
 *
 * - A history runs in a process of its own, since the tested code may crash or hang. After 60
 *   seconds it counts as hung.
 * - A random decision about a line depends on the seed, the number of the line, and the number of
 *   events (calls and answers) that the line has had. It never depends on the number of decisions
 *   so far. So if shrinking removes a line, the decisions about the other lines stay the same.
 * - A script uses a few verbs, and mostly one file and one range of it. To find a cache that
 *   returns old data, a history has to repeat operations on one place. It rarely would with all
 *   verbs and many files.
 * - Before some lines the translators are told that a hold begins, or is over (XLATOR_HOLDING), as
 *   before a move to another graph. Then they must let calls go that they keep, and lose nothing.
 * - One script of four is narrow. It has two or three names and a few verbs that concern the same
 *   property of a file, such as its size. Gates hold answers of storage for a long time, and the
 *   clock jumps ahead before some lines, so that cached data expire. A history finds a cache that
 *   returns old data if one client reads, another changes the file before the reader has its
 *   answer, and a third reads again. If a cache has two independent checks against old data, a
 *   history fails only if both are broken.
 * - core/time/scheduler.h provides the virtual clock, the timers, the order of the threads and the
 *   random numbers for all code that uses clock_*, timer_*, thread_* and random_seed. One thread
 *   runs at a time, and a thread that waits in a system call would stop all others. So scripts have
 *   no record locks.
 * - The gfid identifies a file. A history fails if a file changes its gfid, or if two files have
 *   the same one.
 * - With --faults, the gates above storage make some calls of clients fail, either before or after
 *   storage executes them. So a failed operation may have happened or not. If a translator answers
 *   clients' writes before storage has them (TOUCHES_ANSWERS), gates also fail writes that it makes
 *   by itself (late.c). Other calls that translators make by themselves don't fail, since no client
 *   would get the error.
 * - The model does not judge: the attributes before and after an operation; the attributes in the
 *   answers of read, readlink and rename; a listing during which names change; the link counts and
 *   sizes of directories.
 * - If the graph has one directory of storage, and no translator changes data, names or attributes,
 *   that directory must have the same content at the end as the client read through the graph.
 */
#ifndef WINDLASS_CONFORM_HISTORY_H
#define WINDLASS_CONFORM_HISTORY_H

#include "conform/conform.h"
#include "core/edge/any-fop.h"
#include "core/data/iatt.h"

#define CLIENTS_MAX 8 /* maximum number of clients in a script */
/* Maximum number of observers. An observer is a sequence of records of operations in which each
 * operation ends before the next one begins. Each client has one for its operations. It has a
 * second one for the attributes in its listings, which count as operations at the time of the
 * listing. The client that reads everything back at the end counts as one more client. */
#define SEERS_MAX (2 * (CLIENTS_MAX + 1))
#define CLIENT_FDS 3        /* maximum number of open files of a client: f0, f1, f2 */
#define FILE_SIZE_MAX 65536 /* maximum of an offset and of a size in a script, in bytes */

/* --- scripts: make.c, script.c ---------------------------------------------------------------- */

enum verb {
#define VERB(name, ...) VERB_##name,
#include "conform/history/verbs.def"
    VERB_MAX
};

/* Abilities: operations that not every file system or graph supports. A script leaves out the
 * operations that the graph over the file system of the scratch directories can't do. */
enum {
    CAN_EXCHANGE = 1 << 0, /* rename with RENAME_EXCHANGE */
    CAN_FALLOCATE = 1 << 1,
    CAN_DISCARD = 1 << 2,
    CAN_ZEROFILL = 1 << 3,
    CAN_XATTRS = 1 << 4,
    CAN_COPY = 1 << 5, /* copy_file_range */
    CAN_COMMAND = 1 << 6, /* commands of translators: --commands */
};

/* Types of objects, and access modes of open files, for which the kernel sends an operation. */
enum {
    FITS_FILE = 1 << 0,
    FITS_DIRECTORY = 1 << 1,
    FITS_LINK = 1 << 2,
    FITS_READABLE = 1 << 3,
    FITS_WRITABLE = 1 << 4,
    FITS_ANY = (1 << 5) - 1,
};

struct actor;

/* The number of the verb `command` in place of an operation's: a translator is given a command. */
#define FOP_command FOP_MAX

/* A row of verbs.def, which describes the members. wind starts the verb's operation. */
struct verb_row {
    const char *name, *arguments;
    enum fop op;
    void (*wind) (struct actor *actor);
    unsigned weight, needs, fits;
};
extern const struct verb_row verb_rows[VERB_MAX]; /* wind.c */

/* Arguments of a verb are letters (verbs.def). Returns the first one that is among these letters,
 * or 0 if none is. */
char verb_takes (enum verb verb, const char *letters);

/* One action of one client. Fields that the verb does not use are 0 or NULL. */
struct script_line {
    unsigned number; /* number of the line, which stays the same when shrinking removes other lines.
                        Random decisions about the line, and the bytes that it writes, depend on
                        the number. */
    unsigned client; /* number of the client, from 0 */
    enum verb verb;
    char *path;
    char *word; /* second path, target of a symbolic link, or name of an extended attribute or of a
                   command */
    unsigned fd, fd_out;      /* numbers of two open files of the client, below CLIENT_FDS; the verb
                                 copy copies from fd to fd_out */
    off_t offset, offset_out; /* offsets in fd and fd_out, in bytes; instead, offset is the new size
                                 for a truncate, and the time in seconds for utime */
    size_t size;              /* length of a range, in bytes */
    uint32_t flags;           /* flags of open, rename, fallocate or setxattr */
    mode_t mode;
    bool calm; /* whether gates pass the line's calls and answers without delay, and no brick is
                  killed or started before the line */
};

struct script {
    uint64_t seed;
    unsigned clients; /* number of clients */
    unsigned faults;  /* injected failures per 1000 calls and answers of storage */
    GPtrArray *lines; /* of struct script_line, in the order in which the lines begin */
};

/* Makes a script with the clients, steps (number of lines), faults and commands of options. The
 * seed decides all random choices. abilities: the operations that the graph supports (CAN_*). */
struct script *script_make (const struct conform_options *options, uint64_t seed,
                            unsigned abilities);
/* Returns whether the script of the seed is narrow: its lines only read or change the same property
 * of two or three objects, and gates hold answers of storage for a long time. So if a cache stores
 * an outdated answer, it is likely to return it to a later line. */
static inline bool
script_is_narrow (uint64_t seed)
{
    return seed % 4 == 1;
}

/* Returns a script without lines. */
struct script *script_begin (uint64_t seed, unsigned clients, unsigned faults);
/* Returns a copy of the script, and of its lines. */
struct script *script_copy (const struct script *script);
void script_free (struct script *script); /* takes NULL */

/* Returns the script as text that script_read parses. The caller frees it with g_free. */
char *script_text (const struct script *script);
/* Appends the line as text to out, without a newline. */
void line_print (const struct script_line *line, GString *out);

/* Reads a script from a file. On error it returns NULL, and sets *ret_error to the text
 * "FILE:LINE: problem: 'line'", which the caller frees with g_free. A `#` at the beginning of a
 * word begins a comment. */
struct script *script_read (const char *path, char **ret_error);

/* Returns the bytes that the line with that number writes. The caller frees them with g_free. */
char *line_bytes (unsigned number, size_t size);

/* --- commands.c: what commands mean to the model ---------------------------------------------- */

/* The model has a base: the tree to which a discard returns. At first it is that of the lowers. */
enum command_effect {
    COMMAND_KEEPS,    /* clients see nothing; the base is the tree that they see now */
    COMMAND_STORES,   /* the same, and the only lower has that tree. A file may get another gfid
                         when no client has its inode */
    COMMAND_SHOWS,    /* clients see nothing, and the base stays as it is */
    COMMAND_RESTORES, /* clients see the base; a changed file that is open becomes a removed one */
};

enum command_effect command_effect (const char *name);

/* A file that a client had open, or had looked up, when a command detached its inode. */
struct detached_file {
    int was, now; /* numbers of the file before, and of the removed one that it is now */
};

/* --- records: filled in by wind.c and answered.c ---------------------------------------------- */

/* The record of one operation: the call of a client, and the answer that the client got. A file is
 * identified by a number: files get numbers in the order in which their gfids first appear in
 * answers, and the root has 0. Each open and create has a number too, which counts those of all
 * clients. A number of -1 means that there is no such file or open. */
struct operation {
    enum fop op;     /* operation; FOP_readdir: a whole listing, from opendir to last readdir;
                        FOP_command: a command of a translator */
    unsigned line;   /* number of the script's line */
    unsigned client; /* number of the observer (SEERS_MAX); for most operations, of the client */
    /* Arguments of the call. */
    int node;                   /* number of the file of the call */
    int parent, newparent;      /* numbers of the directories of name and newname */
    const char *name, *newname; /* names in these directories, or (name) name of an extended
                                   attribute or of a command; owned by the record */
    int fd, fd_out;             /* numbers of the opens that made the open files */
    off_t offset, offset_out;   /* as in struct script_line */
    size_t size;                /* length of a range, in bytes */
    uint32_t flags; /* flags of open, create, rename, fallocate or setxattr; for setattr, the
                       attributes to set (IATT_*); for flush, whether the client closes the file */
    mode_t mode;
    GBytes *bytes; /* bytes to write, target of a symbolic link, or value of an xattr */
    /* Results in the answer. */
    int ret, err; /* op_ret and op_errno of the answer; err is valid if ret is negative */
    int found;    /* number of the file in the answer */
    bool has_iatt; /* whether iatt is valid */
    bool keeps_removed; /* whether a file without a name may have a link: features/trash */
    struct iatt iatt; /* attributes of the file in the answer */
    GBytes *data;     /* bytes read, target of a symbolic link, or value of an extended attribute */
    GPtrArray *names; /* sorted names in a listing, each with a letter for its type at the end:
                         "af", "dd", "sl" */
    GArray *detached; /* of a command: of struct detached_file */
    unsigned invoked;   /* time of the call, on a clock that counts the calls and answers of all
                           clients (drive->clock) */
    uint64_t names_at;  /* names_now at the call */
    unsigned responded; /* time of the answer on the same clock; G_MAXUINT: no answer yet */
    bool refused;     /* whether the graph refused the operation by design: it must not have
                         happened */
    bool fault;       /* whether an error was injected: if the answer is an error, the operation may
                         have happened or not */
    bool late_fault;  /* whether a write may have been lost after its successful answer, or an fsync
                         or flush may have reported such a write (late.c) */
    bool interrupted; /* whether the client interrupted the call: if the answer is EINTR, the
                         operation may have happened or not */
    bool inexact;     /* whether names may have changed during a listing: its names are not
                         judged */
};

void operation_free (struct operation *seen);
/* Appends text like "writev fd3 offset 4096 size 20 = 20". */
void operation_print (const struct operation *seen, GString *out);

/* --- the model: model.c, apply.c -------------------------------------------------------------- */

struct model;

struct model *model_new (void); /* returns a model with an empty root directory */
struct model *model_copy (const struct model *model);
void model_free (struct model *model);
bool model_equal (const struct model *a, const struct model *b);

/* Applies the operation to the model. Returns whether the model gives the recorded answer. If it
 * does not, this function appends the model's answer to expected (may be NULL), and the caller must
 * not use the model any more. */
bool model_apply (struct model *model, const struct operation *seen, GString *expected);

/* Applies an operation to the model without comparing the recorded answer. For an operation that
 * may have happened or not, whatever its answer was. */
void model_apply_unseen (struct model *model, const struct operation *seen);

/* --- judging: check.c ------------------------------------------------------------------------- */

/* seens: array of struct operation, in any order. Returns NULL if there is an order of the
 * operations in which the model gives all recorded answers. Otherwise it returns an error text,
 * which the caller frees with g_free. */
char *check_order (const GPtrArray *seens);

/* --- running: run.c --------------------------------------------------------------------------- */

struct history_verdict {
    bool failed;           /* whether the history failed with an error that --allow does not
                              permit */
    char *text;            /* description of the error, in lines */
    char *log;             /* the number of operations, and one line for each event; the same for
                              each run of a script */
    unsigned seen;         /* number of judged operations */
    const char *by_design; /* reason why the file of --allow permits the error; NULL: it does not */
};

/* Runs the script in a child process. Returns 0 and a verdict, even if the child crashes or hangs.
 * If the graph can't be started, it prints a message and returns a negative errno. */
int history_run (const struct conform_options *options, const struct script *script,
                 struct history_verdict *ret_verdict);
void verdict_clear (struct history_verdict *verdict);

/* Returns the abilities (CAN_*) that a graph of the volfile lacks on every file system:
 * bricks.c. */
unsigned history_inabilities (const struct conform_options *options);

/* Finds the abilities (CAN_*) of the graph over the file system of the scratch directories. Returns
 * 0, or a negative errno after a message. */
int history_probe (const struct conform_options *options, unsigned *ret_abilities);

/* --- shrinking: shrink.c ---------------------------------------------------------------------- */

/* script: a script whose history fails. Returns a shorter one whose history fails too, possibly
 * with another error. Runs at most `runs` histories. The caller frees the result with
 * script_free. */
struct script *script_shrink (const struct conform_options *options,
                              const struct script *script, unsigned runs);

#endif
