/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* xlator_api is the object that a translator's module exports. xlator_t is a translator in a
 * graph. */
#ifndef WINDLASS_CORE_EDGE_TRANSLATOR_H
#define WINDLASS_CORE_EDGE_TRANSLATOR_H

#include "core/edge/any-fop.h"
#include "core/data/fd.h"
#include "core/edge/invalidate.h"
#include "core/base/log.h"
#include "core/table/opset.h"
#include "core/edge/option.h"

#define XLATOR_ABI 18

/* Which parts of a request a translator may change. Among other uses, this decides whether the
 * kernel may read and write a file without the daemon. */
enum {
    TOUCHES_NOTHING = 0,
    TOUCHES_DATA = 1 << 0, /* the bytes of files, or their offsets */
    TOUCHES_METADATA = 1 << 1, /* attributes, extended attributes */
    TOUCHES_NAMES = 1 << 2, /* names, directories */
    TOUCHES_ERRORS = 1 << 3, /* an operation may fail, or take long */
    TOUCHES_ANSWERS = 1 << 4, /* writes are answered before they are done, without attributes; fsync
                               * or flush returns their error */
    TOUCHES_OPENS = 1 << 5, /* opens are answered before they are done; the first operation on the
                             * fd returns their error */
};

/* Parts of answers, or services, that a translator needs and that cost something. */
enum {
    WANTS_NOTHING = 0,
    WANTS_PARENT_ATTRIBUTES = 1 << 0, /* preparent, postparent of what changes a directory */
    WANTS_DATA_ATTRIBUTES = 1 << 1,   /* prebuf, postbuf, stbuf, statpre */
    WANTS_INODE = 1 << 2,             /* a place for a context with each inode: inode_ctx_set */
    WANTS_FD = 1 << 3,                /* a place for a context with each fd: fd_ctx_set */
};

/* How much a translator must see of a file's reads and writes, if the kernel could do them by
 * itself. */
enum data_view {
    DATA_UNSEEN,  /* nothing */
    DATA_COUNTED, /* only that the kernel reads and writes the file directly:
                   * xlator_passthrough.past */
    DATA_SEEN,    /* each call that the kernel makes; the kernel's page cache may spare some */
    DATA_EACH,    /* each read and write of a program: the file is read and written past the page
                   * cache, too */
};

/* Events, which translators pass along the graph. */
enum xlator_event {
    XLATOR_PARENT_UP, /* downwards: the whole graph is ready, requests may come */
    XLATOR_CHILD_UP, /* upwards: storage is available. Each lowest translator gets it when the graph
                      * starts; one whose storage comes later, such as a server, passes it on
                      * then */
    XLATOR_ENDING, /* downwards: the mount is about to end. Requests still come, but from now on no
                    * translator may hold one back */
    XLATOR_PARENT_DOWN, /* downwards: no more requests will come; finish what is pending. It comes
                         * without XLATOR_PARENT_UP if the init of another translator fails */
    XLATOR_HOLDING, /* downwards: a hold begins, since the mount is about to move to another graph,
                     * or a translator pauses it (core/work/pause.h). Until XLATOR_HOLD_OVER no
                     * translator keeps a call aside for a time, for a command or for speed: calls
                     * that it keeps go on, and a job starts no further call. A wait for a caller's
                     * lock goes on (stack_lock_waits), as does what a translator keeps that asked
                     * for the pause. Sent once for each try of a hold, on the main thread or on
                     * that of a pause, but on one at a time; the receiver waits for no request */
    XLATOR_HOLD_OVER, /* downwards: the hold is over, and translators do as before it. After a move
                       * the old graph gets it, too, as it serves the files that stay in it */
    XLATOR_PAUSE, /* upwards, data is a struct pause: whoever makes the requests of the graph holds
                   * them back while a function of the translator runs. Sent by pause_run alone:
                   * core/work/pause.h */
    XLATOR_DETACHED, /* upwards, data is an inode_t that a translator below has detached in a pause
                      * (inode_detach): a boundary detaches its inode above. Sent by pause_detach
                      * alone */
    XLATOR_CHILD_DOWN, /* upwards: storage is not available; it may come back */
    XLATOR_GONE, /* upwards: storage is gone for good, and the mount ends */
    XLATOR_INVALIDATE, /* upwards, data is a struct invalidation: cached state is no longer valid.
                        * Sent without a lock held, and not after XLATOR_ENDING. The kernel may wait
                        * before it returns. INVALIDATE_NAMES: for the directory's lock, which any
                        * request may hold up, so none may wait for the sending thread.
                        * INVALIDATE_DATA: for pages, so no read or write of the file may wait for
                        * the thread. INVALIDATE_ATTRIBUTES alone: any thread may send it */
    XLATOR_LOCK_CONTENDED, /* upwards, data is a struct lock_contention: another client waits for a
                            * lock that this one holds on a server. Sent on the thread that serves
                            * connections, so a translator only notes it there */
    XLATOR_DUMP_ASKED, /* upwards: a server asks for a state dump of this daemon */
    XLATOR_REOPEN_LOGS, /* downwards: log files may have been renamed; open them again by their
                         * names. data is a GString, which gets a line for each log that can't be
                         * opened. Sent on the main thread */
    XLATOR_NO_SPACE, /* upwards: an operation of a caller has failed with ENOSPC or EDQUOT, in the
                      * translator below that sends this, before the caller gets the answer. No
                      * translator has to watch answers for it. The receiver only notes it: the
                      * thread answers requests */
};

/* A lock of inodelk, or of entrylk, that another client waits for. Lent for the call. */
struct lock_contention {
    gfid_t gfid;        /* of the inode, or of the directory */
    const char *volume; /* as in the call that took the lock */
    const char *name;   /* the name in the directory; NULL: the lock is on an inode, or on all
                         * names */
    bool of_entry;
};

struct realm;
struct realm_slots;
struct roots;
struct rules_slot;
struct server_report;

typedef struct xlator_list {
    xlator_t *xlator;
    struct xlator_list *next;
} xlator_list_t;

struct xlator_cbks {
    void (*forget) (xlator_t *this, inode_t *inode); /* the inode is being freed: free its
                                                      * context */
    void (*release) (xlator_t *this, fd_t *fd);      /* the file's last reference is gone: free its
                                                      * context */
    void (*releasedir) (xlator_t *this, fd_t *fd);
};

/* Appends lines of "key=value" to out, for a statedump and .meta. Called on any thread, while
 * requests run and options change: the state that these functions read is constant since init,
 * atomic, or under a lock. */
struct xlator_dumpops {
    void (*priv) (xlator_t *this, GString *out);
    void (*inodectx) (xlator_t *this, inode_t *inode, GString *out);
    void (*fdctx) (xlator_t *this, fd_t *fd, GString *out);
    /* Appends the last events, oldest first, one line each; free text. */
    void (*history) (xlator_t *this, GString *out);
    /* Appends what a call that this has set aside waits for, as a phrase such as "the timer of a
     * delay, 2.5 s more"; appends nothing if that is unknown. frame may have been answered
     * meanwhile: only compare it with the frames that this keeps under a lock. */
    void (*waits_for) (xlator_t *this, const call_frame_t *frame, GString *out);
    /* Appends how this treats a file, as lines for a user: whether the file is cached, changed or
     * held back, and by which option. inode is NULL if it isn't known. The function makes no
     * request about the file, since the file may be the one that hangs. */
    void (*explain) (xlator_t *this, const char *path, inode_t *inode, GString *out);
    /* Appends why a call of this failed, as a phrase such as "server:/brick answered EIO to WRITE";
     * appends nothing if its errno says it all. frame was answered, and its local is still
     * valid. */
    void (*why_failed) (xlator_t *this, const call_frame_t *frame, GString *out);
    /* For a translator that asks a server: core/edge/server.h. The report is empty, and its
     * receiver clears it. */
    void (*server) (xlator_t *this, struct server_report *report);
    /* For translators that create requests. Finds the path, from the root of the mount, of the file
     * that a running request is about; root is a request of this, or one that a translator below
     * made for it. Returns false if the path isn't known. may_wait is false during a crash: the
     * function then takes no lock that another thread may hold, and allocates no memory. */
    bool (*path) (xlator_t *this, const call_stack_t *root, bool may_wait, char *ret_path,
                  size_t size);
};

/* Kernel passthrough, which is decided for each file at its open: core/realm/passthrough.h. Called
 * on any thread, while requests run. */
struct xlator_passthrough {
    /* Returns how much this must see of the file; inode NULL: of any file. *ret_why, a constant
     * text, ends the sentence "it ...", and names the option that decides. NULL: DATA_SEEN if the
     * translator implements reads or writes and doesn't merely forward them. Not called for a
     * translator with TOUCHES_DATA. */
    enum data_view (*view) (xlator_t *this, const inode_t *inode, const char **ret_why);
    /* That reason for a translator without view, or NULL: "delays the file's writes". */
    const char *why;
    /* Returns whether this must see each lookup and stat of a program: the kernel then keeps
     * neither names nor attributes. NULL: no. Called after init, and after online options have
     * changed. */
    bool (*sees_names) (xlator_t *this);
    /* For a translator of whose operations only rules ask for flush: returns whether it must see
     * the flushes of a file that is opened now. If nobody but storage must, the kernel need not
     * send them. NULL: yes, if the translator implements flush. */
    bool (*sees_flush) (xlator_t *this, inode_t *inode);
    /* For DATA_COUNTED: reads and writes of fd will bypass this translator. */
    void (*past) (xlator_t *this, fd_t *fd);
    /* For a boundary with several children: returns the child that has the file's data now, and in
     * *ret_below the file's inode there, lent as long as inode is; or NULL. A change may move the
     * data to another child: so the kernel gets such a file only if the mount can't be changed.
     * inode may be NULL, for any file. */
    xlator_t *(*follow) (xlator_t *this, inode_t *inode, inode_t **ret_below);
    /* For storage. Calls use with a descriptor (O_PATH is allowed) of the file that inode stands
     * for, opened with the identity of the request. Returns use's result, or a negative errno.
     * NULL: inodes have no such file. */
    int (*lend) (xlator_t *this, call_frame_t *frame, inode_t *inode,
                 int (*use) (int descriptor, void *data), void *data);
};

/* A command that is given to a translator in a running daemon, lent for the call. Treat all of it
 * as hostile. */
struct xlator_asked {
    GBytes *input; /* may be empty, never NULL; of a subcommand of windlass: the arguments, each
                    * followed by a NUL */

    /* The process that asks, as the kernel reports it. For a command that is not open, uid is root,
     * or the daemon's own user. */
    uid_t uid;
    gid_t gid;
    pid_t pid;
    unsigned ngroups;    /* number of supplementary groups */
    const gid_t *groups; /* supplementary groups */
    bool read_only;      /* the mount is (-o ro): the command changes nothing there */
};

/* Returns the arguments of a subcommand, NULL at the end; freed with g_strfreev. */
char **xlator_arguments (const struct xlator_asked *asked);

/* An option of a subcommand. */
struct xlator_command_option {
    const char *name;  /* without the --; rows of several commands with one name mean the same */
    const char *value; /* a kind or words, as in the usage of windlass: "TIME"; NULL: no value */
    const char *about; /* one sentence, without a full stop */
};

/* A row of the commands of a translator. */
struct xlator_command {
    const char *name;  /* "rules" */
    const char *about; /* one sentence, without a full stop */
    /* Executes the command on the thread that serves the socket. run must return soon, and wait for
     * no request: a command that takes long begins a job (core/work/job.h). answer is text for the
     * user: the effect, or with a negative errno the reason for the failure; then nothing has
     * changed. */
    int (*run) (xlator_t *this, const struct xlator_asked *asked, GString *answer);

    /* For `windlass NAME COMMAND MOUNTPOINT ARGUMENTS`, where NAME is the last part of the type. */
    const char *arguments; /* the arguments, as in the usage of windlass: "[PATH...]"; "": none;
                            * NULL: only windlass tell gives the command */
    const struct xlator_command_option *options; /* the last row has no name; NULL: none. A command
                            * with options gets those that were given before its arguments, and a
                            * word between: "--json", "--user=1000", "--", "PATH" */
    bool job;  /* run ends with job_answers: the user gets what the job prints, and its result */
    bool open; /* every user of the mount may give the command, to root's daemon through a socket
                * for all: run decides by asked->uid what that user sees and changes */
};

/* A type that must not be above this translator, and the reason as the end of a sentence about that
 * type: "answers an open before TYPE has checked it". */
struct xlator_misfit {
    const char *type, *why;
};

/* The one object that a module exports, as `const struct xlator_api xlator_api`. */
struct xlator_api {
    int abi;           /* XLATOR_ABI */
    const char *type;  /* "category/name", as in the volfile and in the module's path */
    const char *about; /* one sentence, without a full stop */
    struct {
        int min, max; /* number of children; max -1: no limit */
    } children;
    bool top_only;  /* must not have a parent */
    bool once;      /* at most one of its type in a graph */
    bool remote;    /* for storage: a server has the files. It acts with rights of its own, so the
                     * kernel has to remove setuid, setgid and capabilities at a write. And others
                     * use the files too, so locks are taken there */
    bool realms;    /* inodes and names below each child are in a table of their own: the
                     * translator is a boundary, core/realm/realm.h */
    const char *const *realm_keys; /* of a boundary: keys of xdata that pass, in both directions;
                                    * NULL at the end. "*" at the end of a key stands for any rest.
                                    * NULL: none passes */
    bool passive;   /* changes no file and talks to no server before a request comes, so windlass
                     * doctor may try a mount */
    const char *const *above; /* types, NULL at the end: one of these must be somewhere above */
    const char *const *below; /* types, NULL at the end: one of these must be somewhere below */
    /* None of these types may be somewhere above; the last row has no type. */
    const struct xlator_misfit *not_below;
    unsigned touches; /* TOUCHES_* */
    unsigned wants;   /* WANTS_* */
    size_t priv_size; /* of this->private: zeroed, then filled with the options before init */
    const struct xlator_option *options;

    /* State that goes on in the next graph, when the mount moves to one (take-over). It is one
     * object with a reference count (core/base/replaceable.h), to which this->private refers. After
     * a move both graphs use it, as the old graph serves the files that stay in it. So the object
     * has locks of its own, and refers to no translator, frame, fd, client or context of one graph.
     *
     * predecessor is the translator with the same volume name and the same module in the graph that
     * the mount leaves; NULL: there is none, since the mount starts, the volume is new, or the
     * module was replaced.
     *
     * take_over_prepare runs on the main thread right before init, with the options in
     * this->private, while the predecessor serves requests. It takes a reference to the
     * predecessor's object, if the options agree with it; otherwise, or without a predecessor, it
     * makes an object. The predecessor notices nothing. Returns 0, or a negative errno after a
     * gf_log with the reason. fini drops the reference, also if init failed or did not run.
     *
     * take_over runs when the graph comes into force, and cannot fail: at the start of a mount
     * after all inits, before XLATOR_CHILD_UP; at a move inside the hold, before the first file
     * moves, parents first. It makes no request. Until then the new graph's look-ups and opens
     * pass, and the translator neither judges nor counts them, and writes nothing.
     *
     * XLATOR_ENDING, XLATOR_PARENT_DOWN and fini end what belongs to the translator's graph; the
     * last reference ends the object. */
    int (*take_over_prepare) (xlator_t *this, xlator_t *predecessor);
    void (*take_over) (xlator_t *this, xlator_t *predecessor);

    int (*init) (xlator_t *this);  /* 0, or a negative errno after a gf_log that gives the reason */
    void (*fini) (xlator_t *this); /* also after a failed init */
    /* Takes over the online options from new_private, a private struct filled with the new values
     * and lent for the call. Called on the main thread, while requests run. Returns 0, or a
     * negative errno after a gf_log that gives the reason; then nothing has changed. If another
     * translator refuses its new values, reconfigure is called again with the old ones, and must
     * accept them. */
    int (*reconfigure) (xlator_t *this, const void *new_private);
    void (*notify) (xlator_t *this, enum xlator_event event, void *data); /* NULL: passed on */
    /* The request has ended: frees the memory and references that local holds. */
    void (*local_drop) (xlator_t *this, void *local);

    struct xlator_fops fops;
    any_fop_t *any_fop;       /* called for all operations that fops leaves out:
                               * core/edge/any-fop.h */
    opset_t any_fop_ops;      /* calls any_fop only for these operations; 0: for all */
    any_fop_cbk_t *any_fop_cbk; /* gets the answers to call_wind */
    bool any_fop_marks; /* contexts of inodes begin with a struct any_fop_mark */
    opset_t forwards; /* operations that the translator passes on unchanged, each once; it only
                       * decides when, on which thread, or to which child */
    struct xlator_cbks cbks;
    struct xlator_dumpops dumpops;
    struct xlator_passthrough passthrough;
    const struct xlator_command *commands; /* the last row has no name; NULL: none */

    /* Returns whether no request from above meets this name in directory, because the translator
     * has added it for itself; and takes such names out of the link count of a file: hidden.h in
     * core/edge. */
    bool (*hides) (xlator_t *this, inode_t *directory, const char *name);
    void (*uncount) (xlator_t *this, struct iatt *buf);

    /* Returns the rules of the translator, for `windlass rules`: core/rules/rules.h. NULL: it has
     * none. */
    struct rules_slot *(*rules) (xlator_t *this);

    /* Returns whether the name in directory stands for a directory that the translator marks as
     * unkept: inode_set_unkept in core/data/inode.h. It is called between init and fini, with the
     * lock of the table of inodes held: it compares, takes no lock and waits for nothing. */
    bool (*unkept) (xlator_t *this, inode_t *directory, const char *name);
};

/* An option's value and its origin. */
struct option_setting {
    const struct xlator_option *option;
    char *text;
    enum { SET_BY_DEFAULT, SET_BY_VOLFILE, SET_BY_COMMAND_LINE } by;
    int line, column; /* position in the volfile */
    const char *file; /* the volfile's name; interned */
};

/* Returns the text for reports: not that of a secret option. NULL: unset. */
const char *setting_shown (const struct option_setting *setting);

/* For init: logs an error about an option whose value only init can judge, with the place of the
 * value: "home.vol:3:20: option 'directory' is ...". The format goes on after the option's name. */
#define option_refuse(this_, key_, ...)                                                            \
    option_refuse_of (this_, __FILE__, __LINE__, __func__, key_, __VA_ARGS__)
void option_refuse_of (const xlator_t *this, const char *file, int line, const char *function,
                       const char *key, const char *format, ...) G_GNUC_PRINTF (6, 7);

struct graph;

/* Functions that a wind to a translator calls in place of the translator's own. Each of them calls
 * xlator_own_FOP, at once or later. A limit is such a gate (core/work/limit.h): its own struct
 * begins with this one. */
struct xlator_gate {
    const struct xlator_fops *fops; /* all operations */
};

/* A translator in a graph. */
struct xlator {
    union {
        struct log_source log; /* name and loglevel, as log lines use them */
        struct {
            const char *name;
            gf_loglevel_t loglevel; /* GF_LOG_UNSET: the level of the process. Atomic */
        };
    };
    const char *type;
    xlator_list_t *children, *parents; /* in the order of the volfile */
    void *private;
    bool pass_through;
    bool ready;      /* true between init and fini; atomic */
    bool up;         /* the last of CHILD_UP and CHILD_DOWN that this passed on. Atomic */
    int inode_slot;  /* INODE_SLOT, or -1 */
    int fd_slot;     /* index in fd->ctx, or -1 */
    struct realm *realm; /* the realm whose inodes, names and fds requests to this one have; NULL:
                          * those of the mount. Set before init: core/realm/realm.h */
    struct realm_slots *slots; /* of a boundary, else NULL; set before init */
    unsigned wants_above; /* WANTS_* of all translators above; set before init */
    int number;      /* position from the top, 0 first */
    const struct xlator_api *api;
    struct graph *graph;
    const struct fd_maker *fd_maker; /* for fd_new, in a graph */
    GPtrArray *settings; /* of struct option_setting: all options, in the order of the table. The
                          * main thread swaps them on a reload, and reads them without a lock; other
                          * threads hold graph->settings_lock */
    xlator_t *predecessor; /* the one of take_over_prepare, until take_over; or NULL */
    struct roots *roots; /* of the graph, set before init: core/edge/root.h */
    int line, column;    /* of `volume` in the volfile */
    unsigned watchers;   /* bits of the watchers of winds to this translator: core/edge/watch.c.
                          * Atomic */
    struct xlator_routes routes; /* the functions that a wind to this translator calls */
    struct counters *numbers; /* counters of trace/metrics/numbers.c, or NULL. Atomic; set once */
    /* For winds to this translator; NULL: its own functions. Set before the first request. */
    const struct xlator_gate *gate;
    unsigned sequences; /* of core/edge/steps.h that are not answered; guarded there */
    struct {
        unsigned running; /* number of jobs that have not ended */
        bool used, ended, over; /* whether jobs_init was called, jobs_end, and jobs_wait has found
                                 * that no job runs */
    } jobs; /* of core/work/job.h; guarded there */
};

#define FIRST_CHILD(this_) ((this_)->children->xlator)

/* A translator's context of an inode (WANTS_INODE): NULL at first. inode_ctx_set stores ctx only if
 * there is none yet, and returns the context that is stored now. fd_ctx_set (WANTS_FD) replaces the
 * context. */
#define inode_ctx_get(inode_, this_) inode_ctx_get_at (inode_, (this_)->inode_slot)
#define inode_ctx_set(inode_, this_, ctx_) inode_ctx_set_at (inode_, (this_)->inode_slot, ctx_)

/* Returns the inode's context. If there is none yet, make creates it. If two threads create one at
 * the same time, the second context goes to drop. */
void *inode_ctx_make (inode_t *inode, xlator_t *this,
                      void *(*make) (xlator_t *this, inode_t *inode), void (*drop) (void *made));

#define fd_ctx_get(fd_, this_) fd_ctx_get_at (fd_, (this_)->fd_slot)
#define fd_ctx_set(fd_, this_, ctx_) fd_ctx_set_at (fd_, (this_)->fd_slot, ctx_)

/* Returns the number of the child with a name of size bytes, from 0; -1: there is none. */
int xlator_child_number (const xlator_t *xl, const char *name, size_t size);

/* Returns whether a server has the files of xl or of a translator below: xlator_api.remote. A
 * boundary with several children hides that: it has changes of its own. */
bool xlator_is_remote (const xlator_t *xl);

/* Returns whether a translator above has other subvolumes, too: then that one knows what they all
 * must agree on, such as the gfid of an object. */
bool xlator_is_one_of_several (const xlator_t *xl);

/* Returns a translator outside a graph, without contexts of inodes and fds. It gets a copy of the
 * name, which is never freed, and equal names are one text (g_intern_string): a record that may
 * outlive the translator keeps the name, and compares it by its address. If api is NULL the caller
 * fills in type and api later. */
xlator_t xlator_init (const char *name, const struct xlator_api *api, struct graph *graph,
                      void *private);

/* A report that follows the translators of running requests, which belong to other threads, does so
 * between xlators_pin and xlators_unpin. Whoever frees a translator whose requests have
 * all ended calls xlators_wait_unpinned first, without a lock held: reports that began before have
 * then ended, and later ones no longer find it. */
void xlators_pin (void);
void xlators_unpin (void);
void xlators_wait_unpinned (void);

/* Fills in xl->routes from its own fops and its first child's routes; call it for the children
 * first. The lowest translator answers ENOSYS to operations that no translator implements. */
void xlator_route (xlator_t *xl);

/* xlator_notify sends the event to xl. If xl has no notify function, the event goes on to the next
 * translators in its direction, as with xlator_pass_on. */
void xlator_notify (xlator_t *xl, enum xlator_event event, void *data);
void xlator_pass_on (xlator_t *xl, enum xlator_event event, void *data);

/* Sets the log level, and updates the routes to xl, since winds to it are logged from TRACE on.
 * Call it at any time, on any thread. */
void xlator_set_loglevel (xlator_t *xl, gf_loglevel_t level);

/* Called after the graph has loaded a module, on the same thread; NULL: no call. Not for
 * translators. */
extern void (*xlator_module_loaded) (void);

#endif
