/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rules.h"

#include <string.h>

static const char *const step_names[] = {
    [STEP_NONE] = "",       [STEP_DELAY] = "delay", [STEP_HANG] = "hang",   [STEP_SHORT] = "short",
    [STEP_FLIP] = "flip",   [STEP_TORN] = "torn",   [STEP_ERROR] = "error", NULL,
};

/* --- values ----------------------------------------------------------------------------------- */

static double
fault_take_percent (struct rule_reader *reader)
{
    g_autofree char *text = rule_shown (reader->text->str);
    const size_t digits = strspn (reader->text->str, "0123456789.e-");
    char *end;
    const double percent = g_ascii_strtod (reader->text->str, &end);

    if (reader->token != TOKEN_WORD)
        rule_expected (reader, "a percentage such as 1%", NULL);
    else if (!g_ascii_isdigit (*reader->text->str) || end != reader->text->str + digits
             || strcmp (end, "%") != 0 || !(percent <= 100))
        rule_wrong (reader, "probability must be a percentage, 0%% to 100%%, got '%s'", text);
    rule_reader_next (reader);
    return percent;
}

static uint64_t
fault_take_time (struct rule_reader *reader)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = { { "ns", 1 },         { "us", 1000 },       { "ms", 1000000 },
                  { "s", 1000000000 }, { "m", 60000000000 }, { "min", 60000000000 } };
    g_autofree char *text = rule_shown (reader->text->str);
    const char *at = reader->text->str;
    uint64_t number = 0, ns = 0;
    bool good = reader->token == TOKEN_WORD && rule_read_digits (&at, &number);

    for (size_t i = 0; i < G_N_ELEMENTS (units); i++)
        if (good && g_ascii_strcasecmp (at, units[i].name) == 0
            && number <= RULE_DELAY_MAX / units[i].ns)
            ns = number * units[i].ns;
    if (reader->token != TOKEN_WORD)
        rule_expected (reader, "a time such as 100ms", NULL);
    else if (!ns)
        rule_wrong (reader, "a delay must be a time such as 100ms or 2s, at most 60m, got '%s'",
                    text);
    rule_reader_next (reader);
    return ns;
}

/* --- conditions ------------------------------------------------------------------------------- */

enum { FAULT_AFTER, FAULT_NTH, FAULT_EVERY, FAULT_PROBABILITY, FAULT_SEED, FAULT_TIMES };

static const char *const fault_conditions[] = { "after", "nth", "every", "probability", "seed",
                                                "times", NULL };

static void
fault_read_condition (struct rule_reader *reader, unsigned number, struct rule *rule)
{
    struct fault_action *action = rule->action;
    uint64_t *const numbers[] = { [FAULT_AFTER] = &action->after, [FAULT_NTH] = &action->nth,
                                  [FAULT_EVERY] = &action->every, [FAULT_TIMES] = &action->times };

    if (number == FAULT_PROBABILITY) {
        action->by_chance = true;
        action->probability = fault_take_percent (reader);
    } else if (number == FAULT_SEED) {
        action->has_seed = true;
        action->seed = rule_take_number (reader, "seed", 0, UINT64_MAX);
    } else {
        *numbers[number] =
            rule_take_number (reader, fault_conditions[number], 1, UINT64_MAX / 2);
    }
}

/* --- steps ------------------------------------------------------------------------------------ */

static void
fault_take_error (struct rule_reader *reader, struct fault_step *step)
{
    const int number = reader->token == TOKEN_WORD ? error_of_name (reader->text->str) : 0;

    if (!number)
        rule_expected (reader, "the name of an error such as EIO",
                       reader->token == TOKEN_WORD ? error_near (reader->text->str) : NULL);
    step->number = (uint64_t) number;
    rule_reader_next (reader);
}

static void
fault_take_hang (struct rule_reader *reader, struct fault_step *step)
{
    if (!rule_reader_is (reader, "name"))
        return;
    rule_reader_next (reader);
    rule_take_text (reader, "the name of what hangs", &step->name);
    if (step->name
        && (strspn (step->name, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_.-")
            != strlen (step->name)))
        rule_wrong (reader, "the name of what hangs must be of letters, digits, '_', '.' and '-'");
}

static void
fault_take_step_value (struct rule_reader *reader, struct fault_step *step)
{
    const bool has_number = rule_reader_is_number (reader);

    switch (step->kind) {
    case STEP_DELAY:
        step->number = fault_take_time (reader);
        break;
    case STEP_HANG:
        fault_take_hang (reader, step);
        break;
    case STEP_SHORT:
        step->number = rule_take_number (reader, "how many bytes 'short' leaves", 1, 1 << 30);
        break;
    case STEP_FLIP:
        step->number = 1;
        if (has_number)
            step->number =
                rule_take_number (reader, "how many bits 'flip' turns", 1, RULE_FLIPS_MAX);
        break;
    case STEP_TORN:
        step->number =
            has_number ? rule_take_number (reader, "how many bytes 'torn' leaves", 0, 1 << 30)
                       : UINT64_MAX;
        break;
    default:
        fault_take_error (reader, step);
    }
}

/* Checks that the rule's operations can have this step, and the order of steps. The order is that
 * of enum step_kind: waits, at most one change of data, an error. */
static void
fault_check_step (struct rule_reader *reader, const struct rule *rule,
                  const struct fault_step *step, int column)
{
    const struct fault_step *first = fault_action_of (rule)->steps;
    const struct fault_step *before = step > first ? step - 1 : NULL;
    const opset_t data = step->kind == STEP_TORN ? OPSET_OF (FOP_writev)
                                                 : OPSET_OF (FOP_readv) | OPSET_OF (FOP_writev);
    const bool is_data = step->kind >= STEP_SHORT && step->kind <= STEP_TORN;

    if (is_data && rule->ops & ~data)
        rule_wrong_at (reader, column, "'%s' is for %s alone", step_names[step->kind],
                       step->kind == STEP_TORN ? "writev" : "readv and writev");
    if (before && before->kind == STEP_ERROR)
        rule_wrong_at (reader, column, "nothing can come after 'error'");
    if (before && step->kind < STEP_SHORT && before->kind >= STEP_SHORT)
        rule_wrong_at (reader, column, "'%s' must come before '%s'", step_names[step->kind],
                       step_names[before->kind]);
    if (before && is_data && before->kind >= STEP_SHORT)
        rule_wrong_at (reader, column, "only one of short, flip and torn");
}

static void
fault_take_step (struct rule_reader *reader, struct rule *rule, struct fault_step *step)
{
    const int column = reader->column;
    enum step_kind kind = STEP_DELAY;

    while (kind <= STEP_ERROR && !rule_reader_is (reader, step_names[kind]))
        kind++;
    if (kind > STEP_ERROR) {
        rule_expected_one (reader, "error, delay, hang, short, flip or torn",
                           step_names + STEP_DELAY);
        return;
    }
    step->kind = kind;
    rule_reader_next (reader);
    fault_take_step_value (reader, step);
    fault_check_step (reader, rule, step, column);
}

static void
fault_read_action (struct rule_reader *reader, struct rule *rule)
{
    struct fault_action *action = rule->action;
    unsigned n = 0;

    for (;; rule_reader_next (reader)) {
        if (n == RULE_STEPS_MAX)
            rule_wrong (reader, "at most %d things can happen one after the other",
                        RULE_STEPS_MAX);
        else
            fault_take_step (reader, rule, &action->steps[n++]);
        if (reader->bad || !rule_reader_is (reader, "then"))
            break;
    }
    if (!rule_reader_ends_line (reader))
        rule_expected (reader, "'then' or the end of the line",
                       rule_reader_is (reader, "than") ? "then" : NULL);
}

static void
fault_clear_action (void *data)
{
    struct fault_action *action = data;

    for (int i = 0; i <= RULE_STEPS_MAX; i++)
        g_free (action->steps[i].name);
}

/* --- printing --------------------------------------------------------------------------------- */

static void
fault_print_conditions (const struct rule *rule, GString *out)
{
    const struct fault_action *action = fault_action_of (rule);
    char percent[G_ASCII_DTOSTR_BUF_SIZE];

    rule_print_number (out, "after", action->after, action->after);
    rule_print_number (out, "nth", action->nth, action->nth);
    rule_print_number (out, "every", action->every, action->every);
    if (action->by_chance)
        g_string_append_printf (out, " probability %s%%",
                                g_ascii_formatd (percent, sizeof percent, "%.15g",
                                                 action->probability));
    rule_print_number (out, "seed", action->has_seed, action->seed);
    rule_print_number (out, "times", action->times, action->times);
}

/* In the largest unit without a remainder. */
static void
fault_print_time (GString *out, uint64_t ns)
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
fault_print_step (GString *out, const struct fault_step *step)
{
    g_string_append (out, step_names[step->kind]);
    if (step->kind == STEP_DELAY)
        fault_print_time (out, step->number);
    else if (step->kind == STEP_HANG && step->name)
        g_string_append_printf (out, " name %s", step->name);
    else if (step->kind == STEP_ERROR)
        g_string_append_printf (out, " %s", error_name ((int) step->number));
    else if (step->kind != STEP_HANG && step->number != UINT64_MAX)
        g_string_append_printf (out, " %" G_GUINT64_FORMAT, step->number);
}

static void
fault_print_action (const struct rule *rule, GString *out)
{
    const struct fault_step *first = fault_action_of (rule)->steps;

    for (const struct fault_step *step = first; step->kind; step++) {
        g_string_append (out, step == first ? "" : " then ");
        fault_print_step (out, step);
    }
}

const struct rule_grammar fault_grammar = {
    .action_size = sizeof (struct fault_action),
    .conditions = fault_conditions,
    .read_condition = fault_read_condition,
    .read_action = fault_read_action,
    .print_conditions = fault_print_conditions,
    .print_action = fault_print_action,
    .clear_action = fault_clear_action,
};
