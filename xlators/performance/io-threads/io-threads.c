/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * performance/io-threads: limits how many operations run below at a time, by priority. io-threads.h
 * lists its files.
 */
#include "io-threads.h"

#include <limits.h>

/* The number of calls of one priority that may run at a time. */
#define LIMIT(name_, place_, value_, what_)                                                        \
    {                                                                                              \
        .key = { name_ "-prio-threads" },                                                          \
        .type = OPTION_INT,                                                                        \
        OPTION_FIELD (iot_private_t, limits[place_]),                                              \
        .value = value_,                                                                           \
        .min = 1,                                                                                  \
        .max = IOT_THREADS_MAX,                                                                    \
        .online = true,                                                                            \
        .help = "how many calls may run at a time that are " what_,                                \
    }

static const struct xlator_option iot_options[] = {
    { OPTION ("thread-count", INT, iot_private_t, threads, "16"), .min = 1, .max = IOT_THREADS_MAX,
      .online = true,
      .help = "the maximum number of calls of each priority that may run at a time" },
    LIMIT ("high", IOT_HIGH, "16", "of high priority: lookup, stat, open, readdir and the like"),
    LIMIT ("normal", IOT_NORMAL, "16",
           "of normal priority: create, rename, setattr, getxattr, locks and the like"),
    LIMIT ("low", IOT_LOW, "16", "of low priority: read, write, fsync, truncate and the like"),
    LIMIT ("least", IOT_LEAST, "1",
           "of least priority: those of processes that run with ionice -c idle"),
    { OPTION ("enable-least-priority", BOOL, iot_private_t, least, "on"), .online = true,
      .help = "treat calls of processes that run with ionice -c idle separately, as calls of least "
              "priority" },
    { OPTION ("least-rate-limit", INT, iot_private_t, least_rate, "0"), .min = 0, .max = INT_MAX,
      .online = true,
      .help = "how many calls of least priority may start per second; 0: no limit" },
    { OPTION_INERT ("idle-time", INT, "has no effect: the translator has no threads of its own") },
    { OPTION ("watchdog-secs", INT, iot_private_t, watchdog_seconds, "0"), .min = 0, .max = INT_MAX,
      .online = true,
      .help = "seconds after which, if calls of a priority wait and none of them starts, the "
              "translator logs a message and lets one more call run; 0: no such check" },
    { OPTION_INERT ("cleanup-disconnected-reqs", BOOL,
                    "has no effect: the translator always drops a waiting call when its caller is "
                    "killed") },
    {},
};

static int
iot_init (xlator_t *this)
{
    static const char *const kinds[IOT_PRIORITIES] = { "operations of high priority",
                                                       "operations of normal priority",
                                                       "operations of low priority",
                                                       "operations of least priority" };
    static const char *const options[IOT_PRIORITIES] = { "high-prio-threads", "normal-prio-threads",
                                                         "low-prio-threads", "least-prio-threads" };
    iot_private_t *priv = this->private;

    pthread_mutex_init (&priv->lock, NULL);
    thread_cond_init (&priv->changed);
    for (unsigned i = 0; i < IOT_PRIORITIES; i++)
        priv->of[i] = limit_new (kinds[i], options[i], iot_most_locked (priv, i), 0, 0);
    limit_set_rate (priv->of[IOT_LEAST], (unsigned) priv->least_rate);
    pthread_mutex_lock (&priv->lock);
    iot_watch_locked (this);
    pthread_mutex_unlock (&priv->lock);
    return 0;
}

/* Calls beyond a lower limit go on; calls that a higher limit permits begin at once. */
static int
iot_reconfigure (xlator_t *this, const void *new_private)
{
    iot_private_t *priv = this->private;
    const iot_private_t *to = new_private;
    unsigned most[IOT_PRIORITIES];

    pthread_mutex_lock (&priv->lock);
    priv->threads = to->threads;
    for (unsigned i = 0; i < IOT_PRIORITIES; i++) {
        priv->limits[i] = to->limits[i];
        most[i] = iot_most_locked (priv, i);
    }
    priv->least_rate = to->least_rate;
    priv->watchdog_seconds = to->watchdog_seconds;
    __atomic_store_n (&priv->least, to->least, __ATOMIC_RELAXED);
    iot_watch_locked (this);
    pthread_mutex_unlock (&priv->lock);
    for (unsigned i = 0; i < IOT_PRIORITIES; i++)
        limit_set (priv->of[i], most[i]);
    limit_set_rate (priv->of[IOT_LEAST], (unsigned) to->least_rate);
    return 0;
}

static void
iot_set_rate (iot_private_t *priv)
{
    unsigned rate;

    pthread_mutex_lock (&priv->lock);
    rate = (unsigned) priv->least_rate;
    pthread_mutex_unlock (&priv->lock);
    limit_set_rate (priv->of[IOT_LEAST], rate);
}

/* Waiting calls go on; from XLATOR_ENDING on, and during a hold, no rate delays them. */
static void
iot_notify (xlator_t *this, enum xlator_event event, void *data)
{
    iot_private_t *priv = this->private;

    if (event == XLATOR_HOLDING || event == XLATOR_ENDING || event == XLATOR_PARENT_DOWN)
        limit_set_rate (priv->of[IOT_LEAST], 0);
    if (event == XLATOR_HOLD_OVER)
        iot_set_rate (priv);
    for (unsigned i = 0; i < IOT_PRIORITIES && event == XLATOR_PARENT_DOWN; i++)
        (void) limit_drain (priv->of[i], -1);
    xlator_pass_on (this, event, data);
}

static void
iot_fini (xlator_t *this)
{
    iot_private_t *priv = this->private;

    iot_unwatch (priv);
    for (unsigned i = 0; i < IOT_PRIORITIES; i++)
        limit_free (priv->of[i]);
    pthread_cond_destroy (&priv->changed);
    pthread_mutex_destroy (&priv->lock);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "performance/io-threads",
    .about = "limits how many operations of each priority run below at a time",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_ERRORS,
    .priv_size = sizeof (iot_private_t),
    .options = iot_options,
    .init = iot_init,
    .fini = iot_fini,
    .reconfigure = iot_reconfigure,
    .notify = iot_notify,
    .any_fop = iot_any_fop,
    .forwards = OPSET_ALL,
    .dumpops = { .priv = iot_dump, .explain = iot_explain },
};
