/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/elsewhere.h"
#include "core/fops-rows.h"
#include "core/frame.h"
#include "core/patience.h"
#include "core/stub.h"
#include "core/thread.h"

#include <errno.h>

#define THREADS_MAX 512 /* as many as there are hardly ever requests at a time */

struct handed {
    struct patience patience;
    struct pool_job job;
    struct elsewhere *elsewhere;
    call_stub_t *stub;
    enum fop op;
};

/* What this thread was handed last. */
static __thread struct {
    struct elsewhere *elsewhere; /* NULL: nothing was yet */
    struct moving moving;
    enum fop op;
    uint64_t begin, end;
    bool answered;
} at;

void
elsewhere_was_behind (void)
{
    at.moving.behind = true;
}

void
elsewhere_answers (void)
{
    if (!at.elsewhere)
        return;
    at.end = quick_end (&at.elsewhere->quick, at.op, &at.moving, at.begin);
    at.answered = true;
}

struct elsewhere *
elsewhere_new (xlator_t *xl, int64_t limit, bool slow)
{
    struct elsewhere *elsewhere = g_new0 (struct elsewhere, 1);

    elsewhere->xl = xl;
    elsewhere->pool = pool_new ("slow", THREADS_MAX);
    quick_init (&elsewhere->quick, limit, slow);
    xl->elsewhere = elsewhere;
    xlator_route (xl);
    return elsewhere;
}

void
elsewhere_free (struct elsewhere *elsewhere)
{
    if (!elsewhere)
        return;
    pool_free (elsewhere->pool);
    elsewhere->xl->elsewhere = NULL;
    xlator_route (elsewhere->xl);
    g_free (elsewhere);
}

void
elsewhere_changed (struct elsewhere *elsewhere)
{
    xlator_route (elsewhere->xl);
}

/* Routes lead down first children. */
static struct elsewhere *
elsewhere_of (const xlator_t *this)
{
    while (!this->elsewhere)
        this = this->parents->xlator;
    return this->elsewhere;
}

static struct handed *
handed_of (struct pool_job *job)
{
    return (struct handed *) ((char *) job - offsetof (struct handed, job));
}

static bool
handed_take_back (struct patience *patience)
{
    struct handed *handed = (struct handed *) patience;

    return pool_take_back (handed->elsewhere->pool, &handed->job);
}

/* In as much of a hurry as who takes requests: what storage reads in another thread then is quick, or no read would ever be again after one that
 * wasn't, since here it would wait for the disk. */
static void
handed_run (struct pool_job *job)
{
    struct handed *handed = handed_of (job);
    struct elsewhere *elsewhere = handed->elsewhere;
    const enum fop op = handed->op;
    call_stub_t *stub = handed->stub;

    if (patience_end (&handed->patience))
        g_free (handed);
    thread_hurries = true;
    at = (typeof (at)){ .elsewhere = elsewhere, .op = op };
    quick_moving (&at.moving);
    at.begin = ticks_now ();
    call_resume (stub);
    if (!at.answered)
        elsewhere_answers ();
    elsewhere_note (elsewhere, op, at.begin, at.end);
}

static void
hand_over (xlator_t *this, call_frame_t *frame, enum fop op, call_stub_t *stub)
{
    struct elsewhere *elsewhere = elsewhere_of (this);
    struct handed *handed;

    if (!stub) {
        frame_fail (frame, ENOMEM);
        return;
    }
    handed = g_new (struct handed, 1);
    *handed = (struct handed){ .job = { .run = handed_run }, .elsewhere = elsewhere, .stub = stub, .op = op };
    patience_begin (&handed->patience, stub, handed_take_back);
    __atomic_add_fetch (&elsewhere->handed, 1, __ATOMIC_RELAXED);
    pool_put (elsewhere->pool, &handed->job);
}

/* this implements the operation. Whoever watches it is told on the other thread. */
#define DECLARE(kind, name) , C_##kind name
#define NAME(kind, name) , name
#define ELSEWHERE(name)                                                                            \
    name##_fop *xlator_own_##name (const xlator_t *xl);                                            \
    void elsewhere_##name (call_frame_t *frame, xlator_t *this FOP_ARGS_##name (DECLARE))          \
    {                                                                                              \
        name##_fop *fn = __atomic_load_n (&this->watchers, __ATOMIC_RELAXED) ? watched_##name      \
                                                                            : xlator_own_##name (this); \
        hand_over (this, frame, FOP_##name, fop_##name##_stub (frame, fn FOP_ARGS_##name (NAME))); \
    }
FOP_LIST (ELSEWHERE)
