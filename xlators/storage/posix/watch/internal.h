/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changes that other processes make in the directory (option `watch`), passed up as
 * XLATOR_INVALIDATE.
 *
 *   watch.c         the option, start and end, the watch thread
 *   watch-marks.c   what is marked, and which inode an event is about
 *   watch-events.c  reads the kernel's events, merges them and passes them up
 *
 * The kernel's fanotify names the changed object by file handle, and the process that changed it.
 * So changes through this process are left out: the translators above know of them. Either whole
 * file systems are marked, which takes privilege, or each inode while its descriptor is open. An
 * inode whose descriptor is closed is reported as changed in every way, since later changes go
 * unseen.
 *
 * Lock: watch.lock, a leaf; also taken under posix_cache.lock.
 *
 * Reasons:
 *
 * - fanotify, not inotify, since only fanotify names the process. A change through the mount would
 *   otherwise come back as another process's, and empty all caches. Since Linux 5.13 it marks
 *   inodes without privilege.
 * - A mark of a file system costs nothing per inode, but every change in all of it, also outside of
 *   the directory, wakes the thread: up to a thousand times a second, since the thread waits a
 *   millisecond after a round without a report. Marks of inodes cost a system call when a
 *   descriptor is opened or closed and see nothing else. So watching is off unless requested, and
 *   `auto` takes the first that works.
 * - An inode is marked while its descriptor is open. When that is closed to make room, the inode is
 *   reported as changed: so the number of marks is bounded like that of descriptors.
 * - Not seen: bytes written through a mapping before it is unmapped. Names that a table of inodes
 *   has for moved objects are dropped when they are looked up, not at the event, which may be older
 *   than later links.
 * - An inode that becomes known while it changes has its attributes read again: those read before
 *   it was watched may be older.
 */
#ifndef STORAGE_POSIX_WATCH_INTERNAL_H
#define STORAGE_POSIX_WATCH_INTERNAL_H

#include "../posix.h"

#include <sys/fanotify.h>

struct posix_watch {
    xlator_t *this;
    int fd;              /* of fanotify */
    int bell;            /* an eventfd: wakes the thread to examine the fields below */
    bool whole;          /* file systems are marked, else inodes. Constant */
    bool ending;         /* atomic: nothing is reported any more */
    struct itable *table; /* atomic; of the graph, known once an inode was seen */

    pthread_mutex_t lock;
    pthread_cond_t over;   /* signalled when done is set */
    bool started, done;    /* lock: the thread was started; it will report nothing more */
    pthread_t thread;
    GHashTable *known;     /* lock: set of struct posix_inode, by handle */
    GArray *filesystems;   /* lock: of struct watch_filesystem; few */
    GArray *dropped;       /* lock: of gfid_t, inodes that are not watched any more */
    bool dropped_all;      /* lock: dropped had no room for all of them */
    bool complained;       /* lock: a log line about an object that can't be marked was written */
    struct {
        uint64_t events, own, unknown, told, overflows, unmarked; /* atomic, for the dump */
    } count;
};

struct watch_filesystem {
    const struct file_system *fs;
    uint16_t moves; /* file_system_moves (fs) when it was marked */
    int fsid[2]; /* the file system's id in events */
};

/* --- watch-marks.c --- */

/* Wakes the thread. */
void watch_ring (struct posix_watch *watch);

void watch_marks_init (struct posix_watch *watch);
void watch_marks_free (struct posix_watch *watch);

/* Begins with the root: opens watch->fd and sets the marks. Returns 0 or a negative errno. */
int watch_marks_begin (struct posix_watch *watch, bool whole);

/* Stores the gfids of the known inodes with this handle, nearly always one. Returns their number,
 * at most max. */
unsigned watch_marks_find (struct posix_watch *watch, const int *fsid,
                           const struct file_handle *handle, gfid_t *ret_gfids, unsigned max);

/* --- watch-events.c --- */

/* Reads the available events, at most a buffer full, and reports them. Returns 1 if some were
 * reported, 0 if none were, or a negative errno: -EAGAIN if there was no event. */
int watch_events_read (struct posix_watch *watch, char *buffer, size_t size);

/* Passes up that `what` of an inode is invalid; gfid NULL: of all inodes. */
void watch_tell (struct posix_watch *watch, const gfid_t *gfid, unsigned what, const char *name);

#endif
