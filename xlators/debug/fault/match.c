/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the rule for a request. Properties that are expensive to find are found when the first rule
 * asks for them. */
#include "fault.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

struct subject {
    const struct call *call;
    bool has_paths, has_process;
    char *path, *new_path, *process;
};

static bool
range_has (const struct range *range, uint64_t value)
{
    return !range->given || (value >= range->first && value <= range->last);
}

/* Returns true if the request has an offset, and a byte in the range. A request of no bytes is at
 * its offset. */
static bool
offset_fits (const struct range *range, const struct call *call)
{
    const uint64_t first = call->offset < 0 ? 0 : (uint64_t) call->offset;
    const uint64_t last = call->size && call->op != FOP_readdir && call->op != FOP_readdirp
                            ? first + call->size - 1
                            : first;

    return !range->given || (first <= range->last && last >= range->first);
}

static bool
fault_path_fits (const char *pattern, struct subject *subject)
{
    if (!pattern)
        return true;
    if (!subject->has_paths) {
        subject->path = call_path (subject->call);
        subject->new_path = call_new_path (subject->call);
        subject->has_paths = true;
    }
    return (subject->path && fnmatch (pattern, subject->path, 0) == 0)
           || (subject->new_path && fnmatch (pattern, subject->new_path, 0) == 0);
}

/* The name of a process that has ended is "". */
static char *
process_name (pid_t pid)
{
    char path[32], *name;

    g_snprintf (path, sizeof path, "/proc/%d/comm", pid);
    if (!g_file_get_contents (path, &name, NULL, NULL))
        return g_strdup ("");
    return g_strchomp (name);
}

static bool
process_fits (const char *pattern, struct subject *subject)
{
    if (!pattern)
        return true;
    if (!subject->has_process) {
        subject->process = process_name (subject->call->frame->root->pid);
        subject->has_process = true;
    }
    return fnmatch (pattern, subject->process, 0) == 0;
}

/* Cheap checks come first. */
static bool
rule_fits (const struct rule *rule, struct subject *subject)
{
    const struct call *call = subject->call;
    const call_stack_t *root = call->frame->root;

    return opset_has (rule->ops, call->op) && range_has (&rule->uid, root->uid)
        && range_has (&rule->gid, root->gid) && range_has (&rule->pid, (uint64_t) root->pid)
        && range_has (&rule->size, call->size) && offset_fits (&rule->offset, call)
        && (!rule->volume || strcmp (rule->volume, call->this->name) == 0)
        && fault_path_fits (rule->path, subject) && process_fits (rule->process, subject);
}

/* Returns true if the rule fires for this match; the first is 1. */
static bool
rule_is_due (const struct rule *rule, uint64_t number, uint64_t seed)
{
    if (number <= rule->after)
        return false;
    const uint64_t n = number - rule->after;

    return (!rule->nth || n == rule->nth) && (!rule->every || n % rule->every == 0)
           && (rule->probability < 0 || chance_hits (seed, number, rule->probability));
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
fault_choose (struct rule_set *set, const struct call *call, uint64_t *ret_number,
              uint64_t *ret_seed)
{
    struct subject subject = { .call = call };
    const struct rule *chosen = NULL;

    for (unsigned i = 0; i < set->rules->n && !chosen; i++) {
        const struct rule *rule = &set->rules->rules[i];

        if (!rule_fits (rule, &subject))
            continue;
        *ret_number = __atomic_add_fetch (&set->counts[i].matched, 1, __ATOMIC_RELAXED);
        *ret_seed = rule->has_seed ? rule->seed : chance_number (set->seed, i);
        if (rule_is_due (rule, *ret_number, *ret_seed)
            && count_firing (&set->counts[i], rule->times))
            chosen = rule;
    }
    g_free (subject.path);
    g_free (subject.new_path);
    g_free (subject.process);
    return chosen;
}
