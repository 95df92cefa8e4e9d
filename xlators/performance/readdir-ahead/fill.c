/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading ahead. A directory has one fill loop, which moves between threads: the thread that begins
 * it makes a call, and the thread that brings the answer goes on. If the answer comes within the
 * call, the calling thread goes on, so that calls do not nest. Each call is a request of its own;
 * its local holds the references it needs.
 *
 *   rda_fill --readdirp--> storage --fill_cbk--> rda_fill --readdirp--> ...   until there is
 *       enough, the end is reached, or the directory is closed
 */
#include "readdir-ahead.h"

#define FILL_LEAST 4096 /* bytes per fill call, at least; also the minimum of rda-request-size */

static readdirp_cbk fill_readdirp_cbk;
static readdir_cbk fill_readdir_cbk;

/* Size of a fill call. The entries it brings take up to three times as much memory. 0: the limit is
 * too small. */
static size_t
fill_size (const rda_private_t *priv)
{
    const uint64_t size = MIN (RDA_GET (priv->request_size), RDA_GET (priv->limit) / 3);

    return size < FILL_LEAST ? 0 : (size_t) size;
}

/* Returns true if memory suffices for one more answer without evicting this directory's own
 * batches, which are needed earlier. */
static bool
rda_has_room_locked (const rda_private_t *priv, const struct rda_dir *dir)
{
    const size_t size = fill_size (priv);

    return size > 0 && (dir->cost == 0 || dir->cost + 3 * size <= RDA_GET (priv->limit));
}

/* The kernel begins each listing with attributes, and continues without them if no caller has used
 * any. So only the first piece is read before the second call tells whether attributes are wanted;
 * of a server, they cost less than waiting. Detecting the end costs nothing, so that call is made
 * at once. */
static bool
is_wanted_locked (xlator_t *this, const struct rda_dir *dir)
{
    return rda_priv (this)->remote || dir->next == 0 || dir->goes_on || dir->nears_end;
}

/* While names change, entries read ahead would be dropped. */
static bool
may_fill_locked (xlator_t *this, const struct rda_dir *dir)
{
    const rda_private_t *priv = this->private;
    const struct rda_batch *first = g_queue_peek_head ((GQueue *) &dir->batches);

    return RDA_GET (priv->timeout) > 0 && dir->active && is_wanted_locked (this, dir) && !dir->eof
        && !dir->error && dir->bytes < RDA_GET (priv->high) + dir->promised
        && rda_has_room_locked (priv, dir) && !RDA_GET (priv->ending)
        && !rda_names_changed (this, dir->inode,
                               first ? first->clock : change_clock_now (&priv->clock));
}

/* Returns a request for the next fill call, with the caller's identity of frame. */
static call_stack_t *
fill_request (xlator_t *this, const call_frame_t *frame, struct rda_dir *dir, fd_t *fd)
{
    call_stack_t *root = stack_new_like (this, frame);
    struct rda_local *local = frame_local_new (&root->frames[0], sizeof *local);

    root->op = FOP_readdirp;
    local->fd = fd_ref (fd);
    local->dir = rda_dir_ref (dir);
    return root;
}

static void
count_filling (rda_private_t *priv, int by)
{
    pthread_mutex_lock (&priv->lock);
    priv->filling += by;
    if (priv->filling == 0)
        thread_cond_broadcast (&priv->idle);
    pthread_mutex_unlock (&priv->lock);
}

void
rda_fill_wait (xlator_t *this)
{
    rda_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    while (priv->filling > 0)
        thread_cond_wait (&priv->idle, &priv->lock);
    pthread_mutex_unlock (&priv->lock);
}

call_stack_t *
rda_fill_wanted (xlator_t *this, const call_frame_t *frame, struct rda_dir *dir, fd_t *fd)
{
    bool wanted;

    pthread_mutex_lock (&dir->lock);
    wanted = !dir->looping && may_fill_locked (this, dir);
    if (wanted) {
        dir->looping = dir->pending = true; /* later readers wait for this call */
        dir->pending_for = dir->generation;
        rda_dir_watch_locked (this, dir);
    }
    pthread_mutex_unlock (&dir->lock);
    if (!wanted)
        return NULL;
    count_filling (this->private, 1);
    return fill_request (this, frame, dir, fd);
}

void
rda_fill_go_on_locked (xlator_t *this, struct rda_dir *dir)
{
    if (dir->pending || !dir->looping || !may_fill_locked (this, dir))
        return;
    dir->pending = true;
    dir->pending_for = dir->generation;
}

/* Takes off the waiting readers, which fill_wake resumes. What they will take makes room for
 * another call, which may be made before. A reader that is still not served then waits for its
 * answer. */
static void
fill_take_waiters (xlator_t *this, struct rda_dir *dir, bool goes_on, GQueue *ret_waiters)
{
    pthread_mutex_lock (&dir->lock);
    *ret_waiters = dir->waiters;
    g_queue_init (&dir->waiters);
    dir->promised = ret_waiters->length > 0 ? dir->bytes : 0;
    dir->pending = goes_on && may_fill_locked (this, dir);
    dir->pending_for = dir->generation;
    pthread_mutex_unlock (&dir->lock);
}

static void
fill_wake (xlator_t *this, struct rda_dir *dir, GQueue *waiters)
{
    call_stub_t *stub;

    pthread_mutex_lock (&dir->lock);
    dir->promised = 0;
    pthread_mutex_unlock (&dir->lock);
    while ((stub = g_queue_pop_head (waiters))) {
        __atomic_sub_fetch (&rda_priv (this)->waiting, 1, __ATOMIC_RELAXED);
        call_resume (stub);
    }
}

static size_t
first_size (rda_private_t *priv, size_t most)
{
    size_t size;

    pthread_mutex_lock (&priv->lock);
    size = CLAMP (priv->first_size, FILL_LEAST, most);
    pthread_mutex_unlock (&priv->lock);
    return size;
}

/* Prepares the next call, or ends the loop. If only this translator has a reference to the fd, the
 * directory is closed and the loop ends. */
static bool
fill_prepare (xlator_t *this, struct rda_dir *dir, struct rda_local *local)
{
    rda_private_t *priv = this->private;
    const size_t most = MAX (fill_size (priv), FILL_LEAST);
    bool goes;

    pthread_mutex_lock (&dir->lock);
    goes = may_fill_locked (this, dir) && __atomic_load_n (&local->fd->refs, __ATOMIC_RELAXED) > 1;
    dir->looping = dir->pending = dir->inside = goes;
    dir->returned = false;
    local->offset = dir->next;
    local->size = dir->next == 0 ? first_size (priv, most) : most;
    local->generation = dir->pending_for = dir->generation;
    local->plus = dir->plus;
    local->xdata = dict_ref (dir->xdata);
    local->clock = change_clock_now (&priv->clock);
    local->born = clock_roughly ();
    rda_dir_watch_locked (this, dir);
    pthread_mutex_unlock (&dir->lock);
    return goes;
}

static void
fill_wind (xlator_t *this, call_stack_t *root)
{
    call_frame_t *frame = &root->frames[0];
    const struct rda_local *local = frame->local;

    RDA_COUNT (this, fills);
    stack_taken (root);
    if (local->plus)
        STACK_WIND (frame, fill_readdirp_cbk, FIRST_CHILD (this), readdirp, local->fd, local->size,
                    local->offset, local->xdata);
    else
        STACK_WIND (frame, fill_readdir_cbk, FIRST_CHILD (this), readdir, local->fd, local->size,
                    local->offset, local->xdata);
}

/* Called when the wind has returned. Returns true if the answer came within it. */
static bool
fill_returned (struct rda_dir *dir, call_stack_t **ret_root)
{
    bool returned;

    pthread_mutex_lock (&dir->lock);
    dir->inside = false;
    returned = dir->returned;
    *ret_root = dir->handed;
    dir->handed = NULL;
    pthread_mutex_unlock (&dir->lock);
    return returned;
}

void
rda_fill (xlator_t *this, call_stack_t *root)
{
    struct rda_dir *dir = root ? rda_dir_ref (((struct rda_local *) root->frames[0].local)->dir)
                               : NULL;
    GQueue waiters;

    while (root && fill_prepare (this, dir, root->frames[0].local)) {
        fill_wind (this, root);
        root = NULL;
        if (!fill_returned (dir, &root)) {
            rda_dir_unref (dir);
            return; /* another thread has the loop, or will have it */
        }
    }
    if (!root)
        return;
    fill_take_waiters (this, dir, false, &waiters);
    fill_wake (this, dir, &waiters);
    stack_done (root);
    rda_dir_unref (dir);
    count_filling (this->private, -1);
}

call_stack_t *
rda_fill_early (xlator_t *this, call_stack_t *root)
{
    if (!rda_priv (this)->remote)
        return root;
    rda_fill (this, root);
    return NULL;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void
fill_end_noted (xlator_t *this, struct rda_dir *dir, const struct rda_local *asked, int error)
{
    pthread_mutex_lock (&dir->lock);
    if (dir->generation == asked->generation) {
        dir->eof = error == 0;
        dir->error = error;
        dir->ended = asked->born;
        dir->ended_clock = asked->clock;
        rda_dir_watch_locked (this, dir);
    }
    pthread_mutex_unlock (&dir->lock);
}

static void
fill_take (xlator_t *this, struct rda_dir *dir, const struct rda_local *asked, int op_ret,
           int op_errno, const gf_dirent_t *entries)
{
    if (op_ret > 0 && entries)
        rda_dir_add (this, dir, asked, entries);
    else
        fill_end_noted (this, dir, asked, op_ret < 0 ? op_errno : 0);
}

/* Hands the request for the next call to the thread that is still inside the wind. Returns false if
 * there is none: then the caller goes on with the loop. */
static bool
fill_hand_over (struct rda_dir *dir, call_stack_t *root)
{
    bool inside;

    pthread_mutex_lock (&dir->lock);
    inside = dir->inside;
    if (inside) {
        dir->returned = true;
        dir->handed = root;
    }
    pthread_mutex_unlock (&dir->lock);
    return inside;
}

static void
fill_answered (call_frame_t *frame, xlator_t *this, int op_ret, int op_errno,
               const gf_dirent_t *entries)
{
    struct rda_local *local = frame->local;
    struct rda_dir *dir = rda_dir_ref (local->dir);
    call_stack_t *root;
    GQueue waiters;

    fill_take (this, dir, local, op_ret, op_errno, entries);
    fill_take_waiters (this, dir, true, &waiters);
    root = fill_request (this, frame, dir, local->fd);
    root = fill_hand_over (dir, root) ? NULL : rda_fill_early (this, root);
    fill_wake (this, dir, &waiters);
    stack_done (frame->root);
    rda_fill (this, root);
    rda_dir_unref (dir);
}

static void
fill_readdirp_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    fill_answered (frame, this, op_ret, op_errno, entries);
}

static void
fill_readdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    fill_answered (frame, this, op_ret, op_errno, entries);
}
