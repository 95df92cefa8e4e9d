/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Extended attributes. */
#include "conform/brick/request.h"

#include <errno.h>

void
serve_setxattr (struct request *q)
{
    g_autoptr (inode_t) inode = get_inode (q);
    const uint32_t flags = xdr_get_u32 (&q->in);
    g_autoptr (dict_t) dict = get_dict (&q->in);
    loc_t loc = { .inode = inode };

    int r = inode ? sync_setxattr (q->client, &loc, dict, flags, NULL, NULL) : -ENOENT;

    put_result (q, r, NULL);
}

void
serve_fsetxattr (struct request *q)
{
    int r;
    g_autoptr (fd_t) fd = get_fd (q, &r);
    const uint32_t flags = xdr_get_u32 (&q->in);
    g_autoptr (dict_t) dict = get_dict (&q->in);

    put_result (q, fd ? sync_fsetxattr (q->client, fd, dict, flags, NULL, NULL) : r, NULL);
}

/* A name; NULL: all are asked for. */
static char *
get_name (struct request *q)
{
    const bool one = xdr_get_u32 (&q->in) > 0;
    char *name = xdr_get_string (&q->in, WIRE_NAME_MAX);

    if (!one)
        g_clear_pointer (&name, g_free);
    return name;
}

void
serve_getxattr (struct request *q)
{
    g_autoptr (inode_t) inode = get_inode (q);
    g_autofree char *name = get_name (q);
    struct getxattr_reply reply = { 0 };
    loc_t loc = { .inode = inode };
    int r = inode ? sync_getxattr (q->client, &loc, name, NULL, &reply) : -ENOENT;

    put_result (q, r, NULL);
    put_dict (&q->out, reply.dict);
    getxattr_reply_drop (&reply);
}

void
serve_fgetxattr (struct request *q)
{
    struct fgetxattr_reply reply = { 0 };
    int r;
    g_autoptr (fd_t) fd = get_fd (q, &r);
    g_autofree char *name = get_name (q);

    if (fd)
        r = sync_fgetxattr (q->client, fd, name, NULL, &reply);
    put_result (q, r, NULL);
    put_dict (&q->out, reply.dict);
    fgetxattr_reply_drop (&reply);
}

void
serve_removexattr (struct request *q)
{
    g_autoptr (inode_t) inode = get_inode (q);
    g_autofree char *name = xdr_get_string (&q->in, WIRE_NAME_MAX);
    loc_t loc = { .inode = inode };

    put_result (q, inode ? sync_removexattr (q->client, &loc, name, NULL, NULL) : -ENOENT, NULL);
}

void
serve_fremovexattr (struct request *q)
{
    int r;
    g_autoptr (fd_t) fd = get_fd (q, &r);
    g_autofree char *name = xdr_get_string (&q->in, WIRE_NAME_MAX);

    put_result (q, fd ? sync_fremovexattr (q->client, fd, name, NULL, NULL) : r, NULL);
}
