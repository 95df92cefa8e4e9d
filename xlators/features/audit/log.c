/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define RETRY 200000000 /* nanoseconds between two attempts to write to a full log */
#define KEPT_MAX (16 << 20) /* bytes of records that wait in memory while the log is full */
#define LINE_SPARE 64   /* bytes for the number of a record and its braces */

/* Whoever waits for room. */
struct audit_waiter {
    void (*fn) (void *data);
    void *data;
};

struct audit_log {
    unsigned refs;        /* atomic */
    enum audit_target target;
    char *name;           /* of the file */
    int directory;        /* a descriptor of its own; -1: the journal */
    pthread_t thread;

    pthread_mutex_t files_lock; /* taken to rename and open files; lock may be taken under it */
    pthread_mutex_t lock; /* a leaf; guards the rest, but for the atomic members */
    pthread_cond_t wake;  /* of the thread */
    bool stop, full_seen; /* full_seen: the log's warning was written for this time */
    int fd;               /* changes under files_lock, too */
    uint64_t size, max_size;
    int keep;
    bool want_rotation;
    uint64_t number;      /* the last one that was given out. Atomic */
    bool full;            /* atomic */
    GString *partial;     /* the rest of a line, the beginning of which is in the file */
    uint64_t partial_number; /* of its record; 0: it has none */
    GQueue kept;          /* of char *: records that wait, in the order of their numbers */
    size_t kept_size;     /* bytes of these */
    struct {
        uint64_t lost, first, last;
        struct timespec since;
    } gap;                /* records that are lost and not yet told: their numbers */
    struct {
        uint64_t records, lost, gaps, rotations;
        int error;        /* of the last attempt that failed */
    } counts;

    pthread_mutex_t waiters_lock; /* held while waiters are called */
    GSList *waiters;      /* waiters_lock */
};

/* --- writing ---------------------------------------------------------------------------------- */

/* Returns how many bytes of the text the log has taken. A shorter result sets counts.error. */
static size_t
audit_put_bytes_locked (struct audit_log *log, const char *text, size_t size)
{
    size_t done = 0;

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
    if (log->max_size && log->size >= log->max_size && !log->want_rotation) {
        log->want_rotation = true;
        thread_cond_signal (&log->wake);
    }
    return done;
}

static void
audit_set_full_locked (struct audit_log *log)
{
    __atomic_store_n (&log->full, true, __ATOMIC_SEQ_CST);
    thread_cond_signal (&log->wake);
}

/* Writes a line, which has no newline, of the record with a number, or 0. Returns false if the log
 * has not taken it. A line of which it took the beginning counts as taken, and the log is full: the
 * rest comes first when there is room, and nothing is between. */
static bool
audit_put_locked (struct audit_log *log, const char *line, uint64_t number)
{
    g_autofree char *text = NULL;
    size_t size, done;
    int r;

    if (log->target == AUDIT_JOURNAL) {
        r = journal_record_send (journal_record ("windlass-audit", line));
        log->counts.error = -r;
        return r == 0;
    }
    text = g_strconcat (line, "\n", NULL);
    size = strlen (text);
    done = audit_put_bytes_locked (log, text, size);
    if (done > 0 && done < size) {
        g_string_assign (log->partial, text + done);
        log->partial_number = number;
        audit_set_full_locked (log);
    }
    return done > 0;
}

static void
audit_lose_locked (struct audit_log *log, uint64_t number)
{
    if (log->gap.lost++ == 0) {
        log->gap.first = number;
        log->gap.since = clock_today ();
    }
    log->gap.last = number;
    log->counts.lost++;
}

static void
audit_keep_locked (struct audit_log *log, char *line)
{
    g_queue_push_tail (&log->kept, line);
    log->kept_size += strlen (line);
}

uint64_t
audit_log_number (struct audit_log *log)
{
    return __atomic_add_fetch (&log->number, 1, __ATOMIC_SEQ_CST);
}

void
audit_log_write (struct audit_log *log, const char *body, bool keep)
{
    char *line;
    uint64_t number;

    pthread_mutex_lock (&log->lock);
    number = audit_log_number (log);
    line = g_strdup_printf ("{\"unwind\":%" PRIu64 ",%s}", number, body);
    if (!log->full && audit_put_locked (log, line, number)) {
        log->counts.records++;
    } else {
        audit_set_full_locked (log);
        /* A record after a lost one is lost, too: the gap is told in one place. */
        if (keep && log->gap.lost == 0 && log->kept_size < KEPT_MAX)
            audit_keep_locked (log, g_steal_pointer (&line));
        else
            audit_lose_locked (log, number);
    }
    pthread_mutex_unlock (&log->lock);
    g_free (line);
}

void
audit_log_note (struct audit_log *log, const char *body)
{
    char *line = g_strdup_printf ("{%s}", body);

    pthread_mutex_lock (&log->lock);
    if (log->full || !audit_put_locked (log, line, 0)) {
        audit_set_full_locked (log);
        audit_keep_locked (log, g_steal_pointer (&line));
    }
    pthread_mutex_unlock (&log->lock);
    g_free (line);
}

bool
audit_log_is_full (const struct audit_log *log)
{
    return __atomic_load_n (&log->full, __ATOMIC_SEQ_CST);
}

/* --- room again ------------------------------------------------------------------------------- */

static bool
audit_put_gap_locked (struct audit_log *log)
{
    g_autoptr (GString) line = g_string_new ("{\"gap\":");

    g_string_append_printf (line,
                            "%" PRIu64 ",\"first\":%" PRIu64 ",\"last\":%" PRIu64 ",",
                            log->gap.lost, log->gap.first, log->gap.last);
    audit_append_time (line, log->gap.since);
    g_string_append_printf (line, ",\"error\":\"%s\"}", error_name (log->counts.error));
    return audit_put_locked (log, line->str, 0);
}

/* Writes what waits: the rest of a line, kept records, and the record of the gap. Returns whether
 * all is written. */
static bool
audit_catch_up_locked (struct audit_log *log)
{
    const size_t done = log->partial->len == 0 ? 0
                      : audit_put_bytes_locked (log, log->partial->str, log->partial->len);

    g_string_erase (log->partial, 0, (gssize) done);
    while (log->partial->len == 0 && !g_queue_is_empty (&log->kept)) {
        g_autofree char *line = NULL;

        if (!audit_put_locked (log, g_queue_peek_head (&log->kept), 0))
            return false;
        line = g_queue_pop_head (&log->kept);
        log->kept_size -= strlen (line);
        log->counts.records++;
    }
    if (log->partial->len == 0 && log->gap.lost > 0 && audit_put_gap_locked (log)) {
        log->counts.gaps++;
        log->gap.lost = 0;
    }
    return log->partial->len == 0 && log->gap.lost == 0;
}

static void
audit_call_waiters (struct audit_log *log)
{
    pthread_mutex_lock (&log->waiters_lock);
    for (const GSList *at = log->waiters; at; at = at->next) {
        const struct audit_waiter *waiter = at->data;

        waiter->fn (waiter->data);
    }
    pthread_mutex_unlock (&log->waiters_lock);
}

void
audit_log_on_room (struct audit_log *log, void (*fn) (void *data), void *data)
{
    struct audit_waiter *waiter = g_new (struct audit_waiter, 1);

    *waiter = (struct audit_waiter){ fn, data };
    pthread_mutex_lock (&log->waiters_lock);
    log->waiters = g_slist_prepend (log->waiters, waiter);
    pthread_mutex_unlock (&log->waiters_lock);
}

void
audit_log_off_room (struct audit_log *log, void *data)
{
    pthread_mutex_lock (&log->waiters_lock);
    for (GSList *at = log->waiters, *next; at; at = next) {
        next = at->next;
        if (((struct audit_waiter *) at->data)->data == data) {
            g_free (at->data);
            log->waiters = g_slist_delete_link (log->waiters, at);
        }
    }
    pthread_mutex_unlock (&log->waiters_lock);
}

/* --- files ------------------------------------------------------------------------------------ */

/* The rest of a line does not belong in another file: its record is lost. The last record of a file
 * may be torn, too, if a daemon was killed on a full disk: the next one begins a line. Until a line
 * is begun, the log is full: nothing may be written before the newline. */
static void
audit_end_line_locked (struct audit_log *log, bool whole)
{
    if (log->partial->len > 0 && log->partial_number)
        audit_lose_locked (log, log->partial_number);
    g_string_truncate (log->partial, 0);
    log->partial_number = 0;
    if (!whole && audit_put_bytes_locked (log, "\n", 1) == 0) {
        g_string_assign (log->partial, "\n");
        audit_set_full_locked (log);
    }
}

/* Opens the file by its name, and has records written there from now on. Whether its last line is
 * whole is only known with its lock: another daemon might still write the rest. */
static int
audit_log_begin_file (struct audit_log *log)
{
    uint64_t size;
    const int fd = audit_file_open (log->directory, log->name, &size);
    bool whole;
    int old;

    if (fd < 0)
        return fd;
    whole = audit_file_is_whole (log->directory, log->name);
    pthread_mutex_lock (&log->lock);
    old = log->fd;
    log->fd = fd;
    log->size = size;
    log->want_rotation = false;
    audit_end_line_locked (log, whole);
    pthread_mutex_unlock (&log->lock);
    if (old >= 0)
        close (old);
    return 0;
}

void
audit_log_reopen (struct audit_log *log)
{
    int r;

    if (log->target == AUDIT_JOURNAL)
        return;
    pthread_mutex_lock (&log->files_lock);
    r = audit_file_is_it (log->directory, log->name, log->fd) ? 0 : audit_log_begin_file (log);
    pthread_mutex_unlock (&log->files_lock);
    if (r < 0)
        gf_log (NULL, GF_LOG_ERROR, "audit: the log '%s' can't be opened: %s; the old file stays",
                log->name, g_strerror (-r));
}

/* If the files can't be renamed, the file grows on. */
static void
audit_rotate (struct audit_log *log, int keep)
{
    int r;

    pthread_mutex_lock (&log->files_lock);
    r = audit_files_shift (log->directory, log->name, keep);
    if (r == 0)
        r = audit_log_begin_file (log);
    pthread_mutex_unlock (&log->files_lock);
    pthread_mutex_lock (&log->lock);
    log->want_rotation = false;
    if (r == 0)
        log->counts.rotations++;
    else
        log->max_size = 0;
    pthread_mutex_unlock (&log->lock);
    if (r < 0)
        gf_log (NULL, GF_LOG_ERROR, "audit: the log '%s' can't be rotated: %s; it grows on",
                log->name, g_strerror (-r));
}

void
audit_log_rotate_at (struct audit_log *log, uint64_t max_size, int keep)
{
    pthread_mutex_lock (&log->lock);
    log->max_size = max_size;
    log->keep = keep;
    pthread_mutex_unlock (&log->lock);
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Says once that the log is full, and once that it has room again. */
static void
audit_say_full (struct audit_log *log, bool full, int error, uint64_t lost)
{
    if (full)
        gf_log (NULL, GF_LOG_ERROR, "audit: the log '%s' takes no records: %s", log->name,
                g_strerror (error));
    else
        gf_log (NULL, GF_LOG_WARNING,
                "audit: the log '%s' takes records again; %" PRIu64 " are lost", log->name, lost);
}

static void
audit_retry_locked (struct audit_log *log)
{
    const uint64_t lost = log->gap.lost;
    const bool again = audit_catch_up_locked (log), seen = log->full_seen;
    const int error = log->counts.error;

    log->full_seen = !again;
    if (again)
        __atomic_store_n (&log->full, false, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock (&log->lock);
    if (again)
        audit_call_waiters (log);
    if (seen == again)
        audit_say_full (log, !again, error, lost);
    pthread_mutex_lock (&log->lock);
    if (!again && !log->stop)
        thread_cond_wait_until (&log->wake, &log->lock, clock_now () + RETRY);
}

static void *
audit_log_run (void *data)
{
    struct audit_log *log = data;

    pthread_mutex_lock (&log->lock);
    while (!log->stop) {
        const int keep = log->keep;

        if (log->want_rotation && !log->full) {
            pthread_mutex_unlock (&log->lock);
            audit_rotate (log, keep);
            pthread_mutex_lock (&log->lock);
        } else if (log->full) {
            audit_retry_locked (log);
        } else {
            thread_cond_wait (&log->wake, &log->lock);
        }
    }
    pthread_mutex_unlock (&log->lock);
    return NULL;
}

/* --- logs ------------------------------------------------------------------------------------- */

static void
audit_log_free (struct audit_log *log)
{
    if (log->fd >= 0)
        close (log->fd);
    if (log->directory >= 0)
        close (log->directory);
    g_string_free (log->partial, TRUE);
    g_queue_clear_full (&log->kept, g_free);
    pthread_cond_destroy (&log->wake);
    pthread_mutex_destroy (&log->lock);
    pthread_mutex_destroy (&log->files_lock);
    pthread_mutex_destroy (&log->waiters_lock);
    g_free (log->name);
    g_free (log);
}

struct audit_log *
audit_log_open (enum audit_target target, int directory, const char *name)
{
    struct audit_log *log = g_new0 (struct audit_log, 1);
    int r = 0;

    log->refs = 1;
    log->target = target;
    log->name = g_strdup (name);
    log->fd = -1;
    log->directory = target == AUDIT_JOURNAL
                       ? -1
                       : openat (directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    log->partial = g_string_new (NULL);
    pthread_mutex_init (&log->lock, NULL);
    pthread_mutex_init (&log->files_lock, NULL);
    pthread_mutex_init (&log->waiters_lock, NULL);
    thread_cond_init (&log->wake);
    if (target == AUDIT_FILE && log->directory < 0)
        r = -errno;
    if (r == 0 && target == AUDIT_FILE) {
        log->number = audit_file_last_number (log->directory, name);
        r = audit_log_begin_file (log);
    }
    if (r == 0)
        r = thread_new (&log->thread, "audit", audit_log_run, log);
    if (r == 0)
        return log;
    audit_log_free (log);
    errno = -r;
    return NULL;
}

/* A last attempt; what cannot be written then is lost. */
static void
audit_log_end (struct audit_log *log)
{
    pthread_mutex_lock (&log->lock);
    log->stop = true;
    thread_cond_signal (&log->wake);
    pthread_mutex_unlock (&log->lock);
    thread_join (log->thread);
    pthread_mutex_lock (&log->lock);
    if (!audit_catch_up_locked (log))
        gf_log (NULL, GF_LOG_ERROR,
                "audit: the log '%s' ends full: %s; %" PRIu64
                " records are lost, from number %" PRIu64 ", and %u that waited",
                log->name, g_strerror (log->counts.error), log->gap.lost, log->gap.first,
                g_queue_get_length (&log->kept));
    pthread_mutex_unlock (&log->lock);
    audit_log_free (log);
}

struct audit_log *
audit_log_ref (struct audit_log *log)
{
    __atomic_add_fetch (&log->refs, 1, __ATOMIC_RELAXED);
    return log;
}

void
audit_log_unref (struct audit_log *log)
{
    if (log && __atomic_sub_fetch (&log->refs, 1, __ATOMIC_ACQ_REL) == 0)
        audit_log_end (log);
}

void
audit_log_dump (struct audit_log *log, GString *out)
{
    pthread_mutex_lock (&log->lock);
    g_string_append_printf (out,
                            "number=%" PRIu64 "\nrecords=%" PRIu64 "\nlost=%" PRIu64
                            "\ngaps=%" PRIu64 "\nrotations=%" PRIu64 "\nfull=%d\n"
                            "waiting-records=%u\nfile-size=%" PRIu64 "\n",
                            __atomic_load_n (&log->number, __ATOMIC_RELAXED), log->counts.records,
                            log->counts.lost, log->counts.gaps, log->counts.rotations, log->full,
                            g_queue_get_length (&log->kept), log->size);
    if (log->full)
        g_string_append_printf (out, "error=%s\n", error_name (log->counts.error));
    pthread_mutex_unlock (&log->lock);
}
