/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Passes each call on an hour later, from a timer, or from a thread that sleeps for an hour. */
#include "xlator.h"

#define HOUR (3600 * INT64_C (1000000000))

typedef struct {
    bool threaded; /* option */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    GQueue stubs; /* of call_stub_t; lock */
    bool down;    /* lock */
} slow_private_t;

static void
slow_late (void *stub)
{
    call_resume (stub);
}

static void
slow_any_fop (const struct call *call)
{
    slow_private_t *priv = call->this->private;
    call_stub_t *stub = call_keep_to_pass (call);

    if (!priv->threaded) {
        timer_after (HOUR, slow_late, stub);
        return;
    }
    pthread_mutex_lock (&priv->lock);
    g_queue_push_tail (&priv->stubs, stub);
    thread_cond_signal (&priv->changed);
    pthread_mutex_unlock (&priv->lock);
}

/* The next call, after an hour; NULL at the end. */
static call_stub_t *
slow_next (slow_private_t *priv)
{
    call_stub_t *stub;

    pthread_mutex_lock (&priv->lock);
    while (!priv->stubs.length && !priv->down)
        thread_cond_wait (&priv->changed, &priv->lock);
    const int64_t end = clock_now () + HOUR;
    while (priv->stubs.length && clock_now () < end)
        thread_cond_wait_until (&priv->changed, &priv->lock, end);
    stub = g_queue_pop_head (&priv->stubs);
    pthread_mutex_unlock (&priv->lock);
    return stub;
}

static void *
slow_run (void *data)
{
    call_stub_t *stub;

    while ((stub = slow_next (data)))
        call_resume (stub);
    return NULL;
}

static int
slow_init (xlator_t *this)
{
    slow_private_t *priv = this->private;

    pthread_mutex_init (&priv->lock, NULL);
    thread_cond_init (&priv->changed);
    return priv->threaded ? thread_new (&priv->thread, "slow", slow_run, priv) : 0;
}

static void
slow_fini (xlator_t *this)
{
    slow_private_t *priv = this->private;

    if (!priv->threaded)
        return;
    pthread_mutex_lock (&priv->lock);
    priv->down = true;
    thread_cond_signal (&priv->changed);
    pthread_mutex_unlock (&priv->lock);
    thread_join (priv->thread);
}

static const struct xlator_option slow_options[] = {
    { OPTION ("threaded", BOOL, slow_private_t, threaded, "off"), .help = "on a thread" },
    {},
};

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/slow",
    .about = "an hour for each call",
    .children = { .min = 1, .max = 1 },
    .priv_size = sizeof (slow_private_t),
    .options = slow_options,
    .init = slow_init,
    .fini = slow_fini,
    .any_fop = slow_any_fop,
};
