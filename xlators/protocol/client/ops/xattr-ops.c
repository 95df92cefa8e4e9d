/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Extended attributes. */
#include "../client.h"

#include <errno.h>
#include <string.h>

static void
put_name (struct client_call *call, const char *name, dict_t *xdata)
{
    call->name = g_strdup (name);
    xdr_put_u32 (&call->rpc.out, name ? 1 : 0);
    xdr_put_string (&call->rpc.out, name ? name : "");
    put_dict (&call->rpc.out, xdata);
}

/* Servers make these up from the path of a file, and know none of them of an open file. */
static bool
name_needs_path (const char *name)
{
    return name && (strcmp (name, "trusted.glusterfs.pathinfo") == 0
                    || strcmp (name, "trusted.glusterfs.node-uuid") == 0
                    || g_str_has_prefix (name, "glusterfs."));
}

static struct client_call *
getxattr_begin (call_frame_t *frame, xlator_t *this, const loc_t *loc, const char *name)
{
    struct client_call *call;

    if (!name_needs_path (name))
        return client_begin_inode (frame, this, loc, WIRE_GETXATTR, WIRE_FGETXATTR, 0,
                                   client_getxattr_reply);
    call = client_begin (frame, this, WIRE_GETXATTR, 0, client_getxattr_reply);
    if (call)
        client_put_subject (call, loc_gfid (loc));
    return call;
}

void
client_getxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name, dict_t *xdata)
{
    struct client_call *call = getxattr_begin (frame, this, loc, name);

    if (!call)
        return;
    put_name (call, name, xdata);
    client_send (call);
}

void
client_fgetxattr (call_frame_t *frame, xlator_t *this, fd_t *fd, const char *name, dict_t *xdata)
{
    struct client_call *call =
        client_begin_fd (frame, this, fd, WIRE_FGETXATTR, 0, client_fgetxattr_reply);

    if (!call)
        return;
    put_name (call, name, xdata);
    client_send (call);
}

/* --- changing --------------------------------------------------------------------------------- */

void
client_setxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *dict, uint32_t flags,
                 dict_t *xdata)
{
    struct client_call *call = client_begin_rights (frame, this, loc, WIRE_SETXATTR,
                                                    WIRE_FSETXATTR, client_setxattr_reply);

    if (!call)
        return;
    xdr_put_u32 (&call->rpc.out, flags);
    put_dict (&call->rpc.out, dict);
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

void
client_fsetxattr (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *dict, uint32_t flags,
                  dict_t *xdata)
{
    struct client_call *call = client_begin_fd (frame, this, fd, WIRE_FSETXATTR, RPC_CHANGES_CTIME,
                                                client_fsetxattr_reply);

    if (!call)
        return;
    xdr_put_u32 (&call->rpc.out, flags);
    put_dict (&call->rpc.out, dict);
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

/* xattrop changes counters of the file system's own parts; they are no change to a user. */
static void
xattrop_ask (struct client_call *call, uint32_t flags, dict_t *dict, dict_t *xdata)
{
    if (!call)
        return;
    xdr_put_u32 (&call->rpc.out, flags);
    put_dict (&call->rpc.out, dict);
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

void
client_xattrop (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, dict_t *dict,
                dict_t *xdata)
{
    xattrop_ask (client_begin_inode (frame, this, loc, WIRE_XATTROP, WIRE_FXATTROP, 0,
                                     client_xattrop_reply),
                 flags, dict, xdata);
}

void
client_fxattrop (call_frame_t *frame, xlator_t *this, fd_t *fd, uint32_t flags, dict_t *dict,
                 dict_t *xdata)
{
    xattrop_ask (client_begin_fd (frame, this, fd, WIRE_FXATTROP, 0, client_fxattrop_reply), flags,
                 dict, xdata);
}

void
client_removexattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name,
                    dict_t *xdata)
{
    struct client_call *call = client_begin_rights (frame, this, loc, WIRE_REMOVEXATTR,
                                                    WIRE_FREMOVEXATTR, client_removexattr_reply);

    if (!call)
        return;
    xdr_put_string (&call->rpc.out, name);
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

void
client_fremovexattr (call_frame_t *frame, xlator_t *this, fd_t *fd, const char *name,
                     dict_t *xdata)
{
    struct client_call *call = client_begin_fd (frame, this, fd, WIRE_FREMOVEXATTR,
                                                RPC_CHANGES_CTIME, client_fremovexattr_reply);

    if (!call)
        return;
    xdr_put_string (&call->rpc.out, name);
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}
