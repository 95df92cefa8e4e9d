/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holders of locks, for reports. fcntl (F_OFD_GETLK) would ask the file system, which may be the
 * one that is stuck. The kernel's own lists are in /proc/self/fdinfo/N, for a file description of
 * this process, and in /proc/locks for all processes.
 *
 *   lock:   1: OFDLCK  ADVISORY  WRITE -1 fe:00:11469215 0 EOF
 */
#include "internal.h"

#include <sys/sysmacros.h>

struct held_lock {
    char kind[8]; /* POSIX, OFDLCK, FLOCK */
    pid_t pid;    /* -1: an open file description */
    unsigned major, minor;
    uint64_t ino;
    struct lock_range range;
};

/* Parses a line from its number on. Returns false for a waiting lock ("-> ") or another line. */
static bool
lock_parse (const char *line, struct held_lock *ret_lock)
{
    char access[8], first[24], last[24];
    int pid;
    unsigned long ino;

    if (sscanf (line, "%*d: %7s %*s %7s %d %x:%x:%lu %23s %23s", ret_lock->kind, access, &pid,
                &ret_lock->major, &ret_lock->minor, &ino, first, last)
        != 8)
        return false;
    ret_lock->pid = pid;
    ret_lock->ino = ino;
    ret_lock->range.write = strcmp (access, "WRITE") == 0;
    ret_lock->range.first = g_ascii_strtoll (first, NULL, 10);
    ret_lock->range.last = strcmp (last, "EOF") == 0 ? INT64_MAX : g_ascii_strtoll (last, NULL, 10);
    return true;
}

static bool
in_the_way (const struct lock_range *held, const struct lock_range *wanted)
{
    return (held->write || wanted->write) && held->first <= wanted->last
        && held->last >= wanted->first;
}

static bool
is_the_same (const struct lock_range *held, const struct lock_range *wanted)
{
    return held->write == wanted->write && held->first == wanted->first
        && held->last == wanted->last;
}

/* Returns true if that file description holds a lock for which compare (lock, range) is true. */
static bool
description_holds (int fd,
                   bool (*compare) (const struct lock_range *held, const struct lock_range *range),
                   const struct lock_range *range)
{
    g_autofree char *path = g_strdup_printf ("/proc/self/fdinfo/%d", fd), *text = NULL;
    struct held_lock lock;
    bool found = false;

    if (!g_file_get_contents (path, &text, NULL, NULL))
        return false;
    for (const char *line = strstr (text, "lock:"); line && !found;
         line = strstr (line + 1, "lock:"))
        found = lock_parse (line + strlen ("lock:"), &lock) && compare (&lock.range, range);
    return found;
}

pid_t
posix_lock_process (struct posix_locks *locks, struct lock_range held)
{
    GHashTableIter iter;
    gpointer value;
    uint64_t first = UINT64_MAX;
    pid_t pid = -1;

    pthread_mutex_lock (&locks->lock);
    g_hash_table_iter_init (&iter, locks->by_owner);
    while (g_hash_table_iter_next (&iter, NULL, &value)) {
        const struct lock_owner *owner = value;

        if (owner->number >= first || !description_holds (owner->fd, is_the_same, &held))
            continue;
        first = owner->number;
        pid = owner->pid;
    }
    pthread_mutex_unlock (&locks->lock);
    return pid;
}

bool
posix_locks_held_against (struct posix_inode *pi, uint64_t id, const struct lock_range *wanted)
{
    struct posix_locks *locks = __atomic_load_n (&pi->locks, __ATOMIC_ACQUIRE);
    const struct lock_owner *owner;
    bool held;

    if (!locks)
        return false;
    pthread_mutex_lock (&locks->lock);
    owner = g_hash_table_lookup (locks->by_owner, &id);
    held = owner && __atomic_load_n (&owner->was_granted, __ATOMIC_RELAXED)
        && description_holds (owner->fd, in_the_way, wanted);
    pthread_mutex_unlock (&locks->lock);
    return held;
}

/* "cat (4711)" */
static void
append_process (GString *out, pid_t pid)
{
    g_autofree char *path = g_strdup_printf ("/proc/%d/comm", pid), *name = NULL;

    if (g_file_get_contents (path, &name, NULL, NULL))
        g_string_append_printf (out, "%s (%d)", g_strchomp (name), pid);
    else
        g_string_append_printf (out, "process %d", pid);
}

static bool
is_of (const struct held_lock *lock, const struct posix_inode *pi)
{
    const uint64_t dev = file_system_dev (pi->fs);

    return lock->ino == pi->ino && lock->major == major (dev) && lock->minor == minor (dev);
}

/* Appends a holder outside of the mount. ours: the text for locks of these kinds that the mount
 * holds. */
static bool
append_stranger (GString *out, const struct posix_inode *pi, const char *ours, const char *kinds,
                 const struct lock_range *wanted)
{
    g_autofree char *text = NULL;
    g_auto (GStrv) lines = NULL;
    struct held_lock lock;

    if (!g_file_get_contents ("/proc/locks", &text, NULL, NULL))
        return false;
    lines = g_strsplit (text, "\n", -1);
    for (char **line = lines; *line; line++) {
        if (!lock_parse (*line, &lock) || !strstr (kinds, lock.kind) || !is_of (&lock, pi)
            || !in_the_way (&lock.range, wanted))
            continue;
        g_string_append (out, ", which is held by ");
        if (lock.pid == getpid ())
            g_string_append (out, ours);
        else if (lock.pid > 0)
            append_process (out, lock.pid);
        else
            g_string_append (out, "an open file description");
        return true;
    }
    return false;
}

void
posix_locks_tell (struct posix_inode *pi, const struct lock_range *wanted, uint64_t id,
                  GString *out)
{
    struct posix_locks *locks = __atomic_load_n (&pi->locks, __ATOMIC_ACQUIRE);
    GHashTableIter iter;
    gpointer value;
    bool found = false;

    if (!locks)
        return;
    pthread_mutex_lock (&locks->lock);
    g_hash_table_iter_init (&iter, locks->by_owner);
    while (!found && g_hash_table_iter_next (&iter, NULL, &value)) {
        const struct lock_owner *owner = value;

        if (owner->id == id || !description_holds (owner->fd, in_the_way, wanted))
            continue;
        g_string_append (out, ", which is held by ");
        append_process (out, owner->pid);
        found = true;
    }
    pthread_mutex_unlock (&locks->lock);
    if (!found)
        append_stranger (out, pi, "this mount", "POSIX OFDLCK", wanted);
}

void
posix_flock_tell (const struct posix_inode *pi, GString *out)
{
    const struct lock_range any = { true, 0, INT64_MAX };

    append_stranger (out, pi, "a process that has it open through the mount", "FLOCK", &any);
}
