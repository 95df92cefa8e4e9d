/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * debug/delay-gen: delays some requests.
 *
 * No thread waits meanwhile: the call is set aside, and a timer resumes it. So any number of
 * requests may be delayed at once, and other requests are not slowed, even those of the same file:
 * writes to a file may overtake each other.
 *
 * With `block` the requesting thread waits, as it does for a disk, and as in GlusterFS.
 */
#include "xlator.h"

#include <errno.h>

/* Settings; constant, except for the counts. A change of online options makes a new struct. */
struct settings {
    struct shared shared;
    double percentage;
    int64_t duration; /* ns */
    opset_t ops;
    bool block;
    uint64_t seed;
    uint64_t seen, delayed; /* atomic: candidates, and delayed requests */
};

typedef struct {
    double percentage;
    int64_t duration; /* us */
    char *enable, *seed_text;
    bool block;
    struct shared_slot settings;
    struct held_calls *held;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool ending, holding; /* lock: no thread waits, for good or until XLATOR_HOLD_OVER */
} delaygen_private_t;

static const struct xlator_option delaygen_options[] = {
    { OPTION ("delay-percentage", PERCENT, delaygen_private_t, percentage, "10%"), .online = true,
      .help = "the part of the requests that the translator delays" },
    { OPTION ("delay-duration", INT, delaygen_private_t, duration, "100000"), .min = 0,
      .max = 3600e6, .online = true,
      .help = "the delay of each such request, in microseconds; at most an hour" },
    { OPTION ("enable", STRING, delaygen_private_t, enable, ""), .check = opset_check,
      .online = true, .from_server = SERVER_MAY,
      .help = "the operations that are delayed, separated by commas, such as lookup,readv or "
              "LOOKUP,READ; empty: all" },
    { OPTION ("block", BOOL, delaygen_private_t, block, "off"), .online = true,
      .help = "on: the calling thread waits, as for a disk; off: a timer resumes the request, and "
              "no thread waits" },
    { OPTION ("seed", STRING, delaygen_private_t, seed_text, NULL), .check = chance_seed_check,
      .online = true, .from_server = SERVER_MAY,
      .help = "the number that determines which requests are delayed, so that a run can be "
              "repeated; by default a new number each time, which the daemon logs" },
    {},
};

/* --- requests --------------------------------------------------------------------------------- */

static bool
delaygen_hits (struct settings *s, enum fop op)
{
    if (!opset_has (s->ops, op))
        return false;
    if (!chance_hits (s->seed, __atomic_add_fetch (&s->seen, 1, __ATOMIC_RELAXED), s->percentage))
        return false;
    __atomic_add_fetch (&s->delayed, 1, __ATOMIC_RELAXED);
    return true;
}

/* This thread sleeps for the duration, or until the mount ends or moves to another graph. */
static void
delaygen_block (delaygen_private_t *priv, int64_t duration)
{
    const int64_t until = clock_now () + duration;

    pthread_mutex_lock (&priv->lock);
    while (!priv->ending && !priv->holding
           && thread_cond_wait_until (&priv->ended, &priv->lock, until) == 0)
        continue;
    pthread_mutex_unlock (&priv->lock);
}

static void
delaygen_any_fop (const struct call *call)
{
    delaygen_private_t *priv = call->this->private;
    struct settings *s = shared_get (&priv->settings);
    const int64_t duration = delaygen_hits (s, call->op) ? s->duration : 0;
    const bool block = s->block;
    call_stub_t *stub;

    shared_unref (&s->shared);
    if (duration > 0 && block)
        delaygen_block (priv, duration);
    if (duration == 0 || block) {
        call_pass (call);
        return;
    }
    stub = call_keep_to_pass (call);
    if (!stub) {
        call_fail (call, ENOMEM);
        return;
    }
    held_add (priv->held, stub, duration, NULL);
}

/* A delay makes a request late, but never fail, whatever ended it. An interrupted request is
 * resumed at once, as on a disk. So a program whose timer ticks never sees an EINTR that a local
 * file system does not return. */
static void
delaygen_go_on (call_stub_t *stub, enum held_end why, void *data)
{
    call_resume (stub);
}

/* --- init, reconfigure, notify, fini ---------------------------------------------------------- */

static struct settings *
delaygen_settings_new (const delaygen_private_t *options, uint64_t seed)
{
    struct settings *s = g_new0 (struct settings, 1);
    g_autofree char *problem = NULL;

    s->shared = (struct shared){ 1, g_free };
    s->percentage = options->percentage;
    s->duration = options->duration * 1000;
    opset_parse (options->enable, &s->ops, &problem); /* can't fail: the option was checked when it
                                                         was read */
    s->block = options->block;
    s->seed = seed;
    return s;
}

static int
delaygen_init (xlator_t *this)
{
    delaygen_private_t *priv = this->private;
    const uint64_t seed = chance_seed (priv->seed_text);

    shared_set (&priv->settings, &delaygen_settings_new (priv, seed)->shared);
    pthread_mutex_init (&priv->lock, NULL);
    thread_cond_init (&priv->ended);
    priv->held = held_new (delaygen_go_on);
    if (!priv->seed_text)
        gf_log (this, GF_LOG_INFO,
                "the seed is %" G_GUINT64_FORMAT ": with 'option seed %" G_GUINT64_FORMAT
                "' the same requests take longer again",
                seed, seed);
    return 0;
}

/* The counts start again. A drawn seed stays, and so do requests that are delayed already. */
static int
delaygen_reconfigure (xlator_t *this, const void *new_private)
{
    delaygen_private_t *priv = this->private;
    const delaygen_private_t *options = new_private;
    struct settings *old = shared_get (&priv->settings);
    const uint64_t seed = options->seed_text ? chance_seed (options->seed_text) : old->seed;

    shared_unref (&old->shared);
    shared_unref (shared_set (&priv->settings, &delaygen_settings_new (options, seed)->shared));
    return 0;
}

static void
delaygen_notify_threads (delaygen_private_t *priv, enum xlator_event event)
{
    pthread_mutex_lock (&priv->lock);
    if (event == XLATOR_HOLDING || event == XLATOR_HOLD_OVER)
        priv->holding = event == XLATOR_HOLDING;
    priv->ending |= event == XLATOR_ENDING || event == XLATOR_PARENT_DOWN;
    thread_cond_broadcast (&priv->ended);
    pthread_mutex_unlock (&priv->lock);
}

static void
delaygen_notify (xlator_t *this, enum xlator_event event, void *data)
{
    delaygen_private_t *priv = this->private;

    delaygen_notify_threads (priv, event);
    held_notify (priv->held, event);
    xlator_pass_on (this, event, data);
}

static void
delaygen_fini (xlator_t *this)
{
    delaygen_private_t *priv = this->private;

    held_free (priv->held);
    pthread_cond_destroy (&priv->ended);
    pthread_mutex_destroy (&priv->lock);
    shared_unref (shared_set (&priv->settings, NULL));
}

static void
delaygen_dump (xlator_t *this, GString *out)
{
    delaygen_private_t *priv = this->private;
    struct settings *s = shared_get (&priv->settings);

    g_string_append_printf (out, "seed=%" G_GUINT64_FORMAT "\n", s->seed);
    g_string_append_printf (out, "seen=%" G_GUINT64_FORMAT "\n",
                            __atomic_load_n (&s->seen, __ATOMIC_RELAXED));
    g_string_append_printf (out, "delayed=%" G_GUINT64_FORMAT "\n",
                            __atomic_load_n (&s->delayed, __ATOMIC_RELAXED));
    g_string_append_printf (out, "waiting=%u\n", held_count (priv->held, NULL, NULL));
    shared_unref (&s->shared);
}

static void
delaygen_waits_for (xlator_t *this, const call_frame_t *frame, GString *out)
{
    delaygen_private_t *priv = this->private;

    held_waits_for (priv->held, frame, NULL, out);
}

static void
delaygen_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    delaygen_private_t *priv = this->private;
    struct settings *s = shared_get (&priv->settings);

    g_string_append_printf (out, "holds back %g%% of ", s->percentage);
    opset_print (s->ops, out);
    g_string_append_printf (
        out,
        " for %.3f s, of this file as of any other (delay-percentage, enable, delay-duration)\n",
        s->duration / 1e9);
    shared_unref (&s->shared);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "debug/delay-gen",
    .about = "delays requests; no thread waits meanwhile, unless block is on",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_DATA | TOUCHES_ERRORS,
    .priv_size = sizeof (delaygen_private_t),
    .options = delaygen_options,
    .init = delaygen_init,
    .fini = delaygen_fini,
    .reconfigure = delaygen_reconfigure,
    .notify = delaygen_notify,
    .any_fop = delaygen_any_fop,
    .dumpops = { .priv = delaygen_dump,
                 .waits_for = delaygen_waits_for,
                 .explain = delaygen_explain },
    .passthrough = { .why = "may delay the file's reads and writes" },
};
