/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * open. An open to read is answered at once if storage is known to admit the caller. It is sent
 * when an operation needs it, in a request of its own with the opener's identity; the operation
 * waits for it. If the file is closed before that, nothing is sent.
 *
 * These opens go down at once: to write, to truncate, or with a flag that storage alone can judge
 * (O_DIRECT, O_NOATIME, O_DIRECTORY, O_NONBLOCK because of leases). Storage may answer ETXTBSY,
 * EROFS or EPERM, and a writer needs the open soon anyway.
 */
#include "open-behind.h"

static open_cbk ob_open_cbk;
static open_cbk ob_sent_cbk;

/* Listed one by one: the kernel sends flags of its own, such as its O_LARGEFILE, which is 0 in the
 * C library. */
#define STORAGES_FLAGS \
    (O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_NONBLOCK | O_ASYNC | O_DIRECT | O_DIRECTORY \
     | O_NOATIME | O_PATH | O_TMPFILE)

/* Changes the number of opens that PARENT_DOWN waits for. After the last decrement, the translator
 * must not be used. */
static void
sent_count (xlator_t *this, int by)
{
    ob_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    __atomic_store_n (&priv->sent, priv->sent + by, __ATOMIC_RELAXED);
    if (priv->sent == 0)
        thread_cond_broadcast (&priv->idle);
    pthread_mutex_unlock (&priv->lock);
}

/* --- answered early --------------------------------------------------------------------------- */

static bool
may_be_early (const loc_t *loc, uint32_t flags, const dict_t *xdata)
{
    return (flags & STORAGES_FLAGS) == O_RDONLY && !xdata && loc->inode
        && loc->inode->ia_type == IA_IFREG;
}

static struct ob_fd *
ob_fd_new (struct ob_inode *obi, fd_t *fd, uint32_t flags, struct stack_caller *caller)
{
    struct ob_fd *obf = g_new0 (struct ob_fd, 1);

    *obf = (struct ob_fd){
        .fd = fd, .obi = obi, .flags = flags, .state = OB_WAITING, .caller = caller
    };
    obf->place.data = obf;
    g_queue_init (&obf->blocked);
    return obf;
}

static void
pending_count_locked (struct ob_inode *obi)
{
    __atomic_store_n (&obi->n_pending, obi->pending.length, __ATOMIC_RELEASE);
}

static void
pending_leave_locked (struct ob_fd *obf)
{
    g_queue_unlink (&obf->obi->pending, &obf->place);
    pending_count_locked (obf->obi);
}

/* Makes the open pending. Returns NULL if storage has to decide. */
static struct ob_fd *
let_in (xlator_t *this, struct ob_inode *obi, fd_t *fd, uint32_t flags, struct stack_caller *caller)
{
    struct ob_fd *obf = NULL;

    pthread_mutex_lock (&obi->lock);
    if (ob_is_let_in_locked (this, obi, caller)) {
        obf = ob_fd_new (obi, fd, flags, caller);
        g_queue_push_tail_link (&obi->pending, &obf->place);
        pending_count_locked (obi);
        fd_ctx_set (fd, this, obf);
    }
    pthread_mutex_unlock (&obi->lock);
    return obf;
}

static void
open_through (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd,
              struct stack_caller *caller)
{
    struct ob_local *local = frame_local_new (frame, sizeof *local);

    OB_COUNT (this, through);
    local->caller = caller;
    local->clock = ob_clock (this);
    local->first = inode_ref (loc->inode);
    STACK_WIND (frame, ob_open_cbk, FIRST_CHILD (this), open, loc, flags, fd, NULL);
}

static void
ob_open_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
             fd_t *fd, dict_t *xdata)
{
    struct ob_local *local = frame->local;

    if (op_ret >= 0)
        ob_let_in (this, ob_inode_make (this, local->first), g_steal_pointer (&local->caller),
                   local->clock);
    STACK_UNWIND (open, frame, op_ret, op_errno, fd, xdata);
}

/* Answers the open and then sends it, although no operation needs it yet. The request is over by
 * then, so PARENT_DOWN waits for the count. */
static void
open_soon (call_frame_t *frame, xlator_t *this, struct ob_fd *obf)
{
    fd_t *const fd = fd_ref (obf->fd);
    struct ob_work work = OB_WORK_INIT;

    sent_count (this, 1);
    STACK_UNWIND (open, frame, 0, 0, fd, NULL);
    ob_wait_for (obf, NULL, &work);
    ob_run (this, &work);
    fd_unref (fd);
    sent_count (this, -1);
}

void
ob_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd, dict_t *xdata)
{
    const bool lazy = __atomic_load_n (&ob_priv (this)->lazy, __ATOMIC_RELAXED);
    struct stack_caller *caller;
    struct ob_inode *obi;
    struct ob_fd *obf;

    if (!may_be_early (loc, flags, xdata)) {
        OB_COUNT (this, through);
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), open, loc, flags, fd, xdata);
        return;
    }
    caller = stack_caller_new (frame->root);
    obi = ob_inode_get (this, loc->inode);
    obf = obi ? let_in (this, obi, fd, flags, caller) : NULL;
    if (!obf) {
        open_through (frame, this, loc, flags, fd, caller);
        return;
    }
    OB_COUNT (this, early);
    if (lazy)
        STACK_UNWIND (open, frame, 0, 0, fd, NULL);
    else
        open_soon (frame, this, obf);
}

/* --- sending ---------------------------------------------------------------------------------- */

/* An fd without references is about to be released, and release waits for the lock: its open is not
 * needed any more. */
static void
send_locked (struct ob_fd *obf, struct ob_work *work)
{
    if (!fd_ref_living (obf->fd)) {
        pending_leave_locked (obf);
        __atomic_store_n (&obf->state, OB_OPEN, __ATOMIC_RELEASE);
        return;
    }
    __atomic_store_n (&obf->state, OB_SENT, __ATOMIC_RELEASE);
    g_queue_push_tail (&work->send, obf);
}

static void
ob_wait_locked (struct ob_fd *obf, struct ob_waiter *waiter, struct ob_work *work)
{
    if (obf->state == OB_WAITING)
        send_locked (obf, work);
    if (!waiter || obf->state != OB_SENT)
        return;
    __atomic_add_fetch (&waiter->blockers, 1, __ATOMIC_RELAXED);
    g_queue_push_tail (&obf->blocked, waiter);
}

void
ob_wait_for (struct ob_fd *obf, struct ob_waiter *waiter, struct ob_work *work)
{
    pthread_mutex_lock (&obf->obi->lock);
    ob_wait_locked (obf, waiter, work);
    pthread_mutex_unlock (&obf->obi->lock);
}

void
ob_wait_for_all (struct ob_inode *obi, struct ob_waiter *waiter, struct ob_work *work)
{
    pthread_mutex_lock (&obi->lock);
    for (GList *at = obi->pending.head, *next; at; at = next) {
        next = at->next;
        ob_wait_locked (at->data, waiter, work);
    }
    pthread_mutex_unlock (&obi->lock);
}

static void
ob_send (xlator_t *this, struct ob_fd *obf)
{
    call_stack_t *root = stack_new_as (this, obf->caller);
    loc_t loc = { .inode = obf->fd->inode };

    root->op = FOP_open;
    OB_COUNT (this, sent);
    sent_count (this, 1);
    STACK_WIND_COOKIE (&root->frames[0], ob_sent_cbk, obf, FIRST_CHILD (this), open, &loc,
                       obf->flags, obf->fd, NULL);
}

static void
sent_done (xlator_t *this, struct ob_fd *obf, int error, struct ob_work *work)
{
    pthread_mutex_lock (&obf->obi->lock);
    pending_leave_locked (obf);
    obf->error = error;
    __atomic_store_n (&obf->state, error ? OB_FAILED : OB_OPEN, __ATOMIC_RELEASE);
    work->ready = obf->blocked;
    g_queue_init (&obf->blocked);
    pthread_mutex_unlock (&obf->obi->lock);
    if (!error)
        return;
    OB_COUNT (this, failed);
    ob_unknow (this, obf->obi);
}

/* Waiters resume in order of arrival. */
static void
ob_sent_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
             fd_t *fd, dict_t *xdata)
{
    struct ob_fd *obf = cookie;
    struct ob_work work = OB_WORK_INIT;
    fd_t *const kept = obf->fd;

    sent_done (this, obf, op_ret < 0 ? op_errno : 0, &work);
    stack_done (frame->root);
    ob_run (this, &work);
    fd_unref (kept); /* may release the fd */
    sent_count (this, -1);
}

static void
waiter_unblock (struct ob_waiter *waiter)
{
    call_stub_t *stub = waiter->stub;

    if (__atomic_sub_fetch (&waiter->blockers, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    g_free (waiter);
    call_resume (stub);
}

void
ob_run (xlator_t *this, struct ob_work *work)
{
    struct ob_fd *obf;
    struct ob_waiter *waiter;

    while ((obf = g_queue_pop_head (&work->send)))
        ob_send (this, obf);
    while ((waiter = g_queue_pop_head (&work->ready)))
        waiter_unblock (waiter);
}

/* --- closing ---------------------------------------------------------------------------------- */

void
ob_release (xlator_t *this, fd_t *fd)
{
    struct ob_fd *obf = ob_fd_get (this, fd);

    if (!obf)
        return;
    pthread_mutex_lock (&obf->obi->lock);
    if (obf->state == OB_WAITING) {
        pending_leave_locked (obf);
        OB_COUNT (this, spared);
    }
    pthread_mutex_unlock (&obf->obi->lock);
    fd_ctx_set (fd, this, NULL);
    g_free (obf->caller);
    g_free (obf);
}
