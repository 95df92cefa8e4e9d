/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What others change in the directory (option `watch`), told upwards as XLATOR_INVALIDATE.
 *
 *   watch.c         the option, beginning and end, the thread that tells
 *   watch-marks.c   what is watched, and which inode an event is about
 *   watch-events.c  what the kernel says, put together and told
 *
 * The kernel's fanotify names what changed by file handle, and by process who did it. So what went
 * through this process is left out: those above know of it. Either whole file systems are marked,
 * which takes privilege, or each inode while its descriptor is open; one whose descriptor goes is
 * told of as changed in every way, since nobody would tell of it from then on.
 *
 * Lock: watch.lock, a leaf; also taken under posix_cache.lock.
 *
 * Reasons:
 *
 * - fanotify, not inotify, since only fanotify names the process. What goes through the mount would
 *   otherwise come back as another's change, and no cache would be left. Since Linux 5.13 it marks
 *   inodes without privilege.
 * - A mark of a file system costs nothing per inode, but every change in all of it, also outside of
 *   the directory, wakes the thread: up to a thousand times a second, since a round that told
 *   nothing waits a millisecond. Marks of inodes cost a system call when a descriptor is opened or
 *   closed and see nothing else. So watching is off unless asked for, and `auto` takes the first
 *   that works.
 * - An inode is marked while its descriptor is open. When that is closed to make room, all of it is
 *   said to have changed: so marks are as bounded as descriptors are.
 * - Not seen: bytes written through a mapping before it is unmapped. Names that a table of inodes
 *   has for moved objects are dropped when they are looked up, not at the event, which may be older
 *   than later links.
 * - An inode that becomes known while it changes is looked at again: what was seen before it was
 *   watched may be older.
 */
#ifndef STORAGE_POSIX_WATCH_H
#define STORAGE_POSIX_WATCH_H

#include "posix.h"

#include <sys/fanotify.h>

enum posix_watching { WATCH_OFF, WATCH_AUTO, WATCH_FILESYSTEM, WATCH_INODES };

struct posix_watch {
    xlator_t *this;
    int fd;              /* of fanotify */
    int bell;            /* an eventfd: the thread is to look at what follows */
    bool whole;          /* file systems are marked, else inodes. Constant */
    bool ending;         /* atomic: nothing is told any more */
    struct itable *table; /* atomic; the graph's, known once an inode was seen */

    pthread_mutex_t lock;
    pthread_cond_t over;   /* done was set */
    bool started, done;    /* lock: the thread was, the thread will tell nothing more */
    pthread_t thread;
    GHashTable *known;     /* lock: set of struct posix_inode, by handle */
    GArray *filesystems;   /* lock: of struct watch_filesystem; few */
    GArray *dropped;       /* lock: of gfid_t, which nobody tells of any more */
    bool dropped_all;      /* lock: those were too many to list */
    bool complained;       /* lock: of what can't be marked */
    struct {
        uint64_t events, own, unknown, told, overflows, unmarked; /* atomic, for the dump */
    } count;
};

struct watch_filesystem {
    uint64_t dev;
    int fsid[2]; /* what events call it */
};

/* --- watch-marks.c --- */

void watch_marks_init (struct posix_watch *watch);
void watch_marks_free (struct posix_watch *watch);

/* Begins with the root: opens watch->fd and marks what there is to mark. 0, or a negative errno. */
int watch_marks_begin (struct posix_watch *watch, bool whole);

/* The gfids of the known inodes that have this handle: nearly always one. How many were stored, at
 * most max. */
unsigned watch_marks_find (struct posix_watch *watch, const int *fsid,
                           const struct file_handle *handle, gfid_t *ret_gfids, unsigned max);

/* --- watch-events.c --- */

/* Reads what there is, at most a buffer full, and tells it. 1 when some of it was worth telling, 0
 * when not, or a negative errno: -EAGAIN when there was nothing. */
int watch_events_read (struct posix_watch *watch, char *buffer, size_t size);

/* what of an inode isn't so; gfid NULL: of all. */
void watch_tell (struct posix_watch *watch, const gfid_t *gfid, unsigned what, const char *name);

#endif
