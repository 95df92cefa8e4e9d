/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rules: which requests something happens to, and what. A text of them becomes a struct rules,
 * which never changes; nothing here knows of a graph.
 *
 *   fsync path "*.db-journal" nth 3 -> error EIO
 *
 * parse.c reads them, rules.c prints and frees them. debug-fault(7) has the grammar.
 */
#ifndef FAULT_RULES_H
#define FAULT_RULES_H

#include "xlator.h"

#define RULES_MAX 1000             /* in one text */
#define RULES_SIZE_MAX (1 << 20)   /* bytes of a text */
#define RULES_ERRORS_MAX 20        /* that are named before reading ends */
#define RULE_STEPS_MAX 4           /* after the arrow */
#define RULE_TEXT_MAX 4096         /* bytes of a pattern or a name */
#define RULE_DELAY_MAX (3600 * G_GINT64_CONSTANT (1000000000))
#define RULE_FLIPS_MAX 1024
#define SECTOR 512

/* From first to last, both among them. */
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

struct step {
    enum step_kind kind;
    uint64_t number; /* ns; bytes; bits; bytes, UINT64_MAX: drawn; the error's number */
    char *name;      /* of a hang, or NULL */
};

/* What happens to which requests. What isn't given fits all. */
struct rule {
    int line;
    opset_t ops;
    char *path, *process; /* patterns of fnmatch, or NULL */
    char *volume;         /* the translator's own name */
    struct range uid, gid, pid, offset, size;
    /* Of the requests that fit, which one it happens to: */
    uint64_t after, nth, every, times; /* 0: not given */
    double probability;                /* percent; negative: not given */
    bool has_seed;
    uint64_t seed;
    struct step steps[RULE_STEPS_MAX + 1]; /* STEP_NONE at the end */
};

struct rules {
    unsigned n;
    struct rule *rules;
};

/* Reads a text. NULL, and in *ret_error (g_free it) a line for each thing that is wrong,
 * "file:line:column: what, and what is allowed"; the text may be anything. */
struct rules *rules_parse (const char *text, size_t size, const char *file, char **ret_error);
void rules_free (struct rules *rules); /* takes NULL */

/* Appends the rule as a line that would be read as the same rule, without the newline. */
void rule_print (const struct rule *rule, GString *out);

/* Names for parsing and printing: what an operation may be called besides its name, and what
 * follows the arrow. */
struct rule_group {
    const char *name;
    opset_t ops;
};
extern const struct rule_group rule_groups[]; /* the last has no name */
extern const char *const step_names[];        /* by enum step_kind */

#endif
