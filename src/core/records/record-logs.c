/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The logs of the process: who opens one that is open already gets that one. */
#include "core/base/log.h"
#include "core/records/record-internal.h"
#include "core/time/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock; /* held while a log is opened or ended; locks of that log may be taken
                           * under it */
    GSList *logs;         /* lock */
} all_logs = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void
record_log_free (struct record_log *log)
{
    if (log->fd >= 0)
        close (log->fd);
    if (log->lock_fd >= 0)
        close (log->lock_fd);
    if (log->directory >= 0)
        close (log->directory);
    g_queue_clear_full (&log->waiting, g_free);
    pthread_cond_destroy (&log->wake);
    pthread_mutex_destroy (&log->lock);
    pthread_mutex_destroy (&log->files_lock);
    pthread_mutex_destroy (&log->waiters_lock);
    g_free (log->name);
    g_free (log);
}

static struct record_log *
record_log_new (enum record_target target, const char *name)
{
    struct record_log *log = g_new0 (struct record_log, 1);

    log->refs = 1;
    log->target = target;
    log->name = g_strdup (name);
    log->fd = log->directory = log->lock_fd = -1;
    pthread_mutex_init (&log->lock, NULL);
    pthread_mutex_init (&log->files_lock, NULL);
    pthread_mutex_init (&log->waiters_lock, NULL);
    thread_cond_init (&log->wake);
    return log;
}

/* Opens the directory, which the log is known by. */
static int
record_log_open_directory (struct record_log *log, int directory)
{
    struct stat st;

    if (log->target == RECORDS_TO_JOURNAL)
        return 0;
    log->directory = openat (directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (log->directory < 0 || fstat (log->directory, &st) < 0)
        return -errno;
    log->device = st.st_dev;
    log->inode = st.st_ino;
    return 0;
}

/* An earlier daemon may have left a gap that no record tells. A line that it has only begun is
 * counted in the gap, so its beginning goes. */
static void
record_log_take_gap (struct record_log *log)
{
    struct record_kept kept;

    record_file_kept (log->directory, log->name, &kept);
    if (!record_gap_is_open (&kept.gap))
        return;
    record_gap_drop_told (&kept.gap, record_file_cut (log->directory, log->name));
    log->counts.error = kept.error;
    if (record_gap_is_open (&kept.gap))
        record_log_inherit (log, &kept.gap);
}

static int
record_log_begin (struct record_log *log)
{
    int r = 0;

    if (log->target == RECORDS_TO_FILE) {
        r = log->lock_fd = record_file_lock (log->directory, log->name);
        if (r < 0)
            return r;
        log->number = record_file_last_number (log->directory, log->name);
        record_log_take_gap (log);
        r = record_log_begin_file (log);
    }
    return r < 0 ? r : thread_new (&log->thread, "records", record_log_run, log);
}

/* Returns the log of the process that is the same one, or NULL. */
static struct record_log *
record_log_known (const struct record_log *log)
{
    for (const GSList *at = all_logs.logs; at; at = at->next) {
        struct record_log *known = at->data;

        if (known->target == log->target && known->device == log->device
            && known->inode == log->inode && strcmp (known->name, log->name) == 0)
            return known;
    }
    return NULL;
}

struct record_log *
record_log_open (enum record_target target, int directory, const char *name)
{
    struct record_log *log = record_log_new (target, name), *known;
    int r = record_log_open_directory (log, directory);

    pthread_mutex_lock (&all_logs.lock);
    known = r == 0 ? record_log_known (log) : NULL;
    if (known)
        known->refs++;
    else if (r == 0 && (r = record_log_begin (log)) == 0)
        all_logs.logs = g_slist_prepend (all_logs.logs, log);
    pthread_mutex_unlock (&all_logs.lock);
    if (r == 0 && !known)
        return log;
    record_log_free (log);
    errno = -r;
    return known;
}

static void
record_log_end_full_locked (struct record_log *log)
{
    const uint64_t lost = log->gap.lost + log->waits.lost;

    record_cut_line_locked (log);
    gf_log (NULL, GF_LOG_ERROR, "the log '%s' ends full: %s; %" PRIu64 " records are lost%s",
            log->name, g_strerror (log->counts.error), lost,
            record_keep_state_locked (log) ? "; the next daemon records that"
                                           : ", and nothing will record that");
}

/* A last attempt; what cannot be written then is lost. */
static void
record_log_end (struct record_log *log)
{
    pthread_mutex_lock (&log->lock);
    log->stop = true;
    thread_cond_signal (&log->wake);
    pthread_mutex_unlock (&log->lock);
    thread_join (log->thread);
    pthread_mutex_lock (&log->lock);
    if (record_catch_up_locked (log))
        record_keep_state_locked (log);
    else
        record_log_end_full_locked (log);
    pthread_mutex_unlock (&log->lock);
    record_log_free (log);
}

void
record_log_unref (struct record_log *log)
{
    if (!log)
        return;
    pthread_mutex_lock (&all_logs.lock);
    if (--log->refs == 0) {
        all_logs.logs = g_slist_remove (all_logs.logs, log);
        record_log_end (log);
    }
    pthread_mutex_unlock (&all_logs.lock);
}
