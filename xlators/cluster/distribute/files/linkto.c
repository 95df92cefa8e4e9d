/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Linktos: empty files on the subvolume of a name's hash, which name the subvolume that has the
 * data. Distribute makes and removes them as itself; the owner is the file's, so that the caller
 * may rename them. */
#include "../distribute.h"

#include <string.h>

static void
linkto_done (struct op *op, int op_errno)
{
    op->op_errno = op_errno;
    op->linkto.next (op->own);
}

static void
linkto_owned (call_frame_t *own)
{
    struct op *op = OP_OF (own);
    const struct fan_answer *answer = &op->own_fan.answers[op->linkto.on];

    if (answer->op_ret < 0)
        gf_log (op->this, GF_LOG_WARNING, "'%s' on %s keeps root as its owner: %s",
                loc_path (op->linkto.loc), op->priv->children[op->linkto.on]->name,
                g_strerror (answer->op_errno));
    linkto_done (op, 0);
}

/* Returns the inode with a gfid. If the table has none, a new one that is not linked: the type of
 * the file that the linkto stands for isn't known. */
static inode_t *
inode_of_gfid (struct itable *table, const gfid_t *gfid)
{
    inode_t *inode = inode_find (table, gfid);

    if (!inode) {
        inode = inode_new (table);
        inode->gfid = *gfid;
    }
    return inode;
}

static void
linkto_own (struct op *op)
{
    struct linkto *linkto = &op->linkto;
    g_autoptr (dict_t) xdata = xdata_internal ();
    g_autoptr (inode_t) inode = inode_of_gfid (linkto->loc->parent->table, &linkto->gfid);
    struct iatt owner = { .ia_uid = linkto->like.ia_uid, .ia_gid = linkto->like.ia_gid };
    loc_t loc = { .inode = inode };

    OWN_ONE (op, linkto_owned, linkto->on, setattr, &loc, &owner, IATT_UID | IATT_GID, xdata);
    loc_wipe_path (&loc);
}

static void linkto_ask (struct op *op);

static void
linkto_removed (call_frame_t *own)
{
    linkto_ask (OP_OF (own));
}

/* If the name is the same linkto, all is well; if it is another, it goes, unless it names a
 * subvolume that this client doesn't know. If it has vanished, it is made. */
static void
linkto_looked (call_frame_t *own)
{
    struct op *op = OP_OF (own);
    struct linkto *linkto = &op->linkto;
    const struct lookup_reply *reply = &op->own_fan.answers[linkto->on].lookup;
    g_autoptr (dict_t) xdata = NULL;
    bool is_linkto = false;
    int target = reply->op_ret < 0
        ? NO_CHILD
        : linkto_target (op->this, &reply->buf, reply->xdata, &is_linkto);

    if (reply->op_ret < 0 && reply->op_errno == ENOENT && !linkto->retried) {
        linkto->retried = true;
        linkto_ask (op);
        return;
    }
    if (is_linkto && target == (int) linkto->to
        && gfid_equal (&reply->buf.ia_gfid, &linkto->gfid)) {
        linkto_done (op, 0);
        return;
    }
    if (!is_linkto || linkto->retried || target == NO_CHILD) {
        linkto_done (op, EEXIST);
        return;
    }
    linkto->retried = true;
    xdata = xdata_only_linkto ();
    OWN_ONE (op, linkto_removed, linkto->on, unlink, linkto->loc, 0, xdata);
}

static void
linkto_look (struct op *op)
{
    g_autoptr (dict_t) xdata = xdata_lookup (op->priv, NULL, NULL);
    g_autoptr (inode_t) any = inode_new (op->linkto.loc->parent->table);
    loc_t loc = { .inode = any, .parent = op->linkto.loc->parent, .name = op->linkto.loc->name };

    OWN_ONE (op, linkto_looked, op->linkto.on, lookup, &loc, xdata);
    loc_wipe_path (&loc);
}

static void
linkto_made (call_frame_t *own)
{
    struct op *op = OP_OF (own);
    const struct mknod_reply *reply = &op->own_fan.answers[op->linkto.on].mknod;

    if (reply->op_ret < 0 && reply->op_errno == EEXIST)
        linkto_look (op);
    else if (reply->op_ret < 0)
        linkto_done (op, reply->op_errno);
    else if (op->linkto.like.ia_uid != 0 || op->linkto.like.ia_gid != 0)
        linkto_own (op);
    else
        linkto_done (op, 0);
}

static void
linkto_ask (struct op *op)
{
    struct linkto *linkto = &op->linkto;
    g_autoptr (dict_t) xdata = xdata_internal ();
    g_autoptr (inode_t) any = inode_new (linkto->loc->parent->table);
    loc_t loc = { .inode = any, .parent = linkto->loc->parent, .name = linkto->loc->name };

    dict_set (xdata, "gfid-req", linkto->gfid.b, sizeof linkto->gfid.b);
    dict_set_str (xdata, op->priv->linkto_key, op->priv->children[linkto->to]->name);
    OWN_ONE (op, linkto_made, linkto->on, mknod, &loc, S_IFREG | S_ISVTX, 0, 0, xdata);
    loc_wipe_path (&loc);
}

static void
linkto_begin (struct op *op, unsigned on, unsigned to, loc_t *loc, const gfid_t *gfid,
              const struct iatt *like, void (*next) (call_frame_t *own))
{
    op->linkto = (struct linkto){ .on = on, .to = to, .loc = loc, .gfid = *gfid, .like = *like,
                                  .next = next };
    op_own (op);
}

void
linkto_make (struct op *op, unsigned on, unsigned to, loc_t *loc, const gfid_t *gfid,
             const struct iatt *like, void (*next) (call_frame_t *own))
{
    linkto_begin (op, on, to, loc, gfid, like, next);
    linkto_ask (op);
}

void
linkto_keep (struct op *op, unsigned on, unsigned to, loc_t *loc, const gfid_t *gfid,
             const struct iatt *like, void (*next) (call_frame_t *own))
{
    linkto_begin (op, on, to, loc, gfid, like, next);
    linkto_look (op);
}
