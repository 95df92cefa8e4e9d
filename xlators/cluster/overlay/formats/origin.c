/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The origin of a copy, in the format of the kernel's overlayfs: the file handle of the file that
 * was copied (core/data/origin.h). A lookup asks the layers for that file. The copy goes on to have
 * its gfid and its inode number. If that file is a copy as well, its own origin counts, and so on.
 *
 * A layer may not be able to find files by handle: as an ordinary user, or if it is a server. Then
 * the copy has gfid and number in an attribute of its own, too, which the kernel's overlayfs
 * ignores.
 */
#include "../overlay.h"

/* --- writing ---------------------------------------------------------------------------------- */

/* Asks a layer for an origin; *ret_size 0: it has none. */
static int
origin_get (struct overlay_act *act, unsigned slot, inode_t *inode,
            unsigned char ret_bytes[ORIGIN_MAX], size_t *ret_size)
{
    loc_t loc = { .inode = inode };
    struct getxattr_reply reply;
    int r = sync_getxattr (overlay_daemon (act, slot), &loc, XDATA_ORIGIN, NULL, &reply);
    size_t size = 0;
    const void *value = r >= 0 ? dict_get (reply.dict, XDATA_ORIGIN, &size) : NULL;

    *ret_size = value && size <= ORIGIN_MAX ? size : 0;
    if (*ret_size > 0)
        memcpy (ret_bytes, value, size);
    getxattr_reply_drop (&reply);
    loc_wipe_path (&loc);
    return r == -ENODATA || r == -EOPNOTSUPP ? 0 : error_or_0 (r);
}

/* An origin that leads to no file of the layers is left out. */
static bool
origin_error_is_absence (int32_t error)
{
    return error == ESTALE || error == EXDEV || error == EINVAL || error == EOPNOTSUPP
        || error == ENOENT || error == ENODATA;
}

int
overlay_origin_find (struct overlay_act *act, unsigned slot, const void *origin, size_t size,
                     gfid_t *ret_gfid)
{
    g_autoptr (inode_t) fresh =
        inode_new (overlay_priv (act->this)->layers[slot].xlator->realm->itable);
    g_autoptr (dict_t) xdata = dict_new ();
    loc_t loc = { .inode = fresh };
    struct lookup_reply reply;
    int r;

    dict_set (xdata, XDATA_ORIGIN, origin, size);
    r = sync_lookup (overlay_daemon (act, slot), &loc, xdata, &reply);
    *ret_gfid = r >= 0 ? reply.buf.ia_gfid : (gfid_t){ 0 };
    lookup_reply_drop (&reply);
    loc_wipe_path (&loc);
    return r < 0 && origin_error_is_absence (-r) ? 0 : error_or_0 (r);
}

bool
overlay_origins_are_found (struct overlay_act *act, unsigned slot, inode_t *root)
{
    unsigned char bytes[ORIGIN_MAX];
    gfid_t found;
    size_t size;

    return origin_get (act, slot, root, bytes, &size) == 0 && size > 0
           && overlay_origin_find (act, slot, bytes, size, &found) == 0
           && gfid_equal (&found, &root->gfid);
}

static int
origin_set_identity (struct overlay_act *act, inode_t *made, const gfid_t *gfid, uint64_t number)
{
    unsigned char value[sizeof gfid->b + sizeof number];
    const uint64_t big = GUINT64_TO_BE (number);

    memcpy (value, gfid->b, sizeof gfid->b);
    memcpy (value + sizeof gfid->b, &big, sizeof big);
    return overlay_mark_set (act, made, OVERLAY_IDENTITY, value, sizeof value);
}

/* user.* attributes are for files and directories alone: another object gets a new identity once
 * it has been forgotten. */
int
overlay_origin_set (struct overlay_act *act, unsigned slot, inode_t *from, inode_t *made,
                    const gfid_t *gfid, uint64_t number)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    unsigned char bytes[ORIGIN_MAX];
    size_t size;
    int r;

    if (*priv->prefix == 'u' && made->ia_type != IA_IFREG && made->ia_type != IA_IFDIR)
        return 0;
    r = origin_get (act, slot, from, bytes, &size);
    if (r == 0)
        r = overlay_mark_set (act, made, OVERLAY_ORIGIN, bytes, size);
    if (r == 0 && !priv->layers[slot].origins)
        r = origin_set_identity (act, made, gfid, number);
    return r;
}

int
overlay_impure_set (struct overlay_act *act, inode_t *directory)
{
    struct overlay_inode *ctx = overlay_inode_get (act->this, directory);
    int r;

    if (__atomic_load_n (&ctx->impure, __ATOMIC_RELAXED))
        return 0;
    r = overlay_mark_set (act, realm_below (act->this, directory, OVERLAY_UPPER), OVERLAY_IMPURE,
                          "y", 1);
    if (r == 0)
        __atomic_store_n (&ctx->impure, true, __ATOMIC_RELEASE); /* before a copy is there */
    return r;
}

/* --- the step of a lookup --------------------------------------------------------------------- */

/* Goes to the next layer that finds files by origin. Returns whether there is one. */
static bool
origin_next (const overlay_private_t *priv, struct overlay_look *look, unsigned slot)
{
    while (slot < priv->n && !priv->layers[slot].origins)
        slot++;
    look->asked = slot;
    return slot < priv->n;
}

/* A copy that the table above knows needs no question. While the step repeats, `asked` is set. */
bool
overlay_origin_when (void *data)
{
    struct overlay_local *local = data;
    struct overlay_look *look = &local->look;
    xlator_t *this = local->sequence.frame->this;
    inode_t *given = look->loc.inode;

    if (look->asked > 0 || !look->first_marks.origin)
        return look->asked > 0;
    if (given && !gfid_is_null (&given->gfid) && look->first == OVERLAY_UPPER
        && realm_below (this, given, OVERLAY_UPPER) == look->below[OVERLAY_UPPER]) {
        look->gfid = given->gfid;
        return false;
    }
    return origin_next (overlay_priv (this), look, look->first + 1);
}

static void
origin_ask_file (struct overlay_local *local, xlator_t *layer)
{
    struct overlay_look *look = &local->look;
    g_autoptr (inode_t) fresh = inode_new (layer->realm->itable);
    g_autoptr (dict_t) xdata = dict_new ();
    loc_t loc = { .inode = fresh };

    dict_set (xdata, XDATA_ORIGIN, look->first_marks.origin, look->first_marks.origin_size);
    STEP_WIND (&local->sequence, local->sequence.own, 0, layer, lookup, &loc, xdata);
    loc_wipe_path (&loc);
}

void
overlay_origin_run (void *data)
{
    struct overlay_local *local = data;
    struct overlay_look *look = &local->look;
    xlator_t *this = local->sequence.frame->this;
    xlator_t *layer = overlay_priv (this)->layers[look->asked].xlator;
    g_autofree char *key = overlay_mark_name (this, OVERLAY_ORIGIN);
    loc_t loc = { .inode = look->origin };

    if (!look->origin) {
        origin_ask_file (local, layer);
        return;
    }
    STEP_WIND (&local->sequence, local->sequence.own, 0, layer, getxattr, &loc, key, NULL);
    loc_wipe_path (&loc);
}

/* The layer has the file: it may be a copy of a layer below. */
static int
origin_found (struct overlay_local *local, const struct lookup_reply *reply)
{
    struct overlay_look *look = &local->look;
    xlator_t *this = local->sequence.frame->this;

    if (reply->buf.ia_type != local->buf.ia_type)
        return 0;
    look->gfid = reply->buf.ia_gfid;
    look->number = overlay_number (this, look->asked, reply->buf.ia_ino);
    look->lower_links = reply->buf.ia_nlink;
    if (++look->hops >= overlay_priv (this)->n || look->asked + 1 >= overlay_priv (this)->n)
        return 0;
    look->origin = inode_link (reply->inode, NULL, NULL, &reply->buf);
    return STEP_REPEAT;
}

static int
origin_has_origin (struct overlay_local *local, const struct getxattr_reply *reply)
{
    struct overlay_look *look = &local->look;
    xlator_t *this = local->sequence.frame->this;
    g_autofree char *key = overlay_mark_name (this, OVERLAY_ORIGIN);
    size_t size = 0;
    const void *value = reply->op_ret >= 0 ? dict_get (reply->dict, key, &size) : NULL;

    g_clear_pointer (&look->origin, inode_unref);
    if (size == 0)
        return 0;
    g_free (look->first_marks.origin);
    look->first_marks.origin = g_memdup2 (value, size);
    look->first_marks.origin_size = size;
    return origin_next (overlay_priv (this), look, look->asked) ? STEP_REPEAT : 0;
}

int
overlay_origin_judge (void *data)
{
    struct overlay_local *local = data;
    struct overlay_look *look = &local->look;
    const struct fan_answer *answer = &local->sequence.fan.answers[0];

    if (answer->op_ret < 0 && !origin_error_is_absence (answer->op_errno))
        return -answer->op_errno;
    if (look->origin)
        return origin_has_origin (local, &answer->getxattr);
    if (answer->op_ret >= 0)
        return origin_found (local, &answer->lookup);
    return origin_next (overlay_priv (local->sequence.frame->this), look, look->asked + 1)
               ? STEP_REPEAT : 0;
}
