/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Problems of a volfile: collects, sorts and prints them. */
#include "graph/internal.h"

#include "core/base/printable.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 1000 /* for one problem, in bytes */

/* A volfile may contain any bytes. */
static char *
problem_printable (const char *text)
{
    GString *out = g_string_new (NULL);

    line_append (out, text, TEXT_MAX);
    return g_string_free (out, FALSE);
}

bool
problems_full (const struct volfile *volfile)
{
    return volfile->problems->len > PROBLEMS_MAX;
}

static void
problem_add (struct volfile *volfile, bool warning, struct volfile_place place, const char *volume,
             const char *format, va_list args)
{
    g_autofree char *what = g_strdup_vprintf (format, args);
    g_autofree char *text = volume ? g_strdup_printf ("volume '%s': %s", volume, what)
                                   : g_strdup (what);
    struct problem *problem;

    if (problems_full (volfile))
        return;
    problem = g_new0 (struct problem, 1);
    problem->warning = warning;
    problem->line = place.line;
    problem->column = place.column;
    if (volfile->problems->len == PROBLEMS_MAX)
        problem->text = g_strdup_printf ("more than %d problems: the rest is not shown",
                                         PROBLEMS_MAX);
    else
        problem->text = problem_printable (text);
    problem->warning &= volfile->problems->len < PROBLEMS_MAX;
    g_ptr_array_add (volfile->problems, problem);
}

void
problem_error (struct volfile *volfile, struct volfile_place place, const char *volume,
               const char *format, ...)
{
    va_list args;

    va_start (args, format);
    problem_add (volfile, false, place, volume, format, args);
    va_end (args);
}

void
problem_warning (struct volfile *volfile, struct volfile_place place, const char *volume,
                 const char *format, ...)
{
    va_list args;

    va_start (args, format);
    problem_add (volfile, true, place, volume, format, args);
    va_end (args);
}

void
problem_free (struct problem *problem)
{
    g_free (problem->text);
    g_free (problem);
}

/* Errors first: a warning may be what an error below it led to. */
static gint
problem_compare (gconstpointer a, gconstpointer b)
{
    const struct problem *x = *(const struct problem *const *) a,
                         *y = *(const struct problem *const *) b;
    const int xline = x->line == LINE_OF_COMMAND ? INT_MAX : x->line;
    const int yline = y->line == LINE_OF_COMMAND ? INT_MAX : y->line;

    if (x->warning != y->warning)
        return x->warning ? 1 : -1;
    return xline != yline ? (xline < yline ? -1 : 1)
                          : (x->column > y->column) - (x->column < y->column);
}

/* g_ptr_array_sort is stable. */
void
problems_sort (struct volfile *volfile)
{
    g_ptr_array_sort (volfile->problems, problem_compare);
}

bool
volfile_has_errors (const struct volfile *volfile)
{
    for (guint i = 0; i < volfile->problems->len; i++)
        if (!((const struct problem *) volfile->problems->pdata[i])->warning)
            return true;
    return false;
}

void
problem_append (const struct volfile *volfile, const struct problem *problem, GString *out)
{
    if (problem->line == LINE_OF_COMMAND)
        g_string_append (out, "command line");
    else
        g_string_append (out, volfile->path);
    if (problem->line > 0)
        g_string_append_printf (out, ":%d:%d", problem->line, problem->column);
    g_string_append_printf (out, ": %s: %s", problem->warning ? "warning" : "error",
                            problem->text);
}

void
volfile_append_problems (const struct volfile *volfile, GString *out)
{
    for (guint i = 0; i < volfile->problems->len; i++) {
        problem_append (volfile, volfile->problems->pdata[i], out);
        g_string_append_c (out, '\n');
    }
}

void
volfile_print_problems (const struct volfile *volfile)
{
    g_autoptr (GString) out = g_string_new (NULL);

    volfile_append_problems (volfile, out);
    fputs (out->str, stderr);
}
