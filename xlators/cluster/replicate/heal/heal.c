/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Running heals, the objects that wait for a heal, and the commands that `windlass heal` sends. */
#include "heal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SELF_HEAL_PID (-6) /* process number by which GlusterFS's bricks recognise healers */

void
heals_init (xlator_t *this)
{
    struct heals *heals = g_new0 (struct heals, 1);

    pthread_mutex_init (&heals->lock, NULL);
    g_queue_init (&heals->background);
    g_queue_init (&heals->waiting);
    ((replicate_t *) this->private)->heals = heals;
    jobs_init (this);
}

/* --- one heal --------------------------------------------------------------------------------- */

static struct client *
heal_client (const xlator_t *this, xlator_t *xl, uint64_t owner)
{
    struct client *client = client_new_internal (this, xl);

    client->uid = 0;
    client->gid = 0;
    client->pid = SELF_HEAL_PID;
    client->lk_owner = owner;
    client->checked = true;
    return client;
}

static struct heal *
heal_new (xlator_t *this, unsigned what, copies_t there)
{
    replicate_t *priv = this->private;
    const uint64_t owner = owner_new (priv);
    struct heal *heal = g_new0 (struct heal, 1);

    heal->this = this;
    heal->what = what;
    heal->there = there;
    heal->chosen = -1;
    heal->self = heal_client (this, this, owner);
    for (unsigned i = 0; i < priv->n; i++)
        heal->children[i] = heal_client (this, priv->children[i], owner);
    heal->failed = true;
    g_queue_init (&heal->objects);
    return heal;
}

static void
heal_free (struct heal *heal)
{
    const replicate_t *priv = heal->this->private;
    inode_t *inode;

    while ((inode = g_queue_pop_head (&heal->objects)))
        inode_unref (inode);
    client_free (heal->self);
    for (unsigned i = 0; i < priv->n; i++)
        client_free (heal->children[i]);
    g_free (heal->path);
    g_free (heal);
}

/* --- finding the object ----------------------------------------------------------------------- */

/* Looks a name up on all copies. Returns its inode, with a reference; NULL with a negative errno in
 * *ret_error. */
static inode_t *
heal_find_name (struct heal *heal, inode_t *parent, const char *name, int *ret_error)
{
    loc_t loc = { .name = name, .parent = parent, .inode = inode_new (parent->table) };
    const uint64_t asked = names_now ();
    struct lookup_reply reply = { 0 };
    inode_t *found = NULL;

    *ret_error = sync_lookup (heal->self, &loc, NULL, &reply);
    if (*ret_error >= 0)
        found = inode_link_asked (reply.inode, parent, name, &reply.buf, asked);
    lookup_reply_drop (&reply);
    inode_unref (loc.inode);
    loc_wipe_path (&loc);
    return found;
}

/* Looks up the path that the heal's command named, name by name. Returns its inode, with a
 * reference; NULL after a line in the report. */
static inode_t *
heal_find (struct heal *heal)
{
    replicate_t *priv = heal->this->private;
    struct itable *table = __atomic_load_n (&priv->table, __ATOMIC_ACQUIRE);
    g_auto (GStrv) names = g_strsplit (heal->path, "/", 0);
    inode_t *inode = table ? inode_ref (itable_root (table)) : NULL;
    int error = 0;

    for (char **name = names; inode && *name; name++) {
        inode_t *parent = inode;

        if (**name == '\0')
            continue;
        inode = heal_find_name (heal, parent, *name, &error);
        inode_unref (parent);
    }
    if (!inode)
        heal_tell (heal, "%s: %s", heal->path,
                   error ? g_strerror (-error) : "nothing of the mount has been looked up yet");
    heal->missing = !inode && error == -ENOENT && heal->there == copies_all (priv->n);
    return inode;
}

/* --- running ---------------------------------------------------------------------------------- */

/* Invalidates the caches of the inode in the kernel and the translators above, which may have
 * values that were read from a sink. The names of a file stay valid: to invalidate a name, the
 * kernel takes the directory's lock, and a request that waits for the heal of a file (heal_from)
 * may hold that lock, which would be a deadlock. No request waits for the heal of a directory, so
 * its names are invalidated. */
static void
heal_invalidate (const struct heal *heal, inode_t *inode)
{
    struct invalidation healed = {
        .inode = inode,
        .what = inode->ia_type == IA_IFDIR ? INVALIDATE_ALL : INVALIDATE_FILE,
    };

    if (!job_must_stop (heal->job))
        xlator_pass_on (heal->this, XLATOR_INVALIDATE, &healed);
}

static int
heal_object (struct heal *heal, inode_t *inode)
{
    int metadata = 0, data = 0;

    if (heal->what & HEAL_METADATA)
        metadata = heal_metadata (heal, inode);
    if (inode->ia_type == IA_IFREG && heal->what & HEAL_DATA)
        data = heal_data (heal, inode);
    if (inode->ia_type == IA_IFDIR && heal->what & HEAL_ENTRIES)
        data = heal_entries (heal, inode);
    inode_stale (heal->this, inode);
    if (metadata > 0 || data > 0)
        heal_invalidate (heal, inode);
    return metadata < 0 ? metadata : data < 0 ? data : metadata + data;
}

/* An object that waits for its heal, since background-self-heal-count objects are being healed. */
struct waiting_heal {
    inode_t *inode; /* the object, with a reference */
    unsigned what;  /* parts to heal, a set of HEAL_* */
};

static void
waiting_heal_free (void *data)
{
    struct waiting_heal *waiting = data;

    inode_unref (waiting->inode);
    g_free (waiting);
}

/* Begins the heal of the object that has waited longest. */
static void
heals_next (xlator_t *this)
{
    struct heals *heals = heals_of (this);
    struct waiting_heal *next;

    pthread_mutex_lock (&heals->lock);
    next = g_queue_pop_head (&heals->waiting);
    pthread_mutex_unlock (&heals->lock);
    if (!next)
        return;
    heal_later (this, next->inode, next->what);
    waiting_heal_free (next);
}

/* Frees the heal of a job that has ended, or that could not begin. */
static void
heal_end (void *data)
{
    struct heal *heal = data;
    xlator_t *this = heal->this;
    struct heals *heals = heals_of (this);
    const bool background = heal->background != NULL;

    pthread_mutex_lock (&heals->lock);
    if (background)
        g_queue_remove (&heals->background, heal->background);
    pthread_mutex_unlock (&heals->lock);
    if (heal->ended)
        heal->ended (heal->data, heal->failed);
    heal_free (heal);
    if (background)
        heals_next (this);
}

static void
tell_gone (struct heal *heal, copies_t gone)
{
    g_autofree char *names = copies_text (heal->this->private, gone);

    heal_tell (heal, "not healed, since not connected: %s", names);
}

/* Heals the objects, to which heal_entries adds the objects that it has made. Returns the number of
 * healed objects. */
static unsigned
objects_heal (struct heal *heal)
{
    unsigned healed = 0;
    inode_t *inode;

    while ((inode = g_queue_pop_head (&heal->objects))) {
        const int r = job_next (heal->job) ? heal_object (heal, inode) : -EINTR;

        heal->failed |= r < 0;
        healed += r > 0;
        heal->what = HEAL_ALL; /* the objects that heal_entries has made are still empty */
        inode_unref (inode);
    }
    return healed;
}

static int
heal_run (struct job *job, void *data)
{
    struct heal *heal = data;
    replicate_t *priv = heal->this->private;
    const copies_t gone = copies_all (priv->n) & ~heal->there;
    inode_t *inode;

    __atomic_add_fetch (&priv->numbers.heals, 1, __ATOMIC_RELAXED);
    heal->job = job;
    heal->failed = heal->path && gone;
    if (heal->failed)
        tell_gone (heal, gone);
    if (heal->path) {
        inode = heal_find (heal);
        heal->failed |= !inode;
        if (inode)
            g_queue_push_tail (&heal->objects, inode);
    }
    if (objects_heal (heal) == 0 && !heal->failed)
        heal_tell (heal, "nothing to heal");
    if (heal->failed && !heal->missing && !job_must_stop (job))
        job_refuse (job, "not everything was healed");
    return job_must_stop (job) ? -EINTR : heal->missing ? -ENOENT : heal->failed ? -EIO : 0;
}

static bool
heals_are_enough_locked (xlator_t *this)
{
    const replicate_t *priv = this->private;

    return heals_of (this)->background.length
        >= __atomic_load_n (&priv->heals_max, __ATOMIC_RELAXED);
}

/* Puts an object in the queue of waiting objects, unless it is there already, or the queue is full.
 * Does nothing if no background heal runs, since background-self-heal-count is 0: an object leaves
 * the queue only when a background heal ends. */
static void
object_wait_locked (xlator_t *this, inode_t *inode, unsigned what)
{
    const replicate_t *priv = this->private;
    struct heals *heals = heals_of (this);
    struct waiting_heal *waiting;

    for (const GList *at = heals->waiting.head; at; at = at->next)
        if (((const struct waiting_heal *) at->data)->inode == inode)
            return;
    if (heals->background.length == 0
        || heals->waiting.length >= __atomic_load_n (&priv->heals_waiting_max, __ATOMIC_RELAXED))
        return;
    waiting = g_new (struct waiting_heal, 1);
    *waiting = (struct waiting_heal){ inode_ref (inode), what };
    g_queue_push_tail (&heals->waiting, waiting);
}

/* Notes that a background heal of the object begins. Returns false if it may not: the object is
 * being healed, or background-self-heal-count others are; then the object is put in the queue. */
static bool
object_begin (xlator_t *this, inode_t *inode, unsigned what)
{
    struct heals *heals = heals_of (this);
    bool may;

    pthread_mutex_lock (&heals->lock);
    may = !g_queue_find (&heals->background, inode);
    if (may && heals_are_enough_locked (this)) {
        object_wait_locked (this, inode, what);
        may = false;
    }
    if (may)
        g_queue_push_tail (&heals->background, inode);
    pthread_mutex_unlock (&heals->lock);
    return may;
}

/* Returns the job of a heal whose object has a path in the mount. */
static struct job_plan
heal_plan (struct heal *heal, const char *path)
{
    return (struct job_plan){ .name = "heal",
                              .about = path,
                              .unit = "bytes",
                              .run = heal_run,
                              .free = heal_end,
                              .data = heal };
}

/* Begins a heal that no command has asked for. */
static void
heal_begin (struct heal *heal, inode_t *inode)
{
    const replicate_t *priv = heal->this->private;
    g_autofree char *path = inode_path (inode, NULL);
    struct job_plan plan = heal_plan (heal, path);

    g_queue_push_tail (&heal->objects, inode_ref (inode));
    plan.pace = heal->background ? __atomic_load_n (&priv->heal_pace, __ATOMIC_RELAXED) : 0;
    plan.owed = heal->ended != NULL;
    (void) job_begin (heal->this, &plan); /* if it can't begin, heal_end was called */
}

/* A file may be looked up often while it is being healed, so this asks object_begin before it makes
 * a struct heal: to free one takes long, since client_free waits for the reports that are being
 * written. */
void
heal_later (xlator_t *this, inode_t *inode, unsigned what)
{
    replicate_t *priv = this->private;
    struct heal *heal;
    copies_t there;

    what &= inode_needs_heal (this, inode, &there);
    there &= children_up (priv);
    if (!what || copies_count (there) < 2 || !object_begin (this, inode, what))
        return;
    heal = heal_new (this, what, there);
    heal->background = inode;
    heal_begin (heal, inode);
}

void
heal_from (xlator_t *this, inode_t *inode, int child, void (*done) (void *data, bool failed),
           void *data)
{
    struct heal *heal = heal_new (this, HEAL_DATA | HEAL_METADATA, children_up (this->private));

    heal->chosen = child;
    heal->ended = done;
    heal->data = data;
    heal_begin (heal, inode);
}

/* --- the end ---------------------------------------------------------------------------------- */

void
heals_wait (xlator_t *this)
{
    struct heals *heals = heals_of (this);

    jobs_wait (this);
    g_queue_clear_full (&heals->waiting, waiting_heal_free);
}

void
heals_fini (xlator_t *this)
{
    replicate_t *priv = this->private;
    struct heals *heals = priv->heals;

    if (!heals)
        return;
    jobs_fini (this);
    g_queue_clear_full (&heals->waiting, waiting_heal_free);
    pthread_mutex_destroy (&heals->lock);
    g_free (g_steal_pointer (&priv->heals));
}

/* --- the command ------------------------------------------------------------------------------ */

static int
heal_command (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    const replicate_t *priv = this->private;
    const copies_t there = children_up (priv);
    struct job_plan plan;
    struct heal *heal;
    g_auto (GStrv) arguments = xlator_arguments (asked);

    if (copies_count (there) < 2) {
        g_autofree char *missing = copies_text (priv, copies_all (priv->n) & ~there);

        g_string_append_printf (answer,
                                "healing needs two connected copies, and these are not connected: "
                                "%s",
                                missing);
        return -ENOTCONN;
    }
    heal = heal_new (this, HEAL_ALL, there);
    heal->path = g_strdup (*arguments ? *arguments : "");
    plan = heal_plan (heal, heal->path);
    plan.asked = asked;
    return job_answers (this, &plan, answer);
}

const struct xlator_command heal_commands[] = {
    { "heal", "bring the copies of the file or directory at a path up to date",
      .run = heal_command, .arguments = "PATH", .job = true },
    {},
};
