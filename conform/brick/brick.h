/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A brick in this process: the server's end of the wire. It serves a graph with protocol/client
 * while the kit runs random sequences of operations (conform/history) on that graph.
 *
 *   protocol/client --UNIX socket--> peer.c: records --> parcels
 *                                    brick.c: the schedule delivers a parcel
 *                                    serve.c, rows.c ...: the call, on storage/posix
 *                   <--UNIX socket-- peer.c <-- parcels with replies
 *
 * Each record of a call is parked as a parcel, and so is each reply. The schedule delivers parcels
 * in any order, as a server may do calls in any order. The brick does a call at once and whole when
 * its parcel is delivered.
 *
 * A brick that is killed closes its connections. The seed decides of each parked call whether it
 * has been done; its reply is lost either way. Open files and locks are gone. Names, data,
 * attributes and gfids stay, and the brick may begin again.
 *
 * The brick runs only under a scheduler (core/time/scheduler.h): one thread runs at a time, so
 * there are no locks.
 */
#ifndef WINDLASS_CONFORM_BRICK_H
#define WINDLASS_CONFORM_BRICK_H

#include "core/edge/sync.h"
#include "graph/graph.h"
#include "rpc/loop.h"
#include "rpc/xdr.h"

struct brick;
struct brick_peer;

/* A record on its way: a call, or a reply. */
struct brick_parcel {
    struct brick_peer *peer;
    GByteArray *record; /* a call without its record mark, or a reply with it */
    bool reply;
    unsigned number; /* number of the call, in the order in which calls came to the brick */
};

/* One connection. */
struct brick_peer {
    struct brick *brick;
    struct loop_watch watch;
    GByteArray *in;  /* received bytes of a record that is not whole yet */
    GByteArray *out; /* bytes that the socket has not taken yet */
    GHashTable *fds; /* open files: number -> fd_t, with a reference */
    uint64_t last_fd; /* number that the next open file gets */
};

struct brick {
    char *volume;    /* name of the protocol/client that connects to the brick */
    char *directory; /* directory of the brick's files */
    char *socket;    /* path of the socket */
    uint64_t seed;   /* decides what a kill does to parked calls */
    struct graph *graph; /* storage/posix alone */
    struct client *client;
    struct loop_watch listener; /* its fd is -1 while the brick is down */
    GPtrArray *peers;   /* of struct brick_peer */
    GPtrArray *parcels; /* of struct brick_parcel: the schedule delivers them */
    GPtrArray *waiting; /* of struct brick_parcel: calls that wait for a lock */
    GPtrArray *locks;   /* of struct brick_lock */
    bool unlocked;      /* a lock was dropped, so the calls in `waiting` move back to `parcels` */
    GHashTable *wire;   /* gfid of a file in the storage -> its gfid on the wire */
    GHashTable *local;  /* gfid of a file on the wire -> its gfid in the storage */
    GHashTable *lost;   /* gfids on the wire of files that were open in a kill, and had lost their
                         * last name */
    unsigned came;      /* number of calls so far */
    bool calm;          /* parcels are delivered at once */
};

/* Makes a brick whose files are in `directory`. brick_begin makes it listen at the path `socket`.
 * Returns NULL after it has reported an error. */
struct brick *brick_new (const char *volume, const char *directory, const char *socket,
                         uint64_t seed);
void brick_free (struct brick *brick);
bool brick_begin (struct brick *brick); /* false after a message */
void brick_kill (struct brick *brick);
bool brick_is_up (const struct brick *brick);
void brick_deliver (struct brick *brick, unsigned nth); /* of brick->parcels */
void brick_park_waiting (struct brick *brick);
/* If `calm`, delivers all parcels, and from then on delivers each parcel at once when it comes. If
 * not, parcels wait for the schedule from then on. */
void brick_calm (struct brick *brick, bool calm);
/* Returns whether a kill may have removed the file: it was open, and had lost its last name. */
bool brick_lost (const struct brick *brick, const gfid_t *gfid);

/* peer.c */
int brick_listen (struct brick *brick);
void brick_hang_up (struct brick *brick); /* closes all connections, and the listener */
void brick_peer_send (struct brick_peer *peer, const GByteArray *record);
void brick_parcel_free (struct brick_parcel *parcel);
void brick_park (struct brick_peer *peer, GByteArray *record, bool reply, unsigned number);

/* locks.c */
void brick_lock_free (void *lock);
void brick_locks_drop (struct brick *brick, const struct brick_peer *peer);

/* serve.c: does the call. Returns the record of the reply; NULL: the call waits for a lock. */
GByteArray *brick_serve (struct brick_peer *peer, const GByteArray *record);

/* gfids.c: the gfid of a file, as the wire has it and as the storage has it. */
gfid_t brick_gfid_to_wire (const struct brick *brick, const gfid_t *local);
gfid_t brick_gfid_of_wire (const struct brick *brick, const gfid_t *wire);
void brick_gfid_choose (struct brick *brick, const gfid_t *local, const gfid_t *wire);

#endif
