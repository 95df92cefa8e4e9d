/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shared by the files of debug/fault.
 *
 * Reasons:
 *
 * - debug/error-gen, delay-gen and fault treat all operations alike: one function any_fop
 *   (any-fop.h).
 * - Random decisions come from chance_number (seed, n), with n the count of possible hits. A
 *   generator would depend on the order in which threads draw.
 * - A call that waits is held by core/work/delayed.c: a timer ends the wait and a worker continues
 *   the call, since translators below may block and timers may not. XLATOR_ENDING, which comes
 *   before the mount goes, releases all of them: the unmount itself may wait for one.
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

/* Rules in force, and their counts. The rules are constant; new rules replace the whole set. */
struct fault_set {
    struct rule_set rules;     /* comes first */
    struct rule_count *counts; /* one per rule */
    uint64_t seed;             /* of rules without one of their own */
    bool gone;                 /* atomic: the set was replaced */
};

/* State that goes on in the next graph (xlator_api.take_over), if the options of that name the same
 * seed, and a file of rules with the content that was read last. */
struct fault_force {
    struct shared shared;
    pthread_mutex_t load_lock; /* serialises replacing the rules; taken before held's lock */
    struct fault_set *set;     /* load_lock: the rules in force, with a reference; or NULL */
    char *loaded;              /* load_lock: the text read from the option's file, or NULL */
    uint64_t seed;             /* load_lock */
    GSList *users;             /* load_lock: the translator (xlator_t) of each graph */
};

typedef struct {
    char *file, *seed_text;
    struct rules_slot slot;    /* of struct fault_set: the rules in force */
    struct held_calls *held;   /* each with a struct fault_local */
    struct fault_force *force; /* with a reference; constant */
    bool judges;               /* from take_over on; atomic */
} fault_private_t;

/* A request to which a rule applies. */
struct fault_local {
    struct fault_set *set; /* with a reference */
    const struct rule *rule;
    const struct fault_step *next; /* the next step */
    uint64_t number;         /* the number of the match; random decisions depend on it */
    uint64_t seed;           /* the rule's seed */
    const struct fault_step *data; /* short, flip or torn, once the call is wound; or NULL */
    size_t size;             /* the size that a torn write answers */
    int error;               /* the error to answer in the end, or 0 */
    bool teaches;            /* rules_learn must see the answer */
};

/* choose.c: the next rule that the call meets and that fires, the number of its match, and its
 * seed; NULL if there is none. */
const struct rule *fault_choose (struct rule_walk *walk, uint64_t *ret_number,
                                 uint64_t *ret_seed);

/* data.c: winds the call with its data changed by local->data; changes the answer's data. */
void fault_wind_data (const struct call *call, struct fault_local *local);
void fault_answer_data (const struct answer *answer, const struct fault_local *local);

/* load.c */

/* Returns the rules in force, with a reference. */
struct fault_set *fault_set_get (fault_private_t *priv);

/* For held_release: returns true if the call hangs by a rule of the set. */
bool fault_hangs_by_set (const void *local, const void *set);

/* Reads the rules, with or without a first line "# file: NAME", and puts them into force. Returns
 * -EINVAL, with the errors appended to answer, and the old rules stay. NULL text: no rules. */
int fault_load (xlator_t *this, const char *text, size_t size, const char *file, GString *answer);

/* Loads the option's file, if it changed since it was last read. Returns 0, or a negative errno and
 * the errors. */
int fault_load_file (xlator_t *this, const char *file, GString *answer);

/* Sets priv->force to that of the predecessor, if there is one and the options agree with it, else
 * to a new one with the rules of the option's file. Returns 0, or a negative errno and the errors.
 * fault_force_leave undoes it, also after a failure. */
int fault_force_join (xlator_t *this, xlator_t *predecessor, GString *answer);
void fault_force_leave (xlator_t *this);

/* As held_release, in all graphs that have the rules. */
unsigned fault_release (fault_private_t *priv, bool (*which) (const void *data, const void *arg),
                        const void *arg);

/* Appends each rule in force as a line, after a comment with its counts. */
void fault_show (xlator_t *this, GString *out);

/* commands.c */
extern const struct xlator_command fault_commands[];

#endif
