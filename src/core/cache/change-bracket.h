/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A bracket around every operation that changes something. fops.def says what each operation
 * changes; the bracket calls begin before the wind and end when the answer is there, once for each
 * inode and name that changes:
 *
 *   static const struct change_bracket bracket = { CHANGES_DATA | CHANGES_LOCKS, begin, end };
 *
 *   void rda_every (const struct call *call) { change_bracket_call (&bracket, call); }
 *   void rda_every_cbk (const struct answer *answer) { change_bracket_answer (&bracket, answer); }
 *
 *   .every_ops = OPS_CHANGE_DATA | OPS_CHANGE_LOCKS | OPS_CHANGE_IF_TRUNC
 */
#ifndef WINDLASS_CORE_CACHE_CHANGE_BRACKET_H
#define WINDLASS_CORE_CACHE_CHANGE_BRACKET_H

#include "core/edge/any-fop.h"

#define CHANGE_OWN_WORDS 9

/* One thing that an operation changes. */
struct change {
    unsigned number; /* in the order of fops.def, 0 first; the others lie beside it in memory */
    unsigned what;   /* CHANGES_* that matter to the bracket; CHANGES_IF_TRUNC is one of the
                        others */
    /* What changes, with a reference. NULL: the caller doesn't know what the name stands for, or
     * whether it stands for anything; at the end of a create or a tmpfile that was done, the
     * file. */
    inode_t *inode;
    inode_t *parent; /* with CHANGES_NAMES: the directory, with a reference, */
    char *name;      /* and the name in it */
    uint64_t own[CHANGE_OWN_WORDS]; /* the translator's, zeros at first */
};

/* begin is called in the order of fops.def, end in the opposite one. Neither holds a lock of the
 * bracket, and each may run on any thread. */
struct change_bracket {
    unsigned what; /* CHANGES_* that matter, without CHANGES_IF_TRUNC */
    void (*begin) (const struct call *call, struct change *change);
    void (*end) (const struct answer *answer, struct change *change);
};

/* Begins and winds to the first child; passes on what changes nothing that matters. */
void change_bracket_call (const struct change_bracket *bracket, const struct call *call);

/* Ends, and passes the answer on. */
void change_bracket_answer (const struct change_bracket *bracket, const struct answer *answer);

#endif
