/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations on an inode. */
#include "../client.h"

#include <errno.h>
#include <string.h>

/* --- lookup ----------------------------------------------------------------------------------- */

static client_reply_fn lookup_reply;

static void
put_lookup (struct client_call *call, const gfid_t *gfid, const gfid_t *parent, const char *name)
{
    put_gfid (&call->rpc.out, gfid);
    put_gfid (&call->rpc.out, parent);
    xdr_put_u32 (&call->rpc.out, 0);
    xdr_put_string (&call->rpc.out, name);
}

/* A brick that is killed while it makes an object can leave a name without a gfid. Each lookup of
 * it then fails with ENODATA, so that it could not even be removed; a lookup that brings a gfid
 * mends it. Not below a translator with several children: there the object needs the same gfid on
 * all bricks. */
static bool
lookup_may_mend (const struct client_call *call, const struct rpc_reply *reply)
{
    struct xdr_in in = reply->results;
    const bool no_gfid = reply->error == 0 && xdr_get_i32 (&in) < 0
                      && wire_errno (xdr_get_i32 (&in)) == ENODATA && !in.failed;

    return no_gfid && call->name && !xlator_is_one_of_several (call->this);
}

static void
lookup_mend (struct client_call *call)
{
    static const gfid_t none;
    struct client_call *again = client_begin (call->frame, call->this, WIRE_LOOKUP, 0,
                                              lookup_reply);

    if (!again)
        return;
    again->inode = inode_ref (call->inode);
    put_lookup (again, &none, &call->parent, call->name);
    client_put_new_gfid (again, NULL);
    client_send (again);
}

static void
lookup_reply (struct client_call *call, struct rpc_reply *reply)
{
    g_auto (client_answer_t) answer = { 0 };
    g_autoptr (inode_t) inode = NULL;
    struct iatt buf, postparent;

    if (lookup_may_mend (call, reply)) {
        lookup_mend (call);
        return;
    }
    if (!client_answer_begin (call, reply, &answer))
        return;
    get_iatt (&reply->results, &buf);
    get_iatt (&reply->results, &postparent);
    if (!client_answer_is_whole (call, reply))
        return;
    inode = client_inode_of_iatt (call->inode, &buf);
    if (!inode)
        frame_fail (call->frame, gfid_equal (&buf.ia_gfid, &gfid_root) ? ENOTDIR : EIO);
    else
        STACK_UNWIND (lookup, call->frame, 0, 0, inode, &buf, answer.xdata,
                      postparent.ia_type == IA_IFDIR ? &postparent : NULL);
}

static void
lookup_send (call_frame_t *frame, xlator_t *this, inode_t *inode, const gfid_t *gfid,
             const gfid_t *parent, const char *name, dict_t *xdata)
{
    struct client_call *call = client_begin (frame, this, WIRE_LOOKUP, 0, lookup_reply);

    if (!call)
        return;
    call->inode = inode_ref (inode);
    call->by_gfid = *name == '\0';
    call->name = call->by_gfid ? NULL : g_strdup (name);
    call->parent = *parent;
    put_lookup (call, gfid, parent, name);
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

/* ".." is known only while the table knows a name of the directory: the server has no such
 * lookup. */
static void
lookup_above (call_frame_t *frame, xlator_t *this, inode_t *directory, dict_t *xdata)
{
    static const gfid_t none;
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;

    if (gfid_equal (&directory->gfid, &gfid_root))
        parent = inode_ref (directory);
    if (parent || inode_a_name (directory, &parent, &name))
        lookup_send (frame, this, parent, &parent->gfid, &none, "", xdata);
    else
        frame_fail (frame, ESTALE);
}

/* A lookup by name carries no gfid of the inode: the name may stand for another one by now. */
void
client_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    static const gfid_t none;
    client_private_t *priv = this->private;
    inode_t *inode = loc->inode ? inode_ref (loc->inode) : inode_new (loc->parent->table);

    __atomic_store_n (&priv->upcalls.table, inode->table, __ATOMIC_RELEASE);

    if (!loc->name || !loc->parent)
        lookup_send (frame, this, inode, loc_gfid (loc), &none, "", xdata);
    else if (strcmp (loc->name, ".") == 0)
        lookup_send (frame, this, loc->parent, &loc->parent->gfid, &none, "", xdata);
    else if (strcmp (loc->name, "..") == 0)
        lookup_above (frame, this, loc->parent, xdata);
    else
        lookup_send (frame, this, inode, &none, &loc->parent->gfid, loc->name, xdata);
    inode_unref (inode);
}

/* --- stat, readlink, access, statfs ----------------------------------------------------------- */

void
client_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct client_call *call =
        client_begin_inode (frame, this, loc, WIRE_STAT, WIRE_FSTAT, 0, client_stat_reply);

    if (!call)
        return;
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

static void
readlink_reply (struct client_call *call, struct rpc_reply *reply)
{
    g_auto (client_answer_t) answer;
    g_autofree char *path = NULL;
    struct iatt buf;

    if (!client_answer_begin (call, reply, &answer))
        return;
    get_iatt (&reply->results, &buf);
    path = xdr_get_string (&reply->results, PATH_MAX);
    if (client_answer_is_whole (call, reply))
        STACK_UNWIND (readlink, call->frame, (int32_t) strlen (path), 0, path, &buf, answer.xdata);
}

void
client_readlink (call_frame_t *frame, xlator_t *this, loc_t *loc, size_t size, dict_t *xdata)
{
    struct client_call *call = client_begin (frame, this, WIRE_READLINK, 0, readlink_reply);

    if (!call)
        return;
    client_put_subject (call, loc_gfid (loc));
    xdr_put_u32 (&call->rpc.out, (uint32_t) MIN (size, PATH_MAX));
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

void
client_access (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t mask, dict_t *xdata)
{
    struct client_call *call = client_begin (frame, this, WIRE_ACCESS, 0, client_access_reply);

    if (!call)
        return;
    client_put_subject (call, loc_gfid (loc));
    xdr_put_u32 (&call->rpc.out, (uint32_t) mask);
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

static client_reply_fn statfs_reply;

static void
statfs_ask (call_frame_t *frame, xlator_t *this, inode_t *inode, const gfid_t *gfid, dict_t *xdata)
{
    struct client_call *call = client_begin (frame, this, WIRE_STATFS, 0, statfs_reply);

    if (!call)
        return;
    call->inode = inode_ref (inode);
    client_put_subject (call, gfid);
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

/* A brick is one file system, so the root stands for what has no name any more, too. */
static void
statfs_reply (struct client_call *call, struct rpc_reply *reply)
{
    g_auto (client_answer_t) answer = { 0 };
    struct statvfs buf;

    if (call->inode && client_reply_is_gone (reply)) {
        statfs_ask (call->frame, call->this, NULL, &gfid_root, NULL);
        return;
    }
    if (!client_answer_begin (call, reply, &answer))
        return;
    get_statvfs (&reply->results, &buf);
    if (client_answer_is_whole (call, reply))
        STACK_UNWIND (statfs, call->frame, 0, 0, &buf, answer.xdata);
}

/* With quotas, a server's answer depends on the directory that it is asked about. */
void
client_statfs (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    const gfid_t *gfid = loc_gfid (loc);

    statfs_ask (frame, this, gfid_equal (gfid, &gfid_root) ? NULL : loc->inode, gfid, xdata);
}

/* --- truncate, setattr ------------------------------------------------------------------------ */

void
client_truncate (call_frame_t *frame, xlator_t *this, loc_t *loc, off_t offset, dict_t *xdata)
{
    struct client_call *call = client_begin (
        frame, this, WIRE_TRUNCATE, RPC_CHANGES_CTIME | RPC_CHANGES_MTIME, client_truncate_reply);

    if (!call)
        return;
    client_put_subject (call, loc_gfid (loc));
    xdr_put_u64 (&call->rpc.out, (uint64_t) offset);
    put_dict (&call->rpc.out, xdata);
    client_claims (call, loc->inode, 0, 0, true);
    client_send (call);
}

void
client_setattr (call_frame_t *frame, xlator_t *this, loc_t *loc, struct iatt *stbuf,
                uint32_t valid, dict_t *xdata)
{
    struct client_call *call;

    if (valid & IATT_SIZE) {
        frame_fail (frame, EOPNOTSUPP);
        return;
    }
    call = client_begin_rights (frame, this, loc, WIRE_SETATTR, WIRE_FSETATTR,
                                client_setattr_reply);
    if (!call)
        return;
    put_changes (&call->rpc.out, stbuf, valid);
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}
