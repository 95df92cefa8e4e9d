/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/errors.h"
#include "core/base/log-journal.h"
#include "core/records/record-internal.h"
#include "core/time/clock.h"
#include "core/time/thread.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RETRY 200000000 /* nanoseconds between two attempts to write to a full log */
#define ROTATE_AGAIN 1000000000 /* nanoseconds after a failed rotation until the next attempt */
#define WAITING_MAX (16 << 20)  /* bytes of lines that wait in memory while the log is full */

/* A line that waits, with its newline. */
struct waiting_line {
    struct record_gap holds; /* what is lost if the line is; nothing: the line only ends another */
    bool is_record;
    size_t size;
    char text[];
};

/* A function that record_log_on_room has registered. */
struct record_waiter {
    void (*fn) (void *data);
    void *data;
};

/* --- writing ---------------------------------------------------------------------------------- */

static bool
record_log_wants_rotation_locked (const struct record_log *log)
{
    return log->max_size && log->size >= log->max_size;
}

/* Returns whether the file, which has just refused bytes, takes none for ever, and a new one would:
 * this one has more than the beginning of the line that it has refused. */
static bool
record_new_file_helps_locked (const struct record_log *log)
{
    return log->max_size && log->counts.error == EFBIG && log->size > log->begun;
}

/* The journal takes a record as a whole, and without the newline. */
static size_t
record_send_locked (struct record_log *log, const char *text, size_t size)
{
    g_autofree char *line = g_strndup (text, size - 1);
    const int r = journal_record_send (journal_record (log->name, line));

    log->counts.error = -r;
    return r == 0 ? size : 0;
}

/* Returns how many bytes of the text the log has taken. A shorter result sets counts.error. */
static size_t
record_put_bytes_locked (struct record_log *log, const char *text, size_t size)
{
    size_t done = 0;

    if (log->target == RECORDS_TO_JOURNAL)
        return record_send_locked (log, text, size);
    while (done < size) {
        const ssize_t n = write (log->fd, text + done, size - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            log->counts.error = n < 0 ? errno : ENOSPC;
            break;
        }
        done += (size_t) n;
    }
    log->size += done;
    if (!log->want_rotation && record_log_wants_rotation_locked (log)) {
        log->want_rotation = true;
        thread_cond_signal (&log->wake);
    }
    return done;
}

/* Returns whether a line that comes now has to be behind others, or behind the record of a gap. */
static bool
record_is_behind_locked (const struct record_log *log)
{
    return record_gap_is_open (&log->gap) || log->waiting.length > 0;
}

/* The log is behind: it is full, unless a rotation is about to help. */
static void
record_set_behind_locked (struct record_log *log)
{
    const bool helps = record_new_file_helps_locked (log);

    if (helps)
        log->want_rotation = true;
    if (!helps || log->rotation_failed)
        __atomic_store_n (&log->full, true, __ATOMIC_SEQ_CST);
    thread_cond_signal (&log->wake);
}

bool
record_keep_state_locked (struct record_log *log)
{
    struct record_kept kept = { .number = __atomic_load_n (&log->number, __ATOMIC_SEQ_CST),
                                .gap = log->gap, .error = log->counts.error };

    record_gap_add (&kept.gap, &log->waits);
    return log->lock_fd < 0 || record_file_keep (log->lock_fd, &kept);
}

static struct waiting_line *
waiting_line_new (const struct record_gap *holds, bool is_record, const char *text, size_t size)
{
    struct waiting_line *line = g_malloc (sizeof *line + size);

    line->holds = *holds;
    line->is_record = is_record;
    line->size = size;
    memcpy (line->text, text, size);
    return line;
}

static void
record_keep_locked (struct record_log *log, const struct record_gap *holds, bool is_record,
                    const GString *text)
{
    g_queue_push_tail (&log->waiting, waiting_line_new (holds, is_record, text->str, text->len));
    log->waiting_size += text->len;
    record_gap_add (&log->waits, holds);
    record_keep_state_locked (log);
    record_set_behind_locked (log);
}

/* Writes a line. No other line may wait at the time. Returns false if the log has taken no byte of
 * it. If the log has taken the beginning alone, the rest waits and the log is behind, so that no
 * other line comes between the two parts. */
static bool
record_put_locked (struct record_log *log, const struct record_gap *holds, bool is_record,
                   const GString *text)
{
    const size_t done = record_put_bytes_locked (log, text->str, text->len);

    if (done > 0 && done < text->len) {
        log->begun = done;
        record_keep_locked (log, holds, is_record, text);
    } else if (done > 0 && is_record) {
        log->counts.records++;
    }
    return done > 0;
}

/* Counts as lost, also for the next daemon, since this one may be killed before it can tell. */
static void
record_lose_locked (struct record_log *log, const struct record_gap *holds)
{
    record_gap_add (&log->gap, holds);
    log->counts.lost += holds->lost;
    record_keep_state_locked (log);
    record_set_behind_locked (log);
}

uint64_t
record_log_number (struct record_log *log)
{
    return __atomic_add_fetch (&log->number, 1, __ATOMIC_SEQ_CST);
}

void
record_log_write (struct record_log *log, const char *body, bool keep)
{
    g_autoptr (GString) line = g_string_sized_new (strlen (body) + 64);
    struct record_gap holds;
    uint64_t number;

    pthread_mutex_lock (&log->lock);
    number = record_log_number (log);
    holds = (struct record_gap){ 1, number, number, 0, clock_today (), false };
    g_string_append_printf (line, "{\"unwind\":%" PRIu64 ",%s}\n", number, body);
    if (record_is_behind_locked (log) || !record_put_locked (log, &holds, true, line)) {
        /* Once a record is lost, all that follow are, until the log has room: so one record of the
         * gap tells them all. */
        if ((keep || record_new_file_helps_locked (log)) && log->gap.lost == 0
            && log->waiting_size < WAITING_MAX)
            record_keep_locked (log, &holds, true, line);
        else
            record_lose_locked (log, &holds);
    }
    pthread_mutex_unlock (&log->lock);
}

void
record_log_note (struct record_log *log, const char *body)
{
    const struct record_gap holds = { .notes = 1, .since = clock_today () };
    g_autoptr (GString) line = g_string_new (NULL);

    g_string_append_printf (line, "{%s}\n", body);
    pthread_mutex_lock (&log->lock);
    if (record_is_behind_locked (log) || !record_put_locked (log, &holds, false, line)) {
        if (log->waiting_size < WAITING_MAX)
            record_keep_locked (log, &holds, false, line);
        else
            record_lose_locked (log, &holds);
    }
    pthread_mutex_unlock (&log->lock);
}

bool
record_log_is_full (const struct record_log *log)
{
    return __atomic_load_n (&log->full, __ATOMIC_SEQ_CST);
}

int
record_log_error (struct record_log *log)
{
    int error;

    pthread_mutex_lock (&log->lock);
    error = log->full ? log->counts.error : 0;
    pthread_mutex_unlock (&log->lock);
    return error;
}

/* --- room again ------------------------------------------------------------------------------- */

void
record_append_time (GString *out, struct timespec time)
{
    struct tm tm;
    char text[32];

    gmtime_r (&time.tv_sec, &tm);
    strftime (text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    g_string_append_printf (out, "\"time\":\"%s.%06ldZ\"", text, time.tv_nsec / 1000);
}

/* The first of the waiting lines is written. */
static void
record_waits_no_more_locked (struct record_log *log)
{
    struct waiting_line *line = g_queue_pop_head (&log->waiting);

    log->begun = 0;
    log->waiting_size -= line->size;
    log->counts.records += line->is_record;
    log->waits.lost -= line->holds.lost;
    log->waits.notes -= line->holds.notes;
    if (line->holds.lost > 0)
        log->waits.first = line->holds.last + 1;
    if (!record_gap_is_open (&log->waits))
        memset (&log->waits, 0, sizeof log->waits);
    record_keep_state_locked (log);
    g_free (line);
}

/* Writes as much of the waiting lines as the log takes. Returns whether none is left. */
static bool
record_put_waiting_locked (struct record_log *log)
{
    struct waiting_line *line;

    while ((line = g_queue_peek_head (&log->waiting))) {
        log->begun +=
            record_put_bytes_locked (log, line->text + log->begun, line->size - log->begun);
        if (log->begun < line->size)
            return false;
        record_waits_no_more_locked (log);
    }
    return true;
}

static GString *
record_gap_line (const struct record_gap *gap, int error)
{
    GString *line = g_string_new ("{\"gap\":");

    g_string_append_printf (line, "%" PRIu64 ",\"first\":%" PRIu64 ",\"last\":%" PRIu64 ",",
                            gap->lost, gap->first, gap->last);
    if (gap->at_least)
        g_string_append (line, "\"at_least\":true,");
    if (gap->notes)
        g_string_append_printf (line, "\"notes\":%" PRIu64 ",", gap->notes);
    record_append_time (line, gap->since);
    g_string_append_printf (line, ",\"error\":\"%s\"}\n", error_name (error));
    return line;
}

/* Writes the record of the gap. As soon as the log has taken the beginning of that record, the gap
 * is over: the rest of the line waits. */
static void
record_put_gap_locked (struct record_log *log)
{
    const struct record_gap gap = log->gap;
    g_autoptr (GString) line = record_gap_line (&gap, log->counts.error);

    memset (&log->gap, 0, sizeof log->gap);
    if (!record_put_locked (log, &gap, false, line)) {
        log->gap = gap;
        return;
    }
    log->counts.gaps++;
    record_keep_state_locked (log);
}

void
record_log_inherit (struct record_log *log, const struct record_gap *gap)
{
    g_autoptr (GString) line = record_gap_line (gap, log->counts.error);

    g_queue_push_tail (&log->waiting, waiting_line_new (gap, false, line->str, line->len));
    log->waiting_size += line->len;
    log->waits = *gap;
}

bool
record_catch_up_locked (struct record_log *log)
{
    if (!record_put_waiting_locked (log))
        return false;
    if (record_gap_is_open (&log->gap))
        record_put_gap_locked (log);
    return !record_is_behind_locked (log);
}

static void
record_call_waiters (struct record_log *log)
{
    pthread_mutex_lock (&log->waiters_lock);
    for (const GSList *at = log->waiters; at; at = at->next) {
        const struct record_waiter *waiter = at->data;

        waiter->fn (waiter->data);
    }
    pthread_mutex_unlock (&log->waiters_lock);
}

void
record_log_on_room (struct record_log *log, void (*fn) (void *data), void *data)
{
    struct record_waiter *waiter = g_new (struct record_waiter, 1);

    *waiter = (struct record_waiter){ fn, data };
    pthread_mutex_lock (&log->waiters_lock);
    log->waiters = g_slist_prepend (log->waiters, waiter);
    pthread_mutex_unlock (&log->waiters_lock);
}

void
record_log_off_room (struct record_log *log, void *data)
{
    pthread_mutex_lock (&log->waiters_lock);
    for (GSList *at = log->waiters, *next; at; at = next) {
        next = at->next;
        if (((struct record_waiter *) at->data)->data == data) {
            g_free (at->data);
            log->waiters = g_slist_delete_link (log->waiters, at);
        }
    }
    pthread_mutex_unlock (&log->waiters_lock);
}

/* --- files ------------------------------------------------------------------------------------ */

/* Prepares the lines that wait for a file that was just opened. If its last line is torn, because a
 * daemon was killed while the disk was full, a newline goes first. A line whose beginning was
 * written to the old file is written to the new file as a whole. */
static void
record_begin_lines_locked (struct record_log *log, bool whole)
{
    log->begun = 0;
    if (!whole) {
        const struct record_gap nothing = { 0 };

        g_queue_push_head (&log->waiting, waiting_line_new (&nothing, false, "\n", 1));
        log->waiting_size++;
    }
    if (!record_put_waiting_locked (log))
        record_set_behind_locked (log);
}

/* Takes the beginning of a line off the end of a file that is given up: the next one gets the whole
 * line. Not if another program has written behind it. */
void
record_cut_line_locked (const struct record_log *log)
{
    const off_t end = log->fd >= 0 && log->begun > 0 ? lseek (log->fd, 0, SEEK_CUR) : -1;
    struct stat st;

    if (end >= (off_t) log->begun && fstat (log->fd, &st) == 0 && st.st_size == end
        && ftruncate (log->fd, end - (off_t) log->begun) < 0)
        gf_log (NULL, GF_LOG_WARNING,
                "a file of the log '%s' ends with the beginning of a record: %s", log->name,
                g_strerror (errno));
}

/* Has records written to an open file from now on. */
static void
record_use_file (struct record_log *log, int fd, uint64_t size, bool whole)
{
    int old;

    pthread_mutex_lock (&log->lock);
    record_cut_line_locked (log);
    old = log->fd;
    log->fd = fd;
    log->size = size;
    log->want_rotation = record_log_wants_rotation_locked (log);
    log->rotate_at = 0;
    record_begin_lines_locked (log, whole);
    record_keep_state_locked (log);
    pthread_mutex_unlock (&log->lock);
    if (old >= 0)
        close (old);
}

int
record_log_begin_file (struct record_log *log)
{
    uint64_t size = 0;
    const int fd = record_file_open (log->directory, log->name, &size);

    if (fd < 0)
        return fd;
    record_use_file (log, fd, size, record_file_is_whole (log->directory, log->name));
    return 0;
}

int
record_log_reopen (struct record_log *log)
{
    int r;

    if (log->target == RECORDS_TO_JOURNAL)
        return 0;
    pthread_mutex_lock (&log->files_lock);
    r = record_file_is_it (log->directory, log->name, log->fd) ? 0 : record_log_begin_file (log);
    pthread_mutex_unlock (&log->files_lock);
    return r;
}

char *
record_log_problem (const struct record_log *log, int r)
{
    return record_file_problem (log->directory, log->name, r);
}

/* Logs once that a rotation has failed, and that the file therefore grows beyond its size. */
static void
record_say_rotation (const struct record_log *log, int r, bool failed_before)
{
    g_autofree char *problem = r < 0 ? record_log_problem (log, r) : NULL;

    if (r < 0 && !failed_before)
        gf_log (NULL, GF_LOG_ERROR,
                "the log '%s' can't be rotated: %s; it grows on until that works", log->name,
                problem);
    else if (r == 0 && failed_before)
        gf_log (NULL, GF_LOG_WARNING, "the log '%s' is rotated again", log->name);
}

static void
record_rotate (struct record_log *log, int keep)
{
    bool failed_before;
    uint64_t size;
    int fd;

    pthread_mutex_lock (&log->files_lock);
    pthread_mutex_lock (&log->lock);
    record_keep_state_locked (log);
    pthread_mutex_unlock (&log->lock);
    fd = record_file_rotate (log->directory, log->name, keep, log->fd, &size);
    if (fd >= 0)
        record_use_file (log, fd, size, record_file_is_whole (log->directory, log->name));
    pthread_mutex_unlock (&log->files_lock);
    pthread_mutex_lock (&log->lock);
    failed_before = log->rotation_failed;
    log->rotation_failed = fd < 0;
    if (fd >= 0)
        log->counts.rotations++;
    else
        log->rotate_at = clock_now () + ROTATE_AGAIN;
    pthread_mutex_unlock (&log->lock);
    record_say_rotation (log, MIN (fd, 0), failed_before);
}

void
record_log_rotate_at (struct record_log *log, uint64_t max_size, int keep)
{
    pthread_mutex_lock (&log->lock);
    log->max_size = log->target == RECORDS_TO_FILE ? max_size : 0;
    log->keep = keep;
    log->want_rotation = record_log_wants_rotation_locked (log);
    thread_cond_signal (&log->wake);
    pthread_mutex_unlock (&log->lock);
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Says once that the log is full, and once that it has room again. */
static void
record_say_full (const struct record_log *log, bool full, int error, uint64_t lost)
{
    if (full)
        gf_log (NULL, GF_LOG_ERROR, "the log '%s' takes no records: %s", log->name,
                g_strerror (error));
    else
        gf_log (NULL, GF_LOG_WARNING, "the log '%s' takes records again; %" PRIu64 " are lost",
                log->name, lost);
}

static void
record_retry_locked (struct record_log *log)
{
    const uint64_t lost = log->gap.lost;
    const bool again = record_catch_up_locked (log), seen = log->full_seen;
    const int error = log->counts.error;

    if (again)
        __atomic_store_n (&log->full, false, __ATOMIC_SEQ_CST);
    else
        record_set_behind_locked (log);
    log->full_seen = log->full;
    pthread_mutex_unlock (&log->lock);
    if (again)
        record_call_waiters (log);
    if (seen == again)
        record_say_full (log, !again, error, lost);
    pthread_mutex_lock (&log->lock);
    if (!again && !log->stop)
        thread_cond_wait_until (&log->wake, &log->lock, clock_now () + RETRY);
}

/* A full disk gets no new file. */
static bool
record_may_rotate_locked (const struct record_log *log, bool behind)
{
    return log->want_rotation && clock_now () >= log->rotate_at
        && (!behind || log->counts.error == EFBIG);
}

void *
record_log_run (void *data)
{
    struct record_log *log = data;

    pthread_mutex_lock (&log->lock);
    while (!log->stop) {
        const bool behind = log->full || record_is_behind_locked (log);
        const int keep = log->keep;

        if (record_may_rotate_locked (log, behind)) {
            pthread_mutex_unlock (&log->lock);
            record_rotate (log, keep);
            pthread_mutex_lock (&log->lock);
        } else if (behind) {
            record_retry_locked (log);
        } else if (log->want_rotation) {
            thread_cond_wait_until (&log->wake, &log->lock, log->rotate_at);
        } else {
            thread_cond_wait (&log->wake, &log->lock);
        }
    }
    pthread_mutex_unlock (&log->lock);
    return NULL;
}

/* --- reports ---------------------------------------------------------------------------------- */

void
record_log_dump (struct record_log *log, GString *out)
{
    pthread_mutex_lock (&log->lock);
    g_string_append_printf (out,
                            "number=%" PRIu64 "\nrecords=%" PRIu64 "\nlost=%" PRIu64
                            "\ngaps=%" PRIu64 "\nrotations=%" PRIu64 "\nfull=%d\n"
                            "waiting-records=%u\nfile-size=%" PRIu64 "\n",
                            __atomic_load_n (&log->number, __ATOMIC_RELAXED), log->counts.records,
                            log->counts.lost, log->counts.gaps, log->counts.rotations, log->full,
                            g_queue_get_length (&log->waiting), log->size);
    if (log->full)
        g_string_append_printf (out, "error=%s\n", error_name (log->counts.error));
    pthread_mutex_unlock (&log->lock);
}
