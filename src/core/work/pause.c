/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/work/pause.h"

#include "core/edge/stack.h"
#include "core/edge/sync.h"
#include "core/time/clock.h"
#include "core/time/thread.h"
#include "core/work/job-internal.h"

#include <errno.h>

#define PATIENCE INT64_C (10000000000) /* nanoseconds of all tries, if the caller sets none */

/* --- invalidations after the pause ------------------------------------------------------------ */

static void
told_clear (void *data)
{
    struct invalidation *gone = data;

    inode_unref (gone->inode);
    g_free ((char *) gone->name);
}

void
pause_invalidate (struct pause *pause, const struct invalidation *gone)
{
    const struct invalidation copy = { .inode = inode_ref (gone->inode),
                                       .what = gone->what,
                                       .name = g_strdup (gone->name) };

    if (!pause->told) {
        pause->told = g_array_new (FALSE, FALSE, sizeof (struct invalidation));
        g_array_set_clear_func (pause->told, told_clear);
    }
    g_array_append_val (pause->told, copy);
}

void
pause_detach (struct pause *pause, inode_t *inode)
{
    inode_detach (inode);
    xlator_pass_on (pause->asker, XLATOR_DETACHED, inode);
}

static void
pause_tell (xlator_t *this, struct pause *pause)
{
    for (guint i = 0; pause->told && i < pause->told->len; i++)
        xlator_pass_on (this, XLATOR_INVALIDATE,
                        &g_array_index (pause->told, struct invalidation, i));
    g_clear_pointer (&pause->told, g_array_unref);
}

/* --- a graph without a bridge ----------------------------------------------------------------- */

/* Pauses of graphs without a bridge; one at a time in the process. */
static struct {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t over;
    bool busy;            /* lock */
} pause_turn = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void __attribute__ ((constructor))
pause_turn_init (void)
{
    thread_cond_init (&pause_turn.over);
}

static void
pause_turn_take (void)
{
    pthread_mutex_lock (&pause_turn.lock);
    while (pause_turn.busy)
        thread_cond_wait (&pause_turn.over, &pause_turn.lock);
    pause_turn.busy = true;
    pthread_mutex_unlock (&pause_turn.lock);
}

static void
pause_turn_end (void)
{
    pthread_mutex_lock (&pause_turn.lock);
    pause_turn.busy = false;
    thread_cond_broadcast (&pause_turn.over);
    pthread_mutex_unlock (&pause_turn.lock);
}

static xlator_t *
pause_top (xlator_t *xl)
{
    while (xl->parents)
        xl = xl->parents->xlator;
    return xl;
}

static void
pause_without_bridge (struct pause *pause)
{
    xlator_t *top = pause_top (pause->asker);
    int64_t since;

    pause_turn_take ();
    since = clock_now ();
    sync_hold ();
    xlator_notify (top, XLATOR_HOLDING, NULL);
    jobs_pause ();
    if (stack_wait_for_others (STACKS_IDLE, pause->asker, since + pause->patience)) {
        pause_call (pause, since);
    } else {
        pause->result = -EAGAIN;
        pause->hindrance = g_strdup_printf ("requests were under way for %.1f s",
                                            (double) pause->patience / 1e9);
    }
    jobs_go_on ();
    sync_go_on ();
    xlator_notify (top, XLATOR_HOLD_OVER, NULL);
    pause_turn_end ();
}

/* --- the pause -------------------------------------------------------------------------------- */

void
pause_call (struct pause *pause, int64_t since)
{
    pause->result = pause->run (pause, pause->data);
    pause->held = clock_now () - since;
}

int
pause_run (xlator_t *this, struct pause *pause)
{
    const bool was_unheld = sync_unheld;

    g_assert (!thread_may_not_block);
    pause->asker = this;
    pause->answered = false;
    pause->patience = pause->patience ? pause->patience : PATIENCE;
    if (pause->job)
        job_step_aside (pause->job, "pauses the mount");
    sync_unheld = true;
    xlator_pass_on (this, XLATOR_PAUSE, pause);
    if (!pause->answered)
        pause_without_bridge (pause);
    sync_unheld = was_unheld;
    pause_tell (this, pause);
    if (pause->job)
        job_step_back (pause->job);
    return pause->result;
}

char *
pause_old_file (xlator_t *this)
{
    struct pause pause = { .asker = this, .only_asks = true };

    xlator_pass_on (this, XLATOR_PAUSE, &pause);
    return pause.hindrance;
}

void
pause_clear (struct pause *pause)
{
    g_clear_pointer (&pause->hindrance, g_free);
    g_clear_pointer (&pause->told, g_array_unref);
}
