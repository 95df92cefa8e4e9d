/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Limits how many of the kernel's requests run below at a time, by class, so that slow reads leave
 * processors for a getattr, and a thread that takes it. core/work/limit.h is the mechanism,
 * doc/bridge.md the rule.
 *
 * Measured with 2 processors, medians of three rounds. Beside 64 readers of a child that blocks for
 * 10 ms, a getattr takes 1.2 times as long as alone through io_uring and 2.0 from the device;
 * beside 1,000 readers 1.45 and 1.7. The readers get 7,100 calls a second. Beside 64 readers of
 * cold files it takes 5.4 and 2.4 times as long, with 12,700 reads a second: it waits for a
 * processor that one of four operations has. With 2 operations for each processor and half a
 * millisecond, the readers get all that disk and child can give. With 8 for each processor a
 * getattr takes six times as long.
 */
#include "fuse/threads/limits.h"

#include "core/base/printable.h"
#include "core/work/work.h"
#include "fuse/state.h"

#define FOR_EACH_PROCESSOR 2
/* nanoseconds after which an operation is assumed to wait for something other than a processor */
#define AGE INT64_C (500000)

/* old: the number of threads for older operations. The sum is below WORK_THREADS, so that no class
 * uses up the threads of another. */
static const struct class {
    const char *kind, *option, *name;
    unsigned old;
} limits_classes[LIMIT_CLASSES] = {
    [LIMIT_DATA] = { "data operations", "data-limit", "data", 512 },
    [LIMIT_NAMES] = { "operations on names and attributes", "name-limit", "name", 384 },
    [LIMIT_SYNC] = { "sync operations", "sync-limit", "sync", 96 },
};

static enum limit_class
class_of (enum fop op)
{
    if (opset_has (OPS_CHANGE_DATA | OPSET_OF (FOP_readv) | OPSET_OF (FOP_seek), op))
        return LIMIT_DATA;
    return op == FOP_fsync || op == FOP_fsyncdir ? LIMIT_SYNC : LIMIT_NAMES;
}

static unsigned
most_of (int setting)
{
    return setting ? (unsigned) setting
                   : CLAMP (FOR_EACH_PROCESSOR * g_get_num_processors (), 1, LIMIT_MOST);
}

void
limits_begin (struct bridge *bridge)
{
    xlator_t *top = bridge->graph->top;

    for (unsigned i = 0; i < LIMIT_CLASSES; i++)
        bridge->limits.classes[i] = limit_new (limits_classes[i].kind, limits_classes[i].option,
                                               most_of (bridge->settings.limits[i]), AGE,
                                               limits_classes[i].old);
    limit_run_anyway (bridge->limits.classes[LIMIT_NAMES]); /* a getattr is answered even by the
                                                             * last thread that takes requests */
    for (unsigned op = 0; op < FOP_MAX; op++)
        bridge->limits.routes.of[op] = bridge->limits.classes[class_of (op)];
    bridge->limits.routes.gate.fops = &limited_fops;
    top->gate = &bridge->limits.routes.gate;
    xlator_route (top);
}

bool
limits_stop (struct bridge *bridge, int64_t until)
{
    bool done = true;

    for (unsigned i = 0; i < LIMIT_CLASSES; i++)
        done = limit_drain (bridge->limits.classes[i], until) && done;
    return work_wait (until) && done;
}

void
limits_end (struct bridge *bridge)
{
    xlator_t *top = bridge->graph->top;

    if (!top->gate)
        return;
    top->gate = NULL;
    xlator_route (top);
    for (unsigned i = 0; i < LIMIT_CLASSES; i++)
        limit_free (bridge->limits.classes[i]);
}

/* --- reports ---------------------------------------------------------------------------------- */

void
limits_dump (const struct bridge *bridge, GString *out)
{
    const struct work_numbers work = work_count ();

    for (unsigned i = 0; i < LIMIT_CLASSES; i++) {
        const struct limit_numbers n = limit_count (bridge->limits.classes[i]);
        const char *name = limits_classes[i].name;

        g_string_append_printf (
            out,
            "%s_limit=%u\n%s_running=%u\n%s_old=%u\n%s_waiting=%u\n%s_waited=%" G_GUINT64_FORMAT
            "\n%s_cancelled=%" G_GUINT64_FORMAT "\n%s_longest_wait_us=%" G_GINT64_FORMAT "\n",
            name, n.most, name, n.running, name, n.old, name, n.waiting, name, n.waited, name,
            n.cancelled, name, n.longest / 1000);
    }
    g_string_append_printf (out, "work_threads=%u\nwork_threads_busy=%u\nwork_waiting=%u\n",
                            work.threads, work.busy, work.waiting);
}

void
limits_explain (const struct bridge *bridge, GString *out)
{
    g_autoptr (GString) now = g_string_new (NULL);

    g_string_append (out, "at a time run");
    for (unsigned i = 0; i < LIMIT_CLASSES; i++) {
        const struct limit_numbers n = limit_count (bridge->limits.classes[i]);

        g_string_append_printf (out, "%s %u %s (%s)", i ? "," : "", n.most, limits_classes[i].kind,
                                limits_classes[i].option);
        if (n.running + n.old + n.waiting)
            g_string_append_printf (now, "%s: now %u run, and %u older ones; %u wait\n",
                                    limits_classes[i].kind, n.running, n.old, n.waiting);
    }
    g_string_append_printf (out, " that began within the last %.1f ms%s\n%s", AGE / 1e6,
                            now->len ? "" : "; now none", now->str);
}

/* --- windlass tell MOUNTPOINT - limits -------------------------------------------------------- */

/* Parses "data-limit=8". */
static int
limits_parse (const char *word, enum limit_class *ret_class, unsigned *ret_most)
{
    for (unsigned i = 0; i < LIMIT_CLASSES; i++) {
        const char *value = g_str_has_prefix (word, limits_classes[i].option)
                              ? word + strlen (limits_classes[i].option)
                              : "";
        guint64 number;

        if (*value != '='
            || !g_ascii_string_to_unsigned (value + 1, 10, 0, LIMIT_MOST, &number, NULL))
            continue;
        *ret_class = i;
        *ret_most = most_of ((int) number);
        return 0;
    }
    return -EINVAL;
}

int
bridge_set_limits (struct bridge *bridge, char *const *words, GString *answer)
{
    enum limit_class class;
    unsigned most;

    for (char *const *word = words; *word; word++) {
        if (limits_parse (*word, &class, &most) == 0)
            continue;
        g_string_append (answer, "'");
        line_append (answer, *word, 100);
        g_string_append_printf (answer,
                                "' can't be understood; there are data-limit=N, name-limit=N and "
                                "sync-limit=N with N from 0 (two for each processor) "
                                "to %d, each on a line; nothing was changed\n",
                                LIMIT_MOST);
        return -EINVAL;
    }
    for (char *const *word = words; *word; word++)
        if (limits_parse (*word, &class, &most) == 0)
            limit_set (bridge->limits.classes[class], most);
    limits_explain (bridge, answer);
    return 0;
}
