/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Words, quoted texts and values of rules.
 *
 * GScanner does not fit: it takes numbers, names and comments as in C, and gives no column for a
 * word that is cut short.
 */
#include "core/rules/rule-reader.h"

#include "core/base/suggest.h"

#include <string.h>

/* --- errors ----------------------------------------------------------------------------------- */

char *
rule_shown (const char *text)
{
    g_autofree char *some = g_strndup (text, 64);

    for (char *p = some; *p; p++)
        if (!g_ascii_isprint (*p))
            *p = '?';
    return g_strconcat (some, strlen (text) > 64 ? "..." : "", NULL);
}

void
rule_wrong_at (struct rule_reader *reader, int column, const char *format, ...)
{
    va_list args;

    if (reader->bad)
        return;
    reader->bad = true;
    if (reader->n_errors++ >= RULES_ERRORS_MAX)
        return;
    va_start (args, format);
    g_string_append_printf (reader->errors, "%s%s:%d:%d: ", reader->errors->len ? "\n" : "",
                            reader->file, reader->line, column);
    g_string_append_vprintf (reader->errors, format, args);
    va_end (args);
}

void
rule_expected (struct rule_reader *reader, const char *what, const char *near)
{
    g_autofree char *suggestion = suggest_text (near), *text = rule_shown (reader->text->str);

    if (reader->token == TOKEN_END || reader->token == TOKEN_NEWLINE)
        rule_wrong (reader, "expected %s, the line ends here", what);
    else if (reader->token == TOKEN_ARROW || reader->token == TOKEN_COMMA)
        rule_wrong (reader, "expected %s, got '%s'", what,
                    reader->token == TOKEN_ARROW ? "->" : ",");
    else
        rule_wrong (reader, "expected %s, got '%s'%s", what, text, suggestion);
}

void
rule_expected_one (struct rule_reader *reader, const char *what, const char *const *words)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new ();

    for (; *words; words++)
        g_ptr_array_add (names, (char *) *words);
    rule_expected (reader, what,
                   reader->token == TOKEN_WORD ? suggest_near (reader->text->str, names) : NULL);
}

/* --- words ------------------------------------------------------------------------------------ */

static bool
rule_word_ends (const struct rule_reader *reader)
{
    return reader->at == reader->end || strchr (" \t\r\n,\"#", *reader->at)
           || (*reader->at == '-' && reader->at + 1 < reader->end && reader->at[1] == '>');
}

static void
rule_read_text (struct rule_reader *reader)
{
    const char *at = reader->at + 1;

    for (; at < reader->end && *at != '\n' && *at != '"'; at++) {
        if (*at == '\\' && at + 1 < reader->end && (at[1] == '"' || at[1] == '\\'))
            at++;
        g_string_append_c (reader->text, *at);
    }
    reader->at = at;
    if (reader->at == reader->end || *reader->at == '\n')
        rule_wrong (reader, "the text that begins here has no '\"' at its end");
    else
        reader->at++;
    if (reader->text->len == 0)
        rule_wrong (reader, "a text must not be empty");
}

static void
rule_read_word (struct rule_reader *reader)
{
    while (!rule_word_ends (reader))
        g_string_append_c (reader->text, *reader->at++);
}

static void
rule_skip_blanks (struct rule_reader *reader)
{
    while (reader->at < reader->end && strchr (" \t\r", *reader->at))
        reader->at++;
    if (reader->at < reader->end && *reader->at == '#')
        while (reader->at < reader->end && *reader->at != '\n')
            reader->at++;
}

void
rule_reader_next (struct rule_reader *reader)
{
    rule_skip_blanks (reader);
    g_string_truncate (reader->text, 0);
    reader->column = (int) (reader->at - reader->line_start) + 1;
    if (reader->at == reader->end) {
        reader->token = TOKEN_END;
    } else if (*reader->at == '\n') {
        reader->token = TOKEN_NEWLINE;
    } else if (*reader->at == ',') {
        reader->at++;
        reader->token = TOKEN_COMMA;
    } else if (*reader->at == '"') {
        reader->token = TOKEN_TEXT;
        rule_read_text (reader);
    } else if (rule_word_ends (reader)) {
        reader->at += 2;
        reader->token = TOKEN_ARROW;
    } else {
        reader->token = TOKEN_WORD;
        rule_read_word (reader);
    }
    for (const char *c = reader->text->str; *c; c++)
        if (g_ascii_iscntrl (*c))
            rule_wrong (reader, "there must be no control characters");
    if (reader->text->len > RULE_TEXT_MAX)
        rule_wrong (reader, "a word or a text must have at most %d bytes, got %zu", RULE_TEXT_MAX,
                    reader->text->len);
}

bool
rule_reader_ends_line (const struct rule_reader *reader)
{
    return reader->token == TOKEN_END || reader->token == TOKEN_NEWLINE;
}

bool
rule_reader_is (const struct rule_reader *reader, const char *word)
{
    return reader->token == TOKEN_WORD && g_ascii_strcasecmp (reader->text->str, word) == 0;
}

bool
rule_reader_is_number (const struct rule_reader *reader)
{
    return reader->token == TOKEN_WORD && g_ascii_isdigit (*reader->text->str);
}

void
rule_reader_next_line (struct rule_reader *reader)
{
    while (reader->at < reader->end && *reader->at != '\n')
        reader->at++;
    if (reader->at < reader->end)
        reader->at++;
    reader->line_start = reader->at;
    reader->line++;
    reader->bad = false;
}

/* --- values ----------------------------------------------------------------------------------- */

bool
rule_read_digits (const char **at, uint64_t *ret_number)
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

uint64_t
rule_take_number (struct rule_reader *reader, const char *what, uint64_t min, uint64_t max)
{
    g_autofree char *text = rule_shown (reader->text->str);
    const char *at = reader->text->str;
    uint64_t number = 0;

    if (reader->token != TOKEN_WORD)
        rule_expected (reader, what, NULL);
    else if (!rule_read_digits (&at, &number) || *at || number < min || number > max)
        rule_wrong (reader,
                    "%s must be a whole number, %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
                    ", got '%s'",
                    what, min, max, text);
    rule_reader_next (reader);
    return number;
}

void
rule_take_range (struct rule_reader *reader, const char *what, struct rule_range *ret_range)
{
    g_autofree char *text = rule_shown (reader->text->str);
    const char *at = reader->text->str;
    struct rule_range range = { .given = true };
    bool good = reader->token == TOKEN_WORD && rule_read_digits (&at, &range.first);

    range.last = range.first;
    if (good && g_str_has_prefix (at, "..")) {
        at += 2;
        range.last = UINT64_MAX;
        good = !*at || rule_read_digits (&at, &range.last);
    }
    if (reader->token != TOKEN_WORD)
        rule_expected (reader, what, NULL);
    else if (!good || *at || range.last < range.first)
        rule_wrong (reader,
                    "%s must be a number such as 4096, or a range such as 0..511 or 4096.., got "
                    "'%s'",
                    what, text);
    *ret_range = range;
    rule_reader_next (reader);
}

void
rule_take_text (struct rule_reader *reader, const char *what, char **ret_text)
{
    if (reader->token != TOKEN_TEXT && reader->token != TOKEN_WORD) {
        rule_expected (reader, what, NULL);
        return;
    }
    *ret_text = g_strdup (reader->text->str);
    rule_reader_next (reader);
}
