/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The context that distribute keeps for each inode: the cached subvolume of a file, or the layout
 * of a directory; and functions that use it. */
#include "distribute.h"

#include <string.h>

struct context {
    pthread_mutex_t lock; /* no other lock is taken under it; guards the other members */
    int cached, target, mds; /* numbers of subvolumes, or NO_CHILD: see inode_cached,
                              * inode_target, inode_mds */
    struct layout *layout;
    GPtrArray *fds; /* list of the open fds of a file, without references; NULL: never opened */
    int64_t read; /* value of clock_now when `layout` was last read from a subvolume */
    int64_t mtime, ctime; /* latest times of the directory in an answer to a caller */
    uint32_t mtime_nsec, ctime_nsec;
};

static void *
distribute_context_new (xlator_t *this, inode_t *inode)
{
    struct context *context = g_new0 (struct context, 1);

    pthread_mutex_init (&context->lock, NULL);
    context->cached = context->target = context->mds = NO_CHILD;
    return context;
}

static void
distribute_context_free (void *made)
{
    struct context *context = made;

    layout_unref (context->layout);
    if (context->fds)
        g_ptr_array_unref (context->fds);
    pthread_mutex_destroy (&context->lock);
    g_free (context);
}

static struct context *
context_of (xlator_t *this, inode_t *inode)
{
    return inode_ctx_make (inode, this, distribute_context_new, distribute_context_free);
}

void
dht_forget (xlator_t *this, inode_t *inode)
{
    struct context *context = inode_ctx_get (inode, this);

    if (context)
        distribute_context_free (context);
}

/* --- fields ----------------------------------------------------------------------------------- */

static int
context_get_int (xlator_t *this, inode_t *inode, size_t offset)
{
    struct context *context = inode_ctx_get (inode, this);
    int value;

    if (!context)
        return NO_CHILD;
    pthread_mutex_lock (&context->lock);
    value = *(const int *) ((const char *) context + offset);
    pthread_mutex_unlock (&context->lock);
    return value;
}

static void
context_set_int (xlator_t *this, inode_t *inode, size_t offset, int value)
{
    struct context *context = context_of (this, inode);

    pthread_mutex_lock (&context->lock);
    *(int *) ((char *) context + offset) = value;
    pthread_mutex_unlock (&context->lock);
}

int
inode_cached (xlator_t *this, inode_t *inode)
{
    return context_get_int (this, inode, offsetof (struct context, cached));
}

void
inode_set_cached (xlator_t *this, inode_t *inode, int child)
{
    context_set_int (this, inode, offsetof (struct context, cached), child);
}

int
inode_target (xlator_t *this, inode_t *inode)
{
    return context_get_int (this, inode, offsetof (struct context, target));
}

void
inode_set_target (xlator_t *this, inode_t *inode, int child)
{
    context_set_int (this, inode, offsetof (struct context, target), child);
}

int
inode_mds (xlator_t *this, inode_t *inode)
{
    return context_get_int (this, inode, offsetof (struct context, mds));
}

void
inode_add_fd (xlator_t *this, inode_t *inode, fd_t *fd)
{
    struct context *context = context_of (this, inode);

    pthread_mutex_lock (&context->lock);
    if (!context->fds)
        context->fds = g_ptr_array_new ();
    g_ptr_array_add (context->fds, fd);
    pthread_mutex_unlock (&context->lock);
}

void
inode_remove_fd (xlator_t *this, inode_t *inode, fd_t *fd)
{
    struct context *context = context_of (this, inode);

    pthread_mutex_lock (&context->lock);
    g_ptr_array_remove_fast (context->fds, fd);
    pthread_mutex_unlock (&context->lock);
}

GPtrArray *
inode_fds (xlator_t *this, inode_t *inode)
{
    GPtrArray *fds = g_ptr_array_new_with_free_func ((GDestroyNotify) fd_unref);
    struct context *context = inode_ctx_get (inode, this);

    if (!context)
        return fds;
    pthread_mutex_lock (&context->lock);
    for (guint i = 0; context->fds && i < context->fds->len; i++)
        if (fd_ref_living (context->fds->pdata[i]))
            g_ptr_array_add (fds, context->fds->pdata[i]);
    pthread_mutex_unlock (&context->lock);
    return fds;
}

struct layout *
inode_layout (xlator_t *this, inode_t *inode)
{
    struct context *context = inode_ctx_get (inode, this);
    struct layout *layout;

    if (!context)
        return NULL;
    pthread_mutex_lock (&context->lock);
    layout = layout_ref (context->layout);
    pthread_mutex_unlock (&context->lock);
    return layout;
}

void
inode_set_layout (xlator_t *this, inode_t *inode, struct layout *layout, int mds)
{
    struct context *context = context_of (this, inode);
    struct layout *before;

    pthread_mutex_lock (&context->lock);
    before = context->layout;
    context->layout = layout_ref (layout);
    context->read = clock_now ();
    context->mds = mds;
    pthread_mutex_unlock (&context->lock);
    layout_unref (before);
}

/* Age in nanoseconds below which a layout is used without being read again. A rebalance needs much
 * longer than this from its change of a layout to its first move of a file in the directory. */
#define FRESH 10000000

bool
layout_is_fresh (xlator_t *this, inode_t *inode)
{
    struct context *context = context_of (this, inode);
    bool is_fresh;

    pthread_mutex_lock (&context->lock);
    is_fresh = context->layout && clock_now () - context->read < FRESH;
    pthread_mutex_unlock (&context->lock);
    return is_fresh;
}

bool
layout_is_still (xlator_t *this, inode_t *inode, unsigned child, const struct lookup_reply *reply)
{
    const dht_private_t *priv = this->private;
    struct context *context = context_of (this, inode);
    uint8_t known[LAYOUT_DISK_SIZE];
    size_t size = 0;
    const void *now = reply->op_ret < 0 ? NULL : dict_get (reply->xdata, priv->layout_key, &size);
    bool is_still;

    pthread_mutex_lock (&context->lock);
    if (context->layout)
        layout_write (context->layout, child, known);
    is_still = context->layout && now && size == sizeof known && memcmp (now, known, size) == 0;
    if (is_still)
        context->read = clock_now ();
    pthread_mutex_unlock (&context->lock);
    return is_still;
}

int
name_hashed (xlator_t *this, inode_t *parent, const char *name)
{
    const dht_private_t *priv = this->private;
    struct layout *layout = priv->n == 1 ? NULL : inode_layout (this, parent);
    int child = layout ? layout_search (layout, hash_name (&priv->rules, name)) : NO_CHILD;

    layout_unref (layout);
    return priv->n == 1 ? 0 : child;
}

int
name_unhashed (xlator_t *this, loc_t *loc)
{
    struct layout *layout = inode_layout (this, loc->parent);
    struct layout_faults faults = { 0 };

    if (layout)
        layout_check (layout, &faults);
    layout_unref (layout);
    if (faults.down > 0)
        return ENOTCONN;
    gf_log (this, GF_LOG_ERROR, "no subvolume has the hash of '%s': the layout of its directory "
            "(gfid %s) has a hole", loc_path (loc), GFID_OF (loc->parent));
    return EIO;
}

/* --- attributes of directories ---------------------------------------------------------------- */

static bool
iatt_time_is_later (int64_t s, uint32_t ns, int64_t than, uint32_t than_ns)
{
    return s > than || (s == than && ns > than_ns);
}

static void
iatt_take_later (int64_t *to, uint32_t *to_ns, int64_t from, uint32_t from_ns)
{
    if (iatt_time_is_later (from, from_ns, *to, *to_ns)) {
        *to = from;
        *to_ns = from_ns;
    }
}

void
iatt_merge (struct iatt *to, const struct iatt *from)
{
    if (from->ia_type == IA_INVAL)
        return;
    if (to->ia_type == IA_INVAL) {
        *to = *from;
        return;
    }
    to->ia_nlink = MAX (to->ia_nlink, from->ia_nlink);
    iatt_take_later (&to->ia_atime, &to->ia_atime_nsec, from->ia_atime, from->ia_atime_nsec);
    iatt_take_later (&to->ia_mtime, &to->ia_mtime_nsec, from->ia_mtime, from->ia_mtime_nsec);
    iatt_take_later (&to->ia_ctime, &to->ia_ctime_nsec, from->ia_ctime, from->ia_ctime_nsec);
}

/* Sets the constant size that GlusterFS's clients show for every directory, since the subvolumes
 * report different sizes of one directory. A single subvolume's size is shown as it is, as
 * GlusterFS's clients do, too. */
static void
directory_set_size (xlator_t *this, struct iatt *buf)
{
    const dht_private_t *priv = this->private;

    if (priv->n == 1)
        return;
    buf->ia_size = 4096;
    buf->ia_blocks = 8;
}

/* Stores mtime and ctime of buf in the context of the directory. `all`: buf has the latest times of
 * all subvolumes. If it has not, a time in buf that is older than the stored one is first replaced
 * by the stored one: the times that callers see must not go back. */
static void
directory_keep_times (xlator_t *this, inode_t *inode, struct iatt *buf, bool all)
{
    struct context *context = context_of (this, inode);

    pthread_mutex_lock (&context->lock);
    if (!all) {
        iatt_take_later (&buf->ia_mtime, &buf->ia_mtime_nsec, context->mtime, context->mtime_nsec);
        iatt_take_later (&buf->ia_ctime, &buf->ia_ctime_nsec, context->ctime, context->ctime_nsec);
    }
    context->mtime = buf->ia_mtime;
    context->mtime_nsec = buf->ia_mtime_nsec;
    context->ctime = buf->ia_ctime;
    context->ctime_nsec = buf->ia_ctime_nsec;
    pthread_mutex_unlock (&context->lock);
}

void
directory_attributes (xlator_t *this, inode_t *inode, struct iatt *buf)
{
    directory_set_size (this, buf);
    directory_keep_times (this, inode, buf, true);
}

struct iatt *
directory_attributes_of_one (xlator_t *this, inode_t *inode, struct iatt *buf)
{
    if (!buf || buf->ia_type != IA_IFDIR)
        return NULL;
    directory_set_size (this, buf);
    directory_keep_times (this, inode, buf, false);
    return buf;
}
