/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations generated from the table of operations (fops.def): numbers, types of fops and of
 * callbacks, and the structs that hold one function, one route, or one set of arguments for each
 * operation.
 *
 * A file expands fops.def by including it with FOP, ARG, REPLY, RET and END defined. That way a row
 * is seen once. Code that needs arguments twice, to take them and to hand them on, uses
 * core/table/fops-rows.h. fops-rows.awk makes that file: one macro with the arguments of each
 * operation, one with its results, one with all names.
 *
 * - rename has flags as an argument, not in xdata: RENAME_EXCHANGE changes the operation's meaning.
 * - tmpfile, flock and ioctl are operations, since FUSE has requests for them.
 * - A change of size in a setattr goes down as truncate or ftruncate, so that a translator handles
 *   it in one place.
 */
#ifndef WINDLASS_CORE_TABLE_FOPS_H
#define WINDLASS_CORE_TABLE_FOPS_H

#include "core/table/value-kinds.h"

typedef struct call_frame call_frame_t;
typedef struct call_stack call_stack_t;
typedef struct xlator xlator_t;

/* FOP_lookup, FOP_stat, ...; 0 is none. */
enum fop {
    FOP_NONE,
#define FOP(name) FOP_##name,
#include "fops.def"
    FOP_MAX
};

/* Effects of operations: the EFFECT rows of fops.def. */
enum {
    CHANGES_DATA = 1 << 0,       /* the bytes of a file */
    CHANGES_ATTRIBUTES = 1 << 1, /* the fields of stat(2): size, times, mode, owner, links */
    CHANGES_XATTRS = 1 << 2,     /* extended attributes, ACLs */
    CHANGES_NAMES = 1 << 3,      /* a name in a directory, and the directory's own attributes */
    CHANGES_LOCKS = 1 << 4,      /* record locks, flock */
    CHANGES_IF_TRUNC = 1 << 5,   /* data and attributes, if the call's flags have O_TRUNC */
    ONLY_IF_SETS = 1 << 6,       /* the row's effects, only if the command of the ioctl sets
                                  * something */
};

/* lookup_fop: the type of a translator's function, as in `static lookup_fop rot13_lookup;`. */
#define FOP(name) typedef void name##_fop (call_frame_t *frame, xlator_t *this
#define ARG(kind, name) , C_##kind name
#define REPLY(name) );
#include "fops.def"

/* lookup_cbk: the type of a callback, as in `static lookup_cbk rot13_lookup_cbk;`. */
#define REPLY(name)                                                                                \
    typedef void name##_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,    \
                             int32_t op_errno
#define RET(kind, name) , C_##kind name
#define END(name) );
#include "fops.def"

/* A translator's functions; NULL: the operation is passed on. */
struct xlator_fops {
#define FOP(name) name##_fop *name;
#include "fops.def"
};

/* The target of a wind to a translator: the first translator from there down that implements the
 * operation. Made at activation; read without a lock. */
struct xlator_routes {
#define FOP(name)                                                                                  \
    struct {                                                                                       \
        xlator_t *to;                                                                              \
        name##_fop *call;                                                                          \
    } name;
#include "fops.def"
};

/* Returns "lookup" for FOP_lookup; "none" for 0 and invalid numbers. */
const char *fop_name (enum fop op);

/* Returns the number of a name, in any case, also in GlusterFS's spelling (READ, WRITE, READDIRP);
 * FOP_NONE for an unknown name. */
enum fop fop_of_name (const char *name);

#endif
