/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stages of a graph: removals find them by directory and user, and `entries` takes out those
 * that are quiet. */
#include "../trash.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- finding ---------------------------------------------------------------------------------- */

guint
trash_stage_hash (gconstpointer stage)
{
    const struct trash_stage *one = stage;

    return gfid_hash (&one->directory) ^ one->who.uid * 2654435761u;
}

gboolean
trash_stage_same (gconstpointer a, gconstpointer b)
{
    const struct trash_stage *one = a, *other = b;

    return one->who.uid == other->who.uid && gfid_equal (&one->directory, &other->directory);
}

uid_t
trash_user (const call_stack_t *root)
{
    const uid_t own = geteuid ();

    return own == 0 ? root->uid : own;
}

/* Returns the stage in the set, if the directory still has its path. *ret_stale: it is not known
 * whether it has, since some directory has moved. */
static struct trash_stage *
stage_find_locked (trash_private_t *priv, inode_t *directory, uid_t uid, bool *ret_stale)
{
    const struct trash_stage key = { .directory = directory->gfid, .who = { .uid = uid } };
    struct trash_stage *stage = g_hash_table_lookup (priv->stages, &key);

    *ret_stale = stage && !names_are_of (directory, stage->named);
    return *ret_stale ? NULL : stage;
}

/* Compares the path of a directory with that of its stage, so that a move of another directory
 * costs the stage nothing. The table's lock is above private->lock. */
static struct trash_stage *
stage_find_again_locked (trash_private_t *priv, inode_t *directory, uid_t uid)
{
    const struct trash_stage key = { .directory = directory->gfid, .who = { .uid = uid } };
    const uint64_t now = names_now ();
    g_autofree char *path = NULL;
    struct trash_stage *stage;

    pthread_mutex_unlock (&priv->lock);
    path = inode_path (directory, NULL);
    pthread_mutex_lock (&priv->lock);
    stage = g_hash_table_lookup (priv->stages, &key);
    if (!stage || strcmp (stage->path, path) != 0)
        return NULL;
    stage->named = MAX (stage->named, now);
    return stage;
}

static struct trash_stage *
stage_of_locked (trash_private_t *priv, inode_t *directory, uid_t uid)
{
    bool stale;
    struct trash_stage *stage = stage_find_locked (priv, directory, uid, &stale);

    return stale ? stage_find_again_locked (priv, directory, uid) : stage;
}

struct trash_stage *
trash_stage_enter (xlator_t *this, inode_t *directory, uid_t uid)
{
    trash_private_t *priv = this->private;
    struct trash_stage *stage;

    pthread_mutex_lock (&priv->lock);
    stage = stage_of_locked (priv, directory, uid);
    if (stage) {
        stage->refs++;
        stage->users++;
    }
    pthread_mutex_unlock (&priv->lock);
    return stage;
}

uint32_t
trash_rename_flags (const xlator_t *this)
{
    return xlator_is_remote (FIRST_CHILD (this)) ? 0 : RENAME_NOREPLACE;
}

bool
trash_stage_reserve (xlator_t *this, struct trash_stage *stage, const char *name)
{
    trash_private_t *priv = this->private;
    bool fresh;

    if (trash_rename_flags (this) != 0)
        return true;
    pthread_mutex_lock (&priv->lock);
    if (!stage->taken)
        stage->taken = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
    fresh = g_hash_table_add (stage->taken, g_strdup (name));
    pthread_mutex_unlock (&priv->lock);
    return fresh;
}

static void
stage_touch_locked (trash_private_t *priv, struct trash_stage *stage)
{
    int64_t *last = g_hash_table_lookup (priv->last_of, GUINT_TO_POINTER (stage->who.uid));

    if (!last) {
        last = g_new (int64_t, 1);
        g_hash_table_insert (priv->last_of, GUINT_TO_POINTER (stage->who.uid), last);
    }
    *last = stage->last = clock_now ();
}

void
trash_stage_leave (xlator_t *this, struct trash_stage *stage, bool kept)
{
    trash_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    stage->users--;
    if (kept)
        stage_touch_locked (priv, stage);
    pthread_mutex_unlock (&priv->lock);
    if (kept)
        __atomic_add_fetch (&priv->kept, 1, __ATOMIC_RELAXED);
    trash_stage_unref (this, stage);
}

void
trash_stage_unref (xlator_t *this, struct trash_stage *stage)
{
    trash_private_t *priv = this->private;
    int refs;

    if (!stage)
        return;
    pthread_mutex_lock (&priv->lock);
    refs = --stage->refs;
    pthread_mutex_unlock (&priv->lock);
    if (refs > 0)
        return;
    inode_unref (stage->folder);
    g_free (stage->path);
    g_free (stage->program);
    g_clear_pointer (&stage->taken, g_hash_table_unref);
    g_clear_pointer (&stage->others, g_hash_table_unref);
    g_free (stage);
}

/* --- the set ---------------------------------------------------------------------------------- */

static void
stages_count_locked (trash_private_t *priv)
{
    __atomic_store_n (&priv->count,
                      g_hash_table_size (priv->stages) + priv->loose.length + priv->taken.length,
                      __ATOMIC_RELAXED);
}

/* Moves a stage of the set to the loose ones. */
static void
stage_loosen_locked (trash_private_t *priv, struct trash_stage *stage)
{
    if (g_hash_table_lookup (priv->stages, stage) != stage)
        return;
    g_hash_table_remove (priv->stages, stage);
    g_queue_push_tail (&priv->loose, stage);
}

void
trash_stage_add (xlator_t *this, struct trash_stage *stage)
{
    trash_private_t *priv = this->private;
    struct trash_stage *old;

    pthread_mutex_lock (&priv->lock);
    old = g_hash_table_lookup (priv->stages, stage);
    if (old)
        stage_loosen_locked (priv, old);
    g_hash_table_add (priv->stages, stage);
    stage_touch_locked (priv, stage);
    stages_count_locked (priv);
    pthread_mutex_unlock (&priv->lock);
    trash_stages_watch (this);
}

void
trash_stage_add_loose (xlator_t *this, struct trash_stage *stage)
{
    trash_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    g_queue_push_tail (&priv->loose, stage);
    stage_touch_locked (priv, stage);
    stages_count_locked (priv);
    pthread_mutex_unlock (&priv->lock);
    __atomic_add_fetch (&priv->kept, 1, __ATOMIC_RELAXED);
    trash_stages_watch (this);
}

void
trash_stage_retire (xlator_t *this, struct trash_stage *stage)
{
    trash_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    stage_loosen_locked (priv, stage);
    pthread_mutex_unlock (&priv->lock);
}

struct trash_stage *
trash_stage_take (xlator_t *this, inode_t *directory, uid_t uid)
{
    trash_private_t *priv = this->private;
    struct trash_stage *stage;

    pthread_mutex_lock (&priv->lock);
    stage = stage_of_locked (priv, directory, uid);
    if (stage)
        g_hash_table_remove (priv->stages, stage);
    stages_count_locked (priv);
    pthread_mutex_unlock (&priv->lock);
    return stage;
}

/* --- quiet stages ----------------------------------------------------------------------------- */

static bool
stage_is_of (const struct trash_stage *stage, int64_t whose)
{
    return whose == ALL_USERS || stage->who.uid == (uid_t) whose;
}

static bool
stage_is_quiet_locked (const trash_private_t *priv, const struct trash_stage *stage,
                       enum trash_quiet quiet, int64_t whose)
{
    const int64_t now = clock_now (), settle = __atomic_load_n (&priv->settle, __ATOMIC_RELAXED);
    const int64_t *last = g_hash_table_lookup (priv->last_of, GUINT_TO_POINTER (stage->who.uid));

    if (!stage_is_of (stage, whose))
        return false;
    if (stage->users > 0 || quiet == TRASH_ALL)
        return stage->users == 0;
    if (now < stage->not_before)
        return false;
    if (quiet == TRASH_ASKED)
        return now - *last >= MIN (settle / 5, TRASH_PAUSE);
    if (quiet == TRASH_PAUSED)
        return now - stage->last >= settle / 5;
    return now - *last >= settle
        || (now - stage->born >= MAX (TRASH_OLDEST, settle) && now - stage->last >= settle);
}

struct trash_stage *
trash_stage_next (xlator_t *this, enum trash_quiet quiet, int64_t whose)
{
    trash_private_t *priv = this->private;
    struct trash_stage *found = NULL;
    GHashTableIter at;
    gpointer stage;

    pthread_mutex_lock (&priv->lock);
    for (GList *one = priv->loose.head; one && !found; one = one->next)
        if (stage_is_quiet_locked (priv, one->data, quiet, whose)) {
            found = one->data;
            g_queue_delete_link (&priv->loose, one);
            break;
        }
    g_hash_table_iter_init (&at, priv->stages);
    while (!found && g_hash_table_iter_next (&at, &stage, NULL))
        if (stage_is_quiet_locked (priv, stage, quiet, whose)) {
            found = stage;
            g_hash_table_iter_remove (&at);
        }
    if (found)
        g_queue_push_tail (&priv->taken, found);
    pthread_mutex_unlock (&priv->lock);
    return found;
}

void
trash_stage_done (xlator_t *this, struct trash_stage *stage)
{
    trash_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    g_queue_remove (&priv->taken, stage);
    stages_count_locked (priv);
    pthread_mutex_unlock (&priv->lock);
    trash_stage_unref (this, stage);
}

static bool
queue_has_stage_of (const GQueue *queue, int64_t whose)
{
    bool has = false;

    for (const GList *one = queue->head; one && !has; one = one->next)
        has = stage_is_of (one->data, whose);
    return has;
}

bool
trash_stages_wait (xlator_t *this, int64_t whose)
{
    trash_private_t *priv = this->private;
    GHashTableIter at;
    gpointer stage;
    bool wait;

    if (__atomic_load_n (&priv->count, __ATOMIC_RELAXED) == 0)
        return false;
    pthread_mutex_lock (&priv->lock);
    wait = queue_has_stage_of (&priv->loose, whose) || queue_has_stage_of (&priv->taken, whose);
    g_hash_table_iter_init (&at, priv->stages);
    while (!wait && g_hash_table_iter_next (&at, &stage, NULL))
        wait = stage_is_of (stage, whose);
    pthread_mutex_unlock (&priv->lock);
    return wait;
}

void
trash_stage_again (xlator_t *this, struct trash_stage *stage, int64_t later)
{
    trash_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    stage->refs++;
    if (later > 0)
        stage->not_before = clock_now () + later;
    g_queue_push_tail (&priv->loose, stage);
    stages_count_locked (priv);
    pthread_mutex_unlock (&priv->lock);
}

/* Many entries take minutes, in which others may take the space. At the end of the graph the job
 * must stop, and trash_settle_all goes on instead: the daemon waits only seconds for functions on
 * other threads. */
static void
stages_make (xlator_t *this, struct trash_task *task)
{
    trash_private_t *priv = this->private;

    if (trash_entries_make (this, TRASH_SETTLED, ALL_USERS, clock_now () + TRASH_SLICE)) {
        trash_limits_hold (this, true);
        trash_line_add (&priv->entries, task);
        return;
    }
    g_free (task);
    if (trash_work_next (&priv->entries.work))
        trash_limits_hold (this, false);
    trash_stages_watch (this);
}

/* On the timer's thread. */
static void
stages_due (void *data)
{
    xlator_t *this = data;
    trash_private_t *priv = this->private;
    struct trash_task *task = g_new (struct trash_task, 1);

    *task = (struct trash_task){ stages_make, .background = true };
    pthread_mutex_lock (&priv->lock);
    priv->timer = NULL;
    if (priv->ending)
        g_free (task);
    else
        trash_line_add (&priv->entries, task);
    pthread_mutex_unlock (&priv->lock);
}

void
trash_stages_watch (xlator_t *this)
{
    trash_private_t *priv = this->private;
    const int64_t settle = __atomic_load_n (&priv->settle, __ATOMIC_RELAXED), now = clock_now ();
    int64_t wait;

    pthread_mutex_lock (&priv->lock);
    wait = priv->count > 0 ? settle : TRASH_LIMITS_EVERY;
    if (priv->timer && priv->timer_due > now + wait && timer_cancel (priv->timer))
        priv->timer = NULL;
    if (!priv->timer && !priv->ending && (priv->count > 0 || trash_has_limits (priv))) {
        priv->timer = timer_after (wait, stages_due, this);
        priv->timer_due = now + wait;
    }
    pthread_mutex_unlock (&priv->lock);
}
