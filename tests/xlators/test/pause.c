/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pauses the graph, and discards inodes: the user of core/work/pause.h that tests have. It keeps
 * each setxattr of user.keep until the next pause is over, and counts the calls that it has wound:
 * it aborts if a pause meets one, or one comes during a pause. Option `every` pauses at every so
 * many calls.
 */
#include "xlator.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

typedef struct pause_private {
    int every, patience;
    unsigned calls;     /* all calls so far; atomic */
    unsigned under_way; /* calls that were wound and are not answered; atomic */
    bool paused;        /* the function of a pause runs; atomic */
    struct itable *table; /* of the mount, once a call has come; atomic */
    pthread_mutex_t lock;
    GSList *kept;       /* of call_stub_t; lock */
    bool asks;          /* a job of option `every` runs; lock */
    bool ending;        /* lock */
} pause_private_t;

static const struct xlator_option pause_options[] = {
    { OPTION ("every", INT, pause_private_t, every, "0"), .min = 0, .max = 1000000,
      .help = "number of calls after which each pause comes; 0: none but by command" },
    { OPTION ("patience", INT, pause_private_t, patience, "0"), .min = 0, .max = 1000000,
      .help = "milliseconds of all tries of a pause; 0: as it is by default" },
    {},
};

/* --- a pause ---------------------------------------------------------------------------------- */

struct order {
    xlator_t *this;
    char **paths;       /* to be discarded; NULL: none */
    unsigned under_way; /* calls that the pause met */
    unsigned discarded;
    struct pause *pause; /* during the pause */
};

static void
order_free (void *data)
{
    struct order *order = data;

    g_strfreev (order->paths);
    g_free (order);
}

static void
order_name_void (inode_t *parent, const char *name, void *data)
{
    const struct order *order = data;

    pause_invalidate (order->pause, &(struct invalidation){ .inode = parent, .name = name,
                                                            .what = INVALIDATE_NAMES });
}

static void
order_discard (struct order *order, const char *path)
{
    const pause_private_t *priv = order->this->private;
    g_auto (GStrv) words = g_strsplit (path, "/", -1);
    inode_t *at = inode_ref (itable_root (__atomic_load_n (&priv->table, __ATOMIC_ACQUIRE)));

    for (char **word = words; at && *word; word++) {
        inode_t *next = **word ? inode_grep (at, *word) : inode_ref (at);

        inode_unref (at);
        at = next;
    }
    if (!at)
        return;
    inode_each_name (at, order_name_void, order);
    pause_detach (order->pause, at);
    inode_unref (at);
    order->discarded++;
}

/* Makes a call below, for which others could come meanwhile. */
static void
order_calls (const struct order *order)
{
    const pause_private_t *priv = order->this->private;
    struct itable *table = __atomic_load_n (&priv->table, __ATOMIC_ACQUIRE);
    struct client *client = client_new_internal (order->this, FIRST_CHILD (order->this));
    loc_t loc = { .inode = table ? itable_root (table) : NULL };

    if (table)
        (void) sync_stat (client, &loc, NULL, NULL);
    loc_wipe_path (&loc);
    client_free (client);
}

static int
order_in_pause (struct pause *pause, void *data)
{
    struct order *order = data;
    pause_private_t *priv = order->this->private;

    order->pause = pause;
    __atomic_store_n (&priv->paused, true, __ATOMIC_SEQ_CST);
    order->under_way = __atomic_load_n (&priv->under_way, __ATOMIC_SEQ_CST);
    g_assert (order->under_way == 0); /* a history has no other way to fail */
    for (char **path = order->paths; path && *path; path++)
        order_discard (order, *path);
    order_calls (order);
    __atomic_store_n (&priv->paused, false, __ATOMIC_SEQ_CST);
    return 0;
}

static unsigned
kept_go_on (pause_private_t *priv)
{
    GSList *kept;
    unsigned n;

    pthread_mutex_lock (&priv->lock);
    kept = g_steal_pointer (&priv->kept);
    pthread_mutex_unlock (&priv->lock);
    n = g_slist_length (kept);
    for (GSList *at = kept; at; at = at->next)
        call_resume (at->data);
    g_slist_free (kept);
    return n;
}

static int
order_run (struct job *job, void *data)
{
    struct order *order = data;
    const pause_private_t *priv = order->this->private;
    struct pause pause = { .run = order_in_pause, .data = order, .job = job,
                           .patience = priv->patience * INT64_C (1000000) };
    const int r = pause_run (order->this, &pause);
    const unsigned kept = kept_go_on (order->this->private);

    if (r < 0)
        job_refuse (job, "%s", pause.hindrance);
    else
        job_print (job, "held %.1f us, %u under way, %u kept, %u discarded, written %d\n",
                   (double) pause.held / 1e3, order->under_way, kept, order->discarded,
                   pause.written);
    pause_clear (&pause);
    return r;
}

/* --- calls ------------------------------------------------------------------------------------ */

static int
every_run (struct job *job, void *data)
{
    struct order *order = data;
    pause_private_t *priv = order->this->private;

    (void) order_run (job, order);
    pthread_mutex_lock (&priv->lock);
    priv->asks = false;
    pthread_mutex_unlock (&priv->lock);
    return 0;
}

static void
every_begin (xlator_t *this)
{
    pause_private_t *priv = this->private;
    struct order *order = NULL;

    pthread_mutex_lock (&priv->lock);
    if (!priv->asks && !priv->ending) {
        priv->asks = true;
        order = g_new0 (struct order, 1);
        order->this = this;
    }
    pthread_mutex_unlock (&priv->lock);
    if (order)
        (void) job_begin (this, &(struct job_plan){ .name = "pause", .run = every_run,
                                                    .free = order_free, .data = order });
}

static bool
pause_keeps (const struct call *call)
{
    pause_private_t *priv = call->this->private;
    bool keeps;

    if (call->op != FOP_setxattr
        || !dict_has (((const struct setxattr_call *) call->args)->dict, "user.keep"))
        return false;
    pthread_mutex_lock (&priv->lock);
    keeps = !priv->ending;
    if (keeps)
        priv->kept = g_slist_prepend (priv->kept, call_keep_to_pass (call));
    pthread_mutex_unlock (&priv->lock);
    return keeps;
}

static bool
is_in_discarded (const loc_t *loc)
{
    return loc && loc->parent && inode_is_detached (loc->parent);
}

static void
pause_any_fop (const struct call *call)
{
    pause_private_t *priv = call->this->private;
    const inode_t *inode = call->loc ? call->loc->inode : call->fd ? call->fd->inode : NULL;
    const unsigned n = __atomic_add_fetch (&priv->calls, 1, __ATOMIC_RELAXED);

    g_assert (!__atomic_load_n (&priv->paused, __ATOMIC_SEQ_CST));
    if (inode)
        __atomic_store_n (&priv->table, inode->table, __ATOMIC_RELEASE);
    if (priv->every > 0 && n % (unsigned) priv->every == 0)
        every_begin (call->this);
    if (is_in_discarded (call->loc) || is_in_discarded (call->newloc)) {
        call_fail (call, ENOENT);
    } else if (!pause_keeps (call)) {
        __atomic_add_fetch (&priv->under_way, 1, __ATOMIC_SEQ_CST);
        call_wind (call, FIRST_CHILD (call->this), NULL);
    }
}

static void
pause_any_fop_cbk (const struct answer *answer)
{
    pause_private_t *priv = answer->this->private;

    __atomic_sub_fetch (&priv->under_way, 1, __ATOMIC_SEQ_CST);
    answer_pass (answer);
}

/* --- commands --------------------------------------------------------------------------------- */

static int
pause_begin (xlator_t *this, const struct xlator_asked *asked, char **paths, GString *answer)
{
    struct order *order = g_new0 (struct order, 1);

    order->this = this;
    order->paths = paths;
    return job_answers (this, &(struct job_plan){ .name = "pause", .run = order_run,
                                                  .free = order_free, .data = order,
                                                  .asked = asked }, answer);
}

static int
command_once (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    return pause_begin (this, asked, NULL, answer);
}

static int
command_discard (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    char **words = xlator_arguments (asked), **paths = words;

    while (*paths && strcmp (*paths, "--") != 0)
        paths++;
    paths = g_strdupv (*paths ? paths + 1 : words);
    g_strfreev (words);
    return pause_begin (this, asked, paths, answer);
}

static const struct xlator_command pause_commands[] = {
    { "once", "pause once", .run = command_once, .arguments = "", .job = true },
    { "discard", "pause, and take the inodes of these paths out of the table",
      .run = command_discard, .arguments = "PATH...", .job = true },
    {},
};

/* --- the translator --------------------------------------------------------------------------- */

static int
pause_init (xlator_t *this)
{
    pause_private_t *priv = this->private;

    pthread_mutex_init (&priv->lock, NULL);
    jobs_init (this);
    return 0;
}

static void
pause_fini (xlator_t *this)
{
    pause_private_t *priv = this->private;

    jobs_fini (this);
    pthread_mutex_destroy (&priv->lock);
}

static void
pause_notify (xlator_t *this, enum xlator_event event, void *data)
{
    pause_private_t *priv = this->private;

    if (event == XLATOR_ENDING || event == XLATOR_PARENT_DOWN) {
        pthread_mutex_lock (&priv->lock);
        priv->ending = true;
        pthread_mutex_unlock (&priv->lock);
        jobs_end (this);
        (void) kept_go_on (priv);
    }
    if (event == XLATOR_PARENT_DOWN)
        jobs_wait (this);
    xlator_pass_on (this, event, data);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/pause",
    .about = "pauses the graph, and discards inodes",
    .children = { .min = 1, .max = 1 },
    .touches = TOUCHES_ERRORS,
    .priv_size = sizeof (pause_private_t),
    .options = pause_options,
    .init = pause_init,
    .fini = pause_fini,
    .notify = pause_notify,
    .any_fop = pause_any_fop,
    .any_fop_cbk = pause_any_fop_cbk,
    .commands = pause_commands,
};
