/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A brick in this process: the server's end of the wire, for histories of a graph with
 * protocol/client.
 *
 *   protocol/client --UNIX socket--> peer.c: records --> parcels
 *                                    brick.c: the schedule delivers a parcel
 *                                    serve.c, files.c ...: the call, on storage/posix
 *                   <--UNIX socket-- peer.c <-- parcels with answers
 *
 * A record that came is parked as a parcel, and so is each answer, until the schedule delivers it:
 * in any order, as a server may do calls. A call is done at once and whole when it is delivered.
 *
 * A brick that is killed closes its connections. Each call that was parked has been done or not, by
 * the seed; its answer is lost. Open files and locks are gone. Names, data, attributes and gfids
 * stay, and the brick may begin again.
 *
 * Only under a scheduler (core/time/scheduler.h): one thread runs at a time, so there are no locks.
 */
#ifndef WINDLASS_CONFORM_BRICK_H
#define WINDLASS_CONFORM_BRICK_H

#include "core/edge/sync.h"
#include "graph/graph.h"
#include "rpc/loop.h"
#include "rpc/xdr.h"

struct brick;
struct peer;

/* A record of a call, or of an answer. */
struct parcel {
    struct peer *peer;
    GByteArray *record; /* without its mark; an answer's with it */
    bool answer;
    unsigned number; /* of all records that came to the brick */
};

/* One connection. */
struct peer {
    struct brick *brick;
    struct loop_watch watch;
    GByteArray *in, *out; /* bytes that are no whole record yet; that the socket didn't take */
    GHashTable *fds;      /* number -> fd_t, with a reference */
    uint64_t last_fd;
};

struct brick {
    char *volume, *directory, *socket; /* volume: the name of the one that connects to it */
    uint64_t seed;
    struct graph *graph;    /* storage/posix alone */
    struct client *client;
    struct loop_watch listener; /* fd: -1 while the brick is down */
    GPtrArray *peers;   /* of struct peer */
    GPtrArray *parcels; /* of struct parcel */
    GPtrArray *waiting; /* of struct parcel: calls that wait for a lock */
    GPtrArray *locks;   /* of struct lock */
    bool unlocked;      /* a lock has gone: what waits is parked again */
    GHashTable *wire, *local; /* gfids, of the brick's files to those on the wire, and back */
    GHashTable *lost;   /* gfids on the wire of files that were open without a name in a kill */
    unsigned came;      /* records so far */
    bool calm;          /* no parcel is parked */
};

/* Makes the brick of a directory, which listens at the path of a socket. NULL after a message. */
struct brick *brick_new (const char *volume, const char *directory, const char *socket,
                         uint64_t seed);
void brick_free (struct brick *brick);
bool brick_begin (struct brick *brick); /* false after a message */
void brick_kill (struct brick *brick);
bool brick_is_up (const struct brick *brick);
void brick_deliver (struct brick *brick, unsigned nth); /* of brick->parcels */
void brick_park_waiting (struct brick *brick);
void brick_calm (struct brick *brick, bool calm); /* calm: delivers all, and from then on at once */
/* Returns whether the file may have gone with a kill: it was open, and had no name. */
bool brick_lost (const struct brick *brick, const gfid_t *gfid);

/* peer.c */
int peers_listen (struct brick *brick);
void peers_close (struct brick *brick); /* and the listener */
void peer_send (struct peer *peer, const GByteArray *record);
void parcel_free (struct parcel *parcel);
void brick_park (struct peer *peer, GByteArray *record, bool answer, unsigned number);

/* locks.c */
void lock_free (void *lock);
void locks_drop (struct brick *brick, const struct peer *peer);

/* serve.c: does the call. Returns the record of the answer; NULL: it waits for a lock. */
GByteArray *brick_serve (struct peer *peer, const GByteArray *record);

/* A call that is being done. */
struct request {
    struct brick *brick;
    struct peer *peer;
    struct client *client;
    struct xdr_in in;      /* arguments */
    struct xdr_out out;    /* results */
    bool waits;            /* for a lock: there is no answer yet */
    gid_t groups[64];
};

/* files.c: a call of the program of files. Returns false if there is no such procedure. */
bool files_serve (struct request *q, uint32_t procedure);

/* gfids.c: the gfid of a file, as the wire has it and as the storage has it. */
gfid_t gfid_to_wire (const struct brick *brick, const gfid_t *local);
gfid_t gfid_of_wire (const struct brick *brick, const gfid_t *wire);
void gfid_choose (struct brick *brick, const gfid_t *local, const gfid_t *wire);

#endif
