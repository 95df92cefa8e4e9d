/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations that change names, on a thread of core/work. */
#include "../overlay.h"
#include "names.h"

#include <limits.h>

#define WHITEOUT_NAMES 1000 /* of one whiteout: file systems have limits, as ext4's 65,000 */

/* The tables of the layers must not get names that no directory has. Returns 0 or a negative
 * errno. */
static int
overlay_check_name (const loc_t *loc)
{
    if (!loc->name || !*loc->name || name_is_dots (loc->name) || strchr (loc->name, '/'))
        return -EINVAL;
    return strlen (loc->name) > NAME_MAX ? -ENAMETOOLONG : 0;
}

/* What the kernel checks before it looks at a directory. A view leaves no whiteouts where a caller
 * asks for them. */
static int
overlay_check_words (const struct call *call)
{
    const uint32_t both = RENAME_NOREPLACE | RENAME_EXCHANGE;
    const size_t length = call->op == FOP_symlink ? strlen (call->name) : 0;

    if (call->op == FOP_symlink && (length == 0 || length >= PATH_MAX))
        return length == 0 ? -ENOENT : -ENAMETOOLONG;
    if (call->op != FOP_rename)
        return 0;
    return call->flags & ~both || (call->flags & both) == both ? -EINVAL : 0;
}

static int
overlay_check (const struct call *call)
{
    const loc_t *first = call->op == FOP_link ? call->newloc : call->loc;
    const loc_t *second = call->newloc ? call->newloc : call->loc;
    int r = overlay_check_name (first);

    if (r == 0)
        r = overlay_check_name (second);
    if (r == 0)
        r = overlay_check_words (call);
    if (r < 0)
        return r;
    return first->parent->ia_type == IA_IFDIR && second->parent->ia_type == IA_IFDIR ? 0 : -ENOTDIR;
}

static bool
overlay_needs_copy (xlator_t *this, inode_t *inode)
{
    return inode && !realm_below (this, inode, OVERLAY_UPPER)
           && overlay_slot (this, inode) < overlay_priv (this)->n;
}

/* Returns what has to be copied before the names change, or NULL. The call waits for it without a
 * thread. What is not known yet is copied later, on the thread. */
static inode_t *
overlay_names_lack (const struct call *call)
{
    const loc_t *const locs[] = { call->loc, call->newloc };
    const bool moves = call->op == FOP_rename || call->op == FOP_link;

    for (size_t i = 0; i < G_N_ELEMENTS (locs); i++)
        if (locs[i] && overlay_needs_copy (call->this, locs[i]->parent))
            return locs[i]->parent;
    if (moves && call->loc->inode && call->loc->inode->ia_type != IA_IFDIR
        && overlay_needs_copy (call->this, call->loc->inode))
        return call->loc->inode;
    return NULL;
}

void
overlay_names (const struct call *call)
{
    struct overlay_act act;
    inode_t *any = call->newloc ? call->newloc->parent : call->loc->parent, *lack;
    const int r = overlay_check (call);

    if (r < 0) {
        call_fail (call, -r);
        return;
    }
    lack = overlay_names_lack (call);
    if (lack) {
        overlay_copy_up_wait (call, lack);
        return;
    }
    overlay_act_begin (&act, call->this, call->frame, any);
    if (call->op == FOP_unlink || call->op == FOP_rmdir)
        overlay_remove (&act, call);
    else if (call->op == FOP_rename)
        overlay_rename (&act, call);
    else if (call->op == FOP_link)
        overlay_link (&act, call);
    else
        overlay_make (&act, call);
    overlay_act_end (&act);
}

int
overlay_look_above (struct overlay_act *act, inode_t *parent, const char *name, inode_t *known,
                    inode_t **ret_inode)
{
    struct client *client;
    struct iatt buf;
    int r;

    if (known) {
        *ret_inode = inode_ref (known);
        return 0;
    }
    client = client_new_internal (act->this, act->this);
    r = sync_name_look (client, parent, name, ret_inode, &buf);
    client_free (client);
    return r;
}

bool
overlay_name_is (xlator_t *this, const struct overlay_name *name, inode_t *above)
{
    const unsigned slot = name->upper ? OVERLAY_UPPER : name->lower;
    const inode_t *below = name->upper ? name->upper : name->lower_inode;

    if (!overlay_name_shows (name) || !above)
        return !overlay_name_shows (name) && !above;
    return realm_below (this, above, slot) == below;
}

struct overlay_naming {
    struct overlay_act act;
    inode_t *inode;
    inode_t *parent; /* with a reference; NULL: none was found yet */
    char *name;      /* owned */
    bool stands;     /* the layers have the inode there */
    int error;       /* of a name that could not be looked up: a negative errno */
};

static void
overlay_naming_try (inode_t *parent, const char *name, void *data)
{
    struct overlay_naming *naming = data;
    g_auto (overlay_name_t) at = { 0 };
    const int r = naming->stands ? 0 : overlay_name_look (&naming->act, parent, name, &at);

    if (r < 0 && r != -ENOENT)
        naming->error = r;
    if (r < 0 || naming->stands || !overlay_name_shows (&at))
        return;
    naming->stands = overlay_name_is (naming->act.this, &at, naming->inode);
    inode_unref (naming->parent);
    g_free (naming->name);
    naming->parent = inode_ref (parent);
    naming->name = g_strdup (name);
}

int
overlay_name_of (xlator_t *this, inode_t *inode, inode_t **ret_parent, char **ret_name)
{
    struct overlay_naming naming = { .inode = inode };

    overlay_act_begin (&naming.act, this, NULL, inode);
    inode_each_name (inode, overlay_naming_try, &naming);
    overlay_act_end (&naming.act);
    if (naming.error && !naming.stands) {
        inode_unref (naming.parent);
        g_free (naming.name);
        return naming.error;
    }
    if (!naming.parent)
        return 0;
    *ret_parent = naming.parent;
    *ret_name = naming.name;
    return 1;
}

bool
overlay_is_dead (xlator_t *this, inode_t *directory)
{
    return __atomic_load_n (&overlay_inode_get (this, directory)->dead, __ATOMIC_SEQ_CST);
}

void
overlay_die (xlator_t *this, inode_t *directory, bool dead)
{
    __atomic_store_n (&overlay_inode_get (this, directory)->dead, dead, __ATOMIC_SEQ_CST);
}

/* --- attributes of directories ---------------------------------------------------------------- */

static void
overlay_parent_stat (struct overlay_act *act, inode_t *parent, struct iatt *ret_buf, bool *ret_has)
{
    *ret_has = act->this->wants_above & WANTS_PARENT_ATTRIBUTES
               && overlay_stat_upper (act, parent, ret_buf) == 0;
    if (*ret_has)
        overlay_iatt_above (act->this, parent, OVERLAY_UPPER, ret_buf);
}

void
overlay_parent_before (struct overlay_act *act, inode_t *parent, struct overlay_parent *ret)
{
    ret->inode = parent;
    overlay_parent_stat (act, parent, &ret->pre, &ret->has_pre);
}

void
overlay_parent_after (struct overlay_act *act, struct overlay_parent *parent)
{
    if (parent->has_pre)
        overlay_parent_stat (act, parent->inode, &parent->post, &parent->has_post);
}

/* --- moves of names in the upper -------------------------------------------------------------- */

int
overlay_move (struct overlay_act *act, const struct overlay_move *move, uint32_t flags,
              struct iatt *ret_buf)
{
    loc_t from = { .name = move->name, .parent = move->directory, .inode = move->inode };
    loc_t to = { .name = move->newname, .parent = move->newdirectory, .inode = move->victim };
    struct rename_reply reply;
    int r = sync_rename (overlay_daemon (act, OVERLAY_UPPER), &from, &to, flags, NULL, &reply);

    if (r >= 0) {
        inode_rename (move->directory, move->name, move->newdirectory, move->newname,
                      flags & RENAME_EXCHANGE);
        if (ret_buf)
            *ret_buf = reply.buf;
    }
    rename_reply_drop (&reply);
    loc_wipe_path (&from);
    loc_wipe_path (&to);
    return error_or_0 (r);
}

/* Returns the whiteout that gets one name more, with a reference; NULL: a new one is needed. */
static inode_t *
whiteout_lend (overlay_private_t *priv, struct itable *table)
{
    gfid_t gfid = { 0 };

    pthread_mutex_lock (&priv->lock);
    if (priv->whiteout_names < WHITEOUT_NAMES) {
        gfid = priv->whiteout;
        priv->whiteout_names++;
    }
    pthread_mutex_unlock (&priv->lock);
    return gfid_is_null (&gfid) ? NULL : inode_find (table, &gfid);
}

static void
whiteout_keep (overlay_private_t *priv, const inode_t *one)
{
    pthread_mutex_lock (&priv->lock);
    priv->whiteout = one->gfid;
    priv->whiteout_names = 1;
    pthread_mutex_unlock (&priv->lock);
}

/* Makes a whiteout in a directory below. One whiteout is as good as another: as in the kernel's
 * overlayfs most are further names of the last one, which costs less than a new object and takes no
 * inode. *ret_made has a reference. */
static int
whiteout_make (struct overlay_act *act, inode_t *directory, const char *name, inode_t **ret_made)
{
    overlay_private_t *priv = overlay_priv (act->this);
    struct client *client = overlay_daemon (act, OVERLAY_UPPER);
    g_autoptr (inode_t) one = whiteout_lend (priv, directory->table);
    int r = one ? sync_name_link (client, one, directory, name) : -ENOENT;

    if (r < 0 && r != -EEXIST) {
        g_clear_pointer (&one, inode_unref);
        r = sync_name_mknod (client, directory, name, S_IFCHR, 0, &one);
        if (r == 0)
            whiteout_keep (priv, one);
    }
    if (r == 0)
        *ret_made = g_steal_pointer (&one);
    return r;
}

int
overlay_whiteout (struct overlay_act *act, inode_t *parent, const char *name)
{
    g_autoptr (inode_t) made = NULL;

    return whiteout_make (act, realm_below (act->this, parent, OVERLAY_UPPER), name, &made);
}

int
overlay_move_to_work (struct overlay_act *act, inode_t *directory, const char *name, inode_t *inode,
                      uint32_t flags, char **ret_there)
{
    g_autofree char *there = overlay_work_name (act->this);
    const int r = sync_name_rename (overlay_daemon (act, OVERLAY_UPPER), inode, directory, name,
                                    overlay_work (act), there, flags);

    if (r == 0)
        *ret_there = g_steal_pointer (&there);
    return r;
}

void
overlay_work_remove (struct overlay_act *act, const char *name)
{
    (void) sync_name_remove_tree (overlay_daemon (act, OVERLAY_UPPER),
                                  overlay_fds (act, OVERLAY_UPPER), overlay_work (act), name);
}

int
overlay_cover (struct overlay_act *act, inode_t *parent, const char *name, inode_t *file)
{
    g_autofree char *there = overlay_work_name (act->this);
    g_autoptr (inode_t) made = NULL;
    struct overlay_move move = { .directory = overlay_work (act), .name = there,
                                 .newdirectory = realm_below (act->this, parent, OVERLAY_UPPER),
                                 .newname = name, .victim = file };
    int r = whiteout_make (act, move.directory, there, &made);

    if (r < 0)
        return r;
    move.inode = made;
    r = overlay_move (act, &move, 0, NULL);
    if (r < 0)
        (void) sync_name_remove (overlay_daemon (act, OVERLAY_UPPER), move.directory, there, made);
    return r;
}

int
overlay_take_away (struct overlay_act *act, inode_t *parent, const char *name,
                   const struct overlay_name *at)
{
    inode_t *directory = realm_below (act->this, parent, OVERLAY_UPPER);
    char *there;
    const int r = overlay_move_to_work (act, directory, name, at->upper,
                                        at->lower ? RENAME_WHITEOUT : 0, &there);

    if (r == 0)
        overlay_sweep (act->this, directory, there);
    return r;
}
