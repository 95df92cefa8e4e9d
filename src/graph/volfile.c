/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parses the text of a volfile into volumes. An invalid statement is reported, and parsing
 * continues at the next keyword, so that one run finds all mistakes. load.c makes the checks that
 * need modules.
 */
#include "graph/internal.h"
#include "core/base/name.h"

#include <errno.h>
#include <string.h>

struct parser {
    struct lexer lexer;
    struct token token; /* the next one */
    struct volfile *volfile;
    struct volfile_volume *volume; /* between `volume` and `end-volume` */
    bool nameless;                 /* volume's name is invalid, so the volume isn't kept */
    GHashTable *by_name;           /* name -> struct volfile_volume, the first of each name */
    GHashTable *options;           /* key -> struct volfile_option, of volume */
    GHashTable *subvolumes;        /* names, of volume */
    struct volfile_place last;             /* of the last keyword */
};

/* --- volumes -------------------------------------------------------------------------------- */

static void
word_free (struct volfile_word *word)
{
    g_free (word->text);
    g_free (word);
}

static void
option_free (struct volfile_option *option)
{
    g_free (option->key);
    g_free (option->value);
    g_free (option);
}

static void
volume_free (struct volfile_volume *volume)
{
    g_free (volume->name);
    g_free (volume->type);
    g_ptr_array_unref (volume->options);
    g_ptr_array_unref (volume->subvolumes);
    g_free (volume);
}

static struct volfile_volume *
volume_new (struct volfile_place place)
{
    struct volfile_volume *volume = g_new0 (struct volfile_volume, 1);

    volume->line = place.line;
    volume->column = place.column;
    volume->options = g_ptr_array_new_with_free_func ((GDestroyNotify) option_free);
    volume->subvolumes = g_ptr_array_new_with_free_func ((GDestroyNotify) word_free);
    return volume;
}

void
volfile_free (struct volfile *volfile)
{
    if (!volfile)
        return;
    g_ptr_array_unref (volfile->volumes);
    g_ptr_array_unref (volfile->problems);
    g_free (volfile->path);
    g_free (volfile->text);
    g_free (volfile);
}

/* --- words ---------------------------------------------------------------------------------- */

/* Returns the name for messages; NULL outside of a volume, or if its name is invalid. */
static const char *
parser_volume (const struct parser *parser)
{
    return parser->volume ? parser->volume->name : NULL;
}

static void
parser_next (struct parser *parser)
{
    token_clear (&parser->token);
    lexer_next (&parser->lexer, &parser->token);
}

/* After an error: skips to the next statement. */
static void
parser_skip (struct parser *parser)
{
    while (parser->token.text && parser->token.keyword == KEYWORD_NONE)
        parser_next (parser);
}

/* Takes the next word, an argument of the keyword at parser->last. Returns false after reporting an
 * error; *ret_word is set if there is a word nevertheless. */
static bool
parser_word (struct parser *parser, const char *usage, struct token *ret_word)
{
    struct token *const token = &parser->token;
    const bool same_line = token->text && token->place.line == parser->last.line;

    if (!token->text || token->keyword == KEYWORD_END_VOLUME
        || (token->keyword != KEYWORD_NONE && !same_line)) {
        problem_error (parser->volfile, parser->last, parser_volume (parser),
                       "incomplete, must be '%s'", usage);
        return false;
    }
    if (token->keyword != KEYWORD_NONE) {
        problem_error (parser->volfile, token->place, parser_volume (parser),
                       "'%s' is a keyword: to use it as a value write it in quotes, \"%s\"",
                       token->text, token->text);
        token->bad = true;
    }
    *ret_word = *token;
    *token = (struct token){ 0 };
    parser_next (parser);
    return !ret_word->bad;
}

/* --- statements ----------------------------------------------------------------------------- */

/* A volume's name is also the name of a folder in .meta, and is part of log lines. */
static bool
name_is_valid (const char *name)
{
    const size_t len = strlen (name);

    if (len == 0 || len > 255 || name_is_dots (name))
        return false;
    for (const char *p = name; *p; p++)
        if (g_ascii_isspace (*p) || g_ascii_iscntrl (*p) || strchr ("/\"\\`'", *p))
            return false;
    return true;
}

static void
parser_set_name (struct parser *parser, struct token *word)
{
    const struct volfile_volume *first = g_hash_table_lookup (parser->by_name, word->text);
    struct volfile_volume *volume = parser->volume;

    if (!name_is_valid (word->text)) {
        problem_error (parser->volfile, word->place, NULL,
                       "'%s' can't be a volume's name: must be 1 to 255 bytes, without spaces, "
                       "quotes, '/' and "
                       "'\\', and not '.' or '..'",
                       word->text);
        return;
    }
    parser->nameless = false;
    volume->name = g_steal_pointer (&word->text);
    if (first) {
        problem_error (parser->volfile, word->place, volume->name,
                       "defined again, first at line %d", first->line);
        volume->again = true;
    } else {
        g_hash_table_insert (parser->by_name, volume->name, volume);
    }
    g_ptr_array_add (parser->volfile->volumes, volume);
}

static void
parser_close_volume (struct parser *parser)
{
    struct volfile_volume *volume = parser->volume;

    if (!volume->type && !volume->type_line)
        problem_error (parser->volfile, (struct volfile_place){ volume->line, volume->column },
                       volume->name, "no type: must have a statement 'type CATEGORY/NAME'");
    g_hash_table_remove_all (parser->options);
    g_hash_table_remove_all (parser->subvolumes);
    if (parser->nameless)
        volume_free (volume);
    parser->volume = NULL;
}

static void
parse_volume (struct parser *parser)
{
    struct token word = { 0 };
    bool good;

    if (parser->volume) {
        problem_error (parser->volfile,
                       (struct volfile_place){ parser->volume->line, parser->volume->column },
                       parser->volume->name, "no 'end-volume' before the next volume, at line %d",
                       parser->last.line);
        parser_close_volume (parser);
    }
    good = parser_word (parser, "volume NAME", &word);
    parser->volume = volume_new (word.text ? word.place : parser->last);
    parser->nameless = true;
    if (good)
        parser_set_name (parser, &word);
    token_clear (&word);
}

/* The suggestion is from the installed modules: the folders of the command line are not known. */
static void
parser_bad_type (struct parser *parser, const struct token *word)
{
    g_autofree char *suggestion = module_suggest (word->text, NULL);

    problem_error (parser->volfile, word->place, parser_volume (parser),
                   "type '%s' must be CATEGORY/NAME, each of letters, digits, '-', '_', '+' "
                   "and single dots%s",
                   word->text, suggestion);
}

static void
parser_set_type (struct parser *parser, struct token *word)
{
    if (strcmp (word->text, "mount/fuse") == 0)
        problem_error (parser->volfile, word->place, parser_volume (parser),
                       "type 'mount/fuse' can't be in a volfile: "
                       "the mount point and its options are given on the command line");
    else if (!type_is_valid (word->text))
        parser_bad_type (parser, word);
    else
        parser->volume->type = g_steal_pointer (&word->text);
}

static void
parse_type (struct parser *parser)
{
    struct volfile_volume *volume = parser->volume;
    struct token word = { 0 };
    const bool good = parser_word (parser, "type CATEGORY/NAME", &word);

    if (volume->type_line) {
        problem_error (parser->volfile, parser->last, volume->name,
                       "a second type, the first is at line %d", volume->type_line);
    } else {
        volume->type_line = word.text ? word.place.line : parser->last.line;
        volume->type_column = word.text ? word.place.column : parser->last.column;
        if (good)
            parser_set_type (parser, &word);
    }
    token_clear (&word);
}

static void
parser_add_option (struct parser *parser, struct token *key, struct token *value, bool bad)
{
    const struct volfile_option *first = g_hash_table_lookup (parser->options, key->text);
    struct volfile_option *option;

    if (first) {
        problem_error (parser->volfile, key->place, parser_volume (parser),
                       "option '%s' is set again, first at line %d", key->text, first->line);
        return;
    }
    if (!parser->volume->type_line && parser->volume->options->len == 0)
        problem_error (parser->volfile, parser->last, parser_volume (parser),
                       "option '%s' before the type: 'type CATEGORY/NAME' must come first",
                       key->text);
    option = g_new0 (struct volfile_option, 1);
    option->key = g_steal_pointer (&key->text);
    option->value = value->text ? g_steal_pointer (&value->text) : g_strdup ("");
    option->line = key->place.line;
    option->column = key->place.column;
    option->value_line = value->place.line;
    option->value_column = value->place.column;
    option->bad = bad;
    g_ptr_array_add (parser->volume->options, option);
    g_hash_table_insert (parser->options, option->key, option);
}

/* Reports "option KEY = VALUE", and skips the value. */
static void
parser_check_equals (struct parser *parser, const struct token *key, struct token *value)
{
    const struct token *next = &parser->token;

    if (strcmp (value->text, "=") != 0 || !next->text || next->keyword != KEYWORD_NONE
        || next->place.line != value->place.line)
        return;
    problem_error (parser->volfile, value->place, parser_volume (parser),
                   "no '=' belongs between an option's key and its value: 'option %s %s'",
                   key->text, next->text);
    value->bad = true;
    parser_skip (parser);
}

static void
parse_option (struct parser *parser)
{
    struct token key = { 0 }, value = { 0 };
    const bool good_key = parser_word (parser, "option KEY VALUE", &key);
    bool good_value = false;

    /* Without a key it is unknown what is missing; the problem is reported already. */
    if (key.text)
        good_value = parser_word (parser, "option KEY VALUE", &value);
    if (good_value)
        parser_check_equals (parser, &key, &value);
    if (good_key)
        parser_add_option (parser, &key, &value, !good_value || value.bad);
    token_clear (&key);
    token_clear (&value);
}

static void
parser_add_subvolume (struct parser *parser, struct token *word)
{
    struct volfile_word *subvolume;

    if (g_hash_table_contains (parser->subvolumes, word->text)) {
        problem_error (parser->volfile, word->place, parser_volume (parser),
                       "subvolume '%s' is named twice", word->text);
        return;
    }
    subvolume = g_new0 (struct volfile_word, 1);
    subvolume->text = g_steal_pointer (&word->text);
    subvolume->line = word->place.line;
    subvolume->column = word->place.column;
    g_ptr_array_add (parser->volume->subvolumes, subvolume);
    g_hash_table_add (parser->subvolumes, subvolume->text);
}

static void
parse_subvolumes (struct parser *parser)
{
    struct token word = { 0 };

    if (parser->volume->subvolumes->len > 0) {
        problem_error (parser->volfile, parser->last, parser_volume (parser),
                       "a second 'subvolumes': name all of them in one statement");
        parser_skip (parser);
        return;
    }
    do {
        if (parser_word (parser, "subvolumes NAME [NAME...]", &word))
            parser_add_subvolume (parser, &word);
        else
            parser->volume->bad_subvolumes = true;
        token_clear (&word);
    } while (parser->token.text && parser->token.keyword == KEYWORD_NONE);
}

/* Skips "// text" or the like, including keywords in it. */
static void
parse_foreign_comment (struct parser *parser)
{
    const int line = parser->token.place.line;

    problem_error (parser->volfile, parser->token.place, parser_volume (parser),
                   "'%.2s': a comment begins with '#', and ends with its line", parser->token.text);
    while (parser->token.text && parser->token.place.line == line)
        parser_next (parser);
    parser_skip (parser);
}

/* Reports a word that isn't a keyword, with a suggestion. */
static void
parse_stray (struct parser *parser)
{
    g_autoptr (GPtrArray) keywords = g_ptr_array_new ();
    g_autofree char *suggestion = NULL;
    const struct token *token = &parser->token;

    for (enum keyword k = KEYWORD_VOLUME; k <= KEYWORD_END_VOLUME; k++)
        g_ptr_array_add (keywords, (char *) keyword_names[k]);
    suggestion = suggest_text (suggest_near (token->text, keywords));
    if (token->bad)
        ; /* reported already */
    else if (strchr ("{}", *token->text))
        problem_error (parser->volfile, token->place, parser_volume (parser),
                       "stray '%s': a volfile has no braces, a volume ends with 'end-volume'",
                       token->text);
    else if (parser->last.line == token->place.line)
        problem_error (parser->volfile, token->place, parser_volume (parser),
                       "stray word '%s': a value with spaces must be in quotes%s", token->text,
                       suggestion);
    else if (parser->volume)
        problem_error (parser->volfile, token->place, parser_volume (parser),
                       "unknown statement '%s': must be type, option, subvolumes or end-volume%s",
                       token->text, suggestion);
    else
        problem_error (parser->volfile, token->place, NULL,
                       "unknown statement '%s' outside of a volume: must be volume%s", token->text,
                       suggestion);
    parser_skip (parser);
}

static void
parse_outside (struct parser *parser, enum keyword keyword)
{
    problem_error (parser->volfile, parser->last, NULL,
                   "'%s' outside of a volume: 'volume NAME' must come first",
                   keyword_names[keyword]);
    if (keyword != KEYWORD_END_VOLUME)
        parser_skip (parser);
}

static void
parse_statement (struct parser *parser)
{
    const enum keyword keyword = parser->token.keyword;

    if (keyword == KEYWORD_NONE) {
        if (g_str_has_prefix (parser->token.text, "//")
            || g_str_has_prefix (parser->token.text, "/*"))
            parse_foreign_comment (parser);
        else
            parse_stray (parser);
        return;
    }
    parser->last = parser->token.place;
    parser_next (parser);
    if (!parser->volume && keyword != KEYWORD_VOLUME)
        parse_outside (parser, keyword);
    else if (keyword == KEYWORD_VOLUME)
        parse_volume (parser);
    else if (keyword == KEYWORD_TYPE)
        parse_type (parser);
    else if (keyword == KEYWORD_OPTION)
        parse_option (parser);
    else if (keyword == KEYWORD_SUBVOLUMES)
        parse_subvolumes (parser);
    else
        parser_close_volume (parser);
}

static void
parse_end (struct parser *parser)
{
    if (parser->volume) {
        problem_error (parser->volfile,
                       (struct volfile_place){ parser->volume->line, parser->volume->column },
                       parser->volume->name, "no 'end-volume' before the end of the file");
        parser_close_volume (parser);
    }
    if (parser->volfile->volumes->len == 0 && !volfile_has_errors (parser->volfile))
        problem_error (parser->volfile, WHOLE_FILE, NULL,
                       "no volume is defined: must have at least one");
}

/* --- children ------------------------------------------------------------------------------- */

/* Returns a suggestion for a name, from the volumes before this one. */
static const char *
child_suggestion (struct volfile *volfile, guint before, const char *name)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new ();

    for (guint i = 0; i < before; i++)
        g_ptr_array_add (names, ((struct volfile_volume *) volfile->volumes->pdata[i])->name);
    return suggest_near (name, names);
}

/* Returns whether `on` is below `from`, in any order of the file. */
static bool
stands_on (const struct parser *parser, const struct volfile_volume *from,
           const struct volfile_volume *on)
{
    g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
    g_autoptr (GPtrArray) next = g_ptr_array_new ();

    g_ptr_array_add (next, (gpointer) from);
    while (next->len > 0) {
        const struct volfile_volume *at = g_ptr_array_steal_index_fast (next, next->len - 1);

        if (at == on)
            return true;
        if (!g_hash_table_add (seen, (gpointer) at))
            continue;
        for (guint i = 0; i < at->subvolumes->len; i++) {
            const struct volfile_word *word = at->subvolumes->pdata[i];
            struct volfile_volume *below = g_hash_table_lookup (parser->by_name, word->text);

            if (below)
                g_ptr_array_add (next, below);
        }
    }
    return false;
}

static void
child_is_later (struct parser *parser, const struct volfile_volume *volume,
                const struct volfile_volume *child, struct volfile_place place)
{
    if (stands_on (parser, child, volume))
        problem_error (parser->volfile, place, volume->name,
                       "subvolume '%s' (line %d) stands on '%s' itself: the volumes form a circle, "
                       "which must be broken",
                       child->name, child->line, volume->name);
    else
        problem_error (parser->volfile, place, volume->name,
                       "subvolume '%s' is defined later, at line %d: define it before '%s'",
                       child->name, child->line, volume->name);
}

static void
child_check (struct parser *parser, guint at, const struct volfile_word *child)
{
    const struct volfile_volume *volume = parser->volfile->volumes->pdata[at];
    const struct volfile_volume *found = g_hash_table_lookup (parser->by_name, child->text);
    const struct volfile_place place = { child->line, child->column };

    if (strcmp (child->text, volume->name) == 0) {
        problem_error (parser->volfile, place, volume->name, "can't be a subvolume of itself");
    } else if (!found) {
        g_autofree char *suggestion = suggest_text (
            child_suggestion (parser->volfile, at, child->text));

        problem_error (parser->volfile, place, volume->name, "subvolume '%s' is not defined%s",
                       child->text, suggestion);
    } else if (found->line > volume->line
               || (found->line == volume->line && found->column > volume->column)) {
        child_is_later (parser, volume, found, place);
    }
}

static void
volfile_check_children (struct parser *parser)
{
    for (guint i = 0; i < parser->volfile->volumes->len; i++) {
        const struct volfile_volume *volume = parser->volfile->volumes->pdata[i];

        for (guint j = 0; j < volume->subvolumes->len && !problems_full (parser->volfile); j++)
            child_check (parser, i, volume->subvolumes->pdata[j]);
    }
}

/* --- files ---------------------------------------------------------------------------------- */

/* Returns false, after one message, if the file is not text, such as a program or an archive. */
static bool
is_text (struct volfile *volfile, size_t size)
{
    const char *const nul = memchr (volfile->text, '\0', size);
    struct volfile_place place = { 1, 1 };

    if (!nul)
        return true;
    for (const char *at = volfile->text; at < nul; at++, place.column++)
        if (*at == '\n')
            place = (struct volfile_place){ place.line + 1, 0 };
    problem_error (volfile, place, NULL,
                   "not text: there is a NUL byte; a volfile is plain text, see volfile(5)");
    return false;
}

struct volfile *
volfile_parse (const char *path, const char *text, size_t size)
{
    struct volfile *volfile = g_new0 (struct volfile, 1);
    struct parser parser = { .volfile = volfile };

    volfile->path = g_strdup (path);
    volfile->text = g_malloc (size + 1);
    if (size)
        memcpy (volfile->text, text, size);
    volfile->text[size] = '\0';
    volfile->volumes = g_ptr_array_new_with_free_func ((GDestroyNotify) volume_free);
    volfile->problems = g_ptr_array_new_with_free_func ((GDestroyNotify) problem_free);
    parser.by_name = g_hash_table_new (g_str_hash, g_str_equal);
    parser.options = g_hash_table_new (g_str_hash, g_str_equal);
    parser.subvolumes = g_hash_table_new (g_str_hash, g_str_equal);
    lexer_init (&parser.lexer, volfile, is_text (volfile, size) ? size : 0);
    parser_next (&parser);
    while (parser.token.text)
        parse_statement (&parser);
    parse_end (&parser);
    volfile_check_children (&parser);
    g_hash_table_unref (parser.by_name);
    g_hash_table_unref (parser.options);
    g_hash_table_unref (parser.subvolumes);
    problems_sort (volfile);
    return volfile;
}

const struct volfile_volume *
volfile_find_volume (const struct volfile *volfile, const char *name)
{
    for (guint i = 0; i < volfile->volumes->len; i++) {
        const struct volfile_volume *volume = volfile->volumes->pdata[i];

        if (strcmp (volume->name, name) == 0)
            return volume;
    }
    return NULL;
}
