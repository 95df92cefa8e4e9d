/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "fuse;rot-13-1:writev;posix:writev 17906": a stack of translators, and the nanoseconds that the
 * last one took itself, without those of its children. The format of flame graph tools. */
#include "trace/timeline/recording.h"

#include "core/time/ticks.h"

/* A name within a line, in which ';' ends a name and the last blank ends the stack. */
static void
append_folded_name (GString *out, const char *name)
{
    const gsize since = out->len;

    g_string_append (out, name);
    for (char *p = out->str + since; *p; p++)
        if (*p == ';' || g_ascii_iscntrl (*p))
            *p = '_';
}

static void
append_folded_span (const struct recording *recording, const struct span *span, GString *out)
{
    g_autoptr (GString) call = g_string_new (NULL);

    g_string_append_c (out, ';');
    if (span->call) {
        span_name (span, call);
        append_folded_name (out, call->str);
        return;
    }
    append_folded_name (out, span->callee);
    g_string_append_printf (out, ":%s", fop_name (span->op));
}

static char *
stack_of (const struct recording *recording, const struct timeline_request *request, uint32_t i)
{
    GString *out = g_string_new (NULL);
    g_autoptr (GArray) way = g_array_new (FALSE, FALSE, sizeof (uint32_t));

    append_folded_name (out, request->under_way ? "(under way)" : request->spans[0].caller);
    if (request->caused_by)
        g_string_append (out, " (background)");
    for (; i != SPAN_NONE; i = request->spans[i].parent)
        g_array_append_val (way, i);
    for (guint k = way->len; k-- > 0;)
        append_folded_span (recording, &request->spans[g_array_index (way, uint32_t, k)], out);
    return g_string_free (out, FALSE);
}

static void
folded_add (GHashTable *stacks, char *stack, uint64_t ns)
{
    uint64_t *sum = g_hash_table_lookup (stacks, stack);

    if (sum) {
        *sum += ns;
        g_free (stack);
        return;
    }
    sum = g_new (uint64_t, 1);
    *sum = ns;
    g_hash_table_insert (stacks, stack, sum);
}

/* Children are ordered by their beginning; time in which several ran side by side counts once. */
static uint64_t
own_ticks (const struct timeline_request *request, uint32_t parent, uint64_t begin, uint64_t end)
{
    uint64_t own = end - begin, covered = begin;

    for (uint32_t i = parent == SPAN_NONE ? 0 : parent + 1; i < request->n_spans; i++) {
        const struct span *child = &request->spans[i];

        if (child->parent != parent || child->end <= covered)
            continue;
        own -= child->end - MAX (child->begin, covered);
        covered = child->end;
    }
    return own;
}

void
recording_fold_request (const struct recording *recording, guint i, GHashTable *stacks)
{
    const struct timeline_request *request = recording->requests->pdata[i];
    const uint64_t own = own_ticks (request, SPAN_NONE, request->begin, request->end);

    if (ticks_to_ns (own) > 0)
        folded_add (stacks, stack_of (recording, request, SPAN_NONE), ticks_to_ns (own));
    for (uint32_t k = 0; k < request->n_spans; k++) {
        const struct span *span = &request->spans[k];

        folded_add (stacks, stack_of (recording, request, k),
                    ticks_to_ns (own_ticks (request, k, span->begin, span->end)));
    }
}
