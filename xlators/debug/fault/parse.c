/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parses text to rules: words and quoted texts, one rule per line.
 *
 * GScanner does not fit: it takes numbers, names and comments as in C, and gives no column for a
 * word that is cut short. An error in a line is reported, and parsing goes on with the next line.
 */
#include "rules.h"

#include <errno.h>
#include <string.h>

enum token_kind { TOKEN_END, TOKEN_NEWLINE, TOKEN_ARROW, TOKEN_COMMA, TOKEN_WORD, TOKEN_TEXT };

struct parser {
    const char *file;
    const char *at, *end, *line_start;
    int line;
    GArray *rules; /* of struct rule */
    GString *errors;
    unsigned n_errors;
    /* the next token */
    enum token_kind kind;
    int column;
    GString *text; /* of a word or a quoted text */
    bool bad;      /* the line has an error, which was reported */
};

/* --- errors ----------------------------------------------------------------------------------- */

/* Text comes from any source: control characters are not shown, and long text is cut. */
static char *
shown (const char *text)
{
    g_autofree char *some = g_strndup (text, 64);

    for (char *p = some; *p; p++)
        if (!g_ascii_isprint (*p))
            *p = '?';
    return g_strconcat (some, strlen (text) > 64 ? "..." : "", NULL);
}

static void G_GNUC_PRINTF (3, 4)
wrong_at (struct parser *p, int column, const char *format, ...)
{
    va_list args;

    if (p->bad)
        return;
    p->bad = true;
    if (p->n_errors++ >= RULES_ERRORS_MAX)
        return;
    va_start (args, format);
    g_string_append_printf (p->errors, "%s%s:%d:%d: ", p->errors->len ? "\n" : "", p->file, p->line,
                            column);
    g_string_append_vprintf (p->errors, format, args);
    va_end (args);
}

#define wrong(p_, ...) wrong_at (p_, (p_)->column, __VA_ARGS__)

/* "expected WHAT, got 'lokup'; did you mean 'lookup'?" */
static void
wrong_word (struct parser *p, const char *what, const char *near)
{
    g_autofree char *suggestion = suggest_text (near), *text = shown (p->text->str);

    if (p->kind == TOKEN_END || p->kind == TOKEN_NEWLINE)
        wrong (p, "expected %s, the line ends here", what);
    else if (p->kind == TOKEN_ARROW || p->kind == TOKEN_COMMA)
        wrong (p, "expected %s, got '%s'", what, p->kind == TOKEN_ARROW ? "->" : ",");
    else
        wrong (p, "expected %s, got '%s'%s", what, text, suggestion);
}

/* --- words ------------------------------------------------------------------------------------ */

static bool
ends_word (const struct parser *p)
{
    return p->at == p->end || strchr (" \t\r\n,\"#", *p->at)
           || (*p->at == '-' && p->at + 1 < p->end && p->at[1] == '>');
}

static void
read_text (struct parser *p)
{
    for (p->at++; p->at < p->end && *p->at != '\n' && *p->at != '"'; p->at++) {
        if (*p->at == '\\' && p->at + 1 < p->end && (p->at[1] == '"' || p->at[1] == '\\'))
            p->at++;
        g_string_append_c (p->text, *p->at);
    }
    if (p->at == p->end || *p->at == '\n')
        wrong (p, "the text that begins here has no '\"' at its end");
    else
        p->at++;
    if (p->text->len == 0)
        wrong (p, "a text must not be empty");
}

static void
read_word (struct parser *p)
{
    while (!ends_word (p))
        g_string_append_c (p->text, *p->at++);
}

static void
skip_blanks (struct parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
    if (p->at < p->end && *p->at == '#')
        while (p->at < p->end && *p->at != '\n')
            p->at++;
}

static void
parse_next (struct parser *p)
{
    skip_blanks (p);
    g_string_truncate (p->text, 0);
    p->column = (int) (p->at - p->line_start) + 1;
    if (p->at == p->end) {
        p->kind = TOKEN_END;
    } else if (*p->at == '\n') {
        p->kind = TOKEN_NEWLINE;
    } else if (*p->at == ',') {
        p->at++;
        p->kind = TOKEN_COMMA;
    } else if (*p->at == '"') {
        p->kind = TOKEN_TEXT;
        read_text (p);
    } else if (ends_word (p)) {
        p->at += 2;
        p->kind = TOKEN_ARROW;
    } else {
        p->kind = TOKEN_WORD;
        read_word (p);
    }
    for (const char *c = p->text->str; *c; c++)
        if (g_ascii_iscntrl (*c))
            wrong (p, "there must be no control characters");
    if (p->text->len > RULE_TEXT_MAX)
        wrong (p, "a word or a text must have at most %d bytes, got %zu", RULE_TEXT_MAX,
               p->text->len);
}

static bool
ends_line (const struct parser *p)
{
    return p->kind == TOKEN_END || p->kind == TOKEN_NEWLINE;
}

static bool
is_word (const struct parser *p, const char *word)
{
    return p->kind == TOKEN_WORD && g_ascii_strcasecmp (p->text->str, word) == 0;
}

static void
next_line (struct parser *p)
{
    while (p->at < p->end && *p->at != '\n')
        p->at++;
    if (p->at < p->end)
        p->at++;
    p->line_start = p->at;
    p->line++;
    p->bad = false;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Reads digits at *at and advances it. Returns false if there are none, or too many. */
static bool
read_digits (const char **at, uint64_t *ret_number)
{
    uint64_t number = 0;
    const char *s = *at;

    for (; g_ascii_isdigit (*s); s++)
        if (__builtin_mul_overflow (number, 10, &number)
            || __builtin_add_overflow (number, (uint64_t)(*s - '0'), &number))
            return false;
    if (s == *at)
        return false;
    *at = s;
    *ret_number = number;
    return true;
}

static uint64_t
take_number (struct parser *p, const char *what, uint64_t min, uint64_t max)
{
    g_autofree char *text = shown (p->text->str);
    const char *at = p->text->str;
    uint64_t number = 0;

    if (p->kind != TOKEN_WORD)
        wrong_word (p, what, NULL);
    else if (!read_digits (&at, &number) || *at || number < min || number > max)
        wrong (p,
               "%s must be a whole number, %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
               ", got '%s'",
               what, min, max, text);
    parse_next (p);
    return number;
}

static void
take_range (struct parser *p, const char *what, struct range *ret_range)
{
    g_autofree char *text = shown (p->text->str);
    const char *at = p->text->str;
    struct range range = { .given = true };
    bool good = p->kind == TOKEN_WORD && read_digits (&at, &range.first);

    range.last = range.first;
    if (good && g_str_has_prefix (at, "..")) {
        at += 2;
        range.last = UINT64_MAX;
        good = !*at || read_digits (&at, &range.last);
    }
    if (p->kind != TOKEN_WORD)
        wrong_word (p, what, NULL);
    else if (!good || *at || range.last < range.first)
        wrong (p, "%s must be a number such as 4096, or a range such as 0..511 or 4096.., got '%s'",
               what, text);
    *ret_range = range;
    parse_next (p);
}

static void
take_text (struct parser *p, const char *what, char **ret_text)
{
    if (p->kind != TOKEN_TEXT && p->kind != TOKEN_WORD) {
        wrong_word (p, what, NULL);
        return;
    }
    *ret_text = g_strdup (p->text->str);
    parse_next (p);
}

static double
take_percent (struct parser *p)
{
    g_autofree char *text = shown (p->text->str);
    const size_t digits = strspn (p->text->str, "0123456789.e-");
    char *end;
    const double percent = g_ascii_strtod (p->text->str, &end);

    if (p->kind != TOKEN_WORD)
        wrong_word (p, "a percentage such as 1%", NULL);
    else if (!g_ascii_isdigit (*p->text->str) || end != p->text->str + digits
             || strcmp (end, "%") != 0 || !(percent <= 100))
        wrong (p, "probability must be a percentage, 0%% to 100%%, got '%s'", text);
    parse_next (p);
    return percent;
}

static uint64_t
take_time (struct parser *p)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = { { "ns", 1 },         { "us", 1000 },       { "ms", 1000000 },
                  { "s", 1000000000 }, { "m", 60000000000 }, { "min", 60000000000 } };
    g_autofree char *text = shown (p->text->str);
    const char *at = p->text->str;
    uint64_t number = 0, ns = 0;
    bool good = p->kind == TOKEN_WORD && read_digits (&at, &number);

    for (size_t i = 0; i < G_N_ELEMENTS (units); i++)
        if (good && g_ascii_strcasecmp (at, units[i].name) == 0
            && number <= RULE_DELAY_MAX / units[i].ns)
            ns = number * units[i].ns;
    if (p->kind != TOKEN_WORD)
        wrong_word (p, "a time such as 100ms", NULL);
    else if (!ns)
        wrong (p, "a delay must be a time such as 100ms or 2s, at most 60m, got '%s'", text);
    parse_next (p);
    return ns;
}

/* --- requests --------------------------------------------------------------------------------- */

static opset_t
group_find (const char *word)
{
    for (const struct rule_group *group = rule_groups; group->name; group++)
        if (g_ascii_strcasecmp (word, group->name) == 0)
            return group->ops;
    return strcmp (word, "*") == 0 ? OPSET_ALL : 0;
}

static const char *
op_near (const char *word)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new ();
    const char *near;

    for (const struct rule_group *group = rule_groups; group->name; group++)
        g_ptr_array_add (names, (char *) group->name);
    for (unsigned op = FOP_NONE + 1; op < FOP_MAX; op++)
        g_ptr_array_add (names, (char *) fop_name (op));
    near = suggest_near (word, names);
    return near ? near : opset_near (word);
}

static void
take_ops (struct parser *p, opset_t *ret_ops)
{
    while (!p->bad) {
        const enum fop op = p->kind == TOKEN_WORD ? fop_of_name (p->text->str) : FOP_NONE;
        const opset_t group = p->kind == TOKEN_WORD ? group_find (p->text->str) : 0;

        if (op == FOP_NONE && !group) {
            wrong_word (p, "an operation such as fsync, read-ops, write-ops, sync-ops or *",
                        p->kind == TOKEN_WORD ? op_near (p->text->str) : NULL);
            return;
        }
        *ret_ops |= group ? group : OPSET_OF (op);
        parse_next (p);
        if (p->kind != TOKEN_COMMA)
            return;
        parse_next (p);
    }
}

static const char *const match_words[] = {
    "path",  "process", "volume", "uid",         "gid",  "pid",   "offset", "size",
    "after", "nth",     "every",  "probability", "seed", "times", NULL,
};

static const char *
near_of (const char *const *words, const char *word)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new ();

    for (; *words; words++)
        g_ptr_array_add (names, (char *) *words);
    return suggest_near (word, names);
}

/* The value of one of match_words. */
static void
take_match_value (struct parser *p, const char *word, struct rule *rule)
{
    const struct {
        const char *word;
        struct range *range;
    } ranges[] = { { "uid", &rule->uid },
                   { "gid", &rule->gid },
                   { "pid", &rule->pid },
                   { "offset", &rule->offset },
                   { "size", &rule->size } };
    const struct {
        const char *word;
        char **text;
    } texts[] = { { "path", &rule->path },
                  { "process", &rule->process },
                  { "volume", &rule->volume } };
    const struct {
        const char *word;
        uint64_t *number;
    } numbers[] = { { "after", &rule->after },
                    { "nth", &rule->nth },
                    { "every", &rule->every },
                    { "times", &rule->times } };

    for (size_t i = 0; i < G_N_ELEMENTS (ranges); i++)
        if (strcmp (word, ranges[i].word) == 0)
            take_range (p, word, ranges[i].range);
    for (size_t i = 0; i < G_N_ELEMENTS (texts); i++)
        if (strcmp (word, texts[i].word) == 0)
            take_text (p, word, texts[i].text);
    for (size_t i = 0; i < G_N_ELEMENTS (numbers); i++)
        if (strcmp (word, numbers[i].word) == 0)
            *numbers[i].number = take_number (p, word, 1, UINT64_MAX / 2);
    if (strcmp (word, "probability") == 0)
        rule->probability = take_percent (p);
    if (strcmp (word, "seed") == 0) {
        rule->seed = take_number (p, word, 0, UINT64_MAX);
        rule->has_seed = true;
    }
}

static void
take_matches (struct parser *p, struct rule *rule)
{
    unsigned seen = 0;

    while (!p->bad && p->kind != TOKEN_ARROW) {
        unsigned i = 0;

        while (match_words[i] && !is_word (p, match_words[i]))
            i++;
        if (!match_words[i]) {
            wrong_word (p,
                        "'->', or path, process, volume, uid, gid, pid, offset, size, after, nth, "
                        "every, probability, seed or times",
                        p->kind == TOKEN_WORD ? near_of (match_words, p->text->str) : NULL);
            return;
        }
        if (seen & 1u << i) {
            wrong (p, "'%s' is there twice", match_words[i]);
            return;
        }
        seen |= 1u << i;
        parse_next (p);
        take_match_value (p, match_words[i], rule);
    }
}

/* --- steps ------------------------------------------------------------------------------------ */

static void
take_error (struct parser *p, struct fault_step *step)
{
    const int number = p->kind == TOKEN_WORD ? error_of_name (p->text->str) : 0;

    if (!number)
        wrong_word (p, "the name of an error such as EIO",
                    p->kind == TOKEN_WORD ? error_near (p->text->str) : NULL);
    step->number = (uint64_t) number;
    parse_next (p);
}

static void
take_hang (struct parser *p, struct fault_step *step)
{
    if (!is_word (p, "name"))
        return;
    parse_next (p);
    take_text (p, "the name of what hangs", &step->name);
    if (step->name
        && (strspn (step->name, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_.-")
            != strlen (step->name)))
        wrong (p, "the name of what hangs must be of letters, digits, '_', '.' and '-'");
}

static void
take_step_value (struct parser *p, struct fault_step *step)
{
    const bool has_number = p->kind == TOKEN_WORD && g_ascii_isdigit (*p->text->str);

    switch (step->kind) {
    case STEP_DELAY:
        step->number = take_time (p);
        break;
    case STEP_HANG:
        take_hang (p, step);
        break;
    case STEP_SHORT:
        step->number = take_number (p, "how many bytes 'short' leaves", 1, 1 << 30);
        break;
    case STEP_FLIP:
        step->number =
            has_number ? take_number (p, "how many bits 'flip' turns", 1, RULE_FLIPS_MAX) : 1;
        break;
    case STEP_TORN:
        step->number =
            has_number ? take_number (p, "how many bytes 'torn' leaves", 0, 1 << 30) : UINT64_MAX;
        break;
    default:
        take_error (p, step);
    }
}

/* Checks that the rule's operations can have this step, and the order of steps. The order is that
 * of enum step_kind: waits, at most one change of data, an error. */
static void
check_step (struct parser *p, const struct rule *rule, const struct fault_step *step, int column)
{
    const struct fault_step *before = step > rule->steps ? step - 1 : NULL;
    const opset_t data = step->kind == STEP_TORN ? OPSET_OF (FOP_writev)
                                                 : OPSET_OF (FOP_readv) | OPSET_OF (FOP_writev);
    const bool is_data = step->kind >= STEP_SHORT && step->kind <= STEP_TORN;

    if (is_data && rule->ops & ~data)
        wrong_at (p, column, "'%s' is for %s alone", step_names[step->kind],
                  step->kind == STEP_TORN ? "writev" : "readv and writev");
    if (before && before->kind == STEP_ERROR)
        wrong_at (p, column, "nothing can come after 'error'");
    if (before && step->kind < STEP_SHORT && before->kind >= STEP_SHORT)
        wrong_at (p, column, "'%s' must come before '%s'", step_names[step->kind],
                  step_names[before->kind]);
    if (before && is_data && before->kind >= STEP_SHORT)
        wrong_at (p, column, "only one of short, flip and torn");
}

static void
take_step (struct parser *p, struct rule *rule, struct fault_step *step)
{
    const int column = p->column;
    enum step_kind kind = STEP_DELAY;

    while (kind <= STEP_ERROR && !is_word (p, step_names[kind]))
        kind++;
    if (kind > STEP_ERROR) {
        static const char *const words[] = {
            "delay", "hang", "short", "flip", "torn", "error", NULL
        };
        wrong_word (p, "error, delay, hang, short, flip or torn",
                    p->kind == TOKEN_WORD ? near_of (words, p->text->str) : NULL);
        return;
    }
    step->kind = kind;
    parse_next (p);
    take_step_value (p, step);
    check_step (p, rule, step, column);
}

static void
take_steps (struct parser *p, struct rule *rule)
{
    unsigned n = 0;

    do {
        parse_next (p); /* "->" or "then" */
        if (n == RULE_STEPS_MAX)
            wrong (p, "at most %d things can happen one after the other", RULE_STEPS_MAX);
        else
            take_step (p, rule, &rule->steps[n++]);
    } while (!p->bad && is_word (p, "then"));
    if (!ends_line (p))
        wrong_word (p, "'then' or the end of the line", is_word (p, "than") ? "then" : NULL);
}

/* --- whole text ------------------------------------------------------------------------------- */

static void
take_rule (struct parser *p)
{
    struct rule rule = { .line = p->line, .probability = -1 };

    parse_next (p);
    if (ends_line (p))
        return;
    take_ops (p, &rule.ops);
    if (!p->bad)
        take_matches (p, &rule);
    if (!p->bad)
        take_steps (p, &rule);
    if (p->rules->len == RULES_MAX)
        wrong_at (p, 1, "a file must have at most %d rules", RULES_MAX);
    g_array_append_val (p->rules, rule); /* also if bad: it is freed with the others */
}

struct rules *
rules_parse (const char *text, size_t size, const char *file, char **ret_error)
{
    struct parser p = {
        .file = file, .at = text, .end = text + size, .line_start = text, .line = 1
    };
    struct rules *rules = g_new0 (struct rules, 1);

    if (size > RULES_SIZE_MAX || (size && memchr (text, '\0', size))) {
        g_free (rules);
        *ret_error =
            size > RULES_SIZE_MAX
                ? g_strdup_printf ("%s: rules must have at most %d bytes, got %zu", file,
                                   RULES_SIZE_MAX, size)
                : g_strdup_printf ("%s: rules must be text, but there is a NUL in it", file);
        return NULL;
    }
    p.rules = g_array_new (FALSE, TRUE, sizeof (struct rule));
    p.errors = g_string_new (NULL);
    p.text = g_string_new (NULL);
    while (p.at < p.end && p.n_errors <= RULES_ERRORS_MAX && p.rules->len <= RULES_MAX) {
        take_rule (&p);
        next_line (&p);
    }
    g_string_free (p.text, TRUE);
    rules->n = p.rules->len;
    rules->rules = (struct rule *) (void *) g_array_free (p.rules, FALSE);
    if (p.n_errors == 0) {
        g_string_free (p.errors, TRUE);
        return rules;
    }
    rules_free (rules);
    if (p.n_errors > RULES_ERRORS_MAX)
        g_string_append_printf (p.errors,
                                "\n%s: more than %d lines are wrong: the rest was not read", file,
                                RULES_ERRORS_MAX);
    *ret_error = g_string_free (p.errors, FALSE);
    return NULL;
}
