/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What goes on at a reload: the object that the graphs of a mount share, and in it the states of
 * inodes. The graph that goes may still copy a file for a program that has it open; the graph that
 * comes waits for that copy, and finds it there.
 */
#include "../names/links.h"

static void
shared_parts_free (void *value)
{
    struct overlay_shared *parts = value;

    g_hash_table_unref (parts->unsynced);
    g_array_unref (parts->discards_at);
    g_hash_table_unref (parts->applied);
    g_hash_table_unref (parts->kept);
    g_hash_table_unref (parts->inodes);
    g_hash_table_unref (parts->turns);
    g_free (parts->instance);
    pthread_cond_destroy (&parts->tasks_changed);
    pthread_mutex_destroy (&parts->tasks_lock);
    pthread_cond_destroy (&parts->changed);
    pthread_mutex_destroy (&parts->lock);
    g_free (parts);
}

static struct overlay_shared *
shared_parts_new (void)
{
    struct overlay_shared *parts = g_new0 (struct overlay_shared, 1);
    struct random_source source = { random_seed () };

    parts->shared = (struct shared){ 1, shared_parts_free };
    pthread_mutex_init (&parts->lock, NULL);
    thread_cond_init (&parts->changed);
    pthread_mutex_init (&parts->tasks_lock, NULL);
    thread_cond_init (&parts->tasks_changed);
    parts->turns = g_hash_table_new (NULL, NULL);
    parts->inodes = g_hash_table_new (NULL, NULL);
    parts->kept = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
    parts->applied = overlay_applied_new ();
    parts->discards_at = g_array_new (FALSE, FALSE, sizeof (unsigned));
    parts->unsynced = g_hash_table_new_full (NULL, NULL, (GDestroyNotify) inode_unref, NULL);
    parts->instance = g_strdup_printf ("copy.%016" G_GINT64_MODIFIER "x", random_next (&source));
    return parts;
}

/* The inodes below of another upper would be other files. */
static bool
shared_fits (const xlator_t *this, const xlator_t *predecessor)
{
    const overlay_private_t *priv = overlay_priv (this), *before = overlay_priv (predecessor);

    return strcmp (priv->upper, before->upper) == 0
           && FIRST_CHILD (this)->realm->itable == FIRST_CHILD (predecessor)->realm->itable;
}

int
overlay_take_over_prepare (xlator_t *this, xlator_t *predecessor)
{
    overlay_private_t *priv = overlay_priv (this);

    priv->claims = predecessor ? shared_ref (overlay_priv (predecessor)->claims)
                               : overlay_claims_new ();
    if (predecessor) /* open files move from slot to slot */
        priv->capacity = overlay_priv (predecessor)->capacity;
    if (predecessor && shared_fits (this, predecessor)) {
        priv->parts = shared_ref (&overlay_priv (predecessor)->parts->shared);
        __atomic_store_n (&priv->parts->was_lent, true, __ATOMIC_RELAXED);
    } else {
        priv->parts = shared_parts_new ();
    }
    return 0;
}

/* --- states of inodes ------------------------------------------------------------------------- */

/* The graphs that know an inode have one state of it. Returns it with one graph more; parts->lock
 * is held. */
static struct overlay_inode *
overlay_inode_share (struct overlay_shared *parts, inode_t *inode)
{
    struct overlay_inode *state = g_hash_table_lookup (parts->inodes, inode);

    if (!state) {
        state = g_new0 (struct overlay_inode, 1);
        state->inode = inode;
        state->parts = parts;
        state->freezes = parts->freezes;
        state->discards = parts->discards;
        g_queue_init (&state->waiters);
        g_hash_table_insert (parts->inodes, inode, state);
    }
    state->graphs++;
    return state;
}

static void
kept_count_locked (struct overlay_shared *parts)
{
    __atomic_store_n (&parts->n_kept, g_hash_table_size (parts->kept), __ATOMIC_RELEASE);
}

void
overlay_number_keep (struct overlay_inode *state)
{
    struct overlay_shared *parts = state->parts;
    const gint64 number = (gint64) __atomic_load_n (&state->number, __ATOMIC_RELAXED);

    pthread_mutex_lock (&parts->lock);
    if (number)
        g_hash_table_replace (parts->kept, g_memdup2 (&number, sizeof number), state->inode);
    kept_count_locked (parts);
    pthread_mutex_unlock (&parts->lock);
}

bool
overlay_number_is_kept (struct overlay_shared *parts, uint64_t number, const inode_t *inode)
{
    const inode_t *keeper;

    if (__atomic_load_n (&parts->n_kept, __ATOMIC_ACQUIRE) == 0)
        return false;
    pthread_mutex_lock (&parts->lock);
    keeper = g_hash_table_lookup (parts->kept, &number);
    pthread_mutex_unlock (&parts->lock);
    return keeper && keeper != inode;
}

static void
number_let_go_locked (struct overlay_inode *state)
{
    struct overlay_shared *parts = state->parts;

    if (g_hash_table_lookup (parts->kept, &state->number) == state->inode)
        g_hash_table_remove (parts->kept, &state->number);
    kept_count_locked (parts);
}

void
overlay_inode_drop (struct overlay_inode *state)
{
    struct overlay_shared *parts = state->parts;
    bool last;

    pthread_mutex_lock (&parts->lock);
    last = --state->graphs == 0;
    if (last) {
        g_hash_table_remove (parts->inodes, state->inode);
        number_let_go_locked (state);
        overlay_applied_drop_locked (state);
    }
    pthread_mutex_unlock (&parts->lock);
    if (!last)
        return;
    inode_unref (state->copy);
    g_free (state);
}

/* Returns the bits of slots (overlay_slot_bit) that are slots `by` further down now. */
static uint64_t
slots_moved (uint64_t marked, unsigned by)
{
    const uint64_t on_the_last = by < 64 ? marked >> (63 - by) : marked;

    return (by < 64 ? marked << by : 0) | (on_the_last ? overlay_slot_bit (UINT_MAX) : 0);
}

/* Since the state was last used, `by` layers were frozen: the upper of that time is slot `by`, and
 * the new upper has nothing of the inode. What the state says of the upper moves to that slot. If
 * the inode is there, the link count of the lower's file does not matter any more, nor do the names
 * of it that the view has removed. */
static inode_t *
inode_freeze_locked (xlator_t *this, struct overlay_inode *state, unsigned by)
{
    inode_t *copy = __atomic_exchange_n (&state->copy, NULL, __ATOMIC_ACQ_REL);
    const uint64_t impure = state->impure ? overlay_slot_bit (by) : 0;

    __atomic_store_n (&state->marked, slots_moved (state->marked, by) | impure, __ATOMIC_RELAXED);
    __atomic_store_n (&state->impure, false, __ATOMIC_RELAXED);
    __atomic_store_n (&state->copied, false, __ATOMIC_RELAXED);
    __atomic_store_n (&state->indexed, false, __ATOMIC_RELAXED);
    if (state->data_slot > 0)
        __atomic_add_fetch (&state->data_slot, by, __ATOMIC_RELAXED);
    if (realm_below (this, state->inode, by)) {
        __atomic_store_n (&state->lost_names, 0, __ATOMIC_RELAXED);
        __atomic_store_n (&state->other_names, 0, __ATOMIC_RELAXED);
        state->links = LINKS_UNKNOWN;
    }
    state->lost_frozen = state->lost_names;
    return copy;
}

static bool
inode_is_of_now (const struct overlay_inode *state)
{
    const struct overlay_shared *parts = state->parts;

    return __atomic_load_n (&state->freezes, __ATOMIC_ACQUIRE)
               == __atomic_load_n (&parts->freezes, __ATOMIC_ACQUIRE)
           && __atomic_load_n (&state->discards, __ATOMIC_ACQUIRE)
                  == __atomic_load_n (&parts->discards, __ATOMIC_ACQUIRE);
}

/* Whether the upper of the time when the state was last used was discarded before it was frozen; or
 * one after it was. */
static bool
inode_was_discarded_locked (const struct overlay_inode *state, bool frozen)
{
    const GArray *at = state->parts->discards_at;

    if (state->discards == at->len)
        return false;
    return frozen ? g_array_index (at, unsigned, at->len - 1) != state->freezes
                  : g_array_index (at, unsigned, state->discards) == state->freezes;
}

static struct overlay_inode *
inode_now (xlator_t *this, struct overlay_inode *state)
{
    struct overlay_shared *parts = state->parts;
    inode_t *copy = NULL;

    bool again;

    if (inode_is_of_now (state))
        return state;
    pthread_mutex_lock (&parts->lock);
    if (inode_was_discarded_locked (state, false))
        overlay_links_forget_locked (state);
    again = inode_was_discarded_locked (state, true);
    if (state->freezes != parts->freezes)
        copy = inode_freeze_locked (this, state, parts->freezes - state->freezes);
    if (again)
        overlay_links_forget_locked (state);
    __atomic_store_n (&state->discards, parts->discards, __ATOMIC_RELEASE);
    __atomic_store_n (&state->freezes, parts->freezes, __ATOMIC_RELEASE);
    pthread_mutex_unlock (&parts->lock);
    inode_unref (copy);
    return state;
}

struct overlay_inode *
overlay_inode_known (xlator_t *this, inode_t *inode)
{
    struct overlay_inode *state = inode_ctx_get (inode, this);

    return state ? inode_now (this, state) : NULL;
}

struct overlay_inode *
overlay_inode_get (xlator_t *this, inode_t *inode)
{
    struct overlay_shared *parts = overlay_priv (this)->parts;
    struct overlay_inode *state = overlay_inode_known (this, inode);

    if (state)
        return state;
    pthread_mutex_lock (&parts->lock);
    state = inode_ctx_get (inode, this);
    if (!state) /* two threads of one graph count as one */
        state = inode_ctx_set (inode, this, overlay_inode_share (parts, inode));
    pthread_mutex_unlock (&parts->lock);
    return inode_now (this, state);
}

/* --- copies of another graph ------------------------------------------------------------------ */

/* Returns the copy that another graph has made, and this one does not know yet; or NULL. */
static inode_t *
overlay_lacking (xlator_t *this, inode_t *inode)
{
    if (!inode || realm_below (this, inode, OVERLAY_UPPER)
        || !__atomic_load_n (&overlay_priv (this)->parts->was_lent, __ATOMIC_RELAXED)
        || overlay_slot (this, inode) == overlay_priv (this)->n)
        return NULL;
    return __atomic_load_n (&overlay_inode_get (this, inode)->copy, __ATOMIC_ACQUIRE);
}

/* A lookup of a name finds a copy by itself. */
inode_t *
overlay_lacks_copy (const struct call *call)
{
    const loc_t *loc = call->loc, *newloc = call->newloc;
    const bool looks = call->op == FOP_lookup && loc->parent;
    inode_t *const inodes[] = {
        loc ? loc->parent : NULL,
        loc && !looks ? loc->inode : NULL,
        newloc ? newloc->parent : NULL,
        newloc ? newloc->inode : NULL,
        call->fd ? call->fd->inode : NULL,
        call->fd_out ? call->fd_out->inode : NULL,
    };

    if (!__atomic_load_n (&overlay_priv (call->this)->parts->was_lent, __ATOMIC_RELAXED))
        return NULL;
    for (size_t i = 0; i < G_N_ELEMENTS (inodes); i++)
        if (overlay_lacking (call->this, inodes[i]))
            return inodes[i];
    return NULL;
}

/* Without a name the storage may find the copy by its gfid. */
static int
overlay_inherit_by_gfid (struct overlay_act *act, inode_t *copy)
{
    loc_t loc = { .inode = copy };
    const int r = sync_lookup (overlay_daemon (act, OVERLAY_UPPER), &loc, NULL, NULL);

    loc_wipe_path (&loc);
    return error_or_0 (r);
}

/* The translators below need a lookup in their graph before they serve the copy. */
static int
overlay_inherit_look (struct overlay_act *act, inode_t *inode, inode_t *copy)
{
    g_autoptr (inode_t) parent = NULL, found = NULL;
    g_autofree char *name = NULL;
    struct iatt buf;
    int r = -ENOENT;

    if (inode_a_name (inode, &parent, &name)) {
        r = overlay_inherit (act->this, parent);
        if (r == 0 && realm_below (act->this, parent, OVERLAY_UPPER))
            r = sync_name_look (overlay_daemon (act, OVERLAY_UPPER),
                                realm_below (act->this, parent, OVERLAY_UPPER), name, &found,
                                &buf);
    }
    if (found != copy)
        r = overlay_inherit_by_gfid (act, copy);
    if (r == 0)
        realm_join (act->this, inode, OVERLAY_UPPER, copy);
    return r == -ENOENT ? -ESTALE : r;
}

int
overlay_inherit (xlator_t *this, inode_t *inode)
{
    inode_t *copy = overlay_lacking (this, inode);
    struct overlay_act act;
    int r;

    if (!copy)
        return 0;
    overlay_act_begin (&act, this, NULL, inode);
    r = overlay_inherit_look (&act, inode, copy);
    overlay_act_end (&act);
    return r;
}
