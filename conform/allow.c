/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --allow FILE: differences and refusals that the author of a translator intends. A paragraph of
 * the file is a difference, with "case GLOB", "line GLOB" and "why TEXT", or a refusal, with
 * "refuse ERRNO", "by TYPE", "call GLOB" and "why TEXT". */
#include "conform/conform.h"
#include "core/base/errors.h"
#include "core/base/printable.h"
#include "graph/graph.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { CASE, LINE, REFUSE, BY, CALL, WHY, WORDS };

static const char *const allow_words[WORDS] = { "case", "line", "refuse", "by", "call", "why" };

#define OF(word_) (1u << (word_))
#define DIFFERENCE (OF (CASE) | OF (LINE) | OF (WHY))
#define REFUSAL (OF (REFUSE) | OF (BY) | OF (CALL) | OF (WHY))

/* One paragraph. */
struct allowed {
    char *values[WORDS];
    int begun; /* the paragraph's first line in the file */
    int error; /* of a refusal, else 0 */
};

static void
allowed_free (void *data)
{
    struct allowed *allowed = data;

    for (int i = 0; i < WORDS; i++)
        g_free (allowed->values[i]);
    g_free (allowed);
}

/* --- reading -------------------------------------------------------------------------------- */

/* Returns false after a message. */
static bool
allowed_add (struct allowed *allowed, const char *path, int number, const char *line)
{
    const size_t n = strcspn (line, " \t");
    int i = 0;

    while (i < WORDS && (strlen (allow_words[i]) != n || strncmp (line, allow_words[i], n) != 0))
        i++;
    if (i == WORDS || !line[n]) {
        say_line (
            stderr,
            "windlass conform: %s:%d:1: '%s': a line begins with 'case', 'line', 'refuse', 'by', "
            "'call' or 'why', and a blank; see windlass-conform(1)",
            path, number, line);
        return false;
    }
    if (allowed->values[i]) {
        say_line (stderr,
                  "windlass conform: %s:%d:1: a second '%s' in the paragraph of line %d; put an "
                  "empty line between two",
                  path, number, allow_words[i], allowed->begun);
        return false;
    }
    allowed->values[i] = g_strchug (g_strdup (line + n));
    return true;
}

/* Returns false after a message. */
static bool
allowed_is_whole (struct allowed *allowed, const char *path)
{
    const unsigned whole = allowed->values[CASE] || allowed->values[LINE] ? DIFFERENCE : REFUSAL;

    for (int i = 0; i < WORDS; i++) {
        if (!allowed->values[i] == !(whole & OF (i)))
            continue;
        say_line (stderr,
                  "windlass conform: %s:%d:1: this paragraph has %s '%s'; a difference has 'case', "
                  "'line' and 'why', a refusal has 'refuse', 'by', 'call' and 'why'",
                  path, allowed->begun, allowed->values[i] ? "a" : "no", allow_words[i]);
        return false;
    }
    if (whole == DIFFERENCE)
        return true;
    allowed->error = error_of_name (allowed->values[REFUSE]);
    if (allowed->error > 0)
        return true;
    say_line (stderr, "windlass conform: %s:%d:1: 'refuse %s': not the name of an errno, as EROFS",
              path, allowed->begun, allowed->values[REFUSE]);
    return false;
}

static struct allowed *
allowed_new (GPtrArray *all, int begun)
{
    struct allowed *allowed = g_new0 (struct allowed, 1);

    allowed->begun = begun;
    g_ptr_array_add (all, allowed);
    return allowed;
}

static bool
allow_parse (GPtrArray *all, const char *path, char **lines)
{
    struct allowed *now = NULL;

    for (int i = 0; lines[i]; i++) {
        const char *line = g_strstrip (lines[i]);

        if (*line == '#')
            continue;
        if (!*line) {
            now = NULL;
            continue;
        }
        if (!now)
            now = allowed_new (all, i + 1);
        if (!allowed_add (now, path, i + 1, line))
            return false;
    }
    for (guint i = 0; i < all->len; i++)
        if (!allowed_is_whole (all->pdata[i], path))
            return false;
    return true;
}

GPtrArray *
conform_allow_read (const char *path)
{
    g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func (allowed_free);
    g_autoptr (GError) error = NULL;
    g_autofree char *text = NULL;

    if (!g_file_get_contents (path, &text, NULL, &error)) {
        say_line (stderr, "windlass conform: --allow: %s", error->message);
        return NULL;
    }
    g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
    return allow_parse (all, path, lines) ? g_steal_pointer (&all) : NULL;
}

/* --- queries -------------------------------------------------------------------------------- */

const char *
conform_allowed (const struct conform_options *options, const char *case_name, const char *line)
{
    line += strspn (line, " ");
    for (guint i = 0; options->allowed && i < options->allowed->len; i++) {
        const struct allowed *allowed = options->allowed->pdata[i];

        if (!allowed->error && fnmatch (allowed->values[CASE], case_name, FNM_EXTMATCH) == 0
            && fnmatch (allowed->values[LINE], line, FNM_EXTMATCH) == 0)
            return allowed->values[WHY];
    }
    return NULL;
}

char *
conform_without_allowed (const struct conform_options *options, const char *case_name,
                         const char *text, const char **why)
{
    g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
    GString *rest = g_string_new (NULL);

    for (char **line = lines; *line; line++) {
        const char *reason = conform_allowed (options, case_name, *line);

        if (reason)
            *why = reason;
        else
            g_string_append_printf (rest, "%s\n", *line);
    }
    return g_string_free (rest, FALSE);
}

/* --- refusals ------------------------------------------------------------------------------- */

const char *
conform_refused (const struct conform_options *options, const char *call, int error)
{
    for (guint i = 0; options->allowed && i < options->allowed->len; i++) {
        const struct allowed *allowed = options->allowed->pdata[i];

        if (allowed->error > 0 && allowed->error == error
            && (!call || fnmatch (allowed->values[CALL], call, FNM_EXTMATCH) == 0))
            return allowed->values[WHY];
    }
    return NULL;
}

bool
conform_may_refuse (const struct conform_options *options, const char *call)
{
    bool may = false;

    for (guint i = 0; !may && options->allowed && i < options->allowed->len; i++) {
        const struct allowed *allowed = options->allowed->pdata[i];

        may = allowed->error > 0
           && (!call || fnmatch (allowed->values[CALL], call, FNM_EXTMATCH) == 0);
    }
    return may;
}

/* Returns the number from the top, plus one, of the lowest translator of a type that has children;
 * 0 if there is none. */
static guint
allow_lowest (const struct graph *graph, const char *type)
{
    for (guint n = graph->xlators->len; n > 0; n--) {
        const xlator_t *xl = graph->xlators->pdata[n - 1];

        if (xl->children && strcmp (xl->type, type) == 0)
            return n;
    }
    return 0;
}

bool
conform_below (const struct conform_options *options, const struct graph *graph,
               xlator_t **ret_below)
{
    guint lowest = 0;

    for (guint i = 0; options->allowed && i < options->allowed->len; i++) {
        const struct allowed *allowed = options->allowed->pdata[i];
        const guint n = allowed->error ? allow_lowest (graph, allowed->values[BY]) : 0;

        if (allowed->error && n == 0) {
            say_line (stderr,
                      "windlass conform: %s:%d:1: 'by %s': the volfile has no volume of this type "
                      "with subvolumes",
                      options->allow, allowed->begun, allowed->values[BY]);
            return false;
        }
        lowest = MAX (lowest, n);
    }
    *ret_below = lowest ? FIRST_CHILD ((xlator_t *) graph->xlators->pdata[lowest - 1]) : NULL;
    return true;
}
