/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The option `watch`: selects a way to see other processes' changes; and the watch thread. */
#include "internal.h"

#include <inttypes.h>
#include <poll.h>
#include <sys/eventfd.h>

#define BUFFER_SIZE (64 * 1024)
#define PATIENCE (5LL * 1000000000)

static const char *const ways[] = { "off", "auto", "filesystem", "inodes" };

/* --- the thread ------------------------------------------------------------------------------- */

/* Waits for an event or for the bell. After a round without a report, first waits a moment for the
 * bell alone: requests through the mount cause events too, and the kernel merges waiting ones. */
static void
wait_for_events (struct posix_watch *watch, bool idle)
{
    struct pollfd fds[] = { { .fd = watch->bell, .events = POLLIN },
                            { .fd = watch->fd, .events = POLLIN } };
    uint64_t rings;

    if (idle)
        poll (fds, 1, 1);
    poll (fds, 2, -1);
    if (fds[0].revents & POLLIN && read (watch->bell, &rings, sizeof rings) < 0)
        return;
}

/* Reports inodes that are not watched any more as changed. */
static void
tell_dropped (struct posix_watch *watch)
{
    g_autoptr (GArray) dropped = NULL;
    bool all;

    pthread_mutex_lock (&watch->lock);
    all = watch->dropped_all;
    watch->dropped_all = false;
    if (watch->dropped->len > 0) {
        dropped = watch->dropped;
        watch->dropped = g_array_new (false, false, sizeof (gfid_t));
    }
    pthread_mutex_unlock (&watch->lock);
    if (all)
        watch_tell (watch, NULL, INVALIDATE_ALL, NULL);
    for (guint i = 0; dropped && !all && i < dropped->len; i++)
        watch_tell (watch, &g_array_index (dropped, gfid_t, i), INVALIDATE_ALL, NULL);
}

static void *
watch_run (void *data)
{
    struct posix_watch *watch = data;
    g_autofree char *buffer = g_malloc (BUFFER_SIZE);
    int r = 1;

    while (!__atomic_load_n (&watch->ending, __ATOMIC_ACQUIRE)) {
        wait_for_events (watch, r == 0);
        tell_dropped (watch);
        r = watch_events_read (watch, buffer, BUFFER_SIZE);
    }
    pthread_mutex_lock (&watch->lock);
    watch->done = true;
    thread_cond_broadcast (&watch->over);
    pthread_mutex_unlock (&watch->lock);
    return NULL;
}

void
posix_watch_start (struct posix_watch *watch)
{
    g_autofree char *reason = NULL;
    int r = thread_new (&watch->thread, "posix-watch", watch_run, watch);

    watch->started = r == 0;
    if (r == 0)
        return;
    reason = attempt_reason (-r);
    gf_log (watch->this, GF_LOG_WARNING,
            "option 'watch': can't start a thread for it: %s. What others change is seen when what "
            "is remembered expires",
            reason);
}

void
posix_watch_stop (struct posix_watch *watch)
{
    const int64_t until = clock_now () + PATIENCE;
    int r = 0;

    __atomic_store_n (&watch->ending, true, __ATOMIC_RELEASE);
    watch_ring (watch);
    pthread_mutex_lock (&watch->lock);
    while (watch->started && !watch->done && r == 0)
        r = thread_cond_wait_until (&watch->over, &watch->lock, until);
    pthread_mutex_unlock (&watch->lock);
    if (r < 0)
        gf_log (watch->this, GF_LOG_WARNING,
                "the kernel, or a translator above, doesn't accept that a file was changed");
}

/* --- start and end ---------------------------------------------------------------------------- */

static struct posix_watch *
watch_new (xlator_t *this)
{
    struct posix_watch *watch = g_new0 (struct posix_watch, 1);

    watch->this = this;
    watch->fd = -1;
    watch->bell = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    thread_cond_init (&watch->over);
    watch_marks_init (watch);
    return watch;
}

void
posix_watch_free (struct posix_watch *watch)
{
    if (watch->started) {
        posix_watch_stop (watch);
        thread_join (watch->thread);
    }
    watch_marks_free (watch);
    pthread_cond_destroy (&watch->over);
    if (watch->fd >= 0)
        close (watch->fd);
    if (watch->bell >= 0)
        close (watch->bell);
    g_free (watch);
}

static int
watch_begin (struct posix_watch *watch, int mode)
{
    int r = watch->bell < 0      ? -EMFILE
          : mode == WATCH_INODES ? -EPERM
                                 : watch_marks_begin (watch, true);

    if (r < 0 && mode != WATCH_FILESYSTEM)
        r = watch_marks_begin (watch, false);
    return r;
}

/* Under the test scheduler there are no other processes, and its threads may only wait for each
 * other. */
int
posix_watch_init (xlator_t *this)
{
    posix_private_t *priv = posix_priv (this);
    struct posix_watch *watch;
    int r;

    if (priv->watch_mode == WATCH_OFF || random_is_seeded ())
        return 0;
    watch = watch_new (this);
    r = watch_begin (watch, priv->watch_mode);
    if (r == 0) {
        priv->watch = watch;
        priv->cache.watch = watch->whole ? NULL : watch;
        gf_log (this, GF_LOG_INFO, "what others change in '%s' is seen at once: %s",
                priv->directory,
                watch->whole ? "its whole file system is watched"
                             : "each file and directory that is known is watched");
        return 0;
    }
    posix_watch_free (watch);
    gf_log (this, priv->watch_mode == WATCH_AUTO ? GF_LOG_WARNING : GF_LOG_ERROR,
            "option 'watch' is '%s', but '%s' cannot be watched (%s); it takes Linux 5.13, a file "
            "system with file handles and, for "
            "'filesystem', root%s",
            ways[priv->watch_mode], priv->directory, g_strerror (-r),
            priv->watch_mode == WATCH_AUTO
                ? ": what others change is seen when what is remembered expires"
                : "; the other value is 'off'");
    return priv->watch_mode == WATCH_AUTO ? 0 : r;
}

/* --- reports ---------------------------------------------------------------------------------- */

void
posix_watch_dump (const posix_private_t *priv, GString *out)
{
    struct posix_watch *watch = priv->watch;
    guint known;

    g_string_append_printf (out, "watch=%s\n",
                            ways[!watch         ? WATCH_OFF
                                 : watch->whole ? WATCH_FILESYSTEM
                                                : WATCH_INODES]);
    if (!watch)
        return;
    pthread_mutex_lock (&watch->lock);
    known = g_hash_table_size (watch->known);
    pthread_mutex_unlock (&watch->lock);
#define COUNT(field_) __atomic_load_n (&watch->count.field_, __ATOMIC_RELAXED)
    g_string_append_printf (out,
                            "watch-known=%u\nwatch-unmarked=%" PRIu64 "\nwatch-events=%" PRIu64
                            "\nwatch-own=%" PRIu64 "\nwatch-unknown=%" PRIu64
                            "\nwatch-overflows=%" PRIu64 "\nwatch-told=%" PRIu64 "\n",
                            known, COUNT (unmarked), COUNT (events), COUNT (own), COUNT (unknown),
                            COUNT (overflows), COUNT (told));
#undef COUNT
}

void
posix_watch_explain (const posix_private_t *priv, GString *out)
{
    if (!priv->watch)
        g_string_append (out, "what others change in the directory is seen when what is remembered "
                              "expires (watch)\n");
    else
        g_string_append_printf (out,
                                "what others change in the directory is seen at once: %s (watch)\n",
                                priv->watch->whole ? "the whole file system is watched"
                                                   : "what is known of it is watched, one by one");
}
