/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The Trace Event format of chrome://tracing, which Perfetto reads as well. A track is a lane
 * (recording.c), not a thread. So a request is in one piece, on whichever threads it ran, and there
 * are as many tracks as concurrent requests. All are "X" events, which include their end. "s" and
 * "f" lead from a cause to its background work, and to spans that run beside their siblings. A
 * server is a process of its own, and its tracks are the calls that it had at the same time.
 */
#include "trace/timeline/recording.h"

#include "core/base/errors.h"
#include "core/base/json.h"
#include "core/time/ticks.h"

#include <string.h>

#define PID 1
#define PID_OF_SERVER(i_) (PID + 1 + (i_))
#define NAMED_LANES 4096 /* further lanes have a number */

static void
append_us (GString *out, const char *key, uint64_t ns)
{
    g_string_append_printf (out, ",\"%s\":%" G_GUINT64_FORMAT ".%03u", key, ns / 1000,
                            (unsigned) (ns % 1000));
}

static void
append_json_text (GString *out, const char *key, const char *text)
{
    g_string_append_printf (out, ",\"%s\":", key);
    json_append_string (out, text);
}

/* Up to the arguments: {"ph":"X","pid":1,...,"args":{"request":17 */
static void
open_slice_of (const struct recording *recording, const struct timeline_request *request,
               unsigned pid, uint32_t lane, uint64_t begin, uint64_t end, const char *name,
               const char *category, GString *out)
{
    const uint64_t from = recording_ns (recording, begin), to = recording_ns (recording, end);

    g_string_append_printf (out, ",\n{\"ph\":\"X\",\"pid\":%u,\"tid\":%u", pid, lane + 1);
    append_us (out, "ts", from);
    append_us (out, "dur", to - from);
    append_json_text (out, "name", name);
    append_json_text (out, "cat", category);
    g_string_append_printf (out, ",\"args\":{\"request\":%" G_GUINT64_FORMAT, request->unique);
}

static void
open_slice (const struct recording *recording, const struct timeline_request *request,
            uint32_t lane, uint64_t begin, uint64_t end, const char *name, const char *category,
            GString *out)
{
    open_slice_of (recording, request, PID, lane, begin, end, name, category, out);
}

/* phase: "s", or "f", which refers to the slice around it. */
static void
append_flow (const struct recording *recording, const char *phase, uint64_t id, uint32_t lane,
             uint64_t ticks, const char *name, GString *out)
{
    g_string_append_printf (out, ",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%u", phase, PID, lane + 1);
    append_us (out, "ts", recording_ns (recording, ticks));
    g_string_append_printf (out, ",\"id\":%" G_GUINT64_FORMAT ",\"name\":\"%s\",\"cat\":\"%s\"%s}",
                            id, name, name, *phase == 'f' ? ",\"bp\":\"e\"" : "");
}

static void
append_thread_name (uint32_t lane, GString *out)
{
    g_string_append_printf (out,
                            ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"ts\":0,\"name\":\"thread_"
                            "name\",\"args\":{\"name\":\"requests "
                            "%u\"}}",
                            PID, lane + 1, lane + 1);
    g_string_append_printf (out,
                            ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"ts\":0,\"name\":\"thread_"
                            "sort_index\",\"args\":{\"sort_index\":"
                            "%u}}",
                            PID, lane + 1, lane + 1);
}

static void
append_server_name (const struct recording_server *server, GString *out)
{
    g_string_append_printf (out,
                            ",\n{\"ph\":\"M\",\"pid\":%u,\"tid\":0,\"ts\":0,"
                            "\"name\":\"process_name\",\"args\":{\"name\":",
                            PID_OF_SERVER (server->number));
    json_append_string (out, server->name);
    g_string_append (out, "}}");
    for (unsigned lane = 0; lane < MIN (server->n_lanes, NAMED_LANES); lane++)
        g_string_append_printf (out,
                                ",\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"ts\":0,"
                                "\"name\":\"thread_name\",\"args\":{\"name\":\"calls %u\"}}",
                                PID_OF_SERVER (server->number), lane + 1, lane + 1);
}

void
recording_json_begin (const struct recording *recording, GString *out)
{
    const struct timeline_counts *counts = &recording->counts;
    g_autoptr (GDateTime) when = g_date_time_new_from_unix_utc (recording->when.tv_sec);
    g_autofree char *text = g_date_time_format_iso8601 (when);

    g_string_append_printf (out,
                            "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"program\":\"windlass\","
                            "\"begin\":\"%s\",\"nanoseconds\":%" G_GUINT64_FORMAT,
                            text, recording_ns (recording, recording->end));
    g_string_append_printf (out,
                            ",\"requests\":%" G_GUINT64_FORMAT ",\"kept\":%" G_GUINT64_FORMAT
                            ",\"filtered\":%" G_GUINT64_FORMAT ",\"dropped\":%" G_GUINT64_FORMAT
                            ",\"lost_records\":%" G_GUINT64_FORMAT "}",
                            counts->seen, counts->kept, counts->filtered, counts->dropped,
                            counts->lost);
    g_string_append_printf (out,
                            ",\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"ts\":0,"
                            "\"name\":\"process_name\",\"args\":{"
                            "\"name\":\"windlass\"}}",
                            PID);
    for (uint32_t lane = 0; lane < MIN (recording->n_lanes, NAMED_LANES); lane++)
        append_thread_name (lane, out);
    for (guint i = 0; i < recording->servers->len; i++)
        append_server_name (recording->servers->pdata[i], out);
}

void
recording_json_end (const struct recording *recording, GString *out)
{
    g_string_append (out, "\n]}\n");
}

static void
append_whole (const struct recording *recording, const struct timeline_request *request,
              const char *path, GString *out)
{
    g_autofree char *name = g_strdup_printf ("%s%s%s", fop_name (request->op), *path ? " " : "",
                                             path);

    open_slice (recording, request, request->lane, request->begin, request->end, name,
                request->caused_by ? "background" : "request", out);
    if (*path)
        append_json_text (out, "path", path);
    if (request->pid)
        g_string_append_printf (out, ",\"process\":%d", request->pid);
    g_string_append_printf (out, ",\"uid\":%u,\"offset\":%" G_GINT64_FORMAT ",\"size\":%u",
                            request->uid, request->offset, request->size);
    if (request->caused_by)
        g_string_append_printf (out, ",\"caused_by\":%" G_GUINT64_FORMAT, request->caused_by);
    if (request->under_way)
        g_string_append (out, ",\"note\":\"was under way when the recording began\"");
    else if (request->broken)
        g_string_append (out, ",\"note\":\"some of it was lost\"");
    g_string_append (out, "}}");
}

static void
append_json_answer (const struct span *span, GString *out)
{
    if (span->state != SPAN_ANSWERED) {
        append_json_text (out, "note",
                          span->state == SPAN_OPEN ? "not answered when the recording ended"
                                              : "its answer was lost");
        return;
    }
    if (!span->call)
        g_string_append_printf (out, ",\"op_ret\":%d", span->op_ret);
    if (span->op_ret < 0)
        append_json_text (out, "op_errno", error_name (span->op_errno));
}

static void
append_json_call (const struct recording *recording, const struct timeline_request *request,
                  const struct span *span, GString *out)
{
    const struct recording_server *server = recording_server_of (recording, span);
    g_autoptr (GString) name = g_string_new (NULL);

    span_name (span, name);
    open_slice_of (recording, request, PID_OF_SERVER (server->number), span->lane, span->begin,
                   span->end, name->str, "server", out);
    append_json_text (out, "from", span->caller);
    append_json_answer (span, out);
    g_string_append (out, "}}");
}

static void
append_json_span (const struct recording *recording, const struct timeline_request *request,
                  uint32_t i, GString *out)
{
    const struct span *span = &request->spans[i];
    const uint32_t above = span->parent == SPAN_NONE ? request->lane
                                                     : request->spans[span->parent].lane;
    const uint64_t flow = request->sequence << 16 | (i + 1);
    g_autofree char *name = g_strdup_printf ("%s: %s", span->callee, fop_name (span->op));

    open_slice (recording, request, span->lane, span->begin, span->end, name, fop_name (span->op),
                out);
    append_json_text (out, "from", span->caller);
    append_json_text (out, "thread", ring_thread_name (span->thread));
    if (span->end_thread != span->thread)
        append_json_text (out, "answered_on", ring_thread_name (span->end_thread));
    append_json_answer (span, out);
    g_string_append (out, "}}");
    if (span->lane == above)
        return;
    append_flow (recording, "s", flow, above, span->begin, "beside", out);
    append_flow (recording, "f", flow, span->lane, span->begin, "beside", out);
}

/* From the translator that began the background work, in the request that caused it; or from the
 * beginning of that request. */
static void
append_cause (const struct recording *recording, const struct timeline_request *request,
              GString *out)
{
    const struct timeline_request *cause = recording_cause (recording, request);
    uint64_t from;
    uint32_t lane;

    if (!cause)
        return;
    from = cause->begin;
    lane = cause->lane;
    for (uint32_t i = 0; i < cause->n_spans; i++)
        if (cause->spans[i].callee == request->spans[0].caller
            && cause->spans[i].begin <= request->begin) {
            from = cause->spans[i].begin;
            lane = cause->spans[i].lane;
        }
    append_flow (recording, "s", request->sequence << 16, lane, from, "caused", out);
    append_flow (recording, "f", request->sequence << 16, request->lane, request->begin, "caused",
                 out);
}

void
recording_json_request (const struct recording *recording, guint i, GString *out)
{
    const struct timeline_request *request = recording->requests->pdata[i];
    g_autoptr (GString) path = g_string_new (NULL);

    request_path (request, path);
    append_whole (recording, request, path->str, out);
    for (uint32_t k = 0; k < request->n_spans; k++)
        if (request->spans[k].call)
            append_json_call (recording, request, &request->spans[k], out);
        else
            append_json_span (recording, request, k, out);
    append_cause (recording, request, out);
}
