/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "core/edge/server.h"

#ifdef HAVE_SYS_SDT_H
#include <sys/sdt.h>
#else
#define STAP_PROBE4(...)
#define STAP_PROBE6(...)
#endif

void (*server_call_hook) (const struct server_call *call);

void
server_call_sent (const struct server_call *call)
{
    STAP_PROBE4 (windlass, server_send, call->request, call->xl->name, call->server, call->name);
}

void
server_call_answered (const struct server_call *call)
{
    void (*hook) (const struct server_call *call) =
        __atomic_load_n (&server_call_hook, __ATOMIC_ACQUIRE);

    STAP_PROBE6 (windlass, server_reply, call->request, call->xl->name, call->server, call->name,
                 call->took, call->error);
    if (hook)
        hook (call);
}

bool
xlator_server (xlator_t *xl, struct server_report *ret_report)
{
    if (!xl->api || !xl->ready || !xl->api->dumpops.server)
        return false;
    *ret_report = (struct server_report){ .silent = -1 };
    xl->api->dumpops.server (xl, ret_report);
    return true;
}

void
server_report_clear (struct server_report *report)
{
    g_clear_pointer (&report->name, g_free);
    g_clear_pointer (&report->problem, g_free);
    histogram_clear (&report->round_trips);
}

const char *
server_state_name (enum server_state state)
{
    static const char *const names[] = { "down", "connecting", "up" };

    return names[state];
}

void
server_report_dump (const struct server_report *report, GString *out)
{
    g_string_append_printf (out, "brick=%s\nstate=%s\nfor_s=%.1f\n", report->name,
                            server_state_name (report->state), report->since / 1e9);
    if (report->problem)
        g_string_append_printf (out, "problem=%s\n", report->problem);
    if (report->silent >= 0)
        g_string_append_printf (out, "last_heard_s=%.1f\n", report->silent / 1e9);
    g_string_append_printf (out, "calls_under_way=%u\ncalls_waiting=%u\n", report->outstanding,
                            report->waiting);
    g_string_append_printf (out,
                            "calls=%" G_GUINT64_FORMAT "\nbytes_sent=%" G_GUINT64_FORMAT
                            "\nbytes_received=%" G_GUINT64_FORMAT "\n",
                            report->calls, report->sent, report->received);
    g_string_append_printf (out,
                            "round_trip_us=%.0f\nround_trip_p99_us=%.0f\n",
                            (double) histogram_quantile (&report->round_trips, 0.5) / 1e3,
                            (double) histogram_quantile (&report->round_trips, 0.99) / 1e3);
}
