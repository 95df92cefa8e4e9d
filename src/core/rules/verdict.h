/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which rules the paths of an inode fit: for match.c.
 *
 * Inodes that fit the same rules share one verdict of the set of rules. The context of an inode has
 * the number of its verdict, and the time of the clock of names at which it was found. So it is one
 * word, read and replaced without a lock.
 */
#ifndef WINDLASS_CORE_RULES_VERDICT_H
#define WINDLASS_CORE_RULES_VERDICT_H

#include "core/edge/translator.h"
#include "core/rules/rules.h"

#define VERDICTS_MAX 1024 /* different ones of a set; a path that needs one more is judged anew at
                           * each call */

struct rule_verdict {
    opset_t ops;   /* operations for which one of the inode's paths fits a rule */
    opset_t names; /* operations for which the path of a name in the directory may fit a rule */
    uint64_t *may; /* a bit for each rule that a name in the directory may fit */
    uint64_t fits[]; /* a bit for each rule that one of the inode's paths fits; then may's bits */
};

/* The context of an inode. */
struct rules_inode {
    struct any_fop_mark mark; /* comes first */
    uint64_t verdict;  /* time of the clock of names, and the number in the lowest bits; 0: none.
                        * Atomic */
    uint64_t file;     /* FILE_KNOWN, mode and owner; or FILE_FAILED; 0: not known. Atomic */
    void *own;         /* the translator's: rules_own, or NULL. Atomic */
    void (*drop) (void *own);
};

#define FILE_KNOWN (UINT64_C (1) << 63)
#define FILE_FAILED (UINT64_C (1) << 62) /* the first child has not answered the question */
#define FILE_MODE_SHIFT 32

struct rules_inode *rules_inode (xlator_t *this, inode_t *inode);

/* Returns the verdict for an inode. It may be one for this call alone, which *ret_made has then, to
 * be freed with g_free. Called in a read section, in which set was in force at first. */
const struct rule_verdict *verdict_of (struct rules_slot *slot, struct rule_set *set,
                                       xlator_t *this, inode_t *inode,
                                       struct rule_verdict **ret_made);

static inline bool
verdict_has (const uint64_t *bits, unsigned rule)
{
    return bits[rule / 64] >> rule % 64 & 1;
}

/* Returns whether a name, in a directory for which the verdict may let it fit, can end as the
 * rule's pattern does. */
bool rule_name_may_fit (const struct rule *rule, const char *name);

/* Returns whether the rule can be for a file of that type, which may be IA_INVAL: not known. */
bool rule_type_fits (const struct rule *rule, ia_type_t type);

struct rule_verdicts *verdicts_new (const struct rules *rules, const xlator_t *this);
void verdicts_free (struct rule_verdicts *verdicts);

/* To be called after the set is in force, and names_void. */
void verdicts_begin (struct rule_verdicts *verdicts);

#endif
