/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Heals the data of a file, piece by piece. Only the piece being healed is locked, so other clients
 * may write to the rest of the file at the same time; their writes go to the sinks, too. At the
 * end, after an fsync of the sinks, the pending counters are cleared under a lock on the whole
 * file.
 */
#include "heal.h"

#include "../changes/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define PIECE (128 * 1024) /* bytes of one unit of the option data-self-heal-window-size */

struct data_heal {
    struct heal *heal;
    inode_t *inode;
    fd_t *fd;
    unsigned source;          /* number of the source copy */
    copies_t sinks, unhealed; /* copies to heal, and those of them on which a step failed */
    uint64_t size, written;   /* size of the source, and number of bytes written to sinks */
    struct copy copies[COPIES_MAX]; /* states of the copies, with their counters, at the start */
};

/* Returns the sinks to which data is still written: no step has failed on them, and they are not
 * the arbiter. */
static copies_t
data_sinks (const struct data_heal *data)
{
    const replicate_t *priv = data->heal->this->private;
    const copies_t left = data->sinks & ~data->unhealed;

    return priv->arbiter < 0 ? left : left & ~COPY (priv->arbiter);
}

static void
sink_failed (struct data_heal *data, unsigned child, const char *what, int error)
{
    const replicate_t *priv = data->heal->this->private;
    g_autofree char *path = inode_path (data->inode, NULL);

    data->unhealed |= COPY (child);
    heal_tell (data->heal, "%s: %s on %s failed: %s", path, what, priv->names[child],
               g_strerror (-error));
}

/* --- pieces ----------------------------------------------------------------------------------- */

static void
piece_to_sink (struct data_heal *data, unsigned child, struct readv_reply *good, off_t offset,
               size_t size)
{
    struct readv_reply reply = { 0 };
    int r = sync_readv (data->heal->children[child], data->fd, size, offset, 0, NULL, &reply);

    if (r < 0 || !readv_reply_same (good, &reply)) {
        r = sync_writev (data->heal->children[child], data->fd, good->vector, good->count, offset,
                         0, good->iobref, NULL, NULL);
        if (r < 0)
            sink_failed (data, child, "a write", r);
        else if (r != good->op_ret)
            sink_failed (data, child, "a write", -EIO);
        else
            data->written += (uint64_t) r;
    }
    readv_reply_drop (&reply);
}

static int
piece_heal_locked (struct data_heal *data, off_t offset, size_t size)
{
    const replicate_t *priv = data->heal->this->private;
    struct readv_reply good = { 0 };
    const int r =
        sync_readv (data->heal->children[data->source], data->fd, size, offset, 0, NULL, &good);

    for (unsigned i = 0; r > 0 && i < priv->n; i++)
        if (data_sinks (data) & COPY (i))
            piece_to_sink (data, i, &good, offset, size);
    readv_reply_drop (&good);
    return r;
}

static int
piece_heal (struct data_heal *data, off_t offset, size_t size)
{
    struct heal_lock lock = { .inode = data->inode, .from = offset, .len = (off_t) size };
    int r = heal_lock (data->heal, &lock, true);

    if (r < 0)
        return r;
    r = piece_heal_locked (data, offset, size);
    heal_unlock (data->heal, &lock);
    return r;
}

static int
pieces_heal (struct data_heal *data)
{
    replicate_t *priv = data->heal->this->private;
    const size_t size = (size_t) MIN (__atomic_load_n (&priv->heal_window, __ATOMIC_RELAXED), 8)
                      * PIECE;
    int r = 0;

    for (uint64_t at = 0; r >= 0 && at < data->size && data_sinks (data); at += size) {
        job_progress (data->heal->job, at, data->size);
        r = job_next (data->heal->job) ? piece_heal (data, (off_t) at, size) : -EINTR;
    }
    return r < 0 ? r : 0;
}

/* --- beginning and end ------------------------------------------------------------------------ */

static void
sinks_truncate (struct data_heal *data)
{
    const replicate_t *priv = data->heal->this->private;

    for (unsigned i = 0; i < priv->n; i++) {
        int r;

        if (!(data_sinks (data) & COPY (i)) || data->copies[i].iatt.ia_size == data->size)
            continue;
        r = sync_ftruncate (data->heal->children[i], data->fd, (off_t) data->size, NULL, NULL);
        if (r < 0)
            sink_failed (data, i, "ftruncate", r);
    }
}

/* Chooses source and sinks, and gives the sinks the size of the source, under a lock on the whole
 * file. Returns 1; 0 if there is no sink; or a negative errno. */
static int
data_prepare (struct data_heal *data)
{
    struct heal_lock lock = { .inode = data->inode };
    struct heal_direction direction;
    int source, r = heal_lock (data->heal, &lock, true);

    if (r < 0)
        return r;
    r = heal_refresh (data->heal, data->inode);
    source = r < 0 ? -1 : heal_direct (data->heal, data->inode, COUNTER_DATA, &direction);
    if (r >= 0)
        r = source >= 0 ? 1 : source == -1 ? 0 : source;
    if (r > 0) {
        data->source = (unsigned) source;
        data->sinks = direction.sinks;
        data->size = data->heal->copies[source].iatt.ia_size;
        memcpy (data->copies, data->heal->copies, sizeof data->copies);
        sinks_truncate (data);
    }
    heal_unlock (data->heal, &lock);
    return r;
}

static void
sinks_sync (struct data_heal *data)
{
    const replicate_t *priv = data->heal->this->private;
    struct iatt times = data->copies[data->source].iatt;
    loc_t loc = { .inode = data->inode };

    for (unsigned i = 0; i < priv->n; i++) {
        int r;

        if (!(data_sinks (data) & COPY (i)))
            continue;
        r = sync_fsync (data->heal->children[i], data->fd, 0, NULL, NULL);
        if (r < 0)
            sink_failed (data, i, "fsync", r);
        else
            sync_setattr (data->heal->children[i], &loc, &times, IATT_ATIME | IATT_MTIME, NULL,
                          NULL);
    }
    loc_wipe_path (&loc);
}

static int
data_finish (struct data_heal *data)
{
    struct heal_lock lock = { .inode = data->inode };
    int r = heal_lock (data->heal, &lock, true);

    if (r < 0)
        return r;
    memcpy (data->heal->copies, data->copies, sizeof data->copies);
    r = heal_clear_counters (data->heal, data->inode, COUNTER_DATA, data->unhealed);
    heal_unlock (data->heal, &lock);
    return r;
}

static void
data_tell (struct data_heal *data, const char *path)
{
    const replicate_t *priv = data->heal->this->private;
    g_autofree char *names = copies_text (priv, data->sinks & ~data->unhealed);

    heal_tell (data->heal,
               "%s: data healed on %s, from %s: %" G_GUINT64_FORMAT " bytes compared, %"
               G_GUINT64_FORMAT " written",
               path, names, priv->names[data->source], data->size, data->written);
}

/* Opens the file on the copies that take part. Returns an fd; NULL after a line in the report. */
static fd_t *
data_open (struct heal *heal, inode_t *inode)
{
    const replicate_t *priv = heal->this->private;
    fd_t *fd = fd_new (heal->this->fd_maker, inode, O_RDWR, 0);
    loc_t loc = { .inode = inode };
    int r = 0;

    for (unsigned i = 0; r >= 0 && i < priv->n; i++)
        if (heal->there & COPY (i))
            r = sync_open (heal->children[i], &loc, O_RDWR, fd, NULL, NULL);
    if (r < 0) {
        heal_tell (heal, "%s: can't be opened on all copies: %s", loc_path (&loc),
                   g_strerror (-r));
        g_clear_pointer (&fd, fd_unref);
    }
    loc_wipe_path (&loc);
    return fd;
}

/* Heals the data of a file. The caller holds the lock that keeps other healers out. Returns 1; 0 if
 * there is no sink; or a negative errno. */
static int
data_heal_alone (struct data_heal *data)
{
    int r = data_prepare (data);

    if (r <= 0)
        return r;
    r = pieces_heal (data);
    if (r < 0)
        return r;
    sinks_sync (data);
    r = data_finish (data);
    return r < 0 ? r : data->unhealed ? -EIO : 1;
}

int
heal_data (struct heal *heal, inode_t *inode)
{
    struct heal_lock healers = { .inode = inode, .only_healers = true };
    struct data_heal data = { .heal = heal, .inode = inode };
    g_autofree char *path = inode_path (inode, NULL);
    int r;

    eager_release (heal->this, inode);
    r = heal_lock (heal, &healers, false);
    if (r < 0) {
        heal_tell (heal, "%s: %s", path,
                   r == -EAGAIN ? "another client heals the data" : g_strerror (-r));
        return r;
    }
    data.fd = data_open (heal, inode);
    r = data.fd ? data_heal_alone (&data) : -EIO;
    heal_unlock (heal, &healers);
    if (r > 0)
        data_tell (&data, path);
    else if (r < 0 && r != -EIO)
        heal_tell (heal, "%s: data not healed: %s", path, g_strerror (-r));
    fd_unref (data.fd);
    return r;
}
