/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests of readers. Each has one of four outcomes:
 *
 *   SERVE     it is answered from entries read ahead
 *   WAIT      a fill call for just these entries is on the way: the reader tries again after it
 *   FOLLOW    it goes down; if it continues the last one, or begins the directory, reading ahead
 *             starts where its answer ends
 *   PASS      it goes down and leaves no trace here
 *
 * So there is no reading ahead for a reader that jumps about. For one that reads in order after a
 * jump, reading ahead starts again at its second call.
 */
#include "readdir-ahead.h"

static opendir_cbk rda_opendir_cbk;
static readdir_cbk rda_readdir_cbk;
static readdirp_cbk rda_readdirp_cbk;

enum verdict { SERVE, WAIT, FOLLOW, PASS };

struct question {
    call_frame_t *frame;
    fd_t *fd;
    size_t size;
    off_t offset;
    bool plus;
    dict_t *xdata;
};

/* The answer to a reader that is served. */
struct served {
    gf_dirent_t *entries;
    int n, error;
    uint64_t clock;
};

/* --- opendir ---------------------------------------------------------------------------------- */

void
rda_opendir (call_frame_t *frame, xlator_t *this, loc_t *loc, fd_t *fd, dict_t *xdata)
{
    if (dict_has (xdata, XDATA_LOOKS_AHEAD) || (loc->inode && inode_is_unkept (loc->inode)))
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), opendir, loc, fd, xdata);
    else
        STACK_WIND (frame, rda_opendir_cbk, FIRST_CHILD (this), opendir, loc, fd, xdata);
}

static call_stack_t *
begin_ahead (call_frame_t *frame, xlator_t *this, fd_t *fd)
{
    rda_private_t *priv = this->private;
    struct rda_dir *dir = rda_dir_new (frame, fd);

    pthread_mutex_lock (&priv->lock);
    dir->active = !priv->first_is_asked;
    pthread_mutex_unlock (&priv->lock);
    fd_ctx_set (fd, this, dir);
    return rda_fill_early (this, rda_fill_wanted (this, frame, dir, fd));
}

static void
rda_opendir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, fd_t *fd, dict_t *xdata)
{
    call_stack_t *fill = op_ret < 0 ? NULL : begin_ahead (frame, this, fd);

    STACK_UNWIND (opendir, frame, op_ret, op_errno, fd, xdata);
    rda_fill (this, fill);
}

/* --- deciding --------------------------------------------------------------------------------- */

/* The opener may be allowed to see more of the entries than another reader of the same fd. */
static bool
is_openers (const struct rda_dir *dir, const call_frame_t *frame)
{
    return frame->root->uid == dir->uid && frame->root->gid == dir->gid;
}

static bool
is_too_old (xlator_t *this, int64_t born)
{
    return clock_roughly () - born >= RDA_GET (rda_priv (this)->timeout);
}

/* Names changed after the entries were read. While names keep changing, reading ahead is not worth
 * much, so it pauses for a while. */
static void
drop_changed_locked (xlator_t *this, struct rda_dir *dir, rda_gone_t *gone)
{
    RDA_COUNT (this, dropped);
    dir->backoff = MIN (dir->backoff * 2 + 1, 63);
    dir->skip = dir->backoff;
    rda_dir_drop_locked (this, dir, gone);
}

/* Drops entries that are, or may be, outdated. The first batch is the oldest. */
static void
look_over_locked (xlator_t *this, struct rda_dir *dir, bool plus, rda_gone_t *gone)
{
    const struct rda_batch *first = g_queue_peek_head (&dir->batches);
    const bool ended = dir->eof || dir->error;

    if (!first && !ended)
        return;
    if (rda_names_changed (this, dir->inode, first ? first->clock : dir->ended_clock)) {
        drop_changed_locked (this, dir, gone);
    } else if (is_too_old (this, first ? first->born : dir->ended)) {
        RDA_COUNT (this, expired);
        rda_dir_drop_locked (this, dir, gone);
    } else if (first && plus && !first->plus) {
        rda_dir_drop_locked (this, dir, gone);
    }
}

/* For the first fill call of the next directory that is opened. */
static void
note_first (rda_private_t *priv, const struct question *q)
{
    pthread_mutex_lock (&priv->lock);
    priv->first_size = q->size;
    priv->first_is_asked = q->xdata;
    pthread_mutex_unlock (&priv->lock);
}

/* Entries that were read with other xdata lack what this reader asks for. */
static void
take_xdata_locked (xlator_t *this, struct rda_dir *dir, dict_t *xdata, rda_gone_t *gone)
{
    if (dict_equal (dir->xdata, xdata))
        return;
    dict_unref (dir->xdata);
    dir->xdata = dict_ref (xdata);
    rda_dir_drop_locked (this, dir, gone);
}

static enum verdict
decide_locked (xlator_t *this, struct rda_dir *dir, const struct question *q, rda_gone_t *gone)
{
    const rda_private_t *priv = this->private;

    if (!is_openers (dir, q->frame))
        return PASS;
    dir->plus = q->plus;
    dir->goes_on = q->offset != 0 || !q->plus;
    if (q->offset == 0)
        note_first (this->private, q);
    take_xdata_locked (this, dir, q->xdata, gone);
    look_over_locked (this, dir, q->plus, gone);
    if (!dir->active || (dir->at != q->offset && !rda_dir_skip_locked (this, dir, q->offset, gone)))
        return FOLLOW;
    rda_fill_go_on_locked (this, dir);
    if (dir->pending && dir->pending_for == dir->generation
        && dir->bytes < MAX (RDA_GET (priv->low), 1))
        return WAIT;
    return dir->batches.length > 0 || dir->eof || dir->error ? SERVE : FOLLOW;
}

static void
serve_locked (xlator_t *this, struct rda_dir *dir, const struct question *q,
              struct served *ret_served, rda_gone_t *gone)
{
    *ret_served = (struct served){ 0 };
    if (dir->batches.length > 0) {
        ret_served->entries = rda_dir_take_locked (this, dir, q->size, q->plus, &ret_served->n,
                                                   &ret_served->clock, gone);
        return;
    }
    ret_served->error = dir->error;
    rda_dir_drop_locked (this, dir, gone); /* the next reader asks storage again */
    dir->expected = q->offset;
}

/* The reader's own call goes down. The entries read ahead do not help it, so they are dropped. */
static void
follow_locked (xlator_t *this, struct rda_dir *dir, const struct question *q, rda_gone_t *gone)
{
    struct rda_local *local = frame_local_new (q->frame, sizeof *local);

    rda_dir_drop_locked (this, dir, gone);
    local->fd = fd_ref (q->fd);
    local->dir = rda_dir_ref (dir);
    local->generation = dir->generation;
    local->offset = q->offset;
    local->follows = q->offset == 0 || q->offset == dir->expected;
}

/* --- answering -------------------------------------------------------------------------------- */

static void
unwind_entries (call_frame_t *frame, bool plus, int r, gf_dirent_t *entries)
{
    if (plus)
        STACK_UNWIND (readdirp, frame, r < 0 ? -1 : r, r < 0 ? -r : 0, entries, NULL);
    else
        STACK_UNWIND (readdir, frame, r < 0 ? -1 : r, r < 0 ? -r : 0, entries, NULL);
}

static void
strip (gf_dirent_t *entry)
{
    g_clear_pointer (&entry->inode, inode_unref);
    g_clear_pointer (&entry->dict, dict_unref);
    entry->d_stat = (struct iatt){ .ia_type = IA_INVAL };
}

/* Removes attributes that were not requested or that are outdated. */
static void
leave_out (xlator_t *this, const struct served *served, bool plus)
{
    for (gf_dirent_t *entry = served->entries; entry; entry = entry->next) {
        if (!entry->inode)
            continue;
        if (plus && !rda_entry_is_stale (this, entry, served->clock))
            continue;
        if (plus)
            RDA_COUNT (this, stripped);
        strip (entry);
    }
}

static void
rda_serve (xlator_t *this, struct rda_dir *dir, const struct question *q, struct served *served)
{
    call_stack_t *fill;

    RDA_COUNT (this, hits);
    leave_out (this, served, q->plus);
    fill = rda_fill_early (this, rda_fill_wanted (this, q->frame, dir, q->fd));
    unwind_entries (q->frame, q->plus, served->error ? -served->error : served->n, served->entries);
    dirents_free (served->entries);
    rda_fill (this, fill);
}

static void
wind_down (xlator_t *this, const struct question *q, bool follows)
{
    RDA_COUNT (this, passed);
    if (follows && q->plus)
        STACK_WIND (q->frame, rda_readdirp_cbk, FIRST_CHILD (this), readdirp, q->fd, q->size,
                    q->offset, q->xdata);
    else if (follows)
        STACK_WIND (q->frame, rda_readdir_cbk, FIRST_CHILD (this), readdir, q->fd, q->size,
                    q->offset, q->xdata);
    else if (q->plus)
        STACK_WIND_TAIL (q->frame, FIRST_CHILD (this), readdirp, q->fd, q->size, q->offset,
                         q->xdata);
    else
        STACK_WIND_TAIL (q->frame, FIRST_CHILD (this), readdir, q->fd, q->size, q->offset,
                         q->xdata);
}

static call_stub_t *
stub_of (const struct question *q)
{
    return q->plus
        ? fop_readdirp_stub (q->frame, rda_readdirp, q->fd, q->size, q->offset, q->xdata)
        : fop_readdir_stub (q->frame, rda_readdir, q->fd, q->size, q->offset, q->xdata);
}

static void
rda_wait_locked (xlator_t *this, struct rda_dir *dir, const struct question *q)
{
    __atomic_add_fetch (&rda_priv (this)->waiting, 1, __ATOMIC_RELAXED);
    g_queue_push_tail (&dir->waiters, stub_of (q));
}

static void
rda_ask (xlator_t *this, struct rda_dir *dir, const struct question *q)
{
    rda_gone_t gone = RDA_GONE_INIT;
    struct served served = { 0 };
    enum verdict verdict;

    pthread_mutex_lock (&dir->lock);
    verdict = decide_locked (this, dir, q, &gone);
    if (verdict == SERVE)
        serve_locked (this, dir, q, &served, &gone);
    else if (verdict == FOLLOW)
        follow_locked (this, dir, q, &gone);
    else if (verdict == WAIT)
        rda_wait_locked (this, dir, q);
    pthread_mutex_unlock (&dir->lock);
    rda_gone_free (&gone);
    if (verdict == SERVE)
        rda_serve (this, dir, q, &served);
    else if (verdict != WAIT)
        wind_down (this, q, verdict == FOLLOW);
}

void
rda_readdir (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
             dict_t *xdata)
{
    struct rda_dir *dir = rda_dir_get (this, fd);

    if (!dir)
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), readdir, fd, size, offset, xdata);
    else
        rda_ask (this, dir, &(struct question){ frame, fd, size, offset, false, xdata });
}

void
rda_readdirp (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
              dict_t *xdata)
{
    struct rda_dir *dir = rda_dir_get (this, fd);

    if (!dir)
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), readdirp, fd, size, offset, xdata);
    else
        rda_ask (this, dir, &(struct question){ frame, fd, size, offset, true, xdata });
}

/* --- calls that went down --------------------------------------------------------------------- */

/* Reading ahead starts where the answer ends, unless another call has changed the directory's state
 * since. */
static void
rda_follow (const struct rda_local *local, int op_ret, const gf_dirent_t *entries)
{
    struct rda_dir *dir = local->dir;
    off_t end = local->offset;

    for (; entries; entries = entries->next)
        end = (off_t) entries->d_off;
    pthread_mutex_lock (&dir->lock);
    if (local->generation == dir->generation) {
        dir->expected = end;
        if (op_ret > 0 && local->follows && dir->skip > 0) {
            dir->skip--;
        } else if (op_ret > 0 && local->follows) {
            dir->at = dir->next = end;
            dir->active = true;
        }
    }
    pthread_mutex_unlock (&dir->lock);
}

static call_stack_t *
followed (call_frame_t *frame, xlator_t *this, int op_ret, const gf_dirent_t *entries)
{
    const struct rda_local *local = frame->local;

    rda_follow (local, op_ret, entries);
    return rda_fill_early (this, rda_fill_wanted (this, frame, local->dir, local->fd));
}

static void
rda_readdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    call_stack_t *fill = followed (frame, this, op_ret, entries);

    STACK_UNWIND (readdir, frame, op_ret, op_errno, entries, xdata);
    rda_fill (this, fill);
}

static void
rda_readdirp_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    call_stack_t *fill = followed (frame, this, op_ret, entries);

    STACK_UNWIND (readdirp, frame, op_ret, op_errno, entries, xdata);
    rda_fill (this, fill);
}
