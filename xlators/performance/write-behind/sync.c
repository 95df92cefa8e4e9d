/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fsync and flush, and errors of writes that failed after they were answered.
 *
 * Such an error is reported as fsync(2) does for pages that are written back: by the next fsync or
 * close, once to each description that had written. An error that was not reported yet goes to the
 * first caller that asks, also on a description that is opened later. So an inode counts its
 * errors, and a description's context holds the count it has seen, plus 1.
 */
#include "write-behind.h"

static fsync_cbk wb_fsync_cbk;
static flush_cbk wb_flush_cbk;
static flush_cbk wb_flush_behind_cbk;

/* --- errors ----------------------------------------------------------------------------------- */

bool
wb_error_note_locked (xlator_t *this, struct wb_inode *wbi, int error)
{
    const bool news = !wbi->error || wbi->told;

    if (news)
        __atomic_add_fetch (&wb_priv (this)->count.untold, 1, __ATOMIC_RELAXED);
    wbi->error_number++;
    wbi->error = error;
    wbi->told = false;
    return news;
}

void
wb_error_tell (xlator_t *this, const struct wb_write *write, int error, bool news)
{
    g_autofree char *path = news ? inode_path (write->wbi->inode, NULL) : NULL;

    __atomic_add_fetch (&wb_priv (this)->count.failed, 1, __ATOMIC_RELAXED);
    if (news)
        gf_log (this, GF_LOG_WARNING,
                "%zu bytes at offset %lld of '%s' were not written, after the write had been "
                "answered: %s; "
                "the next fsync or close of the writer fails",
                write->size, (long long) write->offset, path, g_strerror (error));
}

void
wb_error_forget (xlator_t *this, const struct wb_inode *wbi)
{
    char gfid[GFID_TEXT_SIZE];

    if (!wbi->error || wbi->told)
        return;
    __atomic_sub_fetch (&wb_priv (this)->count.untold, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch (&wb_priv (this)->count.never_told, 1, __ATOMIC_RELAXED);
    gf_log (this, GF_LOG_WARNING,
            "no fsync or close asked for the result of writes to file %s, which were answered and "
            "failed later: %s",
            gfid_text (&wbi->inode->gfid, gfid), g_strerror (wbi->error));
}

static void
error_know (xlator_t *this, fd_t *fd, uint32_t number)
{
    fd_ctx_set (fd, this, GSIZE_TO_POINTER ((gsize) number + 1));
}

/* The count that a new description begins with. It leaves out an error that was never reported, so
 * that this description reports it. */
static uint32_t
error_begin (const struct wb_inode *wbi)
{
    return wbi->error && !wbi->told ? wbi->error_number - 1 : wbi->error_number;
}

void
wb_error_begin_locked (struct wb_inode *wbi, const xlator_t *this, fd_t *fd)
{
    if (!fd_ctx_get (fd, this))
        error_know ((xlator_t *) this, fd, error_begin (wbi));
}

/* Returns the error that this description reports now, or 0. With `any`, a description that never
 * wrote here reports an error that nobody knows yet. */
static int
error_take (xlator_t *this, fd_t *fd, bool any)
{
    struct wb_inode *wbi = wb_inode_get (this, fd->inode);
    gsize known = GPOINTER_TO_SIZE (fd_ctx_get (fd, this));
    int error = 0;

    if (!wbi || (!known && !any))
        return 0;
    pthread_mutex_lock (&wbi->lock);
    if (!known)
        known = (gsize) error_begin (wbi) + 1;
    if (wbi->error && (uint32_t) (known - 1) != wbi->error_number) {
        error = wbi->error;
        if (!wbi->told)
            __atomic_sub_fetch (&wb_priv (this)->count.untold, 1, __ATOMIC_RELAXED);
        wbi->told = true;
        error_know (this, fd, wbi->error_number);
    }
    pthread_mutex_unlock (&wbi->lock);
    return error;
}

/* --- fsync ------------------------------------------------------------------------------------ */

/* Keeps fd for the callback. */
static struct wb_local *
keep_fd (call_frame_t *frame, fd_t *fd)
{
    struct wb_local *local = frame_local_new (frame, sizeof *local);

    local->fd = fd_ref (fd);
    return local;
}

/* An error of storage itself takes precedence over an error of an earlier write. */
static int
error_of_answer (call_frame_t *frame, xlator_t *this, int32_t op_ret, int32_t op_errno, bool any)
{
    struct wb_local *local = frame->local;
    const int error = error_take (this, local->fd, any);

    return op_ret < 0 ? op_errno : error;
}

/* --- answering an error ----------------------------------------------------------------------- */

static void
fsync_failed (struct wb_node *node)
{
    struct wb_local *local = (struct wb_local *) ((char *) node
                                                  - offsetof (struct wb_local, after.node));

    STACK_UNWIND (fsync, local->frame, -1, local->error, NULL, NULL, NULL);
}

static void
flush_failed (struct wb_node *node)
{
    struct wb_local *local = (struct wb_local *) ((char *) node
                                                  - offsetof (struct wb_local, after.node));

    STACK_UNWIND (flush, local->frame, -1, local->error, NULL);
}

/* A caller that learns of lost bytes must not find them any more. So the error is answered only
 * after the kernel has dropped them. */
static void
fail_after (call_frame_t *frame, xlator_t *this, int error, void (*answer) (struct wb_node *node))
{
    struct wb_local *local = frame->local;

    local->after.node.go = answer;
    local->frame = frame;
    local->error = error;
    wb_nudge_after (this, &local->after);
}

/* --- fsync ------------------------------------------------------------------------------------ */

static void
wb_fsync_go (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t datasync, dict_t *xdata)
{
    keep_fd (frame, fd);
    STACK_WIND (frame, wb_fsync_cbk, FIRST_CHILD (this), fsync, fd, datasync, xdata);
}

static void
wb_fsync_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    const int error = error_of_answer (frame, this, op_ret, op_errno, true);

    if (error)
        fail_after (frame, this, error, fsync_failed);
    else
        STACK_UNWIND (fsync, frame, op_ret, 0, prebuf, postbuf, xdata);
}

/* fsync goes down after the answered writes, so that it covers them. */
void
wb_fsync (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t datasync, dict_t *xdata)
{
    struct wb_inode *wbi = wb_inode_get (this, fd->inode);

    if (!wbi)
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), fsync, fd, datasync, xdata);
    else if (wb_is_busy (wbi))
        wb_wait (this, frame, fop_fsync_stub (frame, wb_fsync_go, fd, datasync, xdata), wbi, 0, -1);
    else
        wb_fsync_go (frame, this, fd, datasync, xdata);
}

/* --- flush ------------------------------------------------------------------------------------ */

/* Returns true if the file's pending bytes may have been written by the caller of this close. The
 * kernel sends bytes of its page cache, of write(2) or of a mapping, through any description that
 * is open for writing, so the fd of a write does not show which program wrote the bytes. */
static bool
may_have_written (const fd_t *fd)
{
    return (fd->flags & O_ACCMODE) != O_RDONLY;
}

static bool
was_locked (const struct wb_inode *wbi)
{
    return __atomic_load_n (&wbi->locked, __ATOMIC_RELAXED);
}

/* The close was already answered. The error is reported by the next fsync, also on a new
 * description. */
static void
wb_flush_behind_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                     int32_t op_errno, dict_t *xdata)
{
    struct wb_local *local = frame->local;
    struct wb_inode *wbi = wb_inode_get (this, local->fd->inode);

    if (op_ret < 0) {
        pthread_mutex_lock (&wbi->lock);
        wb_error_note_locked (this, wbi, op_errno);
        pthread_mutex_unlock (&wbi->lock);
        gf_log (this, GF_LOG_WARNING, "a flush failed after the close had been answered: %s",
                g_strerror (op_errno));
    }
    stack_done (frame->root);
    wb_unfinished (this, -1);
}

/* Answers the close, and sends the flush afterwards, in a request of its own. Nobody has locked the
 * file, so there is no lock for this flush to end. It has no owner, since the caller may open and
 * lock the file again before it arrives. */
static void
answer_and_flush (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    const int error = error_take (this, fd, true);
    call_stack_t *root = stack_new_like (this, frame);
    call_frame_t *later = &root->frames[0];
    struct wb_local *local = keep_fd (later, fd);

    root->lk_owner = 0;
    local->xdata = dict_ref (xdata);
    wb_unfinished (this, 1);
    if (error)
        fail_after (frame, this, error, flush_failed);
    else
        STACK_UNWIND (flush, frame, 0, 0, NULL);
    STACK_WIND (later, wb_flush_behind_cbk, FIRST_CHILD (this), flush, local->fd, local->xdata);
}

static void
wb_flush_go (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    keep_fd (frame, fd);
    if (WB_OPTION (this, flush_behind) && !was_locked (wb_inode_get (this, fd->inode)))
        answer_and_flush (frame, this, fd, xdata);
    else
        STACK_WIND (frame, wb_flush_cbk, FIRST_CHILD (this), flush, fd, xdata);
}

static void
wb_flush_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              dict_t *xdata)
{
    const struct wb_local *local = frame->local;
    const int error = error_of_answer (frame, this, op_ret, op_errno, may_have_written (local->fd));

    if (error)
        fail_after (frame, this, error, flush_failed);
    else
        STACK_UNWIND (flush, frame, op_ret, 0, xdata);
}

/* A close waits for the file's answered writes and reports their errors. One that can't have
 * written waits only if it may end locks. */
void
wb_flush (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    struct wb_inode *wbi = wb_inode_get (this, fd->inode);

    if (!wbi || !(may_have_written (fd) || was_locked (wbi)))
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), flush, fd, xdata);
    else if (wb_is_busy (wbi))
        wb_wait (this, frame, fop_flush_stub (frame, wb_flush_go, fd, xdata), wbi, 0, -1);
    else
        wb_flush_go (frame, this, fd, xdata);
}
