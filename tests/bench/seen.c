/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Measures the cost of a wind and its unwind through a translator while a tool observes them:
 * prints nanoseconds per layer, as the median of rounds. The records of a round fit into a thread's
 * ring.
 *
 *   seen timeline      while a timeline is recorded
 *   seen probe         waits for bpftrace, and measures while it is attached: bpftrace -p PID -e
 *                      'usdt:*:windlass:unwind { @ = count (); }'
 *
 * To build it in the source directory, with src/core/table/fops-rows.h and config.h of a build tree
 * BUILD:
 *
 *   cc -O2 -g -std=gnu11 -D_GNU_SOURCE -DHAVE_CONFIG_H -fno-omit-frame-pointer \
 *      -fno-optimize-sibling-calls -IBUILD -IBUILD/src -Isrc \
 *      tests/bench/seen.c $(find src/core src/trace/timeline -name "*.c") \
 *      src/trace/probes.c -o seen \
 *      $(pkg-config --cflags --libs glib-2.0 gmodule-2.0) -lm
 */
#include "../unit/mock.h"
#include "core/report/probe.h"
#include "trace/probes.h"
#include "trace/timeline/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LAYERS 6
#define CALLS 1000 /* of LAYERS + 1 edges: two records each, three for the first edge */
#define ROUNDS 201

static stat_cbk pass_stat_cbk;

static void
pass_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    STACK_WIND (frame, pass_stat_cbk, FIRST_CHILD (this), stat, loc, xdata);
}

static void
pass_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               struct iatt *buf, dict_t *xdata)
{
    STACK_UNWIND (stat, frame, op_ret, op_errno, buf, xdata);
}

static void
leaf_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    STACK_UNWIND (stat, frame, 0, 0, NULL, NULL);
}

static const struct xlator_api leaf_api = { .type = "bench/leaf", .fops = { .stat = leaf_stat } };
static const struct xlator_api pass_api = { .type = "bench/pass", .fops = { .stat = pass_stat } };

static void
top_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              struct iatt *buf, dict_t *xdata)
{
    stack_done (frame->root);
}

static GPtrArray *
stack_of (unsigned layers)
{
    GPtrArray *all = g_ptr_array_new ();
    xlator_t *top = mock_xlator (g_new0 (xlator_t, 1), "leaf", &leaf_api, NULL);

    g_ptr_array_insert (all, 0, top);
    while (layers-- > 0) {
        top = mock_xlator (g_new0 (xlator_t, 1), "pass", &pass_api, top);
        g_ptr_array_insert (all, 0, top);
    }
    return all;
}

static double
one_round (xlator_t *bridge, xlator_t *top)
{
    loc_t loc = { 0 };
    const int64_t begin = clock_now ();

    for (int i = 0; i < CALLS; i++) {
        call_stack_t *root = stack_new (bridge);

        STACK_WIND (&root->frames[0], top_stat_cbk, top, stat, &loc, NULL);
    }
    return (double) (clock_now () - begin) / CALLS;
}

static int
compare (const void *a, const void *b)
{
    return (*(const double *) a > *(const double *) b)
         - (*(const double *) a < *(const double *) b);
}

static double
median (xlator_t *bridge, GPtrArray *all)
{
    double took[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        took[i] = one_round (bridge, all->pdata[0]);
        g_usleep (15000); /* the rings are emptied */
    }
    qsort (took, ROUNDS, sizeof took[0], compare);
    return took[ROUNDS / 2];
}

static void
wait_for_probe (xlator_t *bridge, GPtrArray *all)
{
#ifdef HAVE_SYS_SDT_H
    probes_begin (all);
    printf ("waiting for: bpftrace -p %d\n", getpid ());
    fflush (stdout);
    while (!probe_pair_is_on (FOP_NONE))
        g_usleep (10000);
    probe_look (FOP_stat);
#endif
}

int
main (int argc, char **argv)
{
    const struct timeline_settings settings = { .fops = OPSET_ALL, .memory = 1 << 20 };
    const bool probe = argc > 1 && strcmp (argv[1], "probe") == 0;
    struct timeline_counts counts = { 0 };
    xlator_t bridge = { .name = "fuse", .type = "mount/fuse" };
    GPtrArray *tall = stack_of (LAYERS), *flat = stack_of (0);
    double off = median (&bridge, tall) - median (&bridge, flat), on, whole;

    if (probe)
        wait_for_probe (&bridge, tall);
    else
        timeline_start (tall, NULL, &settings);
    whole = median (&bridge, tall);
    on = whole - median (&bridge, flat);
    if (!probe)
        timeline_stop (-1, &counts);
    printf ("a layer: %.1f ns off, %.1f ns on; a request of %d layers: %.0f ns on; %lu requests "
            "seen, %lu records lost\n",
            off / LAYERS, on / LAYERS, LAYERS, whole, (unsigned long) counts.seen,
            (unsigned long) counts.lost);
    return 0;
}
