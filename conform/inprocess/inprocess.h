/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations on a graph itself, without the kernel, with an inspector on every edge.
 *
 *   inprocess.c   the parent: which cases there are, a child that runs them, what it says
 *   worker.c      the child: a case on the stack and on storage/posix alone, compared
 *   world.c       a graph over a scratch directory, and the tree that a case finds there
 *   classes.c     the classes that each argument comes in
 *   call.c        makes a call of an operation from classes, and text of its answer
 *   dump.c        all that is below a directory, as text
 *   inspect.c     the translator that is on every edge
 *   rules.c       what an answer must be, whatever was asked for
 *   loan.c        memory of arguments and answers, protected while it is lent and after
 *   fault.c       what touches such memory all the same, and what crashes
 *   order.c       answers that are held back
 *   counts.c      references
 *   locks.c       locks that translators hold
 *   statics.c     variables of modules that changed
 *   finding.c     what was found in the case that runs; by design
 *   place.c       names of addresses
 *
 * Reasons:
 *
 * - graph_splice puts an inspector on every edge. Between two inspectors is exactly one translator,
 *   so what an inspector sees is that translator's doing; with several children each edge has one
 *   of its own.
 * - Lent data lies in mappings of its own, read-only during the call and closed after it. A signal
 *   handler names what touched it, opens it and goes on.
 * - src/core/base/audit.h tells of references, locals and broken rules: one test of a pointer while
 *   no test listens.
 * - Locks are seen by replacing pthread's and glib's functions in the tables of the graph's
 *   modules, not by a preloaded library: no second start, only the translators' own calls, and it
 *   works under a sanitizer.
 * - storage's offsets in directories get a high bit above it, so that a translator that keeps 32
 *   bits of them is noticed on any file system.
 * - A case is over when no request is left, not when every call was answered. A translator that
 *   works by itself has its request before it answers, and until it is done.
 */
#ifndef WINDLASS_CONFORM_INPROCESS_H
#define WINDLASS_CONFORM_INPROCESS_H

#include "conform/conform.h"
#include "core/base/audit.h"
#include "core/edge/any-fop.h"
#include "core/edge/frame.h"
#include "core/data/iobuf.h"
#include "core/data/loc.h"
#include "core/edge/stack.h"
#include "core/edge/sync.h"
#include "graph/graph.h"

/* How the stack is run: a case's name begins with it. */
struct variant {
    const char *name;
    bool late;      /* answers from below come from another thread, after the wind returned */
    bool mixed;     /* or before, as the seed says; in any order */
    bool given;     /* whoever is asked to write has the only reference to the bytes */
    bool plain;     /* nobody above wants attributes that cost something */
    bool interrupt_before, interrupt_held; /* the request is interrupted on its way down, or while
                                              its answer waits */
    bool quiet;     /* nothing is protected: to get ready, and to look at what came of it */
    bool failing;   /* again and again, with one call below failing, each by turns */
    bool pairs;     /* every pair of classes, not only each by itself */
};
extern const struct variant variants[]; /* ends with a row without name */

/* What the case that runs has; one at a time in a process. */
extern const struct variant *variant;

/* --- finding.c: any thread may add --- */

/* Starts a case; the seed of its random choices is made of seed and name. */
void findings_begin (const char *case_name, uint64_t seed);
/* kind: a few words, the same for all of its kind; who: whose mistake, or NULL; op: in which
 * operation. */
void finding_add (const char *kind, const xlator_t *who, enum fop op, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
void
finding_add_type (const char *kind, const char *type, const char *format, ...) G_GNUC_PRINTF (3, 4);
/* The text of all, key: what tells this failure from another in a few words. NULL when there is
 * none; g_free both. */
char *findings_end (char **ret_key);
/* How often something was found since the start, also what is already known. */
unsigned findings_count (void);
/* A number below n, as the seed has it. */
unsigned finding_random (unsigned n);
const char *finding_case (void);

/* Why a finding of this key is none in such a graph, or NULL. */
const char *inprocess_by_design (const struct graph *graph, const char *case_name, const char *key);
/* The same of all that was found in the case: NULL unless each has a reason. Before
 * findings_end. */
const char *findings_by_design (const struct conform_options *options, const struct graph *graph);

/* --- place.c --- */

/* The modules of the graph's translators, before anything asks. */
void places_learn (const struct graph *graph);
/* Is the address in one of them? Its translator's type, else NULL. Takes no lock and no memory. */
const char *place_type (const void *address);
/* The first that is, of those that a thread stands in now, from `from` on (a return address of the
 * caller's), or NULL. Costs. */
const void *place_in_stack (void);
/* "rot13_writev (rot13.c:134)", or "rot-13.so+0x1234". g_free it. */
char *place_name (const void *address);

/* --- loan.c --- */

struct loan {
    char *map;
    size_t size, used, used_locs;
    bool up;            /* an answer's, else a call's */
    bool sealed, over;  /* may be read alone; may not be touched */
    const xlator_t *to; /* who borrows */
    const xlator_t *from; /* who lends: for the text */
    enum fop op;
    struct call call;
    struct answer answer;
    void *values;       /* args of call, rets of answer */
    bool marked;        /* xdata of values has the kit's key */
    bool lends_data;    /* ref and buf are in use */
    struct iobref ref;
    struct iobuf buf;
    struct { loc_t *lent; loc_t was; } locs[2];
    unsigned n_locs;
    struct { dict_t *lent, *was; } dicts[2];
    unsigned n_dicts;
    GPtrArray *inodes, *fds; /* held with a reference; of answers alone */
    int faults;         /* reported; atomic */
    void *crossing;     /* inspect.c's */
};

/* Keys of xdata that nobody knows, so that everybody has to pass them on. */
#define MARK_DOWN "windlass.conform.down"
#define MARK_UP "windlass.conform.up"

/* Copies of all that a call, or an answer, lends, in protected memory. */
struct loan *loan_call (const struct call *call, const xlator_t *from, const xlator_t *to);
/* mark: a key that is added to the xdata of a success, or NULL. */
struct loan *loan_answer (const struct answer *answer, const xlator_t *from, const xlator_t *to,
                          const char *mark);
/* It is over: what was changed or is kept is found. The loan isn't the caller's any more. */
void loan_end (struct loan *loan);
/* The loan an address is in, or NULL; for a signal handler. */
struct loan *loan_of (const void *address);
/* Lets a loan be touched, also after that was noted; and no more. */
void loan_open (struct loan *loan);
void loan_protect (struct loan *loan);
/* Nobody works any more: bytes that somebody has still a reference of are reported. */
void loans_check (void);
const char *loan_part (const struct loan *loan, const void *address);

/* Memory of locals, which may not be touched after their request. */
void *local_new (xlator_t *owner, size_t size);
void local_gone (void *local);

/* --- fault.c --- */

/* Catches what touches memory that was lent. crashed: called, in a signal handler, when it was
 * something else. */
void faults_catch (void (*crashed) (const char *text));

/* --- counts.c --- */

bool counts_change (enum audit_kind kind, void *object, int change, const void *caller);
/* What this thread takes now is the kit's own, not that of the translator that called it, until it
 * says no again. */
void counts_mute (bool mute);
/* There are two marks, 0 and 1. Notes what is taken; whether more is than at the mark; reports
 * that. */
void counts_mark (unsigned mark);
bool counts_grew (unsigned mark);
void counts_report (unsigned mark);

/* --- locks.c --- */

/* Has the modules of the graph's translators tell of their locks. */
void locks_watch (const struct graph *graph);
/* Reports those that this thread holds and that code of translators took. */
void locks_check (const xlator_t *who, enum fop op, const char *over, const struct call_site *site);

/* --- statics.c --- */

void statics_mark (const struct graph *graph);
/* Reports variables of modules that changed since. */
void statics_check (const struct graph *graph);

/* --- order.c --- */

void order_start (void);
/* A wind from the very top begins on this thread; it has returned. */
void order_begin (void);
void order_end (void);
/* Shall this answer wait? Then order_hold, and `hand` gets it later. */
bool order_holds (void);
void order_hold (struct loan *loan, void (*hand) (struct loan *loan));
/* Waits until none is held and none is being handed on. */
void order_settle (void);

/* --- inspect.c --- */

extern const struct xlator_api inspect_api;

/* One call over an edge. */
struct crossing {
    struct crossing *parent; /* the call that made it necessary, or NULL */
    call_frame_t *frame;     /* the inspector's own */
    xlator_t *callee;        /* below the edge */
    xlator_t *inspector;
    enum fop op;
    bool bottom, top;
    const struct call_site *wound; /* where it was asked for */
    const struct call_site *last_wound; /* the callee's last wind that was answered, or NULL, */
    const void *last_callback; /* and where that answer went */
    bool closed;             /* its answer was handed on. Atomic */
    int children, open;      /* atomic */
    bool marked;             /* xdata has the kit's key */
    bool child_marked;       /* so had the answer of the child's same operation */
    bool faulty;             /* something was found in it or below */
    bool early;              /* a write that was answered before it was done, as TOUCHES_ANSWERS has
                                it, here or below */
    bool interrupted;
    off_t offset;
    size_t size;
    uint32_t fd_flags;
    bool is_dir;
};

/* What the answer at the very top said of attributes. */
struct seen {
    bool has_pre, has_post;
    struct iatt pre, post;
};
extern struct seen inspect_seen;

/* After a case: waits until nothing goes on any more, and says what is still owed. Frees the
 * crossings unless some are; then the graph can't be used any more, and this is false. gave_up: the
 * case's own call had no answer, so that nothing more is to be expected. */
bool inspect_settle (bool gave_up);

/* The nth call from now on that isn't the case's own fails with EIO, and goes no further; 0: none.
 * And of the last that did: what and whose it was; NULL if none was reached; g_free it. */
void inspect_fail (unsigned nth);
char *inspect_failed (void);

/* The case is given up since no answer came in time: says whose, and what could not be done. */
void inspect_say_slow (const char *what);

/* rules.c */
void
rules_check (struct crossing *crossing, const struct answer *answer, const struct call_site *site);

/* --- world.c --- */

enum { FD_RO, FD_WO, FD_RW, FD_APPEND, FD_DIR, FD_UNLINKED, FD_OTHER, FDS };

struct world {
    struct graph *graph;
    struct client *client;
    bool inspected;
    unsigned number;          /* of the tree */
    bool ready, dirty;        /* there is a tree; a case changed it */
    inode_t *top, *file, *other, *directory, *full, *link, *fifo, *gone, *gone_directory;
    fd_t *fds[FDS];
};

/* The graph of the options' volfile over directories below dir, inspected; or storage/posix alone,
 * if dir ends with "/bare". NULL after a message. */
struct world *world_new (const struct conform_options *options, const char *dir);
void world_free (struct world *world);
/* Which attributes that cost something somebody above wants, WANTS_*; and which ones translators of
 * the world want themselves. A stack that has such a one answers them where storage alone would
 * not, so both are asked for the same. */
#define WANTS_ATTRIBUTES (WANTS_PARENT_ATTRIBUTES | WANTS_DATA_ATTRIBUTES)
void world_wants (struct world *world, unsigned above);
unsigned world_wanted (const struct world *world);
/* A tree as cases expect it; 0, or a negative errno. */
int world_ready (struct world *world);
/* Gives back all that the tree's inodes and files were. */
void world_drop (struct world *world);
inode_t *world_look (struct world *world, inode_t *dir, const char *name, struct iatt *ret_buf);

/* dump.c: appends lines. */
void dump_tree (struct world *world, inode_t *dir, const char *path, GString *out);
void print_iatt (GString *out, const char *name, const struct iatt *iatt);

/* --- classes.c --- */

struct value {
    const char *name;
    int64_t number;
    const char *text;
};

enum loc_class {
    LOC_FILE,
    LOC_DIR,
    LOC_FULL,
    LOC_LINK,
    LOC_FIFO,
    LOC_NEW,
    LOC_ROOT,
    LOC_NAMELESS,
    LOC_GONE,
    LOC_IN_GONE,
    LOC_UNDER_FILE,
    LOC_LONG,
    LOC_EMPTY,
    LOC_DOT,
    LOC_SLASH,
    LOC_OTHER,
};
enum { TEXT_LONG = 1 };

/* The classes of an operation's argument, the usual one first, ends with one without name; NULL: it
 * follows from others. */
const struct value *classes_of (enum fop op, const char *arg);

/* --- keys.c --- */

/* Looks for names of extended attributes in the modules of the volfile's translators. What is wrong
 * with the volfile is for others to say. */
void keys_learn (const struct conform_options *options);
/* Classes of a name, ends with one without name. */
const struct value *keys_all (void);
/* Is it one of them? The answer for it may differ from storage's. */
bool key_is_own (const struct value *value);

/* --- call.c --- */

/* Which class each argument of a call has; those not named have their first. */
struct choice {
    enum fop op;
    unsigned n;
    const char *arg[2];
    const struct value *value[2];
};

/* Appends each choice there is. */
void choices_list (GArray *choices, bool pairs);
/* "writev/fd=append,offset=1". g_free it. */
char *choice_name (const struct choice *choice);
/* Makes the call and appends its answer. op_ret or a negative errno. */
int call_make (struct world *world, const struct choice *choice, GString *out);
bool call_changes (enum fop op);

/* --- worker.c --- */

#define WORKER_SLOW 6 /* its exit status when the graph is too slow for any case */

struct in_case {
    const struct variant *variant;
    struct choice choice;
    char *name;
};

/* Runs cases from number `from` on in this process, which forked for it, and writes to fd how they
 * went; never returns. */
void worker_run (const struct conform_options *options, GArray *cases, guint from, int fd,
                 const char *scratch) G_GNUC_NORETURN;

#endif
