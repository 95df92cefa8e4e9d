/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside performance/write-behind.
 *
 *   write-behind.c   options, init and fini, dumps
 *   write.c          writev: answered early or passed through; sending early writes to storage
 *   queue.c          an inode's queue of writes that were answered and are not done
 *   room.c           the window: writes that do not fit wait for room
 *   gather.c         the bytes of such a write: by reference or copied, joined with the next
 *   order.c          all other operations on the inode: they wait for writes they have to see
 *   sync.c           fsync and flush, and how they report errors of earlier writes
 *   names.c          lookup, readdirp, create: the inode is known only with the answer
 *   nudge.c          the nudge thread: sends delayed small writes, reports lost bytes to the kernel
 *
 * A write that is answered early becomes a struct wb_write in its inode's queue, or joins the last
 * write there:
 *
 *   inode --ctx--> wb_inode --writes--> wb_write, wb_write, ...   in the order of their answers
 *                                          |  blocked: writes and other operations that wait
 *
 * Each node counts the writes it waits for (wb_node.blockers); at 0 it goes down. A node waits only
 * for earlier writes that were already answered. So there is no circle.
 *
 * Locks: wb_inode.lock, then private.lock (nudge.c uses only the latter). No lock is held across a
 * wind or an unwind.
 *
 * Reasons:
 *
 * - A write beyond the window waits, unanswered (room.c), and is tried again later. If it were
 *   passed through instead, a stream of small writes faster than storage would make storage do
 *   large and tiny writes by turns. Its size is promised to it, so that a later write does not
 *   overtake it. If memory is short, or if an error was not reported to a caller yet, the write is
 *   passed through: its buffer is held anyway, and its caller learns the result.
 * - Operations wait only for answered writes, and only for earlier ones. Two operations that read
 *   or change attributes do not wait for each other: a caller with both on the way cannot know
 *   their order. So copy_file_range, which waits for two files, closes no circle.
 * - Callbacks do not nest: nodes that an answer unblocks run in the outermost wb_run of the thread.
 *   With storage that answers within the wind, a queue of a thousand writes would otherwise be a
 *   thousand nested calls.
 * - A write on its way holds a second reference of its buffers. Otherwise a translator below, such
 *   as rot-13, changes them in place, and the rest of a short write is changed twice.
 * - A close waits for the writes also with flush-behind: a program that does not sync learns at
 *   close that the disk is full, and what it closed is there for other clients. The flush alone is
 *   left to the background.
 * - A failed write is given up, as the kernel gives up pages; GlusterFS retries it while all
 *   others wait. Until the error is reported to a caller, writes to the file are done before they
 *   are answered, so that a full disk is noticed at the next write.
 * - The kernel keeps and shows the lost bytes. XLATOR_INVALIDATE makes it drop them, on the nudge
 *   thread, since the kernel waits for pages that a request may hold. The error is reported only
 *   after that: otherwise a database takes its log in the page cache for complete.
 * - create without O_EXCL first asks for a new file. It could truncate an existing file before
 *   writes to that file are done, and only storage knows which file that is. lookup asks again if
 *   its inode had unfinished writes.
 */
#ifndef WINDLASS_WRITE_BEHIND_H
#define WINDLASS_WRITE_BEHIND_H

#include "xlator.h"

#include <errno.h>
#include <fcntl.h>

#define WB_VECTORS IOBREF_MAX /* per write to storage; also the limit for its buffers */

typedef struct {
    /* Options; atomic, except flush_choice and aggregate, which are constant. */
    int flush_choice;      /* constant */
    bool flush_behind, trickling, strict_direct, strict_order;
    uint64_t window;       /* bytes per inode that are answered and not done */
    uint64_t memory;       /* approximate bytes in buffers of all inodes */
    uint64_t aggregate;

    bool begun;            /* constant: the key `runs` exists */
    pthread_key_t runs;    /* per thread: the active struct wb_run, if any */
    bool ending;           /* atomic: writes are neither answered early nor delayed any more */
    uint64_t clock;        /* atomic: counts finished writes */
    uint64_t held;         /* atomic: bytes of buffers */
    struct {
        uint64_t early, through, joined, waited, sent, failed; /* atomic: writes, for the dump */
        uint64_t untold;     /* atomic: inodes with an error that was not reported */
        uint64_t never_told; /* atomic: inodes forgotten with such an error */
    } count;

    pthread_mutex_t lock;
    pthread_cond_t idle;   /* signalled when unfinished becomes 0 */
    uint64_t unfinished;   /* atomic, written under lock: answered writes and flushes that are not
                              done */
    GQueue busy;           /* lock: struct wb_inode with unfinished writes */
    struct {
        pthread_t thread;
        pthread_cond_t wake;
        bool started, ending; /* lock */
        struct attempt start; /* of the thread */
        bool asked;           /* lock: a write is delayed until others join it */
        GQueue lost;          /* lock: of inode_t, with a reference: inodes that lost answered
                                 bytes */
        bool telling;         /* lock: an invalidation is on its way */
        uint64_t n_lost, n_told; /* lock: inodes added to lost; inodes invalidated */
        GQueue after;         /* lock: of struct wb_after, ordered by number */
    } nudge;
} wb_private_t;

/* A write or another operation that waits for writes. go() runs when blockers reaches 0. */
struct wb_node {
    int blockers; /* atomic */
    void (*go) (struct wb_node *node);
};

/* Runs when n_told reaches number. */
struct wb_after {
    struct wb_node node;
    uint64_t number;
};

struct wb_write {
    struct wb_node node;
    xlator_t *this;
    struct wb_inode *wbi;
    GList place;           /* in wbi->writes; wbi->lock */
    fd_t *fd;              /* with a reference */
    call_stack_t *root;    /* own request, with the identity of the writer */
    off_t offset;
    size_t size, answered; /* bytes left to write; bytes answered */
    uint32_t flags;
    bool append;           /* the offset is known only at the write: overlaps all other writes */
    bool flying;           /* wbi->lock: sent, can't be joined; from then on all fields but blocked
                              belong to the sender */
    size_t cost;           /* bytes of its buffers */
    GPtrArray *blocked;    /* wbi->lock: of struct wb_node; NULL: empty */

    struct iovec vector[WB_VECTORS];
    int count;
    struct iobref *iobref;
    dict_t *xdata;         /* if set, no write may join */
    size_t room;           /* free bytes at the end of the last buffer, if that is our own copy */
};

struct wb_inode {
    pthread_mutex_t lock;
    inode_t *inode;        /* constant; no reference: the inode owns this */
    GQueue writes;         /* lock: of struct wb_write */
    unsigned n_writes;     /* length of writes; atomic, written under lock */
    struct wb_write *waits; /* lock: the last of writes, if it could go but is delayed */
    unsigned flying;       /* lock */
    size_t window;         /* lock: bytes answered and not done */
    size_t promised;       /* lock: bytes of writes that waited for room and begin again */
    GQueue waiting;        /* lock: of struct waiting, see room.c */
    uint64_t done_at;      /* lock: private.clock when the last write was done */
    bool locked;           /* atomic: a record lock or flock was taken on this file */
    unsigned busy;         /* private.lock: number of unfinished writes */
    GList place;           /* in private.busy; private.lock */

    /* Errors of answered writes; lock. Each error increments the number. A description that writes
     * notes the number it begins with. */
    uint32_t error_number;
    int error;             /* the last one, positive */
    bool told;             /* reported to at least one caller */
};

/* Kept with a request until its answer; unused fields are NULL. */
struct wb_local {
    fd_t *fd;
    loc_t loc;
    dict_t *xdata;
    call_stub_t *again;
    inode_t *waited;       /* the inode whose writes this request waited for */
    uint64_t clock;        /* private.clock when the request went down */
    struct wb_after after; /* answers the error after the kernel has dropped the lost bytes */
    call_frame_t *frame;   /* the frame that after answers */
    int error;
};

/* Nodes that can run, collected under a lock. Passed to wb_run after the lock is released. */
typedef GQueue wb_ready_t;
#define WB_READY_INIT G_QUEUE_INIT

/* --- write-behind.c --- */

static inline wb_private_t *
wb_priv (const xlator_t *this)
{
    return this->private;
}

#define WB_OPTION(this_, field_) __atomic_load_n (&wb_priv (this_)->field_, __ATOMIC_RELAXED)

struct wb_inode *wb_inode_get (xlator_t *this, inode_t *inode);  /* NULL if there is none, or if
                                                                    inode is NULL */
struct wb_inode *wb_inode_make (xlator_t *this, inode_t *inode); /* never NULL */

/* --- queue.c --- */

/* Returns true if the inode has unfinished writes. Takes NULL. */
bool wb_is_busy (struct wb_inode *wbi);

/* Adds the write at the end. Returns false if there is no room. again: the write has already waited
 * for room. */
bool wb_queue_add (struct wb_write *write, bool again, wb_ready_t *ready);

/* Appends the bytes to the last write of the queue. Returns false if they do not follow it. */
bool wb_queue_join (struct wb_inode *wbi, const call_frame_t *frame, const struct writev_call *call,
                    bool again, wb_ready_t *ready);

/* Sends the last write if it is only delayed for others to join. */
void wb_queue_nudge (struct wb_inode *wbi, wb_ready_t *ready);
void wb_queue_nudge_locked (struct wb_inode *wbi, wb_ready_t *ready);

/* Ends a write that was sent, with 0 or a positive errno. Frees it. */
void wb_queue_done (struct wb_write *write, int error, wb_ready_t *ready);

/* Makes node wait for the inode's writes that overlap [offset, end). An end of -1 is the end of the
 * file, wherever that is. Takes NULL. */
void wb_wait_for (struct wb_inode *wbi, struct wb_node *node, off_t offset, off_t end,
                  wb_ready_t *ready);

/* Makes node wait for all writes of all inodes. */
void wb_wait_for_all (xlator_t *this, struct wb_node *node, wb_ready_t *ready);

/* Returns all inodes with unfinished writes. The array holds a reference of each. */
GPtrArray *wb_busy_inodes (xlator_t *this);

/* Removes one blocker. The last one adds the node to ready. */
void wb_node_unblock (struct wb_node *node, wb_ready_t *ready);

/* Runs the nodes in ready. Within another wb_run of this thread, the outer call runs them later, so
 * that calls do not nest. Call without locks. */
void wb_run (xlator_t *this, wb_ready_t *ready);

/* Changes the count that PARENT_DOWN waits for by `by`. After the last decrement, the translator
 * must not be used. */
void wb_unfinished (xlator_t *this, int by);

/* --- room.c --- */

/* Tells whether size more bytes fit into the window. LATER: after other writes are done. NEVER: do
 * not answer this write early. again: the write has already waited. Under wbi->lock. */
enum wb_room { WB_ROOM_NOW, WB_ROOM_LATER, WB_ROOM_NEVER };
enum wb_room
wb_room_locked (const struct wb_inode *wbi, const xlator_t *this, size_t size, bool again);

/* Sets a write aside until there is room; `then` is called with its arguments. Returns false if
 * there is no need to wait: the write still belongs to the caller, which must not answer it
 * early. */
bool wb_room_wait (call_frame_t *frame, xlator_t *this, struct wb_inode *wbi, writev_fop *then,
                   const struct writev_call *call, size_t size, bool again, wb_ready_t *ready);

/* `then` first calls wb_room_begin_again, and calls wb_room_pass if the write is still not answered
 * early. */
void wb_room_begin_again (struct wb_inode *wbi, size_t size);
void wb_room_pass (struct wb_inode *wbi, const xlator_t *this, wb_ready_t *ready);

/* Starts waiting writes that now have room. Called when a write is done. Under wbi->lock. */
void wb_room_go_on_locked (struct wb_inode *wbi, const xlator_t *this, wb_ready_t *ready);

/* Returns true if the call of that frame waits for room. */
bool wb_room_is_waited_for (struct wb_inode *wbi, const call_frame_t *frame);

/* --- gather.c --- */

/* Sets the write's bytes. Returns false if they can't be kept or if memory is short. */
bool
wb_gather (struct wb_write *write, const struct iovec *vector, int count, struct iobref *iobref);

/* Adds bytes to a write that has some. */
bool wb_gather_more (struct wb_write *write, const struct iovec *vector, int count,
                     struct iobref *iobref);

/* Removes the first `done` bytes, which were written. */
void wb_gather_cut (struct wb_write *write, size_t done);

/* --- write.c --- */

writev_fop wb_writev;
void wb_write_go (struct wb_node *node);
void wb_write_free (struct wb_write *write);

/* --- order.c --- */

any_fop_t wb_any_fop;
readv_fop wb_readv;

/* All operations that wait for the inode's writes and then pass unchanged. */
#define WB_WAITING                                                                                 \
    (OPS_CHANGE_DATA | OPS_CHANGE_XATTRS | OPS_CHANGE_LOCKS | OPSET_OF (FOP_stat)                  \
     | OPSET_OF (FOP_fstat) | OPSET_OF (FOP_rename) | OPSET_OF (FOP_link) | OPSET_OF (FOP_open)    \
     | OPSET_OF (FOP_getxattr) | OPSET_OF (FOP_fgetxattr) | OPSET_OF (FOP_seek))

/* A node for an operation that waits. It begins with one blocker, so that it can't run before all
 * its waits are set up; wb_waiter_start removes that blocker and runs the ready nodes. A NULL stub
 * means that memory is short. */
struct wb_node *wb_waiter_new (call_stub_t *stub);
void wb_waiter_start (xlator_t *this, struct wb_node *waiter, wb_ready_t *ready);

/* Creates and starts a waiter for one inode. With a NULL stub, answers ENOMEM. */
void wb_wait (xlator_t *this, call_frame_t *frame, call_stub_t *stub, struct wb_inode *wbi,
              off_t offset, off_t end);

/* --- sync.c --- */

fsync_fop wb_fsync;
flush_fop wb_flush;

/* Notes that an answered write failed. Returns true if no unreported error was known, so that a log
 * line is worth it. Under wbi->lock. */
bool wb_error_note_locked (xlator_t *this, struct wb_inode *wbi, int error);

/* Called when the inode is forgotten: counts and logs an error that was never reported. */
void wb_error_forget (xlator_t *this, const struct wb_inode *wbi);

/* Logs the error; news: the result of wb_error_note_locked. */
void wb_error_tell (xlator_t *this, const struct wb_write *write, int error, bool news);

/* The description writes: from now on it reports errors. Under wbi->lock. */
void wb_error_begin_locked (struct wb_inode *wbi, const xlator_t *this, fd_t *fd);

/* --- names.c --- */

lookup_fop wb_lookup;
readdirp_fop wb_readdirp;
create_fop wb_create;
void wb_local_drop (xlator_t *this, void *local);

/* --- nudge.c --- */

/* Asks the nudge thread to send delayed writes in a second, because no write on its way will end
 * the delay. Under wb_inode.lock. Returns false if there is no thread. */
bool wb_nudge_later (xlator_t *this);

/* Sends all delayed writes. */
void wb_nudge_all (xlator_t *this);

/* The inode lost answered bytes: the nudge thread will invalidate it above. Not under a lock. */
void wb_nudge_lost (xlator_t *this, inode_t *inode);

/* Runs after->node when all inodes lost so far have been invalidated: on this thread if that is the
 * case already, else on the nudge thread. */
void wb_nudge_after (xlator_t *this, struct wb_after *after);

/* Waits until no invalidation is pending. */
void wb_nudge_wait (xlator_t *this);

/* Ends the thread, if it runs. */
void wb_nudge_end (xlator_t *this);

#endif
