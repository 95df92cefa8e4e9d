/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Routes: the functions that winds call. Events: messages between translators along the graph. */
#include "core/edge/translator.h"
#include "core/table/fops-rows.h"
#include "core/edge/frame.h"
#include "core/edge/hidden.h"
#include "core/edge/stack.h"
#include "core/edge/steps.h"
#include "core/edge/watch.h"

#include <errno.h>
#include <string.h>

void (*xlator_module_loaded) (void);

/* The lowest translator's answer to operations that no translator implements. */
#define DECLARE(kind, name) , C_##kind name
#define NOTHING(kind, name) , (C_##kind) 0
#define UNSUPPORTED(name)                                                                          \
    static void unsupported_##name (call_frame_t *frame, xlator_t *this FOP_ARGS_##name (DECLARE)) \
    {                                                                                              \
        STACK_UNWIND (name, frame, -1, ENOSYS FOP_RETS_##name (NOTHING));                          \
    }
FOP_LIST (UNSUPPORTED)

/* taken to make or change routes; a leaf */
static pthread_mutex_t routes_lock = PTHREAD_MUTEX_INITIALIZER;

static bool UNTRACED
xlator_does (const xlator_t *xl, bool own, enum fop op)
{
    return own
           || (xl->api->any_fop
               && (!xl->api->any_fop_ops || opset_has (xl->api->any_fop_ops, op)));
}

/* The function that stands in front of the translator's own, or NULL. */
#define HIDDEN(xl_, name_)                                                                         \
    (!(xl_)->api->hides                                   ? NULL                                   \
     : !(xl_)->api->uncount || !hidden_counted_fops.name_ ? hidden_fops.name_                      \
     : xlator_plain_##name_ (xl_)                         ? hidden_counted_fops.name_              \
                                                          : hidden_passed_fops.name_)

/* xlator_plain_FOP returns the function that the translator implements the operation with; NULL: it
 * passes the operation on. xlator_own_FOP returns what a wind calls, watched or not: hidden names
 * stand in front of it. */
#define OWN(name)                                                                                  \
    name##_fop *UNTRACED xlator_plain_##name (const xlator_t *xl)                                  \
    {                                                                                              \
        if (xl->api->fops.name)                                                                    \
            return xl->api->fops.name;                                                             \
        if (xlator_does (xl, false, FOP_##name))                                                   \
            return xl->api->any_fop_marks ? marked_##name : any_fop_##name;                        \
        return xl->children ? NULL : unsupported_##name;                                           \
    }                                                                                              \
    name##_fop *xlator_own_##name (const xlator_t *xl);                                            \
    name##_fop *UNTRACED xlator_own_##name (const xlator_t *xl)                                    \
    {                                                                                              \
        name##_fop *const plain = xlator_plain_##name (xl);                                        \
        if (HIDDEN (xl, name))                                                                     \
            return HIDDEN (xl, name);                                                              \
        return plain ? plain : unsupported_##name;                                                 \
    }
FOP_LIST (OWN)

static void
set_watchers_locked (xlator_t *xl, unsigned bits, bool on)
{
    unsigned now = on ? xl->watchers | bits : xl->watchers & ~bits;

    __atomic_store_n (&xl->watchers, now, __ATOMIC_RELEASE);
}

/* Sets the target of a route, which is decided before the first request. Later calls pass the same
 * target and must not write it, since requests read it without a lock. */
static void
set_once (xlator_t **to, xlator_t *xl)
{
    if (*to != xl)
        *to = xl;
}

/* Writes each route once, with its final value, since requests use the routes meanwhile. */
static void
xlator_route_locked (xlator_t *xl)
{
    const struct xlator_routes *below = xl->children ? &FIRST_CHILD (xl)->routes : NULL;
    bool watched;

    set_watchers_locked (xl, watch_bit_locked (&watch_log), log_wants (xl, GF_LOG_TRACE));
    watched = xl->watchers != 0;

#define ROUTE(name)                                                                                \
    {                                                                                              \
        const bool guarded = HIDDEN (xl, name);                                                    \
        const bool does = guarded || xlator_does (xl, xl->api->fops.name, FOP_##name);             \
        const bool passes = below && (xl->pass_through || !does);                                  \
        name##_fop *own = watched ? watched_##name : xlator_own_##name (xl);                       \
        name##_fop *call = passes ? below->name.call : own;                                        \
        if (xl->gate)                                                                              \
            call = xl->gate->fops->name;                                                           \
        set_once (&xl->routes.name.to, passes ? below->name.to : xl);                              \
        __atomic_store_n (&xl->routes.name.call, call, __ATOMIC_RELAXED);                          \
    }
    FOP_LIST (ROUTE)
}

void
xlator_route (xlator_t *xl)
{
    pthread_mutex_lock (&routes_lock);
    xlator_route_locked (xl);
    pthread_mutex_unlock (&routes_lock);
}

/* Also updates the parents: a translator that passes an operation on has its child's route. The
 * graph's top may have a parent without api, which has no routes. */
static void
route_upwards_locked (xlator_t *xl)
{
    if (!xl->api)
        return;
    xlator_route_locked (xl);
    for (xlator_list_t *parent = xl->parents; parent; parent = parent->next)
        route_upwards_locked (parent->xlator);
}

static void
route_upwards (xlator_t *xl)
{
    pthread_mutex_lock (&routes_lock);
    route_upwards_locked (xl);
    pthread_mutex_unlock (&routes_lock);
}

void
watch_set (GPtrArray *xlators, const struct watcher *watcher, bool on)
{
    ticks_init ();
    pthread_mutex_lock (&routes_lock);
    for (guint i = xlators->len; i-- > 0;) {
        set_watchers_locked (xlators->pdata[i], watch_bit_locked (watcher), on);
        xlator_route_locked (xlators->pdata[i]);
    }
    pthread_mutex_unlock (&routes_lock);
}

void
watch_set_one (xlator_t *xl, const struct watcher *watcher, bool on)
{
    ticks_init ();
    pthread_mutex_lock (&routes_lock);
    set_watchers_locked (xl, watch_bit_locked (watcher), on);
    route_upwards_locked (xl);
    pthread_mutex_unlock (&routes_lock);
}

bool
watch_is_on (const xlator_t *xl, const struct watcher *watcher)
{
    bool on;

    pthread_mutex_lock (&routes_lock);
    on = xl->watchers & watch_bit_locked (watcher);
    pthread_mutex_unlock (&routes_lock);
    return on;
}

void
xlator_set_loglevel (xlator_t *xl, gf_loglevel_t level)
{
    __atomic_store_n (&xl->loglevel, level, __ATOMIC_RELAXED);
    route_upwards (xl);
}

int
xlator_child_number (const xlator_t *xl, const char *name, size_t size)
{
    int number = 0;

    for (const xlator_list_t *at = xl->children; at; at = at->next, number++)
        if (strlen (at->xlator->name) == size && memcmp (at->xlator->name, name, size) == 0)
            return number;
    return -1;
}

bool
xlator_is_remote (const xlator_t *xl)
{
    const bool layers = xl->api->realms && xl->api->children.max != 1;
    bool remote = xl->api->remote;

    for (const xlator_list_t *child = xl->children; child && !remote && !layers;
         child = child->next)
        remote = xlator_is_remote (child->xlator);
    return remote;
}

bool
xlator_is_one_of_several (const xlator_t *xl)
{
    const xlator_list_t *parent = xl->parents;

    while (parent && !parent->next && !parent->xlator->children->next)
        parent = parent->xlator->parents;
    return parent != NULL;
}

/* --- reports, and the end of translators ----------------------------------------------------- */

/* Taken for reading by reports, which may take any other lock, and by one thread for writing only
 * while it holds no other. */
static pthread_rwlock_t reports_lock = PTHREAD_RWLOCK_INITIALIZER;

void
xlators_pin (void)
{
    pthread_rwlock_rdlock (&reports_lock);
}

void
xlators_unpin (void)
{
    pthread_rwlock_unlock (&reports_lock);
}

void
xlators_wait_unpinned (void)
{
    pthread_rwlock_wrlock (&reports_lock);
    pthread_rwlock_unlock (&reports_lock);
}

/* --- making them ------------------------------------------------------------------------------ */

xlator_t
xlator_init (const char *name, const struct xlator_api *api, struct graph *graph, void *private)
{
    return (xlator_t){ .name = g_intern_string (name),
                       .type = api ? api->type : NULL,
                       .api = api,
                       .graph = graph,
                       .private = private,
                       .inode_slot = -1,
                       .fd_slot = -1,
                       .number = -1,
                       .loglevel = GF_LOG_UNSET };
}

void *
inode_ctx_make (inode_t *inode, xlator_t *this, void *(*make) (xlator_t *this, inode_t *inode),
                void (*drop) (void *made))
{
    void *there = inode_ctx_get (inode, this), *made;

    if (there)
        return there;
    made = make (this, inode);
    there = inode_ctx_set (inode, this, made);
    if (there != made)
        drop (made);
    return there;
}

const char *
setting_shown (const struct option_setting *setting)
{
    return setting->text && setting->option->secret ? "(hidden)" : setting->text;
}

/* Returns "home.vol:3:20: ", of the option's value, or if that is in no volfile, of the volume. */
static char *
place_of_option (const xlator_t *this, const char *key)
{
    const char *file = NULL;

    for (guint i = 0; this->settings && i < this->settings->len; i++) {
        const struct option_setting *setting = this->settings->pdata[i];

        file = setting->file;
        if (strcmp (setting->option->key[0], key) != 0 || setting->by == SET_BY_DEFAULT)
            continue;
        if (setting->by == SET_BY_COMMAND_LINE)
            return g_strdup ("command line: ");
        return g_strdup_printf ("%s:%d:%d: ", file, setting->line, setting->column);
    }
    return file ? g_strdup_printf ("%s:%d:%d: ", file, this->line, this->column) : g_strdup ("");
}

void
option_refuse_of (const xlator_t *this, const char *file, int line, const char *function,
                  const char *key, const char *format, ...)
{
    g_autofree char *place = place_of_option (this, key), *text = NULL;
    va_list args;

    va_start (args, format);
    text = g_strdup_vprintf (format, args);
    va_end (args);
    if (log_wants (this, GF_LOG_ERROR))
        log_line_of (GF_LOG_ERROR, LOG_SOURCE (this), file, line, function, "%soption '%s' %s",
                     place, key, text);
}

void
xlator_notify (xlator_t *xl, enum xlator_event event, void *data)
{
    if (event == XLATOR_PARENT_DOWN)
        steps_wait (xl);
    if (xl->api && xl->api->notify && xl->ready)
        xl->api->notify (xl, event, data);
    else
        xlator_pass_on (xl, event, data);
}

void
xlator_pass_on (xlator_t *xl, enum xlator_event event, void *data)
{
    const bool down = event == XLATOR_PARENT_UP || event == XLATOR_ENDING
                   || event == XLATOR_PARENT_DOWN || event == XLATOR_HOLDING
                   || event == XLATOR_HOLD_OVER || event == XLATOR_REOPEN_LOGS;

    if (event == XLATOR_CHILD_UP || event == XLATOR_CHILD_DOWN)
        __atomic_store_n (&xl->up, event == XLATOR_CHILD_UP, __ATOMIC_RELAXED);
    for (xlator_list_t *next = down ? xl->children : xl->parents; next; next = next->next)
        xlator_notify (next->xlator, event, data);
}

char **
xlator_arguments (const struct xlator_asked *asked)
{
    gsize size;
    const char *at = g_bytes_get_data (asked->input, &size);
    const char *const end = at + size;
    GPtrArray *all = g_ptr_array_new ();

    while (at < end) {
        const char *stop = memchr (at, '\0', (size_t) (end - at));

        if (!stop)
            stop = end;
        g_ptr_array_add (all, g_strndup (at, (gsize) (stop - at)));
        at = stop + 1;
    }
    g_ptr_array_add (all, NULL);
    return (char **) g_ptr_array_free (all, FALSE);
}
