/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations on a graph itself, without the kernel, with an inspector on every edge.
 *
 *   inprocess.c   the parent: the list of cases, a child that runs them, its results
 *   worker.c      the child: a case on the stack and on storage/posix alone, compared
 *   world.c       a graph over a scratch directory, and the tree for a case
 *   classes.c     the classes of each argument
 *   call.c        makes a call of an operation from classes, and text of its answer
 *   dump.c        everything below a directory, as text
 *   inspect.c     the translator that is on every edge
 *   rules.c       rules for answers, independent of arguments
 *   loan.c        memory of arguments and answers, protected while it is lent and after
 *   fault.c       accesses to such memory, and crashes
 *   order.c       answers that are held back
 *   counts.c      references
 *   locks.c       locks that translators hold
 *   statics.c     variables of modules that changed
 *   finding.c     findings in the current case; expected findings
 *   place.c       names of addresses
 *
 * Reasons:
 *
 * - graph_splice puts an inspector on every edge. Between two inspectors is exactly one translator,
 *   so an inspector sees that translator's behaviour alone; with several children each edge has one
 *   of its own.
 * - Lent data lies in mappings of its own, read-only during the call and closed after it. A signal
 *   handler reports the code that touched it, opens it and goes on.
 * - src/core/base/audit.h reports references, locals and broken rules: one test of a pointer while
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

/* A way to run the stack: a case's name begins with it. */
struct variant {
    const char *name;
    bool late;      /* answers from below come from another thread, after the wind returned */
    bool mixed;     /* or before, by the seed; in any order */
    bool given;     /* a translator that gets a write has the only reference to its bytes */
    bool plain;     /* no attributes are requested that cost something */
    bool interrupt_before, interrupt_held; /* the request is interrupted on its way down, or while
                                              its answer waits */
    bool quiet;     /* no memory is protected: for preparation, and for reading results */
    bool failing;   /* repeated, each time with another call below failing */
    bool pairs;     /* every pair of classes, not only each single class */
};
extern const struct variant variants[]; /* ends with a row without name */

/* The state of the current case; one at a time in a process. */
extern const struct variant *variant;

/* --- finding.c: any thread may add --- */

/* Starts a case; its random choices depend on seed and name. */
void findings_begin (const char *case_name, uint64_t seed);
/* kind: a few words, the same for all findings of the kind; who: the translator at fault, or NULL;
 * op: the operation. */
void finding_add (const char *kind, const xlator_t *who, enum fop op, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
void
finding_add_type (const char *kind, const char *type, const char *format, ...) G_GNUC_PRINTF (3, 4);
/* The text of all findings; *ret_key identifies the failure in a few words. NULL if there are none;
 * both are freed with g_free. */
char *findings_end (char **ret_key);
/* Number of findings since the start, including known ones. */
unsigned findings_count (void);
/* A number below n, depending on the seed. */
unsigned finding_random (unsigned n);

/* The reason why a finding of this key is expected in such a graph, or NULL. */
const char *inprocess_by_design (const struct graph *graph, const char *case_name, const char *key);
/* The same for all findings of the case: NULL unless each has a reason. Call before
 * findings_end. */
const char *findings_by_design (const struct conform_options *options, const struct graph *graph);

/* --- place.c --- */

/* Notes the modules of the graph's translators. Call before the functions below. */
void places_learn (const struct graph *graph);
/* The type of the translator whose code contains the address, else NULL. Takes no lock and no
 * memory. */
const char *place_type (const void *address);
/* Returns whether a type that place_type returns has a table of inodes below each child. */
bool place_is_boundary (const char *type);
/* The first such address on the thread's stack, from `from` on (a return address of the caller's),
 * or NULL. Expensive. */
const void *place_in_stack (void);
/* "rot13_writev (rot13.c:134)", or "rot-13.so+0x1234". Freed with g_free. */
char *place_name (const void *address);

/* --- loan.c --- */

struct loan {
    char *map;
    size_t size, used, used_locs;
    bool up;            /* of an answer, else of a call */
    bool sealed, over;  /* read-only; not to be accessed any more */
    const xlator_t *to; /* the borrower */
    const xlator_t *from; /* the lender: for messages */
    enum fop op;        /* of a local: that of its frame */
    bool local;
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
    GPtrArray *inodes, *fds; /* with a reference; only for answers */
    int faults;         /* reported; atomic */
    void *crossing;     /* for inspect.c */
};

/* Keys of xdata that no translator knows, so that each has to pass them on. */
#define MARK_DOWN "windlass.conform.down"
#define MARK_UP "windlass.conform.up"

/* Copies all data that a call, or an answer, lends, to protected memory. */
struct loan *loan_call (const struct call *call, const xlator_t *from, const xlator_t *to);
/* mark: a key that is added to the xdata of a success, or NULL. */
struct loan *loan_answer (const struct answer *answer, const xlator_t *from, const xlator_t *to,
                          const char *mark);
/* Ends the loan: finds data that were changed or are kept. The caller must not use the loan any
 * more. */
void loan_end (struct loan *loan);
/* The loan that contains an address, or NULL; for a signal handler. */
struct loan *loan_of (const void *address);
/* Permits accesses to a loan, also after a finding; forbids them again. */
void loan_open (struct loan *loan);
void loan_protect (struct loan *loan);
/* No request is left: reports bytes that still have references. */
void loans_check (void);
const char *loan_part (const struct loan *loan, const void *address);

/* Memory of locals, which may not be accessed after their request. */
void *loan_local_new (xlator_t *owner, int op, size_t size);
void local_gone (void *local);

/* --- fault.c --- */

/* Catches accesses to lent memory. crashed: called in a signal handler for any other fault. */
void faults_catch (void (*crashed) (const char *text));

/* --- counts.c --- */

bool counts_change (enum audit_kind kind, void *object, int change, const void *caller);
/* The same of struct audit.worker. */
const void *counts_worker (const void *caller);
/* Until mute is reset, references that this thread takes count as the kit's own, not as those of
 * the translator that called it. */
void counts_mute (bool mute);
/* There are two marks, 0 and 1. Notes the references; returns whether there are more than at the
 * mark; reports those. */
void counts_mark (unsigned mark);
bool counts_grew (unsigned mark);
void counts_report (unsigned mark);

/* --- locks.c --- */

/* Makes the modules of the graph's translators report their locks. */
void locks_watch (const struct graph *graph);
/* Reports locks that this thread holds and that code of translators took. */
void locks_check (const xlator_t *who, enum fop op, const char *over, const struct call_site *site);

/* --- statics.c --- */

void statics_mark (const struct graph *graph);
/* Reports variables of modules that have changed since. */
void statics_check (const struct graph *graph);

/* --- order.c --- */

void order_start (void);
/* A wind from the top begins on this thread; it has returned. */
void order_begin (void);
void order_end (void);
/* Returns true if this answer should wait. Then call order_hold, and `hand` gets it later. */
bool order_holds (void);
void order_hold (struct loan *loan, void (*hand) (struct loan *loan));
/* Waits until no answer is held and none is being passed on. */
void order_settle (void);

/* --- inspect.c --- */

extern const struct xlator_api inspect_api;

/* One call over an edge. */
struct crossing {
    struct crossing *parent; /* the call during which it was made, or NULL */
    call_frame_t *frame;     /* the inspector's own */
    xlator_t *callee;        /* below the edge */
    xlator_t *inspector;
    enum fop op;
    int64_t begin; /* of its request, by clock_now */
    bool bottom, top;
    bool asked; /* at the top, of a request that the case makes; a translator may make others */
    const struct call_site *wound; /* where it was wound */
    const struct call_site *last_wound; /* the callee's last wind that was answered, or NULL */
    const void *last_callback; /* and the callback that got the answer */
    bool closed;             /* its answer was passed on. Atomic */
    int children, open;      /* atomic */
    bool marked;             /* xdata has the kit's key */
    bool child_marked;       /* the child's answer of the same operation had it too */
    bool child_answered;     /* a call of the same operation, with this op_ret and errno: */
    int child_ret, child_error;
    int error;               /* the errno of its answer, or 0 */
    bool faulty;             /* there was a finding in it or below */
    bool early;              /* a write answered before it was done, as by TOUCHES_ANSWERS, here or
                                below */
    bool interrupted;
    off_t offset;
    size_t size;
    uint32_t fd_flags;
    bool is_dir;
};

/* Attributes in the answer at the top. */
struct top_attributes {
    bool has_pre, has_post;
    struct iatt pre, post;
};
extern struct top_attributes inspect_seen;

/* The lowest translator whose answer to the last such operation at the top has another op_ret or
 * op_errno than its child's, as the end of a message: "; 'bad' (defects/pass) changed op_ret 4 to 3
 * at bad.c:30"; "" if none has. */
const char *inspect_changed (enum fop op);

/* After a case: waits until all activity has ended, and reports missing answers. Frees the
 * crossings, unless answers are missing: then returns false, and the graph can't be used any more.
 * gave_up: the case's own call had no answer, so no further activity is expected. */
bool inspect_settle (bool gave_up);

/* Makes the nth call from now on, except the case's own, fail with EIO without passing it on; 0:
 * none. Returns a description of the last such call; NULL if none was reached; freed with
 * g_free. */
void inspect_fail (unsigned nth);
char *inspect_failed (void);
/* Returns whether a call is the one that fails. Calls that a translator makes count, in the case's
 * request or in one of its own. */
bool inspect_fails (const struct crossing *crossing);

/* The case is given up since no answer came in time: reports the translator, and what could not be
 * done. */
void inspect_say_slow (const char *what);
/* A call for the tree of a case failed with error: reports the translator that failed it. */
void inspect_say_refused (int error);

/* rules.c */
void
rules_check (struct crossing *crossing, const struct answer *answer, const struct call_site *site);

/* --- world.c --- */

enum { FD_RO, FD_WO, FD_RW, FD_APPEND, FD_DIR, FD_UNLINKED, FD_OTHER, FDS };

struct kit_world {
    struct graph *graph;
    struct client *client;
    struct client *maker;     /* makes the tree: below what refuses by design, else client */
    const struct conform_options *options;
    bool inspected;
    bool only_readers;        /* an open for writing is refused by design: all are for reading */
    char *lower;              /* a directory that cluster/overlay only reads, in which the tree is
                               * made (--lowers); NULL: it is made by calls */
    unsigned number;          /* of the tree */
    bool ready, dirty;        /* the tree exists; a case changed it */
    inode_t *top, *file, *other, *directory, *full, *link, *fifo, *gone, *gone_directory;
    fd_t *fds[FDS];
};

/* The graph of the options' volfile over directories below dir, with inspectors; or storage/posix
 * alone, if dir ends with "/bare". Returns NULL after a message. */
struct kit_world *world_new (const struct conform_options *options, const char *dir);
void world_free (struct kit_world *world);
/* Sets the costly attributes that are requested from above, WANTS_*; returns those that translators
 * of the world request themselves. A stack with such a translator answers them where storage alone
 * would not, so both get the same requests. */
#define WANTS_ATTRIBUTES (WANTS_PARENT_ATTRIBUTES | WANTS_DATA_ATTRIBUTES)
void world_wants (struct kit_world *world, unsigned above);
unsigned world_wanted (const struct kit_world *world);
/* Makes a tree as cases expect it; returns 0 or a negative errno. */
int world_ready (struct kit_world *world);
/* Drops all references to the tree's inodes and files. */
void world_drop (struct kit_world *world);
inode_t *world_look (struct kit_world *world, inode_t *dir, const char *name, struct iatt *ret_buf);

/* dump.c: appends lines. */
void dump_tree (struct kit_world *world, inode_t *dir, const char *path, GString *out);
void dump_iatt (GString *out, const char *name, const struct iatt *iatt);

/* --- classes.c --- */

struct class_value {
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

/* The classes of an operation's argument, the normal one first, ends with one without name; NULL:
 * the argument follows from others. */
const struct class_value *classes_of (enum fop op, const char *arg);

/* --- keys.c --- */

/* Searches the modules of the volfile's translators for names of extended attributes. Errors in the
 * volfile are not reported here. */
void keys_learn (const struct conform_options *options);
/* Classes of a name; ends with one without name. */
const struct class_value *keys_all (void);
/* Returns true if it is one of them. The answer for it may differ from storage's. */
bool key_is_own (const struct class_value *value);

/* --- call.c --- */

/* The class of each argument of a call; arguments that are not named have their first. */
struct case_choice {
    enum fop op;
    unsigned n;
    const char *arg[2];
    const struct class_value *value[2];
};

/* Appends all choices. */
void choices_list (GArray *choices, bool pairs);
/* "writev/fd=append,offset=1". Freed with g_free. */
char *choice_name (const struct case_choice *choice);
/* Makes the call and appends its answer. Returns op_ret or a negative errno. */
int call_make (struct kit_world *world, const struct case_choice *choice, GString *out);
bool choice_may_change (enum fop op);

/* --- worker.c --- */

/* Exit statuses if no case can be run: the graph is too slow, or no tree could be made. */
#define WORKER_STUCK 5
#define WORKER_SLOW 6
#define WORKER_TREELESS 7

struct in_case {
    const struct variant *variant;
    struct case_choice choice;
    char *name;
};

/* Runs cases from number `from` on in this forked process, and writes their results to fd; never
 * returns. */
void kit_worker_run (const struct conform_options *options, GArray *cases, guint from, int fd,
                     const char *scratch) G_GNUC_NORETURN;

#endif
