/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "conform/brick/request.h"

#include <errno.h>
#include <fcntl.h>

inode_t *
brick_inode (struct brick_request *q, const gfid_t *wire)
{
    const gfid_t gfid = brick_gfid_of_wire (q->brick, wire);

    return inode_find (q->brick->graph->itable, &gfid);
}

/* --- open files ------------------------------------------------------------------------------- */

/* Opens a file for a call that names it by WIRE_ANONYMOUS. The file is closed after the call. */
static fd_t *
brick_open_for_call (struct brick_request *q, inode_t *inode)
{
    fd_t *fd = fd_new (&q->brick->graph->fd_maker, inode, O_RDWR, q->client->pid);
    loc_t loc = { .inode = inode };

    if (sync_open (q->client, &loc, O_RDWR, fd, NULL, NULL) >= 0)
        return fd;
    fd_unref (fd);
    return NULL;
}

fd_t *
brick_fd (struct brick_request *q, const struct wire_fd *wire, int *ret_r)
{
    g_autoptr (inode_t) inode = brick_inode (q, &wire->gfid);
    fd_t *fd = g_hash_table_lookup (q->peer->fds, &wire->number);

    *ret_r = inode || fd ? -EBADF : -ENOENT;
    if (wire->number != WIRE_ANONYMOUS)
        return fd ? fd_ref (fd) : NULL;
    *ret_r = -ENOENT;
    return inode ? brick_open_for_call (q, inode) : NULL;
}

uint64_t
brick_keep_open (struct brick_request *q, fd_t *fd)
{
    const int64_t number = (int64_t) q->peer->last_fd++;

    g_hash_table_insert (q->peer->fds, g_memdup2 (&number, sizeof number), fd_ref (fd));
    return (uint64_t) number;
}

/* --- names ------------------------------------------------------------------------------------ */

brick_place_t
brick_place (struct brick_request *q, const gfid_t *parent, const char *name, inode_t *inode)
{
    return (brick_place_t){ .loc = { .name = (char *) name,
                                     .parent = brick_inode (q, parent),
                                     .inode = inode } };
}

void
brick_place_clear (brick_place_t *place)
{
    inode_unref (place->loc.parent);
    inode_unref (place->loc.inode);
}

/* --- replies ---------------------------------------------------------------------------------- */

struct iatt
brick_iatt (struct brick_request *q, const struct iatt *local)
{
    struct iatt wire = *local;

    wire.ia_gfid = brick_gfid_to_wire (q->brick, &local->ia_gfid);
    return wire;
}
