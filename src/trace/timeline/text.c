/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A tree for each request, followed by the background work that it caused. The columns: the begin,
 * in us since the request's begin; the duration.
 *
 *   request 17: writev /db, offset 0, 4096 bytes, process 812, uid 0, at 0.010211 s
 *        0.000      152.341  fuse (on fuse-0)
 *        0.412      151.002    rot-13-1: writev = 4096
 *        0.991      117.906      posix: writev = 4096 (on worker)
 */
#include "trace/timeline/recording.h"

#include "core/base/errors.h"
#include "core/time/ticks.h"

#define INDENT 2
#define DEPTH_MAX 16      /* levels of causes */
#define BACKGROUND_MAX 256 /* requests per cause; further ones are only counted */

void
recording_text_begin (const struct recording *recording, GString *out)
{
    g_string_append (out, "#    began         took   columns: start, duration (us)\n");
}

static void
append_line (const struct recording *recording, const struct timeline_request *request,
             uint64_t begin, uint64_t end, int indent, GString *out)
{
    const uint64_t from = recording_ns (recording, begin), to = recording_ns (recording, end);

    g_string_append_printf (out, "%12.3f %12.3f  %*s",
                            (from - recording_ns (recording, request->begin)) / 1000.,
                            (to - from) / 1000., indent, "");
}

static void
append_head (const struct recording *recording, const struct timeline_request *request, int indent,
             GString *out)
{
    g_string_append_printf (out, "%*srequest %" G_GUINT64_FORMAT ": %s ", indent, "",
                            request->unique, fop_name (request->op));
    request_path (request, out);
    if (request->size)
        g_string_append_printf (out, ", offset %" G_GINT64_FORMAT ", %u bytes", request->offset,
                                request->size);
    if (request->pid > 0)
        g_string_append_printf (out, ", process %d", request->pid);
    else if (request->pid < 0)
        g_string_append (out, ", windlass itself");
    g_string_append_printf (out, ", uid %u, at %.6f s", request->uid,
                            recording_ns (recording, request->begin) / 1e9);
    if (request->caused_by)
        g_string_append_printf (out, ", in the background, caused by request %" G_GUINT64_FORMAT,
                                request->caused_by);
    if (request->under_way)
        g_string_append (out, ", was under way when the recording began");
    else if (request->broken)
        g_string_append (out, ", some of it was lost");
    g_string_append_c (out, '\n');
}

static void
append_text_answer (const struct span *span, GString *out)
{
    if (span->state == SPAN_OPEN)
        g_string_append (out, ": not answered when the recording ended");
    else if (span->state == SPAN_LOST)
        g_string_append (out, ": its answer was lost");
    else if (span->call && span->op_ret == 0)
        return; /* the result is the translator's */
    else if (span->op_ret < 0)
        g_string_append_printf (out, " = %d %s", span->op_ret, error_name (span->op_errno));
    else
        g_string_append_printf (out, " = %d", span->op_ret);
}

static void
append_spans (const struct recording *recording, const struct timeline_request *request, int indent,
              GString *out)
{
    g_autofree int *depths = g_new (int, request->n_spans);

    for (uint32_t i = 0; i < request->n_spans; i++) {
        const struct span *span = &request->spans[i];
        const struct span *above = span->parent == SPAN_NONE ? NULL : &request->spans[span->parent];

        depths[i] = above ? depths[span->parent] + 1 : 1;
        append_line (recording, request, span->begin, span->end, indent + INDENT * depths[i], out);
        span_name (span, out);
        append_text_answer (span, out);
        if (span->call) {
            g_string_append_c (out, '\n');
            continue;
        }
        if (span->thread != (above ? above->thread : request->spans[0].thread))
            g_string_append_printf (out, " (on %s)", ring_thread_name (span->thread));
        if (span->end_thread != span->thread)
            g_string_append_printf (out, " (answered on %s)", ring_thread_name (span->end_thread));
        g_string_append_c (out, '\n');
    }
}

static void
append_tree (const struct recording *recording, const struct timeline_request *request, int depth,
             GString *out)
{
    const GPtrArray *caused = recording_caused (recording, request);
    const struct span *first = &request->spans[0];
    const int indent = depth * 2 * INDENT;

    append_head (recording, request, indent, out);
    append_line (recording, request, request->begin, request->end, indent, out);
    g_string_append_printf (out, "%s (on %s)\n", request->under_way ? "..." : first->caller,
                            ring_thread_name (first->thread));
    append_spans (recording, request, indent, out);
    for (guint i = 0; caused && depth < DEPTH_MAX && i < caused->len && i < BACKGROUND_MAX; i++)
        append_tree (recording, caused->pdata[i], depth + 1, out);
    if (caused && caused->len > BACKGROUND_MAX)
        g_string_append_printf (out, "%*s... and %u more in the background\n", indent, "",
                                caused->len - BACKGROUND_MAX);
}

void
recording_text_request (const struct recording *recording, guint i, GString *out)
{
    const struct timeline_request *request = recording->requests->pdata[i];

    if (recording_cause (recording, request))
        return; /* printed below its cause */
    append_tree (recording, request, 0, out);
    g_string_append_c (out, '\n');
}
