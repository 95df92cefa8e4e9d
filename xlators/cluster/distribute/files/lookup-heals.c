/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a lookup mends, under the lock of the name:
 *
 *   - If only the lookup on all subvolumes finds the file, its linkto is missing or wrong. It gets
 *     one on the hashed subvolume.
 *   - A linkto without a file is removed.
 *   - Files and directories that were made on the bricks themselves, not by a client, have no gfid.
 *     They get one; a directory gets the same gfid on all subvolumes.
 */
#include "../distribute.h"

/* --- a file without a linkto ------------------------------------------------------------------ */

static void
lookup_make_linkto (void *local)
{
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;

    linkto_run (op, (unsigned) lookup->hashed,
                (unsigned) inode_cached (op->this, lookup->inode), &op->loc,
                &lookup->buf.ia_gfid, &lookup->buf);
}

static const struct step lookup_link_steps[] = {
    STEP_LOCK ("lock"),
    STEP ("make linkto", lookup_make_linkto, linkto_try),
    {},
};

void
lookup_link (struct distribute_lookup *lookup)
{
    lock_name (&lookup->op, (unsigned) lookup->hashed, &lookup->op.loc);
    op_run (&lookup->op, lookup_link_steps, lookup_answer);
}

/* --- a linkto without a file ------------------------------------------------------------------ */

bool
lookup_reply_is_file (xlator_t *this, const struct lookup_reply *reply)
{
    bool is_linkto = true;

    if (reply->op_ret < 0 || reply->buf.ia_type == IA_IFDIR)
        return false;
    linkto_target (this, &reply->buf, reply->xdata, &is_linkto);
    return !is_linkto;
}

/* Winds lookups of the name to all subvolumes, with distribute's own identity (root) in place of
 * the caller's. */
static void
lookup_all_as_self (struct op *op, dict_t *wanted)
{
    g_autoptr (inode_t) any = inode_new (op->loc.parent->table);
    loc_t loc = { .inode = any, .parent = op->loc.parent, .name = op->loc.name };

    for (unsigned i = 0; i < op->priv->n; i++)
        AS_SELF (op, i, lookup, &loc, wanted);
    loc_wipe_path (&loc);
}

static void
lookup_check (void *local)
{
    lookup_all_as_self (local, ((const struct distribute_lookup *) local)->wanted);
}

/* Judges the lookups on all subvolumes, which were wound under the lock of the name. The lock
 * keeps clients from making the file. If a subvolume has the file nevertheless, the linkto is
 * kept, and the whole lookup is repeated. */
static int
lookup_checked (void *local)
{
    struct op *op = local;

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct lookup_reply *reply = &op->seq.fan.answers[i].lookup;

        if (reply->op_ret < 0 && !is_missing (reply->op_errno))
            return -reply->op_errno;
        if (lookup_reply_is_file (op->this, reply))
            return STEP_END;
    }
    return 0;
}

static void
lookup_wind_unlink (void *local)
{
    struct distribute_lookup *lookup = local;
    g_autoptr (dict_t) only = xdata_only_linkto ();

    AS_SELF (&lookup->op, (unsigned) lookup->hashed, unlink, &lookup->op.loc, 0, only);
}

/* Judges the unlink of a linkto without a file. If the unlink fails, the whole lookup is
 * repeated: the brick returns EBUSY if a rebalance has meanwhile turned the linkto into the
 * file. If the linkto is gone, the lookup fails with ENOENT. */
static int
lookup_unlinked (void *local)
{
    struct distribute_lookup *lookup = local;
    struct op *op = &lookup->op;
    const struct fan_answer *answer = &op->seq.fan.answers[lookup->hashed];

    if (answer->op_ret < 0 && !is_missing (answer->op_errno) && op->tries < LOOKUP_TRIES)
        return 0;
    if (answer->op_ret >= 0)
        gf_log (op->this, GF_LOG_INFO, "'%s' on %s was a linkto without a file; removed",
                loc_path (&op->loc), op->priv->children[lookup->hashed]->name);
    return -ENOENT;
}

static const struct step lookup_unlink_steps[] = {
    STEP_LOCK ("lock"),
    STEP ("check", lookup_check, lookup_checked),
    STEP ("unlink linkto", lookup_wind_unlink, lookup_unlinked),
    {},
};

void
lookup_unlink (struct distribute_lookup *lookup)
{
    lock_name (&lookup->op, (unsigned) lookup->hashed, &lookup->op.loc);
    op_run (&lookup->op, lookup_unlink_steps, lookup_retry);
}

/* --- objects without a gfid ------------------------------------------------------------------- */

/* Gives a gfid to the files and directories of the name that have none: the gfid that the
 * directory has on other subvolumes, or else a new one. A brick sets the gfid at a lookup with
 * "gfid-req". */
static void
lookup_set_gfid (void *local)
{
    struct op *op = local;
    g_autoptr (dict_t) wanted = dict_copy (((const struct distribute_lookup *) local)->wanted);
    gfid_t gfid = random_gfid (&op->priv->random);

    for (unsigned i = 0; i < op->priv->n; i++)
        if (op->fan.answers[i].op == FOP_lookup && op->fan.answers[i].op_ret >= 0)
            gfid = op->fan.answers[i].lookup.buf.ia_gfid;
    dict_set (wanted, "gfid-req", gfid.b, sizeof gfid.b);
    lookup_all_as_self (op, wanted);
}

static const struct step lookup_name_steps[] = {
    STEP_LOCK ("lock"),
    STEP ("give gfid", lookup_set_gfid, step_ignore),
    {},
};

void
lookup_give_gfids (struct distribute_lookup *lookup)
{
    struct op *op = &lookup->op;

    lookup->named = true;
    lock_name (op, (unsigned) lookup->hashed, &op->loc);
    op_run (op, lookup_name_steps, lookup_retry);
}
