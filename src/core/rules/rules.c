/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules: their operations and conditions, read and printed. An error in a line is reported, and
 * reading goes on with the next line. */
#include "core/rules/rule-reader.h"

#include "core/base/suggest.h"

#include <string.h>

#define BIT(name) OPSET_OF (FOP_##name)

static const struct {
    const char *name;
    opset_t ops;
} rule_groups[] = {
    { "read-ops", BIT (lookup) | BIT (stat) | BIT (fstat) | BIT (readlink) | BIT (readv)
                      | BIT (statfs) | BIT (opendir) | BIT (readdir) | BIT (readdirp)
                      | BIT (getxattr) | BIT (fgetxattr) | BIT (access) | BIT (seek) },
    { "write-ops", OPS_CHANGE & ~(BIT (open) | BIT (ioctl)) },
    { "sync-ops", BIT (fsync) | BIT (fsyncdir) | BIT (flush) },
};

static const char *const rule_types[] = {
    [IA_INVAL] = "",        [IA_IFREG] = "file",       [IA_IFDIR] = "directory",
    [IA_IFLNK] = "symlink", [IA_IFBLK] = "block",      [IA_IFCHR] = "character",
    [IA_IFIFO] = "fifo",    [IA_IFSOCK] = "socket",    NULL,
};

/* --- operations ------------------------------------------------------------------------------- */

static opset_t
rule_group_find (const char *word)
{
    for (size_t i = 0; i < G_N_ELEMENTS (rule_groups); i++)
        if (g_ascii_strcasecmp (word, rule_groups[i].name) == 0)
            return rule_groups[i].ops;
    return strcmp (word, "*") == 0 ? OPSET_ALL : 0;
}

static const char *
rule_op_near (const char *word)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new ();
    const char *near;

    for (size_t i = 0; i < G_N_ELEMENTS (rule_groups); i++)
        g_ptr_array_add (names, (char *) rule_groups[i].name);
    for (unsigned op = FOP_NONE + 1; op < FOP_MAX; op++)
        g_ptr_array_add (names, (char *) fop_name (op));
    near = suggest_near (word, names);
    return near ? near : opset_near (word);
}

static void
rule_take_ops (struct rule_reader *reader, opset_t *ret_ops)
{
    while (!reader->bad) {
        const bool is_word = reader->token == TOKEN_WORD;
        const enum fop op = is_word ? fop_of_name (reader->text->str) : FOP_NONE;
        const opset_t group = is_word ? rule_group_find (reader->text->str) : 0;

        if (op == FOP_NONE && !group) {
            rule_expected (reader,
                           "an operation such as fsync, read-ops, write-ops, sync-ops or *",
                           is_word ? rule_op_near (reader->text->str) : NULL);
            return;
        }
        *ret_ops |= group ? group : OPSET_OF (op);
        rule_reader_next (reader);
        if (reader->token != TOKEN_COMMA)
            return;
        rule_reader_next (reader);
    }
}

/* --- conditions ------------------------------------------------------------------------------- */

#define RULE_PROCESS_MAX 15 /* bytes of a process's name: TASK_COMM_LEN without the NUL */

static const char special[] = "*?[]\\"; /* in a pattern, what does not stand for itself */

/* Finds the parts of a pattern that stand for themselves. They decide most calls without a path. */
static void
rule_find_ends (struct rule *rule)
{
    const char *path = rule->path, *end = path + strlen (path);

    rule->path_start = strcspn (path, special);
    for (const char *p = path + rule->path_start; *p; p += strcspn (p, special)) {
        p += *p == '\\' && p[1] ? 2 : 1;
        rule->path_end = (size_t) (end - p);
    }
    if (!path[rule->path_start])
        rule->path_end = rule->path_start;
}

static void
rule_take_path (struct rule_reader *reader, struct rule *rule)
{
    rule_take_text (reader, "path", &rule->path);
    if (rule->path)
        rule_find_ends (rule);
}

/* Returns the ']' for a '[' of a pattern, or NULL. A ']' that comes first stands for itself. */
static const char *
rule_bracket_end (const char *bracket)
{
    const char *first = bracket + 1;

    first += *first == '!' || *first == '^';
    return *first ? strchr (first + 1, ']') : NULL;
}

/* Returns how many bytes a text has at least that a pattern matches. */
static size_t
rule_least_of (const char *pattern)
{
    size_t least = 0;

    for (const char *p = pattern; *p; p++) {
        const char *end = *p == '[' ? rule_bracket_end (p) : NULL;

        least += *p != '*';
        if (*p == '\\' && p[1])
            p++;
        else if (end)
            p = end;
    }
    return least;
}

static void
rule_take_process (struct rule_reader *reader, struct rule *rule)
{
    const int column = reader->column;

    rule_take_text (reader, "process", &rule->process);
    if (!rule->process)
        return;
    rule->process_start = strcspn (rule->process, special);
    if (rule_least_of (rule->process) > RULE_PROCESS_MAX)
        rule_wrong_at (reader, column,
                       "the kernel keeps %d bytes of a process's name, the first ones, and no such "
                       "name matches: shorten the pattern",
                       RULE_PROCESS_MAX);
}

static void
rule_take_types (struct rule_reader *reader, struct rule *rule)
{
    for (;;) {
        ia_type_t type = IA_IFREG;

        while (rule_types[type] && !rule_reader_is (reader, rule_types[type]))
            type++;
        if (!rule_types[type]) {
            rule_expected_one (
                reader, "a type: file, directory, symlink, block, character, fifo or socket",
                rule_types + IA_IFREG);
            return;
        }
        rule->types |= 1u << type;
        rule_reader_next (reader);
        if (reader->token != TOKEN_COMMA)
            return;
        rule_reader_next (reader);
    }
}

/* "0644", "-4000", "/0022" */
static void
rule_take_mode (struct rule_reader *reader, struct rule_mode *ret_mode)
{
    g_autofree char *shown = rule_shown (reader->text->str);
    const char *text = reader->text->str, *digits = text + (*text == '-' || *text == '/');
    const size_t length = strlen (digits);

    if (reader->token != TOKEN_WORD)
        rule_expected (reader, "a mode such as 0644, -4000 or /0022", NULL);
    else if (length == 0 || length > 5 || strspn (digits, "01234567") != length
             || strtoul (digits, NULL, 8) > 07777)
        rule_wrong (reader,
                    "mode must be octal, 0 to 7777: 0644, -4000 (these bits) or /0022 (one of "
                    "these), got '%s'",
                    shown);
    ret_mode->how = *text == '-' ? MODE_ALL_OF : *text == '/' ? MODE_ANY_OF : MODE_EXACT;
    ret_mode->bits = (mode_t) strtoul (digits, NULL, 8);
    rule_reader_next (reader);
}

enum rule_condition {
    CONDITION_PATH,
    CONDITION_PROCESS,
    CONDITION_VOLUME,
    CONDITION_UID,
    CONDITION_GID,
    CONDITION_PID,
    CONDITION_OFFSET,
    CONDITION_SIZE,
    CONDITION_OWNER,
    CONDITION_TYPE,
    CONDITION_MODE,
    CONDITIONS,
};

static const char *const rule_conditions[] = { "path",  "process", "volume", "uid",
                                               "gid",   "pid",     "offset", "size",
                                               "owner", "type",    "mode",   NULL };

static void
rule_take_condition (struct rule_reader *reader, enum rule_condition number, struct rule *rule)
{
    const char *word = rule_conditions[number];

    switch (number) {
    case CONDITION_PATH:
        rule_take_path (reader, rule);
        break;
    case CONDITION_PROCESS:
        rule_take_process (reader, rule);
        break;
    case CONDITION_VOLUME:
        rule_take_text (reader, word, &rule->volume);
        break;
    case CONDITION_UID:
        rule_take_range (reader, word, &rule->uid);
        break;
    case CONDITION_GID:
        rule_take_range (reader, word, &rule->gid);
        break;
    case CONDITION_PID:
        rule_take_range (reader, word, &rule->pid);
        break;
    case CONDITION_OFFSET:
        rule_take_range (reader, word, &rule->offset);
        break;
    case CONDITION_SIZE:
        rule_take_range (reader, word, &rule->size);
        break;
    case CONDITION_OWNER:
        rule_take_range (reader, word, &rule->owner);
        break;
    case CONDITION_TYPE:
        rule_take_types (reader, rule);
        break;
    default:
        rule_take_mode (reader, &rule->mode);
    }
}

/* All words of conditions, those of the grammar last. */
static GPtrArray *
rule_words (const struct rule_grammar *grammar)
{
    GPtrArray *words = g_ptr_array_new ();

    for (const char *const *word = rule_conditions; *word; word++)
        g_ptr_array_add (words, (char *) *word);
    for (const char *const *word = grammar->conditions; word && *word; word++)
        g_ptr_array_add (words, (char *) *word);
    return words;
}

/* "expected '->', or path, process, volume ... or times" */
static void
rule_expected_condition (struct rule_reader *reader, const GPtrArray *words)
{
    g_autoptr (GString) what = g_string_new ("'->', or ");

    for (guint i = 0; i < words->len; i++)
        g_string_append_printf (what, "%s%s",
                                i == 0 ? "" : i + 1 == words->len ? " or " : ", ",
                                (const char *) words->pdata[i]);
    rule_expected (reader, what->str,
                   reader->token == TOKEN_WORD ? suggest_near (reader->text->str, words) : NULL);
}

static void
rule_take_conditions (struct rule_reader *reader, struct rule *rule)
{
    g_autoptr (GPtrArray) words = rule_words (reader->grammar);
    uint64_t seen = 0;

    while (!reader->bad && reader->token != TOKEN_ARROW) {
        unsigned i = 0;

        while (i < words->len && !rule_reader_is (reader, words->pdata[i]))
            i++;
        if (i == words->len) {
            rule_expected_condition (reader, words);
            return;
        }
        if (seen & UINT64_C (1) << i) {
            rule_wrong (reader, "'%s' is there twice", (const char *) words->pdata[i]);
            return;
        }
        seen |= UINT64_C (1) << i;
        rule_reader_next (reader);
        if (i < CONDITIONS)
            rule_take_condition (reader, i, rule);
        else
            reader->grammar->read_condition (reader, i - CONDITIONS, rule);
    }
}

/* --- texts ------------------------------------------------------------------------------------ */

static void
rule_clear (struct rule *rule)
{
    g_free (rule->path);
    g_free (rule->process);
    g_free (rule->volume);
    if (rule->action && rule->grammar->clear_action)
        rule->grammar->clear_action (rule->action);
    g_free (rule->action);
}

void
rules_free (struct rules *rules)
{
    if (!rules)
        return;
    for (unsigned i = 0; i < rules->n; i++)
        rule_clear (&rules->rules[i]);
    g_free (rules->rules);
    g_free (rules->file);
    g_free (rules);
}

static void
rule_take (struct rule_reader *reader)
{
    struct rule rule = { .line = reader->line, .grammar = reader->grammar };

    rule_reader_next (reader);
    if (rule_reader_ends_line (reader))
        return;
    rule.action = g_malloc0 (reader->grammar->action_size);
    rule_take_ops (reader, &rule.ops);
    if (!reader->bad)
        rule_take_conditions (reader, &rule);
    if (!reader->bad) {
        rule_reader_next (reader);
        reader->grammar->read_action (reader, &rule);
    }
    if (reader->rules->len == RULES_MAX)
        rule_wrong_at (reader, 1, "a file must have at most %d rules", RULES_MAX);
    g_array_append_val (reader->rules, rule); /* also if bad: it is freed with the others */
}

static char *
rules_unreadable (const char *text, size_t size, const char *file)
{
    if (size > RULES_SIZE_MAX)
        return g_strdup_printf ("%s: rules must have at most %d bytes, got %zu", file,
                                RULES_SIZE_MAX, size);
    if (size && memchr (text, '\0', size))
        return g_strdup_printf ("%s: rules must be text, but there is a NUL in it", file);
    return NULL;
}

struct rules *
rules_parse (const char *text, size_t size, const char *file, const struct rule_grammar *grammar,
             char **ret_error)
{
    struct rule_reader reader = {
        .file = file, .at = text, .end = text + size, .line_start = text, .line = 1,
        .grammar = grammar
    };
    struct rules *rules;

    *ret_error = rules_unreadable (text, size, file);
    if (*ret_error)
        return NULL;
    reader.rules = g_array_new (FALSE, TRUE, sizeof (struct rule));
    reader.errors = g_string_new (NULL);
    reader.text = g_string_new (NULL);
    while (reader.at < reader.end && reader.n_errors <= RULES_ERRORS_MAX
           && reader.rules->len <= RULES_MAX) {
        rule_take (&reader);
        rule_reader_next_line (&reader);
    }
    g_string_free (reader.text, TRUE);
    rules = g_new0 (struct rules, 1);
    rules->file = g_strdup (file);
    rules->n = reader.rules->len;
    rules->rules = (struct rule *) (void *) g_array_free (reader.rules, FALSE);
    if (reader.n_errors > 0)
        g_clear_pointer (&rules, rules_free);
    if (reader.n_errors > RULES_ERRORS_MAX)
        g_string_append_printf (reader.errors,
                                "\n%s: more than %d lines are wrong: the rest was not read", file,
                                RULES_ERRORS_MAX);
    if (!rules)
        *ret_error = g_strdup (reader.errors->str);
    g_string_free (reader.errors, TRUE);
    return rules;
}

/* --- printing --------------------------------------------------------------------------------- */

void
rule_print_text (GString *out, const char *key, const char *text)
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

void
rule_print_number (GString *out, const char *key, bool given, uint64_t number)
{
    if (given)
        g_string_append_printf (out, " %s %" G_GUINT64_FORMAT, key, number);
}

static void
rule_print_range (GString *out, const char *key, const struct rule_range *range)
{
    rule_print_number (out, key, range->given, range->first);
    if (range->given && range->last == UINT64_MAX)
        g_string_append (out, "..");
    else if (range->given && range->last != range->first)
        g_string_append_printf (out, "..%" G_GUINT64_FORMAT, range->last);
}

static void
rule_print_file (GString *out, const struct rule *rule)
{
    const char *before = " type ";

    rule_print_range (out, "owner", &rule->owner);
    for (ia_type_t type = IA_IFREG; rule_types[type]; type++)
        if (rule->types & 1u << type) {
            g_string_append_printf (out, "%s%s", before, rule_types[type]);
            before = ",";
        }
    if (rule->mode.how != MODE_NOT_GIVEN)
        g_string_append_printf (out, " mode %s%04o",
                                rule->mode.how == MODE_ALL_OF   ? "-"
                                : rule->mode.how == MODE_ANY_OF ? "/"
                                                                : "",
                                rule->mode.bits);
}

void
rule_print (const struct rule *rule, GString *out)
{
    opset_print (rule->ops, out);
    rule_print_text (out, "path", rule->path);
    rule_print_text (out, "process", rule->process);
    rule_print_text (out, "volume", rule->volume);
    rule_print_range (out, "uid", &rule->uid);
    rule_print_range (out, "gid", &rule->gid);
    rule_print_range (out, "pid", &rule->pid);
    rule_print_range (out, "offset", &rule->offset);
    rule_print_range (out, "size", &rule->size);
    rule_print_file (out, rule);
    if (rule->grammar->print_conditions)
        rule->grammar->print_conditions (rule, out);
    g_string_append (out, " -> ");
    rule->grammar->print_action (rule, out);
}
