/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rules: which requests they match, and their steps. A text of rules becomes a struct rules, which
 * is constant; this file knows no graph.
 *
 *   fsync path "*.db-journal" nth 3 -> error EIO
 *
 * parse.c reads rules, rules.c prints and frees them. debug-fault(7) has the grammar.
 */
#ifndef FAULT_RULES_H
#define FAULT_RULES_H

#include "xlator.h"

#define RULES_MAX 1000             /* rules in one text */
#define RULES_SIZE_MAX (1 << 20)   /* bytes of a text */
#define RULES_ERRORS_MAX 20        /* errors that are reported before parsing ends */
#define RULE_STEPS_MAX 4           /* after the arrow */
#define RULE_TEXT_MAX 4096         /* bytes of a pattern or a name */
#define RULE_DELAY_MAX (3600 * G_GINT64_CONSTANT (1000000000))
#define RULE_FLIPS_MAX 1024
#define SECTOR 512

/* From first to last, inclusive. */
struct range {
    bool given;
    uint64_t first, last;
};

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

/* A rule. Criteria that are not given match all requests. */
struct rule {
    int line;
    opset_t ops;
    char *path, *process; /* patterns of fnmatch, or NULL */
    char *volume;         /* the own name of the translator */
    struct range uid, gid, pid, offset, size;
    /* Which of the matching requests the rule fires for: */
    uint64_t after, nth, every, times; /* 0: not given */
    double probability;                /* percent; negative: not given */
    bool has_seed;
    uint64_t seed;
    struct fault_step steps[RULE_STEPS_MAX + 1]; /* STEP_NONE at the end */
};

struct rules {
    unsigned n;
    struct rule *rules;
};

/* Parses a text, which may contain any bytes. On errors returns NULL, and in *ret_error (freed with
 * g_free) a line for each: "file:line:column: what, and what is allowed". */
struct rules *rules_parse (const char *text, size_t size, const char *file, char **ret_error);
void rules_free (struct rules *rules); /* takes NULL */

/* Appends the rule as a line that parses to the same rule, without the newline. */
void rule_print (const struct rule *rule, GString *out);

/* Names for parsing and printing: groups of operations, and the steps. */
struct rule_group {
    const char *name;
    opset_t ops;
};
extern const struct rule_group rule_groups[]; /* ends with an entry without a name */
extern const char *const step_names[];        /* by enum step_kind */

#endif
