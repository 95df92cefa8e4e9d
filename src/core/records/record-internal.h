/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside a log of records: for record-log.c, which writes, and record-logs.c, which opens and ends
 * logs. */
#ifndef WINDLASS_CORE_RECORDS_RECORD_INTERNAL_H
#define WINDLASS_CORE_RECORDS_RECORD_INTERNAL_H

#include "core/records/record-log.h"

#include <pthread.h>
#include <sys/types.h>

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
    struct {
        uint64_t lost, first, last; /* records: how many, and the lowest and the highest number */
        uint64_t notes;
        struct timespec since;
    } gap;                /* what is lost and not yet told */
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

/* Keeps the last number that was given out beside the files: record_file_keep_number. */
void record_log_keep_number (const struct record_log *log);

/* Writes what waits, and then the record of the gap. Returns whether all is written. */
bool record_catch_up_locked (struct record_log *log);

void *record_log_run (void *log); /* the thread */

#endif
