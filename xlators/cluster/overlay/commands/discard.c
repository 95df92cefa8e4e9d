/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass overlay discard: the view shows what the lowers have, for all names or for some. Here
 * are those for some; discard-all.c discards everything.
 *
 * In a pause (core/work/pause.h) the upper's object of each name moves to work, one rename each,
 * and the inodes that had a part in it are detached: files that programs have open go on as removed
 * ones. What moved to work is removed afterwards. All names are looked up before the pause; in it
 * the table below tells which of them the view has changed since, and only those are looked up
 * again. The first one moves when all are known, so a path that can't be discarded costs nothing.
 */
#include "discard.h"
#include "../names/links.h"
#include "../names/names.h"
#include "../formats/records.h"

#include <limits.h>

/* A name of the upper that goes. */
struct discard_name {
    char *path;     /* in the view, owned */
    const char *name; /* the last name of it, in path */
    inode_t *upper; /* its directory in the upper, with a reference */
    inode_t *inode; /* the object in the upper, a whiteout too, with a reference */
    char *away;     /* its name in work once it has moved; else NULL */
};

struct discard {
    struct overlay_act act;
    struct job *job;
    const struct overlay_order *order;
    GPtrArray *names;  /* of struct discard_name */
    bool all;          /* also what has changed of the root itself */
    uint64_t records;  /* overlay_records_now of the pause */
    GHashTable *index; /* of overlay_index_read, in the pause; owned */
    struct pause *pause;
};

static void
discard_name_free (void *data)
{
    struct discard_name *name = data;

    inode_unref (name->upper);
    inode_unref (name->inode);
    g_free (name->path);
    g_free (name->away);
    g_free (name);
}

static bool
discard_is_of_all (char *const *paths)
{
    bool all = !*paths;

    for (; *paths; paths++)
        all |= strcmp (*paths, "/") == 0;
    return all;
}

/* --- which names ------------------------------------------------------------------------------ */

static inode_t *
discard_upper_root (const struct discard *discard)
{
    return realm_below (discard->act.this, itable_root (discard->act.above), OVERLAY_UPPER);
}

/* Looks a name up. Returns 0, or a negative errno: -ENOENT if the upper has nothing there. */
static int
discard_look (struct discard *discard, struct discard_name *name)
{
    struct client *client = overlay_daemon (&discard->act, OVERLAY_UPPER);
    g_auto (GStrv) names = g_strsplit (name->path + 1, "/", -1);
    struct iatt buf;
    int r;

    g_clear_pointer (&name->upper, inode_unref);
    g_clear_pointer (&name->inode, inode_unref);
    r = overlay_walk (&discard->act, OVERLAY_UPPER, discard_upper_root (discard), names,
                      g_strv_length (names) - 1, false, &name->upper, &buf);
    return r < 0 ? r : sync_name_look (client, name->upper, name->name, &name->inode, &buf);
}

/* Adds a name that is still to be looked up. Takes the path. */
static struct discard_name *
discard_add (struct discard *discard, char *path)
{
    struct discard_name *name = g_new0 (struct discard_name, 1);

    *name = (struct discard_name){ .path = path, .name = strrchr (path, '/') + 1 };
    g_ptr_array_add (discard->names, name);
    return name;
}

static int
discard_find_all (struct discard *discard)
{
    struct client *client = overlay_daemon (&discard->act, OVERLAY_UPPER);
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    int r = sync_names_list (client, overlay_fds (&discard->act, OVERLAY_UPPER),
                             discard_upper_root (discard), names);

    for (guint i = 0; r == 0 && i < names->len; i++)
        r = discard_look (discard, discard_add (discard,
                                                g_strconcat ("/", names->pdata[i], NULL)));
    return r;
}

/* A path below another one goes with that. */
static bool
discard_is_below_another (char **paths, const char *path)
{
    for (; *paths; paths++)
        if (*paths != path && g_str_has_prefix (path, *paths)
            && (path[strlen (*paths)] == '/' || (!path[strlen (*paths)] && *paths < path)))
            return true;
    return false;
}

static int
discard_find (struct discard *discard, struct discard_name *name)
{
    const int r = discard_look (discard, name);

    if (r == -ENOTDIR)
        job_refuse (discard->job, "the view has removed or replaced a directory above '%s': that "
                                  "one can be discarded; nothing was discarded", name->path);
    else if (r == -ENOENT)
        job_refuse (discard->job, "the view has changed nothing at '%s'; nothing was discarded",
                    name->path);
    else if (r < 0)
        job_refuse (discard->job, "'%s': %s; nothing was discarded", name->path, g_strerror (-r));
    return r;
}

/* Before the pause. A discard of everything lists the names in it. */
static int
discard_find_paths (struct discard *discard)
{
    char **const paths = discard->order->paths;
    int r = 0;

    for (char **path = paths; r == 0 && !discard->all && *path; path++)
        if (!discard_is_below_another (paths, *path))
            r = discard_find (discard, discard_add (discard, g_strdup (*path)));
    return r;
}

/* Whether a name still stands for what was found: what the view does in the upper, the table of the
 * upper knows. */
static bool
discard_is_known (const struct discard *discard, const struct discard_name *name)
{
    inode_t *parent;
    g_autoptr (inode_t) inode = overlay_known_inode (discard_upper_root (discard), name->path,
                                                     &parent);
    const bool known = inode == name->inode && parent == name->upper;

    inode_unref (parent);
    return known;
}

static int
discard_find_again (struct discard *discard)
{
    int r = discard->all ? discard_find_all (discard) : 0;

    for (guint i = 0; r == 0 && !discard->all && i < discard->names->len; i++)
        if (!discard_is_known (discard, discard->names->pdata[i]))
            r = discard_find (discard, discard->names->pdata[i]);
    return r;
}

/* --- in the pause ----------------------------------------------------------------------------- */

/* todo: of directories, with references. */
static void
discard_dead_child (inode_t *parent, const char *name, void *todo)
{
    inode_t *child = inode_grep (parent, name);

    if (child && child->ia_type == IA_IFDIR)
        g_queue_push_tail (todo, child);
    else
        inode_unref (child);
}

/* No name can be made in directories that are detached. */
static void
discard_mark_dead (xlator_t *this, inode_t *inode)
{
    GQueue todo = G_QUEUE_INIT;

    if (inode->ia_type == IA_IFDIR)
        g_queue_push_tail (&todo, inode_ref (inode));
    while ((inode = g_queue_pop_head (&todo))) {
        overlay_die (this, inode, true);
        inode_each_child (inode, discard_dead_child, &todo);
        inode_unref (inode);
    }
}

static void
discard_tell_name (inode_t *parent, const char *name, void *data)
{
    const struct discarding *discarding = data;

    pause_invalidate (discarding->pause,
                      &(struct invalidation){ .inode = parent, .name = name,
                                              .what = INVALIDATE_NAMES | INVALIDATE_ATTRIBUTES });
}

/* The one name of a file is told by the caller. */
void
discard_inode (const struct discarding *discarding, inode_t *inode)
{
    g_autoptr (inode_t) parent = NULL;
    char name[NAME_MAX + 1];

    if (inode->ia_type != IA_IFDIR && !inode_only_name (inode, &parent, name))
        inode_each_name (inode, discard_tell_name, (void *) discarding);
    discard_mark_dead (discarding->this, inode);
    pause_detach (discarding->pause, inode);
}

static void
discard_forget (struct discard *discard, const struct discard_name *name)
{
    const struct discarding discarding = { discard->act.this, discard->pause };
    inode_t *parent;
    g_autoptr (inode_t) inode = overlay_known_inode (itable_root (discard->act.above), name->path,
                                                     &parent);

    if (inode)
        discard_inode (&discarding, inode);
    if (parent)
        pause_invalidate (discard->pause,
                          &(struct invalidation){ .inode = parent, .name = name->name,
                                                  .what = INVALIDATE_NAMES
                                                        | INVALIDATE_ATTRIBUTES });
    inode_unref (parent);
}

/* A hard-linked file of a lower: all its names show the lower's file again. */
void
discard_linked (inode_t *above, void *data)
{
    const struct discarding *discarding = data;

    inode_each_name (above, discard_tell_name, data);
    pause_detach (discarding->pause, above);
}

static int
discard_move (struct discard *discard, struct discard_name *name)
{
    struct discarding discarding = { discard->act.this, discard->pause };
    int r = overlay_move_to_work (&discard->act, name->upper, name->name, name->inode, 0,
                                  &name->away);

    if (r < 0)
        return r;
    if (!discard->all)
        r = overlay_index_discard (&discard->act, discard->index, name->upper, name->away,
                                   discard_linked, &discarding);
    discard_forget (discard, name);
    return r;
}

/* The root stays; it gets the attributes of the first lower's again. */
static int
discard_root (struct discard *discard)
{
    inode_t *root = itable_root (discard->act.above);
    inode_t *lower = realm_below (discard->act.this, root, 1);
    struct iatt buf;
    int r = sync_name_stat (overlay_daemon (&discard->act, 1), lower, &buf);

    if (r == 0)
        r = overlay_copy_attributes (&discard->act, 1, lower, &buf, discard_upper_root (discard));
    pause_invalidate (discard->pause, &(struct invalidation){ .inode = root,
                                                              .what = INVALIDATE_ALL });
    return r;
}

static int
discard_move_all (struct discard *discard)
{
    struct discarding discarding = { discard->act.this, discard->pause };
    int r = 0;

    for (guint i = 0; r == 0 && i < discard->names->len; i++) {
        struct discard_name *name = discard->names->pdata[i];

        r = discard_move (discard, name);
        if (r < 0)
            job_refuse (discard->job, "'%s': %s; %u other names were discarded", name->path,
                        g_strerror (-r), i);
    }
    if (r == 0 && discard->all)
        r = overlay_index_discard (&discard->act, discard->index, discard_upper_root (discard),
                                   NULL, discard_linked, &discarding);
    return r == 0 && discard->all ? discard_root (discard) : r;
}

/* Returns whether the view may show other names of a lower's file. */
static bool
discard_has_links (const struct overlay_act *act, inode_t *inode)
{
    const unsigned slot = overlay_slot (act->this, inode);
    struct iatt buf;

    return slot > OVERLAY_UPPER && slot < overlay_priv (act->this)->n
        && sync_name_stat (overlay_daemon (act, slot), realm_below (act->this, inode, slot), &buf)
               == 0
        && buf.ia_nlink > 1;
}

void
discard_removed (const struct overlay_act *act, struct pause *pause)
{
    g_autoptr (GArray) gfids = overlay_changed_gfids (act->this);

    for (guint i = 0; i < gfids->len; i++) {
        g_autoptr (inode_t) inode = inode_find (act->above, &g_array_index (gfids, gfid_t, i)),
                            parent = NULL;
        g_autofree char *name = NULL;

        if (inode && inode->ia_type != IA_IFDIR && !inode_a_name (inode, &parent, &name)
            && !discard_has_links (act, inode))
            pause_detach (pause, inode);
    }
}

static int
discard_in_pause (struct pause *pause, void *data)
{
    struct discard *discard = data;
    int r = discard_find_again (discard);

    discard->pause = pause;
    if (r < 0)
        return r;
    r = overlay_index_read (&discard->act, &discard->index);
    if (r < 0) {
        job_refuse (discard->job, "the names of hard-linked files in the work directory can't be "
                    "read: %s; nothing was discarded", g_strerror (-r));
        return r;
    }
    discard_removed (&discard->act, pause);
    overlay_links_forget (discard->act.this);
    discard->records = overlay_records_now (discard->act.this);
    return discard_move_all (discard);
}

/* --- the command ------------------------------------------------------------------------------ */

int
discard_synced (struct job *job, int r)
{
    if (r < 0)
        job_refuse (job, "the names were discarded, but a power cut may bring them back: %s",
                    g_strerror (-r));
    return r;
}

/* If there are layers between, the records tell of them. */
void
discard_records (xlator_t *this, const char *path, uint64_t until)
{
    if (overlay_priv (this)->n == 2)
        overlay_records_drop_until (this, path, until);
}

static int
discard_settle (struct discard *discard)
{
    for (guint i = 0; i < discard->names->len; i++) {
        const struct discard_name *name = discard->names->pdata[i];

        if (!name->away)
            continue;
        overlay_unsynced (discard->act.this, name->upper);
        discard_records (discard->act.this, name->path, discard->records);
    }
    return discard_synced (discard->job, overlay_sync_all (&discard->act));
}

static unsigned
discard_clean (struct discard *discard)
{
    unsigned n = 0;

    for (guint i = 0; i < discard->names->len; i++) {
        const struct discard_name *name = discard->names->pdata[i];

        if (!name->away)
            continue;
        n++;
        overlay_work_remove (&discard->act, name->away);
    }
    return n;
}

void
discard_print (struct job *job, unsigned n, int64_t held)
{
    job_print (job, "%u names discarded; requests waited for %.1f ms\n", n, (double) held / 1e6);
}

static int
discard_names (struct job *job, const struct overlay_order *order)
{
    struct discard discard = { .job = job, .order = order,
                               .all = discard_is_of_all (order->paths),
                               .names = g_ptr_array_new_with_free_func (discard_name_free) };
    struct overlay_pause wanted = { .job = job, .fn = discard_in_pause, .data = &discard,
                                    .outcome = "nothing was discarded" };
    unsigned n;
    int r;

    overlay_act_begin (&discard.act, order->this, NULL, realm_root_above (order->this));
    r = discard_find_paths (&discard);
    if (r == 0)
        r = overlay_pause_run (order->this, &wanted);
    if (r == 0)
        r = discard_settle (&discard);
    n = discard_clean (&discard);
    if (r == 0)
        discard_print (job, n, wanted.held);
    overlay_act_end (&discard.act);
    g_ptr_array_unref (discard.names);
    g_clear_pointer (&discard.index, g_hash_table_unref);
    return r;
}

int
overlay_discard (struct job *job, struct overlay_order *order)
{
    int r = DISCARD_BY_NAMES;

    if (discard_is_of_all (order->paths) && overlay_is_only_graph (order->this))
        r = discard_all (job, order);
    return r == DISCARD_BY_NAMES ? discard_names (job, order) : r;
}
