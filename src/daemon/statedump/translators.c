/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/statedump/internal.h"

#include "trace/metrics/numbers.h"

char *
dump_section_of (const xlator_t *xl)
{
    g_autofree char *type = g_strdelimit (g_strdup (xl->type), "/", '.');

    return g_strdup_printf ("%s.%s", type, xl->name);
}

/* If it was measured. */
static void
append_latency (GString *out, const xlator_t *xl)
{
    bool any = false;

    for (unsigned op = FOP_NONE + 1; op < FOP_MAX; op++) {
        g_autofree char *name = g_ascii_strup (fop_name (op), -1);
        struct numbers_sum sum;

        if (!numbers_sum (xl, op, &sum) || sum.count == 0)
            continue;
        if (!any)
            g_string_append_printf (out, "\n[%s.latency]\n", xl->name);
        any = true;
        g_string_append_printf (out,
                                "%s.latency.%s=AVG:%f CNT:%" G_GUINT64_FORMAT
                                " TOTAL:%" G_GUINT64_FORMAT " MIN:%" G_GUINT64_FORMAT
                                " MAX:%" G_GUINT64_FORMAT "\n",
                                xl->name,
                                op == FOP_readv    ? "READ"
                                : op == FOP_writev ? "WRITE"
                                                   : name,
                                (double) sum.sum / sum.count, sum.count, sum.sum, sum.min, sum.max);
    }
}

void
dump_translator (GString *out, xlator_t *xl, const struct dump_wanted *wanted)
{
    g_autofree char *section = dump_section_of (xl);

    if (wanted->priv) {
        append_latency (out, xl);
        g_string_append_printf (out, "\n[xlator.%s.priv]\n", section);
        if (xl->ready && xl->api->dumpops.priv)
            xl->api->dumpops.priv (xl, out);
    }
    if (wanted->history && xl->ready && xl->api->dumpops.history) {
        g_string_append_printf (out, "\n[xlator.%s.history]\n", section);
        xl->api->dumpops.history (xl, out);
    }
}

void
dump_translators (GString *out, const struct graph *graph, const struct dump_wanted *wanted)
{
    g_string_append_printf (out, "\n[active graph - %u]\n", graph->id + 1);
    for (guint i = 0; i < graph->xlators->len; i++)
        dump_translator (out, graph->xlators->pdata[i], wanted);
}
