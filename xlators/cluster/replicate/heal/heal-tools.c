/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions that all kinds of healing use: the report, locks, lookups on all copies, counters. */
#include "heal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* --- the report ------------------------------------------------------------------------------ */

void
heal_tell (struct heal *heal, const char *format, ...)
{
    g_autofree char *line = NULL;
    va_list args;

    va_start (args, format);
    line = g_strdup_vprintf (format, args);
    va_end (args);
    gf_log (heal->this, GF_LOG_INFO, "heal: %s", line);
    job_print (heal->job, "%s\n", line);
}

/* --- locks ------------------------------------------------------------------------------------ */

static int
heal_lock_copy (struct heal *heal, const struct heal_lock *lock, unsigned child, bool unlock,
                bool wait)
{
    g_autofree char *volume = lock->only_healers
                                  ? g_strdup_printf ("%s:self-heal", heal->this->name)
                                  : g_strdup (heal->this->name);
    struct gf_flock range = { .l_type = unlock ? F_UNLCK : F_WRLCK,
                              .l_start = lock->from,
                              .l_len = lock->len };
    loc_t loc = { .inode = lock->inode };
    int r;

    if (lock->entry)
        r = sync_entrylk (heal->children[child], volume, &loc, lock->name,
                          unlock ? ENTRYLK_UNLOCK
                          : wait ? ENTRYLK_LOCK
                                 : ENTRYLK_LOCK_NB,
                          ENTRYLK_WRLCK, NULL, NULL);
    else
        r = sync_inodelk (heal->children[child], volume, &loc, wait ? F_SETLKW : F_SETLK, &range,
                          NULL, NULL);
    loc_wipe_path (&loc);
    return r;
}

void
heal_unlock (struct heal *heal, struct heal_lock *lock)
{
    const replicate_t *priv = heal->this->private;

    for (unsigned i = 0; i < priv->n; i++)
        if (lock->held & COPY (i))
            heal_lock_copy (heal, lock, i, true, false);
    lock->held = 0;
}

int
heal_lock (struct heal *heal, struct heal_lock *lock, bool wait)
{
    const replicate_t *priv = heal->this->private;
    int r = 0;

    lock->held = 0;
    for (unsigned i = 0; r >= 0 && i < priv->n; i++) {
        if (!(heal->there & COPY (i)))
            continue;
        r = heal_lock_copy (heal, lock, i, false, wait);
        if (r >= 0)
            lock->held |= COPY (i);
    }
    if (r < 0)
        heal_unlock (heal, lock);
    return r < 0 ? r : 0;
}

/* --- the state of the copies ------------------------------------------------------------------ */

/* Reports that the lookup on one copy failed. The report for ESTALE names a known cause, a lost
 * handle: if one client links a file while another removes its last name, a brick of GlusterFS may
 * remove the file's handle, .glusterfs/AA/BB/GFID. */
static void
tell_lookup_failed (struct heal *heal, loc_t *loc, unsigned child, int error)
{
    const replicate_t *priv = heal->this->private;

    heal_tell (heal, "%s: the copy on %s can't be looked up: %s%s", loc_path (loc),
               priv->names[child], g_strerror (-error),
               error != -ESTALE ? ""
                                : "; if the brick's directory has the name, the brick has lost "
                                  "the file's handle: restart the brick, and heal again");
}

int
heal_refresh (struct heal *heal, inode_t *inode)
{
    const replicate_t *priv = heal->this->private;
    g_autoptr (dict_t) asked = changelog_asked (heal->this, NULL);
    loc_t loc = { .inode = inode };
    int r = 0;

    for (unsigned i = 0; i < priv->n; i++) {
        struct lookup_reply reply = { 0 };
        int error;

        heal->copies[i] = (struct copy){ 0 };
        if (!(heal->there & COPY (i)))
            continue;
        error = sync_lookup (heal->children[i], &loc, asked, &reply);
        copy_read (priv, &reply, &heal->copies[i]);
        heal->copies[i].locked = false;
        if (error < 0) {
            tell_lookup_failed (heal, &loc, i, error);
            r = error;
        } else if (!gfid_equal (&reply.buf.ia_gfid, &inode->gfid)) {
            r = -ESTALE;
        }
        lookup_reply_drop (&reply);
    }
    loc_wipe_path (&loc);
    return r;
}

static const char *
kind_name (enum counter_kind kind)
{
    return kind == COUNTER_DATA ? "data" : kind == COUNTER_METADATA ? "attributes" : "entries";
}

/* Returns the source of a heal in a split brain: the copy that a user chose, or else the copy that
 * favorite-child-policy selects; -1: none. The policy does not apply to directories. */
static int
favorite_of (struct heal *heal, inode_t *inode, enum counter_kind kind)
{
    const replicate_t *priv = heal->this->private;
    const copies_t among = copies_with_data (priv, heal->there);
    const int policy = __atomic_load_n (&priv->favorite, __ATOMIC_RELAXED);

    if (heal->chosen >= 0)
        return heal->chosen;
    return kind == COUNTER_ENTRY || inode->ia_type == IA_IFDIR
               ? -1
               : copies_favorite (heal->copies, priv->n, among, (enum favorite) policy);
}

static void
tell_split_brain (struct heal *heal, inode_t *inode, enum counter_kind kind)
{
    const replicate_t *priv = heal->this->private;
    g_autofree char *path = inode_path (inode, NULL);
    g_autoptr (GString) accusations = g_string_new (NULL);

    copies_print (heal->copies, priv->n, priv->names, accusations);
    g_strchomp (accusations->str);
    heal_tell (heal,
               "%s: split-brain of %s: every copy is accused by another; the option "
               "favorite-child-policy can choose the source\n%s",
               path, kind_name (kind), accusations->str);
}

static void
tell_no_data (struct heal *heal, inode_t *inode)
{
    const replicate_t *priv = heal->this->private;
    g_autofree char *path = inode_path (inode, NULL);

    heal_tell (heal, "%s: of the connected copies only the arbiter's is good (%s), and it has no "
                     "data: heal again when another good copy is connected",
               path, priv->names[priv->arbiter]);
}

int
heal_direct (struct heal *heal, inode_t *inode, enum counter_kind kind,
             struct heal_direction *ret_direction)
{
    replicate_t *priv = heal->this->private;
    copies_t sources;
    int favorite;

    *ret_direction = copies_direction (heal->copies, priv->n, kind, priv->arbiter);
    if (ret_direction->split_brain) {
        favorite = favorite_of (heal, inode, kind);
        if (favorite < 0) {
            tell_split_brain (heal, inode, kind);
            return -EIO;
        }
        ret_direction->sources = COPY (favorite);
        ret_direction->sinks = heal->there & ~COPY (favorite);
    }
    if (!ret_direction->sinks)
        return -1;
    sources = copies_with_data (priv, ret_direction->sources);
    if (!sources && kind == COUNTER_DATA) {
        tell_no_data (heal, inode);
        return -EIO;
    }
    if (!sources)
        sources = ret_direction->sources;
    return choose_copy (priv, sources, inode);
}

/* --- counters --------------------------------------------------------------------------------- */

/* Returns, with a reference, the dict for an xattrop on one copy. It subtracts from the copy's
 * pending counters against the set `healed` the values in `copy`; if `clean`, also from its dirty
 * counter. NULL: all these values are 0. */
static dict_t *
counters_negated (const struct heal *heal, const struct copy *copy, bool directory,
            enum counter_kind kind, copies_t healed, bool clean)
{
    const replicate_t *priv = heal->this->private;
    dict_t *negated = dict_new ();
    struct counter counter = { 0 };

    for (unsigned i = 0; i < priv->n; i++) {
        counter = (struct counter){ 0 };
        counter.count[kind] = -copy->accuses[i].count[kind];
        if (directory && kind == COUNTER_ENTRY)
            counter.count[COUNTER_DATA] = -copy->accuses[i].count[COUNTER_DATA];
        if (healed & COPY (i) && !counter_is_clear (&counter))
            counter_set (negated, priv->pending[i], &counter);
    }
    counter = (struct counter){ 0 };
    counter.count[kind] = -copy->dirty.count[kind];
    if (clean && !counter_is_clear (&counter))
        counter_set (negated, priv->dirty_name, &counter);
    if (dict_count (negated) == 0)
        g_clear_pointer (&negated, dict_unref);
    return negated;
}

int
heal_clear_counters (struct heal *heal, inode_t *inode, enum counter_kind kind, copies_t unhealed)
{
    const replicate_t *priv = heal->this->private;
    const copies_t accused = copies_accused (heal->copies, priv->n, kind);
    const copies_t healed = heal->there & ~unhealed;
    const bool clean = (healed | (accused & ~heal->there)) == copies_all (priv->n);
    g_autoptr (dict_t) purge = dict_new ();
    loc_t loc = { .inode = inode };
    int r = 0;

    dict_set_u64 (purge, "glusterfs.xattrop-purge-index", 1);
    for (unsigned i = 0; i < priv->n; i++) {
        g_autoptr (dict_t) negated = counters_negated (heal, &heal->copies[i],
                                                       inode->ia_type == IA_IFDIR, kind, healed,
                                                       clean);
        int error = 0;

        if (negated)
            error = sync_xattrop (heal->children[i], &loc, XATTROP_ADD_ARRAY, negated,
                                  kind == COUNTER_ENTRY ? purge : NULL, NULL);
        if (error < 0) {
            heal_tell (heal, "%s: pending counters on %s can't be cleared: %s", loc_path (&loc),
                       priv->names[i], g_strerror (-error));
            r = error;
        }
    }
    loc_wipe_path (&loc);
    return r;
}
