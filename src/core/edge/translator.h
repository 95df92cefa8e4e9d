/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A translator: what its module exports (xlator_api), and one in a graph (xlator_t). */
#ifndef WINDLASS_CORE_EDGE_TRANSLATOR_H
#define WINDLASS_CORE_EDGE_TRANSLATOR_H

#include "core/edge/any-fop.h"
#include "core/data/fd.h"
#include "core/edge/invalidate.h"
#include "core/base/log.h"
#include "core/table/opset.h"
#include "core/edge/option.h"

#define XLATOR_ABI 7

/* What a translator may change of a request. Decides, among others, whether the kernel may read and
 * write a file without us. */
enum {
    TOUCHES_NOTHING = 0,
    TOUCHES_DATA = 1 << 0, /* the bytes of files, or where they are */
    TOUCHES_METADATA = 1 << 1, /* attributes, extended attributes */
    TOUCHES_NAMES = 1 << 2, /* names, directories */
    TOUCHES_ERRORS = 1 << 3, /* it may make an operation fail, or take long */
    TOUCHES_ANSWERS = 1 << 4, /* it answers writes before they are done, without attributes; an
                                 error comes with fsync or flush */
    TOUCHES_OPENS = 1 << 5, /* it answers opens before they are done; an error comes with what is
                               done with the fd first */
};

/* What a translator needs to be answered that costs something. */
enum {
    WANTS_NOTHING = 0,
    WANTS_PARENT_ATTRIBUTES = 1 << 0, /* preparent, postparent */
    WANTS_DATA_ATTRIBUTES = 1 << 1,   /* prebuf, postbuf, stbuf, statpre */
    WANTS_INODE = 1 << 2,             /* a place for what it keeps with an inode: inode_ctx_set */
    WANTS_FD = 1 << 3,                /* with an fd: fd_ctx_set */
};

/* What a translator has to see of a file's reads and writes, where the kernel could do them by
 * itself. */
enum data_view {
    DATA_UNSEEN,  /* none of it */
    DATA_COUNTED, /* that a file is read and written past it: xlator_passthrough.past */
    DATA_SEEN,    /* each call */
};

/* What is told along the graph. */
enum xlator_event {
    XLATOR_PARENT_UP, /* downwards: the whole graph is ready, requests may come */
    XLATOR_CHILD_UP, /* upwards: storage is there */
    XLATOR_ENDING, /* downwards: the mount is about to end. Requests still come, but from now on
                      none may be held back */
    XLATOR_PARENT_DOWN, /* downwards: no more requests will come; finish what is pending */
    XLATOR_CHILD_DOWN, /* upwards: storage is gone */
    XLATOR_INVALIDATE, /* upwards, data is a struct invalidation: what is remembered isn't so. On a
                          thread that no request waits for, since the kernel waits for requests
                          about it, unless it is of INVALIDATE_ATTRIBUTES alone, and without a lock;
                          not after XLATOR_ENDING */
};

typedef struct xlator_list {
    xlator_t *xlator;
    struct xlator_list *next;
} xlator_list_t;

struct xlator_cbks {
    void (*forget) (xlator_t *this, inode_t *inode); /* an inode goes; free what you keep with it */
    void (*release) (xlator_t *this, fd_t *fd);      /* a file's last reference went */
    void (*releasedir) (xlator_t *this, fd_t *fd);
};

/* What a statedump and .meta ask: lines of "key=value" appended to out. On any thread, while
 * requests run and options change: what they read is constant since init, atomic, or under a lock.
 */
struct xlator_dumpops {
    void (*priv) (xlator_t *this, GString *out);
    void (*inodectx) (xlator_t *this, inode_t *inode, GString *out);
    void (*fdctx) (xlator_t *this, fd_t *fd, GString *out);
    void (*history) (
        xlator_t *this,
        GString *out); /* what happened last, the oldest first, one line each; free text */
    /* What a call of this's that it set aside waits for, as a phrase such as "the timer of a
     * delay, 2.5 s more"; nothing is appended where it can't say. frame is one that may have been
     * answered meanwhile: it is only to be compared with those that are kept under a lock. */
    void (*waits_for) (xlator_t *this, const call_frame_t *frame, GString *out);
    /* What this does with a file, as lines for a user: whether it is cached, changed, held back,
     * and by which option. inode is NULL where it isn't known. Nothing is asked of the file, which
     * may be what hangs. */
    void (*explain) (xlator_t *this, const char *path, inode_t *inode, GString *out);
    /* Of those who make requests from outside: the path from the root of the mount of what a
     * running request, theirs or one made below them, is about. false where it isn't known.
     * may_wait false: in a crash, takes no lock that somebody holds, and no memory. */
    bool (*path) (xlator_t *this, const call_stack_t *root, bool may_wait, char *ret_path,
                  size_t size);
};

/* Kernel passthrough, which is decided for each file when it is opened: core/edge/passthrough.h. On
 * any thread, while requests run. */
struct xlator_passthrough {
    /* What this has to see of the file; inode NULL: of any. ret_why, a constant text, ends the
     * sentence "it ...", with the option that decides. NULL: everything, if it takes part in reads
     * or writes and doesn't merely forward them. A translator with TOUCHES_DATA isn't asked. */
    enum data_view (*view) (xlator_t *this, const inode_t *inode, const char **ret_why);
    const char
        *why; /* the same where there is no view, or NULL: "keeps what is written for a while" */
    void (*past) (xlator_t *this,
                  fd_t *fd); /* for DATA_COUNTED: what is done with fd will go past */
    /* Of storage: calls use with a descriptor (O_PATH may do) of the system's file that inode is,
     * as whoever the request acts as. Its result, or a negative errno. NULL: there is no such file.
     */
    int (*lend) (xlator_t *this, call_frame_t *frame, inode_t *inode,
                 int (*use) (int descriptor, void *data), void *data);
};

/* What a translator can be told while it runs. It gets there through the daemon's control socket,
 * which only root and the daemon's own user may open; the input is hostile all the same. */
struct xlator_command {
    const char *name;  /* "rules" */
    const char *about; /* one sentence, without a full stop */
    /* Does it, on the thread that serves the socket, so in a short time; answers wait for no
     * request. input may be empty, never NULL. The answer is text for the user: what was done, or
     * with a negative errno why it wasn't, and then nothing has changed. */
    int (*run) (xlator_t *this, GBytes *input, GString *answer);
};

/* A type that a translator can't have somewhere above it, and the reason as the end of a sentence
 * about that type: "answers what this would refuse". */
struct xlator_misfit {
    const char *type, *why;
};

/* The one object that a module exports, as `const struct xlator_api xlator_api`. */
struct xlator_api {
    int abi;           /* XLATOR_ABI */
    const char *type;  /* "category/name", as in the volfile and in the module's path */
    const char *about; /* one sentence, without a full stop */
    struct {
        int min, max; /* how many; max -1: any number */
    } children;
    bool top_only;  /* has no parent */
    bool once;      /* at most one of its type in a graph */
    const char *const *above; /* types, NULL at the end: one of them must be somewhere above */
    const char *const *below; /* and one of these somewhere below */
    const struct xlator_misfit
        *not_below; /* none of these may be somewhere above; the last one has no type */
    unsigned touches; /* TOUCHES_* */
    unsigned wants;   /* WANTS_* */
    size_t priv_size; /* of this->private: zeroed, options filled in, before init */
    const struct xlator_option *options;

    int (*init) (xlator_t *this);  /* 0, or a negative errno after a gf_log that says why */
    void (*fini) (xlator_t *this); /* also after a failed init */
    /* Takes over the online options from a private struct that is filled with new values and lent;
     * on the main thread, while requests run. 0, or a negative errno after a gf_log that says why;
     * then nothing has changed. It may be called again with the old values, because another
     * translator refused, and takes those. */
    int (*reconfigure) (xlator_t *this, const void *new_private);
    void (*notify) (xlator_t *this, enum xlator_event event, void *data); /* NULL: passed on */
    void (*local_drop) (xlator_t *this,
                        void *local); /* a request is over: free what local refers to */

    struct xlator_fops fops;
    every_fop *every;         /* for all operations that fops leaves out: core/edge/any-fop.h */
    opset_t every_ops;        /* only for these of them; 0: for all */
    every_cbk *every_cbk;     /* takes their answers */
    opset_t forwards; /* those of them that it passes on as they are, each once: it only decides
                         when, or in which thread */
    struct xlator_cbks cbks;
    struct xlator_dumpops dumpops;
    struct xlator_passthrough passthrough;
    const struct xlator_command *commands; /* the last one has no name; NULL: none */
};

/* An option's value and where it comes from. */
struct option_setting {
    const struct xlator_option *option;
    char *text;
    enum { SET_BY_DEFAULT, SET_BY_VOLFILE, SET_BY_COMMAND_LINE } by;
    int line, column; /* in the volfile */
};

struct graph;

/* What a wind to a translator calls in place of its own functions: each calls xlator_own_FOP, now
 * or later. Limits are such a gate (core/work/limit.h), which keeps its own data behind this. */
struct xlator_gate {
    const struct xlator_fops *fops; /* all operations */
};

/* A translator in a graph. */
struct xlator {
    union {
        struct log_source log; /* both as log lines have them */
        struct {
            const char *name;
            gf_loglevel_t loglevel; /* GF_LOG_UNSET: the process's. Atomic */
        };
    };
    const char *type;
    xlator_list_t *children, *parents; /* in the order of the volfile */
    void *private;
    bool pass_through;
    bool ready;      /* init was called and fini wasn't */
    int inode_slot;  /* in inode->ctx, or -1 */
    int fd_slot;     /* in fd->ctx, or -1 */
    unsigned wants_above; /* WANTS_* of all translators above; set before init */
    int number;      /* from the top, 0 first */
    const struct xlator_api *api;
    struct graph *graph;
    const struct fd_maker *fd_maker; /* for fd_new, in a graph */
    GPtrArray *settings; /* of struct option_setting: all its options, in the order of the table.
                            The main thread's, which swaps them on a reload; others read them under
                            graph->settings_lock */
    int line, column;    /* of `volume` in the volfile */
    unsigned watchers;   /* who watches winds to it: core/edge/watch.c. Atomic */
    struct xlator_routes routes; /* where a wind to this translator lands */
    struct counters *numbers; /* what trace/metrics/numbers.c counted, or NULL. Atomic; set once */
    const struct xlator_gate
        *gate; /* for winds to it, or NULL: its own functions. Set before the first request */
};

#define FIRST_CHILD(this_) ((this_)->children->xlator)

/* What a translator keeps with an inode (WANTS_INODE): NULL at first. inode_ctx_set sets it if
 * there is none yet, and returns what is there now. With an fd (WANTS_FD) the last one set counts.
 */
#define inode_ctx_get(inode_, this_) inode_ctx_get_at (inode_, (this_)->inode_slot)
#define inode_ctx_set(inode_, this_, ctx_) inode_ctx_set_at (inode_, (this_)->inode_slot, ctx_)

/* What is kept with the inode; make makes it, if there is nothing yet. Two threads may make it at
 * once: the second one's goes to drop. */
void *inode_ctx_make (inode_t *inode, xlator_t *this,
                      void *(*make) (xlator_t *this, inode_t *inode), void (*drop) (void *made));

#define fd_ctx_get(fd_, this_) fd_ctx_get_at (fd_, (this_)->fd_slot)
#define fd_ctx_set(fd_, this_, ctx_) fd_ctx_set_at (fd_, (this_)->fd_slot, ctx_)

/* A translator that no other one knows yet, and that keeps nothing with inodes and fds. name is
 * lent for its life. Where api is NULL the caller fills in type and api later. */
xlator_t xlator_init (const char *name, const struct xlator_api *api, struct graph *graph,
                      void *private);

/* Fills in xl->routes from its own fops and its first child's routes; the children's come first.
 * What no translator implements the lowest answers with ENOSYS. */
void xlator_route (xlator_t *xl);

/* Tells this, or whoever is next in the event's direction if it doesn't listen. */
void xlator_notify (xlator_t *xl, enum xlator_event event, void *data);
void xlator_pass_on (xlator_t *xl, enum xlator_event event, void *data);

/* Sets the level, and the routes to xl with it: winds to it are logged from TRACE on. Any time, on
 * any thread. */
void xlator_set_loglevel (xlator_t *xl, gf_loglevel_t level);

/* Called after the graph has loaded a module, on its thread; NULL: nobody wants to know. Not for
 * translators. */
extern void (*xlator_module_loaded) (void);

#endif
