/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A translator that runs a table of steps of the test on a child, and a record of all that was
 * run. */
#ifndef WINDLASS_TESTS_STEPS_WORLD_H
#define WINDLASS_TESTS_STEPS_WORLD_H

#include "core/edge/stack.h"
#include "core/edge/steps.h"
#include "core/time/thread.h"
#include "mock.h"

#include "../program.h"
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static GString *record;
static const struct step *steps_table;

/* --- the child: answers at once, or keeps calls of inodelk until the test answers them -------- */

#define KEPT_MAX 4

struct steps_kept {
    call_frame_t *frame;
    struct interrupt_watch watch;
    bool interrupted;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t came;
    struct steps_kept calls[KEPT_MAX];
    unsigned n;
} steps_kept = { .lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER };

static void
kept_interrupted (void *data)
{
    __atomic_store_n (&((struct steps_kept *) data)->interrupted, true, __ATOMIC_RELEASE);
}

static void
child_inodelk (call_frame_t *frame, xlator_t *this, const char *volume, loc_t *loc, int32_t cmd,
               struct gf_flock *flock, dict_t *xdata)
{
    struct steps_kept *call;

    pthread_mutex_lock (&steps_kept.lock);
    call = &steps_kept.calls[steps_kept.n++];
    *call = (struct steps_kept){ .frame = frame };
    call->watch = (struct interrupt_watch){ .fn = kept_interrupted, .data = call };
    stack_on_interrupt (frame->root, &call->watch);
    thread_cond_signal (&steps_kept.came);
    pthread_mutex_unlock (&steps_kept.lock);
}

static void
kept_await (unsigned n)
{
    pthread_mutex_lock (&steps_kept.lock);
    while (steps_kept.n < n)
        thread_cond_wait (&steps_kept.came, &steps_kept.lock);
    pthread_mutex_unlock (&steps_kept.lock);
}

static void
kept_answer (unsigned i, int op_errno)
{
    call_frame_t *frame = steps_kept.calls[i].frame;

    stack_off_interrupt (frame->root, &steps_kept.calls[i].watch);
    if (op_errno)
        frame_fail (frame, op_errno);
    else
        STACK_UNWIND (inodelk, frame, 0, 0, NULL);
}

/* access succeeds, unlink changes something, rmdir fails. */
static void
steps_child_access (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t mask, dict_t *xdata)
{
    STACK_UNWIND (access, frame, 0, 0, NULL);
}

static void
child_unlink (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t xflag, dict_t *xdata)
{
    STACK_UNWIND (unlink, frame, 0, 0, NULL, NULL, NULL);
}

static void
child_rmdir (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t flags, dict_t *xdata)
{
    frame_fail (frame, ENOTEMPTY);
}

static bool down_came;

static void
child_notify (xlator_t *this, enum xlator_event event, void *data)
{
    __atomic_store_n (&down_came, true, __ATOMIC_RELEASE);
}

static const struct xlator_api steps_child_api = {
    .type = "test/child",
    .notify = child_notify,
    .fops = { .inodelk = child_inodelk, .access = steps_child_access, .unlink = child_unlink,
              .rmdir = child_rmdir },
};

/* --- the translator: a stat is a run of the table --------------------------------------------- */

#define POISON 0xa5

struct steps_operation {
    struct sequence seq;
    unsigned counted;
};

static const void *dropped;
static size_t dropped_size;

static void
runner_answer (void *local)
{
    struct steps_operation *op = local;
    struct iatt buf = { .ia_type = IA_IFREG };

    STACK_UNWIND (stat, op->seq.frame, 0, 0, &buf, NULL);
}

static void
runner_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct steps_operation *op = frame_local_new (frame, sizeof *op);
    call_stack_t *root = stack_new_like (this, frame);

    op->seq.own = &root->frames[0];
    op->seq.own->local = op;
    sequence_start (&op->seq, frame, steps_table, 2, loc->inode, runner_answer);
}

static void
runner_drop (xlator_t *this, void *local)
{
    sequence_clear (&((struct steps_operation *) local)->seq);
    memset (local, POISON, sizeof (struct steps_operation));
    dropped = local;
    dropped_size = sizeof (struct steps_operation);
}

static const struct xlator_api runner_api = { .type = "test/runner",
                                              .local_drop = runner_drop,
                                              .fops = { .stat = runner_stat } };

/* --- steps ------------------------------------------------------------------------------------ */

static void
steps_note (struct steps_operation *op, const char *what)
{
    g_string_append_printf (record, "%s%s%s", record->len ? " " : "", what, op->seq.now->name);
}

#define WIND(op_, slot_, fop_, ...)                                                                \
    STEP_WIND (&(op_)->seq, (op_)->seq.own, slot_, FIRST_CHILD ((op_)->seq.frame->this), fop_,     \
               __VA_ARGS__)

static void
pass (void *local)
{
    struct steps_operation *op = local;
    loc_t loc = { 0 };

    steps_note (op, "");
    WIND (op, 0, access, &loc, 0, NULL);
}

static void
steps_change (void *local)
{
    loc_t loc = { 0 };

    steps_note (local, "");
    WIND ((struct steps_operation *) local, 0, unlink, &loc, 0, NULL);
}

static void
run_fails (void *local)
{
    struct steps_operation *op = local;
    loc_t loc = { 0 };

    steps_note (op, "");
    WIND (op, 0, access, &loc, 0, NULL);
    WIND (op, 1, rmdir, &loc, 0, NULL);
}

static void
wait_lock (void *local)
{
    struct gf_flock range = { 0 };
    loc_t loc = { 0 };

    steps_note (local, "");
    WIND ((struct steps_operation *) local, 0, inodelk, "domain", &loc, 0, &range, NULL);
}

static void
wait_two (void *local)
{
    struct gf_flock range = { 0 };
    loc_t loc = { 0 };

    wait_lock (local);
    WIND ((struct steps_operation *) local, 1, inodelk, "domain", &loc, 0, &range, NULL);
}

/* Its calls fail, too: the first error is the answer. */
static void
undo (void *local)
{
    struct steps_operation *op = local;
    loc_t loc = { 0 };

    steps_note (op, "-");
    WIND (op, 0, rmdir, &loc, 0, NULL);
}

/* --- one run ---------------------------------------------------------------------------------- */

struct steps_world {
    xlator_t runner, child;
    struct client *client;
    inode_t *inode;
    int r;
};

static void
steps_world_new (struct steps_world *world, const struct step *steps)
{
    mock_xlator (&world->child, "child", &steps_child_api, NULL);
    mock_xlator (&world->runner, "runner", &runner_api, &world->child);
    world->client = client_new (&world->runner);
    world->inode = NULL;
    steps_table = steps;
    record = g_string_new (NULL);
    steps_kept.n = 0;
    down_came = false;
}

static void
steps_world_free (struct steps_world *world)
{
    ck_assert_uint_eq (stack_misuses (), 0);
    ck_assert_uint_eq (stack_count (), 0);
    client_free (world->client);
    mock_free (&world->runner);
    mock_free (&world->child);
    g_string_free (record, TRUE);
}

static void *
steps_world_stat (void *data)
{
    struct steps_world *world = data;
    struct stat_reply reply;
    loc_t loc = { .inode = world->inode };

    world->r = sync_stat (world->client, &loc, NULL, &reply);
    stat_reply_drop (&reply);
    return NULL;
}

#endif
