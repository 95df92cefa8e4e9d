/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass errors: the last failures, the newest last. */
#include "daemon/daemon.h"

#include "core/base/errors.h"
#include "core/report/failures.h"
#include "core/base/json.h"
#include "core/base/printable.h"
#include "trace/swallowed.h"

#include <errno.h>
#include <string.h>

#define ALLOWED "json, clear, record=notable, record=all and record=swallowed"

struct listing {
    GString *out;
    bool json, any;
};

static void
errors_append_time (GString *out, const struct timespec *when)
{
    struct tm tm;
    char text[32];

    gmtime_r (&when->tv_sec, &tm);
    strftime (text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    g_string_append_printf (out, "%s.%06ld +0000", text, when->tv_nsec / 1000);
}

/* --- as text ---------------------------------------------------------------------------------- */

static void
errors_append_site (GString *out, const struct call_site *site)
{
    if (site)
        g_string_append_printf (out, " at %s:%d (%s)", site->file, site->line, site->function);
}

static void
append_step (GString *out, const struct failure_step *step)
{
    g_string_append (out, step->below ? "    then:      '" : "    first:     '");
    line_append (out, step->translator, 256);
    g_string_append_printf (out, "' (%s) ", step->type);
    if (!step->below)
        g_string_append_printf (out, "said %s", error_name (step->op_errno));
    else if (!step->op_errno)
        g_string_append_printf (out, "made success of %s", error_name (step->below));
    else if (step->op_errno == step->below)
        g_string_append_printf (out, "passed %s on", error_name (step->op_errno));
    else
        g_string_append_printf (out, "changed %s to %s", error_name (step->below),
                                error_name (step->op_errno));
    errors_append_site (out, step->site);
    g_string_append_c (out, '\n');
    if (!step->why)
        return;
    g_string_append (out, "    reason:    ");
    line_append (out, step->why, 1024);
    g_string_append_c (out, '\n');
}

static void
errors_append_text (GString *out, const struct failure *failure)
{
    errors_append_time (out, &failure->last);
    g_string_append_printf (out, " request %" G_GUINT64_FORMAT ": %s", failure->unique,
                            fop_name (failure->op));
    if (*failure->path) {
        g_string_append (out, " of ");
        line_append (out, failure->path, 4096);
    }
    if (failure->op_errno)
        g_string_append_printf (out, " failed: %s (%s)", error_name (failure->op_errno),
                                g_strerror (failure->op_errno));
    else
        g_string_append (out, " went well all the same");
    if (failure->times > 1) {
        g_string_append_printf (out, ", %u times since ", failure->times);
        errors_append_time (out, &failure->first);
    }
    if (failure->caused_by)
        g_string_append_printf (out, "; in the background, caused by request %" G_GUINT64_FORMAT,
                                failure->caused_by);
    g_string_append_printf (out, "\n    process:   %s, uid %u\n", failure->process, failure->uid);
    for (unsigned i = 0; i < failure->n; i++)
        append_step (out, &failure->steps[i]);
    if (failure->more)
        g_string_append_printf (out, "    and %u more translators\n", failure->more);
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static void
append_json_error (GString *out, const char *key, int op_errno)
{
    g_string_append_printf (out, "\"%s\": ", key);
    json_append_string (out, op_errno ? error_name (op_errno) : NULL);
}

static void
append_json_step (GString *out, const struct failure_step *step)
{
    g_string_append (out, "{\"translator\": ");
    json_append_string (out, step->translator);
    g_string_append (out, ", \"type\": ");
    json_append_string (out, step->type);
    g_string_append (out, ", ");
    append_json_error (out, "answered", step->op_errno);
    g_string_append (out, ", ");
    append_json_error (out, "was_answered", step->below);
    g_string_append (out, ", \"file\": ");
    json_append_string (out, step->site ? step->site->file : NULL);
    g_string_append_printf (out,
                            ", \"line\": %d, \"function\": ", step->site ? step->site->line : 0);
    json_append_string (out, step->site ? step->site->function : NULL);
    g_string_append (out, ", \"reason\": ");
    json_append_string (out, step->why);
    g_string_append_c (out, '}');
}

static void
errors_append_json (GString *out, const struct failure *failure)
{
    g_string_append (out, "{\"time\": \"");
    errors_append_time (out, &failure->last);
    g_string_append_printf (out,
                            "\", \"times\": %u, \"unique\": %" G_GUINT64_FORMAT
                            ", \"caused_by\": %" G_GUINT64_FORMAT ", \"fop\": \"%s\", ",
                            failure->times, failure->unique, failure->caused_by,
                            fop_name (failure->op));
    append_json_error (out, "error", failure->op_errno);
    g_string_append (out, ", \"path\": ");
    json_append_string (out, *failure->path ? failure->path : NULL);
    g_string_append_printf (out, ", \"pid\": %d, \"process\": ", failure->pid);
    json_append_string (out, failure->process);
    g_string_append_printf (out, ", \"uid\": %u, \"steps\": [", failure->uid);
    for (unsigned i = 0; i < failure->n; i++) {
        if (i)
            g_string_append (out, ", ");
        append_json_step (out, &failure->steps[i]);
    }
    g_string_append_printf (out, "], \"more_steps\": %u}", failure->more);
}

/* --- all failures ----------------------------------------------------------------------------- */

static void
append_one (const struct failure *failure, void *data)
{
    struct listing *listing = data;

    if (listing->json) {
        g_string_append (listing->out, listing->any ? ",\n" : "");
        errors_append_json (listing->out, failure);
    } else {
        errors_append_text (listing->out, failure);
    }
    listing->any = true;
}

static void
errors_append_all (GString *out, bool json)
{
    struct listing listing = { out, json, false };
    uint64_t before;

    g_string_append (out, json ? "{\"errors\": [" : "");
    before = failures_foreach (append_one, &listing);
    if (json)
        g_string_append_printf (out, "], \"forgotten\": %" G_GUINT64_FORMAT "}\n", before);
    else if (before)
        g_string_append_printf (out, "%" G_GUINT64_FORMAT " before those are forgotten\n", before);
    else if (!listing.any)
        g_string_append (out, "no failure since the mount, or since they were cleared; what the "
                              "kernel itself refuses (mode, owner, allow_other) is not here\n");
}

static bool
set_record (GPtrArray *xlators, const char *what, GString *answer)
{
    const bool all = strcmp (what, "all") == 0, swallowed = strcmp (what, "swallowed") == 0;

    if (!all && !swallowed && strcmp (what, "notable") != 0)
        return false;
    failures_set_level (all ? FAILURES_ALL : FAILURES_NOTABLE);
    if (swallowed_is_on (xlators) != swallowed)
        swallowed_set (xlators, swallowed);
    g_string_append_printf (
        answer, "from now on recorded: %s\n",
        all         ? "all failures of requests"
        : swallowed ? "notable failures, also those that a translator turned into success"
                    : "notable failures of requests");
    return true;
}

int
command_errors (void *data, GBytes *input, GString *answer)
{
    const struct running *running = data;
    g_auto (GStrv) words = command_words (input);
    bool json = false, list = true;

    for (char **word = words; *word; word++) {
        if (strcmp (*word, "json") == 0) {
            json = true;
        } else if (strcmp (*word, "clear") == 0) {
            failures_clear ();
            g_string_append (answer, "the recorded failures are deleted\n");
            list = false;
        } else if (g_str_has_prefix (*word, "record=")
                   && set_record (running->graph->xlators, *word + strlen ("record="), answer)) {
            list = false;
        } else {
            return command_refuse_word (*word, ALLOWED, answer);
        }
    }
    if (list)
        errors_append_all (answer, json);
    return 0;
}
