/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/report/watchdog.h"
#include "core/time/clock.h"
#include "core/report/request-snapshot.h"
#include "core/time/timer.h"

#include <string.h>

static struct {
    pthread_mutex_t lock; /* a leaf, except for the lock of timers */
    core_timer_t *timer;  /* the next check, or NULL; lock */
    int64_t patience;     /* lock */
} dog = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool
may_take_long (enum fop op)
{
    return op == FOP_lk || op == FOP_flock;
}

/* Logs all in one line, as every log message is. */
static void
watchdog_report (const call_stack_t *root)
{
    g_autoptr (GString) text = g_string_new (NULL), process = g_string_new (NULL);
    g_autofree char *where = NULL;
    struct seen_request seen;

    if (!stack_see (root, true, &seen))
        return;
    process_append (process, seen.pid);
    for (unsigned i = 0; i < seen.n; i++)
        if (seen.frames[i].last) {
            g_string_append_printf (text, "%s'%s' waits for ", text->len ? ", " : "",
                                    seen.frames[i].xl->name);
            seen_waits_for (&seen, &seen.frames[i], text);
        }
    where = g_strchomp (stack_describe (root));
    for (char *end = strchr (where, '\n'); end; end = strchr (end, '\n'))
        *end = ';';
    gf_log (NULL, GF_LOG_WARNING, "no answer for %.0f s, process %s: %s: %s", seen.age / 1e9,
            process->str, text->str, where);
}

/* Requests go on meanwhile: at worst, the report describes the next request in the same memory. */
__attribute__ ((no_sanitize ("thread"))) static void
watchdog_look_at (const call_stack_t *root, void *data)
{
    const int64_t *patience = data;
    const int64_t age = clock_now () - root->begin;
    const uint64_t unique = root->unique;

    if (age < *patience || may_take_long (root->op) || root->onlooker.reported == unique)
        return;
    ((call_stack_t *) root)->onlooker.reported = unique; /* only the watchdog uses it */
    watchdog_report (root);
}

static void watchdog_look (void *unused);

static void
arm_locked (void)
{
    dog.timer = dog.patience > 0 ? timer_after (dog.patience / 2, watchdog_look, NULL) : NULL;
}

static void
watchdog_look (void *unused)
{
    int64_t patience;

    pthread_mutex_lock (&dog.lock);
    patience = dog.patience;
    arm_locked ();
    pthread_mutex_unlock (&dog.lock);
    if (patience <= 0)
        return;
    xlators_pin ();
    stack_foreach (watchdog_look_at, &patience);
    xlators_unpin ();
}

void
watchdog_set (int64_t patience)
{
    pthread_mutex_lock (&dog.lock);
    dog.patience = patience;
    if (!dog.timer)
        arm_locked ();
    pthread_mutex_unlock (&dog.lock);
}
