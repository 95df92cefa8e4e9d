/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log. A line is
 *
 *   [2026-11-20 11:38:36.620765 +0000] I [posix.c:42:posix_init] 0-my-posix: text
 *
 * time in UTC, level, place, graph and translator (or "windlass"), text. See GlusterFS.
 */
#ifndef WINDLASS_CORE_BASE_LOG_H
#define WINDLASS_CORE_BASE_LOG_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

typedef enum gf_loglevel {
    GF_LOG_NONE,
    GF_LOG_EMERG,
    GF_LOG_ALERT,
    GF_LOG_CRITICAL,
    GF_LOG_ERROR,
    GF_LOG_WARNING,
    GF_LOG_NOTICE,
    GF_LOG_INFO,
    GF_LOG_DEBUG,
    GF_LOG_TRACE,
    GF_LOG_UNSET, /* for a source: the level of the process */
} gf_loglevel_t;

/* The translator that a line is about. struct xlator begins with this struct. */
struct log_source {
    const char *name;
    gf_loglevel_t level; /* GF_LOG_UNSET: the level of the process. Atomic */
};

/* The log source of a translator, or NULL. The compiler rejects pointers to other types. */
#define LOG_SOURCE(this_) ((const struct log_source *) (const struct xlator *) (this_))
struct xlator;

/* Sets the target: a file, created with mode 0600 and appended to; "-" or NULL is the standard
 * error. 0, or a negative errno. */
int log_open (const char *path);
/* Sets the target: systemd's journal, whose entries name the mount point; log-journal.h has what
 * they look like. log_fd is then the standard error, which systemd has connected to the journal,
 * and the target stays for ever. */
void log_open_journal (const char *mountpoint);
/* After the file was renamed. but: a file system where it must not be, or 0. Returns 0; or a
 * negative errno, -EDEADLK if it is there, and the old file stays open. Only the main thread opens
 * and closes the log. */
int log_reopen (dev_t but);
void log_close (void);
/* Also writes errors to the standard error while a program starts, for the user at the terminal:
 * "windlass: my-posix: text". No effect if the log goes there anyway. */
void log_set_tee (bool on);
/* Begins to keep warnings and errors that are logged, as the user at the terminal would read them,
 * up to a few kilobytes; or drops what was kept. log_collected ends it and returns them (g_free
 * it), or NULL if nothing was kept. */
void log_collect (bool on);
char *log_collected (void);
char *log_path (void); /* as passed to log_open; NULL: the standard error. g_free it */
int log_fd (void); /* for a crash report, which may take no lock */

/* The level of lines about the program, and of each translator without its own level. */
void log_set_level (gf_loglevel_t level);
gf_loglevel_t log_level (void);

/* Parses a level: "DEBUG", in any case, or its number. -EINVAL for an unknown level;
 * log_level_names lists them. */
int log_level_parse (const char *text, gf_loglevel_t *ret_level);
const char *log_level_name (gf_loglevel_t level);
#define LOG_LEVEL_NAMES "NONE, CRITICAL, ERROR, WARNING, INFO, DEBUG or TRACE"

/* this_ or source NULL: the line is about the program, "windlass". */
#define log_line(level_, this_, ...) log_line_of (level_, LOG_SOURCE (this_), __VA_ARGS__)
void log_line_of (gf_loglevel_t level, const struct log_source *source, const char *file, int line,
               const char *function, const char *format, ...) G_GNUC_PRINTF (6, 7);

/* Appends text, with \x0a and the like for bytes that would break the line: names of files may
 * contain any bytes. */
void log_append_safely (GString *line, const char *text);

/* Writes lines of text without a prefix, for tables such as the final graph. */
void log_text (const char *text);

#define log_wants(this_, level_) log_wants_of (LOG_SOURCE (this_), level_)
bool log_wants_of (const struct log_source *source, gf_loglevel_t level);

/* gf_log (this, GF_LOG_WARNING, "option '%s' ...", key); this may be NULL. Evaluates the other
 * arguments only if the line is written. */
#define gf_log(this_, level_, ...)                                                                 \
    (log_wants (this_, level_)                                                                     \
         ? log_line (level_, this_, __FILE__, __LINE__, __func__, __VA_ARGS__)                     \
         : (void) 0)

#endif
