/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes of names: new, removed and moved names. */
#include "power-cut.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif
#ifndef RENAME_WHITEOUT
#define RENAME_WHITEOUT (1 << 2)
#endif

static bool
names_count (const xlator_t *this)
{
    return cut_priv (this)->rules.names != CUT_NAMES_KEEP;
}

void
cut_journal_commit (xlator_t *this)
{
    GList *next;

    cut_names_durable (this); /* may remove a file from log.dirty with its last name, so it comes
                                 before the loop */
    for (GList *at = cut_disk (this)->log.dirty.head; at; at = next) {
        next = at->next;
        cut_meta_durable (this, at->data, ~0u);
    }
}

/* A journal is written from time to time, independently of callers: earlier changes are durable,
 * later ones are not. */
static void
journal_count (xlator_t *this)
{
    power_cut_private_t *priv = cut_priv (this);

    if (priv->rules.names == CUT_NAMES_ORDERED
        && random_once_in (&priv->disk->log.chance, (uint64_t) priv->journal_every))
        cut_journal_commit (this);
}

/* --- new names: mknod, mkdir, symlink, create, tmpfile, link ------ */

static int
prepare_new (xlator_t *this, const struct call *call, struct cut_change *change)
{
    change->dir = cut_node_get (this, call->loc->parent);
    change->name = g_strdup (call->loc->name);
    return 0;
}

/* Adds the new inode's node, and links it in the table of inodes as the bridge will. */
static void
adopt_made (xlator_t *this, struct cut_change *change)
{
    g_autoptr (inode_t) linked = inode_link (change->inode, change->dir ? change->dir->inode : NULL,
                                             change->name, &change->made);

    change->node = cut_node_get (this, linked);
    if (linked->ia_type == IA_IFREG)
        cut_data_new (this, change->node, &change->made);
}

/* The name stands for node, and stood for nothing before. */
static void
name_appears (xlator_t *this, struct cut_node *dir, const char *name, struct cut_node *node)
{
    struct cut_slot *slot;

    if (!names_count (this))
        return;
    slot = cut_slot_get (this, dir, name, NULL);
    cut_slot_set (this, slot, node);
    cut_slot_tidy (this, slot);
    journal_count (this);
}

static void
commit_new (xlator_t *this, struct cut_change *change)
{
    if (change->existed)
        return;
    adopt_made (this, change);
    name_appears (this, change->dir, change->name, change->node);
}

/* Without O_EXCL it may open an existing file, and with O_TRUNC truncate it. */
static int
prepare_create (xlator_t *this, const struct call *call, struct cut_change *change)
{
    const struct create_call *args = call->args;
    g_autoptr (inode_t) inode = NULL;
    int r = prepare_new (this, call, change);

    change->existed = cut_look (this, args->loc->parent, args->loc->name, &inode, &change->buf)
                   == 0;
    if (!change->existed || inode->ia_type != IA_IFREG)
        return r;
    change->node = cut_node_get (this, inode);
    if (args->flags & O_TRUNC && !(args->flags & O_EXCL))
        r = cut_data_touch (this, change->node, NULL, 0, UINT64_MAX, false);
    return r;
}

static int
prepare_tmpfile (xlator_t *this, const struct call *call, struct cut_change *change)
{
    return 0;
}

static void
commit_tmpfile (xlator_t *this, struct cut_change *change)
{
    adopt_made (this, change);
    change->node->nameless = true;
    if (change->fd)
        fd_ctx_set (change->fd, this, this); /* the value does not matter: cut_release only tests
                                                that it is set */
}

static int
prepare_link (xlator_t *this, const struct call *call, struct cut_change *change)
{
    change->node = cut_node_get (this, call->loc->inode);
    change->dir = cut_node_get (this, call->newloc->parent);
    change->name = g_strdup (call->newloc->name);
    return 0;
}

static void
commit_link (xlator_t *this, struct cut_change *change)
{
    inode_unref (inode_link (change->node->inode, change->dir->inode, change->name, &change->made));
    change->node->nameless = false;
    name_appears (this, change->dir, change->name, change->node);
}

/* --- removed names: unlink, rmdir, and the target of a rename  */

/* Returns true if a cut may bring the victim back, under this name or another. */
static bool
may_return (const struct cut_node *victim, const struct cut_slot *slot)
{
    return !slot || victim->durable_refs > 0;
}

static int
prepare_victim (xlator_t *this, struct cut_change *change, struct cut_node *dir, const char *name)
{
    g_autoptr (inode_t) inode = NULL;
    int r = cut_look (this, dir->inode, name, &inode, &change->victim_buf);

    if (r < 0)
        return 0; /* the change itself will return the error */
    change->victim = cut_node_get (this, inode);
    if (!names_count (this) || !may_return (change->victim, cut_slot_find (dir, name)))
        return 0;
    if (inode->ia_type != IA_IFDIR) {
        r = cut_aside_make (this, change->victim);
    } else if (!change->victim->xattrs) {
        change->victim->xattrs = cut_get_xattrs (this, inode);
    }
    if (r < 0)
        gf_log (this, GF_LOG_ERROR, "can't keep '%s' aside, so it can't be removed: %s", name,
                g_strerror (-r));
    return r;
}

static int
prepare_remove (xlator_t *this, const struct call *call, struct cut_change *change)
{
    change->dir = cut_node_get (this, call->loc->parent);
    change->name = g_strdup (call->loc->name);
    return prepare_victim (this, change, change->dir, change->name);
}

static void
node_drop_logs (xlator_t *this, struct cut_node *node)
{
    cut_data_durable (this, node);
    cut_meta_durable (this, node, ~0u);
}

/* The names in a removed directory become durable with its removal. If a cut can't bring the
 * directory back, they are dropped. */
static void
directory_gone (xlator_t *this, struct cut_change *change, struct cut_slot *place)
{
    struct cut_node *dir = change->victim;
    GHashTableIter iter;
    gpointer slot;

    dir->gone = true;
    dir->old = change->victim_buf;
    while (place->durable == place->current && dir->slots && g_hash_table_size (dir->slots) > 0) {
        g_hash_table_iter_init (&iter, dir->slots);
        g_hash_table_iter_next (&iter, NULL, &slot);
        cut_slot_drop (this, slot);
    }
    if (!dir->slots)
        return;
    g_hash_table_iter_init (&iter, dir->slots);
    while (g_hash_table_iter_next (&iter, NULL, &slot))
        cut_slots_couple (place, slot);
}

/* The inode that slot stood for has lost its name. */
static void
victim_goes (xlator_t *this, struct cut_change *change, struct cut_slot *slot)
{
    struct cut_node *victim = change->victim;

    if (victim->inode->ia_type == IA_IFDIR)
        directory_gone (this, change, slot);
    else if (victim->durable_refs == 0 && change->victim_buf.ia_nlink == 1)
        node_drop_logs (this, victim);
}

static void
commit_remove (xlator_t *this, struct cut_change *change)
{
    struct cut_slot *slot;

    if (!change->victim)
        return;
    if (!names_count (this)) {
        if (change->victim_buf.ia_nlink == 1 || change->victim->inode->ia_type == IA_IFDIR)
            node_drop_logs (this, change->victim);
        return;
    }
    slot = cut_slot_get (this, change->dir, change->name, change->victim);
    cut_slot_set (this, slot, NULL);
    victim_goes (this, change, slot);
    cut_slot_tidy (this, slot);
    journal_count (this);
}

static void
settle_victim (xlator_t *this, struct cut_change *change)
{
    if (change->victim && change->victim->durable_refs == 0)
        cut_aside_drop (this, change->victim);
}

/* --- rename --- */

static int
prepare_rename (xlator_t *this, const struct call *call, struct cut_change *change)
{
    g_autoptr (inode_t) inode = NULL;
    int r = prepare_new (this, call, change);

    change->newdir = cut_node_get (this, call->newloc->parent);
    change->newname = g_strdup (call->newloc->name);
    change->flags = call->flags;
    if (cut_look (this, change->dir->inode, change->name, &inode, &change->buf) < 0)
        return r;
    change->node = cut_node_get (this, inode);
    if (!(call->flags & RENAME_EXCHANGE))
        return prepare_victim (this, change, change->newdir, change->newname);
    g_clear_pointer (&inode, inode_unref);
    if (cut_look (this, change->newdir->inode, change->newname, &inode, &change->victim_buf) == 0)
        change->victim = cut_node_get (this, inode);
    return r;
}

/* A moved object is lost if its new directory is lost, or if that is at another place after the
 * cut: so their slots are coupled. */
static void
couple_with_path (xlator_t *this, struct cut_slot *slot, inode_t *dir)
{
    g_autoptr (inode_t) at = inode_ref (dir);

    for (unsigned depth = 0; depth < 4096; depth++) {
        struct cut_node *node = cut_node_find (this, &at->gfid);
        g_autofree char *name = NULL;
        inode_t *parent;

        if (node && node->places && node->places->len > 0)
            cut_slots_couple (slot, node->places->pdata[0]);
        if (!inode_a_name (at, &parent, &name))
            return;
        inode_unref (at);
        at = parent;
    }
}

static struct cut_node *
left_behind (xlator_t *this, struct cut_change *change)
{
    g_autoptr (inode_t) inode = NULL;
    struct iatt buf;

    if (!(change->flags & RENAME_WHITEOUT)
        || cut_look (this, change->dir->inode, change->name, &inode, &buf) < 0)
        return NULL;
    return cut_node_get (this, inode);
}

static void
commit_rename (xlator_t *this, struct cut_change *change)
{
    const bool exchange = change->flags & RENAME_EXCHANGE;
    struct cut_node *left;
    struct cut_slot *from, *to;

    if (!change->node || change->node == change->victim) /* two names of one file: the rename does
                                                            nothing */
        return;
    if (!names_count (this)) {
        if (change->victim && !exchange && change->victim_buf.ia_nlink == 1)
            node_drop_logs (this, change->victim);
        return;
    }
    from = cut_slot_get (this, change->dir, change->name, change->node);
    to = cut_slot_get (this, change->newdir, change->newname, change->victim);
    left = left_behind (this, change);
    cut_slot_set (this, from, exchange ? change->victim : left);
    cut_slot_set (this, to, change->node);
    cut_node_unref (this, left);
    cut_slots_couple (from, to);
    if (change->dir != change->newdir)
        couple_with_path (this, to, change->newdir->inode);
    if (change->dir != change->newdir && exchange)
        couple_with_path (this, from, change->dir->inode);
    if (change->victim && !exchange)
        victim_goes (this, change, to);
    cut_slot_tidy (this, from);
    cut_slot_tidy (this, to);
    journal_count (this);
}

const struct cut_op cut_name_ops[FOP_MAX] = {
    [FOP_mknod] = { prepare_new, commit_new, NULL },
    [FOP_mkdir] = { prepare_new, commit_new, NULL },
    [FOP_symlink] = { prepare_new, commit_new, NULL },
    [FOP_create] = { prepare_create, commit_new, NULL },
    [FOP_tmpfile] = { prepare_tmpfile, commit_tmpfile, NULL },
    [FOP_link] = { prepare_link, commit_link, NULL },
    [FOP_unlink] = { prepare_remove, commit_remove, settle_victim },
    [FOP_rmdir] = { prepare_remove, commit_remove, settle_victim },
    [FOP_rename] = { prepare_rename, commit_rename, settle_victim },
};
