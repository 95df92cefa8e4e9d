/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every n-th request, kept until it is dumped. If there is no room, new samples are lost, and
 * counted. */
#include "io-stats.h"

struct samples {
    pthread_mutex_t lock; /* a leaf; guards all fields */
    GArray *kept;         /* of struct sample */
    size_t size;
    uint64_t lost; /* since the last dump */
};

struct samples *
samples_new (void)
{
    struct samples *samples = g_new0 (struct samples, 1);

    pthread_mutex_init (&samples->lock, NULL);
    samples->kept = g_array_new (FALSE, FALSE, sizeof (struct sample));
    return samples;
}

void
samples_free (struct samples *samples)
{
    if (!samples)
        return;
    g_array_unref (samples->kept);
    pthread_mutex_destroy (&samples->lock);
    g_free (samples);
}

void
samples_resize (struct samples *samples, size_t size)
{
    pthread_mutex_lock (&samples->lock);
    samples->size = size;
    if (samples->kept->len > size) {
        samples->lost += samples->kept->len - size;
        g_array_set_size (samples->kept, size);
    }
    pthread_mutex_unlock (&samples->lock);
}

void
samples_add (struct samples *samples, const struct sample *sample)
{
    pthread_mutex_lock (&samples->lock);
    if (samples->kept->len < samples->size)
        g_array_append_vals (samples->kept, sample, 1);
    else
        samples->lost++;
    pthread_mutex_unlock (&samples->lock);
}

bool
samples_any (struct samples *samples)
{
    bool any;

    pthread_mutex_lock (&samples->lock);
    any = samples->kept->len > 0 || samples->lost > 0;
    pthread_mutex_unlock (&samples->lock);
    return any;
}

void
samples_drain (struct samples *samples, GString *out)
{
    g_autoptr (GArray) kept = NULL;
    uint64_t lost;

    pthread_mutex_lock (&samples->lock);
    kept = samples->kept;
    lost = samples->lost;
    samples->kept = g_array_new (FALSE, FALSE, sizeof (struct sample));
    samples->lost = 0;
    pthread_mutex_unlock (&samples->lock);
    g_string_append (out, "time,fop,latency_us,op_ret,op_errno,uid,gid,pid\n");
    for (guint i = 0; i < kept->len; i++) {
        const struct sample *s = &g_array_index (kept, struct sample, i);
        char name[32];

        g_string_append_printf (out, "%lld.%06ld,%s,%.3f,%d,%d,%u,%u,%d\n",
                                (long long) s->when.tv_sec, s->when.tv_nsec / 1000,
                                report_name (s->op, name), s->ns / 1e3, s->op_ret,
                                s->op_ret < 0 ? s->op_errno : 0, s->uid, s->gid, s->pid);
    }
    if (lost)
        g_string_append_printf (out,
                                "# %" G_GUINT64_FORMAT " more were lost: ios-sample-buf-size\n",
                                lost);
}
