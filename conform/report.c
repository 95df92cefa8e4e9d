/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Results of cases: one line per group, failures in full, and the counts at the end. */
#include "conform/conform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
conform_report_init (struct conform_report *report, bool verbose)
{
    *report = (struct conform_report){ .verbose = verbose,
                                       .terminal = isatty (STDERR_FILENO) && !verbose };
    report->group_skipped = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

int
conform_report_end (struct conform_report *report)
{
    conform_group_end (report);
    g_hash_table_destroy (report->group_skipped);
    if (report->passed + report->failed + report->skipped + report->by_design > 0)
        printf ("%u passed, %u failed, %u skipped, %u differ by design\n", report->passed,
                report->failed, report->skipped, report->by_design);
    return report->failed ? 1 : 0;
}

/* --- groups --------------------------------------------------------------------------------- */

/* Goes to the start of the line and clears it. */
static void
report_wipe (const struct conform_report *report)
{
    if (report->terminal)
        fputs ("\r\033[K", stderr);
}

static void
report_progress (const struct conform_report *report)
{
    const unsigned done = report->group_passed + report->group_failed + report->group_by_design;

    if (report->terminal && report->group && done % 16 == 0)
        fprintf (stderr, "\r\033[K%s: %u", report->group, done);
}

void
conform_group (struct conform_report *report, const char *name)
{
    conform_group_end (report);
    report->group_passed = report->group_failed = report->group_by_design = 0;
    report->group = g_strdup (name);
    report_progress (report);
}

int
conform_by_text (const void *a, const void *b)
{
    return strcmp (*(char *const *) a, *(char *const *) b);
}

/* "; 3 skipped: needs root", by reason. */
static void
report_print_skipped (struct conform_report *report)
{
    guint n;
    g_autofree char **reasons = (char **) g_hash_table_get_keys_as_array (report->group_skipped,
                                                                          &n);

    qsort (reasons, n, sizeof *reasons, conform_by_text);
    for (guint i = 0; i < n; i++)
        printf ("; %u skipped: %s",
                GPOINTER_TO_UINT (g_hash_table_lookup (report->group_skipped, reasons[i])),
                reasons[i]);
}

static const char *
report_word (const struct conform_report *report)
{
    return report->group_failed                           ? "FAIL"
         : report->group_passed + report->group_by_design ? "ok"
                                                          : "skip";
}

void
conform_group_end (struct conform_report *report)
{
    if (!report->group)
        return;
    report_wipe (report);
    printf ("%-4s %s: %u passed", report_word (report), report->group, report->group_passed);
    if (report->group_failed)
        printf (", %u failed", report->group_failed);
    if (report->group_by_design)
        printf (", %u differ by design", report->group_by_design);
    report_print_skipped (report);
    printf ("\n");
    fflush (stdout);
    g_clear_pointer (&report->group, g_free);
    g_hash_table_remove_all (report->group_skipped);
    report->group_passed = report->group_failed = report->group_by_design = 0;
}

/* --- cases ---------------------------------------------------------------------------------- */

/* A line for a single case, without a group or in verbose mode. */
static void
report_line (const struct conform_report *report, const char *word, const char *case_name,
             const char *more)
{
    if (report->group && !report->verbose)
        return;
    report_wipe (report);
    printf ("%-4s %s%s%s\n", word, case_name, *more ? ": " : "", more);
    fflush (stdout);
}

void
conform_pass (struct conform_report *report, const char *case_name)
{
    report->passed++;
    report->group_passed++;
    report_line (report, "ok", case_name, "");
    report_progress (report);
}

void
conform_by_design (struct conform_report *report, const char *case_name, const char *reason)
{
    g_autofree char *more = g_strconcat ("differs by design: ", reason, NULL);

    report->by_design++;
    report->group_by_design++;
    report_line (report, "ok", case_name, more);
}

void
conform_skip (struct conform_report *report, const char *case_name, const char *reason)
{
    gpointer count = g_hash_table_lookup (report->group_skipped, reason);

    report->skipped++;
    if (report->group)
        g_hash_table_replace (report->group_skipped, g_strdup (reason),
                              GUINT_TO_POINTER (GPOINTER_TO_UINT (count) + 1));
    report_line (report, "skip", case_name, reason);
}

void
conform_fail (struct conform_report *report, const char *case_name, const char *repeat_command,
              const char *text)
{
    g_autofree char *copy = g_strchomp (g_strdup (text));
    g_auto (GStrv) lines = g_strsplit (copy, "\n", -1);

    report->failed++;
    report->group_failed++;
    report_wipe (report);
    printf ("FAIL %s\n", case_name);
    for (char **line = lines; *line; line++)
        printf ("    %s\n", *line);
    printf ("    repeat: %s\n", repeat_command);
    fflush (stdout);
}
