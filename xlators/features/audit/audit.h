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
 * - The log belongs to the process (core/records/record-log.h), so it goes on in the next graph,
 *   and its numbers do. A graph records from take_over on.
 * - An operation that is refused, or interrupted while it waits, since the log is full, is
 *   recorded, too: somebody has attempted it.
 * - Requests that a translator makes for itself (root->internal) are nobody's, and are not
 *   recorded.
 */
#ifndef AUDIT_H
#define AUDIT_H

#include "xlator.h"

enum audit_when_full { WHEN_FULL_DROP, WHEN_FULL_BLOCK, WHEN_FULL_FAIL };

typedef struct {
    char *rules_file, *directory, *name;
    int target; /* enum record_target */
    /* Online options; atomic, but when_full is also in the private struct that reconfigure gets. */
    uint64_t max_size;
    int keep, when_full;

    struct rules_slot slot;  /* of struct rule_set */
    char *rules_sum;         /* SHA-256 of the text of the rules; the main thread's */
    struct record_log *log;  /* with a reference; or NULL */
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
    uint32_t flags;        /* of an open or a create, as open(2) has them */
    inode_t *inode;        /* with a reference, if the answer teaches the rules; or NULL */
    bool teaches;
};

/* rules.c */
extern const struct rule_grammar audit_grammar;
extern const char audit_default_rules[];

/* Returns whether requests that the rule is for are recorded. */
bool audit_rule_records (const struct rule *rule);

/* place.c: opens the log. Returns 0, or a negative errno after a message. */
int audit_open_log (xlator_t *this);

/* record.c: appends the members of the JSON object, but for the number of the unwind. passed: the
 * operation went on below; false: the answer is audit's own. */
void audit_record (GString *out, const struct audit_local *local, const struct answer *answer,
                   bool passed);

/* For users: appends what the operations that rules record do not show (not_seen), if anything. */
void audit_explain_unseen (opset_t ops, GString *out);

/* Writes a record of the log itself: that the volume begins, or that its options have changed.
 * event: the key that has the name of the volume. policy: the name of when-full. */
void audit_note (xlator_t *this, const char *event, const char *policy);

#endif
