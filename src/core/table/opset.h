/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A set of operations, and its text in options: "readv, WRITE, lookup". */
#ifndef WINDLASS_CORE_TABLE_OPSET_H
#define WINDLASS_CORE_TABLE_OPSET_H

#include "core/table/fops.h"

/* One bit for each operation. */
typedef uint64_t opset_t;

_Static_assert (FOP_MAX <= 64, "an operation is a bit of opset_t");

/* Every operation. */
#define OPSET_ALL ((((opset_t) 1 << (FOP_MAX - 1)) - 1) << 1)
#define OPSET_OF(op_) ((opset_t) 1 << (op_))

static inline bool
opset_has (opset_t set, enum fop op)
{
    return set & OPSET_OF (op);
}

/* EFFECTS_writev: the effects of the operation, from all its EFFECT rows in fops.def. */
#define FOP(name) , EFFECTS_##name = 0
#define EFFECT(what, argument) | (what)
enum { EFFECTS_none = 0
#include "fops.def"
};

/* OPS_CHANGE_DATA: the operations that have this effect. */
#define OPSET_IF(name, effect_) | (EFFECTS_##name & (effect_) ? OPSET_OF (FOP_##name) : 0)
enum {
#define FOP(name) OPSET_IF (name, CHANGES_DATA)
    OPS_CHANGE_DATA = 0
#include "fops.def"
    ,
#define FOP(name) OPSET_IF (name, CHANGES_ATTRIBUTES)
    OPS_CHANGE_ATTRIBUTES = 0
#include "fops.def"
    ,
#define FOP(name) OPSET_IF (name, CHANGES_XATTRS)
    OPS_CHANGE_XATTRS = 0
#include "fops.def"
    ,
#define FOP(name) OPSET_IF (name, CHANGES_NAMES)
    OPS_CHANGE_NAMES = 0
#include "fops.def"
    ,
#define FOP(name) OPSET_IF (name, CHANGES_LOCKS)
    OPS_CHANGE_LOCKS = 0
#include "fops.def"
    ,
#define FOP(name) OPSET_IF (name, CHANGES_IF_TRUNC)
    OPS_CHANGE_IF_TRUNC = 0
#include "fops.def"
    ,
/* The operations that change stored state. open does with O_TRUNC, ioctl with some commands:
 * fop_changes. */
#define FOP(name) OPSET_IF (name, ~CHANGES_LOCKS)
    OPS_CHANGE = 0
#include "fops.def"
};

/* Returns the effects that an operation has with these flags, which are the command of an ioctl:
 * CHANGES_IF_TRUNC and ONLY_IF_SETS in what are replaced by what they stand for. */
unsigned fop_effects (unsigned what, uint32_t flags);

/* Returns whether an operation with these flags changes stored state. */
bool fop_changes (enum fop op, uint32_t flags);

/* Parses names separated by commas or blanks, in any case, in the spelling of fops.def or of
 * GlusterFS; NULL, "" and "all" mean all operations. Names of operations that only GlusterFS has
 * are accepted and ignored. Returns 0, or -EINVAL with the unknown word and a suggestion in
 * *ret_problem (g_free it): "'lokup' is no operation; did you mean 'lookup'?". */
int opset_parse (const char *text, opset_t *ret_set, char **ret_problem);

/* For struct xlator_option's check. */
int opset_check (const char *text, char **ret_allowed);

/* Returns the operation that was meant by a wrong name, or NULL: that of a system call or command
 * (chmod: setattr), or else the one of the nearest name. */
const char *opset_near (const char *word);

/* Appends the names, separated by commas; "*" for all. */
void opset_print (opset_t set, GString *out);

#endif
