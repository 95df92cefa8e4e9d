/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations that a translator treats all alike: to let some fail, to hold them back, to count or
 * check them. It implements one function in place of one for each operation, and gets to see what
 * they have in common:
 *
 *   static void
 *   errorgen_every (const struct call *call)
 *   {
 *       if (errorgen_hits (call->this->private, call->op))
 *           call_fail (call, EIO);
 *       else
 *           call_pass (call);
 *   }
 *
 *   const struct xlator_api xlator_api = { ..., .every = errorgen_every };
 *
 * What it implements in .fops as well goes there instead; with .every_ops it gets these alone, and
 * passes the others on for nothing. One of call_pass, call_wind, call_fail and call_keep is the
 * last thing that is done with a call, and one of answer_pass, answer_fail and answer_keep with an
 * answer.
 */
#ifndef WINDLASS_CORE_EDGE_ANY_FOP_H
#define WINDLASS_CORE_EDGE_ANY_FOP_H

#include "core/table/fops.h"

struct gf_flock;
struct call_site;

/* A call on its way down; it and what it points at are lent. What an operation doesn't have is NULL
 * or 0. */
struct call {
    enum fop op;
    call_frame_t *frame;
    xlator_t *this;
    loc_t *loc, *newloc;   /* newloc: where a rename or a link goes */
    fd_t *fd, *fd_out;     /* fd_out: where copy_file_range writes */
    off_t offset;          /* of what is read, written, cut off, allocated, sought; of a directory's
                              entry */
    size_t size;           /* how much, in bytes; of what is written too */
    struct iovec *vector;  /* writev's data */
    int32_t count;
    struct iobref *iobref;
    const char *name;      /* of an extended attribute; what a symbolic link says */
    uint32_t flags;
    dict_t *xdata;
    const void *args;      /* struct writev_call and the like: all its arguments */
};

/* An answer on its way up. Lent as well. */
struct answer {
    enum fop op;
    call_frame_t *frame; /* the translator's own, as in any callback */
    void *cookie;        /* of call_wind */
    xlator_t *this;
    int32_t op_ret, op_errno;
    inode_t *inode;
    fd_t *fd;
    struct iatt *buf;        /* attributes of what it is about; of readv's file too */
    struct iatt *pre, *post; /* of a file that changed, before and after */
    struct iatt *preparent, *postparent; /* of the directory; of a rename's old one */
    struct iovec *vector; /* readv's data */
    int32_t count;
    struct iobref *iobref;
    gf_dirent_t *entries;
    dict_t *xdata;
    const void *rets; /* struct writev_answer and the like: all that fops.def lists */
};

/* What args and rets point at. */
#define FOP(name) struct name##_call {
#define ARG(kind, name) C_##kind name;
#define REPLY(name) }; struct name##_answer {
#define RET(kind, name) C_##kind name;
#define END(name) };
#include "fops.def"

typedef void every_fop (const struct call *call);
typedef void every_cbk (const struct answer *answer);

/* On to the first child, whose answer goes straight to our parent. */
void call_pass (const struct call *call);

/* On to that child; the answer comes to api->every_cbk, with the cookie. */
#define call_wind(call_, child_, cookie_) call_wind_at (call_, child_, cookie_, CALL_SITE)
void
call_wind_at (const struct call *call, xlator_t *child, void *cookie, const struct call_site *site);

/* Answers with -1 and the errno, which is positive. */
#define call_fail(call_, op_errno_) call_fail_at (call_, op_errno_, CALL_SITE)
void call_fail_at (const struct call *call, int op_errno, const struct call_site *site);

/* Sets the call aside, with references of its own to all that it needs. call_resume takes it to
 * api->every again, so what was decided has to be seen there, in frame->local for instance; any
 * thread may do so. NULL when memory is out; then it is still to be answered. See
 * core/edge/stub.h. */
struct call_stub *call_keep (const struct call *call);

/* The same, but call_resume hands it on to the first child, as call_pass does. */
struct call_stub *call_keep_to_pass (const struct call *call);

/* Up to our parent: op_ret and op_errno as they are in answer, which may have changed them, and
 * what rets has. */
#define answer_pass(answer_) answer_pass_at (answer_, CALL_SITE)
void answer_pass_at (const struct answer *answer, const struct call_site *site);

/* Up with -1 and another errno, without anything else. */
#define answer_fail(answer_, op_errno_) answer_fail_at (answer_, op_errno_, CALL_SITE)
void answer_fail_at (const struct answer *answer, int op_errno, const struct call_site *site);

/* Sets an answer aside, with references of its own. answer_resume hands it to our parent and frees
 * it. NULL when memory is out. */
struct answer_stub;
struct answer_stub *answer_keep (const struct answer *answer);
#define answer_resume(stub_) answer_resume_at (stub_, CALL_SITE)
void answer_resume_at (struct answer_stub *stub, const struct call_site *site);

/* Frees it without handing it on; the frame is still to be answered. */
void answer_stub_destroy (struct answer_stub *stub);

/* The path that a call is about, from the root of the mount: of loc, or one of fd's, as inode_path
 * has it; NULL where it has neither. And where a rename or link goes, or NULL. g_free them. */
char *call_path (const struct call *call);
char *call_new_path (const struct call *call);

/* Does one of the two match the pattern, as fnmatch(3) has it without flags: may "*" stand for any
 * part of the path? */
bool call_is_at (const struct call *call, const char *pattern);

/* Appends "loc=/a/b, flags=0x8001, ..." as a trace has it; of an answer the results without op_ret
 * and op_errno. */
void call_print (const struct call *call, GString *out);
void answer_print (const struct answer *answer, GString *out);

/* For who prints otherwise: see is called with each argument, or each result without op_ret and
 * op_errno, in the order of fops.def. value points at it: at a loc_t * for KIND_LOC. value_print
 * appends one as call_print would. */
typedef void value_seen (enum kind kind, const char *name, const void *value, void *data);
void call_each (const struct call *call, value_seen *see, void *data);
void answer_each (const struct answer *answer, value_seen *see, void *data);
void value_print (enum kind kind, const char *name, const void *value, GString *out);

/* What routes have in the place of a fop where api->every stands in for it. */
#define FOP(name) name##_fop every_##name;
#include "fops.def"

#endif
