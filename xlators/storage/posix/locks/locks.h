/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Record locks and flock, and the waits for them. */
#ifndef STORAGE_POSIX_LOCKS_H
#define STORAGE_POSIX_LOCKS_H

#include "../posix.h"

/* --- lock.c --------------------------------------------------------------------------------- */

/* Releases the locks of an owner that closed the file. */
void posix_locks_drop (struct posix_inode *pi, uint64_t owner);
/* Releases the owners that locked only through pfd, which is being released. */
void posix_locks_drop_via (struct posix_inode *pi, const struct posix_fd *pfd);
void posix_locks_free (struct posix_locks *locks); /* takes NULL */
void posix_wanted_init (struct posix_wanted *wanted);
void posix_wanted_destroy (struct posix_wanted *wanted);

/* --- wait.c --------------------------------------------------------------------------------- */

/* Runs wait (data) in a thread of its own until it returns 0 or an error other than EINTR, or the
 * request is interrupted. Then calls answer (frame, data, result), which answers the request. On
 * failure the caller still has to answer. tell describes the wait for reports, on any thread, under
 * a lock. */
int posix_wait (call_frame_t *frame, int (*wait) (void *data),
                void (*tell) (const void *data, GString *out),
                void (*answer) (call_frame_t *frame, void *data, int r), void *data);
/* Describes the wait of that frame, if there is one: dumpops.waits_for. */
void posix_waits_for (xlator_t *this, const call_frame_t *frame, GString *out);
void posix_waiters_init (struct posix_waiters *waiters);
void posix_waiters_down (struct posix_waiters *waiters);
void posix_waiters_destroy (struct posix_waiters *waiters);

#endif
