/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a straight function on a thread needs: clients of the layers, and looks at names. */
#include "formats/wh.h"

void
overlay_act_begin (struct overlay_act *act, xlator_t *this, call_frame_t *frame, inode_t *any)
{
    *act = (struct overlay_act){ .this = this, .frame = frame, .above = any->table };
}

void
overlay_act_end (struct overlay_act *act)
{
    if (act->caller)
        client_free (act->caller);
}

/* All threads share it until the end of the graph. */
struct client *
overlay_daemon (const struct overlay_act *act, unsigned slot)
{
    struct overlay_layer *layer = &overlay_priv (act->this)->layers[slot];
    struct client *known = __atomic_load_n (&layer->daemon, __ATOMIC_ACQUIRE), *made;

    if (known)
        return known;
    made = client_new_internal (act->this, layer->xlator);
    made->checked = true;
    if (__atomic_compare_exchange_n (&layer->daemon, &known, made, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return made;
    client_free (made);
    return known;
}

struct client *
overlay_caller (struct overlay_act *act)
{
    if (!act->caller)
        act->caller = client_new_as (overlay_priv (act->this)->layers[OVERLAY_UPPER].xlator,
                                     act->frame->root);
    return act->caller;
}

const struct fd_maker *
overlay_fds (const struct overlay_act *act, unsigned slot)
{
    return overlay_priv (act->this)->layers[slot].xlator->fd_maker;
}

int
overlay_walk (struct overlay_act *act, unsigned slot, inode_t *from, char **names, guint depth,
              bool make, inode_t **ret_inode, struct iatt *ret_buf)
{
    g_autoptr (inode_t) at = inode_ref (from);
    inode_t *next;
    int r = 0;

    for (guint i = 0; r == 0 && i < depth; i++) {
        if (!*names[i])
            continue;
        r = sync_name_look (overlay_daemon (act, slot), at, names[i], &next, ret_buf);
        if (r == -ENOENT && make)
            r = sync_name_mkdir (overlay_daemon (act, slot), at, names[i], 0700, &next);
        if (r < 0)
            break;
        inode_unref (at);
        at = next;
        r = at->ia_type == IA_IFDIR ? 0 : -ENOTDIR;
    }
    if (r == 0)
        *ret_inode = g_steal_pointer (&at);
    return r;
}

inode_t *
overlay_work (struct overlay_act *act)
{
    return realm_below (act->this, itable_root (act->above), overlay_priv (act->this)->n);
}

char *
overlay_work_name (xlator_t *this)
{
    struct overlay_shared *parts = overlay_priv (this)->parts;
    const uint64_t serial = __atomic_add_fetch (&parts->serial, 1, __ATOMIC_RELAXED);

    return g_strdup_printf ("%s.%" G_GINT64_MODIFIER "x", parts->instance, serial);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Looks a name up in one layer. Returns 1: it is there, 0: it is absent, or a negative errno. */
static int
overlay_look_in (struct overlay_act *act, unsigned slot, inode_t *parent, const char *name,
                 inode_t **ret_inode, struct iatt *ret_buf)
{
    inode_t *directory = realm_below (act->this, parent, slot);
    int r;

    if (!directory || overlay_wh_is_name (&overlay_priv (act->this)->layers[slot], name))
        return 0;
    r = sync_name_look (overlay_daemon (act, slot), directory, name, ret_inode, ret_buf);
    if (r == -ENOENT || r == -ENOTDIR)
        return 0;
    if (r == 0
        && overlay_is_ours (act->this, slot, directory, name, ret_buf->ia_dev, ret_buf->ia_ino)) {
        g_clear_pointer (ret_inode, inode_unref);
        return 0;
    }
    return r < 0 ? r : 1;
}

bool
overlay_files_have_marks (xlator_t *this, inode_t *directory, unsigned slot)
{
    const struct overlay_inode *ctx = overlay_inode_get (this, directory);

    return slot == OVERLAY_UPPER
               ? __atomic_load_n (&ctx->impure, __ATOMIC_ACQUIRE)
               : (__atomic_load_n (&ctx->marked, __ATOMIC_RELAXED) & overlay_slot_bit (slot)) != 0;
}

bool
overlay_hides (struct overlay_act *act, unsigned slot, inode_t *directory, inode_t *inode,
               const struct iatt *buf)
{
    loc_t loc = { .inode = inode };
    struct overlay_marks marks = { 0 };
    struct getxattr_reply reply;

    if (buf->ia_type != IA_IFREG || buf->ia_size > 0 || slot == OVERLAY_UPPER
        || !overlay_files_have_marks (act->this, directory, slot))
        return overlay_is_whiteout (buf);
    if (sync_getxattr (overlay_daemon (act, slot), &loc, NULL, NULL, &reply) >= 0)
        overlay_marks_list (act->this, slot, reply.dict, &marks);
    getxattr_reply_drop (&reply);
    loc_wipe_path (&loc);
    return overlay_has (&marks, OVERLAY_WHITEOUT);
}

/* The first lower that has the name decides, whether it has an object or a whiteout. */
static int
overlay_look_lowers (struct overlay_act *act, inode_t *parent, const char *name,
                     struct overlay_name *ret_name)
{
    int r = 0;

    for (unsigned slot = 1; r == 0 && slot < overlay_priv (act->this)->n; slot++) {
        r = overlay_look_in (act, slot, parent, name, &ret_name->lower_inode,
                             &ret_name->lower_buf);
        if (r > 0 && !overlay_hides (act, slot, parent, ret_name->lower_inode,
                                     &ret_name->lower_buf))
            ret_name->lower = slot;
        if (r == 0)
            r = overlay_wh_hides (overlay_daemon (act, slot),
                                  overlay_priv (act->this)->layers[slot].wh,
                                  realm_below (act->this, parent, slot), name);
    }
    return error_or_0 (r);
}

int
overlay_name_look (struct overlay_act *act, inode_t *parent, const char *name,
                   struct overlay_name *ret_name)
{
    int r = overlay_is_dead (act->this, parent)
                ? -ENOENT
                : overlay_look_in (act, OVERLAY_UPPER, parent, name, &ret_name->upper,
                                   &ret_name->upper_buf);

    ret_name->whiteout = r > 0 && overlay_is_whiteout (&ret_name->upper_buf);
    return r < 0 ? r : overlay_look_lowers (act, parent, name, ret_name);
}

void
overlay_name_clear (struct overlay_name *name)
{
    g_clear_pointer (&name->upper, inode_unref);
    g_clear_pointer (&name->lower_inode, inode_unref);
}

/* --- rights ----------------------------------------------------------------------------------- */

int
overlay_stat_upper (struct overlay_act *act, inode_t *inode, struct iatt *ret_buf)
{
    return sync_name_stat (overlay_daemon (act, OVERLAY_UPPER),
                           realm_below (act->this, inode, OVERLAY_UPPER), ret_buf);
}

/* Where the kernel checks rights, it has done so (call_stack.checked). */
int
overlay_may_change (struct overlay_act *act, inode_t *parent, const struct iatt *victim)
{
    const call_stack_t *root = act->frame->root;
    loc_t loc = { .inode = realm_below (act->this, parent, OVERLAY_UPPER) };
    struct iatt buf;
    int r;

    if (root->checked || root->uid == 0)
        return 0;
    r = error_or_0 (sync_access (overlay_caller (act), &loc, W_OK | X_OK, NULL, NULL));
    loc_wipe_path (&loc);
    if (r == 0)
        r = overlay_stat_upper (act, parent, &buf);
    if (r == 0 && victim && buf.ia_prot & S_ISVTX && root->uid != buf.ia_uid
        && root->uid != victim->ia_uid)
        r = -EPERM;
    return r;
}
