/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the table of operations (fops.def) makes: numbers, types of fops and of callbacks, and the
 * structs that hold one function, one route, or one set of arguments for each operation.
 *
 * fops.def is expanded by including it with FOP, ARG, REPLY, RET and END defined. An included row
 * passes by once, so code that needs arguments twice, to take them and to hand them on, uses
 * core/table/fops-rows.h, which fops-rows.awk makes: one macro with the arguments of each
 * operation, one with its answers, one with all names.
 *
 * - rename has flags as an argument, not in xdata: RENAME_EXCHANGE changes what the operation is.
 * - tmpfile, flock, ioctl and poll are operations, since FUSE has requests for them.
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

/* What an operation changes: the EFFECT rows of fops.def. */
enum {
    CHANGES_DATA = 1 << 0,       /* the bytes of a file */
    CHANGES_ATTRIBUTES = 1 << 1, /* what stat tells: size, times, mode, owner, links */
    CHANGES_XATTRS = 1 << 2,     /* extended attributes, ACLs */
    CHANGES_NAMES = 1 << 3,      /* a name in a directory, and the directory's own attributes */
    CHANGES_LOCKS = 1 << 4,      /* record locks, flock */
    CHANGES_IF_TRUNC = 1 << 5,   /* data and attributes, if the call's flags have O_TRUNC */
};

/* lookup_fop: what a translator implements, as `static lookup_fop rot13_lookup;`. */
#define FOP(name) typedef void name##_fop (call_frame_t *frame, xlator_t *this
#define ARG(kind, name) , C_##kind name
#define REPLY(name) );
#include "fops.def"

/* lookup_cbk: what takes the answer, as `static lookup_cbk rot13_lookup_cbk;`. */
#define REPLY(name)                                                                                \
    typedef void name##_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,    \
                             int32_t op_errno
#define RET(kind, name) , C_##kind name
#define END(name) );
#include "fops.def"

/* The operations of a translator; NULL: passed on. */
struct xlator_fops {
#define FOP(name) name##_fop *name;
#include "fops.def"
};

/* Where a wind to a translator lands: the first from there down that implements the operation. Made
 * at activation; read without a lock. */
struct xlator_routes {
#define FOP(name)                                                                                  \
    struct {                                                                                       \
        xlator_t *to;                                                                              \
        name##_fop *call;                                                                          \
    } name;
#include "fops.def"
};

/* "lookup"; "none" for 0 and what isn't an operation. */
const char *fop_name (enum fop op);

/* The number of a name, in any case, also under GlusterFS's own spelling (READ, WRITE, READDIRP);
 * FOP_NONE if there is none. */
enum fop fop_of_name (const char *name);

#endif
