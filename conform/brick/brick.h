/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A brick (a server of GlusterFS for one directory) that runs in the process of `windlass conform`.
 * conform/history runs random sequences of operations on a graph with protocol/client, which
 * connects to this brick over a UNIX socket.
 *
 *   protocol/client --UNIX socket--> peer.c: records --> parcels
 *                                    brick.c: the test delivers a parcel
 *                                    serve.c, rows.c ...: execute the call, on storage/posix
 *                   <--UNIX socket-- peer.c <-- parcels with replies
 *
 * The brick stores each call that arrives, and each reply that it makes, as a parcel. The test
 * decides when each parcel is delivered (brick_deliver), in any order, because a server may execute
 * calls in any order. When the parcel of a call is delivered, the brick executes the whole call at
 * once; when the parcel of a reply is delivered, the brick sends the reply.
 *
 * brick_kill simulates the crash of a server. The seed decides for each call that is still a parcel
 * whether the brick executes it before the crash; the reply is lost either way. Then the brick
 * closes its connections, and drops open files and locks. Names, data, attributes and gfids stay,
 * and brick_begin starts the brick again.
 *
 * The brick runs only under a scheduler (core/time/scheduler.h), which lets one thread run at a
 * time. The brick's data therefore need no mutex.
 */
#ifndef WINDLASS_CONFORM_BRICK_H
#define WINDLASS_CONFORM_BRICK_H

#include "core/edge/sync.h"
#include "graph/graph.h"
#include "rpc/loop.h"
#include "rpc/xdr.h"

struct brick;
struct brick_peer;

/* A call that the brick has not executed yet, or a reply that it has not sent yet. */
struct brick_parcel {
    struct brick_peer *peer;
    GByteArray *record; /* bytes of a call without its record mark, or of a reply with its record
                         * mark (RFC 5531) */
    bool reply;
    unsigned number; /* number of the call, or of the call that the reply is for; the brick counts
                      * the calls in the order of their arrival */
};

/* A connection of protocol/client to the brick. */
struct brick_peer {
    struct brick *brick;
    struct loop_watch watch;
    GByteArray *in;  /* received bytes of a record whose end has not been received yet */
    GByteArray *out; /* bytes of replies that are still to be written to the socket */
    GHashTable *fds; /* open files of the connection: number -> fd_t, with a reference */
    uint64_t last_fd; /* number for the next file that is opened */
};

struct brick {
    char *volume;    /* name of the protocol/client volume that connects to the brick */
    char *directory; /* path of the directory with the brick's files */
    char *socket;    /* path of the UNIX socket at which the brick listens */
    uint64_t seed;   /* seed by which brick_kill decides which calls are executed before the kill */
    struct graph *graph; /* graph of the storage: only storage/posix */
    struct client *client;
    struct loop_watch listener; /* watch of the listening socket; its fd is -1 before brick_begin
                                 * and after brick_kill */
    GPtrArray *peers;   /* connections, as struct brick_peer */
    GPtrArray *parcels; /* calls and replies that can be delivered, as struct brick_parcel */
    GPtrArray *waiting; /* calls that were delivered and wait for a lock, as struct brick_parcel */
    GPtrArray *locks;   /* locks that clients hold, as struct brick_lock */
    bool unlocked;      /* a lock was released, so the calls in `waiting` must move to `parcels` */
    GHashTable *wire;   /* table: gfid of a file in the storage -> its gfid in calls and replies */
    GHashTable *local;  /* table: gfid of a file in calls and replies -> its gfid in the storage */
    GHashTable *lost;   /* set of gfids, as in calls and replies: files that were open and had no
                         * name left when the brick was killed */
    unsigned came;      /* number of calls that have arrived so far */
    bool calm;          /* calls and replies (parcels) are delivered as soon as they are made */
};

/* brick_new makes a brick whose files are in `directory`, or returns NULL after it has reported an
 * error. The brick listens at the path `socket` after brick_begin, which returns false after it has
 * reported an error. */
struct brick *brick_new (const char *volume, const char *directory, const char *socket,
                         uint64_t seed);
void brick_free (struct brick *brick);
bool brick_begin (struct brick *brick);
void brick_kill (struct brick *brick);
bool brick_is_up (const struct brick *brick);
/* Delivers the parcel with the index `nth` in brick->parcels: executes the call, or sends the
 * reply. */
void brick_deliver (struct brick *brick, unsigned nth);
void brick_park_waiting (struct brick *brick);
/* A parcel is a call that has not been executed yet, or a reply that has not been sent yet. If
 * `calm` is true, delivers all parcels now, and each later one as soon as it is made. If `calm` is
 * false, each later parcel waits until the test calls brick_deliver for it. */
void brick_calm (struct brick *brick, bool calm);
/* Returns whether the file was open and had no name left when the brick was killed, so that it may
 * not exist any more. gfid: the file's gfid in calls and replies. */
bool brick_lost (const struct brick *brick, const gfid_t *gfid);

/* peer.c */
int brick_listen (struct brick *brick);
void brick_hang_up (struct brick *brick); /* closes all connections and the listening socket */
void brick_peer_send (struct brick_peer *peer, const GByteArray *record);
void brick_parcel_free (struct brick_parcel *parcel);
void brick_park (struct brick_peer *peer, GByteArray *record, bool reply, unsigned number);

/* locks.c */
void brick_lock_free (void *lock);
void brick_locks_drop (struct brick *brick, const struct brick_peer *peer);

/* In serve.c. Executes the call in the record. Returns the record of its reply, or NULL if the call
 * has to wait for a lock. */
GByteArray *brick_serve (struct brick_peer *peer, const GByteArray *record);

/* In gfids.c. A file has one gfid in calls and replies (`wire`), and another one in the storage
 * (`local`). The first two functions convert between them. brick_gfid_choose records the gfid that
 * a client has chosen for a new file. */
gfid_t brick_gfid_to_wire (const struct brick *brick, const gfid_t *local);
gfid_t brick_gfid_of_wire (const struct brick *brick, const gfid_t *wire);
void brick_gfid_choose (struct brick *brick, const gfid_t *local, const gfid_t *wire);

#endif
