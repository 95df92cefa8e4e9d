/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reports: statedump, explain, and the numbers of waiting calls as an extended attribute. */
#include "io-threads.h"

#include <string.h>

#define SIZES_KEY "trusted.glusterfs.io-thread-queue-size"

const char *const iot_priority_names[IOT_PRIORITIES] = { "high", "normal", "low", "least" };

/* --- state dump ------------------------------------------------------------------------------- */

static void
dump_priority (enum iot_priority i, const struct limit_numbers *n, GString *out)
{
    const char *name = iot_priority_names[i];

    g_string_append_printf (out, "max_%s_priority_threads=%u\ncurrent_%s_priority_threads=%u\n",
                            name, n->most, name, n->running);
    g_string_append_printf (out,
                            "%s_priority_queue_length=%u\n%s_priority_waited=%" G_GUINT64_FORMAT
                            "\n%s_priority_cancelled=%" G_GUINT64_FORMAT
                            "\n%s_priority_longest_wait_us=%" G_GINT64_FORMAT "\n",
                            name, n->waiting, name, n->waited, name, n->cancelled, name,
                            n->longest / 1000);
}

void
iot_dump (xlator_t *this, GString *out)
{
    iot_private_t *priv = this->private;
    unsigned running = 0;

    for (unsigned i = 0; i < IOT_PRIORITIES; i++) {
        const struct limit_numbers n = limit_count (priv->of[i]);

        dump_priority (i, &n, out);
        running += n.running;
    }
    pthread_mutex_lock (&priv->lock);
    g_string_append_printf (out,
                            "maximum_threads_count=%d\ncurrent_threads_count=%u\nleast_rate_limit=%"
                            "d\nwatchdog_seconds=%d\n",
                            priv->threads, running, priv->least_rate, priv->watchdog_seconds);
    pthread_mutex_unlock (&priv->lock);
}

/* --- explain ---------------------------------------------------------------------------------- */

void
iot_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    iot_private_t *priv = this->private;
    unsigned waiting = 0, running = 0;

    for (unsigned i = 0; i < IOT_PRIORITIES; i++) {
        const struct limit_numbers n = limit_count (priv->of[i]);

        waiting += n.waiting;
        running += n.running;
    }
    pthread_mutex_lock (&priv->lock);
    g_string_append_printf (
        out,
        "operations on it, as on any other, run in the thread that brings them: at a time %u that "
        "look at it (high-prio-threads), %u on names "
        "and attributes (normal-prio-threads), %u on its bytes (low-prio-threads)\n",
        iot_most_locked (priv, IOT_HIGH), iot_most_locked (priv, IOT_NORMAL),
        iot_most_locked (priv, IOT_LOW));
    if (__atomic_load_n (&priv->least, __ATOMIC_RELAXED))
        g_string_append_printf (
            out, "of processes that run with ionice -c idle %u (least-prio-threads)%s\n",
            iot_most_locked (priv, IOT_LEAST),
            priv->least_rate ? ", as many a second as least-rate-limit says" : "");
    pthread_mutex_unlock (&priv->lock);
    g_string_append_printf (out, "now %u run below, and %u wait for their turn\n", running,
                            waiting);
}

/* --- queue lengths, for root ------------------------------------------------------------------ */

static dict_t *
iot_sizes (iot_private_t *priv)
{
    unsigned n[IOT_PRIORITIES];
    dict_t *dict = dict_new ();

    for (unsigned i = 0; i < IOT_PRIORITIES; i++)
        n[i] = limit_count (priv->of[i]).waiting;
    g_autofree char *text = g_strdup_printf ("HIGH=%u NORMAL=%u LOW=%u LEAST=%u", n[IOT_HIGH],
                                             n[IOT_NORMAL], n[IOT_LOW], n[IOT_LEAST]);
    dict_set_str (dict, SIZES_KEY, text);
    return dict;
}

bool
iot_answers_sizes (const struct call *call)
{
    if (G_LIKELY (call->op != FOP_getxattr && call->op != FOP_fgetxattr) || !call->name
        || strcmp (call->name, SIZES_KEY) != 0 || call->frame->root->uid != 0)
        return false;
    g_autoptr (dict_t) dict = iot_sizes (call->this->private);
    if (call->op == FOP_getxattr)
        STACK_UNWIND (getxattr, call->frame, 0, 0, dict, NULL);
    else
        STACK_UNWIND (fgetxattr, call->frame, 0, 0, dict, NULL);
    return true;
}
