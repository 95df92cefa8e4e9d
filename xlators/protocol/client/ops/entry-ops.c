/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations that make a file, a directory or another object. The client chooses the new object's
 * gfid, and sends it in the xdata of the call. */
#include "../client.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define NEW_GFID_KEY "gfid-req"

/* Returns xdata with a random gfid added, unless it has a gfid already: a translator above that
 * makes the object on several bricks chooses one gfid for all of them. */
dict_t *
client_with_gfid (xlator_t *this, dict_t *xdata)
{
    client_private_t *priv = this->private;
    gfid_t gfid;
    dict_t *dict;

    if (dict_has (xdata, NEW_GFID_KEY))
        return dict_ref (xdata);
    gfid = random_gfid (&priv->random);
    dict = dict_copy (xdata);
    dict_set (dict, NEW_GFID_KEY, gfid.b, sizeof gfid.b);
    return dict;
}

/* Makes a call for a new object or link, and keeps in the call the inode of loc, which for a link
 * is the location of the existing file. A brick applies the umask of a call only if it has
 * features/access-control. The bridge (src/fuse) has therefore applied the umask to the mode
 * already, unless the directory has a default ACL; the ACL then takes the place of the umask. */
struct client_call *
client_begin_new (call_frame_t *frame, xlator_t *this, const loc_t *loc,
                  enum wire_procedure procedure, client_reply_fn *reply)
{
    struct client_call *call = client_call_begin (frame, this, procedure, reply);

    if (call)
        call->inode = loc->inode ? inode_ref (loc->inode) : inode_new (loc->parent->table);
    return call;
}

inode_t *
client_new_inode (struct client_call *call, const struct iatt *buf)
{
    inode_t *inode = client_inode_of_iatt (call->inode, buf);

    if (!inode)
        frame_fail (call->frame, EIO);
    return inode;
}

/* --- create ----------------------------------------------------------------------------------- */

/* Answers a create. Links the new file's inode into the table of inodes first, because the open
 * file keeps a reference to the linked inode. If another create of the same name has linked an
 * inode with the same gfid just before, inode_link returns that inode, and the open file uses
 * it. */
static void
client_create_answer (struct client_call *call, struct wire_create_reply *got, inode_t *inode)
{
    g_autoptr (inode_t) linked = inode_link (inode, NULL, NULL, &got->buf);

    if (!call->fd->inode) /* if several bricks got this create for one fd, another reply may have
                           * set the inode */
        call->fd->inode = inode_ref (linked);
    client_file_opened (call, &got->buf.ia_gfid, (int64_t) got->number);
    STACK_UNWIND (create, call->frame, 0, 0, call->fd, linked, &got->buf, &got->preparent,
                  &got->postparent, got->xdata);
}

static void
create_reply (struct client_call *call, struct rpc_reply *reply)
{
    struct wire_create_reply got = { 0 };
    g_autoptr (inode_t) inode = NULL;

    if (client_get (call, reply, WIRE_create, &got) && (inode = client_new_inode (call, &got.buf)))
        client_create_answer (call, &got, inode);
    wire_clear_reply (WIRE_create, &got);
}

void
client_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
               mode_t umask, fd_t *fd, dict_t *xdata)
{
    struct client_call *call = client_begin_new (frame, this, loc, WIRE_create, create_reply);
    g_autoptr (dict_t) with_gfid = client_with_gfid (this, xdata);
    const struct wire_create put = {
        .loc_parent = loc->parent->gfid,
        .flags = client_open_flags (this, flags),
        .mode = mode,
        .umask = umask,
        .loc_name = loc->name,
        .xdata = with_gfid,
    };

    if (!call)
        return;
    call->fd = fd_ref (fd);
    call->flags = flags;
    client_ask (call, WIRE_create, &put, NULL);
}
