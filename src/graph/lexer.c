/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The words of a volfile. Separators are space, tab, CR, LF, and comments from a '#' at the start
 * of a word to the end of the line. A bare word contains any characters except these, '"' and '\';
 * a quoted word has \x for any x, and ends on its line. GlusterFS runs `commands` before it reads a
 * volfile; Windlass never does, and reports an error.
 */
#include "graph/internal.h"

#include <string.h>

const char *const keyword_names[] = {
    [KEYWORD_VOLUME] = "volume",         [KEYWORD_TYPE] = "type",
    [KEYWORD_OPTION] = "option",         [KEYWORD_SUBVOLUMES] = "subvolumes",
    [KEYWORD_END_VOLUME] = "end-volume",
};

void
lexer_init (struct lexer *lexer, struct volfile *volfile, size_t size)
{
    const char *text = volfile->text;

    *lexer = (struct lexer){ .volfile = volfile, .at = text, .end = text + size, .line = 1 };
    if (size >= 3 && memcmp (text, "\xef\xbb\xbf", 3) == 0)
        lexer->at += 3; /* a byte order mark, from an editor */
    lexer->line_start = lexer->at;
}

void
token_clear (struct token *token)
{
    g_free (token->text);
    *token = (struct token){ 0 };
}

static bool
lexer_is_space (char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct volfile_place
lexer_place (const struct lexer *lexer)
{
    return (struct volfile_place){ lexer->line, (int) (lexer->at - lexer->line_start) + 1 };
}

static void
lexer_skip_line (struct lexer *lexer)
{
    while (lexer->at < lexer->end && *lexer->at != '\n')
        lexer->at++;
}

/* Returns the length of a character that looks like a space but isn't allowed, such as U+00A0; 0 if
 * there is none. */
static size_t
odd_space (const char *at, const char *end)
{
    const gunichar c = g_utf8_get_char_validated (at, end - at);

    if ((gint32) c < 0x80 || (!g_unichar_isspace (c) && c != 0x200b && c != 0xfeff))
        return 0;
    return g_utf8_next_char (at) - at;
}

/* Reports such characters and skips them like a space, so that the next word isn't a second
 * error. */
static void
lexer_odd_spaces (struct lexer *lexer)
{
    size_t size;

    problem_error (lexer->volfile, lexer_place (lexer), NULL,
                   "a space that doesn't separate words (U+%04X): write an ordinary one, or the "
                   "whole word in quotes",
                   (unsigned) g_utf8_get_char (lexer->at));
    while (lexer->at < lexer->end && (size = odd_space (lexer->at, lexer->end)) > 0)
        lexer->at += size;
}

/* Returns whether the lexer is at a space, or at the end of the text. */
static bool
lexer_at_space (const struct lexer *lexer)
{
    return lexer->at == lexer->end || lexer_is_space (*lexer->at)
        || odd_space (lexer->at, lexer->end) > 0;
}

static void
lexer_skip_space (struct lexer *lexer)
{
    while (lexer->at < lexer->end) {
        if (*lexer->at == '#') {
            lexer_skip_line (lexer);
        } else if (odd_space (lexer->at, lexer->end) > 0) {
            lexer_odd_spaces (lexer);
        } else if (!lexer_is_space (*lexer->at)) {
            return;
        } else if (*lexer->at++ == '\n') {
            lexer->line++;
            lexer->line_start = lexer->at;
        }
    }
}

/* Skips `command` with its quotes, or the rest of the line if the second quote is missing. */
static void
lexer_backtick (struct lexer *lexer, struct token *token)
{
    problem_error (lexer->volfile, lexer_place (lexer), NULL,
                   "a '`': shell commands are never run from a volfile; write the value itself");
    token->bad = true;
    for (lexer->at++; lexer->at < lexer->end && *lexer->at != '\n'; lexer->at++)
        if (*lexer->at == '`') {
            lexer->at++;
            return;
        }
}

static void
lexer_quoted (struct lexer *lexer, struct token *token, GString *word)
{
    for (lexer->at++; lexer->at < lexer->end && *lexer->at != '\n';) {
        const bool more = lexer->at + 1 < lexer->end && lexer->at[1] != '\n';

        if (*lexer->at == '"') {
            lexer->at++;
            return;
        }
        if (*lexer->at == '`') {
            lexer_backtick (lexer, token);
        } else {
            if (*lexer->at == '\\' && more)
                lexer->at++;
            g_string_append_c (word, *lexer->at++);
        }
    }
    problem_error (lexer->volfile, token->place, NULL, "the '\"' is not closed on its line");
    token->bad = true;
}

static void
lexer_bare (struct lexer *lexer, struct token *token, GString *word)
{
    while (!lexer_at_space (lexer) && *lexer->at != '"') {
        if (*lexer->at == '`') {
            lexer_backtick (lexer, token);
        } else if (*lexer->at == '\\') {
            if (!token->bad)
                problem_error (
                    lexer->volfile, lexer_place (lexer), NULL,
                    "a '\\' outside of quotes: write the word as \"...\", with \\\\ for each '\\'");
            token->bad = true;
            lexer->at++;
        } else {
            g_string_append_c (word, *lexer->at++);
        }
    }
}

/* Reports two words without a space between them: a quote doesn't join adjacent words. */
static void
lexer_glued (struct lexer *lexer, struct token *token)
{
    if (!token->bad)
        problem_error (lexer->volfile, lexer_place (lexer), NULL,
                       "quotes must enclose a whole word: a space is missing, or '\"' must be "
                       "written \\\" in quotes");
    token->bad = true;
    for (bool quoted = false; lexer->at < lexer->end && *lexer->at != '\n'; lexer->at++) {
        if (!quoted && lexer_is_space (*lexer->at))
            return;
        quoted ^= *lexer->at == '"';
    }
}

static enum keyword
lexer_keyword (const char *word)
{
    if (strcmp (word, "subvolumeS") == 0)
        return KEYWORD_SUBVOLUMES; /* accepted by GlusterFS */
    for (enum keyword k = KEYWORD_VOLUME; k <= KEYWORD_END_VOLUME; k++)
        if (strcmp (word, keyword_names[k]) == 0)
            return k;
    return KEYWORD_NONE;
}

void
lexer_next (struct lexer *lexer, struct token *ret_token)
{
    GString *word;
    bool quoted;

    lexer_skip_space (lexer);
    *ret_token = (struct token){ .place = lexer_place (lexer) };
    if (lexer->at == lexer->end)
        return;
    word = g_string_new (NULL);
    quoted = *lexer->at == '"';
    if (quoted)
        lexer_quoted (lexer, ret_token, word);
    else
        lexer_bare (lexer, ret_token, word);
    if (!lexer_at_space (lexer) && !(quoted && *lexer->at == '#'))
        lexer_glued (lexer, ret_token);
    ret_token->text = g_string_free (word, FALSE);
    if (!quoted && !ret_token->bad)
        ret_token->keyword = lexer_keyword (ret_token->text);
}

static bool
has_odd_space (const char *word)
{
    const char *end = word + strlen (word);

    for (const char *at = word; at < end; at++)
        if (odd_space (at, end))
            return true;
    return false;
}

bool
word_needs_quotes (const char *word)
{
    return !*word || has_odd_space (word) || *word == '#' || word[strcspn (word, " \t\r\n\"\\`")]
           || lexer_keyword (word) != KEYWORD_NONE;
}
