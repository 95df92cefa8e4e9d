/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Locks that clients of a volume, and a rebalance, take while they change names. They are those of
 * GlusterFS's distribute, with its names:
 *
 *   dht.layout.heal   on a directory: a read lock for changes of names in it, a write lock for
 *                     changes of its layout
 *   dht.entry.sync    on a name in a directory
 *   dht.file.migrate  on a file: held while it is copied to another subvolume, or renamed
 *
 * A change of a name takes the first two locks on the hashed subvolume of the name. A change of a
 * layout takes the write lock on each subvolume that has the directory; the mkdir of the directory
 * takes it on the hashed subvolume alone. The third lock is taken on the cached subvolume of the
 * file.
 *
 * All clients take locks in one order, so that no two clients wait for each other: first the locks
 * of files, by the name of the subvolume and then by gfid; then the locks of names, in the order of
 * rename_note_name_locks; the write locks of a layout by the name of the subvolume.
 */
#include "distribute.h"

#include <fcntl.h>

struct distribute_lock {
    unsigned child;
    const char *domain;
    inode_t *inode;   /* inode that is locked; with a reference */
    char *name;       /* name that is locked in the directory `inode`; NULL: a lock on `inode` */
    short type;       /* F_RDLCK or F_WRLCK */
    bool may_be_gone; /* if the subvolume answers ENOENT or ESTALE, the lock is not needed */
    bool taken;       /* the lock is held, or is not needed */
    bool held;
};

static void
locks_note (struct op *op, struct distribute_lock lock, inode_t *inode)
{
    lock.inode = inode_ref (inode);
    if (!op->locks)
        op->locks = g_array_new (FALSE, FALSE, sizeof (struct distribute_lock));
    g_array_append_val (op->locks, lock);
}

void
lock_layout (struct op *op, unsigned child, inode_t *directory, bool to_write)
{
    locks_note (op,
              (struct distribute_lock){ .child = child,
                             .domain = "dht.layout.heal",
                             .type = to_write ? F_WRLCK : F_RDLCK },
              directory);
}

void
lock_entry (struct op *op, unsigned child, inode_t *directory, const char *name)
{
    locks_note (op,
              (struct distribute_lock){ .child = child,
                             .domain = "dht.entry.sync",
                             .name = g_strdup (name),
                             .type = F_WRLCK },
              directory);
}

void
lock_data (struct op *op, unsigned child, inode_t *inode, bool may_be_gone)
{
    locks_note (op,
              (struct distribute_lock){ .child = child,
                             .domain = "dht.file.migrate",
                             .type = F_WRLCK,
                             .may_be_gone = may_be_gone },
              inode);
}

void
lock_name (struct op *op, unsigned child, const loc_t *loc)
{
    lock_layout (op, child, loc->parent, false);
    lock_entry (op, child, loc->parent, loc->name);
}

static struct distribute_lock *
locks_at (struct op *op, guint i)
{
    return op->locks && i < op->locks->len
             ? &g_array_index (op->locks, struct distribute_lock, i)
             : NULL;
}

void
locks_clear (struct op *op)
{
    struct distribute_lock *lock;

    for (guint i = 0; (lock = locks_at (op, i)); i++) {
        inode_unref (lock->inode);
        g_free (lock->name);
    }
    g_clear_pointer (&op->locks, g_array_unref);
}

/* --- as steps of a table ---------------------------------------------------------------------- */

static struct distribute_lock *
locks_next (struct op *op)
{
    struct distribute_lock *lock;

    for (guint i = 0; (lock = locks_at (op, i)); i++)
        if (!lock->taken)
            return lock;
    return NULL;
}

static void
locks_wind (struct op *op, const struct distribute_lock *lock, unsigned slot, bool unlock)
{
    xlator_t *child = op->priv->children[lock->child];
    loc_t loc = { .inode = lock->inode };
    struct gf_flock range = { .l_type = unlock ? F_UNLCK : lock->type,
                              .l_owner = op_own (op)->root->lk_owner };

    if (lock->name)
        AS_SELF_AT (op, slot, child, entrylk, lock->domain, &loc, lock->name,
                    unlock ? ENTRYLK_UNLOCK : ENTRYLK_LOCK, ENTRYLK_WRLCK, NULL);
    else
        AS_SELF_AT (op, slot, child, inodelk, lock->domain, &loc, unlock ? F_SETLK : F_SETLKW,
                    &range, NULL);
    loc_wipe_path (&loc);
}

void
locks_run (void *local)
{
    const struct distribute_lock *lock = locks_next (local);

    if (lock)
        locks_wind (local, lock, 0, false);
}

/* A subvolume answers ENOSYS if it is not a brick but a local directory, which has no translator
 * for locks. No other client uses it, so the lock is not needed. */
int
locks_judge (void *local)
{
    struct op *op = local;
    struct distribute_lock *lock = locks_next (op);
    const struct fan_answer *answer = &op->seq.fan.answers[0];
    const int error = lock && answer->op_ret < 0 ? answer->op_errno : 0;

    if (!lock)
        return 0;
    lock->taken = error == 0 || error == ENOSYS || (lock->may_be_gone && is_missing (error));
    lock->held = error == 0;
    if (lock->taken)
        return locks_next (op) ? STEP_REPEAT : 0;
    gf_log (op->this, GF_LOG_DEBUG, "no lock %s on %s of gfid %s: %s", lock->domain,
            op->priv->children[lock->child]->name, GFID_OF (lock->inode), g_strerror (error));
    return -error;
}

/* Releases the held locks and empties the list. The answers to the unlocks are not read: a brick
 * releases a client's locks at the latest when the connection ends. */
void
locks_undo (void *local)
{
    struct op *op = local;
    const struct distribute_lock *lock;

    for (guint i = 0; (lock = locks_at (op, i)); i++)
        if (lock->held)
            locks_wind (op, lock, i, true);
    locks_clear (op);
}
