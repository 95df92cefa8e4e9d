/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Measures the cost of requests on the stacks of volfiles, without a kernel. `translator [-o
 * OP,...] FIRST.vol OTHER.vol ...` prints the nanoseconds of each operation on each stack, as
 * medians of interleaved rounds, and the difference from the first stack. `count OP FILE N` makes N
 * calls, for callgrind --toggle-collect='calls*'. OP is the number or the name of an operation in
 * op_names. Put test/instant at the bottom. In the tree of a release build:
 *
 *   cc -std=gnu11 -D_GNU_SOURCE -O2 -g -rdynamic -I. -I$SOURCE/src \
 *      $(pkg-config --cflags glib-2.0 gmodule-2.0) $SOURCE/tests/bench/translator.c \
 *      $(find src/core src/graph -name '*.o') -o translator \
 *      $(pkg-config --libs glib-2.0 gmodule-2.0) -lpthread -lm
 *   WINDLASS_XLATOR_PATH=xlators:tests/xlators ./translator leaf.vol io-stats.vol
 */
#include "core/data/itable.h"
#include "core/edge/stack.h"
#include "graph/graph.h"
#include "xlator.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS 2000
#define WARM 100
#define ROUNDS 101
#define BLOCK 4096

/* lookup is by a user other than root. The reads have 4 KiB: of a small file again and again,
 * sequentially in a large file, and at random offsets of the large file. */
enum { STAT, WRITEV, LOOKUP, READ_AGAIN, READ_ON, READ_APART, OPEN, OPS };

static const char *const op_names[] = { "stat",    "writev",     "lookup", "read-again",
                                        "read-on", "read-apart", "open" };

/* A stack, with its open files. */
struct tower {
    struct graph *graph;
    fd_t *root, *small, *large;
    off_t at; /* of the sequential read */
};

/* The answer may come from another thread: performance/io-threads. */
static bool answered; /* atomic */

static void
note_answered (bool good)
{
    if (!good)
        abort ();
    __atomic_store_n (&answered, true, __ATOMIC_RELEASE);
}

static void
top_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              struct iatt *buf, dict_t *xdata)
{
    note_answered (op_ret >= 0);
}

static void
top_writev_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    note_answered (op_ret >= 0);
}

static void
top_lookup_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                inode_t *inode, struct iatt *buf, dict_t *xdata, struct iatt *postparent)
{
    note_answered (op_ret >= 0);
}

static void
top_readv_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               struct iovec *vector, int32_t count, struct iatt *stbuf, struct iobref *iobref,
               dict_t *xdata)
{
    note_answered (op_ret == BLOCK);
}

static void
top_open_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              fd_t *fd, dict_t *xdata)
{
    note_answered (op_ret >= 0);
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

static void
open_file (xlator_t *top, call_frame_t *frame, fd_t *fd)
{
    loc_t loc = { .inode = fd->inode };

    STACK_WIND (frame, top_open_cbk, top, open, &loc, O_RDONLY, fd, NULL);
}

/* Opens a file and closes it again. */
static void
open_again (const struct tower *tower, call_frame_t *frame)
{
    g_autoptr (fd_t) fd = fd_new (&tower->graph->fd_maker, tower->small->inode, O_RDONLY, 1);

    open_file (tower->graph->top, frame, fd);
}

static void
call (struct tower *tower, call_frame_t *frame, int op, int i)
{
    xlator_t *top = tower->graph->top;
    loc_t loc = { .inode = itable_root (tower->graph->itable) };
    static char bytes[BLOCK];
    struct iovec iov = { bytes, sizeof bytes };

    switch (op) {
    case STAT: STACK_WIND (frame, top_stat_cbk, top, stat, &loc, NULL); break;
    case WRITEV:
        STACK_WIND (frame, top_writev_cbk, top, writev, tower->root, &iov, 1, 0, 0, NULL, NULL);
        break;
    case LOOKUP: look_up (top, frame, 1000); break;
    case READ_AGAIN:
        STACK_WIND (frame, top_readv_cbk, top, readv, tower->small, BLOCK, 0, 0, NULL);
        break;
    case READ_ON:
        STACK_WIND (frame, top_readv_cbk, top, readv, tower->large, BLOCK, tower->at += BLOCK, 0,
                    NULL);
        break;
    case READ_APART:
        STACK_WIND (frame, top_readv_cbk, top, readv, tower->large, BLOCK,
                    (off_t) (i * 2654435761u) * BLOCK % (1ll << 38), 0, NULL);
        break;
    default: open_again (tower, frame);
    }
}

static inline void
request_end (call_stack_t *root)
{
    while (!__atomic_load_n (&answered, __ATOMIC_ACQUIRE))
        sched_yield ();
    answered = false;
    stack_done (root);
}

/* Uses a new request for each operation, as a bridge does, so that state kept with the request is
 * freed. */
static inline void __attribute__ ((always_inline))
requests (struct tower *tower, int op, int n)
{
    for (int i = 0; i < n; i++) {
        call_stack_t *root = stack_new (tower->graph->top);

        call (tower, &root->frames[0], op, i);
        request_end (root);
    }
}

static void __attribute__ ((noinline))
calls (struct tower *tower, int op, int n)
{
    requests (tower, op, n);
}

/* Does the same without measuring, to fill caches. */
static void __attribute__ ((noinline))
warm_up (struct tower *tower, int op)
{
    requests (tower, op, WARM);
}

/* Looks up the root, since some translators need information that only a lookup returns. */
static void
look_up_as_root (struct graph *graph)
{
    call_stack_t *root = stack_new (graph->top);

    look_up (graph->top, &root->frames[0], 0);
    request_end (root);
}

static void
top_found_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               inode_t *inode, struct iatt *buf, dict_t *xdata, struct iatt *postparent)
{
    inode_t **ret_inode = cookie;

    *ret_inode = inode_link (inode, itable_root (inode->table),
                             buf->ia_size == BLOCK ? "small" : "large", buf);
    note_answered (op_ret >= 0);
}

/* Opens a file of storage. */
static fd_t *
file_opened (struct graph *graph, const char *name)
{
    call_stack_t *root = stack_new (graph->top), *second;
    g_autoptr (inode_t) made = inode_new (graph->itable);
    inode_t *linked = NULL;
    loc_t loc = { .name = name, .parent = itable_root (graph->itable), .inode = made };
    fd_t *fd;

    STACK_WIND_COOKIE (&root->frames[0], top_found_cbk, &linked, graph->top, lookup, &loc, NULL);
    request_end (root);
    fd = fd_new (&graph->fd_maker, linked, O_RDONLY, 1);
    inode_unref (linked);
    second = stack_new (graph->top);
    open_file (graph->top, &second->frames[0], fd);
    request_end (second);
    return fd;
}

static struct tower
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
    return (
        struct tower){ .graph = graph,
                       .root = fd_new (&graph->fd_maker, itable_root (graph->itable), O_RDWR, 1),
                       .small = file_opened (graph, "small"),
                       .large = file_opened (graph, "large") };
}

static double
nanoseconds (struct tower *tower, int op)
{
    int64_t begin = clock_now ();

    calls (tower, op, CALLS);
    return (double) (clock_now () - begin) / CALLS;
}

static int
by_value (const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static void
measure (struct tower *towers, char **names, int n, int op)
{
    double (*times)[ROUNDS] = g_malloc (n * sizeof *times), first = 0;

    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < n; i++)
            times[i][round] = nanoseconds (&towers[i], op);
    for (int i = 0; i < n; i++) {
        qsort (times[i], ROUNDS, sizeof times[i][0], by_value);
        if (i == 0)
            first = times[i][ROUNDS / 2];
        printf ("%-10s %-40s %8.1f ns  %+8.1f ns\n", op_names[op], names[i], times[i][ROUNDS / 2],
                times[i][ROUNDS / 2] - first);
    }
    g_free (times);
}

static int
op_of (const char *text)
{
    for (int op = 0; op < OPS; op++)
        if (strcmp (text, op_names[op]) == 0)
            return op;
    return CLAMP (atoi (text), 0, OPS - 1);
}

/* The operations of a list; strtok modifies the list. */
static void
measure_ops (struct tower *towers, char **names, int n, char *ops)
{
    for (const char *op = strtok (ops, ","); op && n > 0; op = strtok (NULL, ","))
        measure (towers, names, n, op_of (op));
}

int
main (int argc, char **argv)
{
    struct tower towers[argc];
    char all[] = "stat,writev,lookup,read-again,read-on,read-apart,open", *ops = all;

    log_open ("/dev/null");
    if (argc == 5 && strcmp (argv[1], "count") == 0) {
        towers[0] = load (argv[3]);
        warm_up (&towers[0], op_of (argv[2]));
        calls (&towers[0], op_of (argv[2]), atoi (argv[4]));
        return 0;
    }
    if (argc > 2 && strcmp (argv[1], "-o") == 0) {
        ops = argv[2];
        argv += 2;
        argc -= 2;
    }
    for (int i = 1; i < argc; i++)
        towers[i - 1] = load (argv[i]);
    measure_ops (towers, argv + 1, argc - 1, ops);
    return 0;
}
