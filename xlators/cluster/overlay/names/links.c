/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hard links of a lower. A file with several names is copied once. The copy gets the name under
 * which it was changed, and before that a name in the index: work/index/GFID, where GFID is that of
 * the lower's file. A lookup of another name of the lower's file finds the copy there, so that the
 * names stay one file also in later mounts. Such a name comes into the upper when the name itself
 * is changed. Before a freeze all names come into the upper, and the file leaves the index
 * (commands/settle.c).
 *
 * The name in the index is synced at once: after a power cut either all names show the copy, or
 * none does.
 *
 * The copy's link count counts the index, and misses the names that only the lower has: those are
 * `other_names`. A lookup that finds a copy in the index can't know which names were added or
 * removed since the copy was made, and assumes none (LINKS_GUESSED). As such a count may be wrong,
 * only a copy that was made while the inode above was known leaves the index with its last name.
 */
#include "links.h"

static inode_t *
overlay_index (xlator_t *this, struct itable *above)
{
    return realm_below (this, itable_root (above), overlay_priv (this)->n + 1);
}

static char *
overlay_index_name (const gfid_t *gfid)
{
    GString *name = g_string_new (NULL);

    for (size_t i = 0; i < sizeof gfid->b; i++)
        g_string_append_printf (name, "%02x", gfid->b[i]);
    return g_string_free (name, FALSE);
}

static bool
overlay_has_index (const xlator_t *this)
{
    return __atomic_load_n (&overlay_priv (this)->parts->has_index, __ATOMIC_ACQUIRE);
}

gfid_t
overlay_gfid_below (xlator_t *this, inode_t *inode)
{
    const gfid_t applied = overlay_applied (overlay_inode_get (this, inode));

    return gfid_is_null (&applied) ? inode->gfid : applied;
}

/* --- a copy ----------------------------------------------------------------------------------- */

/* Returns the number of names that the view has of a lower's file. */
static unsigned
index_count (const struct overlay_inode *state, unsigned links)
{
    const unsigned lost = __atomic_load_n (&state->lost_names, __ATOMIC_RELAXED);

    return links > lost ? links - lost : 0;
}

static void
index_begin (struct overlay_inode *state, unsigned links)
{
    pthread_mutex_lock (&state->parts->lock);
    state->links = LINKS_EXACT;
    __atomic_store_n (&state->other_names, index_count (state, links), __ATOMIC_RELAXED);
    __atomic_store_n (&state->indexed, true, __ATOMIC_RELAXED);
    pthread_mutex_unlock (&state->parts->lock);
}

int
overlay_index_add (struct overlay_act *act, inode_t *inode, const struct iatt *buf, bool named,
                   inode_t *made, bool *ret_indexed)
{
    struct overlay_inode *state = overlay_inode_get (act->this, inode);
    const gfid_t gfid = overlay_gfid_below (act->this, inode);
    g_autofree char *name = overlay_index_name (&gfid);
    inode_t *index = overlay_index (act->this, act->above);
    bool had;
    int r;

    if (buf->ia_type == IA_IFDIR || inode_is_detached (inode)
        || index_count (state, buf->ia_nlink) <= named)
        return 0;
    had = __atomic_exchange_n (&state->parts->has_index, true, __ATOMIC_ACQ_REL);
    r = had ? 0 : overlay_sync_inode (act, OVERLAY_UPPER, overlay_work (act));
    if (r == 0)
        r = sync_name_link (overlay_daemon (act, OVERLAY_UPPER), made, index, name);
    if (r < 0)
        return r == -EEXIST ? -ESTALE : r; /* what has the name is used after the next lookup */
    *ret_indexed = true;
    index_begin (state, buf->ia_nlink);
    return overlay_sync_inode (act, OVERLAY_UPPER, index);
}

/* --- names that come and go ------------------------------------------------------------------- */

void
overlay_name_copied (xlator_t *this, inode_t *inode)
{
    struct overlay_inode *state = overlay_inode_get (this, inode);

    pthread_mutex_lock (&state->parts->lock);
    if (state->other_names > 0)
        __atomic_store_n (&state->other_names, state->other_names - 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock (&state->parts->lock);
}

void
overlay_name_lost (xlator_t *this, inode_t *inode, bool lost)
{
    struct overlay_inode *state = overlay_inode_get (this, inode);
    const unsigned one = lost ? 1 : -1u;

    pthread_mutex_lock (&state->parts->lock);
    __atomic_store_n (&state->lost_names, state->lost_names + one, __ATOMIC_RELAXED);
    if (state->indexed && (state->other_names > 0 || !lost))
        __atomic_store_n (&state->other_names, state->other_names - one, __ATOMIC_RELAXED);
    pthread_mutex_unlock (&state->parts->lock);
}

/* Whether all names that the copy has in the view are in the upper. */
static bool
index_knows_all (struct overlay_inode *state)
{
    bool all;

    pthread_mutex_lock (&state->parts->lock);
    all = state->links == LINKS_EXACT && state->other_names == 0;
    pthread_mutex_unlock (&state->parts->lock);
    return all;
}

void
overlay_name_removed (struct overlay_act *act, inode_t *parent, inode_t *inode)
{
    struct overlay_inode *state = overlay_inode_get (act->this, inode);
    const gfid_t gfid = overlay_gfid_below (act->this, inode);
    inode_t *copy = realm_below (act->this, inode, OVERLAY_UPPER);

    if (!__atomic_load_n (&state->indexed, __ATOMIC_RELAXED))
        return;
    overlay_unsynced (act->this, realm_below (act->this, parent, OVERLAY_UPPER));
    if (copy && index_knows_all (state))
        overlay_sweep_index (act->this, overlay_index_name (&gfid), copy);
}

int
overlay_index_sweep (struct overlay_act *act, const char *name, const inode_t *copy)
{
    struct client *client = overlay_daemon (act, OVERLAY_UPPER);
    inode_t *index = overlay_index (act->this, act->above);
    g_autoptr (inode_t) there = NULL;
    struct iatt buf;
    int r = sync_name_look (client, index, name, &there, &buf);

    if (r < 0 || there != copy || buf.ia_nlink > 1)
        return r == -ENOENT ? 0 : r;
    r = overlay_sync_all (act);
    return r < 0 ? r : sync_name_remove (client, index, name, there);
}

int
overlay_index_has (struct overlay_act *act, const gfid_t *gfid, const inode_t *copy, bool *ret_has)
{
    g_autofree char *name = overlay_index_name (gfid);
    g_autoptr (inode_t) there = NULL;
    struct iatt buf;
    const int r = sync_name_look (overlay_daemon (act, OVERLAY_UPPER),
                                  overlay_index (act->this, act->above), name, &there, &buf);

    *ret_has = r == 0 && there == copy;
    return r == -ENOENT ? 0 : r;
}

int
overlay_index_remove (struct overlay_act *act, const gfid_t *gfid, inode_t *copy)
{
    g_autofree char *name = overlay_index_name (gfid);
    bool has;
    const int r = overlay_index_has (act, gfid, copy, &has);

    return r < 0 || !has ? r : sync_name_remove (overlay_daemon (act, OVERLAY_UPPER),
                                                 overlay_index (act->this, act->above), name,
                                                 copy);
}

void
overlay_name_applied (xlator_t *this, struct itable *above, const gfid_t *gfid)
{
    const gfid_t known = overlay_gfid_above (this, gfid);
    g_autoptr (inode_t) inode = inode_find (above, &known);
    struct overlay_inode *state = inode ? overlay_inode_get (this, inode) : NULL;

    if (!state)
        return;
    pthread_mutex_lock (&state->parts->lock);
    if (state->lost_names > 0)
        __atomic_store_n (&state->lost_names, state->lost_names - 1, __ATOMIC_RELAXED);
    state->lost_frozen = MIN (state->lost_frozen, state->lost_names);
    pthread_mutex_unlock (&state->parts->lock);
}

void
overlay_links_forget_locked (struct overlay_inode *state)
{
    __atomic_store_n (&state->lost_names, state->lost_frozen, __ATOMIC_RELAXED);
    if (state->links == LINKS_EXACT)
        state->links = LINKS_GUESSED;
}

void
overlay_links_forget (xlator_t *this)
{
    struct overlay_shared *parts = overlay_priv (this)->parts;

    pthread_mutex_lock (&parts->lock);
    g_array_append_val (parts->discards_at, parts->freezes);
    __atomic_add_fetch (&parts->discards, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock (&parts->lock);
}

GArray *
overlay_changed_gfids (xlator_t *this)
{
    struct overlay_shared *parts = overlay_priv (this)->parts;
    GArray *gfids = g_array_new (FALSE, FALSE, sizeof (gfid_t));
    GHashTableIter at;
    gpointer data;

    pthread_mutex_lock (&parts->lock);
    g_hash_table_iter_init (&at, parts->inodes);
    while (g_hash_table_iter_next (&at, NULL, &data)) {
        const struct overlay_inode *state = data;

        if (__atomic_load_n (&state->copied, __ATOMIC_RELAXED)
            || __atomic_load_n (&state->lost_names, __ATOMIC_RELAXED) > 0)
            g_array_append_val (gfids, state->inode->gfid);
    }
    pthread_mutex_unlock (&parts->lock);
    return gfids;
}

void
overlay_links_applied (struct overlay_inode *state)
{
    pthread_mutex_lock (&state->parts->lock);
    state->lost_frozen = 0;
    overlay_links_forget_locked (state);
    state->links = LINKS_UNKNOWN;
    __atomic_store_n (&state->other_names, 0, __ATOMIC_RELAXED);
    __atomic_store_n (&state->indexed, false, __ATOMIC_RELAXED);
    pthread_mutex_unlock (&state->parts->lock);
}

/* --- a freeze --------------------------------------------------------------------------------- */

int
overlay_index_list (struct overlay_act *act, GPtrArray *names)
{
    return sync_names_list (overlay_daemon (act, OVERLAY_UPPER),
                            overlay_fds (act, OVERLAY_UPPER),
                            overlay_index (act->this, act->above), names);
}

/* All names count in the copy's link count from now on. */
static void
index_end (struct overlay_inode *state)
{
    pthread_mutex_lock (&state->parts->lock);
    state->links = LINKS_EXACT;
    __atomic_store_n (&state->other_names, 0, __ATOMIC_RELAXED);
    __atomic_store_n (&state->indexed, false, __ATOMIC_RELAXED);
    pthread_mutex_unlock (&state->parts->lock);
}

int
overlay_index_settled (struct overlay_act *act, const char *name)
{
    struct client *client = overlay_daemon (act, OVERLAY_UPPER);
    inode_t *index = overlay_index (act->this, act->above);
    g_autoptr (inode_t) copy = NULL, above = NULL;
    struct overlay_inode *state;
    struct iatt buf;
    int r = sync_name_look (client, index, name, &copy, &buf);

    if (r == 0)
        r = sync_name_remove (client, index, name, copy);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    overlay_unsynced (act->this, index);
    above = overlay_index_above (act, name);
    state = above ? overlay_inode_known (act->this, above) : NULL;
    if (state && realm_below (act->this, above, OVERLAY_UPPER) == copy)
        index_end (state);
    return 0;
}

/* --- a discard -------------------------------------------------------------------------------- */

int
overlay_index_read (struct overlay_act *act, GHashTable **ret_names)
{
    struct client *client = overlay_daemon (act, OVERLAY_UPPER);
    inode_t *index = overlay_index (act->this, act->above);
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    int r = overlay_has_index (act->this) ? overlay_index_list (act, names) : 0;

    *ret_names = g_hash_table_new_full (NULL, NULL, (GDestroyNotify) inode_unref, g_free);
    for (guint i = 0; r == 0 && i < names->len; i++) {
        inode_t *copy;
        struct iatt buf;

        r = sync_name_look (client, index, names->pdata[i], &copy, &buf);
        if (r == 0)
            g_hash_table_replace (*ret_names, copy, g_strdup (names->pdata[i]));
        r = r == -ENOENT ? 0 : r;
    }
    return r;
}

/* Files that leave the index. */
struct index_leaving {
    struct overlay_act *act;
    inode_t *index;
    inode_t *directory; /* as of overlay_index_discard; NULL: it has been synced */
    GHashTable *names;  /* of overlay_index_read, of those that are still in it */
    void (*gone) (inode_t *above, void *data);
    void *data;
};

inode_t *
overlay_index_above (struct overlay_act *act, const char *name)
{
    gfid_t gfid = { 0 };

    for (size_t i = 0; i < sizeof gfid.b && name[2 * i] && name[2 * i + 1]; i++)
        gfid.b[i] = (unsigned char) (g_ascii_xdigit_value (name[2 * i]) << 4
                                     | g_ascii_xdigit_value (name[2 * i + 1]));
    gfid = overlay_gfid_above (act->this, &gfid);
    return inode_find (act->above, &gfid);
}

/* The name in the upper may not come back after a power cut, when the index has none. */
static int
index_leave (struct index_leaving *leaving, const char *name, inode_t *copy)
{
    struct overlay_act *act = leaving->act;
    g_autoptr (inode_t) above = NULL;
    int r = leaving->directory
                ? overlay_sync_inode (act, OVERLAY_UPPER, leaving->directory) : 0;

    if (r == 0)
        r = sync_name_remove (overlay_daemon (act, OVERLAY_UPPER), leaving->index, name, copy);
    if (r < 0)
        return r;
    leaving->directory = NULL;
    overlay_unsynced (act->this, leaving->index);
    above = overlay_index_above (act, name);
    if (above)
        leaving->gone (above, leaving->data);
    return 0;
}

static int
index_leave_file (const struct sync_tree *tree, inode_t *directory, const char *name,
                  inode_t *inode, const struct iatt *buf)
{
    struct index_leaving *leaving = tree->data;
    const char *indexed = g_hash_table_lookup (leaving->names, inode);
    int r = 0;

    if (indexed)
        r = index_leave (leaving, indexed, inode);
    if (indexed)
        g_hash_table_remove (leaving->names, inode);
    return r;
}

static int
index_leave_all (struct index_leaving *leaving)
{
    GHashTableIter at;
    gpointer copy, name;
    int r = 0;

    g_hash_table_iter_init (&at, leaving->names);
    while (r == 0 && g_hash_table_iter_next (&at, &copy, &name))
        r = index_leave (leaving, name, copy);
    return r;
}

int
overlay_index_discard (struct overlay_act *act, GHashTable *names, inode_t *directory,
                       const char *name, void (*gone) (inode_t *above, void *data), void *data)
{
    struct index_leaving leaving = { act, overlay_index (act->this, act->above), directory, names,
                                     gone, data };
    const struct sync_tree tree = { .client = overlay_daemon (act, OVERLAY_UPPER),
                                    .fds = overlay_fds (act, OVERLAY_UPPER),
                                    .fn = index_leave_file, .data = &leaving };

    if (g_hash_table_size (names) == 0)
        return 0;
    return name ? sync_tree_each (&tree, overlay_work (act), name) : index_leave_all (&leaving);
}

/* --- the step of a lookup --------------------------------------------------------------------- */

/* Of a file of a lower that has several names, another one may have been copied. Of a copy, the
 * index tells whether it counts as a name. */
bool
overlay_index_when (void *data)
{
    const struct overlay_local *local = data;
    const struct overlay_look *look = &local->look;

    if (local->buf.ia_type == IA_IFDIR || local->buf.ia_nlink < 2
        || !overlay_has_index (local->sequence.frame->this))
        return false;
    return look->first != OVERLAY_UPPER || overlay_has (&look->first_marks, OVERLAY_ORIGIN);
}

void
overlay_index_run (void *data)
{
    struct overlay_local *local = data;
    xlator_t *this = local->sequence.frame->this;
    inode_t *index = overlay_index (this, local->look.loc.parent->table);
    g_autofree char *name = overlay_index_name (overlay_look_gfid (local));
    g_autoptr (inode_t) fresh = inode_new (index->table);
    loc_t loc = { .name = name, .parent = index, .inode = fresh };

    if (!local->sequence.own)
        local->sequence.own = &stack_new_internal (this, local->sequence.frame)->frames[0];
    STEP_WIND (&local->sequence, local->sequence.own, 0, FIRST_CHILD (this), lookup, &loc, NULL);
    loc_wipe_path (&loc);
}

/* A lower's file is known to be another one only by its type. */
static void
index_take (struct overlay_local *local, inode_t *copy, const struct iatt *buf)
{
    struct overlay_look *look = &local->look;

    if (buf->ia_type != local->buf.ia_type)
        return;
    look->below[OVERLAY_UPPER] = inode_ref (copy);
    look->lower_links = local->buf.ia_nlink;
    look->indexed = true;
    if (look->number == 0 && look->first_marks.number == 0) /* that of a frozen copy's origin */
        look->number = overlay_number (local->sequence.frame->this, look->first,
                                       local->buf.ia_ino);
}

int
overlay_index_judge (void *data)
{
    struct overlay_local *local = data;
    struct overlay_look *look = &local->look;
    inode_t *index = overlay_index (local->sequence.frame->this, look->loc.parent->table);
    g_autofree char *name = overlay_index_name (overlay_look_gfid (local));
    const struct fan_answer *answer = &local->sequence.fan.answers[0];
    g_autoptr (inode_t) linked = NULL;

    if (answer->op_ret < 0)
        return answer->op_errno == ENOENT ? 0 : -answer->op_errno;
    linked = inode_link (answer->lookup.inode, index, name, &answer->lookup.buf);
    if (look->first == OVERLAY_UPPER)
        look->indexed = linked == look->below[OVERLAY_UPPER];
    else
        index_take (local, linked, &answer->lookup.buf);
    look->links = answer->lookup.buf.ia_nlink;
    return 0;
}

void
overlay_index_record (xlator_t *this, inode_t *inode, const struct overlay_look *look)
{
    struct overlay_inode *state = overlay_inode_get (this, inode);
    const unsigned copied = look->links - 1;

    if (!look->indexed)
        return;
    pthread_mutex_lock (&state->parts->lock);
    __atomic_store_n (&state->indexed, true, __ATOMIC_RELAXED);
    if (state->links == LINKS_UNKNOWN && look->lower_links > 0) {
        state->links = LINKS_GUESSED;
        __atomic_store_n (&state->other_names,
                          look->lower_links > copied ? look->lower_links - copied : 0,
                          __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock (&state->parts->lock);
}
