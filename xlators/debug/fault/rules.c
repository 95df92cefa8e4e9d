/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rules.h"

#include <string.h>

#define BIT(name) OPSET_OF (FOP_##name)

const struct rule_group rule_groups[] = {
    { "read-ops", BIT (lookup) | BIT (stat) | BIT (fstat) | BIT (readlink) | BIT (readv)
                      | BIT (statfs) | BIT (opendir) | BIT (readdir) | BIT (readdirp)
                      | BIT (getxattr) | BIT (fgetxattr) | BIT (access) | BIT (seek) },
    { "write-ops", OPS_CHANGE & ~(BIT (open) | BIT (ioctl)) },
    { "sync-ops", BIT (fsync) | BIT (fsyncdir) | BIT (flush) },
    { NULL, 0 },
};

const char *const step_names[] = {
    [STEP_NONE] = "", [STEP_DELAY] = "delay", [STEP_HANG] = "hang",   [STEP_SHORT] = "short",
    [STEP_FLIP] = "flip", [STEP_TORN] = "torn",   [STEP_ERROR] = "error",
};

static void
rule_clear (struct rule *rule)
{
    g_free (rule->path);
    g_free (rule->process);
    g_free (rule->volume);
    for (int i = 0; i <= RULE_STEPS_MAX; i++)
        g_free (rule->steps[i].name);
}

void
rules_free (struct rules *rules)
{
    if (!rules)
        return;
    for (unsigned i = 0; i < rules->n; i++)
        rule_clear (&rules->rules[i]);
    g_free (rules->rules);
    g_free (rules);
}

/* --- printing --------------------------------------------------------------------------------- */

static void
print_text (GString *out, const char *key, const char *text)
{
    if (!text)
        return;
    g_string_append_printf (out, " %s \"", key);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            g_string_append_c (out, '\\');
        g_string_append_c (out, *text);
    }
    g_string_append_c (out, '"');
}

static void
print_range (GString *out, const char *key, const struct range *range)
{
    if (!range->given)
        return;
    g_string_append_printf (out, " %s %" G_GUINT64_FORMAT, key, range->first);
    if (range->last == UINT64_MAX)
        g_string_append (out, "..");
    else if (range->last != range->first)
        g_string_append_printf (out, "..%" G_GUINT64_FORMAT, range->last);
}

static void
print_number (GString *out, const char *key, bool given, uint64_t number)
{
    if (given)
        g_string_append_printf (out, " %s %" G_GUINT64_FORMAT, key, number);
}

/* In the largest unit without a remainder. */
static void
print_time (GString *out, uint64_t ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = { { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 } };
    size_t i = 0;

    while (ns % units[i].ns)
        i++;
    g_string_append_printf (out, " %" G_GUINT64_FORMAT "%s", ns / units[i].ns, units[i].name);
}

static void
print_step (GString *out, const struct fault_step *step)
{
    g_string_append (out, step_names[step->kind]);
    if (step->kind == STEP_DELAY)
        print_time (out, step->number);
    else if (step->kind == STEP_HANG && step->name)
        g_string_append_printf (out, " name %s", step->name);
    else if (step->kind == STEP_ERROR)
        g_string_append_printf (out, " %s", error_name ((int) step->number));
    else if (step->kind != STEP_HANG && step->number != UINT64_MAX)
        g_string_append_printf (out, " %" G_GUINT64_FORMAT, step->number);
}

void
rule_print (const struct rule *rule, GString *out)
{
    char percent[G_ASCII_DTOSTR_BUF_SIZE];

    opset_print (rule->ops, out);
    print_text (out, "path", rule->path);
    print_text (out, "process", rule->process);
    print_text (out, "volume", rule->volume);
    print_range (out, "uid", &rule->uid);
    print_range (out, "gid", &rule->gid);
    print_range (out, "pid", &rule->pid);
    print_range (out, "offset", &rule->offset);
    print_range (out, "size", &rule->size);
    print_number (out, "after", rule->after, rule->after);
    print_number (out, "nth", rule->nth, rule->nth);
    print_number (out, "every", rule->every, rule->every);
    if (rule->probability >= 0)
        g_string_append_printf (out, " probability %s%%",
                                g_ascii_formatd (percent, sizeof percent, "%.15g",
                                                 rule->probability));
    print_number (out, "seed", rule->has_seed, rule->seed);
    print_number (out, "times", rule->times, rule->times);
    for (const struct fault_step *step = rule->steps; step->kind; step++) {
        g_string_append (out, step == rule->steps ? " -> " : " then ");
        print_step (out, step);
    }
}
