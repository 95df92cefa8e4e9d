/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A log of records: one JSON object a line in a file, or entries of the journal. Each record has a
 * number of the log. When a file is opened, the numbers go on after the last one in it, or after
 * the one that was kept beside it, whichever is higher. What a full disk has cost is kept there,
 * too, until a record tells it, so that the next daemon can.
 *
 * A log belongs to the process, not to a translator or a module. Whoever opens the same name in the
 * same directory (by its device and inode) gets the same log. So records and numbers go on over a
 * move to another graph, also if the volume has another name there, or its module was replaced. Of
 * several processes one has the log: a lock refuses the others.
 *
 * A thread that makes a record writes it to the kernel at once. If that fails, the log is full. The
 * thread of the log then tries again until everything that waits is written: the rest of a line,
 * the records that were kept, and one record of the gap, which tells how many records are lost.
 * That thread also renames and opens files, since threads that serve requests may have the identity
 * of a caller.
 *
 * A file that cannot grow (EFBIG: the process's or the file system's limit of sizes) is rotated,
 * unless max_size is 0, and what comes meanwhile waits for the new one.
 */
#ifndef WINDLASS_CORE_RECORDS_RECORD_LOG_H
#define WINDLASS_CORE_RECORDS_RECORD_LOG_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum record_target { RECORDS_TO_FILE, RECORDS_TO_JOURNAL };

struct record_log;

/* Returns the log of a file, with a reference: name in a directory (a descriptor, lent, of any
 * kind). Or the log of the journal, in which name is SYSLOG_IDENTIFIER. NULL with errno: as
 * record_file_open and record_file_lock. */
struct record_log *record_log_open (enum record_target target, int directory, const char *name);
void record_log_unref (struct record_log *log); /* takes NULL */

/* Sets the size in bytes from which the log begins a new file (0: never), and how many older files
 * it keeps. If several translators share the log, the values of the last call hold. */
void record_log_rotate_at (struct record_log *log, uint64_t max_size, int keep);

/* Opens the file of the log's name again, after another program, such as logrotate, has renamed the
 * old one. Returns 0, or a negative errno as record_file_open does: the log then goes on in the old
 * file. A thread that serves requests must not call it. */
int record_log_reopen (struct record_log *log);

/* Returns the text for users of a negative errno of record_log_reopen. g_free it. */
char *record_log_problem (const struct record_log *log, int r);

/* Returns the next number. */
uint64_t record_log_number (struct record_log *log);

/* Writes {"unwind":N,BODY} with the next number; body is JSON without braces and newlines. If the
 * log is full, the record is lost and counted, or with keep it waits in memory, up to a limit. */
void record_log_write (struct record_log *log, const char *body, bool keep);

/* Writes {BODY}, a record about the log itself, which gets no number. If the log is full, it waits
 * in memory, up to the same limit. */
void record_log_note (struct record_log *log, const char *body);

bool record_log_is_full (const struct record_log *log);

/* Returns the errno with which a full log refuses records; 0: it is not full. */
int record_log_error (struct record_log *log);

/* record_log_on_room: from now on the thread of the log calls fn each time when a full log has room
 * again. record_log_off_room ends that for data. After it has returned, fn is not running. */
void record_log_on_room (struct record_log *log, void (*fn) (void *data), void *data);
void record_log_off_room (struct record_log *log, void *data);

void record_log_dump (struct record_log *log, GString *out);

/* Appends `"time":"2026-11-28T07:00:00.000000Z"`. */
void record_append_time (GString *out, struct timespec time);

/* record-files.c: the files of a log; by its thread, or the main thread. */

/* Opens a file for appending. Returns a descriptor, or a negative errno: -EPERM if it is no plain
 * file of ours that others can't write to. *ret_size: its size. */
int record_file_open (int directory, const char *name, uint64_t *ret_size);

/* Locks the file .NAME.lock, which stands for the log of that name, whatever file has the name at
 * the time. Returns a descriptor, which keeps the lock, or a negative errno: -EBUSY if another
 * process has it, -EPERM as record_file_open. */
int record_file_lock (int directory, const char *name);

/* Returns the text for users of a negative errno that record_file_open or record_file_lock has
 * returned for a name: which file it is about, what that is, and what to do. g_free it. */
char *record_file_problem (int directory, const char *name, int r);

/* Renames name to name.1, name.1 to name.2 and so on, up to the first number that no file has, and
 * removes name.KEEP, and the files of the numbers that follow. Then makes a new, empty file with
 * the name. Returns its descriptor, or a negative errno: no file is lost then, and the next call
 * continues where this one has stopped. old: the descriptor of the log's present file. If another
 * program has given the name to another file, nothing is renamed, and that file is opened.
 * *ret_size: the size of the file that was opened. */
int record_file_rotate (int directory, const char *name, int keep, int old, uint64_t *ret_size);

/* Returns the highest number in the last records of name and of name.1, and the one that was kept
 * for name; 0: none. */
uint64_t record_file_last_number (int directory, const char *name);

/* Returns whether the name stands for the open file. */
bool record_file_is_it (int directory, const char *name, int fd);

/* Calls fn for each line of a log's files, the oldest first, until fn returns false. The line has
 * no newline, and fn may change it. The log may be written, and rotated, meanwhile. Returns 0, or a
 * negative errno: -ENOENT if there is no file `name`, -EPERM if one is no plain file. */
int record_files_read (int directory, const char *name, bool (*fn) (char *line, void *data),
                       void *data);

/* Returns whether the file ends with a newline, or is empty. */
bool record_file_is_whole (int directory, const char *name);

#endif
