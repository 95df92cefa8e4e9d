/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The queue of an inode: writes that were answered and are not done yet. A new write waits for
 * earlier ones that overlap it. Then it is sent, unless it is small and another write is on its
 * way. In that case it stays in the queue, so that later writes can join it. It is sent when the
 * other write is done, when an operation waits for it, or when a write arrives that cannot join it.
 */
#include "write-behind.h"

bool
wb_is_busy (struct wb_inode *wbi)
{
    return wbi && __atomic_load_n (&wbi->n_writes, __ATOMIC_ACQUIRE) > 0;
}

/* --- which node waits for which write ------------------------------------------------------- */

/* An end of -1 is beyond all other offsets. */
static bool
ranges_meet (off_t a, off_t a_end, off_t b, off_t b_end)
{
    return (b_end < 0 || a < b_end) && (a_end < 0 || b < a_end);
}

static bool
write_meets (const struct wb_write *write, off_t offset, off_t end)
{
    return write->append
        || ranges_meet (write->offset, write->offset + (off_t) write->size, offset, end);
}

static void
node_block_locked (struct wb_node *node, struct wb_write *by)
{
    if (!by->blocked)
        by->blocked = g_ptr_array_new ();
    g_ptr_array_add (by->blocked, node);
    __atomic_add_fetch (&node->blockers, 1, __ATOMIC_RELAXED);
}

void
wb_node_unblock (struct wb_node *node, wb_ready_t *ready)
{
    if (__atomic_sub_fetch (&node->blockers, 1, __ATOMIC_ACQ_REL) == 0)
        g_queue_push_tail (ready, node);
}

/* Makes the write wait for earlier writes that overlap the range; with strict-order, for all
 * earlier writes. */
static void
write_block_locked (struct wb_write *write, off_t offset, size_t size)
{
    const bool all = write->append || WB_OPTION (write->this, strict_order);
    const off_t from = all ? 0 : offset, end = all ? -1 : offset + (off_t) size;

    for (GList *l = write->place.prev; l; l = l->prev)
        if (write_meets (l->data, from, end))
            node_block_locked (&write->node, l->data);
}

/* --- when a write is sent ------------------------------------------------------------------- */

static void
write_send_locked (struct wb_write *write, wb_ready_t *ready)
{
    struct wb_inode *wbi = write->wbi;

    if (wbi->waits == write)
        wbi->waits = NULL;
    write->flying = true;
    wbi->flying++;
    g_queue_push_tail (ready, &write->node);
}

/* Returns true if the write should stay in the queue so that others can join it. */
static bool
write_waits_locked (const struct wb_write *write)
{
    const wb_private_t *priv = wb_priv (write->this);

    if (write->place.next || write->blocked || write->size >= priv->aggregate
        || __atomic_load_n (&priv->ending, __ATOMIC_RELAXED))
        return false;
    return write->wbi->flying > 0 || !WB_OPTION (write->this, trickling);
}

/* Sends the write or leaves it waiting for others to join; does nothing while it has blockers. If
 * no write on its way will end the wait, the nudge thread does. */
static void
write_settle_locked (struct wb_write *write, wb_ready_t *ready)
{
    struct wb_inode *wbi = write->wbi;

    if (wbi->waits == write)
        wbi->waits = NULL;
    if (__atomic_load_n (&write->node.blockers, __ATOMIC_ACQUIRE) > 0)
        return;
    if (!write_waits_locked (write) || (wbi->flying == 0 && !wb_nudge_later (write->this)))
        write_send_locked (write, ready);
    else
        wbi->waits = write;
}

void
wb_queue_nudge_locked (struct wb_inode *wbi, wb_ready_t *ready)
{
    if (wbi->waits)
        write_send_locked (wbi->waits, ready);
}

void
wb_queue_nudge (struct wb_inode *wbi, wb_ready_t *ready)
{
    pthread_mutex_lock (&wbi->lock);
    wb_queue_nudge_locked (wbi, ready);
    pthread_mutex_unlock (&wbi->lock);
}

/* --- adding ----------------------------------------------------------------------------------- */

/* The inode is in private.busy before its write is visible, and until no node waits for the
 * write. */
static void
busy_enter (struct wb_write *write)
{
    wb_private_t *priv = write->this->private;

    pthread_mutex_lock (&priv->lock);
    __atomic_store_n (&priv->unfinished, priv->unfinished + 1, __ATOMIC_RELEASE);
    if (write->wbi->busy++ == 0)
        g_queue_push_tail_link (&priv->busy, &write->wbi->place);
    pthread_mutex_unlock (&priv->lock);
}

static void
busy_leave (struct wb_write *write)
{
    wb_private_t *priv = write->this->private;

    pthread_mutex_lock (&priv->lock);
    if (--write->wbi->busy == 0)
        g_queue_unlink (&priv->busy, &write->wbi->place);
    pthread_mutex_unlock (&priv->lock);
}

void
wb_unfinished (xlator_t *this, int by)
{
    wb_private_t *priv = this->private;

    pthread_mutex_lock (&priv->lock);
    __atomic_store_n (&priv->unfinished, priv->unfinished + by, __ATOMIC_RELEASE);
    if (priv->unfinished == 0)
        thread_cond_broadcast (&priv->idle);
    pthread_mutex_unlock (&priv->lock);
}

static void
count_bytes (struct wb_write *write, size_t size, size_t cost)
{
    write->answered += size;
    write->wbi->window += size;
    __atomic_add_fetch (&wb_priv (write->this)->held, cost, __ATOMIC_RELAXED);
}

static bool
wb_add_locked (struct wb_write *write, bool again, wb_ready_t *ready)
{
    struct wb_inode *wbi = write->wbi;

    if (wb_room_locked (wbi, write->this, write->size, again) != WB_ROOM_NOW)
        return false;
    wb_error_begin_locked (wbi, write->this, write->fd);
    wb_queue_nudge_locked (wbi, ready);
    g_queue_push_tail_link (&wbi->writes, &write->place);
    count_bytes (write, write->size, write->cost);
    write_block_locked (write, write->offset, write->size);
    __atomic_store_n (&wbi->n_writes, wbi->writes.length, __ATOMIC_RELEASE);
    write_settle_locked (write, ready);
    return true;
}

bool
wb_queue_add (struct wb_write *write, bool again, wb_ready_t *ready)
{
    struct wb_inode *wbi = write->wbi;
    bool added;

    busy_enter (write);
    pthread_mutex_lock (&wbi->lock);
    added = wb_add_locked (write, again, ready);
    pthread_mutex_unlock (&wbi->lock);
    if (!added) {
        busy_leave (write);
        wb_unfinished (write->this, -1);
    }
    return added;
}

/* A write joins the last one if it follows it and has the same description and the same caller, and
 * if the last one is neither sent nor waited for: a waiter must not wait for more bytes than were
 * there when it came. */
static bool
may_join_locked (const struct wb_write *write, const call_frame_t *frame,
                 const struct writev_call *call, size_t size, bool again)
{
    const call_stack_t *root = write ? write->root : NULL, *other = frame->root;

    if (!write || write->flying || write->blocked || write->fd != call->fd
        || write->flags != call->flags)
        return false;
    if (write->xdata || call->xdata)
        return false;
    if (root->uid != other->uid || root->gid != other->gid || root->lk_owner != other->lk_owner)
        return false;
    return (write->append || write->offset + (off_t) write->size == call->offset)
           && write->size + size <= wb_priv (write->this)->aggregate
           && wb_room_locked (write->wbi, write->this, size, again) == WB_ROOM_NOW;
}

bool
wb_queue_join (struct wb_inode *wbi, const call_frame_t *frame, const struct writev_call *call,
               bool again, wb_ready_t *ready)
{
    const size_t size = iov_length (call->vector, call->count);
    struct wb_write *write;
    bool joined;

    pthread_mutex_lock (&wbi->lock);
    write = g_queue_peek_tail (&wbi->writes);
    joined = may_join_locked (write, frame, call, size, again);
    if (joined) {
        const size_t cost = write->cost;
        joined = wb_gather_more (write, call->vector, call->count, call->iobref);
        count_bytes (write, joined ? size : 0, write->cost - cost);
    }
    if (joined) {
        if (!write->append)
            write_block_locked (write, call->offset, size);
        write_settle_locked (write, ready);
    }
    pthread_mutex_unlock (&wbi->lock);
    return joined;
}

/* --- done ------------------------------------------------------------------------------------- */

static void
unblock_all_locked (struct wb_write *write, wb_ready_t *ready)
{
    for (guint i = 0; write->blocked && i < write->blocked->len; i++) {
        struct wb_node *node = write->blocked->pdata[i];

        if (node->go != wb_write_go)
            wb_node_unblock (node, ready);
        else if (__atomic_sub_fetch (&node->blockers, 1, __ATOMIC_ACQ_REL) == 0)
            write_settle_locked ((struct wb_write *) node, ready);
    }
}

static bool
done_locked (struct wb_write *write, int error, wb_ready_t *ready)
{
    struct wb_inode *wbi = write->wbi;
    bool news = error && wb_error_note_locked (write->this, wbi, error);

    g_queue_unlink (&wbi->writes, &write->place);
    wbi->window -= write->answered;
    wbi->flying--;
    wbi->done_at = __atomic_add_fetch (&wb_priv (write->this)->clock, 1, __ATOMIC_ACQ_REL);
    __atomic_store_n (&wbi->n_writes, wbi->writes.length, __ATOMIC_RELEASE);
    unblock_all_locked (write, ready);
    if (wbi->waits)
        write_settle_locked (wbi->waits, ready);
    wb_room_go_on_locked (wbi, write->this, ready);
    return news;
}

void
wb_queue_done (struct wb_write *write, int error, wb_ready_t *ready)
{
    xlator_t *this = write->this;
    struct wb_inode *wbi = write->wbi;
    bool news;

    if (error)
        wb_nudge_lost (this, wbi->inode); /* before a caller can learn of the error */
    pthread_mutex_lock (&wbi->lock);
    news = done_locked (write, error, ready);
    pthread_mutex_unlock (&wbi->lock);
    if (error)
        wb_error_tell (this, write, error, news);
    __atomic_sub_fetch (&wb_priv (this)->held, write->cost, __ATOMIC_RELAXED);
    busy_leave (write);
    wb_write_free (write);
    wb_unfinished (this, -1);
}

/* --- waiting ---------------------------------------------------------------------------------- */

void
wb_wait_for (struct wb_inode *wbi, struct wb_node *node, off_t offset, off_t end, wb_ready_t *ready)
{
    if (!wb_is_busy (wbi))
        return;
    pthread_mutex_lock (&wbi->lock);
    for (GList *l = wbi->writes.head; l; l = l->next) {
        struct wb_write *write = l->data;

        if (!write_meets (write, offset, end))
            continue;
        node_block_locked (node, write);
        if (wbi->waits == write)
            wb_queue_nudge_locked (wbi, ready);
    }
    pthread_mutex_unlock (&wbi->lock);
}

GPtrArray *
wb_busy_inodes (xlator_t *this)
{
    wb_private_t *priv = this->private;
    GPtrArray *inodes = g_ptr_array_new_with_free_func ((GDestroyNotify) inode_unref);

    pthread_mutex_lock (&priv->lock);
    for (GList *l = priv->busy.head; l; l = l->next)
        g_ptr_array_add (inodes, inode_ref (((struct wb_inode *) l->data)->inode));
    pthread_mutex_unlock (&priv->lock);
    return inodes;
}

void
wb_wait_for_all (xlator_t *this, struct wb_node *node, wb_ready_t *ready)
{
    GPtrArray *inodes = wb_busy_inodes (this);

    for (guint i = 0; i < inodes->len; i++)
        wb_wait_for (wb_inode_get (this, inodes->pdata[i]), node, 0, -1, ready);
    g_ptr_array_unref (inodes);
}

/* --- running ---------------------------------------------------------------------------------- */

void
wb_run (xlator_t *this, wb_ready_t *ready)
{
    wb_private_t *priv = this->private;
    wb_ready_t *outer;
    struct wb_node *node;

    if (g_queue_is_empty (ready))
        return; /* after the last unfinished write, priv may be freed */
    outer = pthread_getspecific (priv->runs);
    if (outer) {
        while ((node = g_queue_pop_head (ready)))
            g_queue_push_tail (outer, node);
        return;
    }
    const pthread_key_t key = priv->runs;
    pthread_setspecific (key, ready);
    while ((node = g_queue_pop_head (ready)))
        node->go (node);
    pthread_setspecific (key, NULL);
}
