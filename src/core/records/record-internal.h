/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside a log of records: for record-log.c, which writes, record-logs.c, which opens and ends
 * logs, record-gap.c and record-files.c. */
#ifndef WINDLASS_CORE_RECORDS_RECORD_INTERNAL_H
#define WINDLASS_CORE_RECORDS_RECORD_INTERNAL_H

#include "core/records/record-log.h"

#include <pthread.h>
#include <sys/types.h>

/* record-gap.c: what is lost, and what is kept of it for the next daemon. */

struct record_gap {
    uint64_t lost, first, last; /* records: how many, and the lowest and the highest number */
    uint64_t notes;             /* records without a number: how many */
    struct timespec since;
    bool at_least;              /* more may be lost, with numbers in between */
};

struct record_kept {
    uint64_t number;       /* the last one that was given out */
    struct record_gap gap; /* what no line of the log has or tells */
    int error;             /* why: an errno */
};

bool record_gap_is_open (const struct record_gap *gap);
void record_gap_add (struct record_gap *gap, const struct record_gap *more);

/* Takes off what a log whose last number is this one has or tells: a daemon may be killed after it
 * has written a line and before it has kept that. */
void record_gap_drop_told (struct record_gap *gap, uint64_t number);

/* Writes this to the file of record_file_lock, in place: after the first time it needs no room,
 * also on a full disk, if the file system overwrites blocks. Returns whether that was done. */
bool record_file_keep (int lock_fd, const struct record_kept *kept);

/* Reads what was kept for a name; zeros: nothing. */
void record_file_kept (int directory, const char *name, struct record_kept *ret_kept);

/* record-files.c */

/* Takes the beginning of a line off the end of the file, and returns the highest number in the
 * lines that are left in it, or else in name.1; 0: none. */
uint64_t record_file_cut (int directory, const char *name);

/* The log. */
struct record_log {
    unsigned refs;        /* all_logs.lock of record-logs.c */
    enum record_target target;
    char *name;           /* of the file, or the journal's identifier */
    int directory;        /* a descriptor of its own; -1: the journal */
    int lock_fd;          /* of record_file_lock; -1: none */
    dev_t device;         /* device and inode of the directory; 0: the journal */
    ino_t inode;
    pthread_t thread;

    pthread_mutex_t files_lock; /* taken to rename and open files; lock may be taken under it */
    pthread_mutex_t lock; /* a leaf; guards the rest, but for the atomic members */
    pthread_cond_t wake;  /* of the thread */
    bool stop, full_seen; /* full_seen: the log's warning was written for this time */
    int fd;               /* changes under files_lock, too */
    uint64_t size, max_size;
    int keep;
    bool want_rotation, rotation_failed; /* rotation_failed: the last attempt; a warning told it */
    int64_t rotate_at;    /* time of the next attempt, by clock_now */
    uint64_t number;      /* the last one that was given out. Atomic */
    bool full;            /* it takes nothing now, and no new file would help. Atomic */
    GQueue waiting;       /* of struct waiting_line, in their order in the file */
    size_t waiting_size;  /* bytes of these */
    size_t begun;         /* bytes of the first of these that are in the file already */
    struct record_gap waits; /* the records and notes among these, and what a gap among them tells:
                              * lost, if the daemon ends now */
    struct record_gap gap;   /* what is lost and not yet told */
    struct {
        uint64_t records, lost, gaps, rotations;
        int error;        /* of the last attempt that failed */
    } counts;

    pthread_mutex_t waiters_lock; /* held while waiters are called */
    GSList *waiters;      /* of struct record_waiter; waiters_lock */
};

/* Opens the file by its name, and has records written there from now on. Returns 0, or a negative
 * errno. Under files_lock, or before the log has its thread. */
int record_log_begin_file (struct record_log *log);

/* Has the record of a gap that an earlier daemon has left written before all others. Before the log
 * has its thread. */
void record_log_inherit (struct record_log *log, const struct record_gap *gap);

/* Keeps the last number that was given out, and what would be lost if the daemon ended now, beside
 * the files. Returns false if that was not possible. */
bool record_keep_state_locked (struct record_log *log);

/* At the end of a log that is full: takes the beginning of a line off the end of the file. */
void record_cut_line_locked (const struct record_log *log);

/* Writes what waits, and then the record of the gap. Returns whether all is written. */
bool record_catch_up_locked (struct record_log *log);

void *record_log_run (void *log); /* the thread */

#endif
