/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The commands of the translator: cut, status, sync. The worker carries each out; the requesting
 * thread waits for a limited time. */
#include "power-cut.h"

#include <errno.h>

#define PATIENCE (20LL * 1000000000)

/* Shared by both threads: the last one frees it. */
struct order {
    struct cut_job job;
    void (*carry_out) (xlator_t *this, GString *answer);
    GString *answer;
    bool done, left; /* lock */
};

static void
order_free (struct order *order)
{
    g_string_free (order->answer, TRUE);
    g_free (order);
}

static void
order_run (xlator_t *this, struct cut_job *job)
{
    power_cut_private_t *priv = cut_priv (this);
    struct order *order = (struct order *) job;
    bool left;

    order->carry_out (this, order->answer);
    pthread_mutex_lock (&priv->disk->lock);
    order->done = true;
    left = order->left;
    thread_cond_broadcast (&priv->disk->changed);
    pthread_mutex_unlock (&priv->disk->lock);
    if (left)
        order_free (order);
}

static bool
order_wait (power_cut_private_t *priv, struct order *order)
{
    const int64_t until = clock_now () + PATIENCE;
    bool done;
    int r = 0;

    pthread_mutex_lock (&priv->disk->lock);
    while (!order->done && r == 0)
        r = thread_cond_wait_until (&priv->disk->changed, &priv->disk->lock, until);
    done = order->done;
    order->left = !done;
    pthread_mutex_unlock (&priv->disk->lock);
    return done;
}

static int
order_give (xlator_t *this, void (*carry_out) (xlator_t *this, GString *answer), GString *answer)
{
    struct order *order = g_new0 (struct order, 1);

    order->job.run = order_run;
    order->carry_out = carry_out;
    order->answer = g_string_new (NULL);
    cut_worker_do (this, &order->job);
    if (!order_wait (cut_priv (this), order)) {
        g_string_append_printf (answer, "not done after %d seconds: it goes on\n",
                                (int) (PATIENCE / 1000000000));
        return -ETIMEDOUT;
    }
    g_string_append (answer, order->answer->str);
    order_free (order);
    return 0;
}

static int
refuse_input (GBytes *input, GString *answer)
{
    if (g_bytes_get_size (input) == 0)
        return 0;
    g_string_append (answer, "takes no input\n");
    return -EINVAL;
}

static int
refuse_dead (xlator_t *this, GString *answer)
{
    if (!cut_is_dead (this))
        return 0;
    g_string_append (answer, "the power is cut already\n");
    return -EALREADY;
}

/* --- cut --- */

/* Passes the cut upwards, so that the program ends as after a power failure. */
static void
carry_out_cut (xlator_t *this, GString *answer)
{
    g_autofree char *line = NULL;

    cut_undo (this, answer);
    line = g_strndup (answer->str, strcspn (answer->str, "\n"));
    gf_log (this, GF_LOG_WARNING, "%s", line);
    xlator_pass_on (this, XLATOR_GONE, NULL);
}

static int
command_cut (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    bool dead = false;
    int r = refuse_input (asked->input, answer);

    if (r < 0)
        return r;
    if (!__atomic_compare_exchange_n (&cut_disk (this)->dead, &dead, true, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE))
        return refuse_dead (this, answer);
    return order_give (this, carry_out_cut, answer);
}

/* --- status --- */

static uint64_t
unsynced (xlator_t *this, const struct cut_node *node)
{
    struct iatt buf = { 0 };

    if (cut_stat (this, node->inode, NULL, &buf) < 0)
        return 0;
    return cut_data_amount (node)
         + (buf.ia_size > node->data->size ? buf.ia_size - node->data->size : 0);
}

static void
carry_out_status (xlator_t *this, GString *answer)
{
    const power_cut_private_t *priv = cut_priv (this);
    unsigned files = 0, metadata = 0;
    uint64_t bytes = 0;

    for (GList *at = priv->disk->log.dirty.head; at; at = at->next) {
        const struct cut_node *node = at->data;
        const uint64_t n = node->data ? unsynced (this, node) : 0;

        files += n > 0;
        bytes += n;
        metadata += node->meta && node->meta->changed & ~CUT_META_TIMES;
    }
    g_string_append_printf (answer,
                            "not durable: at most %" G_GUINT64_FORMAT
                            " bytes in %u file%s, %u name%s, attributes of %u "
                            "file%s; seed %" G_GUINT64_FORMAT "\n",
                            bytes, files, files == 1 ? "" : "s", priv->disk->log.slots.length,
                            priv->disk->log.slots.length == 1 ? "" : "s", metadata,
                            metadata == 1 ? "" : "s", priv->seed);
}

static int
command_status (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    int r = refuse_input (asked->input, answer);

    if (r == 0)
        r = refuse_dead (this, answer);
    return r < 0 ? r : order_give (this, carry_out_status, answer);
}

/* --- sync --- */

static void
carry_out_sync (xlator_t *this, GString *answer)
{
    cut_log_clear (this);
    g_string_append (answer, "all that was written is durable\n");
}

static int
command_sync (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    int r = refuse_input (asked->input, answer);

    if (r == 0)
        r = refuse_dead (this, answer);
    return r < 0 ? r : order_give (this, carry_out_sync, answer);
}

const struct xlator_command cut_commands[] = {
    { "cut",
      "drops the changes that are not durable, answers no further requests, and ends the mount",
      .run = command_cut },
    { "status", "prints how much a cut would lose now", .run = command_status },
    { "sync", "makes all changes so far durable, as sync(2) does", .run = command_sync },
    {},
};
