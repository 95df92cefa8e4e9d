/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The interrupt comes under the request's lock, where nothing can be answered, so a timer does the rest. The kernel tells of one signal for
 * each request, which may have been a tick when a deadly one comes later: so from the first on it is looked again and again.
 *
 * Who takes the call out of where it waits has it: the thread that goes on with it, or take_back. A timer that is being called
 * when patience ends waits for the lock, and has the memory then.
 */
#include "core/patience.h"
#include "core/process.h"

#include <errno.h>

#define AGAIN INT64_C (100000000) /* ns */

static void
patience_free (struct patience *one)
{
    pthread_mutex_destroy (&one->lock);
    g_free (one);
}

static void
answer_interrupted (struct patience *one)
{
    call_frame_t *frame = call_stub_frame (one->stub);

    stack_off_interrupt (frame->root, &one->watch);
    call_stub_destroy (one->stub);
    patience_free (one);
    frame_fail (frame, EINTR);
}

static void
look (void *data)
{
    struct patience *one = data;
    bool over, taken = false;

    pthread_mutex_lock (&one->lock);
    one->timer = NULL;
    over = one->over;
    if (!over)
        taken = process_gives_up (call_stub_frame (one->stub)->root->pid) && one->take_back (one);
    if (!over && !taken)
        one->timer = timer_after (AGAIN, look, one);
    pthread_mutex_unlock (&one->lock);
    if (taken)
        answer_interrupted (one);
    else if (over)
        patience_free (one);
}

/* Under root->lock. */
static void
interrupted (void *data)
{
    struct patience *one = data;

    pthread_mutex_lock (&one->lock);
    if (!one->timer && !one->over)
        one->timer = timer_after (0, look, one);
    pthread_mutex_unlock (&one->lock);
}

void
patience_begin (struct patience *one, call_stub_t *stub, bool (*take_back) (struct patience *one))
{
    *one = (struct patience){ .stub = stub, .take_back = take_back, .watch = { .fn = interrupted, .data = one } };
    pthread_mutex_init (&one->lock, NULL);
    if (!call_stub_is_owed (stub))
        stack_on_interrupt (call_stub_frame (stub)->root, &one->watch);
}

bool
patience_end (struct patience *one)
{
    bool free;

    stack_off_interrupt (call_stub_frame (one->stub)->root, &one->watch);
    pthread_mutex_lock (&one->lock);
    one->over = true;
    free = !one->timer || timer_cancel (one->timer);
    pthread_mutex_unlock (&one->lock);
    if (free)
        pthread_mutex_destroy (&one->lock);
    return free;
}
