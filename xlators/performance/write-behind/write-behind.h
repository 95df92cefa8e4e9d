/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside performance/write-behind.
 *
 *   write-behind.c   options, beginning and end, dumps
 *   write.c          a write: answered at once, or passed through; what is written later goes down
 *   queue.c          the writes of an inode that were answered and aren't done: who waits for whom
 *   room.c           how many these may be: writes beyond the window, which wait for room
 *   gather.c         the bytes of such a write: by reference or copied, joined with the next
 *   order.c          every other operation on the inode: it waits for those writes that it has to
 *                    see
 *   sync.c           fsync and flush, and how errors get to them
 *   names.c          lookup, readdirp, create: where the inode is known only when the answer is
 *                    there
 *   nudge.c          a thread, started when needed: sends what waits for company, and tells of what
 *                    was lost
 *
 * A write that is answered early becomes a struct wb_write in its inode's queue, or joins the last
 * one there:
 *
 *   inode --ctx--> wb_inode --writes--> wb_write, wb_write, ...   in the order of their answers
 *                                          |  blocked: writes and other operations that wait
 *
 * Each counts what it waits for (wb_node.blockers); at 0 it goes down. Whatever comes waits only
 * for what came before, so there is no circle, and nothing but a write that was answered is ever
 * waited for.
 *
 * Locks: wb_inode.lock, then private.lock (nudge.c alone); nothing is wound or answered under them.
 *
 * Reasons:
 *
 * - A write beyond the window waits, unanswered (room.c), and is tried again later. If it went down
 *   itself, a stream of small writes faster than storage would make storage do large and tiny
 *   writes by turns. What it needs of the window is promised to it, so that a later write doesn't
 *   overtake it. Where memory is short, or an error is known that no caller was told of, it goes
 *   down itself: its buffer is held anyway, and its caller learns the result.
 * - Only writes that were answered are waited for, and only by what came later. Two operations that
 *   read or change attributes don't wait for each other: a caller with both on the way can't know
 *   their order. So copy_file_range, which waits for two files, closes no circle.
 * - Callbacks don't nest: what an answer sets free goes to the outermost wb_run of the thread. With
 *   storage that answers within the wind, a queue of a thousand would be a stack of a thousand.
 * - A write on its way has a second reference of its bytes. Otherwise a translator below, such as
 *   rot-13, changes them in place, and the rest of a short write is changed twice.
 * - flush-behind is off where storage is local: close is as quick as the disk there, and a program
 *   that doesn't sync learns at close that the disk is full.
 * - A failed write is given up, as the kernel gives up pages; GlusterFS tries it again while all
 *   others wait. Until a caller was told of the error, writes to the file are done before they are
 *   answered, so that a full disk is noticed at the next write.
 * - The kernel keeps and shows the lost bytes. XLATOR_INVALIDATE makes it forget them, on a thread
 *   of its own, since the kernel waits for pages that a request may hold. No caller is told of the
 *   error before that is done: otherwise a database takes its log in the kernel's memory for
 *   complete.
 * - create without O_EXCL first asks for a new file. It may truncate an existing file before writes
 *   to that are done, and only storage knows which file that is. lookup asks again if its inode was
 *   still to be written.
 */
#ifndef WINDLASS_WRITE_BEHIND_H
#define WINDLASS_WRITE_BEHIND_H

#include "xlator.h"

#include <errno.h>
#include <fcntl.h>

#define WB_VECTORS IOBREF_MAX /* of one write that goes down, and its buffers */

typedef struct {
    /* Options; atomic, but for the last two. */
    int flush_choice;      /* constant */
    bool flush_behind, trickling, strict_direct, strict_order;
    uint64_t window;       /* bytes of one inode that are answered and not done */
    uint64_t memory;       /* bytes that buffers of all inodes take, about */
    uint64_t aggregate;

    bool begun;            /* runs is a key. Constant */
    pthread_key_t runs;    /* of each thread: its struct wb_run, while there is one */
    bool ending;           /* atomic: no write is answered early any more, and none waits for
                              company */
    uint64_t clock;        /* atomic: counts writes that were done */
    uint64_t held;         /* atomic: bytes of buffers */
    struct {
        uint64_t early, through, joined, waited, sent, failed; /* atomic: writes, for the dump */
        uint64_t untold;     /* atomic: inodes with an error that nobody was told of */
        uint64_t never_told; /* atomic: those that were forgotten with one */
    } count;

    pthread_mutex_t lock;
    pthread_cond_t idle;   /* unfinished has become 0 */
    uint64_t unfinished;   /* atomic, written under lock: writes that were answered and aren't done,
                              and closes that go on after theirs */
    GQueue busy;           /* lock: struct wb_inode with writes */
    struct {
        pthread_t thread;
        pthread_cond_t wake;
        bool started, ending; /* lock */
        struct attempt start; /* of the thread */
        bool asked;           /* lock: somebody waits for company */
        GQueue lost;          /* lock: of inode_t, with a reference: they lost what had been
                                 answered */
        bool telling;         /* lock: somebody is being told of one */
        uint64_t n_lost, n_told; /* lock: how many came into lost, and were told of */
        GQueue after;         /* lock: of struct wb_after, by number */
    } nudge;
} wb_private_t;

/* What goes on when everything is done that it has to wait for. */
struct wb_node {
    int blockers; /* atomic */
    void (*go) (struct wb_node *node);
};

/* What goes on when whoever remembers lost bytes was told of so many. */
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
    call_stack_t *root;    /* it goes down in a request of its own, as whoever wrote */
    off_t offset;
    size_t size, answered; /* what is left to write; how much was answered */
    uint32_t flags;
    bool append;           /* where it goes is known when it is there: it comes before and after all
                              others */
    bool flying;           /* wbi->lock: sent; nobody joins it any more. From then on the sender's,
                              but for blocked */
    size_t cost;           /* of buffers */
    GPtrArray *blocked;    /* wbi->lock: of struct wb_node; NULL: nobody */

    struct iovec vector[WB_VECTORS];
    int count;
    struct iobref *iobref;
    dict_t *xdata;         /* then nothing joins it */
    size_t room;           /* at the end of the last buffer, which is ours */
};

struct wb_inode {
    pthread_mutex_t lock;
    inode_t *inode;        /* without a reference: it has us. Constant */
    GQueue writes;         /* lock: of struct wb_write */
    unsigned n_writes;     /* its length; atomic, written under lock */
    struct wb_write *waits; /* lock: the last of writes, when it could go but waits for company */
    unsigned flying;       /* lock */
    size_t window;         /* lock: bytes */
    size_t promised;       /* lock: bytes of writes that waited for room and begin again */
    GQueue waiting;        /* lock: of those that wait for room: room.c */
    uint64_t done_at;      /* lock: private.clock when a write was done last */
    bool locked;           /* atomic: somebody had a record lock, or flock */
    unsigned busy;         /* private.lock: how many of its writes aren't done */
    GList place;           /* in private.busy; private.lock */

    /* Errors of writes that had been answered; lock. Each raises the number. A description that
     * writes notes the number it begins with. */
    uint32_t error_number;
    int error;             /* the last one, positive */
    bool told;             /* to anybody */
};

/* Kept with a request until its answer; what isn't needed is NULL. */
struct wb_local {
    fd_t *fd;
    loc_t loc;
    dict_t *xdata;
    call_stub_t *again;
    inode_t *waited;       /* whose writes were waited for */
    uint64_t clock;        /* private.clock when it went down */
    struct wb_after after; /* of an error that is to be answered: when the kernel has forgotten what
                              it is about */
    call_frame_t *frame;   /* then: this one */
    int error;
};

/* Nodes that can go on, collected under a lock, for wb_run without one. */
typedef GQueue wb_ready_t;
#define WB_READY_INIT G_QUEUE_INIT

/* --- write-behind.c --- */

static inline wb_private_t *
wb_priv (const xlator_t *this)
{
    return this->private;
}

#define WB_OPTION(this_, field_) __atomic_load_n (&wb_priv (this_)->field_, __ATOMIC_RELAXED)

struct wb_inode *wb_inode_get (xlator_t *this, inode_t *inode);  /* NULL: none, or inode is NULL */
struct wb_inode *wb_inode_make (xlator_t *this, inode_t *inode); /* never NULL */

/* --- queue.c --- */

/* Does it have writes that aren't done? Takes NULL. */
bool wb_is_busy (struct wb_inode *wbi);

/* Adds the write as the last one. false: there is no room. again: it waited for that. */
bool wb_queue_add (struct wb_write *write, bool again, wb_ready_t *ready);

/* The same, as a part of the last write there, where it follows that. */
bool wb_queue_join (struct wb_inode *wbi, const call_frame_t *frame, const struct writev_call *call,
                    bool again, wb_ready_t *ready);

/* Has the last write go when only the wish for company keeps it. */
void wb_queue_nudge (struct wb_inode *wbi, wb_ready_t *ready);
void wb_queue_nudge_locked (struct wb_inode *wbi, wb_ready_t *ready);

/* A write that was sent is done, with 0 or a positive errno. Frees it. */
void wb_queue_done (struct wb_write *write, int error, wb_ready_t *ready);

/* Has node wait for the inode's writes that meet [offset, end); an end of -1 is the file's,
 * wherever it is. Takes NULL. */
void wb_wait_for (struct wb_inode *wbi, struct wb_node *node, off_t offset, off_t end,
                  wb_ready_t *ready);

/* The same, for all writes of all inodes. */
void wb_wait_for_all (xlator_t *this, struct wb_node *node, wb_ready_t *ready);

/* All that have writes, each with a reference of the array's. */
GPtrArray *wb_busy_inodes (xlator_t *this);

/* One less to wait for. The last one puts it into ready. */
void wb_node_unblock (struct wb_node *node, wb_ready_t *ready);

/* Lets those go on that can; in the middle of another wb_run of this thread, later, by that: so
 * calls don't nest however soon answers come. Without locks. */
void wb_run (xlator_t *this, wb_ready_t *ready);

/* One more, or one less, that PARENT_DOWN waits for. Nothing of the translator may be used after
 * the last one less. */
void wb_unfinished (xlator_t *this, int by);

/* --- room.c --- */

/* Is there room for so many bytes more? LATER: when others are done. NEVER: it isn't to be answered
 * early, whatever is done. again: for one that waited. Under wbi->lock. */
enum wb_room { WB_ROOM_NOW, WB_ROOM_LATER, WB_ROOM_NEVER };
enum wb_room
wb_room_locked (const struct wb_inode *wbi, const xlator_t *this, size_t size, bool again);

/* Sets a write aside for which there is room later: then, which is called with it as it is. false:
 * it is still the caller's, and isn't to be answered early. */
bool wb_room_wait (call_frame_t *frame, xlator_t *this, struct wb_inode *wbi, writev_fop *then,
                   const struct writev_call *call, size_t size, bool again, wb_ready_t *ready);

/* The first thing that then does; and what it does where it isn't answered early in spite of
 * all. */
void wb_room_begin_again (struct wb_inode *wbi, size_t size);
void wb_room_pass (struct wb_inode *wbi, const xlator_t *this, wb_ready_t *ready);

/* A write is done: those go on that have room now. Under wbi->lock. */
void wb_room_go_on_locked (struct wb_inode *wbi, const xlator_t *this, wb_ready_t *ready);

/* Does that call wait for room? */
bool wb_room_is_waited_for (struct wb_inode *wbi, const call_frame_t *frame);

/* --- gather.c --- */

/* Fills in the write's bytes. false: they can't be kept, or memory is out. */
bool
wb_gather (struct wb_write *write, const struct iovec *vector, int count, struct iobref *iobref);

/* Adds bytes to a write that has some. */
bool wb_gather_more (struct wb_write *write, const struct iovec *vector, int count,
                     struct iobref *iobref);

/* So many were written. */
void wb_gather_cut (struct wb_write *write, size_t done);

/* --- write.c --- */

writev_fop wb_writev;
void wb_write_go (struct wb_node *node);
void wb_write_free (struct wb_write *write);

/* --- order.c --- */

every_fop wb_every;
readv_fop wb_readv;

/* All operations that wait for the inode's writes and then pass on as they are. */
#define WB_WAITING                                                                                 \
    (OPS_CHANGE_DATA | OPS_CHANGE_XATTRS | OPS_CHANGE_LOCKS | OPSET_OF (FOP_stat)                  \
     | OPSET_OF (FOP_fstat) | OPSET_OF (FOP_rename) | OPSET_OF (FOP_link) | OPSET_OF (FOP_open)    \
     | OPSET_OF (FOP_getxattr) | OPSET_OF (FOP_fgetxattr) | OPSET_OF (FOP_seek))

/* An operation that waits. It begins with one blocker of its own, so that it can't go before it has
 * seen all it waits for; wb_waiter_start takes that away and runs what is ready. NULL stands for a
 * stub without memory. */
struct wb_node *wb_waiter_new (call_stub_t *stub);
void wb_waiter_start (xlator_t *this, struct wb_node *waiter, wb_ready_t *ready);

/* Both, for one inode. stub NULL: answers ENOMEM. */
void wb_wait (xlator_t *this, call_frame_t *frame, call_stub_t *stub, struct wb_inode *wbi,
              off_t offset, off_t end);

/* --- sync.c --- */

fsync_fop wb_fsync;
flush_fop wb_flush;

/* A write that was answered failed; under wbi->lock. Whether it is worth a line in the log: nobody
 * knows of an error yet. */
bool wb_error_note_locked (xlator_t *this, struct wb_inode *wbi, int error);

/* The inode is forgotten: counts and logs an error that nobody asked for. */
void wb_error_forget (xlator_t *this, const struct wb_inode *wbi);

/* Says so, in the log; news: nobody knows of an error yet. */
void wb_error_tell (xlator_t *this, const struct wb_write *write, int error, bool news);

/* The description writes: from now on it is told of errors. Under wbi->lock. */
void wb_error_begin_locked (struct wb_inode *wbi, const xlator_t *this, fd_t *fd);

/* --- names.c --- */

lookup_fop wb_lookup;
readdirp_fop wb_readdirp;
create_fop wb_create;
void wb_local_drop (xlator_t *this, void *local);

/* --- nudge.c --- */

/* A write waits for company and nothing is on its way that would end that: in a second it goes.
 * Under wb_inode.lock. false: it can't be. */
bool wb_nudge_later (xlator_t *this);

/* Sends all that waits for company. */
void wb_nudge_all (xlator_t *this);

/* The inode lost what had been answered: whoever remembers its bytes is told, soon, by the thread.
 * Not under a lock. */
void wb_nudge_lost (xlator_t *this, inode_t *inode);

/* Has after->node go when they were told of all that was lost so far, by this thread or that. */
void wb_nudge_after (xlator_t *this, struct wb_after *after);

/* Waits until nobody is being told any more. */
void wb_nudge_wait (xlator_t *this);

/* Ends the thread, if there is one. */
void wb_nudge_end (xlator_t *this);

#endif
