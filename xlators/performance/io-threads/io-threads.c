/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * performance/io-threads: requests go on in threads of its own, the more urgent ones first. io-threads.h lists its files.
 */
#include "io-threads.h"

#include <limits.h>

/* How many threads may be busy with calls of one queue. */
#define LIMIT(name_, place_, value_, what_)                                                        \
    {                                                                                              \
        .key = { name_ "-prio-threads" },                                                          \
        .type = OPTION_INT,                                                                        \
        OPTION_FIELD (iot_private_t, limits[place_]),                                              \
        .value = value_,                                                                           \
        .min = 1,                                                                                  \
        .max = IOT_THREADS_MAX,                                                                    \
        .online = true,                                                                            \
        .help = "how many threads may be busy with " what_,                                        \
    }

static const struct xlator_option iot_options[] = {
    {
        .key = { "thread-count" },
        .type = OPTION_INT,
        OPTION_FIELD (iot_private_t, threads),
        .value = "16",
        .min = 1,
        .max = IOT_THREADS_MAX,
        .online = true,
        .help = "how many threads there may be; they come as calls wait",
    },
    LIMIT ("high", IOT_HIGH, "16", "looking: lookup, stat, open, readdir and the like"),
    LIMIT ("normal", IOT_NORMAL, "16", "names, attributes and locks: create, rename, setattr, getxattr and the like"),
    LIMIT ("low", IOT_LOW, "16", "bytes: reading, writing, fsync, truncate and the like"),
    LIMIT ("least", IOT_LEAST, "1", "what processes ask that run with ionice -c idle"),
    {
        .key = { "enable-least-priority" },
        .type = OPTION_BOOL,
        OPTION_FIELD (iot_private_t, least),
        .value = "on",
        .online = true,
        .help = "what processes ask that run with ionice -c idle comes last",
    },
    {
        .key = { "least-rate-limit" },
        .type = OPTION_INT,
        OPTION_FIELD (iot_private_t, least_rate),
        .value = "0",
        .min = 0,
        .max = INT_MAX,
        .online = true,
        .help = "how many calls of the least priority go on in a second; 0: any number",
    },
    {
        .key = { "idle-time" },
        .type = OPTION_INT,
        OPTION_FIELD (iot_private_t, idle_seconds),
        .value = "120",
        .min = 1,
        .max = INT_MAX,
        .help = "so many seconds after its last call a thread goes; one stays",
    },
    {
        .key = { "watchdog-secs" },
        .type = OPTION_INT,
        OPTION_FIELD (iot_private_t, watchdog_seconds),
        .value = "0",
        .min = 0,
        .max = INT_MAX,
        .online = true,
        .help = "when calls wait and none went on for so many seconds, the log says what is stuck, and one more thread may come; 0: nobody "
                "looks",
    },
    {
        .key = { "cleanup-disconnected-reqs" },
        .type = OPTION_BOOL,
        OPTION_FIELD (iot_private_t, cleanup),
        .value = "off",
        .online = true,
        .help = "a call that changes nothing, and whose process has ended while it was in a queue, isn't done",
    },
    {
        .key = { "in-place-limit" },
        .type = OPTION_TIME,
        OPTION_FIELD (iot_private_t, in_place),
        .value = "50us",
        .min = 0,
        .max = 1,
        .online = true,
        .help = "operations that took less than this run in the thread that brought them while no call waits in a queue, slower ones "
                "in the pool; 0: all in the pool",
    },
    {},
};

static int
iot_init (xlator_t *this)
{
    iot_private_t *priv = this->private;

    pthread_mutex_init (&priv->lock, NULL);
    thread_cond_init (&priv->changed);
    iot_queues_init (priv);
    iot_pools_init (priv);
    iot_place_init (priv);
    return 0;
}

/* Threads beyond a lower number go as soon as they have no call; for a higher one they come as calls wait. */
static int
iot_reconfigure (xlator_t *this, const void *new_private)
{
    iot_private_t *priv = this->private;
    const iot_private_t *to = new_private;

    pthread_mutex_lock (&priv->lock);
    priv->threads = to->threads;
    for (unsigned i = 0; i < IOT_PRIORITIES; i++)
        priv->limits[i] = to->limits[i];
    if (priv->least_rate != to->least_rate)
        priv->least_next = 0;
    priv->least_rate = to->least_rate;
    priv->watchdog_seconds = to->watchdog_seconds;
    priv->in_place = to->in_place;
    __atomic_store_n (&priv->least, to->least, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->cleanup, to->cleanup, __ATOMIC_RELAXED);
    iot_place_set_locked (priv);
    if (iot_length_locked (priv))
        iot_watch_locked (this);
    pthread_mutex_unlock (&priv->lock);
    iot_wake (this);
    return 0;
}

/* What is in queues goes on; from ENDING on no rate holds it back. Who waits for a lock goes on when storage gives up. */
static void
iot_notify (xlator_t *this, enum xlator_event event, void *data)
{
    iot_private_t *priv = this->private;

    if (event == XLATOR_ENDING || event == XLATOR_PARENT_DOWN) {
        __atomic_store_n (&priv->ending, true, __ATOMIC_RELAXED);
        iot_wake (this);
    }
    if (event == XLATOR_PARENT_DOWN)
        iot_drain (priv);
    xlator_pass_on (this, event, data);
    if (event == XLATOR_PARENT_DOWN)
        iot_stop (priv);
}

static void
iot_fini (xlator_t *this)
{
    iot_private_t *priv = this->private;

    iot_stop (priv);
    iot_unwatch (priv);
    iot_queues_free (priv);
    pthread_cond_destroy (&priv->changed);
    pthread_mutex_destroy (&priv->lock);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "performance/io-threads",
    .about = "has requests go on in threads of its own, the more urgent ones first",
    .children = { .min = 1, .max = 1 },
    .touches = TOUCHES_ERRORS,
    .priv_size = sizeof (iot_private_t),
    .options = iot_options,
    .init = iot_init,
    .fini = iot_fini,
    .reconfigure = iot_reconfigure,
    .notify = iot_notify,
    .every = iot_every,
    .forwards = OPSET_ALL,
    .dumpops = { .priv = iot_dump, .waits_for = iot_waits_for, .explain = iot_explain },
};
