/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Callers that don't wait any more: the kernel sends an interrupt when a signal comes to one. A request that waits for its turn (core/limit.h) is answered EINTR at
 * once, and not done. One that hangs below is answered EINTR when its caller is being killed, who could not end otherwise; what is done by then is answered
 * to nobody, as the kernel says to that answer.
 *
 * The interrupt comes under the library's lock, where nothing can be answered, so a timer does the rest. The kernel tells of one signal for
 * each request, which may have been a tick when a deadly one comes later: so from the first on it is looked again and again.
 */
#include "fuse/internal.h"

#define AGAIN INT64_C (100000000) /* ns */

struct interruption {
    struct bridge *bridge;
    uint64_t unique; /* of the request */
    uint64_t number; /* the kernel's */
    pid_t pid;
    bool may_answer; /* before it is done */
    unsigned looks;
};

struct search {
    uint64_t unique;
    bool found;
};

LOOKS_AT_RUNNING_REQUESTS static void
compare (const call_stack_t *root, void *data)
{
    struct search *search = data;

    search->found |= root->unique == search->unique;
}

static bool
is_under_way (const struct interruption *one)
{
    struct search search = { .unique = one->unique };

    stack_foreach (compare, &search);
    return search.found;
}

static void
interruption_free (struct interruption *one)
{
    bridge_timer_ends (one->bridge);
    g_free (one);
}

/* Whether nothing is left to do. */
static bool
end_wait (const struct interruption *one)
{
    if (__atomic_load_n (&one->bridge->stopping, __ATOMIC_ACQUIRE) || !is_under_way (one))
        return true;
    if (process_gives_up (one->pid) && limit_cancel (one->unique))
        return true;
    if (one->looks == 0 || !one->may_answer || !process_is_dying (one->pid))
        return false;
    answer_early (one->bridge, one->number, EINTR);
    return true;
}

static void
look (void *data)
{
    struct interruption *one = data;

    if (end_wait (one)) {
        interruption_free (one);
        return;
    }
    one->looks++;
    timer_after (AGAIN, look, one);
}

/* With exclusive=on the kernel keeps for a day what it knows of names, and it would not learn of a change that it took for failed. */
void
interrupt_request (fuse_req_t req, void *data)
{
    call_stack_t *root = data;
    struct bridge *bridge = bridge_of (req);
    struct interruption *one = g_new0 (struct interruption, 1);

    *one = (struct interruption){ .bridge = bridge, .unique = root->unique, .number = root->top_number, .pid = root->pid,
                                  .may_answer = !bridge->settings.exclusive || !request_modifies (root->op) };
    stack_interrupt (root);
    bridge_timer_begins (bridge);
    timer_after (0, look, one);
}
