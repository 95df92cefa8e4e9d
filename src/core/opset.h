/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A set of operations, as options name one: "readv, WRITE, lookup". */
#ifndef WINDLASS_CORE_OPSET_H
#define WINDLASS_CORE_OPSET_H

#include "core/fops.h"

/* A bit for each. */
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

/* Reads names separated by commas or blanks, in any case, in our spelling or GlusterFS's; NULL, "" and "all" are all operations. What
 * GlusterFS has and we don't is taken, and adds nothing. 0; or -EINVAL, and in *ret_problem (g_free it) which word is none, and
 * a suggestion: "'lokup' is no operation; did you mean 'lookup'?". */
int opset_parse (const char *text, opset_t *ret_set, char **ret_problem);

/* For struct xlator_option's check. */
int opset_check (const char *text, char **ret_allowed);

/* The name among all of them that is nearest to word, or NULL. */
const char *opset_near (const char *word);

/* Appends the names, separated by commas; "*" for all. */
void opset_print (opset_t set, GString *out);

#endif
