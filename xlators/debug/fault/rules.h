/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What debug/fault adds to the language of rules: conditions that count requests, and the steps
 * behind the arrow. This knows no graph. debug-fault(7) has the grammar.
 *
 *   fsync path "*.db-journal" nth 3 -> error EIO
 */
#ifndef FAULT_RULES_H
#define FAULT_RULES_H

#include "xlator.h"

#define RULE_STEPS_MAX 4           /* after the arrow */
#define RULE_DELAY_MAX (3600 * G_GINT64_CONSTANT (1000000000))
#define RULE_FLIPS_MAX 1024
#define SECTOR 512

enum step_kind {
    STEP_NONE, /* the end of the steps */
    STEP_DELAY,
    STEP_HANG,
    STEP_SHORT,
    STEP_FLIP,
    STEP_TORN,
    STEP_ERROR,
};

struct fault_step {
    enum step_kind kind;
    uint64_t number; /* ns; bytes; bits; bytes, UINT64_MAX: drawn; the error's number */
    char *name;      /* of a hang, or NULL */
};

/* rule->action. */
struct fault_action {
    /* Which of the matching requests the rule fires for: */
    uint64_t after, nth, every, times; /* 0: not given */
    bool by_chance, has_seed;
    double probability; /* percent; given with by_chance */
    uint64_t seed;
    struct fault_step steps[RULE_STEPS_MAX + 1]; /* STEP_NONE at the end */
};

extern const struct rule_grammar fault_grammar;

static inline const struct fault_action *
fault_action_of (const struct rule *rule)
{
    return rule->action;
}

#endif
