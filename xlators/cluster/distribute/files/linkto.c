/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Linktos: empty files on the hashed subvolume of a name, with the name of the subvolume that has
 * the data. Distribute makes and removes linktos with its own identity, not with the caller's. It
 * gives a linkto the owner and the group of the file, so that a caller who may rename the file may
 * also rename the linkto.
 *
 * One step of a table makes a linkto. The step is repeated for each of these calls to the
 * subvolume:
 *
 *   make --EEXIST--> look --another linkto--> remove --> make
 *     |                |
 *     |                +-- the same linkto --> end
 *     +--> own --> end
 *
 * "make" is a mknod, "look" a lookup of the name, "remove" an unlink; "own" sets the owner.
 */
#include "../distribute.h"

#include <string.h>

void
linkto_put_back (struct op *op, unsigned on, unsigned to, const loc_t *name, const gfid_t *gfid)
{
    g_autoptr (dict_t) xdata = xdata_internal ();
    g_autoptr (inode_t) any = inode_new (name->parent->table);
    loc_t loc = { .inode = any, .parent = name->parent, .name = name->name };

    dict_set (xdata, "gfid-req", gfid->b, sizeof gfid->b);
    dict_set_str (xdata, op->priv->linkto_key, op->priv->children[to]->name);
    AS_SELF (op, on, mknod, &loc, S_IFREG | S_ISVTX, 0, 0, xdata);
    loc_wipe_path (&loc);
}

static void
linkto_wind_make (struct op *op)
{
    const struct linkto *linkto = &op->linkto;

    linkto_put_back (op, linkto->on, linkto->to, linkto->loc, &linkto->gfid);
}

/* Judges the answer to the mknod of the linkto. Returns the next phase, LINKTO_BEGIN if the step
 * ends, or a negative errno. */
static int
linkto_after_make (struct op *op)
{
    const struct linkto *linkto = &op->linkto;
    const struct mknod_reply *reply = &op->seq.fan.answers[linkto->on].mknod;

    if (reply->op_ret < 0)
        return reply->op_errno == EEXIST ? LINKTO_LOOK : -reply->op_errno;
    return linkto->like.ia_uid != 0 || linkto->like.ia_gid != 0 ? LINKTO_OWN : LINKTO_BEGIN;
}

static void
linkto_wind_look (struct op *op)
{
    g_autoptr (dict_t) xdata = xdata_lookup (op->priv, NULL, NULL);
    g_autoptr (inode_t) any = inode_new (op->linkto.loc->parent->table);
    loc_t loc = { .inode = any, .parent = op->linkto.loc->parent, .name = op->linkto.loc->name };

    AS_SELF (op, op->linkto.on, lookup, &loc, xdata);
    loc_wipe_path (&loc);
}

/* Judges the answer to a lookup of the linkto's name. If the name is already the linkto that the
 * step is to make, the step ends. If it is a linkto of another file, or to another subvolume,
 * the next phase removes it. Anything else is kept, also a linkto that names a subvolume which
 * this client doesn't know, and the step fails with EEXIST. */
static int
linkto_after_look (struct op *op)
{
    struct linkto *linkto = &op->linkto;
    const struct lookup_reply *reply = &op->seq.fan.answers[linkto->on].lookup;
    const bool retried = linkto->retried;
    bool is_linkto = false;
    int target;

    linkto->retried = true;
    if (reply->op_ret < 0)
        return reply->op_errno == ENOENT && !retried ? LINKTO_MAKE : -EEXIST;
    target = linkto_target (op->this, &reply->buf, reply->xdata, &is_linkto);
    if (is_linkto && target == (int) linkto->to
        && gfid_equal (&reply->buf.ia_gfid, &linkto->gfid))
        return LINKTO_BEGIN;
    return is_linkto && !retried && target != NO_CHILD ? LINKTO_REMOVE : -EEXIST;
}

static void
linkto_wind_remove (struct op *op)
{
    g_autoptr (dict_t) only = xdata_only_linkto ();

    AS_SELF (op, op->linkto.on, unlink, op->linkto.loc, 0, only);
}

/* Returns the inode with this gfid. If the inode table has none, returns a new inode, which is
 * not linked into the table, since the type of the file isn't known. */
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
linkto_wind_own (struct op *op)
{
    struct linkto *linkto = &op->linkto;
    g_autoptr (dict_t) xdata = xdata_internal ();
    g_autoptr (inode_t) inode = inode_of_gfid (linkto->loc->parent->table, &linkto->gfid);
    struct iatt owner = { .ia_uid = linkto->like.ia_uid, .ia_gid = linkto->like.ia_gid };
    loc_t loc = { .inode = inode };

    AS_SELF (op, linkto->on, setattr, &loc, &owner, IATT_UID | IATT_GID, xdata);
    loc_wipe_path (&loc);
}

static int
linkto_after_own (struct op *op)
{
    const struct linkto *linkto = &op->linkto;
    const struct fan_answer *answer = &op->seq.fan.answers[linkto->on];

    if (answer->op_ret < 0)
        gf_log (op->this, GF_LOG_WARNING, "'%s' on %s keeps root as its owner: %s",
                loc_path (linkto->loc), op->priv->children[linkto->on]->name,
                g_strerror (answer->op_errno));
    return LINKTO_BEGIN;
}

static void
linkto_wind (struct op *op, int first, unsigned on, unsigned to, loc_t *loc, const gfid_t *gfid,
             const struct iatt *like)
{
    struct linkto *linkto = &op->linkto;

    if (linkto->phase == LINKTO_BEGIN)
        *linkto = (struct linkto){ .on = on, .to = to, .loc = loc, .gfid = *gfid, .like = *like,
                                   .phase = first };
    if (linkto->phase == LINKTO_MAKE)
        linkto_wind_make (op);
    else if (linkto->phase == LINKTO_LOOK)
        linkto_wind_look (op);
    else if (linkto->phase == LINKTO_REMOVE)
        linkto_wind_remove (op);
    else
        linkto_wind_own (op);
}

void
linkto_run (struct op *op, unsigned on, unsigned to, loc_t *loc, const gfid_t *gfid,
            const struct iatt *like)
{
    linkto_wind (op, LINKTO_MAKE, on, to, loc, gfid, like);
}

void
linkto_keep_run (struct op *op, unsigned on, unsigned to, loc_t *loc, const gfid_t *gfid,
                 const struct iatt *like)
{
    linkto_wind (op, LINKTO_LOOK, on, to, loc, gfid, like);
}

int
linkto_judge (void *local)
{
    struct op *op = local;
    struct linkto *linkto = &op->linkto;
    const int next = linkto->phase == LINKTO_MAKE ? linkto_after_make (op)
                   : linkto->phase == LINKTO_LOOK ? linkto_after_look (op)
                   : linkto->phase == LINKTO_REMOVE ? LINKTO_MAKE
                                                    : linkto_after_own (op);

    linkto->phase = MAX (next, LINKTO_BEGIN);
    return next > LINKTO_BEGIN ? STEP_REPEAT : next;
}

int
linkto_try (void *local)
{
    struct op *op = local;
    const int r = linkto_judge (op);

    if (r >= 0)
        return r;
    gf_log (op->this, GF_LOG_WARNING, "'%s' has no linkto on its hashed subvolume: %s",
            loc_path (op->linkto.loc), g_strerror (-r));
    return 0;
}
