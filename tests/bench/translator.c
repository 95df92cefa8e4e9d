/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a request costs on the stacks of some volfiles, without a kernel: `translator FIRST.vol OTHER.vol ...` prints nanoseconds of
 * a stat, of a writev, and of a lookup by a user who isn't root on each, medians of interleaved rounds, and how much more that is than on the first. With `count OP FILE N`: N
 * calls, for callgrind --toggle-collect=calls (OP 0: stat, 1: writev, 2: lookup). Put test/leaf at the bottom. In a release build's tree:
 *
 *   cc -std=gnu11 -D_GNU_SOURCE -O2 -g -rdynamic -I. -I$SOURCE/src $(pkg-config --cflags glib-2.0 gmodule-2.0) \
 *      $SOURCE/tests/bench/translator.c src/core/[a-z]*.o src/graph/[a-z]*.o -o translator \
 *      $(pkg-config --libs glib-2.0 gmodule-2.0) -lpthread -lm
 *   WINDLASS_XLATOR_PATH=xlators:tests/xlators ./translator leaf.vol io-stats.vol
 */
#include "core/itable.h"
#include "core/stack.h"
#include "graph/graph.h"
#include "xlator.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS 2000
#define ROUNDS 201

enum { STAT, WRITEV, LOOKUP, OPS };

static const char *const op_names[] = { "stat", "writev", "lookup" };

static void
top_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, struct iatt *buf,
              dict_t *xdata)
{
}

static void
top_writev_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
}

static void
top_lookup_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno, inode_t *inode, struct iatt *buf,
                dict_t *xdata, struct iatt *postparent)
{
    if (op_ret < 0)
        abort ();
}

static void
look_up (xlator_t *top, call_frame_t *frame, uid_t uid)
{
    inode_t *directory = itable_root (top->graph->itable);
    loc_t loc = { .name = "name", .parent = directory, .inode = directory };

    frame->root->uid = frame->root->gid = uid;
    frame->root->ngroups = 0;
    STACK_WIND (frame, top_lookup_cbk, top, lookup, &loc, NULL);
}

/* A request for each, as a bridge makes them: what translators remember goes with it. */
static void __attribute__ ((noinline))
calls (struct graph *graph, fd_t *fd, int op, int n)
{
    xlator_t *top = graph->top;
    loc_t loc = { .inode = itable_root (graph->itable) };
    char bytes[4096] = "";
    struct iovec iov = { bytes, sizeof bytes };

    for (int i = 0; i < n; i++) {
        call_stack_t *root = stack_new (top);
        call_frame_t *frame = &root->frames[0];

        if (op == LOOKUP)
            look_up (top, frame, 1000);
        else if (op == WRITEV)
            STACK_WIND (frame, top_writev_cbk, top, writev, fd, &iov, 1, 0, 0, NULL, NULL);
        else
            STACK_WIND (frame, top_stat_cbk, top, stat, &loc, NULL);
        stack_done (root);
    }
}

/* What a translator wants to know of the root, which test/leaf tells with a lookup alone, comes with it. */
static void
look_up_as_root (struct graph *graph)
{
    call_stack_t *root = stack_new (graph->top);

    look_up (graph->top, &root->frames[0], 0);
    stack_done (root);
}

static struct graph *
load (const char *path)
{
    const struct graph_settings settings = { .inode_limit = 10 };
    g_autofree char *error = NULL;
    struct volfile *volfile = volfile_read (path, &error);
    struct graph *graph = volfile ? graph_load (volfile, &settings) : NULL;

    if (!graph || volfile_has_errors (volfile)) {
        if (graph)
            volfile_print_problems (volfile);
        fprintf (stderr, "'%s' can't be loaded: %s\n", path, error ? error : "see above");
        exit (1);
    }
    if (graph_activate (graph) < 0)
        exit (1);
    look_up_as_root (graph);
    return graph;
}

static double
nanoseconds (struct graph *graph, fd_t *fd, int op)
{
    int64_t begin = clock_now ();

    calls (graph, fd, op, CALLS);
    return (double) (clock_now () - begin) / CALLS;
}

static int
by_value (const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static void
measure (struct graph **graphs, fd_t **fds, char **names, int n, int op)
{
    double (*times)[ROUNDS] = g_malloc (n * sizeof *times), first = 0;

    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < n; i++)
            times[i][round] = nanoseconds (graphs[i], fds[i], op);
    for (int i = 0; i < n; i++) {
        qsort (times[i], ROUNDS, sizeof times[i][0], by_value);
        if (i == 0)
            first = times[i][ROUNDS / 2];
        printf ("%-6s %-40s %8.1f ns  %+8.1f ns\n", op_names[op], names[i], times[i][ROUNDS / 2],
                times[i][ROUNDS / 2] - first);
    }
    g_free (times);
}

int
main (int argc, char **argv)
{
    struct graph *graphs[argc];
    fd_t *fds[argc];

    log_open ("/dev/null");
    if (argc == 5 && strcmp (argv[1], "count") == 0) {
        graphs[0] = load (argv[3]);
        fds[0] = fd_new (&graphs[0]->fd_maker, itable_root (graphs[0]->itable), O_RDWR, 1);
        calls (graphs[0], fds[0], atoi (argv[2]), atoi (argv[4]));
        return 0;
    }
    for (int i = 1; i < argc; i++) {
        graphs[i - 1] = load (argv[i]);
        fds[i - 1] = fd_new (&graphs[i - 1]->fd_maker, itable_root (graphs[i - 1]->itable), O_RDWR, 1);
    }
    for (int op = 0; op < OPS && argc > 1; op++)
        measure (graphs, fds, argv + 1, argc - 1, op);
    return 0;
}
