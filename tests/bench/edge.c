/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Measures the cost of a wind and its unwind through a translator that only passes on, through its
 * own callback. Without arguments: prints nanoseconds per layer, as medians and quartiles of
 * interleaved rounds; the last rounds run while the edge is watched. Each round is shorter than the
 * time after which a busy machine takes the processor away. With `count OP LAYERS N`: makes N
 * calls, for callgrind.
 */
#include "../unit/mock.h"
#include "core/edge/watch.h"
#include "trace/metrics/numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LAYERS 20
/* as in a graph: small enough for the processor's return predictor */
#define LAYERS_WATCHED 6
#define CALLS 2000
#define ROUNDS 501

static stat_cbk pass_stat_cbk;
static writev_cbk pass_writev_cbk;

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
pass_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
             off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    STACK_WIND (frame, pass_writev_cbk, FIRST_CHILD (this), writev, fd, vector, count, offset,
                flags, iobref, xdata);
}

static void
pass_writev_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    STACK_UNWIND (writev, frame, op_ret, op_errno, prebuf, postbuf, xdata);
}

static void
leaf_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    if (loc->name)
        STACK_UNWIND (stat, frame, -1, ENOENT, NULL, NULL);
    else
        STACK_UNWIND (stat, frame, 0, 0, NULL, NULL);
}

static void
leaf_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
             off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    STACK_UNWIND (writev, frame, 1, 0, NULL, NULL, NULL);
}

static const struct xlator_api leaf_api = { .type = "bench/leaf",
                                            .fops = { .stat = leaf_stat, .writev = leaf_writev } };
static const struct xlator_api pass_api = { .type = "bench/pass",
                                            .fops = { .stat = pass_stat, .writev = pass_writev } };
static const struct xlator_api none_api = { .type = "bench/none" };

enum op {
    OP_STAT,
    OP_ERROR,
    OP_WRITEV,
    OP_ELIDED,
    OP_WATCHED,
    OP_MEASURED,
    OP_WRITEV_MEASURED,
    OPS
};
static const char *const op_names[] = {
    "stat",          "stat, error answer", "writev",          "stat, elided layers",
    "stat, watched", "stat, measured",     "writev, measured"
};

static void
top_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              struct iatt *buf, dict_t *xdata)
{
}

static void
top_writev_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
}

static void
watch_nothing (const struct watch_event *event)
{
}

static const struct watcher nothing_watcher = { .name = "nothing",
                                                .wind = watch_nothing,
                                                .unwind = watch_nothing };

/* Does the same as a bridge, without the cost of the request, which does not depend on the height
 * of the stack. */
static void __attribute__ ((noinline))
calls (call_stack_t *root, xlator_t *top, enum op op, int n)
{
    call_frame_t *frame = &root->frames[0];
    loc_t loc = { .name = op == OP_ERROR ? "x" : NULL };
    struct iovec iov = { 0 };

    for (int i = 0; i < n; i++) {
        frame->state = 0;
        if (op == OP_WRITEV || op == OP_WRITEV_MEASURED)
            STACK_WIND (frame, top_writev_cbk, top, writev, NULL, &iov, 1, 0, 0, NULL, NULL);
        else
            STACK_WIND (frame, top_stat_cbk, top, stat, &loc, NULL);
    }
}

static xlator_t *
stack_of (enum op op, unsigned layers)
{
    g_autoptr (GPtrArray) all = g_ptr_array_new ();
    xlator_t *top = mock_xlator (g_new0 (xlator_t, 1), "leaf", &leaf_api, NULL);

    g_ptr_array_insert (all, 0, top);
    while (layers-- > 0) {
        top = mock_xlator (g_new0 (xlator_t, 1), "pass", op == OP_ELIDED ? &none_api : &pass_api,
                           top);
        g_ptr_array_insert (all, 0, top);
    }
    if (op == OP_WATCHED)
        watch_set (all, &nothing_watcher, true);
    else if (op >= OP_MEASURED)
        numbers_set (all, NUMBERS_SET, true);
    return top;
}

static call_stack_t *
request_of (xlator_t *top)
{
    call_stack_t *root = stack_new (top);

    /* A chain of frames as long as the stack, as for a stack of up to 15 translators. */
    call_frame_t *frames = g_new0 (call_frame_t, LAYERS + 4);
    for (unsigned i = 0; i < LAYERS + 4; i++) {
        frames[i].root = root;
        frames[i].parent = i ? &frames[i - 1] : &root->frames[0];
        frames[i].slot = i + 1 < LAYERS + 4 ? &frames[i + 1] : NULL;
    }
    root->frames[0].slot = &frames[0];
    return root;
}

static double
nanoseconds (xlator_t *top, enum op op)
{
    call_stack_t *root = request_of (top);
    int64_t begin = clock_now ();

    calls (root, top, op, CALLS);
    return (double) (clock_now () - begin) / CALLS;
}

static int
by_value (const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static void
measure (enum op op)
{
    const unsigned layers = op >= OP_WATCHED ? LAYERS_WATCHED : LAYERS;
    xlator_t *low = stack_of (op, 0), *high = stack_of (op, layers);
    double per_layer[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        double without = nanoseconds (low, op);
        per_layer[i] = (nanoseconds (high, op) - without) / layers;
    }
    qsort (per_layer, ROUNDS, sizeof per_layer[0], by_value);
    printf ("%-22s %6.2f ns a layer (%.2f to %.2f)\n", op_names[op], per_layer[ROUNDS / 2],
            per_layer[ROUNDS / 4], per_layer[ROUNDS - 1 - ROUNDS / 4]);
}

int
main (int argc, char **argv)
{
    if (argc == 5 && strcmp (argv[1], "count") == 0) {
        enum op op = atoi (argv[2]);
        xlator_t *top = stack_of (op, atoi (argv[3]));
        calls (request_of (top), top, op, atoi (argv[4]));
        return 0;
    }
    for (enum op op = 0; op < OPS; op++)
        measure (op);
    return 0;
}
