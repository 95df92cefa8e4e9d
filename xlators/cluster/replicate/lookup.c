/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A lookup asks all copies at once. The good copies of the directory decide whether a name exists:
 * a copy that missed a removal still has the name. Objects that differ in gfid or type are not
 * copies of each other, and the lookup fails with EIO. But they may also differ because the name
 * changes during the lookup. So replicate first asks all copies again, at most ATTEMPTS times in
 * all, the last time under the lock of the name.
 *
 * An object that was made on a brick directly, not through a client, has no gfid. If a quorum of
 * copies reports that, replicate repeats the lookup under the lock of the name, with a gfid that
 * the bricks give to the object. A brick gives no gfid to an object younger than a second, since a
 * client may be making the object.
 */
#include "changes/changes.h"

#include <errno.h>
#include <string.h>

#define ATTEMPTS 4
#define CONTENT "glusterfs.content"
#define CREATION_ASKED "glusterfs.parent-entrylk" /* key: has a client locked the name? */

bool
replicate_hides (xlator_t *this, inode_t *directory, const char *name)
{
    return gfid_equal (&directory->gfid, &gfid_root)
        && (strcmp (name, ".glusterfs") == 0
            || g_str_has_prefix (name, ".glusterfs-anonymous-inode"));
}

struct replicate_lookup {
    struct replicate_local head;
    xlator_t *this;
    call_frame_t *frame;
    struct fan_out fan;
    loc_t loc;
    dict_t *xdata;   /* xdata of the call, with a reference; or NULL */
    inode_t *parent; /* directory of the name, without a reference; NULL: a lookup by gfid */
    unsigned attempts; /* number of earlier attempts */
    bool named;       /* whether the lookup sends a gfid for the object */
    struct txn *lock; /* transaction that locks the name, or NULL */
    struct lookup_start start; /* start of the last attempt */
    copies_t children; /* copies that were asked in the last attempt */
    copies_t trusted; /* good copies of the directory, whose names are right */
};

static void
lookup_drop (void *local)
{
    struct replicate_lookup *lookup = local;

    fan_clear (&lookup->fan);
    loc_wipe (&lookup->loc);
    dict_unref (lookup->xdata);
}

static bool
lookup_is_of_root (const struct replicate_lookup *lookup)
{
    return !lookup->parent && gfid_equal (&lookup->loc.inode->gfid, &gfid_root);
}

static const struct lookup_reply *
lookup_reply_of (const struct replicate_lookup *lookup, unsigned i)
{
    return &lookup->fan.answers[i].lookup;
}

/* Returns whether an error means that the copy lacks the name. ENODATA: the object has no gfid yet,
 * since another client is making it. */
static bool
error_is_absence (int error)
{
    return error == ENOENT || error == ENODATA;
}

static copies_t
lookup_missing (const struct replicate_lookup *lookup)
{
    copies_t missing = 0;

    for (unsigned i = 0; i < lookup->fan.n; i++)
        if (lookup->children & COPY (i) && lookup_reply_of (lookup, i)->op_ret < 0
            && error_is_absence (lookup_reply_of (lookup, i)->op_errno))
            missing |= COPY (i);
    return missing;
}

/* Returns whether the lookup of a name that some copies have and others lack must fail with ENOENT:
 * the good copies of the directory lack it, or another client is still making it. A copy of the
 * directory that is accused does not decide, since its names are old. A name on a quorum of copies
 * exists, even if a client is still making it on another copy. A lookup while the child of that
 * other copy is down finds the name, so a later lookup must find it, too. */
static bool
lookup_denies (const struct replicate_lookup *lookup, copies_t found, copies_t missing)
{
    const replicate_t *priv = lookup->this->private;
    uint64_t locks;

    if (!missing || !lookup->parent)
        return false;
    if (lookup->trusted & missing && !(lookup->trusted & found))
        return true;
    if (lookup->trusted & found && !(lookup->trusted & missing))
        return false;
    if (!children_quorum (priv, found) && children_quorum (priv, lookup->trusted & missing))
        return true;
    if (children_quorum (priv, found))
        return false;
    for (unsigned i = 0; i < lookup->fan.n; i++)
        if (lookup->children & COPY (i)
            && dict_get_u64 (lookup_reply_of (lookup, i)->xdata, CREATION_ASKED, &locks)
            && locks > 0)
            return true;
    return false;
}

static bool
replies_differ (const struct lookup_reply *a, const struct lookup_reply *b)
{
    return !gfid_equal (&a->buf.ia_gfid, &b->buf.ia_gfid) || a->buf.ia_type != b->buf.ia_type;
}

/* Returns the copies in `found` that have another object under the name than copy `best`. */
static copies_t
lookup_strangers (const struct replicate_lookup *lookup, copies_t found, int best)
{
    copies_t strangers = 0;

    for (unsigned i = 0; i < lookup->fan.n; i++)
        if (found & COPY (i)
            && replies_differ (lookup_reply_of (lookup, i),
                               lookup_reply_of (lookup, (unsigned) best)))
            strangers |= COPY (i);
    return strangers;
}

static void
lookup_log_mismatch (const struct replicate_lookup *lookup, copies_t strangers, int best)
{
    const replicate_t *priv = lookup->this->private;
    const struct iatt *a = &lookup_reply_of (lookup, (unsigned) best)->buf;
    const struct iatt *b = &lookup_reply_of (lookup, (unsigned) copies_first (strangers))->buf;
    g_autofree char *path = lookup->parent ? inode_path (lookup->parent, lookup->loc.name)
                                           : g_strdup ("an inode");
    g_autofree char *others = copies_text (priv, strangers);
    char good[GFID_TEXT_SIZE], bad[GFID_TEXT_SIZE];

    gf_log (lookup->this, GF_LOG_ERROR,
            "'%s' is another object on %s (gfid %s, type %d) than on %s (gfid %s, type %d): "
            "rename one of them on its brick, or heal the directory",
            path, others, gfid_text (&b->ia_gfid, bad), b->ia_type, priv->names[best],
            gfid_text (&a->ia_gfid, good), a->ia_type);
}

static void
lookup_learn (const struct replicate_lookup *lookup, copies_t copies, inode_t *inode)
{
    replicate_t *priv = lookup->this->private;
    struct copy all[COPIES_MAX];

    for (unsigned i = 0; i < priv->n; i++) {
        all[i] = (struct copy){ 0 };
        if (!(copies & COPY (i)))
            continue;
        copy_read (priv, lookup_reply_of (lookup, i), &all[i]);
        index_note (priv, i, lookup_reply_of (lookup, i), &lookup->start);
    }
    inode_learn (lookup->this, inode, all, &lookup->start);
}

/* Begins a background heal of the object that was looked up. The heal finds the inode by its gfid,
 * so the inode must be in the table of inodes, and is linked into it first. */
static void
lookup_heal (const struct replicate_lookup *lookup, inode_t *inode, const struct iatt *buf)
{
    const unsigned what = heals_at_lookup (lookup->this->private);
    inode_t *known;

    if (!what)
        return;
    known = inode_link (inode, NULL, NULL, buf);
    if (known == inode)
        heal_later (lookup->this, known, what);
    inode_unref (known);
}

/* The answer to a lookup. */
struct lookup_result {
    int best;              /* number of the copy whose size and times are used */
    int metadata;          /* number of the copy whose owner, mode and extended attributes are used;
                            * -1: those of `best`, since no copy has good ones */
    bool data;             /* whether copy `best` has good data */
    struct iatt buf;       /* attributes of the object */
    dict_t *xdata;         /* xdata of the answer, with a reference; or NULL */
    const struct iatt *postparent; /* attributes of the directory, in a reply; or NULL */
};

/* Returns the copies from which the attributes may be taken. Prefers those whose copy of the
 * directory is good, too. If a copy missed a link in the directory, the link count of its file is
 * too low. */
static copies_t
lookup_good (const struct replicate_lookup *lookup, const struct readable *readable)
{
    copies_t good = readable->data & readable->metadata;

    if (!good)
        good = readable->data ? readable->data : readable->metadata;
    return good & lookup->trusted ? good & lookup->trusted : good;
}

/* Returns the xdata of the answer, with a reference. The content of the file is included only from
 * a copy with good data. If no copy has good attributes, the extended attributes of the best copy
 * are passed on with XDATA_NO_GOOD_METADATA: cluster/distribute needs linktos and layouts among
 * them, but caches must not store them. */
static dict_t *
result_xdata (const struct replicate_lookup *lookup, const struct lookup_result *result)
{
    const int from = result->metadata >= 0 ? result->metadata : result->best;
    const dict_t *theirs = lookup_reply_of (lookup, (unsigned) result->best)->xdata;
    const void *content;
    dict_t *xdata;
    size_t size;

    if (result->data && result->metadata == result->best)
        return dict_ref ((dict_t *) theirs);
    xdata = dict_copy (lookup_reply_of (lookup, (unsigned) from)->xdata);
    content = result->data ? dict_get (theirs, CONTENT, &size) : NULL;
    dict_del (xdata, CONTENT);
    if (content)
        dict_set (xdata, CONTENT, content, size);
    if (!result->data)
        dict_set_u64 (xdata, XDATA_NO_GOOD_DATA, 1);
    if (result->metadata < 0)
        dict_set_u64 (xdata, XDATA_NO_GOOD_METADATA, 1);
    return xdata;
}

/* Returns the attributes of the parent directory, from a copy where its names and its attributes
 * are both good; NULL: no such copy. */
static const struct iatt *
result_postparent (const struct replicate_lookup *lookup, int best, copies_t found)
{
    struct readable readable = { 0 };
    copies_t good;
    int from;

    if (!lookup->parent)
        return NULL;
    inode_is_fresh (lookup->this, lookup->parent, &readable);
    good = found & lookup->trusted & readable.metadata;
    from = good & COPY (best) ? best : copies_first (good);
    if (from < 0 || lookup_reply_of (lookup, (unsigned) from)->postparent.ia_type != IA_IFDIR)
        return NULL;
    return &lookup_reply_of (lookup, (unsigned) from)->postparent;
}

/* Returns the answer for the caller. `readable` contains only copies that have the name. If none of
 * them is good, the answer has the attributes of copy `any`, so that the file can be listed and
 * healed. */
static struct lookup_result
lookup_result_of (const struct replicate_lookup *lookup, const struct readable *readable, int any,
                  inode_t *inode)
{
    replicate_t *priv = lookup->this->private;
    const copies_t good = lookup_good (lookup, readable);
    struct lookup_result result = { .best = good ? choose_copy (priv, good, inode) : any };

    result.data = readable->data & COPY (result.best);
    result.metadata = readable->metadata & COPY (result.best)
                        ? result.best
                        : choose_copy (priv, readable->metadata, inode);
    result.buf = lookup_reply_of (lookup, (unsigned) result.best)->buf;
    if (result.metadata >= 0)
        iatt_take_rights (&result.buf, &lookup_reply_of (lookup, (unsigned) result.metadata)->buf);
    result.xdata = result_xdata (lookup, &result);
    result.postparent = result_postparent (lookup, result.best, readable->found);
    return result;
}

static void
lookup_succeed (struct replicate_lookup *lookup, copies_t found, int any)
{
    inode_t *inode = lookup_reply_of (lookup, (unsigned) any)->inode;
    g_autoptr (dict_t) xdata = NULL;
    struct readable readable;
    struct lookup_result result;

    lookup_learn (lookup, found, inode);
    inode_is_fresh (lookup->this, inode, &readable);
    readable = (struct readable){ found, readable.data & found, readable.metadata & found };
    result = lookup_result_of (lookup, &readable, any, inode);
    xdata = result.xdata;
    lookup_heal (lookup, inode, &result.buf);
    STACK_UNWIND (lookup, lookup->frame, 0, 0, inode, &result.buf, xdata,
                  (struct iatt *) result.postparent);
}

static bool
lookup_finds_no_gfid (const struct replicate_lookup *lookup)
{
    copies_t nameless = 0;

    for (unsigned i = 0; lookup->parent && i < lookup->fan.n; i++)
        if (lookup->children & COPY (i) && lookup_reply_of (lookup, i)->op_ret < 0
            && lookup_reply_of (lookup, i)->op_errno == ENODATA)
            nameless |= COPY (i);
    return children_quorum (lookup->this->private, nameless);
}

/* Returns the copies that fail with ESTALE, since the directory is gone there: a client is removing
 * it. */
static copies_t
lookup_gone (const struct replicate_lookup *lookup)
{
    copies_t gone = 0;

    for (unsigned i = 0; i < lookup->fan.n; i++)
        if (lookup->children & COPY (i) && lookup_reply_of (lookup, i)->op_ret < 0
            && lookup_reply_of (lookup, i)->op_errno == ESTALE)
            gone |= COPY (i);
    return gone;
}

/* Returns the errno of a lookup that found the name on no copy: ENOENT only if a quorum of copies
 * lacks the name, else ENOTCONN or another error. */
static int
lookup_error (const struct replicate_lookup *lookup, copies_t missing)
{
    const int error = copies_error (&lookup->fan);

    if (!error_is_absence (error))
        return error;
    if (lookup_finds_no_gfid (lookup))
        return ENODATA;
    missing |= lookup_gone (lookup);
    return children_quorum (lookup->this->private, missing) ? ENOENT : ENOTCONN;
}

/* Returns whether copies have different objects under the name, and the good copies of the
 * directory do not decide which is right: they differ among themselves, or none has the name. If
 * only an accused copy of the directory differs, the others decide, and a heal corrects it. */
static bool
lookup_is_undecided (const struct replicate_lookup *lookup, copies_t found, copies_t strangers)
{
    const copies_t trusted = found & lookup->trusted;

    return strangers && (!trusted || strangers & trusted);
}

static void
lookup_differs (struct replicate_lookup *lookup, copies_t found, copies_t strangers, int best)
{
    if (lookup_is_undecided (lookup, found, strangers)) {
        lookup_log_mismatch (lookup, strangers, best);
        frame_fail (lookup->frame, EIO);
    } else {
        lookup_succeed (lookup, found & ~strangers, best);
    }
}

/* Returns whether to ask all copies again, since their answers differ. They may differ because the
 * name changed during the lookup, or because another client has accused a copy of the directory
 * since the refresh of the directory. */
static bool
lookup_doubts (const struct replicate_lookup *lookup, copies_t found, copies_t missing,
               copies_t strangers)
{
    if (lookup_is_undecided (lookup, found, strangers))
        return lookup->attempts + 1 < ATTEMPTS;
    if (strangers)
        return lookup->attempts == 0;
    return lookup->parent && lookup->attempts == 0 && lookup->trusted & found
        && lookup->trusted & missing;
}

static void lookup_wind (struct replicate_lookup *lookup);
static void lookup_parent_known (void *data, int error);

static void
lookup_locked (struct txn *txn)
{
    struct replicate_lookup *lookup = txn->data;

    inode_refresh (lookup->this, lookup->parent, lookup_parent_known, lookup);
}

static void
lookup_lock (struct replicate_lookup *lookup)
{
    lookup->lock = txn_of_name (lookup->this, lookup->frame, lookup->parent, lookup->loc.name,
                                lookup);
    txn_lock (lookup->lock, lookup_locked);
}

/* Returns whether to send a gfid for an object that has none. Replicate does not if it is one of
 * several subvolumes of cluster/distribute, which then chooses the gfid for all of them. */
static bool
lookup_may_give_gfid (const struct replicate_lookup *lookup)
{
    return !lookup->named && !lookup->lock && !dict_has (lookup->xdata, NEW_GFID_KEY)
        && lookup_finds_no_gfid (lookup) && !xlator_is_one_of_several (lookup->this);
}

static void
lookup_give_gfid (struct replicate_lookup *lookup)
{
    replicate_t *priv = lookup->this->private;
    const gfid_t gfid = random_gfid (&priv->random);
    dict_t *xdata = dict_copy (lookup->xdata);

    dict_set (xdata, NEW_GFID_KEY, gfid.b, sizeof gfid.b);
    dict_unref (lookup->xdata);
    lookup->xdata = xdata;
    lookup->named = true;
    lookup_lock (lookup);
}

static void
lookup_repeat (struct replicate_lookup *lookup)
{
    lookup->attempts++;
    if (!lookup->parent) {
        lookup_wind (lookup);
    } else if (lookup->attempts + 1 == ATTEMPTS) {
        lookup_lock (lookup);
    } else {
        inode_refresh (lookup->this, lookup->parent, lookup_parent_known, lookup);
    }
}

/* Sends the unlock of the name. The answer to the caller doesn't wait for it. */
static void
lookup_unlock (struct replicate_lookup *lookup)
{
    if (lookup->lock)
        txn_unlock (g_steal_pointer (&lookup->lock), txn_free);
}

static void
lookup_done (call_frame_t *frame)
{
    struct replicate_lookup *lookup = frame->local;
    const replicate_t *priv = lookup->this->private;
    const copies_t found = fan_succeeded (&lookup->fan), missing = lookup_missing (lookup);
    const copies_t trusted = found & lookup->trusted;
    const int best = copies_first (trusted ? trusted : found);
    const copies_t strangers = found ? lookup_strangers (lookup, found, best) : 0;

    if (found && lookup_doubts (lookup, found, missing, strangers)) {
        lookup_repeat (lookup);
        return;
    }
    if (!found && lookup_may_give_gfid (lookup)) {
        lookup_give_gfid (lookup);
        return;
    }
    lookup_unlock (lookup);
    if (!found)
        frame_fail (frame, lookup_error (lookup, missing));
    else if (lookup_denies (lookup, found, missing))
        frame_fail (frame, ENOENT);
    else if (!children_quorum (priv, found | missing))
        frame_fail (frame, ENOTCONN);
    else if (strangers)
        lookup_differs (lookup, found, strangers, best);
    else if (lookup_is_of_root (lookup)
             && !servers_are_of_one_volume (lookup->this, priv->children, &lookup->fan))
        frame_fail (frame, EIO);
    else
        lookup_succeed (lookup, found, best);
}

static void
lookup_wind (struct replicate_lookup *lookup)
{
    replicate_t *priv = lookup->this->private;
    dict_t *asked = changelog_asked (lookup->this, lookup->xdata);

    if (lookup->parent)
        dict_set_u64 (asked, CREATION_ASKED, 1);
    if (lookup_is_of_root (lookup))
        dict_set_u64 (asked, VOLUME_ID, sizeof (gfid_t));
    lookup->start = lookup_started (priv);
    lookup->children = children_up (priv);
    fan_begin (&lookup->fan, lookup_done);
    for (unsigned i = 0; i < priv->n; i++)
        if (lookup->children & COPY (i))
            FAN_WIND (&lookup->fan, i, priv->children[i], lookup, &lookup->loc, asked);
    dict_unref (asked);
    fan_end (&lookup->fan);
}

static void
lookup_parent_known (void *data, int error)
{
    struct replicate_lookup *lookup = data;
    struct readable readable;

    inode_is_fresh (lookup->this, lookup->parent, &readable);
    lookup->trusted = error ? 0 : readable.data;
    lookup_wind (lookup);
}

static struct replicate_lookup *
lookup_new (call_frame_t *frame, xlator_t *this, const loc_t *loc, dict_t *xdata)
{
    struct replicate_lookup *lookup = frame_local_new (frame, sizeof *lookup);

    lookup->head.drop = lookup_drop;
    lookup->this = this;
    lookup->frame = frame;
    fan_init (&lookup->fan, frame, ((replicate_t *) this->private)->n);
    loc_copy (&lookup->loc, loc);
    lookup->xdata = dict_ref (xdata);
    lookup->parent = loc->name ? lookup->loc.parent : NULL;
    return lookup;
}

void
replicate_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    replicate_t *priv = this->private;
    struct replicate_lookup *lookup;
    struct readable readable = { 0 };

    __atomic_store_n (&priv->table, (loc->inode ? loc->inode : loc->parent)->table,
                      __ATOMIC_RELEASE);
    if (!children_quorum (priv, children_up (priv))) {
        frame_fail (frame, ENOTCONN);
        return;
    }
    lookup = lookup_new (frame, this, loc, xdata);
    if (lookup->parent && !inode_is_fresh (this, lookup->parent, &readable)) {
        inode_refresh (this, lookup->parent, lookup_parent_known, lookup);
        return;
    }
    lookup->trusted = readable.data;
    lookup_wind (lookup);
}
