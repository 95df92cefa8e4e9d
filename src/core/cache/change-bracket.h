/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A bracket around every operation that changes state. fops.def lists the changes of each
 * operation. The bracket calls begin before the wind, and end at the answer, once for each inode
 * and name that changes:
 *
 *   static const struct change_bracket bracket = { CHANGES_DATA | CHANGES_LOCKS, begin, end };
 *
 *   void rda_any_fop (const struct call *call) { change_bracket_call (&bracket, call); }
 *   void
 *   rda_any_fop_cbk (const struct answer *answer)
 *   {
 *       change_bracket_answer (&bracket, answer);
 *   }
 *
 *   .any_fop_ops = OPS_CHANGE_DATA | OPS_CHANGE_LOCKS | OPS_CHANGE_IF_TRUNC
 */
#ifndef WINDLASS_CORE_CACHE_CHANGE_BRACKET_H
#define WINDLASS_CORE_CACHE_CHANGE_BRACKET_H

#include "core/edge/any-fop.h"

#define CHANGE_OWN_WORDS 10

/* A change of one inode or name by an operation. */
struct change {
    unsigned number; /* index in the order of fops.def, from 0; the operation's changes are an
                      * array */
    unsigned what;   /* those of the effects of this call that the bracket asked for: CHANGES_* but
                      * CHANGES_IF_TRUNC */
    /* The inode that changes, with a reference. NULL: it isn't known which inode the name stands
     * for, if any. At the end of a successful create or tmpfile: the file. */
    inode_t *inode;
    inode_t *parent; /* with CHANGES_NAMES: the directory, with a reference */
    char *name;      /* with CHANGES_NAMES: the name in parent */
    uint64_t own[CHANGE_OWN_WORDS]; /* for the translator, initially zeros */
};

/* begin is called in the order of fops.def, end in the reverse order. The bracket holds no lock
 * during the calls. Each may run on any thread. */
struct change_bracket {
    unsigned what; /* the CHANGES_* of interest, without CHANGES_IF_TRUNC */
    void (*begin) (const struct call *call, struct change *change);
    void (*end) (const struct answer *answer, struct change *change);
};

/* Calls begin and winds to the first child. Passes the call on if it makes no change of
 * interest. */
void change_bracket_call (const struct change_bracket *bracket, const struct call *call);

/* Calls end and passes the answer on. */
void change_bracket_answer (const struct change_bracket *bracket, const struct answer *answer);

#endif
