/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lock files: a translator that writes in a directory of storage, and must be the only one, keeps a
 * file there open and locked. The lock is a record lock (operation lk) and goes through the child,
 * so it also works on a server. Storage drops it with the open file, so also when the daemon is
 * killed. Calls block until their answer (core/edge/sync.h).
 */
#ifndef WINDLASS_CORE_EDGE_SYNC_LOCK_H
#define WINDLASS_CORE_EDGE_SYNC_LOCK_H

#include "core/edge/sync.h"

/* Makes an empty file for its owner alone. Returns 0 or a negative errno: -EEXIST if the name is
 * there. */
int sync_lock_make (struct client *client, inode_t *directory, const char *name);

/* Opens a lock file to read and write. fds: as xlator.fd_maker. Returns 0 or a negative errno:
 * -EINVAL if it is no regular file. *ret_fd has a reference; fd_unref drops its locks. */
int sync_lock_open (struct client *client, const struct fd_maker *fds, inode_t *directory,
                    const char *name, fd_t **ret_fd);

/* Locks bytes of the file, F_WRLCK or F_UNLCK; size 0: up to the end of all files. Waits for no
 * other holder. Returns 0 or a negative errno: -EAGAIN if another holder has one of the bytes. */
int sync_lock_set (struct client *client, fd_t *fd, short type, off_t offset, off_t size);

/* Returns whether the open file still has the name. Whoever removes a lock file has it locked, so a
 * lock counts if this is true after sync_lock_set. */
bool sync_lock_counts (struct client *client, inode_t *directory, const char *name,
                       const fd_t *fd);

/* Writes into the locked file which process holds it; sync_lock_holder reads that as the end of a
 * sentence, such as "process 1234 on 'host'", also of another machine's. g_free it. The text is
 * only for people: an error is not reported. */
void sync_lock_sign (struct client *client, fd_t *fd);
char *sync_lock_holder (struct client *client, fd_t *fd);

#endif
