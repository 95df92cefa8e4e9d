/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/log.h"

#include "core/base/log-journal.h"
#include "core/base/printable.h"
#include "core/base/safe-open.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define COLLECT_MAX 8192 /* bytes: an answer that a socket takes at once */

static struct {
    pthread_mutex_t lock; /* a leaf; guards path, fd and the order of lines */
    char *path;           /* NULL: standard error */
    int fd;
    gf_loglevel_t level; /* atomic */
    bool tee;            /* atomic */
    bool said_lost;      /* lock */
    GString *collected;  /* lock; NULL: nothing is collected */
    const char *journal_of; /* a mount point: the log is the journal; atomic, interned */
} out = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = STDERR_FILENO, .level = GF_LOG_INFO };

static const struct {
    const char *name;
    char letter;
} log_levels[] = {
    [GF_LOG_NONE] = { "NONE", '-' },
    [GF_LOG_EMERG] = { "EMERG", 'M' },
    [GF_LOG_ALERT] = { "ALERT", 'A' },
    [GF_LOG_CRITICAL] = { "CRITICAL", 'C' },
    [GF_LOG_ERROR] = { "ERROR", 'E' },
    [GF_LOG_WARNING] = { "WARNING", 'W' },
    [GF_LOG_NOTICE] = { "NOTICE", 'N' },
    [GF_LOG_INFO] = { "INFO", 'I' },
    [GF_LOG_DEBUG] = { "DEBUG", 'D' },
    [GF_LOG_TRACE] = { "TRACE", 'T' },
};

static int
log_open_file (const char *path)
{
    const int fd =
        open_ours (path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);

    if (fd >= 0)
        fcntl (fd, F_SETFL, fcntl (fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

int
log_open (const char *path)
{
    bool terminal = !path || strcmp (path, "-") == 0 || strcmp (path, "/dev/stderr") == 0;
    int fd = terminal ? STDERR_FILENO : log_open_file (path);

    if (fd < 0)
        return fd;
    log_close ();
    pthread_mutex_lock (&out.lock);
    out.path = terminal ? NULL : g_strdup (path);
    out.fd = fd;
    pthread_mutex_unlock (&out.lock);
    return 0;
}

void
log_open_journal (const char *mountpoint)
{
    log_close ();
    __atomic_store_n (&out.journal_of, g_intern_string (mountpoint), __ATOMIC_RELEASE);
}

static const char *
log_journal_of (void)
{
    return __atomic_load_n (&out.journal_of, __ATOMIC_ACQUIRE);
}

bool
log_is_journal (void)
{
    return log_journal_of () != NULL;
}

/* The file is opened without the lock: if a file system that this process serves is on the way to
 * it, a thread that answers may write a line. */
int
log_reopen (dev_t but)
{
    g_autofree char *path = log_path ();
    const int fd = path ? log_open_file (path) : 0;
    struct stat st;

    if (!path || fd < 0)
        return fd;
    if (fstat (fd, &st) < 0 || (but && st.st_dev == but)) {
        close (fd);
        return -EDEADLK;
    }
    pthread_mutex_lock (&out.lock);
    close (out.fd);
    out.fd = fd;
    pthread_mutex_unlock (&out.lock);
    return 0;
}

void
log_close (void)
{
    pthread_mutex_lock (&out.lock);
    if (out.path)
        close (out.fd);
    g_clear_pointer (&out.path, g_free);
    out.fd = STDERR_FILENO;
    pthread_mutex_unlock (&out.lock);
}

char *
log_path (void)
{
    char *path;

    pthread_mutex_lock (&out.lock);
    path = g_strdup (out.path);
    pthread_mutex_unlock (&out.lock);
    return path;
}

int
log_fd (void)
{
    return out.fd;
}

void
log_set_level (gf_loglevel_t level)
{
    __atomic_store_n (&out.level, level, __ATOMIC_RELAXED);
}

gf_loglevel_t
log_level (void)
{
    return __atomic_load_n (&out.level, __ATOMIC_RELAXED);
}

int
log_level_parse (const char *text, gf_loglevel_t *ret_level)
{
    for (unsigned i = 0; i < G_N_ELEMENTS (log_levels); i++) {
        if (g_ascii_strcasecmp (text, log_levels[i].name) == 0
            || (text[0] == '0' + (char) i && !text[1])) {
            *ret_level = i;
            return 0;
        }
    }
    return -EINVAL;
}

const char *
log_level_name (gf_loglevel_t level)
{
    return log_levels[level].name;
}

void
log_set_tee (bool on)
{
    __atomic_store_n (&out.tee, on, __ATOMIC_RELAXED);
}

bool
log_wants_of (const struct log_source *source, gf_loglevel_t level)
{
    gf_loglevel_t own = source ? __atomic_load_n (&source->level, __ATOMIC_RELAXED) : GF_LOG_UNSET;

    return level <= (own != GF_LOG_UNSET ? own : log_level ());
}

/* Reports a failure once on the standard error. The caller holds the lock. */
static void
log_say_lost (int error)
{
    if (out.path && !out.said_lost)
        dprintf (STDERR_FILENO,
                 "windlass: log file '%s' can't be written: %s; what it was to say is lost\n",
                 out.path, g_strerror (error));
    out.said_lost = true;
}

/* Uses one write, so that lines of other processes don't come between. On a full disk the line is
 * lost, and the request goes on. */
static void
log_write (const char *text, size_t size)
{
    pthread_mutex_lock (&out.lock);
    while (size > 0) {
        ssize_t n = write (out.fd, text, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            log_say_lost (errno);
        if (n <= 0)
            break;
        text += n;
        size -= n;
    }
    pthread_mutex_unlock (&out.lock);
}

static void
log_append_time (GString *line)
{
    struct timespec now;
    struct tm tm;
    char text[32];

    clock_gettime (CLOCK_REALTIME, &now);
    gmtime_r (&now.tv_sec, &tm);
    strftime (text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    g_string_append_printf (line, "[%s.%06ld +0000] ", text, now.tv_nsec / 1000);
}

void
log_collect (bool on)
{
    pthread_mutex_lock (&out.lock);
    if (out.collected)
        g_string_free (out.collected, TRUE);
    out.collected = on ? g_string_new (NULL) : NULL;
    pthread_mutex_unlock (&out.lock);
}

char *
log_collected (void)
{
    char *text;

    pthread_mutex_lock (&out.lock);
    text = out.collected ? g_string_free (out.collected, FALSE) : NULL;
    out.collected = NULL;
    pthread_mutex_unlock (&out.lock);
    return text;
}

static void
log_collect_line (const struct log_source *source, const char *text)
{
    pthread_mutex_lock (&out.lock);
    if (out.collected && out.collected->len < COLLECT_MAX) {
        if (source)
            g_string_append_printf (out.collected, "%s: ", source->name);
        g_string_append_printf (out.collected, "%s\n", text);
    }
    pthread_mutex_unlock (&out.lock);
}

void
log_append_safely (GString *line, const char *text)
{
    line_append (line, text, G_MAXINT);
}

/* text: printable. */
static void
log_write_line (gf_loglevel_t level, const struct log_source *source, const char *file, int line,
                const char *function, const char *text)
{
    g_autoptr (GString) whole = g_string_new (NULL);
    const char *slash = strrchr (file, '/');

    log_append_time (whole);
    g_string_append_printf (whole, "%c [%s:%d:%s] 0-%s: %s\n", log_levels[level].letter,
                            slash ? slash + 1 : file, line, function,
                            source ? source->name : "windlass", text);
    log_write (whole->str, whole->len);
}

static void
log_journal_line (gf_loglevel_t level, const struct log_source *source, const char *file, int line,
                  const char *function, const char *text)
{
    const struct journal_entry entry = {
        .level = level,
        .level_name = log_levels[level].name,
        .mountpoint = log_journal_of (),
        .translator = source ? source->name : NULL,
        .file = file,
        .line = line,
        .function = function,
        .text = text,
    };

    journal_send (&entry);
}

void
log_line_of (gf_loglevel_t level, const struct log_source *source, const char *file, int line,
             const char *function, const char *format, ...)
{
    g_autoptr (GString) safe = g_string_new (NULL);
    g_autofree char *text = NULL;
    int saved = errno;
    va_list args;

    va_start (args, format);
    text = g_strdup_vprintf (format, args);
    va_end (args);
    log_append_safely (safe, text);
    if (level <= GF_LOG_ERROR && __atomic_load_n (&out.tee, __ATOMIC_RELAXED)
        && log_fd () != STDERR_FILENO)
        dprintf (STDERR_FILENO, "windlass: %s%s%s\n", source ? source->name : "",
                 source ? ": " : "", safe->str);
    if (level <= GF_LOG_WARNING)
        log_collect_line (source, text);
    if (log_journal_of ())
        log_journal_line (level, source, file, line, function, safe->str);
    else
        log_write_line (level, source, file, line, function, safe->str);
    errno = saved;
}

void
log_text (const char *text)
{
    if (log_journal_of ())
        log_journal_line (GF_LOG_INFO, NULL, NULL, 0, NULL, text);
    else
        log_write (text, strlen (text));
}
