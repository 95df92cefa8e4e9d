/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes that do not fit into their inode's window. Each is set aside, unanswered, until other
 * writes of the inode are done. It is then tried again, in order of arrival. Its size is promised
 * to it until it has begun again, so that a later write cannot take the space.
 *
 * A write is only set aside while the inode has writes that will be done, or others that begin
 * again. A write that begins again, and is then not answered early, starts the next one. So no
 * write is left behind.
 */
#include "write-behind.h"

#define WRITES_MAX 1024 /* per inode; each new write is compared with all of them */

struct waiting {
    struct wb_node node;
    call_stub_t *stub;
    size_t size;
};

/* A single write may be larger than the window. While an error has not been reported to a caller,
 * writes are not answered early. Memory is no reason to wait: a waiting write keeps its buffers
 * too. */
enum wb_room
wb_room_locked (const struct wb_inode *wbi, const xlator_t *this, size_t size, bool again)
{
    const size_t taken = wbi->window + wbi->promised;

    if (WB_OPTION (this, ending) || (wbi->error && !wbi->told)
        || WB_OPTION (this, held) + size > WB_OPTION (this, memory))
        return WB_ROOM_NEVER;
    if (wbi->writes.length >= WRITES_MAX || (wbi->waiting.length > 0 && !again))
        return WB_ROOM_LATER;
    return taken == 0 || taken + size <= WB_OPTION (this, window) ? WB_ROOM_NOW : WB_ROOM_LATER;
}

void
wb_room_go_on_locked (struct wb_inode *wbi, const xlator_t *this, wb_ready_t *ready)
{
    struct waiting *first;

    while ((first = g_queue_peek_head (&wbi->waiting))
           && wb_room_locked (wbi, this, first->size, true) != WB_ROOM_LATER) {
        g_queue_pop_head (&wbi->waiting);
        wbi->promised += first->size;
        g_queue_push_tail (ready, &first->node);
    }
}

void
wb_room_begin_again (struct wb_inode *wbi, size_t size)
{
    pthread_mutex_lock (&wbi->lock);
    wbi->promised -= size;
    pthread_mutex_unlock (&wbi->lock);
}

void
wb_room_pass (struct wb_inode *wbi, const xlator_t *this, wb_ready_t *ready)
{
    pthread_mutex_lock (&wbi->lock);
    wb_room_go_on_locked (wbi, this, ready);
    pthread_mutex_unlock (&wbi->lock);
}

static void
waiting_go (struct wb_node *node)
{
    struct waiting *waiting = (struct waiting *) node;
    call_stub_t *stub = waiting->stub;

    g_free (waiting);
    call_resume (stub);
}

static bool
wb_is_later (struct wb_inode *wbi, const xlator_t *this, size_t size, bool again)
{
    bool later;

    pthread_mutex_lock (&wbi->lock);
    later = wb_room_locked (wbi, this, size, again) == WB_ROOM_LATER;
    pthread_mutex_unlock (&wbi->lock);
    return later;
}

/* Queues the write if there is still no room, and sends the write that others could join: it takes
 * up the window. */
static bool
set_aside (struct wb_inode *wbi, xlator_t *this, struct waiting *waiting, bool again,
           wb_ready_t *ready)
{
    bool later;

    pthread_mutex_lock (&wbi->lock);
    later = wb_room_locked (wbi, this, waiting->size, again) == WB_ROOM_LATER;
    if (later && again)
        g_queue_push_head (&wbi->waiting, waiting);
    else if (later)
        g_queue_push_tail (&wbi->waiting, waiting);
    if (later)
        wb_queue_nudge_locked (wbi, ready);
    pthread_mutex_unlock (&wbi->lock);
    return later;
}

bool
wb_room_wait (call_frame_t *frame, xlator_t *this, struct wb_inode *wbi, writev_fop *then,
              const struct writev_call *call, size_t size, bool again, wb_ready_t *ready)
{
    struct waiting *waiting;
    call_stub_t *stub;

    if (!wb_is_later (wbi, this, size, again))
        return false;
    stub = fop_writev_stub (frame, then, call->fd, call->vector, call->count, call->offset,
                            call->flags, call->iobref, call->xdata);
    if (!stub)
        return false;
    waiting = g_new0 (struct waiting, 1);
    waiting->node.go = waiting_go;
    waiting->stub = stub;
    waiting->size = size;
    if (set_aside (wbi, this, waiting, again, ready)) {
        if (!again) /* counted once, even if other writes take its space and it waits again */
            __atomic_add_fetch (&wb_priv (this)->count.waited, 1, __ATOMIC_RELAXED);
        return true;
    }
    g_free (waiting);
    call_stub_destroy (stub);
    return false;
}

bool
wb_room_is_waited_for (struct wb_inode *wbi, const call_frame_t *frame)
{
    bool found = false;

    pthread_mutex_lock (&wbi->lock);
    for (GList *l = wbi->waiting.head; l && !found; l = l->next)
        found = call_stub_frame (((struct waiting *) l->data)->stub) == frame;
    pthread_mutex_unlock (&wbi->lock);
    return found;
}
