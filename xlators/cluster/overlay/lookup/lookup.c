/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lookup of a name: a sequence through the layers, from the upper on. In each layer the name is
 * looked up as the caller. What is found there may have marks, which the translator reads as root.
 *
 *   - ENOENT and ENOTDIR mean that a layer does not have the name; any other error fails the
 *     lookup.
 *   - A whiteout, a file, and an opaque directory hide what the layers below have.
 *   - A redirect of a directory leads to another name, or path, in the layers below it. Directories
 *     on such a path count as those of the name itself: they may be opaque, or have redirects. Each
 *     redirect is for the layers below alone, so redirects can't lead in a circle.
 *   - An object that was found in a lower may have been copied by another name of it: then the
 *     attributes are those of the copy.
 *
 * Which inode above the object is, its origin tells (formats/origin.c).
 */
#include "lookup.h"
#include "../formats/wh.h"
#include "../names/links.h"

static xlator_t *
look_overlay (const struct overlay_local *local)
{
    return local->sequence.frame->this;
}

static const struct overlay_layer *
look_layer (const struct overlay_local *local)
{
    return &overlay_priv (look_overlay (local))->layers[local->slot];
}

/* Where the current name is looked up; NULL: the layer does not have the directory. */
static inode_t *
look_directory (const struct overlay_local *local)
{
    const struct overlay_look *look = &local->look;
    inode_t *parent = look->loc.parent;

    if (look->at > 0)
        return look->directory;
    return realm_below (look_overlay (local),
                        look->absolute ? itable_root (parent->table) : parent, local->slot);
}

/* Forgets all but what is asked for. */
static void
look_clear (struct overlay_look *look)
{
    for (unsigned slot = 0; look->below && slot < look->n; slot++)
        inode_unref (look->below[slot]);
    g_free (look->below);
    g_strfreev (look->names);
    inode_unref (look->directory);
    inode_unref (look->found);
    inode_unref (look->origin);
    overlay_marks_clear (&look->found_marks);
    overlay_marks_clear (&look->first_marks);
    *look = (struct overlay_look){ .loc = look->loc };
}

void
overlay_lookup_drop (struct overlay_local *local)
{
    look_clear (&local->look);
    loc_wipe (&local->look.loc);
}

static void
look_begin (struct overlay_local *local, xlator_t *this)
{
    struct overlay_look *look = &local->look;

    look->turns = overlay_turns (this, look->loc.parent);
    local->slot = overlay_slot (this, look->loc.parent);
    look->n = look->first = overlay_priv (this)->n;
    look->below = g_new0 (inode_t *, look->n);
    look->names = g_new0 (char *, 2);
    look->names[0] = g_strdup (look->loc.name);
}

void
overlay_look_again (struct overlay_local *local)
{
    g_clear_pointer (&local->inode, inode_unref);
    look_clear (&local->look);
    look_begin (local, look_overlay (local));
}

/* --- winds ------------------------------------------------------------------------------------ */

/* The caller's rights count for the name that is asked for, and not on the way of a redirect. */
static void
look_wind_name (struct overlay_local *local, xlator_t *layer)
{
    struct overlay_look *look = &local->look;
    inode_t *known = realm_below (look_overlay (local), look->loc.inode, local->slot);
    g_autoptr (inode_t) fresh = known ? NULL : inode_new (layer->realm->itable);
    loc_t loc = { .name = look->names[look->at], .parent = look_directory (local),
                  .inode = known ? known : fresh };

    look->names_at = names_now ();
    STEP_WIND (&local->sequence, look->absolute ? local->sequence.own : local->sequence.frame, 0,
               layer, lookup, &loc, NULL);
    loc_wipe_path (&loc);
}

static void
look_wind_values (struct overlay_local *local, xlator_t *layer)
{
    const struct overlay_look *look = &local->look;
    loc_t loc = { .inode = look->found };

    for (enum overlay_mark mark = 0; mark < OVERLAY_VALUES; mark++) {
        g_autofree char *key =
            overlay_marks_key (look_overlay (local), &look->found_marks, mark);

        if (overlay_has (&look->found_marks, mark))
            STEP_WIND (&local->sequence, local->sequence.own, mark, layer, getxattr, &loc, key,
                       NULL);
    }
    loc_wipe_path (&loc);
}

static void
look_run (void *data)
{
    struct overlay_local *local = data;
    const struct overlay_look *look = &local->look;
    xlator_t *layer = overlay_priv (look_overlay (local))->layers[local->slot].xlator;
    loc_t loc = { .inode = look->found };

    if (!local->sequence.own && (look->marks || look->absolute || look->wh))
        local->sequence.own =
            &stack_new_internal (look_overlay (local), local->sequence.frame)->frames[0];
    if (look->wh)
        overlay_wh_wind (local, look->wh == WH_OF_DIRECTORY ? look->found
                                                            : look_directory (local));
    else if (!look->marks)
        look_wind_name (local, layer);
    else if (look->values)
        look_wind_values (local, layer);
    else
        STEP_WIND (&local->sequence, local->sequence.own, 0, layer, getxattr, &loc, NULL, NULL);
    loc_wipe_path (&loc);
}

/* --- the way through the layers --------------------------------------------------------------- */

static void
look_begin_layer (struct overlay_look *look)
{
    look->at = 0;
    g_clear_pointer (&look->directory, inode_unref);
}

/* Goes to the next layer that may have the object. */
static int
look_next_layer (struct overlay_local *local)
{
    struct overlay_look *look = &local->look;

    look->marks = look->values = false;
    look_begin_layer (look);
    do
        local->slot++;
    while (local->slot < look->n && !look_directory (local));
    return look->done || local->slot >= look->n ? 0 : STEP_REPEAT;
}

/* --- what a layer has ------------------------------------------------------------------------- */

static inode_t *
look_link (struct overlay_local *local, const struct lookup_reply *reply)
{
    g_autoptr (inode_t) fresh = NULL;
    inode_t *inode = reply->inode;

    if (!gfid_is_null (&inode->gfid) && !gfid_equal (&inode->gfid, &reply->buf.ia_gfid))
        inode = fresh = inode_new (inode->table);
    return inode_link_asked (inode, look_directory (local), local->look.names[local->look.at],
                             &reply->buf, local->look.names_at);
}

/* A directory on the way of a redirect: the next name is looked up in it. */
static int
look_descend (struct overlay_local *local)
{
    struct overlay_look *look = &local->look;

    look->marks = look->values = false;
    inode_unref (look->directory);
    look->directory = g_steal_pointer (&look->found);
    look->at++;
    return STEP_REPEAT;
}

/* A copy of attributes alone, which the kernel's overlayfs makes with metacopy=on. Layers below
 * have the bytes, at the same name or where a redirect leads. In the upper such a copy can't be
 * shown: its bytes would have to be copied there at the first write. */
static int
look_metacopy (struct overlay_local *local)
{
    overlay_private_t *priv = overlay_priv (look_overlay (local));
    struct overlay_look *look = &local->look;

    if (local->slot != OVERLAY_UPPER) {
        look->wants_data = true;
        return 0;
    }
    if (__atomic_add_fetch (&priv->sentences, 1, __ATOMIC_RELAXED) <= OVERLAY_SENTENCES_MAX)
        gf_log (look_overlay (local), GF_LOG_ERROR,
                "the file '%s' of volume '%s' can't be used: the kernel's overlayfs has copied its "
                "attributes there, and not its bytes (metacopy=on); such files are read in lowers "
                "alone",
                look->names[look->at], priv->layers[local->slot].xlator->name);
    return -EPERM;
}

/* The bytes of a copy of attributes. */
static int
look_take_data (struct overlay_local *local)
{
    struct overlay_look *look = &local->look;

    if (overlay_has (&look->found_marks, OVERLAY_METACOPY))
        return look_next_layer (local);
    look->data_slot = local->slot;
    look->blocks = look->found_buf.ia_blocks;
    look->wants_data = false;
    look->done = true;
    look->below[local->slot] = g_steal_pointer (&look->found);
    return look_next_layer (local);
}

/* The layer has the object itself. */
static int
look_take (struct overlay_local *local)
{
    struct overlay_look *look = &local->look;
    int r = 0;

    if (look->wants_data)
        return look_take_data (local);
    if (look->found_buf.ia_type == IA_IFREG && overlay_has (&look->found_marks, OVERLAY_METACOPY))
        r = look_metacopy (local);
    if (r < 0)
        return r;
    if (look->found_marks.files_are_whiteouts || overlay_has (&look->found_marks, OVERLAY_IMPURE))
        look->marked |= overlay_slot_bit (local->slot);
    if (look->first == look->n) {
        look->first = local->slot;
        local->buf = look->found_buf;
        overlay_marks_clear (&look->first_marks);
        look->first_marks = look->found_marks;
        look->found_marks = (struct overlay_marks){ 0 };
    }
    look->done |= look->found_buf.ia_type != IA_IFDIR && !look->wants_data;
    look->below[local->slot] = g_steal_pointer (&look->found);
    return look_next_layer (local);
}

/* A whiteout that was made without devices: an empty file. */
static bool
look_is_marked_whiteout (const struct overlay_look *look)
{
    return look->found_buf.ia_type == IA_IFREG && look->found_buf.ia_size == 0
           && overlay_has (&look->found_marks, OVERLAY_WHITEOUT);
}

/* The marks of what was found are known. */
static int
look_marked (struct overlay_local *local)
{
    struct overlay_look *look = &local->look;
    const bool directory = look->found_buf.ia_type == IA_IFDIR;
    bool last;
    int r = 0;

    if (look_is_marked_whiteout (look)) {
        look->done = true;
        return look_next_layer (local);
    }
    look->done |= directory && look->found_marks.opaque;
    if (look->found_marks.redirect
        && (directory || overlay_has (&look->found_marks, OVERLAY_METACOPY)))
        r = overlay_look_follow (local);
    last = !look->names[look->at + 1];
    if (r < 0)
        return r;
    return last ? look_take (local) : look_descend (local);
}

/* Files have marks only in a directory that says so. */
static bool
look_may_have_marks (const struct overlay_local *local)
{
    const struct overlay_look *look = &local->look;

    return look->found_buf.ia_type == IA_IFDIR || look->wants_data
           || overlay_files_have_marks (look_overlay (local), look->loc.parent, local->slot);
}

/* Only directories are merged, and only they lead a redirect on. */
static bool
look_counts (const struct overlay_look *look, const struct iatt *buf)
{
    const bool way = look->names[look->at + 1] != NULL;

    if (buf->ia_type == IA_IFDIR)
        return way || !look->wants_data;
    return !way && (look->first == look->n || (look->wants_data && buf->ia_type == IA_IFREG));
}

static int
look_found (struct overlay_local *local, const struct lookup_reply *reply)
{
    struct overlay_look *look = &local->look;
    const char *name = look->names[look->at];

    inode_unref (look->found);
    look->found = look_link (local, reply);
    look->found_buf = reply->buf;
    overlay_marks_clear (&look->found_marks);
    if (overlay_is_ours (look_overlay (local), local->slot, look_directory (local), name,
                         reply->buf.ia_dev, reply->buf.ia_ino)
        || overlay_wh_is_name (look_layer (local), name))
        return look_next_layer (local);
    if (overlay_is_whiteout (&reply->buf) || !look_counts (look, &reply->buf)) {
        look->done = true;
        return look_next_layer (local);
    }
    if (look_layer (local)->wh && reply->buf.ia_type == IA_IFDIR) {
        look->wh = WH_OF_DIRECTORY;
        return STEP_REPEAT;
    }
    look->marks = look_may_have_marks (local);
    return look->marks ? STEP_REPEAT : look_marked (local);
}

/* The layer has nothing of the name, but may hide it in the layers below. */
static int
look_absent (struct overlay_local *local)
{
    struct overlay_look *look = &local->look;
    const char *name = look->names[look->at];

    if (!look_layer (local)->wh || overlay_wh_is_name (look_layer (local), name)
        || strlen (name) > NAME_MAX - strlen (OVERLAY_WH))
        return look_next_layer (local);
    look->wh = WH_OF_NAME;
    return STEP_REPEAT;
}

static int
look_wh_judge (struct overlay_local *local)
{
    struct overlay_look *look = &local->look;
    const struct fan_answer *answer = &local->sequence.fan.answers[0];
    const bool directory = look->wh == WH_OF_DIRECTORY;

    look->wh = WH_NOT_ASKED;
    if (answer->op_ret < 0 && answer->op_errno != ENOENT && answer->op_errno != ENOTDIR)
        return -answer->op_errno;
    look->done |= answer->op_ret >= 0;
    if (!directory)
        return look_next_layer (local);
    look->marks = true;
    return STEP_REPEAT;
}

/* --- answers ---------------------------------------------------------------------------------- */

static int
look_mark_error (struct overlay_local *local, const struct fan_answer *answer)
{
    const bool none = answer->op_ret >= 0 || answer->op_errno == ENODATA
                      || answer->op_errno == EOPNOTSUPP;

    return none ? 0 : overlay_look_error (local, answer->op_errno);
}

static int
look_listed (struct overlay_local *local)
{
    struct overlay_look *look = &local->look;
    const struct fan_answer *answer = &local->sequence.fan.answers[0];
    const int r = look_mark_error (local, answer);

    if (r == 0 && answer->op_ret >= 0)
        overlay_marks_list (look_overlay (local), local->slot, answer->getxattr.dict,
                            &look->found_marks);
    look->values = look->found_marks.has & ((1u << OVERLAY_VALUES) - 1);
    if (r != 0)
        return r;
    return look->values ? STEP_REPEAT : look_marked (local);
}

static int
look_read (struct overlay_local *local)
{
    struct overlay_look *look = &local->look;

    for (enum overlay_mark mark = 0; mark < OVERLAY_VALUES; mark++) {
        const struct fan_answer *answer = &local->sequence.fan.answers[mark];
        g_autofree char *key =
            overlay_marks_key (look_overlay (local), &look->found_marks, mark);
        const int r = answer->op == FOP_NONE ? 0 : look_mark_error (local, answer);
        const void *value;
        size_t size;

        if (answer->op == FOP_NONE)
            continue;
        if (r != 0)
            return r;
        value = answer->op_ret >= 0 ? dict_get (answer->getxattr.dict, key, &size) : NULL;
        if (value)
            overlay_marks_read (&look->found_marks, mark, value, size);
    }
    return look_marked (local);
}

/* A directory of a layer above hides it, and is not merged with it; nor is it with layers below. */
static int
look_own_mount (struct overlay_local *local)
{
    struct overlay_look *look = &local->look;

    look->own_mount = look->first == look->n && !look->names[look->at + 1];
    look->done = true;
    if (look->own_mount)
        __atomic_store_n (&overlay_priv (look_overlay (local))->has_own_mount, true,
                          __ATOMIC_RELEASE);
    return look_next_layer (local);
}

static int
look_judge (void *data)
{
    struct overlay_local *local = data;
    struct overlay_look *look = &local->look;
    const struct fan_answer *answer = &local->sequence.fan.answers[0];

    if (look->wh)
        return look_wh_judge (local);
    if (look->values)
        return look_read (local);
    if (look->marks)
        return look_listed (local);
    if (answer->op_ret >= 0)
        return look_found (local, &answer->lookup);
    if (answer->op_errno == ELOOP && local->slot != OVERLAY_UPPER)
        return look_own_mount (local);
    if (answer->op_errno != ENOENT && answer->op_errno != ENOTDIR)
        return -answer->op_errno;
    inode_unlink_asked (look_directory (local), look->names[look->at], look->names_at);
    return look_absent (local);
}

/* --- nothing is there ------------------------------------------------------------------------- */

static bool
look_shows_nothing (void *data)
{
    const struct overlay_local *local = data;
    const struct overlay_look *look = &local->look;

    return (look->first == look->n && !look->own_mount) || look->wants_data
        || overlay_is_dead (look_overlay (local), look->loc.parent);
}

static int
look_fail (void *data)
{
    const struct overlay_look *look = &((struct overlay_local *) data)->look;

    return look->wants_data ? -EIO : -ENOENT;
}

/* --- attributes ------------------------------------------------------------------------------- */

/* Before the check: the link count is from a time when the name was there. */
static int
look_above (void *data)
{
    struct overlay_local *local = data;

    overlay_iatt_above (look_overlay (local), local->inode, local->slot, &local->buf);
    return 0;
}

static void
look_answer (void *data)
{
    struct overlay_local *local = data;
    call_frame_t *frame = local->sequence.frame;

    if (local->look.loc.name && local->buf.ia_nlink == 0) { /* the name was removed meanwhile */
        STACK_UNWIND (lookup, frame, -1, ENOENT, NULL, NULL, NULL, NULL);
        return;
    }
    STACK_UNWIND (lookup, frame, 0, 0, local->inode, &local->buf, NULL, NULL);
}

/* --- the operation ---------------------------------------------------------------------------- */

static const struct step look_steps[] = {
    STEP ("look", look_run, look_judge, .again = "look"),
    STEP ("own mount", NULL, overlay_own_mount_judge, .when = overlay_own_mount_when),
    STEP ("fail", NULL, look_fail, .when = look_shows_nothing),
    STEP ("origin", overlay_origin_run, overlay_origin_judge, .when = overlay_origin_when),
    STEP ("index", overlay_index_run, overlay_index_judge, .when = overlay_index_when),
    STEP ("join", NULL, overlay_look_join, .when = overlay_own_mount_unless),
    STEP ("stat", overlay_look_stat_run, overlay_look_stat_judge, .when = overlay_look_is_copied,
          .again = "look"),
    STEP ("above", NULL, look_above, .when = overlay_own_mount_unless),
    STEP ("check", overlay_check_run, overlay_check_judge, .when = overlay_check_when,
          .again = "look"),
    {},
};

/* A lookup without a name, or of "." and "..". */
static const struct step stat_steps[] = {
    STEP ("stat", overlay_look_stat_run, overlay_look_stat_judge),
    STEP ("above", NULL, look_above),
    {},
};

static void
look_at_inode (const struct call *call, struct overlay_local *local, inode_t *inode)
{
    if (overlay_slot (call->this, inode) == overlay_priv (call->this)->n) {
        call_fail (call, ESTALE);
        return;
    }
    local->inode = inode_ref (inode);
    sequence_start (&local->sequence, call->frame, stat_steps, OVERLAY_VALUES, inode,
                    look_answer);
}

static void
look_up (const struct call *call, struct overlay_local *local)
{
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;

    if (gfid_equal (&call->loc->parent->gfid, &gfid_root))
        look_at_inode (call, local, call->loc->parent);
    else if (inode_a_name (call->loc->parent, &parent, &name))
        look_at_inode (call, local, parent);
    else
        call_fail (call, ESTALE);
}

static void
look_at_name (const struct call *call, struct overlay_local *local)
{
    struct overlay_look *look = &local->look;

    loc_copy (&look->loc, call->loc);
    look_begin (local, call->this);
    if (local->slot == look->n)
        call_fail (call, ESTALE);
    else
        sequence_start (&local->sequence, call->frame, look_steps, OVERLAY_VALUES,
                        call->loc->parent, look_answer);
}

void
overlay_lookup (const struct call *call)
{
    struct overlay_local *local = overlay_local_of (call->frame);
    const char *name = call->loc->parent ? call->loc->name : NULL;

    if (name && call->loc->parent->ia_type != IA_IFDIR)
        call_fail (call, ENOTDIR);
    else if (!name || strcmp (name, ".") == 0)
        look_at_inode (call, local, name ? call->loc->parent : call->loc->inode);
    else if (strcmp (name, "..") == 0)
        look_up (call, local);
    else
        look_at_name (call, local);
}
