/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of debug/fault share.
 *
 * Reasons:
 *
 * - debug/error-gen, delay-gen and fault treat all operations alike: one function `every`
 *   (any-fop.h).
 * - What happens by chance comes from chance_number (seed, n), with n the count of what might have
 *   been hit. A generator would depend on the order in which threads draw.
 * - A call that waits is held by core/work/delayed.c: a timer ends it and a worker continues it,
 *   since what is below may block and timers may not. XLATOR_ENDING, which comes before the mount
 *   goes, lets all of them go: the unmount itself may wait for one.
 * - Options that may change while requests come are one struct in a slot (core/base/replaceable.h).
 *   It never changes; reconfigure puts another one in its place.
 * - STACK_WIND_TAIL sets frame->local to NULL: the frame is the next translator's, which must be
 *   able to tell its own local by it.
 * - `windlass fault` puts a line "# file: NAME" before the text of a file of rules, so line 1 of
 *   the file comes after it.
 */
#ifndef FAULT_H
#define FAULT_H

#include "rules.h"

/* How often each rule was used. */
struct rule_count {
    uint64_t matched, fired; /* atomic */
};

/* Rules that are in force, and their counts; the rules never change, others come in their place. */
struct rule_set {
    struct shared shared;
    struct rules *rules;
    struct rule_count *counts; /* one a rule */
    uint64_t seed;             /* of rules without one of their own */
    bool gone;                 /* atomic: others are in force */
};

typedef struct {
    char *file, *seed_text;
    struct shared_slot set;    /* struct rule_set */
    struct held_calls *held;   /* with a struct fault_local each */
    pthread_mutex_t load_lock; /* one set of rules after the other; comes before held's lock and the
                                  slot's */
    char *loaded;              /* load_lock: the text that the option's file had, or NULL */
    uint64_t seed;             /* load_lock */
} fault_private_t;

/* A request that something happens to. */
struct fault_local {
    struct rule_set *set; /* with a reference */
    const struct rule *rule;
    const struct step *next; /* what happens next */
    uint64_t number;         /* which of the rule's matches it is: chance is drawn from it */
    uint64_t seed;           /* the rule's */
    const struct step *data; /* short, flip or torn, once wound; or NULL */
    size_t size;             /* what a torn write answers */
    int error;               /* what is answered in the end, or 0 */
};

/* match.c: the first rule that fits and fires, its number among the matches and its seed; NULL when
 * there is none. */
const struct rule *fault_choose (struct rule_set *set, const struct call *call,
                                 uint64_t *ret_number, uint64_t *ret_seed);

/* data.c: winds the call with what local->data does to its data; and does to the answer's. */
void fault_wind_data (const struct call *call, struct fault_local *local);
void fault_answer_data (const struct answer *answer, const struct fault_local *local);

/* load.c */

/* Does something hang by a rule of the set? For held_release. */
bool fault_hangs_by_set (const void *local, const void *set);

/* Reads the rules, "# file: NAME" before them or not, and puts them into force. -EINVAL and what is
 * wrong appended to answer, and the old ones stay. NULL text: none. */
int fault_load (xlator_t *this, const char *text, size_t size, const char *file, GString *answer);

/* The option's file, when it isn't what was read last. 0, or a negative errno and what is wrong. */
int fault_load_file (xlator_t *this, const char *file, GString *answer);

/* Appends each rule in force as a line, after a comment that says how often it was used. */
void fault_show (xlator_t *this, GString *out);

/* commands.c */
extern const struct xlator_command fault_commands[];

#endif
