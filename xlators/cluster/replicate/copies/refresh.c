/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A refresh looks an inode up on all copies, and stores their reports in the inode's context. Each
 * brick also reports whether its index of objects that need a heal is empty. */
#include "copies.h"

#include <errno.h>

#define LOCKS_ASKED "glusterfs.inodelk-dom-count"
#define LOCKS_REPORTED "glusterfs.inodelk-count"
#define INDEX_ASKED "glusterfs.xattrop_index_count"
#define INDEX_REPORTED "link-count"
#define INDEX_VALID 1000000000ll /* nanoseconds for which a report on an index is valid */

dict_t *
changelog_asked (xlator_t *this, dict_t *xdata)
{
    const replicate_t *priv = this->private;
    dict_t *dict = xdata ? dict_copy (xdata) : dict_new ();

    for (unsigned i = 0; i < priv->n; i++)
        dict_set_u64 (dict, priv->pending[i], COUNTER_SIZE);
    dict_set_u64 (dict, priv->dirty_name, COUNTER_SIZE);
    dict_set_str (dict, LOCKS_ASKED, this->name);
    dict_set_str (dict, INDEX_REPORTED, INDEX_ASKED);
    return dict;
}

void
copy_read (const replicate_t *priv, const struct lookup_reply *reply, struct copy *ret_copy)
{
    uint64_t locks;

    *ret_copy = (struct copy){ .there = reply->op_ret >= 0 };
    if (!ret_copy->there)
        return;
    ret_copy->iatt = reply->buf;
    ret_copy->locked = dict_get_u64 (reply->xdata, LOCKS_REPORTED, &locks) && locks > 0;
    copy_read_changelog (ret_copy, &priv->changelog, reply->xdata);
}

/* --- the index -------------------------------------------------------------------------------- */

/* Stores the time of the report in priv->indexes; as a negative number if the index is not empty,
 * or the answer has no report. */
void
index_note (replicate_t *priv, unsigned child, const struct lookup_reply *reply,
            const struct lookup_start *start)
{
    uint64_t listed;
    const bool empty = dict_get_u64 (reply->xdata, INDEX_REPORTED, &listed) && listed == 0;

    if (start->generation == children_generation (priv))
        __atomic_store_n (&priv->indexes[child], empty ? clock_now () : -clock_now (),
                          __ATOMIC_RELAXED);
}

bool
index_is_known (replicate_t *priv)
{
    const copies_t up = children_up (priv);
    const int64_t since = clock_now () - INDEX_VALID;

    for (unsigned i = 0; i < priv->n; i++)
        if (up & COPY (i) && ABS (__atomic_load_n (&priv->indexes[i], __ATOMIC_RELAXED)) < since)
            return false;
    return true;
}

bool
index_is_empty (replicate_t *priv)
{
    const copies_t up = children_up (priv);
    const int64_t since = clock_now () - INDEX_VALID;

    for (unsigned i = 0; i < priv->n; i++)
        if (up & COPY (i) && __atomic_load_n (&priv->indexes[i], __ATOMIC_RELAXED) < since)
            return false;
    return true;
}

/* --- the refresh ------------------------------------------------------------------------------ */

struct refresh {
    struct replicate_local head;
    xlator_t *this;
    call_frame_t *frame;
    struct fan_out fan;
    loc_t loc;
    struct lookup_start start;
    void (*done) (void *data, int error);
    void *data;
};

static void
refresh_drop (void *local)
{
    struct refresh *refresh = local;

    fan_clear (&refresh->fan);
    loc_wipe (&refresh->loc);
}

/* Stores the reports in the answers in `copies`. A brick whose object has another gfid or type
 * counts as one without a copy. Returns 0, or an errno if no brick has a copy. */
static int
refresh_read (struct refresh *refresh, struct copy *copies)
{
    replicate_t *priv = refresh->this->private;
    const inode_t *inode = refresh->loc.inode;
    bool any = false;

    for (unsigned i = 0; i < priv->n; i++) {
        const struct lookup_reply *reply = &refresh->fan.answers[i].lookup;

        copies[i] = (struct copy){ 0 };
        if (refresh->fan.answers[i].op == FOP_NONE)
            continue;
        copy_read (priv, reply, &copies[i]);
        index_note (priv, i, reply, &refresh->start);
        if (copies[i].there
            && (!gfid_equal (&reply->buf.ia_gfid, &inode->gfid)
                || reply->buf.ia_type != inode->ia_type))
            copies[i].there = false;
        any |= copies[i].there;
    }
    return any ? 0 : copies_error (&refresh->fan);
}

static void
refreshed (call_frame_t *frame)
{
    struct refresh *refresh = frame->local;
    xlator_t *this = refresh->this;
    void (*done) (void *data, int error) = refresh->done;
    void *data = refresh->data;
    struct copy copies[COPIES_MAX];
    const int error = refresh_read (refresh, copies);

    if (error == 0)
        inode_learn (this, refresh->loc.inode, copies, &refresh->start);
    request_done (this, frame);
    done (data, error);
}

static void
refresh_wind (struct refresh *refresh)
{
    replicate_t *priv = refresh->this->private;
    const copies_t up = children_up (priv);
    dict_t *xdata = changelog_asked (refresh->this, NULL);

    fan_begin (&refresh->fan, refreshed);
    for (unsigned i = 0; i < priv->n; i++)
        if (up & COPY (i))
            FAN_WIND (&refresh->fan, i, priv->children[i], lookup, &refresh->loc, xdata);
    dict_unref (xdata);
    fan_end (&refresh->fan);
}

void
inode_refresh (xlator_t *this, inode_t *inode, void (*done) (void *data, int error), void *data)
{
    replicate_t *priv = this->private;
    call_frame_t *frame = request_new (this, NULL);
    struct refresh *refresh = frame_local_new (frame, sizeof *refresh);

    __atomic_add_fetch (&priv->numbers.refreshes, 1, __ATOMIC_RELAXED);
    refresh->head.drop = refresh_drop;
    refresh->this = this;
    refresh->frame = frame;
    refresh->start = lookup_started (priv);
    refresh->done = done;
    refresh->data = data;
    refresh->loc.inode = inode_ref (inode);
    fan_init (&refresh->fan, frame, priv->n);
    refresh_wind (refresh);
}
