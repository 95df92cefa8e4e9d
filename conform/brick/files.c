/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The procedures that open and close files and directories. */
#include "conform/brick/request.h"

#include <errno.h>
#include <fcntl.h>

int
brick_do_open (struct brick_request *q, const struct wire_open *call,
               struct wire_open_reply *reply)
{
    const uint32_t flags = wire_to_open_flags (call->flags);
    g_autoptr (inode_t) inode = brick_inode (q, &call->loc);
    g_autoptr (fd_t) fd = fd_new (&q->brick->graph->fd_maker, inode, flags, q->client->pid);
    loc_t loc = { .inode = inode };
    const int r = inode ? sync_open (q->client, &loc, flags, fd, NULL, NULL) : -ENOENT;

    if (r >= 0)
        reply->number = brick_keep_open (q, fd);
    return r;
}

int
brick_do_opendir (struct brick_request *q, const struct wire_opendir *call,
                  struct wire_opendir_reply *reply)
{
    g_autoptr (inode_t) inode = brick_inode (q, &call->loc);
    g_autoptr (fd_t) fd = fd_new (&q->brick->graph->fd_maker, inode, O_RDONLY | O_DIRECTORY,
                                  q->client->pid);
    loc_t loc = { .inode = inode };
    const int r = inode ? sync_opendir (q->client, &loc, fd, NULL, NULL) : -ENOENT;

    if (r >= 0)
        reply->number = brick_keep_open (q, fd);
    return r;
}

int
brick_do_release (struct brick_request *q, const struct wire_release *call,
                  struct wire_release_reply *reply)
{
    g_hash_table_remove (q->peer->fds, &call->fd.number);
    return 0;
}

int
brick_do_releasedir (struct brick_request *q, const struct wire_releasedir *call,
                     struct wire_releasedir_reply *reply)
{
    g_hash_table_remove (q->peer->fds, &call->fd.number);
    return 0;
}
