/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lines of the log as entries of systemd's journal, for log.c and the start of the program. An
 * entry has the fields
 *
 *   MESSAGE              the text; of a translator, after "NAME: "
 *   PRIORITY             0 to 7, as in syslog(3)
 *   SYSLOG_IDENTIFIER    windlass
 *   CODE_FILE, CODE_LINE, CODE_FUNC
 *   WINDLASS_LEVEL       WARNING, TRACE ...
 *   WINDLASS_TRANSLATOR  the volume; not in a line about the program
 *   WINDLASS_MOUNTPOINT
 */
#ifndef WINDLASS_CORE_BASE_LOG_JOURNAL_H
#define WINDLASS_CORE_BASE_LOG_JOURNAL_H

#include "core/base/log.h"

/* Returns whether systemd has connected the standard error to the journal: JOURNAL_STREAM has its
 * device and inode (systemd.exec(5)). It is inherited, so the variable alone proves nothing. */
bool journal_has_stderr (void);

/* Returns whether the log goes there: log_open_journal was called. In log.c. */
bool log_is_journal (void);

struct journal_entry {
    gf_loglevel_t level;
    const char *level_name, *mountpoint;
    const char *translator; /* NULL: the program */
    const char *file;       /* NULL: a table, which has no place */
    const char *function;
    int line;
    const char *text; /* printable, perhaps of several lines */
};

/* Sends an entry, or writes lines with a priority "<N>" to the standard error if the journal has no
 * socket here. Keeps the caller for a second at most, and after that not at all until the journal
 * takes entries again: it may itself wait for this mount. It then gets an entry with the number of
 * those that are lost. */
void journal_send (const struct journal_entry *entry);

/* Entries of a translator's own: journal_record (program, text) begins one with the fields MESSAGE,
 * PRIORITY (6) and SYSLOG_IDENTIFIER, and journal_record_send sends it and frees the string.
 * Returns 0; or a negative errno, and the journal has not taken it: -EAGAIN if it does not take
 * entries in time. Keeps the caller for a second at most. */
GString *journal_record (const char *program, const char *text);
int journal_record_send (GString *record);

/* The priority of syslog(3) for a level. */
int journal_priority (gf_loglevel_t level);

#endif
