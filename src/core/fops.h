/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the table of operations (fops.def) makes: numbers, types of fops and of callbacks, and the
 * structs that hold one function, one route, or one set of arguments for each operation. */
#ifndef WINDLASS_CORE_FOPS_H
#define WINDLASS_CORE_FOPS_H

#include "core/kinds.h"

typedef struct call_frame call_frame_t;
typedef struct call_stack call_stack_t;
typedef struct xlator xlator_t;

/* FOP_lookup, FOP_stat, ...; 0 is none. */
enum fop {
    FOP_NONE,
#define FOP(name) FOP_##name,
#define ARG(kind, name)
#define REPLY(name)
#define RET(kind, name)
#define END(name)
#include "fops.def"
#include "core/undef.h"
    FOP_MAX
};

/* lookup_fop: what a translator implements, as `static lookup_fop rot13_lookup;`. */
#define FOP(name) typedef void name##_fop (call_frame_t *frame, xlator_t *this
#define ARG(kind, name) , C_##kind name
#define REPLY(name) );
#define RET(kind, name)
#define END(name)
#include "fops.def"
#include "core/undef.h"

/* lookup_cbk: what takes the answer, as `static lookup_cbk rot13_lookup_cbk;`. */
#define FOP(name)
#define ARG(kind, name)
#define REPLY(name)                                                                                \
    typedef void name##_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno
#define RET(kind, name) , C_##kind name
#define END(name) );
#include "fops.def"
#include "core/undef.h"

/* The operations of a translator; NULL: passed on. */
struct xlator_fops {
#define FOP(name) name##_fop *name;
#define ARG(kind, name)
#define REPLY(name)
#define RET(kind, name)
#define END(name)
#include "fops.def"
#include "core/undef.h"
};

/* Where a wind to a translator lands: the first from there down that implements the operation. Made at
 * activation; read without a lock. */
struct xlator_routes {
#define FOP(name)                                                                                  \
    struct {                                                                                       \
        xlator_t *to;                                                                              \
        name##_fop *call;                                                                          \
    } name;
#define ARG(kind, name)
#define REPLY(name)
#define RET(kind, name)
#define END(name)
#include "fops.def"
#include "core/undef.h"
};

/* "lookup"; "none" for 0 and what isn't an operation. */
const char *fop_name (enum fop op);

/* The number of a name, in any case, also under GlusterFS's own spelling (READ, WRITE, READDIRP); FOP_NONE if there is none. */
enum fop fop_of_name (const char *name);

#endif
