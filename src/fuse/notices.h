/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Notices to the kernel for which it waits for a lock: that a name in a directory may have changed,
 * for the lock of the directory; that the data of a file have changed, for the locks of its pages.
 *
 * A caller of unlink, rmdir, rename, mkdir and the like has the lock of the directory until the
 * daemon answers. The wait for it can't be interrupted, not even by SIGKILL. If storage hangs, and
 * somebody then kills the daemon, a thread that sends such a notice stays for ever, and with it
 * the connection, so that the caller waits for ever, too.
 *
 * So a notice is kept while a request is under way whose caller has the lock, and sent afterwards.
 * A caller who takes the lock in the moment between that look and the notice still makes the notice
 * wait for his answer. The requests of a directory in constant use follow each other without a gap:
 * there a notice is sent after a second, unless a request takes long.
 */
#ifndef WINDLASS_FUSE_NOTICES_H
#define WINDLASS_FUSE_NOTICES_H

#include "fuse/state.h"

/* Tells the kernel, now or later, that a name may have changed. expires: the kernel looks the name
 * up again, and keeps what is mounted there (Linux 6.2); else it takes the name for gone. Returns 0
 * or a negative errno of a notice that was sent now. */
int notice_name (struct bridge *bridge, inode_t *directory, const char *name, bool expires);

/* Tells the kernel, now or later, to drop the pages and the attributes of an inode. */
void notice_data (struct bridge *bridge, inode_t *inode);

/* notices_begin is called before the first notice; notices_free when no notice is kept. Once
 * bridge->ending is set, the notices that are kept are dropped. */
void notices_begin (struct bridge *bridge);
void notices_free (struct bridge *bridge);

#endif
