/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass inflight: the requests without an answer, the oldest first. It is for stuck mounts, so
 * it waits for no thread that serves requests. The answer is bounded, since the main thread makes
 * it.
 */
#include "daemon/daemon.h"

#include "core/time/clock.h"
#include "core/base/json.h"
#include "core/work/job.h"
#include "core/work/limit.h"
#include "core/base/printable.h"
#include "core/report/request-snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 200 /* each takes several reads of /proc */

/* A request to be shown, if it still exists then. */
struct candidate {
    const call_stack_t *root;
    int64_t begin;
};

struct collection {
    int64_t before; /* clock_roughly: only requests that began before */
    GArray *candidates;
};

LOOKS_AT_RUNNING_REQUESTS static void
collect (const call_stack_t *root, void *data)
{
    struct collection *collection = data;
    const struct candidate candidate = { root, root->begin };

    if (candidate.begin <= collection->before)
        g_array_append_val (collection->candidates, candidate);
}

static int
by_age (const void *a, const void *b)
{
    const int64_t one = ((const struct candidate *) a)->begin,
                  other = ((const struct candidate *) b)->begin;

    return (one > other) - (one < other);
}

/* --- as text ---------------------------------------------------------------------------------- */

static void
append_place (GString *out, const struct seen_frame *frame)
{
    g_string_append_c (out, '\'');
    line_append (out, frame->xl->name, 256);
    g_string_append_printf (out, "' (%s), asked for %s by %s at %s:%d", frame->xl->type,
                            fop_name (frame->op), frame->from ? frame->from->function : "?",
                            frame->from ? frame->from->file : "?",
                            frame->from ? frame->from->line : 0);
}

static void
append_way (GString *out, const struct seen_request *seen)
{
    struct way_step steps[SEEN_FRAMES + 1] = { { seen->maker, 0 } };

    for (unsigned i = 0; i < seen->n; i++) {
        steps[i + 1] = (struct way_step){ seen->frames[i].xl, 0 };
        for (unsigned j = 0; j < i; j++)
            if (seen->frames[j].frame == seen->frames[i].parent)
                steps[i + 1].parent = j + 1;
    }
    way_append (out, steps, seen->n + 1, seen->more);
    g_string_append_c (out, '\n');
}

static void
append_steps (GString *out, const struct seen_request *seen)
{
    for (unsigned i = 0; i < seen->n; i++) {
        const struct seen_frame *frame = &seen->frames[i];

        if (!frame->step.name)
            continue;
        g_string_append_printf (out, "    runs:      %s of '", fop_name (frame->op));
        line_append (out, frame->xl->name, 256);
        step_append (g_string_append (out, "', "), &frame->step);
        g_string_append_c (out, '\n');
    }
}

static void
inflight_append_text (GString *out, const struct seen_request *seen)
{
    g_string_append_printf (out, "request %" G_GUINT64_FORMAT ": %s", seen->unique,
                            fop_name (seen->op));
    if (*seen->path) {
        g_string_append (out, " of ");
        line_append (out, seen->path, SEEN_PATH);
    }
    g_string_append_printf (out, ", for %.1f s", seen->age / 1e9);
    if (seen->caused_by)
        g_string_append_printf (out, ", caused by request %" G_GUINT64_FORMAT, seen->caused_by);
    g_string_append (out, "\n    process:   ");
    process_append (out, seen->pid);
    g_string_append_printf (out, ", uid %u", seen->uid);
    if (seen->internal)
        line_append (g_string_append (out, ", for translator "), seen->internal, 256);
    g_string_append_c (out, '\n');
    append_steps (out, seen);
    for (unsigned i = 0; i < seen->n; i++) {
        if (!seen->frames[i].last)
            continue;
        g_string_append (out, "    now at:    ");
        append_place (out, &seen->frames[i]);
        g_string_append (out, "\n    waits for: ");
        seen_waits_for (seen, &seen->frames[i], out);
        g_string_append_c (out, '\n');
    }
    g_string_append (out, "    way:       ");
    append_way (out, seen);
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static void
inflight_append_string (GString *out, const char *key, const char *text)
{
    g_string_append_printf (out, "\"%s\": ", key);
    json_append_string (out, text);
}

static void
append_json_frame (GString *out, const struct seen_request *seen, const struct seen_frame *frame)
{
    g_autoptr (GString) waits = g_string_new (NULL);

    g_string_append_c (out, '{');
    inflight_append_string (out, "translator", frame->xl->name);
    g_string_append (out, ", ");
    inflight_append_string (out, "type", frame->xl->type);
    g_string_append_printf (out, ", \"fop\": \"%s\", ", fop_name (frame->op));
    inflight_append_string (out, "function", frame->from ? frame->from->function : NULL);
    g_string_append (out, ", ");
    inflight_append_string (out, "file", frame->from ? frame->from->file : NULL);
    g_string_append_printf (out, ", \"line\": %d", frame->from ? frame->from->line : 0);
    if (frame->step.name) {
        g_string_append (out, ", ");
        inflight_append_string (out, "step", frame->step.name);
        g_string_append_printf (out, ", \"undoes\": %s", frame->step.undoes ? "true" : "false");
    }
    if (frame->last) {
        seen_waits_for (seen, frame, waits);
        g_string_append (out, ", ");
        inflight_append_string (out, "waits_for", waits->str);
    }
    g_string_append_c (out, '}');
}

static void
inflight_append_json (GString *out, const struct seen_request *seen)
{
    g_autoptr (GString) process = g_string_new (NULL);

    process_append (process, seen->pid);
    g_string_append_printf (out,
                            "{\"unique\": %" G_GUINT64_FORMAT ", \"age\": %.3f, \"fop\": \"%s\", ",
                            seen->unique, seen->age / 1e9, fop_name (seen->op));
    inflight_append_string (out, "path", *seen->path ? seen->path : NULL);
    g_string_append_printf (out, ", \"pid\": %d, ", seen->pid);
    inflight_append_string (out, "process", process->str);
    g_string_append (out, ", ");
    inflight_append_string (out, "internal", seen->internal);
    g_string_append_printf (out,
                            ", \"uid\": %u, \"gid\": %u, \"caused_by\": %" G_GUINT64_FORMAT
                            ", \"frames\": [",
                            seen->uid, seen->gid, seen->caused_by);
    for (unsigned i = 0; i < seen->n; i++) {
        if (i)
            g_string_append (out, ", ");
        append_json_frame (out, seen, &seen->frames[i]);
    }
    g_string_append_printf (out, "], \"more_frames\": %u}", seen->more);
}

/* --- all requests ----------------------------------------------------------------------------- */

static unsigned
inflight_append_all (GString *out, const GArray *candidates, bool json)
{
    struct seen_request seen;
    unsigned shown = 0;

    for (guint i = 0; i < candidates->len && shown < SHOWN_MAX; i++) {
        if (!stack_see (g_array_index (candidates, struct candidate, i).root, true, &seen)
            || seen.n == 0)
            continue;
        if (json && shown)
            g_string_append (out, ",\n");
        json ? inflight_append_json (out, &seen) : inflight_append_text (out, &seen);
        shown++;
    }
    return shown;
}

void
inflight_append (GString *out, int64_t older, bool json)
{
    g_autoptr (GArray) candidates = g_array_new (FALSE, FALSE, sizeof (struct candidate));
    struct collection collection = { clock_roughly () - older, candidates };
    unsigned shown, more;

    xlators_pin ();
    stack_foreach (collect, &collection);
    g_array_sort (candidates, by_age);
    if (json)
        g_string_append (out, "{\"requests\": [");
    shown = inflight_append_all (out, candidates, json);
    xlators_unpin ();
    more = candidates->len > SHOWN_MAX ? candidates->len - SHOWN_MAX : 0;
    if (json) {
        g_string_append_printf (out, "], \"more\": %u, \"jobs\": ", more);
        jobs_list_json (out);
        g_string_append (out, "}\n");
        return;
    }
    if (more)
        g_string_append_printf (out, "and %u more, younger ones\n", more);
    else if (shown == 0)
        g_string_append (out, "no request waits\n");
    limit_list (out);
    jobs_list (out);
}

int
command_inflight (void *data, GBytes *input, GString *answer)
{
    g_auto (GStrv) words = command_words (input);
    int64_t older = 0;
    bool json = false;

    for (char **word = words; *word; word++) {
        char *end = NULL;

        if (strcmp (*word, "json") == 0)
            json = true;
        else if (g_str_has_prefix (*word, "older="))
            older = g_ascii_strtoll (*word + strlen ("older="), &end, 10);
        else
            return command_refuse_word (*word, "json and older=NANOSECONDS", answer);
        if (end && (*end || older < 0))
            return command_refuse_word (*word, "json and older=NANOSECONDS", answer);
    }
    inflight_append (answer, older, json);
    return 0;
}
