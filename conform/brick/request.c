/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "conform/brick/request.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* --- arguments -------------------------------------------------------------------------------- */

gfid_t
get_gfid (struct request *q)
{
    const void *bytes = xdr_get_fixed (&q->in, sizeof (gfid_t));
    gfid_t wire = { 0 };

    if (bytes)
        memcpy (&wire, bytes, sizeof wire);
    return gfid_of_wire (q->brick, &wire);
}

inode_t *
get_inode (struct request *q)
{
    const gfid_t gfid = get_gfid (q);

    return inode_find (q->brick->graph->itable, &gfid);
}

/* Opens a file for one call. */
static fd_t *
fd_anonymous (struct request *q, inode_t *inode)
{
    fd_t *fd = fd_new (&q->brick->graph->fd_maker, inode, O_RDWR, q->client->pid);
    loc_t loc = { .inode = inode };

    if (sync_open (q->client, &loc, O_RDWR, fd, NULL, NULL) >= 0)
        return fd;
    fd_unref (fd);
    return NULL;
}

fd_t *
fd_by_number (struct request *q, inode_t *inode, int64_t number, int *ret_r)
{
    fd_t *fd = g_hash_table_lookup (q->peer->fds, &number);

    *ret_r = inode || fd ? -EBADF : -ENOENT;
    if (number != WIRE_ANONYMOUS)
        return fd ? fd_ref (fd) : NULL;
    *ret_r = -ENOENT;
    return inode ? fd_anonymous (q, inode) : NULL;
}

fd_t *
get_fd (struct request *q, int *ret_r)
{
    g_autoptr (inode_t) inode = get_inode (q);
    const int64_t number = (int64_t) xdr_get_u64 (&q->in);

    return fd_by_number (q, inode, number, ret_r);
}

uint64_t
fd_number (struct request *q, fd_t *fd)
{
    const int64_t number = (int64_t) q->peer->last_fd++;

    g_hash_table_insert (q->peer->fds, g_memdup2 (&number, sizeof number), fd_ref (fd));
    return (uint64_t) number;
}

uint32_t
get_open_flags (struct request *q)
{
    return open_flags_of_wire (xdr_get_u32 (&q->in));
}

/* --- results ---------------------------------------------------------------------------------- */

void
put_buf (struct request *q, const struct iatt *buf)
{
    struct iatt wire = *buf;

    wire.ia_gfid = gfid_to_wire (q->brick, &buf->ia_gfid);
    put_iatt (&q->out, &wire);
}

void
put_result (struct request *q, int r, const dict_t *xdata)
{
    xdr_put_u32 (&q->out, (uint32_t) (r < 0 ? -1 : r));
    xdr_put_u32 (&q->out, (uint32_t) (r < 0 ? -r : 0));
    put_dict (&q->out, xdata);
}
