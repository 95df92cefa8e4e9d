/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations that change the names of a directory. A new object gets its gfid here: the server
 * takes it from the call. */
#include "../client.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define TIMES_OF_NEW                                                                               \
    (RPC_CHANGES_CTIME | RPC_CHANGES_MTIME | RPC_CHANGES_ATIME | RPC_CHANGES_PARENT_CTIME          \
     | RPC_CHANGES_PARENT_MTIME)
#define TIMES_OF_NAMES (RPC_CHANGES_CTIME | RPC_CHANGES_PARENT_CTIME | RPC_CHANGES_PARENT_MTIME)

/* A random gfid: a version 4 UUID (RFC 9562). */
static gfid_t
gfid_new (client_private_t *priv)
{
    gfid_t gfid;

    pthread_mutex_lock (&priv->random_lock);
    gfid = random_gfid (&priv->random);
    pthread_mutex_unlock (&priv->random_lock);
    return gfid;
}

#define NEW_GFID_KEY "gfid-req"

/* A translator above that makes the object on several bricks has chosen the gfid. */
void
client_put_new_gfid (struct client_call *call, dict_t *xdata)
{
    const gfid_t gfid = gfid_new (call->this->private);
    g_autoptr (dict_t) dict = NULL;

    if (!dict_has (xdata, NEW_GFID_KEY)) {
        dict = dict_copy (xdata);
        dict_set (dict, NEW_GFID_KEY, gfid.b, sizeof gfid.b);
    }
    put_dict (&call->rpc.out, dict ? dict : xdata);
}

/* --- mknod, mkdir, symlink, link -------------------------------------------------------------- */

/* Begins a call that makes loc. A brick without features/access-control ignores the umask, so the
 * bridge gives one only where a default ACL replaces it. */
static struct client_call *
make_begin (call_frame_t *frame, xlator_t *this, const loc_t *loc, enum procedure procedure,
            uint32_t times, client_reply_fn *reply)
{
    struct client_call *call = client_begin (frame, this, procedure, times, reply);

    if (call)
        call->inode = loc->inode ? inode_ref (loc->inode) : inode_new (loc->parent->table);
    return call;
}

void
client_mknod (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, dev_t rdev,
              mode_t umask, dict_t *xdata)
{
    struct client_call *call =
        make_begin (frame, this, loc, WIRE_MKNOD, TIMES_OF_NEW, client_mknod_reply);

    if (!call)
        return;
    put_gfid (&call->rpc.out, &loc->parent->gfid);
    xdr_put_u64 (&call->rpc.out, rdev);
    xdr_put_u32 (&call->rpc.out, mode);
    xdr_put_u32 (&call->rpc.out, umask);
    xdr_put_string (&call->rpc.out, loc->name);
    client_put_new_gfid (call, xdata);
    client_send (call);
}

void
client_mkdir (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask,
              dict_t *xdata)
{
    struct client_call *call =
        make_begin (frame, this, loc, WIRE_MKDIR, TIMES_OF_NEW, client_mkdir_reply);

    if (!call)
        return;
    put_gfid (&call->rpc.out, &loc->parent->gfid);
    xdr_put_u32 (&call->rpc.out, mode);
    xdr_put_u32 (&call->rpc.out, umask);
    xdr_put_string (&call->rpc.out, loc->name);
    client_put_new_gfid (call, xdata);
    client_send (call);
}

void
client_symlink (call_frame_t *frame, xlator_t *this, const char *linkpath, loc_t *loc,
                mode_t umask, dict_t *xdata)
{
    struct client_call *call =
        make_begin (frame, this, loc, WIRE_SYMLINK, TIMES_OF_NEW, client_symlink_reply);

    if (!call)
        return;
    put_gfid (&call->rpc.out, &loc->parent->gfid);
    xdr_put_string (&call->rpc.out, loc->name);
    xdr_put_u32 (&call->rpc.out, umask);
    xdr_put_string (&call->rpc.out, linkpath);
    client_put_new_gfid (call, xdata);
    client_send (call);
}

void
client_link (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, dict_t *xdata)
{
    struct client_call *call =
        make_begin (frame, this, oldloc, WIRE_LINK, TIMES_OF_NAMES, client_link_reply);

    if (!call)
        return;
    put_gfid (&call->rpc.out, loc_gfid (oldloc));
    put_gfid (&call->rpc.out, &newloc->parent->gfid);
    xdr_put_string (&call->rpc.out, newloc->name);
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

/* --- create ----------------------------------------------------------------------------------- */

/* The open file is noted with its inode, so that must be the table's: another create of the same
 * name may have been answered just before. */
static void
made_link (made_t *made)
{
    inode_t *linked = inode_link (made->inode, NULL, NULL, &made->buf);

    inode_unref (made->inode);
    made->inode = linked;
}

static void
create_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct xdr_in *in = &reply->results;
    g_auto (made_t) made = { 0 };
    int64_t number;

    if (!client_answer_begin (call, reply, &made.answer))
        return;
    get_iatt (in, &made.buf);
    number = (int64_t) xdr_get_u64 (in);
    get_iatt (in, &made.preparent);
    get_iatt (in, &made.postparent);
    if (!client_answer_is_whole (call, reply) || !made_identify (call, &made))
        return;
    made_link (&made);
    if (!call->fd->inode) /* else another brick has answered before */
        call->fd->inode = inode_ref (made.inode);
    file_opened (call, &made.buf.ia_gfid, number);
    STACK_UNWIND (create, call->frame, 0, 0, call->fd, made.inode, &made.buf, &made.preparent,
                  &made.postparent, made.answer.xdata);
}

void
client_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
               mode_t umask, fd_t *fd, dict_t *xdata)
{
    struct client_call *call =
        make_begin (frame, this, loc, WIRE_CREATE, TIMES_OF_NEW, create_reply);

    if (!call)
        return;
    call->fd = fd_ref (fd);
    call->flags = flags;
    put_gfid (&call->rpc.out, &loc->parent->gfid);
    xdr_put_u32 (&call->rpc.out, client_open_flags (this, flags));
    xdr_put_u32 (&call->rpc.out, mode);
    xdr_put_u32 (&call->rpc.out, umask);
    xdr_put_string (&call->rpc.out, loc->name);
    client_put_new_gfid (call, xdata);
    client_send (call);
}

/* --- unlink, rmdir ---------------------------------------------------------------------------- */

void
client_unlink (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t xflag, dict_t *xdata)
{
    struct client_call *call =
        client_begin (frame, this, WIRE_UNLINK, TIMES_OF_NAMES, client_unlink_reply);

    if (!call)
        return;
    put_gfid (&call->rpc.out, &loc->parent->gfid);
    xdr_put_string (&call->rpc.out, loc->name);
    xdr_put_u32 (&call->rpc.out, (uint32_t) xflag);
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

void
client_rmdir (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t flags, dict_t *xdata)
{
    struct client_call *call =
        client_begin (frame, this, WIRE_RMDIR, TIMES_OF_NAMES, client_rmdir_reply);

    if (!call)
        return;
    put_gfid (&call->rpc.out, &loc->parent->gfid);
    xdr_put_u32 (&call->rpc.out, (uint32_t) flags);
    xdr_put_string (&call->rpc.out, loc->name);
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

/* --- rename ----------------------------------------------------------------------------------- */

static void
rename_reply (struct client_call *call, struct rpc_reply *reply)
{
    g_auto (client_answer_t) answer;
    struct xdr_in *in = &reply->results;
    struct iatt buf, preold, postold, prenew, postnew;

    if (!client_answer_begin (call, reply, &answer))
        return;
    get_iatt (in, &buf);
    get_iatt (in, &preold);
    get_iatt (in, &postold);
    get_iatt (in, &prenew);
    get_iatt (in, &postnew);
    if (client_answer_is_whole (call, reply))
        STACK_UNWIND (rename, call->frame, 0, 0, &buf, &preold, &postold, &prenew, &postnew,
                      answer.xdata);
}

/* The protocol has no flags of renameat2(2). */
void
client_rename (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, uint32_t flags,
               dict_t *xdata)
{
    struct client_call *call;

    if (flags != 0) {
        frame_fail (frame, EINVAL);
        return;
    }
    call = client_begin (frame, this, WIRE_RENAME, TIMES_OF_NAMES, rename_reply);
    if (!call)
        return;
    put_gfid (&call->rpc.out, &oldloc->parent->gfid);
    put_gfid (&call->rpc.out, &newloc->parent->gfid);
    xdr_put_string (&call->rpc.out, oldloc->name);
    xdr_put_string (&call->rpc.out, newloc->name);
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}
