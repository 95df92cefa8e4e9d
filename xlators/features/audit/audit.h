/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shared by the files of features/audit.
 *
 * Reasons:
 *
 * - A record is written before its answer goes on. So when a program knows that an operation was
 *   done, a kill of the daemon no longer loses its record.
 * - The path and the name of the program are taken before the operation: it may change the one, and
 *   the program may end before the answer.
 * - One counter of the log numbers the winds and the unwinds. If the unwind of one operation has a
 *   lower number than the wind of another, it was done before that one began.
 * - The log goes on in the next graph (xlator_api.take_over), so its numbers do.
 * - Requests that a translator makes for itself (root->internal) are nobody's, and are not
 *   recorded.
 */
#ifndef AUDIT_H
#define AUDIT_H

#include "log.h"

enum audit_when_full { WHEN_FULL_DROP, WHEN_FULL_BLOCK, WHEN_FULL_FAIL };

typedef struct {
    char *rules_file, *directory, *name;
    int target; /* enum audit_target */
    /* Online options; atomic, but when_full is also in the private struct that reconfigure gets. */
    uint64_t max_size;
    int keep, when_full;

    struct rules_slot slot;  /* of struct rule_set */
    struct audit_log *log;   /* with a reference; both graphs of a move use it. Or NULL */
    bool records;            /* since take-over; atomic */
    struct held_calls *held; /* calls that wait while the log is full, each with its local */
    bool holding, ending;    /* no call is held back, since a hold waits for it, or the graph ends;
                              * atomic */
} audit_private_t;

/* An operation that is recorded. */
struct audit_local {
    char *path, *new_path; /* of the request, from the root of the mount; NULL: none */
    char program[PROCESS_NAME_SIZE]; /* "": not known */
    int rule;              /* line of the rule */
    uint64_t wind;         /* number in the log; 0: not wound yet */
    uint64_t offset, size; /* of the request's data */
    inode_t *inode;        /* with a reference, if the answer teaches the rules; or NULL */
    bool teaches;
};

/* rules.c */
extern const struct rule_grammar audit_grammar;
extern const char audit_default_rules[];

/* Returns whether requests that the rule is for are recorded. */
bool audit_rule_records (const struct rule *rule);

/* place.c: xlator_api.take_over_prepare; opens the log. */
int audit_take_over_prepare (xlator_t *this, xlator_t *predecessor);

/* record.c: appends the members of the JSON object, but for the number of the unwind. */
void audit_record (GString *out, const struct audit_local *local, const struct answer *answer);

/* Appends `"key":"text"`, and the bytes in hexadecimal as key_hex if they are not UTF-8. */
void audit_append_text (GString *out, const char *key, const char *text);

/* Appends `"time":"2026-11-28T07:00:00.000000Z"`. */
void audit_append_time (GString *out, struct timespec time);

#endif
