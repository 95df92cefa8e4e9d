/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records which children are up, and which have bricks on this machine. Makes the frames of
 * replicate's own requests. */
#include "changes/changes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- which are up ----------------------------------------------------------------------------- */

copies_t
children_up (const replicate_t *priv)
{
    return __atomic_load_n (&priv->up, __ATOMIC_ACQUIRE);
}

unsigned
children_generation (const replicate_t *priv)
{
    return __atomic_load_n (&priv->generation, __ATOMIC_ACQUIRE);
}

bool
children_quorum (const replicate_t *priv, copies_t copies)
{
    const struct quorum quorum = {
        .type = (enum quorum_type) __atomic_load_n (&priv->quorum_type, __ATOMIC_RELAXED),
        .count = (unsigned) __atomic_load_n (&priv->quorum_count, __ATOMIC_RELAXED),
        .n = priv->n,
    };

    return quorum_holds (&quorum, copies);
}

int
child_of_name (const replicate_t *priv, const char *name)
{
    for (unsigned i = 0; name && i < priv->n; i++)
        if (strcmp (priv->names[i], name) == 0)
            return (int) i;
    return -1;
}

char *
copies_text (const replicate_t *priv, copies_t copies)
{
    GString *out = g_string_new (NULL);

    for (unsigned i = 0; i < priv->n; i++)
        if (copies & COPY (i))
            g_string_append_printf (out, "%s%s", out->len ? ", " : "", priv->names[i]);
    return g_string_free (out, FALSE);
}

static copies_t
children_up_now (const replicate_t *priv)
{
    copies_t up = 0;

    for (unsigned i = 0; i < priv->n; i++)
        if (__atomic_load_n (&priv->children[i]->up, __ATOMIC_RELAXED))
            up |= COPY (i);
    return up;
}

/* Stores the set of children that are up, and begins a new generation. Returns the new set, and the
 * old one in *ret_before. Several children may come or go at the same time, each on its own thread,
 * so this is done under priv->lock. */
static copies_t
children_update (xlator_t *this, copies_t *ret_before)
{
    replicate_t *priv = this->private;
    copies_t up;

    pthread_mutex_lock (&priv->lock);
    *ret_before = priv->up;
    up = children_up_now (priv);
    __atomic_store_n (&priv->up, up, __ATOMIC_RELEASE);
    if (__atomic_add_fetch (&priv->generation, 1, __ATOMIC_ACQ_REL) == 0)
        __atomic_store_n (&priv->generation, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < priv->n; i++)
        __atomic_store_n (&priv->indexes[i], 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock (&priv->lock);
    return up;
}

static void
children_log (xlator_t *this, copies_t before, copies_t up)
{
    const replicate_t *priv = this->private;
    g_autofree char *names = copies_text (priv, up);

    if (before == up)
        return;
    if (children_quorum (priv, before) && !children_quorum (priv, up))
        gf_log (this, GF_LOG_WARNING,
                "too few copies can be reached (%s): operations fail with ENOTCONN until more are "
                "back (options quorum-type, quorum-count)",
                up ? names : "none");
    else if (children_quorum (priv, up) && !children_quorum (priv, before))
        gf_log (this, GF_LOG_INFO, "enough copies can be reached: %s", names);
    else
        gf_log (this, GF_LOG_INFO, "copies that can be reached: %s", up ? names : "none");
}

static void
children_changed (xlator_t *this)
{
    copies_t before;
    const copies_t up = children_update (this, &before);

    children_log (this, before, up);
    if (up && !before)
        xlator_pass_on (this, XLATOR_CHILD_UP, NULL);
    else if (!up && before)
        xlator_pass_on (this, XLATOR_CHILD_DOWN, NULL);
}

/* Handles a child that has gone for good, which counts as one that is down. If no child is up any
 * more, passes the event on, and the mount ends. */
static void
child_gone (xlator_t *this, void *data)
{
    children_changed (this);
    if (children_up (this->private) == 0)
        xlator_pass_on (this, XLATOR_GONE, data);
}

void
children_notify (xlator_t *this, enum xlator_event event, void *data)
{
    replicate_t *priv = this->private;

    switch (event) {
    case XLATOR_CHILD_UP:
    case XLATOR_CHILD_DOWN:
        children_changed (this);
        return;
    case XLATOR_GONE:
        child_gone (this, data);
        return;
    case XLATOR_LOCK_CONTENDED:
        eager_wanted (this, data);
        break;
    case XLATOR_HOLDING:
        __atomic_store_n (&priv->holding, true, __ATOMIC_RELEASE);
        eager_release_all (this);
        break;
    case XLATOR_HOLD_OVER:
        __atomic_store_n (&priv->holding, false, __ATOMIC_RELEASE);
        break;
    case XLATOR_ENDING:
        __atomic_store_n (&priv->ending, true, __ATOMIC_RELEASE);
        jobs_end (this);
        eager_release_all (this);
        break;
    case XLATOR_PARENT_DOWN:
        heals_wait (this);
        eager_release_all (this);
        requests_wait (this);
        break;
    default:
        break;
    }
    xlator_pass_on (this, event, data);
}

/* --- which are on this machine ---------------------------------------------------------------- */

static bool
address_is_ours (const char *host)
{
    struct ifaddrs *all, *at;
    char text[INET6_ADDRSTRLEN];
    bool ours = false;

    if (getifaddrs (&all) < 0)
        return false;
    for (at = all; at && !ours; at = at->ifa_next) {
        const void *address = NULL;

        if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET)
            address = &((struct sockaddr_in *) (void *) at->ifa_addr)->sin_addr;
        else if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET6)
            address = &((struct sockaddr_in6 *) (void *) at->ifa_addr)->sin6_addr;
        ours = address && inet_ntop (at->ifa_addr->sa_family, address, text, sizeof text)
            && strcmp (text, host) == 0;
    }
    freeifaddrs (all);
    return ours;
}

/* Returns whether a host name or address is one of this machine. Asks no name server, since the
 * start of the graph would wait for the answer. */
static bool
host_is_ours (const char *host)
{
    char name[256] = "";

    gethostname (name, sizeof name - 1);
    return strcmp (host, "localhost") == 0 || g_str_has_prefix (host, "127.")
        || strcmp (host, "::1") == 0 || strcmp (host, name) == 0 || address_is_ours (host);
}

/* Returns the option remote-host of the protocol/client translator below a child, as the volfile
 * writes it; NULL: not set. */
static const char *
child_host (const xlator_t *child)
{
    for (guint i = 0; child->settings && i < child->settings->len; i++) {
        const struct option_setting *setting = child->settings->pdata[i];

        if (setting->text && strcmp (setting->option->key[0], "remote-host") == 0)
            return setting->text;
    }
    return child->children ? child_host (FIRST_CHILD (child)) : NULL;
}

/* --- init, fini ------------------------------------------------------------------------------- */

/* Makes the names of the pending counters, from the option afr-pending-xattr or else from the names
 * of the children. The option is needed because an administrator may rename the children, while the
 * counters on the bricks keep their names. */
static int
pending_init (xlator_t *this)
{
    replicate_t *priv = this->private;
    g_auto (GStrv) names = g_strsplit_set (priv->pending_names ? priv->pending_names : "", ", ", 0);
    unsigned n = 0;

    for (char **name = names; *name; name++) {
        if (**name == '\0')
            continue;
        if (n < priv->n)
            priv->pending[n] = g_strdup_printf ("trusted.afr.%s", *name);
        n++;
    }
    if (n != 0 && n != priv->n) {
        option_refuse (this, "afr-pending-xattr",
                       "must name the pending counter of each of the %u subvolumes, got %u names: "
                       "'%s'", priv->n, n, priv->pending_names);
        return -EINVAL;
    }
    for (unsigned i = 0; n == 0 && i < priv->n; i++)
        priv->pending[i] = g_strdup_printf ("trusted.afr.%s", priv->names[i]);
    return 0;
}

int
children_init (xlator_t *this)
{
    replicate_t *priv = this->private;

    priv->n = 0;
    for (xlator_list_t *at = this->children; at; at = at->next) {
        const char *host = child_host (at->xlator);

        priv->children[priv->n] = at->xlator;
        priv->names[priv->n] = at->xlator->name;
        if (host && host_is_ours (host))
            priv->near |= COPY (priv->n);
        priv->n++;
    }
    priv->changelog = (struct changelog_names){ priv->n, priv->dirty_name,
                                       (const char *const *) priv->pending };
    priv->generation = 1;
    priv->arbiter = priv->arbiters > 0 ? (int) priv->n - 1 : -1;
    pthread_mutex_init (&priv->lock, NULL);
    thread_cond_init (&priv->idle);
    g_queue_init (&priv->eager_locks);
    return pending_init (this);
}

void
children_fini (xlator_t *this)
{
    replicate_t *priv = this->private;

    for (unsigned i = 0; i < priv->n; i++)
        g_free (priv->pending[i]);
    pthread_cond_destroy (&priv->idle);
    pthread_mutex_destroy (&priv->lock);
}

/* --- requests that replicate makes ------------------------------------------------------------ */

void
requests_add (xlator_t *this)
{
    replicate_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    priv->requests++;
    pthread_mutex_unlock (&priv->lock);
}

void
requests_drop (xlator_t *this)
{
    replicate_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    if (--priv->requests == 0)
        thread_cond_broadcast (&priv->idle);
    pthread_mutex_unlock (&priv->lock);
}

call_frame_t *
request_new (xlator_t *this, const call_frame_t *like)
{
    call_stack_t *root = stack_new_internal (this, like);

    requests_add (this);
    return &root->frames[0];
}

void
request_done (xlator_t *this, call_frame_t *frame)
{
    stack_done (frame->root);
    requests_drop (this);
}

void
requests_wait (xlator_t *this)
{
    replicate_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    while (priv->requests > 0)
        thread_cond_wait (&priv->idle, &priv->lock);
    pthread_mutex_unlock (&priv->lock);
}

#define OWNERS_OF_OURS ((uint64_t) 0xaf << 56)

uint64_t
owner_new (replicate_t *priv)
{
    return OWNERS_OF_OURS | __atomic_add_fetch (&priv->owners, 1, __ATOMIC_RELAXED);
}

/* --- errors of children ----------------------------------------------------------------------- */

/* Returns the significance of an error among those of several children. The errors of a child that
 * can't be reached have the least, since it reports nothing about the object. */
static int
error_weight (int error)
{
    switch (error) {
    case 0:
        return 0;
    case ENOTCONN:
    case ETIMEDOUT:
        return 1;
    case EBADFD:
    case EBADF:
        return 2;
    case EIO:
        return 3;
    case ESTALE:
        return 4;
    case ENOENT:
        return 5;
    default:
        return 6;
    }
}

int
copies_error (const struct fan_out *fan)
{
    int error = ENOTCONN;

    for (unsigned i = 0; i < fan->n; i++) {
        const struct fan_answer *at = &fan->answers[i];

        if (at->op != FOP_NONE && at->op_ret < 0
            && error_weight (at->op_errno) > error_weight (error))
            error = at->op_errno;
    }
    return error;
}

copies_t
fan_succeeded (const struct fan_out *fan)
{
    copies_t succeeded = 0;

    for (unsigned i = 0; i < fan->n; i++)
        if (fan->answers[i].op != FOP_NONE && fan->answers[i].op_ret >= 0)
            succeeded |= COPY (i);
    return succeeded;
}
