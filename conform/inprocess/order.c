/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Answers that are held back. A thread passes them on, one at a time, in an order that depends on
 * the seed, when no wind from the top is in progress. So the answers to all concurrent calls of a
 * translator wait here together.
 */
#include "conform/inprocess/inprocess.h"

#include "core/time/thread.h"

struct held_loan {
    struct loan *loan;
    void (*hand) (struct loan *loan);
};

static struct {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t changed;
    GArray *held;         /* of struct held_loan; lock */
    bool handing;         /* lock */
    int winding;          /* winds from the top that have not returned; lock */
} order = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct held_loan
order_take_locked (void)
{
    const guint i = finding_random (order.held->len);
    struct held_loan held = g_array_index (order.held, struct held_loan, i);

    g_array_remove_index (order.held, i);
    return held;
}

static void *
order_thread (void *unused)
{
    pthread_mutex_lock (&order.lock);
    while (true) {
        while (order.held->len == 0 || order.winding > 0)
            thread_cond_wait (&order.changed, &order.lock);
        struct held_loan held = order_take_locked ();
        order.handing = true;
        pthread_mutex_unlock (&order.lock);
        held.hand (held.loan);
        pthread_mutex_lock (&order.lock);
        order.handing = false;
        thread_cond_broadcast (&order.changed);
    }
    return NULL;
}

void
order_start (void)
{
    pthread_t thread;

    order.held = g_array_new (FALSE, FALSE, sizeof (struct held_loan));
    thread_cond_init (&order.changed);
    if (thread_new (&thread, "conform-order", order_thread, NULL) < 0)
        g_error ("can't start a thread");
    pthread_detach (thread);
}

void
order_begin (void)
{
    pthread_mutex_lock (&order.lock);
    order.winding++;
    pthread_mutex_unlock (&order.lock);
}

void
order_end (void)
{
    pthread_mutex_lock (&order.lock);
    order.winding--;
    thread_cond_broadcast (&order.changed);
    pthread_mutex_unlock (&order.lock);
}

bool
order_holds (void)
{
    return variant->late || (variant->mixed && finding_random (2));
}

void
order_hold (struct loan *loan, void (*hand) (struct loan *loan))
{
    const struct held_loan held = { loan, hand };

    pthread_mutex_lock (&order.lock);
    g_array_append_val (order.held, held);
    thread_cond_broadcast (&order.changed);
    pthread_mutex_unlock (&order.lock);
}

void
order_settle (void)
{
    pthread_mutex_lock (&order.lock);
    while (order.held->len > 0 || order.handing)
        thread_cond_wait (&order.changed, &order.lock);
    pthread_mutex_unlock (&order.lock);
}
