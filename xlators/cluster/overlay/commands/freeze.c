/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass overlay freeze: the upper, with all changes until now, becomes a layer that is only
 * read, and the view gets a new, empty upper (start/layers.c).
 *
 * Files of which a lower has several names get all of them in the upper before (settle.c). The root
 * of the new upper is made in work, and synced. In a pause one rename gives it its name, which is
 * the freeze: before it nothing has happened, and after it everything. The view shows the same
 * tree, so the kernel and the caches are told nothing. Open files stay open where they are; the
 * next change through one copies the file to the new upper.
 */
#include "commands.h"
#include "../names/links.h"
#include "../start/layers.h"

#define FREEZE_TRIES 10

struct freeze {
    struct overlay_act act;
    struct job *job;
    const struct overlay_order *order;
    char *path;        /* of the new upper, in the first child */
    char *name;        /* of it in work, before the pause */
    inode_t *root;     /* of the upper that is frozen; lent. A discard may replace it until the
                        * pause */
    struct iatt buf;   /* of it, as the new root has it */
    inode_t *made;     /* the new root, with a reference; NULL: none was made */
    inode_t *directory; /* where the new upper is, with a reference */
    bool origins;      /* the layer finds files by origin */
    bool unsettled;    /* the pause found a file in the index */
};

/* --- before the pause ------------------------------------------------------------------------- */

bool
overlay_is_only_graph (const xlator_t *this)
{
    const struct shared *claims = overlay_priv (this)->claims; /* of all graphs */

    return __atomic_load_n (&claims->refs, __ATOMIC_ACQUIRE) == 1;
}

int
overlay_refuse_old_graphs (xlator_t *this, struct job *job, const char *outcome)
{
    g_autofree char *file = NULL;

    if (overlay_is_only_graph (this))
        return 0;
    file = pause_old_file (this);
    if (file)
        job_refuse (job, "%s since before the last 'windlass reload', still uses the graph of "
                    "then; %s", file, outcome);
    else
        job_refuse (job, "a 'windlass reload' is under way, or the graph before it has not ended "
                    "yet; %s", outcome);
    return -EBUSY;
}

/* An old graph would write to the upper of before the freeze. */
static int
freeze_check_graphs (struct freeze *freeze)
{
    return overlay_refuse_old_graphs (freeze->act.this, freeze->job, "nothing was frozen");
}

static int
freeze_check (struct freeze *freeze)
{
    const overlay_private_t *priv = overlay_priv (freeze->act.this);
    int r;

    if (!overlay_layers_have_room (freeze->act.this)) {
        job_refuse (freeze->job, "a mount has room for %u freezes and commits, and this one has "
                    "had as many: unmount and mount again; nothing was frozen",
                    OVERLAY_LAYERS_ROOM);
        return -ENFILE;
    }
    r = overlay_layer_next (&freeze->act, &freeze->path);
    if (r == 0 && !freeze->path) {
        job_refuse (freeze->job, "'option upper' is '%s': only where it ends with a number, such "
                    "as layers/0, is there a name for the next layer; nothing was frozen",
                    priv->upper);
        r = -EINVAL;
    }
    return r < 0 ? r : freeze_check_graphs (freeze);
}

static int
freeze_make_root (struct freeze *freeze)
{
    struct overlay_act *act = &freeze->act;
    const struct overlay_model model = { OVERLAY_UPPER, freeze->root, &freeze->buf };
    int r = overlay_sync_all (act);

    freeze->name = overlay_work_name (act->this);
    freeze->origins = overlay_origins_are_found (act, OVERLAY_UPPER, freeze->root);
    if (r == 0)
        r = sync_name_stat (overlay_daemon (act, OVERLAY_UPPER), freeze->root, &freeze->buf);
    return r < 0 ? r : overlay_upper_make (act, overlay_work (act), freeze->name, &model,
                                           &freeze->made);
}

/* --- in the pause ----------------------------------------------------------------------------- */

static void
freeze_find_root (struct freeze *freeze)
{
    freeze->root = realm_below (freeze->act.this, itable_root (freeze->act.above), OVERLAY_UPPER);
}

/* The root may have changed since the new one was made. */
static int
freeze_root_again (struct freeze *freeze)
{
    struct overlay_act *act = &freeze->act;
    struct iatt now;
    int r;

    freeze_find_root (freeze);
    r = sync_name_stat (overlay_daemon (act, OVERLAY_UPPER), freeze->root, &now);
    if (r < 0)
        return r;
    if (now.ia_ctime == freeze->buf.ia_ctime && now.ia_ctime_nsec == freeze->buf.ia_ctime_nsec)
        return 0;
    overlay_unsynced (act->this, freeze->made);
    return overlay_copy_attributes (act, OVERLAY_UPPER, freeze->root, &now, freeze->made);
}

/* A file with several names may have been changed since the index was emptied. */
static int
freeze_check_index (struct freeze *freeze)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    const int r = overlay_index_list (&freeze->act, names);

    freeze->unsettled = r == 0 && names->len > 0;
    return r < 0 ? r : freeze->unsettled ? -EAGAIN : 0;
}

static int
freeze_in_pause (struct pause *pause, void *data)
{
    struct freeze *freeze = data;
    int r = freeze_check_graphs (freeze);

    if (r == 0)
        r = freeze_check_index (freeze);
    if (r == 0)
        r = freeze_root_again (freeze);
    if (r == 0)
        r = overlay_upper_publish (&freeze->act, overlay_work (&freeze->act), freeze->name,
                                   freeze->made, freeze->path, &freeze->directory);
    if (r < 0)
        return r;
    overlay_unsynced (freeze->act.this, freeze->directory);
    overlay_layer_push (&freeze->act, freeze->made, &freeze->buf, freeze->path,
                        freeze->origins);
    return 0;
}

/* --- the command ------------------------------------------------------------------------------ */

static void
freeze_print (struct freeze *freeze, const struct overlay_pause *wanted)
{
    const overlay_private_t *priv = overlay_priv (freeze->act.this);
    struct json json = { .out = g_string_new (NULL) };

    if (freeze->order->json) {
        json_open (&json, NULL, '{');
        json_string (&json, "frozen", priv->layers[1].path);
        json_string (&json, "upper", freeze->path);
        json_number (&json, "held_us", (uint64_t) wanted->held / 1000);
        json_string (&json, "not_written",
                     wanted->written < 0 ? g_strerror (-wanted->written) : NULL);
        json_close (&json, '}');
        job_print (freeze->job, "%s\n", json.out->str);
    } else {
        job_print (freeze->job, "'%s' is frozen; changes from now on, also those of open files, "
                   "are in '%s'; requests waited for %.1f ms\n", priv->layers[1].path, freeze->path,
                   (double) wanted->held / 1e6);
        if (wanted->written < 0)
            job_print (freeze->job, "the kernel had not written all data of open files before "
                       "(%s): that data is in '%s' as well\n", g_strerror (-wanted->written),
                       freeze->path);
    }
    g_string_free (json.out, TRUE);
}

/* Afterwards a power cut does not undo it. */
static int
freeze_sync (struct freeze *freeze)
{
    const int r = overlay_sync_all (&freeze->act);

    if (r < 0)
        job_refuse (freeze->job, "the layer is frozen, but a power cut may undo that: %s",
                    g_strerror (-r));
    return r;
}

static int
freeze_try (struct freeze *freeze, struct overlay_pause *wanted)
{
    int r = overlay_pause_run (freeze->act.this, wanted);

    for (unsigned tries = 1; freeze->unsettled && tries < FREEZE_TRIES; tries++) {
        freeze->unsettled = false;
        r = overlay_names_settle (&freeze->act, freeze->job, wanted->outcome);
        if (r == 0)
            r = overlay_pause_run (freeze->act.this, wanted);
    }
    if (freeze->unsettled)
        job_refuse (freeze->job, "programs change files with several names (hard links) all the "
                    "time; nothing was frozen");
    return freeze->unsettled ? -EBUSY : r;
}

static int
freeze_carry_out (struct freeze *freeze, struct overlay_pause *wanted)
{
    int r = freeze_check (freeze);

    *wanted = (struct overlay_pause){ .job = freeze->job, .fn = freeze_in_pause, .data = freeze,
                                      .outcome = "nothing was frozen" };
    if (r == 0)
        r = overlay_names_settle (&freeze->act, freeze->job, wanted->outcome);
    if (r < 0)
        return r;
    r = freeze_make_root (freeze);
    if (r < 0)
        job_refuse (freeze->job, "a new upper can't be made: %s; nothing was frozen",
                    g_strerror (-r));
    if (r == 0)
        r = freeze_try (freeze, wanted);
    if (r == 0)
        return freeze_sync (freeze);
    overlay_work_remove (&freeze->act, freeze->name);
    return r;
}

static void
freeze_begin (struct freeze *freeze, struct job *job, const struct overlay_order *order)
{
    *freeze = (struct freeze){ .job = job, .order = order };
    overlay_act_begin (&freeze->act, order->this, NULL, realm_root_above (order->this));
    freeze_find_root (freeze);
}

static void
freeze_end (struct freeze *freeze)
{
    inode_unref (freeze->made);
    inode_unref (freeze->directory);
    g_free (freeze->path);
    g_free (freeze->name);
    overlay_act_end (&freeze->act);
}

int
overlay_freeze (struct job *job, struct overlay_order *order)
{
    struct overlay_pause wanted;
    struct freeze freeze;
    int r;

    freeze_begin (&freeze, job, order);
    r = freeze_carry_out (&freeze, &wanted);
    if (r == 0)
        freeze_print (&freeze, &wanted);
    freeze_end (&freeze);
    return r;
}

int
overlay_freeze_check (struct job *job, struct overlay_order *order)
{
    struct freeze freeze;
    int r;

    freeze_begin (&freeze, job, order);
    r = freeze_check (&freeze);
    freeze_end (&freeze);
    return r;
}

int
overlay_freeze_now (struct job *job, struct overlay_order *order, int64_t *ret_held)
{
    struct overlay_pause wanted;
    struct freeze freeze;
    int r;

    freeze_begin (&freeze, job, order);
    r = freeze_carry_out (&freeze, &wanted);
    *ret_held = wanted.held;
    freeze_end (&freeze);
    return r;
}
