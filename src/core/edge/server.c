/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "core/data/dict.h"
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

/* --- volumes ---------------------------------------------------------------------------------- */

static const gfid_t *
volume_of (const struct fan_answer *answer)
{
    size_t size = 0;
    const gfid_t *volume = answer->op == FOP_lookup && answer->op_ret >= 0
                             ? dict_get (answer->lookup.xdata, VOLUME_ID, &size)
                             : NULL;

    return size == sizeof *volume ? volume : NULL;
}

bool
servers_are_of_one_volume (xlator_t *this, xlator_t *const *children, const struct fan_out *fan)
{
    g_autoptr (GString) bricks = g_string_new (NULL);
    const gfid_t *first = NULL;
    bool same = true;
    char text[GFID_TEXT_SIZE];

    for (unsigned i = 0; i < fan->n; i++) {
        const gfid_t *volume = volume_of (&fan->answers[i]);

        if (!volume)
            continue;
        first = first ? first : volume;
        same &= gfid_equal (volume, first);
        g_string_append_printf (bricks, "%s%s of %s", bricks->len ? ", " : "", children[i]->name,
                                gfid_text (volume, text));
    }
    if (!same)
        gf_log (this, GF_LOG_ERROR,
                "all subvolumes must be bricks of one volume (" VOLUME_ID "), got %s; correct "
                "remote-host and remote-subvolume of the wrong ones in the volfile",
                bricks->str);
    return same;
}
