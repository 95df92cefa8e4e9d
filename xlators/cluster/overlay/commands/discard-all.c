/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A discard of everything: the view gets a new, empty upper in the place of the one that it has.
 *
 * The root of the new upper is made in work, like that of a freeze, and synced. In a pause it
 * changes places with the upper, by one rename, which is the discard: before it nothing has
 * happened, and after it everything. What else happens in the pause is for each inode that is known
 * of the old upper: it is detached. The old upper lies in work then. It is listed after the pause,
 * and the kernel and the caches are told the names in its root: those of whiteouts, too, since the
 * kernel remembers for a long time that a name is missing. At last it is removed.
 */
#include "discard.h"
#include "../formats/records.h"
#include "../names/links.h"
#include "../start/layers.h"

struct discard_all {
    struct overlay_act act;
    struct job *job;
    struct overlay_clearing clearing; /* of the upper */
    struct iatt old_buf; /* of its root */
    uint64_t records;    /* overlay_records_now of the pause */
    bool by_names;       /* another graph has come */
    bool unsynced;       /* the rename */
    struct pause *pause;
};

/* --- before the pause ------------------------------------------------------------------------- */

/* The new root shows what the root of the first lower shows. */
static int
all_make (struct discard_all *all)
{
    struct overlay_act *act = &all->act;
    inode_t *root = itable_root (act->above);
    struct iatt buf;
    const struct overlay_model lower = { 1, realm_below (act->this, root, 1), &buf };
    int r = overlay_stat_upper (act, root, &all->old_buf);

    if (r == 0)
        r = sync_name_stat (overlay_daemon (act, lower.slot), lower.inode, &buf);
    return r < 0 ? r : overlay_clearing_begin (act, OVERLAY_UPPER, &lower, &all->clearing);
}

static int
all_prepare (struct discard_all *all)
{
    const int r = all_make (all);

    if (r < 0)
        job_refuse (all->job, "a new upper can't be made: %s; nothing was discarded",
                    g_strerror (-r));
    return r;
}

/* --- in the pause ----------------------------------------------------------------------------- */

/* Whether the old upper has an object. A graph that has ended may have copied it, and this one not
 * know that yet. */
static bool
all_had (xlator_t *this, inode_t *inode)
{
    const struct overlay_inode *state = overlay_inode_known (this, inode);

    return realm_below (this, inode, OVERLAY_UPPER)
           || (state && __atomic_load_n (&state->copy, __ATOMIC_ACQUIRE));
}

/* A name in the root above. */
static void
all_forget (inode_t *root, const char *name, void *data)
{
    const struct discard_all *all = data;
    const struct discarding discarding = { all->act.this, all->pause };
    g_autoptr (inode_t) inode = inode_grep (root, name);

    if (inode && all_had (all->act.this, inode))
        discard_inode (&discarding, inode);
}

/* Files that have a name in the index. */
static int
all_forget_linked (struct discard_all *all)
{
    struct discarding discarding = { all->act.this, all->pause };
    g_autoptr (GHashTable) names = NULL;
    int r = overlay_index_read (&all->act, &names);

    if (r == 0)
        r = overlay_index_discard (&all->act, names, all->clearing.directory, NULL,
                                   discard_linked, &discarding);
    if (r < 0)
        job_refuse (all->job, "all names were discarded, but for files of which the directory "
                    "below has several names (hard links): %s; give the command again",
                    g_strerror (-r));
    return r;
}

static int
all_in_pause (struct pause *pause, void *data)
{
    struct discard_all *all = data;
    inode_t *root = itable_root (all->act.above);
    int r;

    all->by_names = !overlay_is_only_graph (all->act.this);
    if (all->by_names)
        return 0;
    all->pause = pause;
    discard_removed (&all->act, pause);
    r = overlay_clearing_run (&all->act, &all->clearing);
    if (r < 0) {
        job_refuse (all->job, "the new upper can't take the place of '%s': %s; nothing was "
                    "discarded", overlay_priv (all->act.this)->layers[OVERLAY_UPPER].path,
                    g_strerror (-r));
        return r;
    }
    overlay_upper_emptied (&all->act, &all->old_buf);
    all->records = overlay_records_now (all->act.this);
    overlay_links_forget (all->act.this);
    inode_each_child (root, all_forget, all);
    pause_invalidate (pause, &(struct invalidation){ .inode = root, .what = INVALIDATE_ALL });
    return all_forget_linked (all);
}

/* --- after the pause -------------------------------------------------------------------------- */

/* Tells the names in the root of the old upper. Returns how many there are, or a negative errno. */
static int
all_tell (struct discard_all *all)
{
    struct overlay_act *act = &all->act;
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    const int r = sync_names_list (overlay_daemon (act, OVERLAY_UPPER),
                                   overlay_fds (act, OVERLAY_UPPER), all->clearing.old, names);

    for (guint i = 0; i < names->len; i++)
        xlator_pass_on (act->this, XLATOR_INVALIDATE,
                        &(struct invalidation){ .inode = itable_root (act->above),
                                                .name = names->pdata[i],
                                                .what = INVALIDATE_NAMES
                                                        | INVALIDATE_ATTRIBUTES });
    if (r < 0)
        job_refuse (all->job, "the names were discarded, but they can't be listed: %s; the kernel "
                    "may show some of them as before for a while", g_strerror (-r));
    return r < 0 ? r : (int) names->len;
}

/* If the rename can't be synced, the old upper is left to the next start: after a power cut it may
 * be the upper again. */
static int
all_settle (struct discard_all *all, int64_t held)
{
    struct overlay_act *act = &all->act;
    const int n = all_tell (all);
    int r;

    discard_records (act->this, "/", all->records);
    r = discard_synced (all->job, overlay_clearing_sync (act, &all->clearing));
    all->unsynced = r < 0;
    if (r < 0)
        return r;
    if (n >= 0)
        discard_print (all->job, (unsigned) n, held);
    return MIN (n, 0);
}

static int
all_carry_out (struct discard_all *all)
{
    struct overlay_pause wanted = { .job = all->job, .fn = all_in_pause, .data = all,
                                    .outcome = "nothing was discarded" };
    int r = all_prepare (all), settled;

    if (r == 0)
        r = overlay_pause_run (all->act.this, &wanted);
    if (!all->clearing.old)
        return r < 0 ? r : DISCARD_BY_NAMES;
    settled = all_settle (all, wanted.held);
    return r < 0 ? r : settled;
}

int
discard_all (struct job *job, const struct overlay_order *order)
{
    struct discard_all all = { .job = job };
    int r;

    overlay_act_begin (&all.act, order->this, NULL, realm_root_above (order->this));
    r = all_carry_out (&all);
    overlay_clearing_end (&all.act, &all.clearing, !all.unsynced);
    overlay_act_end (&all.act);
    return r;
}
