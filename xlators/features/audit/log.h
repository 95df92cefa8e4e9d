/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The log of features/audit: records in a file, one JSON object a line, or as entries of the
 * journal. When a file is opened, the numbers go on after the last one in it.
 *
 * A thread that makes a record writes it to the kernel at once. If that fails, the log is full: the
 * thread of the log tries again until what was kept is written, and with it a record of the gap,
 * which has the number of records that are lost. That thread also renames and opens files, since
 * threads that serve requests may have the identity of a caller.
 */
#ifndef AUDIT_LOG_H
#define AUDIT_LOG_H

#include "xlator.h"

enum audit_target { AUDIT_FILE, AUDIT_JOURNAL };

struct audit_log;

/* Returns a log of the file name in a directory (a descriptor, lent, of any kind), with a
 * reference, or of the journal; NULL with errno. */
struct audit_log *audit_log_open (enum audit_target target, int directory, const char *name);
struct audit_log *audit_log_ref (struct audit_log *log);
void audit_log_unref (struct audit_log *log); /* takes NULL */

/* The size in bytes after which a new file is begun, 0: never; and how many older ones are kept. */
void audit_log_rotate_at (struct audit_log *log, uint64_t max_size, int keep);

/* Begins a file by its name again, after a rotation from outside. */
void audit_log_reopen (struct audit_log *log);

/* Returns the next number. */
uint64_t audit_log_number (struct audit_log *log);

/* Writes a record; body is what record.c makes. If the log is full, the record is lost and counted,
 * or with keep it waits in memory, up to a limit. */
void audit_log_write (struct audit_log *log, const char *body, bool keep);

/* Writes a record about the log itself, which gets no number. */
void audit_log_note (struct audit_log *log, const char *body);

bool audit_log_is_full (const struct audit_log *log);

/* Has fn called, on the thread of the log, whenever the log is no longer full; or no more. After
 * audit_log_off_room fn is not running. */
void audit_log_on_room (struct audit_log *log, void (*fn) (void *data), void *data);
void audit_log_off_room (struct audit_log *log, void *data);

void audit_log_dump (struct audit_log *log, GString *out);

/* files.c; by the thread of the log, or the main thread. */

/* Opens a file for appending, and locks it. Returns a descriptor, or a negative errno: -EPERM if it
 * is no plain file of ours alone, -EBUSY if another log has it. *ret_size: its size. */
int audit_file_open (int directory, const char *name, uint64_t *ret_size);

/* Renames name to name.1, name.1 to name.2 and so on; name.KEEP goes. */
int audit_files_shift (int directory, const char *name, int keep);

/* Returns the highest number in the last records of name, or of name.1 if it has none; 0: none. */
uint64_t audit_file_last_number (int directory, const char *name);

/* Returns whether the name stands for the open file. */
bool audit_file_is_it (int directory, const char *name, int fd);

/* Returns whether the file ends with a newline, or is empty. */
bool audit_file_is_whole (int directory, const char *name);

#endif
