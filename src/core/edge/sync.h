/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations that block until their answer: a graph used without a kernel, by tests, tools and
 * programs.
 *
 *   struct client *client = client_new (top);
 *   struct writev_reply reply;
 *   int r = sync_writev (client, fd, &iov, 1, 0, 0, NULL, NULL, &reply);     op_ret, or -errno
 *   writev_reply_drop (&reply);
 */
#ifndef WINDLASS_CORE_EDGE_SYNC_H
#define WINDLASS_CORE_EDGE_SYNC_H

#include "core/edge/frame.h"
#include "core/edge/reply.h"

/* The identity that requests have. Only one thread at a time may use a client. */
struct client {
    xlator_t xlator; /* stands as the parent of the graph's top */
    int refs;        /* the owner's, and one for each call without an answer. Atomic */
    uid_t uid;
    gid_t gid;
    pid_t pid;
    mode_t umask;
    uint64_t lk_owner;
    int ngroups;
    const gid_t *groups;
    const char *internal; /* root->internal; NULL: the client stands for a caller */
    bool checked; /* the client has the rights for its requests: root->checked */
    int64_t patience; /* nanoseconds to wait for an answer, 0: no limit. After that a call returns
                       * -ETIMEDOUT, and its request is reported and abandoned */
    bool serves; /* client_new_as: the calls are a part of a request, which a pause waits for */
};

/* Returns a client of the translator top, with the ids of this process. */
struct client *client_new (xlator_t *top);
/* The same, for requests that a translator makes for itself, to its child or to the top. */
struct client *client_new_internal (const xlator_t *maker, xlator_t *top);
/* The same, for requests as the caller of root, which a translator serves on a thread: root must
 * outlive the client, since the groups are root's. Root needs no groups. */
struct client *client_new_as (xlator_t *top, call_stack_t *root);
/* An abandoned request uses the client until it is answered. */
void client_free (struct client *client);

/* A pause of a graph without a bridge (core/work/pause.h): from sync_hold to sync_go_on, calls that
 * clients make to the top of a graph, and not for a translator or as a part of another request,
 * wait before they make their request. Calls nest. sync_is_held is for programs that make requests
 * without a client. A thread with sync_unheld set is never held: the pause waits for it in another
 * way, or it is the one that pauses. */
void sync_hold (void);
void sync_go_on (void);
bool sync_is_held (void);
extern __thread bool sync_unheld;

/* Returns a request of the client, for a translator that is asked by a function and not by a wind.
 * stack_done ends it. */
call_stack_t *client_stack_new (struct client *client, enum fop op);

/* sync_lookup (client, loc, xdata, &reply) returns op_ret, or -errno. reply may be NULL; otherwise
 * drop it, also after a failure. */
#define FOP(name) int sync_##name (struct client *client
#define ARG(kind, name) , C_##kind name
#define REPLY(name) , struct name##_reply *ret_reply);
#include "fops.def"

#endif
