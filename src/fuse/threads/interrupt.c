/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Callers that no longer wait: the kernel sends an interrupt when a caller gets a signal. A request
 * that waits for a limit (core/work/limit.h) is answered EINTR at once, and not done. A request
 * that hangs below is answered EINTR if its caller is being killed, since the caller could not end
 * otherwise; the request's own answer comes later, and the kernel refuses it.
 *
 * The interrupt arrives under a lock of libfuse, where no request can be answered, so a timer does
 * the rest. The kernel reports one signal for each request. That may be a harmless one, and a
 * deadly one may follow: the timer therefore repeats until the request is over. ring/dying.c makes
 * up for interrupts that the kernel does not send.
 */
#include "fuse/threads/interrupt.h"

#include "core/base/process.h"
#include "fuse/init-flags.h"
#include "fuse/threads/dying.h"

#define AGAIN INT64_C (100000000) /* nanoseconds */

struct interruption {
    struct work_item work; /* first */
    struct bridge *bridge;
    GList place; /* in bridge->interruptions */
    uint64_t unique; /* of the request: call_stack_t.unique */
    uint64_t number; /* the number that the kernel uses */
    pid_t pid;
    uint64_t about;      /* call_stack_t.about */
    inode_t *inodes[2]; /* with references: the inodes that the kernel lent until the answer */
    fd_t *fds[2];       /* the same for fds */
    bool may_answer;    /* the request may be answered before it is done */
    bool answered;
    unsigned looks;
};

struct search {
    uint64_t unique;
    bool found;
};

LOOKS_AT_RUNNING_REQUESTS static void
interruption_compare (const call_stack_t *root, void *data)
{
    struct search *search = data;

    search->found |= root->unique == search->unique;
}

static bool
interruption_is_needed (const struct interruption *one)
{
    struct search search = { .unique = one->unique };

    stack_foreach (interruption_compare, &search);
    return search.found;
}

/* Runs on core/work, since closing a file may take long. */
static void
interruption_free (struct work_item *work)
{
    struct interruption *one = (struct interruption *) work;

    for (unsigned i = 0; i < G_N_ELEMENTS (one->inodes); i++)
        inode_unref (one->inodes[i]);
    for (unsigned i = 0; i < G_N_ELEMENTS (one->fds); i++)
        fd_unref (one->fds[i]);
    pthread_mutex_lock (&one->bridge->lock);
    g_queue_unlink (&one->bridge->interruptions, &one->place);
    pthread_mutex_unlock (&one->bridge->lock);
    bridge_timer_ends (one->bridge);
    g_free (one);
}

/* Callers that wait in the kernel for the same lock may have been killed as well. A rename or link
 * has the lock of a second directory. */
static void
note_dying (const struct interruption *one)
{
    dying_note (one->bridge, one->about);
    if (one->inodes[1])
        dying_note (one->bridge, inode_nodeid (one->inodes[1]));
}

static void
interruption_end_wait (struct interruption *one)
{
    const bool dies = process_is_dying (one->pid);

    if (dies)
        note_dying (one);
    if (process_gives_up (one->pid) && limit_cancel (one->unique))
        one->answered = true;
    else if (one->looks > 0 && one->may_answer && dies) {
        answer_early (one->bridge, one->number, EINTR);
        one->answered = true;
    }
}

/* Repeats until the request is over, since the request uses the lent inodes and fds. */
static void
interruption_look (void *data)
{
    struct interruption *one = data;

    if (!interruption_is_needed (one)) {
        one->work.run = interruption_free;
        work_put (&one->work);
        return;
    }
    if (!one->answered && !__atomic_load_n (&one->bridge->stopping, __ATOMIC_ACQUIRE))
        interruption_end_wait (one);
    one->looks++;
    timer_after (AGAIN, interruption_look, one);
}

/* With exclusive=on the kernel caches names for a day, so it must not be told that a change has
 * failed which is then made. */
void
interrupt_request (fuse_req_t req, void *data)
{
    call_stack_t *root = data;
    struct bridge *bridge = bridge_of (req);
    struct interruption *one = g_new0 (struct interruption, 1);

    *one = (struct interruption){ .bridge = bridge,
                                  .unique = root->unique,
                                  .number = root->maker.number,
                                  .pid = root->pid,
                                  .about = root->about,
                                  .may_answer = !bridge->settings.exclusive
                                             || !fop_changes (root->op, 0) };
    for (unsigned i = 0; i < G_N_ELEMENTS (one->inodes); i++)
        one->inodes[i] = root->maker.lent_inodes[i] ? inode_ref (root->maker.lent_inodes[i]) : NULL;
    for (unsigned i = 0; i < G_N_ELEMENTS (one->fds); i++)
        one->fds[i] = root->maker.lent_fds[i] ? fd_ref (root->maker.lent_fds[i]) : NULL;
    stack_interrupt (root);
    bridge_timer_begins (bridge);
    one->place.data = one;
    pthread_mutex_lock (&bridge->lock);
    g_queue_push_tail_link (&bridge->interruptions, &one->place);
    pthread_mutex_unlock (&bridge->lock);
    timer_after (0, interruption_look, one);
}

static bool
interruption_has_file (const struct interruption *one, const struct graph *graph)
{
    bool has = false;

    for (unsigned i = 0; i < G_N_ELEMENTS (one->fds); i++)
        has |= one->fds[i] && one->fds[i]->data == graph;
    return has;
}

bool
interrupt_has_file (struct bridge *bridge, const struct graph *graph)
{
    bool has = false;

    pthread_mutex_lock (&bridge->lock);
    for (const GList *at = bridge->interruptions.head; at; at = at->next)
        has |= interruption_has_file (at->data, graph);
    pthread_mutex_unlock (&bridge->lock);
    return has;
}
