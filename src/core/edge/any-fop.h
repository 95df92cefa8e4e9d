/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One function for all operations: for a translator that treats operations alike, to let some fail,
 * hold them back, count or check them. The function sees what the operations have in common:
 *
 *   static void
 *   errorgen_any_fop (const struct call *call)
 *   {
 *       if (errorgen_hits (call->this->private, call->op))
 *           call_fail (call, EIO);
 *       else
 *           call_pass (call);
 *   }
 *
 *   const struct xlator_api xlator_api = { ..., .any_fop = errorgen_any_fop };
 *
 * An operation that the translator implements in .fops goes there instead. With .any_fop_ops the
 * function gets these operations alone; all others are passed on at no cost. The last step with a
 * call is one of call_pass, call_wind, call_fail and call_keep. The last step with an answer is one
 * of answer_pass, answer_fail and answer_keep.
 */
#ifndef WINDLASS_CORE_EDGE_ANY_FOP_H
#define WINDLASS_CORE_EDGE_ANY_FOP_H

#include "core/table/fops.h"
#include "core/table/opset.h"

struct gf_flock;
struct call_site;

/* A call on its way down. The struct and everything it points at are lent. Fields that the
 * operation doesn't have are NULL or 0. */
struct call {
    enum fop op;
    call_frame_t *frame;
    xlator_t *this;
    loc_t *loc, *newloc;   /* newloc: the destination of a rename or a link */
    fd_t *fd, *fd_out;     /* fd_out: the destination of copy_file_range */
    off_t offset;          /* where the operation reads, writes, truncates, allocates or seeks; for
                            * readdir the offset of an entry */
    size_t size;           /* length in bytes, also of a writev's data */
    struct iovec *vector;  /* writev's data */
    int32_t count;
    struct iobref *iobref;
    const char *name;      /* name of an extended attribute, or target of a symbolic link */
    uint32_t flags;        /* of an ioctl: its command */
    dict_t *xdata;
    const void *args;      /* struct writev_call and the like: all arguments */
};

/* An answer on its way up, lent in the same way. */
struct answer {
    enum fop op;
    call_frame_t *frame; /* the translator's own frame, as in any callback */
    void *cookie;        /* from call_wind */
    xlator_t *this;
    int32_t op_ret, op_errno;
    inode_t *inode;
    fd_t *fd;
    struct iatt *buf;        /* attributes of the operation's subject; with readv, of the file */
    struct iatt *pre, *post; /* a changed file's attributes before and after */
    struct iatt *preparent, *postparent; /* the directory's attributes; with rename, the old
                                          * directory's */
    struct iovec *vector; /* readv's data */
    int32_t count;
    struct iobref *iobref;
    gf_dirent_t *entries;
    dict_t *xdata;
    const void *rets; /* struct writev_answer and the like: all results that fops.def lists */
};

/* The types that args and rets point at. */
#define FOP(name) struct name##_call {
#define ARG(kind, name) C_##kind name;
#define REPLY(name) }; struct name##_answer {
#define RET(kind, name) C_##kind name;
#define END(name) };
#include "fops.def"

typedef void any_fop_t (const struct call *call);
typedef void any_fop_cbk_t (const struct answer *answer);

/* Returns whether the call changes stored state: not an open without O_TRUNC, nor an ioctl with a
 * command that sets nothing. */
bool call_changes (const struct call *call);

/* A translator whose any_fop has nothing to do with most calls, and finds that out by the inode, by
 * the caller's user and group and by the size, marks inodes: calls on them are then passed on
 * before any_fop sees them, and before the structs above are filled in. Its contexts of inodes
 * begin with a mark, and it sets any_fop_marks of xlator_api. A mark holds while names_are_of is
 * true of its time (core/data/inode.h). Calls with two locs or two fds always go to any_fop. */
struct any_fop_mark {
    uint64_t time;  /* of the clock of names; 0: no mark. Atomic, and so are the rest: the time is 0
                     * while they change */
    opset_t ops;    /* operations on the inode that any_fop has to see */
    opset_t names;  /* operations on a name in the directory that any_fop has to see */
    /* Of these operations any_fop has to see those of these users and groups, with a size (as in
     * struct call) in this range. */
    uid_t uid_first, uid_last;
    gid_t gid_first, gid_last;
    uint64_t size_first, size_last;
    bool busy;      /* a thread changes the mark */
};

/* Sets a mark that was found out after the clock showed value->time. Leaves a newer mark alone. */
void any_fop_mark_set (struct any_fop_mark *mark, const struct any_fop_mark *value);

/* Winds to the first child, whose answer goes directly to this translator's parent. */
void call_pass (const struct call *call);

/* Winds to child_. The answer goes to api->any_fop_cbk, with cookie_. */
#define call_wind(call_, child_, cookie_) call_wind_at (call_, child_, cookie_, CALL_SITE)
void
call_wind_at (const struct call *call, xlator_t *child, void *cookie, const struct call_site *site);

/* A call with other arguments, for call_wind. call_change copies a call; then the caller changes
 * `args`, as in changed.args.writev.count = 1, or xdata. Values are lent, as those of any call. */
struct changed_call {
    struct call call;
    union {
#define FOP(name) struct name##_call name;
#include "fops.def"
    } args;
};
void call_change (const struct call *call, struct changed_call *ret_changed);
void call_change_xdata (struct changed_call *changed, dict_t *xdata);

/* Answers with -1 and op_errno_, which is positive. */
#define call_fail(call_, op_errno_) call_fail_at (call_, op_errno_, CALL_SITE)
void call_fail_at (const struct call *call, int op_errno, const struct call_site *site);

/* Sets the call aside, with references to everything that it needs. call_resume, on any thread,
 * calls api->any_fop again, so any_fop must find there, in frame->local for instance, that the call
 * was held already. NULL if there is no memory: the call must then still be answered. See
 * core/edge/stub.h. */
struct call_stub *call_keep (const struct call *call);

/* The same, but call_resume winds to the first child, as call_pass does. */
struct call_stub *call_keep_to_pass (const struct call *call);

/* Answers the parent with op_ret and op_errno of answer, which the translator may have changed, and
 * with the results in rets. */
#define answer_pass(answer_) answer_pass_at (answer_, CALL_SITE)
void answer_pass_at (const struct answer *answer, const struct call_site *site);

/* Answers the parent with -1 and op_errno_, without other results. */
#define answer_fail(answer_, op_errno_) answer_fail_at (answer_, op_errno_, CALL_SITE)
void answer_fail_at (const struct answer *answer, int op_errno, const struct call_site *site);

/* Sets an answer aside, with references to its results. answer_resume passes it to the parent and
 * frees the stub. NULL if there is no memory. */
struct answer_stub;
struct answer_stub *answer_keep (const struct answer *answer);
#define answer_resume(stub_) answer_resume_at (stub_, CALL_SITE)
void answer_resume_at (struct answer_stub *stub, const struct call_site *site);

/* Frees the stub without passing the answer on. The frame must still be answered. */
void answer_stub_destroy (struct answer_stub *stub);

/* call_path returns the path that a call is about, from the root of the mount: the path of loc, or
 * a path of fd from inode_path; NULL if the call has neither. call_new_path returns the destination
 * of a rename or link, or NULL. g_free them. */
char *call_path (const struct call *call);
char *call_new_path (const struct call *call);

/* Returns whether one of the two paths matches pattern. Matching is that of fnmatch(3) without
 * flags: "*" also matches "/". */
bool call_is_at (const struct call *call, const char *pattern);

/* Appends the arguments as in a trace: "loc=/a/b, flags=0x8001, ...". answer_print appends the
 * results without op_ret and op_errno. */
void call_print (const struct call *call, GString *out);
void answer_print (const struct answer *answer, GString *out);

/* Calls see with each argument, or with each result except op_ret and op_errno, in the order of
 * fops.def. For code that prints in its own format. value points at the value: at a loc_t * for
 * KIND_LOC. value_print appends one value as call_print would. */
typedef void value_seen (enum kind kind, const char *name, const void *value, void *data);
void call_each (const struct call *call, value_seen *see, void *data);
void answer_each (const struct answer *answer, value_seen *see, void *data);
void value_print (enum kind kind, const char *name, const void *value, GString *out);

/* The entries in routes of operations that api->any_fop implements: of a translator with
 * any_fop_marks the latter. */
#define FOP(name) name##_fop any_fop_##name, marked_##name;
#include "fops.def"

#endif
