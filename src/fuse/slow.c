/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * That nobody waits for a request of somebody else's. A thread that takes requests does what is quick itself, and has another do what was slow
 * lately (core/elsewhere.h), which is known by what requests took it. That tells nothing of one that hangs: so when no thread
 * waits for requests, and there are as many as may be, a timer looks at what they do. Who has been in one request for longer than
 * that doesn't count any more, so that another takes his place, unless he only waits for a processor; and the operation that he is in is
 * slow from then on.
 */
#include "fuse/internal.h"

#define LOOK INT64_C (2000000)       /* ns; so long may one be in a request, before he counts as stuck */
#define LOOK_BEHIND INT64_C (100000000) /* and where it waits for others that do the same: as long as all threads take that do it in turn */
#define LOOK_SELDOM INT64_C (16000000) /* where all are busy and none is stuck */

__thread struct serving *serving;

/* Of a thread that isn't one of loop.c's. */
static __thread struct serving own;

struct serving *
slow_serve (struct serving *of_reader)
{
    serving = of_reader ? of_reader : &own;
    __atomic_store_n (&serving->thread, thread_id, __ATOMIC_RELAXED);
    thread_hurries = true;
    return serving;
}

/* An operation that a request makes after another, such as a setattr after its truncate, may be quick itself. */
void
slow_note (struct bridge *bridge, const call_stack_t *root, const struct serving *self)
{
    const uint64_t begin = self->since;
    const enum fop last = root->frames[1].op;
    uint64_t end;

    if (!root->frames[0].wound)
        return;
    end = quick_end (&bridge->elsewhere->quick, last, &self->moving, begin);
    elsewhere_note (bridge->elsewhere, last, begin, end);
    if (G_UNLIKELY (last != root->op))
        elsewhere_note (bridge->elsewhere, root->op, begin, end);
}

/* --- the kernel's own writes -------------------------------------------------------------------- */

static unsigned *
own_writes (struct bridge *bridge, const struct fuse_local *local)
{
    return &bridge->own_writes[(uintptr_t) local->fd->inode / sizeof (inode_t) % OWN_WRITES];
}

void
slow_own_write_begins (struct bridge *bridge, struct fuse_local *local)
{
    local->behind = __atomic_fetch_add (own_writes (bridge, local), 1, __ATOMIC_RELAXED) > 0;
    __atomic_store_n (&serving->moving.behind, local->behind, __ATOMIC_RELAXED);
}

void
slow_own_write_ends (struct bridge *bridge, const struct fuse_local *local)
{
    __atomic_sub_fetch (own_writes (bridge, local), 1, __ATOMIC_RELAXED);
    if (local->behind)
        elsewhere_was_behind ();
}

/* --- those that are stuck ------------------------------------------------------------------------ */

static LOOKS_AT_RUNNING_REQUESTS void
note_stuck (struct bridge *bridge, const struct serving *one, const call_stack_t *root, uint64_t begin, uint64_t now)
{
    const enum fop op = root->frames[1].op;

    if (op > FOP_NONE && op < FOP_MAX && root->frames[0].wound
        && !process_is_running (__atomic_load_n (&one->thread, __ATOMIC_RELAXED)) && quick_note_stuck (&bridge->elsewhere->quick, op, begin, now))
        elsewhere_changed (bridge->elsewhere);
}

bool
slow_is_stuck (struct bridge *bridge, const struct serving *one)
{
    const uint64_t since = __atomic_load_n (&one->since, __ATOMIC_ACQUIRE), now = ticks_now ();
    const call_stack_t *root = __atomic_load_n (&one->root, __ATOMIC_RELAXED);
    const bool behind = __atomic_load_n (&one->moving.behind, __ATOMIC_RELAXED);
    const int64_t may_take = MAX (behind ? LOOK_BEHIND : LOOK, bridge->settings.in_place);

    if (since == 0 || ticks_between (since, now) < ticks_of_ns (may_take)) /* now may be the earlier */
        return false;
    if (root)
        note_stuck (bridge, one, root, since, now);
    return true;
}

/* It has a processor, or waits for one. Another in its place would wait beside it, where there are as many as are worth having. */
static bool
is_in_line (const struct bridge *bridge, const struct serving *one)
{
    return bridge->n_readers >= bridge->crowd && process_is_running (__atomic_load_n (&one->thread, __ATOMIC_RELAXED));
}

static unsigned
count_stuck (struct bridge *bridge)
{
    unsigned stuck = 0;

    for (unsigned i = 0; i < READERS_MAX; i++) {
        const struct serving *one = &bridge->readers[i].serving;

        if (slow_is_stuck (bridge, one) && !is_in_line (bridge, one)) /* of none: it isn't in a request, either */
            stuck++;
    }
    return stuck;
}

static bool
is_used_up (struct bridge *bridge)
{
    return __atomic_load_n (&bridge->idle, __ATOMIC_SEQ_CST) == 0;
}

/* How many are stuck, whose place others take; and of a ring's, how many are in a request, and may be stuck when it is looked next. */
static unsigned
replace_locked (struct bridge *bridge, unsigned *ret_busy)
{
    unsigned stuck = ring_replace_locked (bridge, ret_busy);

    if (is_used_up (bridge)) {
        const unsigned readers = count_stuck (bridge);

        loop_replace_locked (bridge, readers);
        stuck += readers;
    }
    return stuck;
}

static void
look (void *data)
{
    struct bridge *bridge = data;
    unsigned stuck, busy = 0;

    pthread_mutex_lock (&bridge->lock);
    stuck = bridge->stopping ? 0 : replace_locked (bridge, &busy);
    bridge->look_every = stuck ? LOOK : MIN (bridge->look_every * 2, LOOK_SELDOM);
    __atomic_store_n (&bridge->looking, false, __ATOMIC_SEQ_CST);
    if (stuck || busy || is_used_up (bridge))
        slow_look_locked (bridge);
    pthread_cond_broadcast (&bridge->changed);
    pthread_mutex_unlock (&bridge->lock);
}

void
slow_look_locked (struct bridge *bridge)
{
    if (bridge->stopping || __atomic_exchange_n (&bridge->looking, true, __ATOMIC_SEQ_CST))
        return;
    bridge->look_every = MAX (bridge->look_every, LOOK);
    timer_after (bridge->look_every, look, bridge);
}

/* --- beginning and end ---------------------------------------------------------------------------- */

void
slow_begin (struct bridge *bridge)
{
    bridge->elsewhere = elsewhere_new (bridge->graph->top, bridge->settings.in_place, false);
}

bool
slow_stop_locked (struct bridge *bridge, int64_t until)
{
    while (__atomic_load_n (&bridge->looking, __ATOMIC_SEQ_CST))
        thread_cond_wait (&bridge->changed, &bridge->lock);
    pthread_mutex_unlock (&bridge->lock);
    const bool done = pool_wait (bridge->elsewhere->pool, until);
    pthread_mutex_lock (&bridge->lock);
    return done;
}

void
slow_dump (struct bridge *bridge, GString *out)
{
    const struct elsewhere *elsewhere = bridge->elsewhere;
    const struct pool_numbers numbers = pool_count (elsewhere->pool);
    opset_t ops = 0;

    for (unsigned op = FOP_NONE + 1; op < FOP_MAX; op++)
        if (!quick_is (&elsewhere->quick, op))
            ops |= OPSET_OF (op);
    g_string_append (out, "slow_operations=");
    if (ops)
        opset_print (ops, out);
    g_string_append_printf (out, "\nhanded_over=%" G_GUINT64_FORMAT "\nslow_threads=%u\nslow_threads_busy=%u\nslow_threads_limit=%u\n"
                            "slow_waiting=%u\n", __atomic_load_n (&elsewhere->handed, __ATOMIC_RELAXED), numbers.threads, numbers.busy, numbers.limit,
                            numbers.waiting);
}
