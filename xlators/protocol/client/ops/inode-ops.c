/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations lookup, readlink and statfs. */
#include "../client.h"

#include <errno.h>
#include <string.h>

/* --- lookup ----------------------------------------------------------------------------------- */

static client_reply_fn lookup_reply;

/* Returns whether the client repeats a failed lookup of a name, with a new gfid in its xdata. If a
 * brick is killed while it makes an object, the name can remain without a gfid. Each lookup of the
 * name then fails with ENODATA, so users cannot even remove it; a lookup with a gfid in its xdata
 * makes the brick give the object that gfid. A translator above with several children needs the
 * same gfid on all its bricks, so below such a translator the client does not choose one. */
static bool
lookup_may_mend (const struct client_call *call, const struct rpc_reply *reply)
{
    return client_reply_errno (reply) == ENODATA && call->name
        && !xlator_is_one_of_several (call->this);
}

static void
lookup_mend (struct client_call *call)
{
    struct client_call *again =
        client_call_begin (call->frame, call->this, WIRE_lookup, lookup_reply);
    g_autoptr (dict_t) with_gfid = client_with_gfid (call->this, NULL);
    const struct wire_lookup put = { .parent = call->parent, .name = call->name,
                                     .xdata = with_gfid };

    if (again)
        again->inode = inode_ref (call->inode);
    client_ask (again, WIRE_lookup, &put, NULL);
}

static void
client_lookup_answer (struct client_call *call, struct wire_lookup_reply *got)
{
    g_autoptr (inode_t) inode = client_inode_of_iatt (call->inode, &got->buf);

    if (!inode)
        frame_fail (call->frame, gfid_equal (&got->buf.ia_gfid, &gfid_root) ? ENOTDIR : EIO);
    else
        STACK_UNWIND (lookup, call->frame, 0, 0, inode, &got->buf, got->xdata,
                      got->postparent.ia_type == IA_IFDIR ? &got->postparent : NULL);
}

static void
lookup_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct wire_lookup_reply got = { 0 };

    if (lookup_may_mend (call, reply))
        lookup_mend (call);
    else if (client_get (call, reply, WIRE_lookup, &got))
        client_lookup_answer (call, &got);
    wire_clear_reply (WIRE_lookup, &got);
}

/* Sends a lookup of put->name in the directory put->parent, or of the file with the gfid put->file
 * if put->name is "". */
static void
lookup_send (call_frame_t *frame, xlator_t *this, inode_t *inode, const struct wire_lookup *put)
{
    struct client_call *call = client_call_begin (frame, this, WIRE_lookup, lookup_reply);

    if (!call)
        return;
    call->inode = inode_ref (inode);
    call->by_gfid = *put->name == '\0';
    call->name = call->by_gfid ? NULL : g_strdup (put->name);
    call->parent = put->parent;
    client_ask (call, WIRE_lookup, put, NULL);
}

static void
client_lookup_file (call_frame_t *frame, xlator_t *this, inode_t *inode, const gfid_t *gfid,
                    dict_t *xdata)
{
    const struct wire_lookup put = { .file = *gfid, .name = "", .xdata = xdata };

    lookup_send (frame, this, inode, &put);
}

/* Looks up ".." in a directory. The protocol has no lookup of "..", so this function takes the
 * parent from the table of inodes, and looks up the parent by its gfid. If the table has no name of
 * the directory, the operation fails with ESTALE. */
static void
lookup_above (call_frame_t *frame, xlator_t *this, inode_t *directory, dict_t *xdata)
{
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;

    if (gfid_equal (&directory->gfid, &gfid_root))
        parent = inode_ref (directory);
    if (parent || inode_a_name (directory, &parent, &name))
        client_lookup_file (frame, this, parent, &parent->gfid, xdata);
    else
        frame_fail (frame, ESTALE);
}

/* Looks up a name in a directory. The call contains only the gfid of the directory and the name,
 * not the gfid of loc->inode, because the name may belong to another file by now. */
static void
client_lookup_name (call_frame_t *frame, xlator_t *this, const loc_t *loc, dict_t *xdata)
{
    g_autoptr (inode_t) inode = loc->inode ? inode_ref (loc->inode)
                                           : inode_new (loc->parent->table);
    const struct wire_lookup put = { .parent = loc->parent->gfid, .name = loc->name,
                                     .xdata = xdata };

    lookup_send (frame, this, inode, &put);
}

void
client_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    client_private_t *priv = this->private;
    const inode_t *known = loc->inode ? loc->inode : loc->parent;

    __atomic_store_n (&priv->upcalls.table, known->table, __ATOMIC_RELEASE);
    if (!loc->name || !loc->parent)
        client_lookup_file (frame, this, loc->inode, loc_gfid (loc), xdata);
    else if (strcmp (loc->name, ".") == 0)
        client_lookup_file (frame, this, loc->parent, &loc->parent->gfid, xdata);
    else if (strcmp (loc->name, "..") == 0)
        lookup_above (frame, this, loc->parent, xdata);
    else
        client_lookup_name (frame, this, loc, xdata);
}

/* --- readlink --------------------------------------------------------------------------------- */

static void
readlink_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct wire_readlink_reply got = { 0 };

    if (client_get (call, reply, WIRE_readlink, &got))
        STACK_UNWIND (readlink, call->frame, (int32_t) strlen (got.path), 0, got.path, &got.buf,
                      got.xdata);
    wire_clear_reply (WIRE_readlink, &got);
}

void
client_readlink (call_frame_t *frame, xlator_t *this, loc_t *loc, size_t size, dict_t *xdata)
{
    const struct wire_readlink put = { .size = (uint32_t) MIN (size, PATH_MAX), .xdata = xdata };

    client_ask (client_begin_file (frame, this, loc, WIRE_readlink, readlink_reply),
                WIRE_readlink, &put, NULL);
}

/* --- statfs ----------------------------------------------------------------------------------- */

static client_reply_fn statfs_reply;

/* Sends a STATFS for the file with this gfid. inode: the file's inode; NULL: the file is the
 * root. */
static void
statfs_ask (call_frame_t *frame, xlator_t *this, inode_t *inode, const gfid_t *gfid, dict_t *xdata)
{
    struct client_call *call = client_begin_gfid (frame, this, gfid, WIRE_statfs, statfs_reply);
    const struct wire_statfs put = { .xdata = xdata };

    if (call)
        call->inode = inode_ref (inode);
    client_ask (call, WIRE_statfs, &put, NULL);
}

/* Receives the reply to a STATFS. If the server cannot find the file, because the file has lost its
 * last name, the client repeats the call for the root. All files of a brick are on one file system,
 * so the root's reply is valid for the file too. */
static void
statfs_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct wire_statfs_reply got = { 0 };

    if (call->inode && client_reply_is_gone (reply))
        statfs_ask (call->frame, call->this, NULL, &gfid_root, NULL);
    else if (client_get (call, reply, WIRE_statfs, &got))
        STACK_UNWIND (statfs, call->frame, 0, 0, &got.buf, got.xdata);
    wire_clear_reply (WIRE_statfs, &got);
}

/* Sends STATFS for the file that the caller gives, not for the root: with quotas, a server's reply
 * depends on the directory that the file is in. */
void
client_statfs (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    const gfid_t *gfid = loc_gfid (loc);

    statfs_ask (frame, this, gfid_equal (gfid, &gfid_root) ? NULL : loc->inode, gfid, xdata);
}
