/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the rule that fires for a request. */
#include "fault.h"

/* Returns true if the rule fires for this match; the first is 1. */
static bool
rule_is_due (const struct fault_action *action, uint64_t number, uint64_t seed)
{
    if (number <= action->after)
        return false;
    const uint64_t n = number - action->after;

    return (!action->nth || n == action->nth) && (!action->every || n % action->every == 0)
           && (!action->by_chance || chance_hits (seed, number, action->probability));
}

/* Counts a firing, unless the rule has fired `times` times. */
static bool
count_firing (struct rule_count *count, uint64_t times)
{
    uint64_t fired = __atomic_load_n (&count->fired, __ATOMIC_RELAXED);

    do
        if (times && fired >= times)
            return false;
    while (!__atomic_compare_exchange_n (&count->fired, &fired, fired + 1, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED));
    return true;
}

const struct rule *
fault_choose (struct rule_walk *walk, uint64_t *ret_number, uint64_t *ret_seed)
{
    struct fault_set *set = (struct fault_set *) walk->set;
    const struct rule *rule;

    while ((rule = rule_walk_next (walk))) {
        const struct fault_action *action = fault_action_of (rule);
        const unsigned i = (unsigned) (rule - set->rules.rules->rules);

        *ret_number = __atomic_add_fetch (&set->counts[i].matched, 1, __ATOMIC_RELAXED);
        *ret_seed = action->has_seed ? action->seed : chance_number (set->seed, i);
        if (rule_is_due (action, *ret_number, *ret_seed)
            && count_firing (&set->counts[i], action->times))
            return rule;
    }
    return NULL;
}
