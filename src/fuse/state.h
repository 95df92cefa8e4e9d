/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state of a bridge. Each part is described in the header of the file that works on it; this
 * header puts them together.
 */
#ifndef WINDLASS_FUSE_STATE_H
#define WINDLASS_FUSE_STATE_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "core/work/work.h"
#include "fuse/bridge.h"
#include "fuse/settings.h"
#include "fuse/threads/device.h"
#include "fuse/threads/dying.h"
#include "fuse/threads/limits.h"
#include "xlator.h"

#include <errno.h>
#include <pthread.h>

/* The flags that the kernel offered at the start of the session, and those to add to libfuse's
 * answer. */
struct init_flags {
    uint64_t unique; /* number of the INIT request; 0 before and after it */
    uint64_t offered;
    uint64_t wanted;
};

enum bridge_state { BRIDGE_WAITING, BRIDGE_READY, BRIDGE_OVER };

/* Results of the negotiation with the kernel. Set before the kernel's first request. */
struct terms {
    struct init_flags init; /* used by one thread at a time: there is no other request before INIT
                             * is answered */
    bool session_up;        /* INIT was answered; atomic */
    unsigned proto_minor;   /* minor version of the protocol */
    unsigned times;         /* root->times of each request: TIMES_NOT_OF_READING if the mount has ro
                             * or noatime */
    bool checked;           /* the kernel checks rights before it sends a request
                             * (default_permissions) */
    bool checks_all;        /* the kernel checks ACLs too, so that storage would refuse no request
                             * that the kernel lets pass */
    bool is_root;           /* the daemon runs as root: storage refuses root nothing */
    bool for_others;        /* the mount options allow_other or allow_root were given */
    bool direct_opens;      /* a file opened with O_DIRECT uses the kernel's direct I/O: writes in
                             * parallel, and no other thread between a caller and its answer */
    bool idmapped;          /* the mount may be mounted again with mapped ids: only requests that
                             * create an inode carry the caller's ids */
    bool remote;            /* servers have the files */
    bool locks;             /* the kernel sends locks */
    bool expires;           /* the kernel can be told that a name may have changed */
    bool labels;            /* the kernel runs SELinux, or the option selinux says so */
    bool keep_cache, direct_io, writeback; /* for every open */
};

/* What the kernel has asked for root about a file's capabilities: ops/privileges.c. */
struct privileges_ask {
    pid_t thread;
    uint64_t nodeid;
    unsigned times; /* that it asked whether there are any, and there were */
    bool removed;   /* it has removed them */
};
#define PRIVILEGES_ASKS 16 /* by the number of the thread */

/* Notices that wait until the kernel can take them: notices.c. */
struct kept_notices {
    pthread_mutex_t lock;  /* a leaf */
    GQueue kept;           /* struct notice; lock */
    bool looks;            /* a timer is pending, or work runs; lock */
    struct work_item work; /* used while looks is set */
};

struct bridge {
    xlator_t xlator;
    xlator_list_t child;
    xlator_list_t parent; /* the parent of the graph's top: the bridge */
    struct graph *graph;   /* changes only while no request runs */
    struct itable *itable; /* of all graphs that the mount has had; constant */
    /* The bridge as the top's parent in the hidden graph; its graph is NULL if there is none. */
    xlator_t hidden;
    xlator_list_t hidden_child;
    /* By the highest bit of an inode's number: &xlator, and &hidden, or &xlator if there is
     * none. */
    xlator_t *entrances[2];
    struct bridge_settings settings;
    struct terms terms;
    char *mountpoint;
    bool mounted;
    struct fuse_session *session;
    GString *libfuse_says; /* libfuse's messages during the mount */
    uint32_t generation;   /* part of every inode's identity; differs between mounts, so that
                            * handles of an earlier mount are stale */
    unsigned n_forgotten;  /* inodes that the kernel ever forgot; atomic */
    struct groups_cache *groups;
    struct short_numbers *short_numbers; /* NULL without enable-ino32; constant */
    bool said_endless;     /* a listing without an end was logged; atomic */
    unsigned lock_waiters; /* requests that wait for a lock; atomic */
    struct passthrough *passthrough;
    struct bridge_limits limits;
    const struct transport *transports[2]; /* set before the first thread starts */
    const struct transport *transport;     /* one of them; atomic */
    const char *why_device; /* the reason why requests don't come through io_uring; set before the
                             * first request */
    struct fuse_ring *ring; /* NULL: no ring; set before the first thread starts, freed after the
                             * last one ends */
    struct dying_callers dying;
    struct kept_notices notices;
    pthread_mutex_t fds_lock; /* a leaf */
    GHashTable *fds;          /* the fds that the kernel has open; fds_lock */
    bool held;                /* requests wait until the mount has moved; atomic, changed under
                               * lock */
    struct old_graph *old_used; /* list of the old graphs that open files may use; atomic. The main
                                 * thread adds a graph while requests are held, and removes one
                                 * under fds_lock while requests are held, or after the unmount */
    GSList *old_graphs; /* struct old_graph: all that aren't freed yet. The main thread's; changed
                         * only while it has hold_turn, in which a pause reads it */
    pthread_mutex_t hold_turn; /* hold_take_turn: of the thread that holds requests. No lock is held
                                * while a thread waits for it */
    bool ending;        /* bridge_stop has begun; atomic */

    const struct bridge_hooks *hooks; /* set when the bridge starts */
    bool stopping;    /* the threads that take requests are to end; atomic */
    bool gone;        /* the mount is gone, so no answer matters any more; atomic */
    bool leaves_mounted; /* bridge_stop leaves the mount; set before the mount */
    bool stuck;       /* bridge_stop ended, but some work didn't */
    bool left;        /* bridge_stop ended, but the mount remains: no process for unmounting could
                       * be started */
    pthread_mutex_t lock; /* guards the fields below; only timers.lock is taken under it */
    pthread_cond_t changed;
    pthread_cond_t quiet; /* a thread isn't busy any more, while requests are held */
    enum bridge_state state;
    struct privileges_ask asks[PRIVILEGES_ASKS];
    unsigned timers; /* pending timers that refer to the bridge, which lives until they are done */
    GQueue interruptions; /* of struct interruption (threads/interrupt.c) */
    struct request_threads threads;
    struct device_readers device;
};

/* Raises the state. */
void bridge_set_state (struct bridge *bridge, enum bridge_state state);

/* Has the kernel write back all pages of the mount's files that it caches and has changed; in
 * stop.c. Returns 0; -ETIMEDOUT after five seconds, and the kernel goes on writing; or another
 * negative errno: the mount point can't be opened. */
int bridge_write_back (struct bridge *bridge);

/* Count pending timers that refer to the bridge: begins before the timer is set, ends after its
 * work. Call them without a lock. */
void bridge_timer_begins (struct bridge *bridge);
void bridge_timer_ends (struct bridge *bridge);

static inline struct bridge *
bridge_of (fuse_req_t req)
{
    return fuse_req_userdata (req);
}

/* Returns the transport on which callers' requests come. */
static inline const struct transport *
bridge_transport (const struct bridge *bridge)
{
    return __atomic_load_n (&bridge->transport, __ATOMIC_ACQUIRE);
}

#endif
