/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Running heals, the objects that wait for a heal, and the commands that `windlass heal` sends. */
#include "heal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SELF_HEAL_PID (-6) /* process number by which GlusterFS's bricks recognise healers */
#define REPORT_KEPT 60000000000ll /* time for which an unread report is kept, in nanoseconds */
#define REPORTS_MAX 64 /* number of heals above which unread reports are dropped at once */

void
heals_init (xlator_t *this)
{
    struct heals *heals = g_new0 (struct heals, 1);

    pthread_mutex_init (&heals->lock, NULL);
    thread_cond_init (&heals->idle);
    g_queue_init (&heals->all);
    g_queue_init (&heals->waiting);
    ((replicate_t *) this->private)->heals = heals;
    work_use ();
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
    heal->report = g_string_new (NULL);
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
    g_string_free (heal->report, TRUE);
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
    struct lookup_reply reply = { 0 };
    inode_t *found = NULL;

    *ret_error = sync_lookup (heal->self, &loc, NULL, &reply);
    if (*ret_error >= 0)
        found = inode_link (reply.inode, parent, name, &reply.buf);
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

    if (!heal_must_stop (heal))
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

/* Ends and frees a heal whose report no command reads: a background heal, or one of heal_from. */
static void
heal_forget (struct heal *heal, bool failed)
{
    xlator_t *this = heal->this;
    struct heals *heals = heals_of (this);
    const bool background = heal->background != NULL;

    pthread_mutex_lock (&heals->lock);
    heals->background -= background;
    g_queue_remove (&heals->all, heal);
    pthread_mutex_unlock (&heals->lock);
    if (heal->ended)
        heal->ended (heal->data, failed);
    heal_free (heal);
    if (background)
        heals_next (this);
}

/* Ends a heal. When `running` becomes 0, heals_wait returns and the translator may be freed. So
 * this thread lowers it last, and does not use the translator afterwards. */
static void
heal_finish (struct heal *heal, bool failed)
{
    struct heals *heals = heals_of (heal->this);
    const bool forget = heal->background || heal->ended;

    if (forget)
        heal_forget (heal, failed);
    pthread_mutex_lock (&heals->lock);
    if (!forget) {
        heal->finished = true;
        heal->failed = failed;
        heal->finished_at = clock_now ();
    }
    heals->running--;
    thread_cond_broadcast (&heals->idle);
    pthread_mutex_unlock (&heals->lock);
}

static void
heal_run (struct work_item *work)
{
    struct heal *heal = (struct heal *) ((char *) work - offsetof (struct heal, work));
    const replicate_t *priv = heal->this->private;
    bool failed = heal->path && heal->there != copies_all (priv->n);
    unsigned healed = 0;
    inode_t *inode;

    if (heal->path) {
        inode = heal_find (heal);
        failed |= !inode;
        if (inode)
            g_queue_push_tail (&heal->objects, inode);
    }
    while ((inode = g_queue_pop_head (&heal->objects))) {
        const int r = heal_must_stop (heal) ? -EINTR : heal_object (heal, inode);

        failed |= r < 0;
        healed += r > 0;
        heal->what = HEAL_ALL; /* heal_entries has made the next objects, still empty */
        inode_unref (inode);
    }
    if (!failed && healed == 0)
        heal_tell (heal, "nothing to heal");
    heal_finish (heal, failed);
}

/* Frees finished heals whose reports no command has read within REPORT_KEPT, or that are too
 * many. */
static void
heals_tidy_locked (struct heals *heals)
{
    for (GList *at = heals->all.head, *next; at; at = next) {
        struct heal *heal = at->data;

        next = at->next;
        if (heal->finished
            && (clock_now () - heal->finished_at > REPORT_KEPT
                || heals->all.length > REPORTS_MAX)) {
            g_queue_delete_link (&heals->all, at);
            heal_free (heal);
        }
    }
}

static bool
object_is_healed_locked (const struct heals *heals, const inode_t *inode)
{
    for (const GList *at = heals->all.head; at; at = at->next)
        if (((const struct heal *) at->data)->background == inode)
            return true;
    return false;
}

static bool
heals_are_enough_locked (xlator_t *this)
{
    const replicate_t *priv = this->private;

    return heals_of (this)->background >= __atomic_load_n (&priv->heals_max, __ATOMIC_RELAXED);
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
    if (heals->background == 0
        || heals->waiting.length >= __atomic_load_n (&priv->heals_waiting_max, __ATOMIC_RELAXED))
        return;
    waiting = g_new (struct waiting_heal, 1);
    *waiting = (struct waiting_heal){ inode_ref (inode), what };
    g_queue_push_tail (&heals->waiting, waiting);
}

/* Returns whether a heal may run. None may run once the graph ends. A background heal may not run
 * while the same object, or background-self-heal-count objects, are being healed in the
 * background. */
static bool
heal_may_run_locked (const struct heal *heal)
{
    const struct heals *heals = heals_of (heal->this);

    return !heals->ending
        && (!heal->background || (!object_is_healed_locked (heals, heal->background)
                                  && !heals_are_enough_locked (heal->this)));
}

/* Starts a heal on a thread of core/work, and returns its number. If the heal may not run, frees it
 * and returns 0. */
static unsigned
heal_begin (struct heal *heal)
{
    struct heals *heals = heals_of (heal->this);
    unsigned number = 0;

    pthread_mutex_lock (&heals->lock);
    heals_tidy_locked (heals);
    if (heal_may_run_locked (heal)) {
        number = heal->number = ++heals->last;
        heals->running++;
        heals->background += heal->background != NULL;
        g_queue_push_tail (&heals->all, heal);
    }
    pthread_mutex_unlock (&heals->lock);
    heal->work.run = heal_run;
    if (number)
        work_put (&heal->work);
    else
        heal_free (heal);
    return number;
}

/* Returns whether a background heal of the object may begin now. If background-self-heal-count
 * others run, it may not, and the object is put in the queue. */
static bool
object_may_begin (xlator_t *this, inode_t *inode, unsigned what)
{
    struct heals *heals = heals_of (this);
    bool may;

    pthread_mutex_lock (&heals->lock);
    may = !heals->ending && !object_is_healed_locked (heals, inode);
    if (may && heals_are_enough_locked (this)) {
        object_wait_locked (this, inode, what);
        may = false;
    }
    pthread_mutex_unlock (&heals->lock);
    return may;
}

/* Asks object_may_begin before it makes a struct heal, although heal_begin checks again under the
 * lock. A file may be looked up often while it is being healed, and to free a refused struct heal
 * takes long, since client_free waits for the reports that are being written. */
void
heal_later (xlator_t *this, inode_t *inode, unsigned what)
{
    replicate_t *priv = this->private;
    struct heal *heal;
    copies_t there;

    what &= inode_needs_heal (this, inode, &there);
    there &= children_up (priv);
    if (!what || copies_count (there) < 2 || !object_may_begin (this, inode, what))
        return;
    heal = heal_new (this, what, there);
    heal->background = inode;
    g_queue_push_tail (&heal->objects, inode_ref (inode));
    heal_begin (heal);
}

void
heal_from (xlator_t *this, inode_t *inode, int child, void (*done) (void *data, bool failed),
           void *data)
{
    const copies_t there = children_up (this->private);
    struct heal *heal = heal_new (this, HEAL_DATA | HEAL_METADATA, there);

    heal->chosen = child;
    heal->ended = done;
    heal->data = data;
    g_queue_push_tail (&heal->objects, inode_ref (inode));
    if (!heal_begin (heal))
        done (data, true);
}

/* --- the end ---------------------------------------------------------------------------------- */

void
heals_end (xlator_t *this)
{
    struct heals *heals = heals_of (this);
    GList *waiting;

    pthread_mutex_lock (&heals->lock);
    __atomic_store_n (&heals->ending, true, __ATOMIC_RELEASE);
    waiting = g_steal_pointer (&heals->waiting.head);
    g_queue_init (&heals->waiting);
    pthread_mutex_unlock (&heals->lock);
    g_list_free_full (waiting, waiting_heal_free);
}

void
heals_wait (xlator_t *this)
{
    struct heals *heals = heals_of (this);

    heals_end (this);
    pthread_mutex_lock (&heals->lock);
    while (heals->running > 0)
        thread_cond_wait (&heals->idle, &heals->lock);
    pthread_mutex_unlock (&heals->lock);
}

unsigned
heals_begun (xlator_t *this)
{
    struct heals *heals = heals_of (this);
    unsigned begun;

    pthread_mutex_lock (&heals->lock);
    begun = heals->last;
    pthread_mutex_unlock (&heals->lock);
    return begun;
}

void
heals_fini (xlator_t *this)
{
    replicate_t *priv = this->private;
    struct heals *heals = g_steal_pointer (&priv->heals);
    struct heal *heal;

    if (!heals)
        return;
    work_leave ();
    while ((heal = g_queue_pop_head (&heals->all)))
        heal_free (heal);
    pthread_cond_destroy (&heals->idle);
    pthread_mutex_destroy (&heals->lock);
    g_free (heals);
}

/* --- commands --------------------------------------------------------------------------------- */

static char *
heal_input_text (GBytes *input)
{
    gsize size;
    const char *bytes = g_bytes_get_data (input, &size);

    return g_strndup (bytes ? bytes : "", size);
}

static int
heal_command (xlator_t *this, GBytes *input, GString *answer)
{
    const replicate_t *priv = this->private;
    const copies_t there = children_up (priv), gone = copies_all (priv->n) & ~there;
    g_autofree char *missing = copies_text (priv, gone);
    struct heal *heal;
    unsigned number;

    if (copies_count (there) < 2) {
        g_string_append_printf (answer,
                                "healing needs two connected copies, and these are not connected: "
                                "%s",
                                missing);
        return -ENOTCONN;
    }
    heal = heal_new (this, HEAL_ALL, there);
    heal->path = heal_input_text (input);
    if (gone)
        heal_tell (heal, "not healed, since not connected: %s", missing);
    number = heal_begin (heal);
    if (number)
        g_string_append_printf (answer, "%u\n", number);
    else
        g_string_append (answer, "the mount ends");
    return number ? 0 : -ESHUTDOWN;
}

/* The command heal-progress. While the heal runs, answers "running DONE TOTAL", in bytes of the
 * present file. After its end, answers with a line "finished", "failed" or "missing" (no copy has
 * the path), followed by the report, and frees the heal. */
static int
heal_progress_command (xlator_t *this, GBytes *input, GString *answer)
{
    struct heals *heals = heals_of (this);
    g_autofree char *text = heal_input_text (input);
    const unsigned long number = strtoul (text, NULL, 10);
    struct heal *finished = NULL;
    int r = -ENOENT;

    pthread_mutex_lock (&heals->lock);
    for (GList *at = heals->all.head; at && r < 0; at = at->next) {
        struct heal *heal = at->data;

        if (heal->number != number || heal->background || heal->ended)
            continue;
        r = 0;
        if (heal->finished)
            g_string_append_printf (answer, "%s\n%s",
                                    heal->missing  ? "missing"
                                    : heal->failed ? "failed"
                                                   : "finished",
                                    heal->report->str);
        else
            g_string_append_printf (answer, "running %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n",
                                    heal->done, heal->total);
        finished = heal->finished ? heal : NULL;
    }
    if (finished)
        g_queue_remove (&heals->all, finished);
    pthread_mutex_unlock (&heals->lock);
    if (finished)
        heal_free (finished);
    if (r < 0)
        g_string_append_printf (answer, "there is no heal with the number '%s'", text);
    return r;
}

const struct xlator_command heal_commands[] = {
    { "heal", "begin to heal the file or directory at a path, and print a number for heal-progress",
      heal_command },
    { "heal-progress", "print the progress of a heal, or its report when it has ended",
      heal_progress_command },
    { NULL, NULL, NULL },
};
