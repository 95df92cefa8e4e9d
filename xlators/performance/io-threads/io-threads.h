/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * performance/io-threads: requests go on in threads of its own.
 *
 *   io-threads.c   options, beginning, changing, end
 *   fops.c         what comes down: goes on in place, into a queue, or to a thread that may wait
 *   place.c        what operations took lately; so whether one may go on in place
 *   queue.c        four queues; in each the processes that ask take turns
 *   pool.c         the threads: they come, take a call, go on with it, and go
 *   stuck.c        a queue that doesn't move any more
 *   dump.c         what is told of all that
 *
 *   call --stays in place---------------------------------------------------> below
 *        `-> queue HIGH   process 12: a b c                               `
 *            queue NORMAL                          ---turns---> iot-3 ----> below
 *            queue LOW    process 12: d, process 40: e f, ...             '
 *            queue LEAST                                                  '
 *        `-> a lock that is to be waited for -----> iot-lock-1 ----------'
 */
#ifndef WINDLASS_IO_THREADS_H
#define WINDLASS_IO_THREADS_H

#include "xlator.h"

#include <errno.h>

#define IOT_THREADS_MAX 64
#define IOT_RAISED_MAX 64    /* threads beyond that, while a queue is stuck */
#define IOT_LOCKERS_MAX 1024 /* who waits for locks below, each in a thread */

enum iot_priority {
    IOT_HIGH,
    IOT_NORMAL,
    IOT_LOW,
    IOT_LEAST,
    IOT_PRIORITIES,
};

/* A call in a queue; its memory goes when the call goes on, or whoever asked has lost patience. */
struct iot_call {
    struct patience patience;
    xlator_t *this;
    call_stub_t *stub;
    enum fop op;
    enum iot_priority priority;
    int64_t since;             /* clock_now */
    struct iot_client *client; /* private.lock; whose it is while it is in a queue, else NULL */
    GList place;               /* private.lock; in client->calls */
};

/* A process that has calls in a queue. */
struct iot_client {
    pid_t process;
    GQueue calls; /* of struct iot_call, the first to go first */
    GList place;  /* in iot_queue.turns */
};

/* All of it: private.lock. */
struct iot_queue {
    GQueue turns;        /* of struct iot_client, whose turn is next first */
    GHashTable *clients; /* the same, by process */
    unsigned length;     /* calls */
    unsigned running;    /* threads that go on with one */
    unsigned passed;     /* how often another queue came first, since one of these went */
    uint64_t taken;      /* ever */
    int64_t longest;     /* ns that one has waited */
};

/* A thread. All of it but the first line: private.lock. */
struct iot_worker {
    xlator_t *this; pthread_t thread; unsigned number; bool for_locks; /* constant */
    pthread_cond_t wake;
    GList place;   /* in iot_pool.workers, and later in gone */
    GList resting; /* in idle */
    bool rests;
    call_stub_t *given; /* to one that waits for locks: what it is to go on with */
    struct {
        enum fop op; /* FOP_NONE: nothing */
        pid_t pid;
        uint64_t unique;
        int64_t since;
    } busy;
};

/* All of it: private.lock. */
struct iot_pool {
    GQueue workers; /* all that run, of the pool or for locks */
    GQueue idle;    /* those that rest, who was busy last first */
    GQueue gone;    /* that ended, and are to be joined */
    unsigned n, awaited; /* how many there are; how many were started or woken, and haven't looked for work yet */
    uint64_t started;
};

typedef struct {
    /* Options; but for those that say otherwise: lock, since they may change. */
    int threads, limits[IOT_PRIORITIES], idle_seconds, watchdog_seconds, least_rate;
    bool least, cleanup; /* atomic */
    int64_t in_place;    /* ns; read by place.c as quick.limit */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* something ended that iot_drain or iot_stop waits for */
    struct iot_queue queues[IOT_PRIORITIES];
    unsigned waiting; /* calls in the queues but the least one's; written under lock, read without */
    unsigned set_aside; /* lock; calls that were taken from whoever brought them, and haven't gone on */
    struct iot_pool pool, lockers;
    unsigned raised;    /* lock; threads beyond what options say, since a queue is stuck */
    int64_t least_next; /* lock; clock_now from which on one of the least queue may go */
    bool sentry;        /* lock; a thread that rests will look then */
    bool ending;        /* atomic; XLATOR_ENDING came: nothing is held back */
    bool stopping;      /* lock; threads shall end */
    struct {
        core_timer_t *timer; /* lock; NULL: none, or it is being called */
        bool busy;           /* lock; it is */
        uint64_t taken[IOT_PRIORITIES]; /* lock; as of the last look */
        int64_t moved[IOT_PRIORITIES];  /* lock; clock_now of when it had changed */
    } watch;
    uint64_t cancelled, forsaken; /* atomic */

    opset_t at_once; /* that go on in place while nobody waits, without another question; atomic, written under lock */
    struct quickness quick;
    uint64_t stayed[FOP_MAX]; /* how many went on in place; atomic */
} iot_private_t;

/* fops.c */
every_fop iot_every;
void iot_resume (struct iot_call *call); /* the call goes on, and its memory goes */
enum iot_priority iot_priority_of (enum fop op);
extern const char *const iot_priority_names[IOT_PRIORITIES];

/* place.c */
void iot_place_init (iot_private_t *priv);
void iot_place_set_locked (iot_private_t *priv); /* options have changed */
bool iot_may_stay (const iot_private_t *priv, enum fop op);
void iot_go_on_in_place (const struct call *call);
void iot_note_took (iot_private_t *priv, enum fop op, uint64_t begin, uint64_t end);

/* queue.c */
void iot_queues_init (iot_private_t *priv);
void iot_queues_free (iot_private_t *priv);
void iot_put_locked (iot_private_t *priv, struct iot_call *call, pid_t process);
void iot_remove_locked (iot_private_t *priv, struct iot_call *call);
struct iot_call *iot_next_locked (iot_private_t *priv); /* which may go now, taken out; or NULL */
unsigned iot_ready_locked (const iot_private_t *priv);  /* how many may */
int64_t iot_least_wait_locked (const iot_private_t *priv); /* clock_now from which on there will be, by the rate alone; or -1 */
unsigned iot_length_locked (const iot_private_t *priv);
unsigned iot_place_locked (const iot_private_t *priv, const struct iot_call *call); /* 0: it is next */

/* pool.c */
void iot_pools_init (iot_private_t *priv);
unsigned iot_threads_locked (const iot_private_t *priv); /* how many there may be */
unsigned iot_limit_locked (const iot_private_t *priv, enum iot_priority priority);
struct iot_worker *iot_call_thread_locked (xlator_t *this); /* for a call that was put into a queue; one that is to be started, or NULL */
void iot_start (struct iot_worker *worker); /* without the lock */
void iot_wake (xlator_t *this);             /* what there may be changed. Without the lock */
void iot_wait_for_lock (xlator_t *this, call_stub_t *stub);
void iot_drain (iot_private_t *priv); /* waits until nothing is set aside, and nobody in the pool works */
void iot_stop (iot_private_t *priv);  /* ends all threads, and waits */

/* stuck.c */
void iot_watch_locked (xlator_t *this);
void iot_unwatch (iot_private_t *priv);

/* dump.c */
void iot_dump (xlator_t *this, GString *out);
void iot_waits_for (xlator_t *this, const call_frame_t *frame, GString *out);
void iot_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);
bool iot_answers_sizes (const struct call *call); /* it asked for the lengths of the queues, and was answered */

#endif
