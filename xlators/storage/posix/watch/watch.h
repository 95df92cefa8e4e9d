/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes that others make to the directory: see internal.h. */
#ifndef STORAGE_POSIX_WATCH_H
#define STORAGE_POSIX_WATCH_H

#include "../posix.h"

/* By option `watch`: sets priv->watch, or leaves it NULL. Returns 0, or a negative errno after a
 * log. */
int posix_watch_init (xlator_t *this);
void posix_watch_start (struct posix_watch *watch);
void posix_watch_stop (struct posix_watch *watch); /* no invalidation comes after it */
void posix_watch_free (struct posix_watch *watch);

void posix_watch_dump (const posix_private_t *priv, GString *out);
void posix_watch_explain (const posix_private_t *priv, GString *out);

/* Reports changes of the inode from now on, fd being a descriptor of it; stops for an inode that
 * goes. Attributes read before may be outdated. */
void
posix_watch_know (struct posix_watch *watch, struct itable *table, struct posix_inode *pi, int fd);
void posix_watch_forget (struct posix_watch *watch, struct posix_inode *pi);

/* Called when the inode's descriptor was opened, or is about to be closed; tell: caches above may
 * know the inode. Under cache.lock. */
void posix_watch_mark (struct posix_watch *watch, const struct posix_inode *pi, int fd);
void
posix_watch_unmark (struct posix_watch *watch, const struct posix_inode *pi, int fd, bool tell);

void posix_watch_table (struct posix_watch *watch, struct itable *table);

#endif
