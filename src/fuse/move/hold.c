/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holds the kernel's requests back. A thread that takes requests sets thread->busy before it reads
 * bridge->held, and hold_begin sets bridge->held before it reads thread->busy of each thread. So
 * either the thread sees that requests are held, and waits, or hold_begin sees that the thread is
 * busy, and waits for it.
 *
 * At the end of a request the thread clears thread->busy, and then reads bridge->held. If requests
 * are held, it signals bridge->quiet. The thread needs no memory barrier between the two, since
 * hold_begin calls thread_barrier (membarrier(2)). So either hold_begin sees that the thread isn't
 * busy any more, or the thread sees that requests are held. In the second case the thread signals
 * under bridge->lock, under which hold_begin checks the threads and waits.
 */
#include "fuse/move/hold.h"

#include "core/base/printable.h"
#include "core/edge/stack.h"
#include "core/report/request-snapshot.h"
#include "core/time/thread.h"
#include "core/work/job.h"
#include "fuse/move/old-graphs.h"
#include "fuse/threads/threads.h"

#include <fcntl.h>

#define FIRST_TRY 10000000             /* nanoseconds of the first try to hold */

/* Nanoseconds between two checks for busy threads in hold_begin, if the kernel has no
 * membarrier(2). Without membarrier(2) a thread at the end of its request may not see that requests
 * are held. Then it does not signal hold_begin. */
#define SLICE INT64_C (10000000)

static void
hold_set_busy (struct request_thread *thread, bool busy)
{
    __atomic_store_n (&thread->busy, busy, __ATOMIC_SEQ_CST);
}

/* Waits while requests are held. If this thread has an answer to an earlier request that it has not
 * sent yet, it sends the answer first (thread_before_other). */
static void
hold_wait (struct bridge *bridge)
{
    if (thread_before_other)
        thread_before_other ();
    pthread_mutex_lock (&bridge->lock);
    pthread_cond_signal (&bridge->quiet);
    while (bridge->held)
        pthread_cond_wait (&bridge->changed, &bridge->lock);
    pthread_mutex_unlock (&bridge->lock);
}

static void
hold_tell (struct bridge *bridge)
{
    pthread_mutex_lock (&bridge->lock);
    pthread_cond_signal (&bridge->quiet);
    pthread_mutex_unlock (&bridge->lock);
}

void
hold_process (struct request_thread *thread, struct fuse_buf *buf)
{
    struct bridge *bridge = thread->bridge;

    hold_set_busy (thread, true);
    while (G_UNLIKELY (__atomic_load_n (&bridge->held, __ATOMIC_SEQ_CST))) {
        hold_set_busy (thread, false);
        hold_wait (bridge);
        hold_set_busy (thread, true);
    }
    fuse_session_process_buf (bridge->session, buf);
    __atomic_store_n (&thread->busy, false, __ATOMIC_RELEASE);
    thread_keep_order ();
    if (G_UNLIKELY (__atomic_load_n (&bridge->held, __ATOMIC_RELAXED)))
        hold_tell (bridge);
}

static bool
hold_any_is_busy_locked (const struct bridge *bridge)
{
    bool busy = false;

    for (const struct request_thread *at = bridge->threads.all; at; at = at->next)
        busy |= __atomic_load_n (&at->busy, __ATOMIC_SEQ_CST);
    return busy;
}

static void
hold_set (struct bridge *bridge, bool held)
{
    pthread_mutex_lock (&bridge->lock);
    __atomic_store_n (&bridge->held, held, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast (&bridge->changed);
    pthread_mutex_unlock (&bridge->lock);
}

bool
hold_begin (struct bridge *bridge, int64_t until)
{
    bool ordered, busy;

    /* The first call of thread_barrier in a process takes milliseconds. So it is made before
     * requests are held, and callers don't wait for it. */
    (void) thread_barrier ();
    jobs_pause ();
    hold_set (bridge, true);
    ordered = thread_barrier ();
    pthread_mutex_lock (&bridge->lock);
    while ((busy = hold_any_is_busy_locked (bridge)) && clock_now () < until)
        (void) thread_cond_wait_until (&bridge->quiet, &bridge->lock,
                                       ordered ? until : MIN (until, clock_now () + SLICE));
    pthread_mutex_unlock (&bridge->lock);
    return !busy;
}

void
hold_end (struct bridge *bridge)
{
    hold_set (bridge, false);
    jobs_go_on ();
}

/* --- tries ------------------------------------------------------------------------------------ */

/* After a move the new graph, too, gets XLATOR_HOLD_OVER. */
static void
hold_tell_graphs (const struct bridge *bridge, enum xlator_event event)
{
    xlator_notify (bridge->graph->top, event, NULL);
    for (const GSList *at = bridge->old_graphs; at; at = at->next)
        xlator_notify (((const struct old_graph *) at->data)->graph->top, event, NULL);
}

void
hold_take_turn (struct bridge *bridge)
{
    pthread_mutex_lock (&bridge->hold_turn);
}

void
hold_give_turn (struct bridge *bridge)
{
    pthread_mutex_unlock (&bridge->hold_turn);
}

void
hold_over (struct bridge *bridge)
{
    hold_end (bridge);
    hold_tell_graphs (bridge, XLATOR_HOLD_OVER);
    hold_give_turn (bridge);
}

/* Returns whether all requests are answered, and no call is kept; requests are held then. */
static bool
hold_try (struct bridge *bridge, const struct hold_plan *plan, int64_t until)
{
    hold_tell_graphs (bridge, XLATOR_HOLDING);
    if (!hold_begin (bridge, until)
        || !stack_wait_for_others (STACKS_ANSWERED, plan->asker, until))
        return false;
    plan->settle (plan->data);
    return stack_wait_for_others (STACKS_IDLE, plan->asker, until);
}

struct hold_search {
    const call_stack_t *oldest; /* request that a hold waits for; NULL: none was found yet */
    const xlator_t *asker;      /* as in struct hold_plan */
    const GArray *resting;      /* stack_resting_inodes */
};

LOOKS_AT_RUNNING_REQUESTS static void
hold_search_look (const call_stack_t *root, void *data)
{
    struct hold_search *search = data;

    if (!stack_is_waiter (root, search->asker, search->resting)
        && (!search->oldest || root->begin < search->oldest->begin))
        search->oldest = root;
}

static void
hold_append_request (const struct seen_request *seen, GString *answer)
{
    const struct seen_frame *last = NULL;

    for (unsigned i = 0; i < seen->n; i++)
        last = seen->frames[i].last ? &seen->frames[i] : last;
    g_string_append_printf (answer, "%s", fop_name (seen->op));
    if (*seen->path)
        line_append (g_string_append (answer, " of "), seen->path, SEEN_PATH);
    process_append (g_string_append (answer, " by "), seen->pid);
    g_string_append_printf (answer, " was under way for %.1f s", seen->age / 1e9);
    if (!last)
        return;
    line_append (g_string_append (answer, ", in '"), last->xl->name, 256);
    seen_waits_for (seen, last, g_string_append (answer, "', where it waits for "));
}

/* Appends how far a job is for which the request may wait. */
static void
hold_append_job (GString *answer)
{
    const gsize before = answer->len;

    g_string_append (answer, "; meanwhile ");
    if (jobs_append_owed (answer))
        g_string_append (answer, ": try again when that has ended");
    else
        g_string_truncate (answer, before);
}

/* Appends which request is in the way: the oldest. */
static void
hold_append_hindrance (const struct bridge *bridge, const struct hold_plan *plan, GString *answer)
{
    g_autoptr (GArray) resting = stack_resting_inodes ();
    struct hold_search search = { .asker = plan->asker, .resting = resting };
    struct seen_request seen;

    xlators_pin ();
    stack_foreach (hold_search_look, &search);
    if (search.oldest && stack_see (search.oldest, true, &seen))
        hold_append_request (&seen, answer);
    else if (jobs_append_working (answer))
        g_string_append (answer, ", worked");
    else
        g_string_append (answer, "a translator kept a call aside");
    xlators_unpin ();
    hold_append_job (answer);
    g_string_append_printf (answer, "; it hindered %s for %g s; 'windlass inflight %s' lists "
                                    "all requests\n",
                            plan->hindered, (double) plan->patience / 1e9, bridge->mountpoint);
}

/* A pause may be asked for until the end of the graph; a move is not. */
static bool
hold_is_too_late (const struct bridge *bridge, const struct hold_plan *plan)
{
    return plan->asker && __atomic_load_n (&bridge->ending, __ATOMIC_ACQUIRE);
}

int
hold_idle (struct bridge *bridge, const struct hold_plan *plan, int64_t *ret_since, GString *answer)
{
    const int64_t end = clock_now () + plan->patience;

    for (int64_t span = FIRST_TRY; !hold_is_too_late (bridge, plan); span *= 2) {
        hold_take_turn (bridge);
        *ret_since = clock_now ();
        if (hold_try (bridge, plan, MIN (end, *ret_since + span)))
            return 0;
        if (clock_now () >= end) {
            hold_append_hindrance (bridge, plan, answer);
            hold_over (bridge);
            return -EAGAIN;
        }
        hold_over (bridge);
        g_usleep ((gulong) span / 4 / 1000);
    }
    g_string_append_printf (answer, "the mount '%s' ends\n", bridge->mountpoint);
    return -ESHUTDOWN;
}

/* --- open files ------------------------------------------------------------------------------- */

struct hold_waiting {
    struct bridge *bridge;
    GHashTable *inodes;
};

LOOKS_AT_RUNNING_REQUESTS static void
hold_note_waiting (const call_stack_t *root, void *data)
{
    const struct hold_waiting *waiting = data;
    inode_t *inode;

    if (root->about == 0 || __atomic_load_n (&root->lock_waits, __ATOMIC_ACQUIRE) > 0)
        return;
    inode = inode_get_nodeid (waiting->bridge->itable, root->about);
    if (inode)
        g_hash_table_add (waiting->inodes, inode);
}

GHashTable *
hold_waiting_inodes (struct bridge *bridge)
{
    struct hold_waiting waiting = {
        bridge, g_hash_table_new_full (NULL, NULL, (GDestroyNotify) inode_unref, NULL)
    };

    stack_foreach (hold_note_waiting, &waiting);
    return waiting.inodes;
}

void
hold_flush (struct client *client, fd_t *fd)
{
    int r;

    if (fd->inode->ia_type != IA_IFREG || (fd->flags & O_ACCMODE) == O_RDONLY)
        return;
    r = sync_flush (client, fd, NULL, NULL);
    if (r >= 0 || r == -ENOSYS || r == -ETIMEDOUT)
        return; /* after a timeout the flush is still under way, so hold_idle fails */
    __atomic_store_n (&fd->owed, -r, __ATOMIC_RELAXED);
    gf_log (&client->xlator, GF_LOG_WARNING,
            "data of an open file could not be written while requests were held: %s; the next "
            "close or fsync of the file tells its program",
            g_strerror (-r));
}
