/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For the functions of a struct rule_grammar: reads words and values of a rule.
 *
 * A reader stands at a token. read_action gets the one behind the arrow. A function that takes a
 * value reads the token and moves to the next. An error is reported once a line, with the place of
 * the token, and the rest of the line is skipped; so these functions return something in any case.
 */
#ifndef WINDLASS_CORE_RULES_RULE_READER_H
#define WINDLASS_CORE_RULES_RULE_READER_H

#include "core/rules/rules.h"

enum rule_token { TOKEN_END, TOKEN_NEWLINE, TOKEN_ARROW, TOKEN_COMMA, TOKEN_WORD, TOKEN_TEXT };

struct rule_reader {
    const char *file;
    const char *at, *end, *line_start;
    int line;
    const struct rule_grammar *grammar;
    GArray *rules; /* of struct rule */
    GString *errors;
    unsigned n_errors;
    /* the present token */
    enum rule_token token;
    int column;
    GString *text; /* of a word or a quoted text */
    bool bad;      /* the line has an error, which was reported */
};

void rule_reader_next (struct rule_reader *reader);
void rule_reader_next_line (struct rule_reader *reader); /* for rules_parse */
bool rule_reader_is (const struct rule_reader *reader, const char *word); /* in any case */
bool rule_reader_is_number (const struct rule_reader *reader); /* begins with a digit */
bool rule_reader_ends_line (const struct rule_reader *reader);

/* Reports an error at the token, or at another column. */
#define rule_wrong(reader_, ...) rule_wrong_at (reader_, (reader_)->column, __VA_ARGS__)
void rule_wrong_at (struct rule_reader *reader, int column, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

/* Reports "expected WHAT, got 'lokup'; did you mean 'lookup'?". near: NULL, or the word meant;
 * rule_expected_one: the one of words, NULL at the end, that is nearest to the token. */
void rule_expected (struct rule_reader *reader, const char *what, const char *near);
void rule_expected_one (struct rule_reader *reader, const char *what, const char *const *words);

/* what: the name of the value, for messages. */
uint64_t rule_take_number (struct rule_reader *reader, const char *what, uint64_t min,
                           uint64_t max);
void rule_take_range (struct rule_reader *reader, const char *what, struct rule_range *ret_range);
void rule_take_text (struct rule_reader *reader, const char *what, char **ret_text); /* g_free it */

/* Reads digits at *at and advances it. Returns false if there are none, or too many. */
bool rule_read_digits (const char **at, uint64_t *ret_number);

/* Returns a copy of bytes of any source in which those that don't print are '?', at most 64. */
char *rule_shown (const char *text);

/* Print a condition after a blank, if it is given. */
void rule_print_number (GString *out, const char *key, bool given, uint64_t number);
void rule_print_text (GString *out, const char *key, const char *text);

#endif
