/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of the command `windlass conform` that runs histories: those of random scripts, or one
 * of a script in a file. It ends at the first history that fails, and reports it with its script. A
 * random script is shortened first, as long as its history fails. */
#include "conform/history/history.h"
#include "core/base/errors.h"
#include "core/time/random.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHRINK_RUNS 2000 /* maximum number of histories that are run to shorten a script */

/* Appends the log of a history without its first line, which is the number of operations. */
static void
history_report_log (GString *out, const char *log)
{
    const char *start = strchr (log, '\n');

    g_string_append (out, "\nwhat happened:\n");
    g_string_append (out, start ? start + 1 : "");
}

/* Writes text, which is the script as text, to a file, so that the user can run it again. Returns
 * the path of the file, which the caller frees with g_free, or NULL on error. */
static char *
history_save (const struct conform_options *options, const struct script *script, const char *text)
{
    g_autofree char *name = g_strdup_printf ("windlass-history-%" G_GUINT64_FORMAT ".txt",
                                             script->seed);
    char *path = g_build_filename (options->directory, name, NULL);

    if (g_file_set_contents (path, text, -1, NULL))
        return path;
    g_free (path);
    return NULL;
}

/* length: what the report says of the script, such as that it was shortened. */
static void
history_report (const struct conform_options *options, struct conform_report *report,
                const char *name, const struct script *script, const char *length,
                const struct history_verdict *verdict)
{
    GString *out = g_string_new (NULL);
    g_autofree char *text = script_text (script), *path = history_save (options, script, text);
    g_autofree char *word = path ? g_shell_quote (path) : NULL;
    g_autofree char *more = word ? g_strdup_printf ("--history %s", word) : NULL;
    g_autofree char *command = conform_repeat (options, "history", more);

    g_string_append_printf (out, "%s\n\nthe history%s:\n%s", verdict->text, length, text);
    history_report_log (out, verdict->log);
    conform_fail (report, name, command, out->str);
    g_string_free (out, TRUE);
}

/* Reports that a history passed. The report has a checksum of the log of all events. It is the same
 * in each run of the script, so that a user can see that two runs were the same. */
static void
history_report_passed (struct conform_report *report, const char *name,
                       const struct history_verdict *verdict)
{
    g_autofree char *sum = g_compute_checksum_for_string (G_CHECKSUM_SHA256, verdict->log, -1);
    g_autofree char *text = g_strdup_printf ("%s: %u operations, %.12s", name, verdict->seen, sum);

    conform_pass (report, text);
}

/* Shortens a script whose history has failed, and runs it once more. Returns 0 with the shorter
 * script, and its verdict in place of the first one; 0 with a NULL if that history does not fail;
 * or a negative errno. */
static int
run_shortest (const struct conform_options *options, const struct script *script,
              struct script **ret_shortest, struct history_verdict *verdict)
{
    struct script *shortest = script_shrink (options, script, SHRINK_RUNS);
    struct history_verdict again = { 0 };
    const int r = history_run (options, shortest, &again);

    *ret_shortest = NULL;
    if (r < 0 || !again.failed) {
        verdict_clear (&again);
        script_free (shortest);
        return r;
    }
    verdict_clear (verdict);
    *verdict = again;
    *ret_shortest = shortest;
    return 0;
}

/* Reports a history that has failed. Returns 1, or a negative errno. */
static int
run_failed (const struct conform_options *options, struct conform_report *report, const char *name,
            const struct script *script, bool shrink, struct history_verdict *verdict)
{
    struct script *shortest = NULL;
    const int r = shrink ? run_shortest (options, script, &shortest, verdict) : 0;

    if (r == 0)
        history_report (options, report, name, shortest ? shortest : script,
                        shortest ? ", as short as it would go"
                        : shrink ? " at full length: it did not fail again, so another run may pass"
                                 : "",
                        verdict);
    script_free (shortest);
    return r < 0 ? r : 1;
}

/* Runs the history of the script, and reports whether it passed. Returns 0 if it passed or is
 * permitted to fail, 1 if it failed, or a negative errno if it could not be run. shrink: whether
 * the script of a history that fails is shortened before the report. */
static int
run_one (const struct conform_options *options, struct conform_report *report, const char *name,
         const struct script *script, bool shrink)
{
    struct history_verdict verdict = { 0 };
    int r = history_run (options, script, &verdict);

    if (r < 0)
        return r;
    if (verdict.failed)
        r = run_failed (options, report, name, script, shrink, &verdict);
    else if (verdict.by_design)
        conform_by_design (report, name, verdict.by_design);
    else
        history_report_passed (report, name, &verdict);
    verdict_clear (&verdict);
    return r;
}

static int
run_file (const struct conform_options *options, struct conform_report *report)
{
    g_autofree char *error = NULL;
    struct script *script = script_read (options->history, &error);
    int r;

    if (!script) {
        fprintf (stderr, "windlass conform: %s\n", error);
        return -1;
    }
    r = run_one (options, report, "history", script, false);
    script_free (script);
    return error_or_0 (r);
}

static int
run_seed (const struct conform_options *options, struct conform_report *report, uint64_t seed,
          unsigned abilities)
{
    g_autofree char *name = g_strdup_printf ("history/%" G_GUINT64_FORMAT, seed);
    struct script *script = script_make (options, seed, abilities);
    const int r = run_one (options, report, name, script, true);

    script_free (script);
    return r;
}

static int
run_seeds (const struct conform_options *options, struct conform_report *report)
{
    unsigned abilities;
    int r = history_probe (options, &abilities);

    g_autofree char *group = g_strdup_printf ("histories from seed %" G_GUINT64_FORMAT,
                                              options->seed);
    conform_group (report, group);
    for (unsigned i = 0; i < options->histories && r == 0; i++)
        r = run_seed (options, report, options->seed + i, abilities);
    conform_group_end (report);
    return error_or_0 (r);
}

/* The scratch directories of all histories are in one common directory. Its keeper is a process
 * that removes this directory if the present process is killed (conform.h). One keeper serves all
 * histories: the start of one for each history would take as long as the history. */
int
conform_histories (const struct conform_options *options, struct conform_report *report)
{
    struct conform_options kept = *options;
    g_autofree char *scratch = NULL;
    struct conform_keeper *keeper;
    int r;

    if (options->list)
        printf ("history\n");
    if (options->list || !conform_wanted (options, "history")
        || (!options->history && options->histories == 0))
        return 0;
    scratch = conform_scratch_kept (options, &keeper);
    if (!scratch)
        return -EIO;
    kept.scratch = scratch;
    r = options->history ? run_file (&kept, report) : run_seeds (&kept, report);
    conform_scratch_remove (scratch);
    conform_keeper_end (keeper);
    return r;
}
