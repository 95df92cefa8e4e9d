/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What reports show of a server that a lowest translator asks, such as a brick: dumpops.server, for
 * windlass top, stats, .meta and state dumps; and the calls to it, for windlass timeline and
 * probes; and whether several are of one volume.
 */
#ifndef WINDLASS_CORE_EDGE_SERVER_H
#define WINDLASS_CORE_EDGE_SERVER_H

#include "core/base/histogram.h"
#include "core/edge/fan-out.h"

enum server_state { SERVER_DOWN, SERVER_CONNECTING, SERVER_UP };

/* Counters are those of all connections since the start. */
struct server_report {
    char *name;             /* "server:/brick" */
    enum server_state state;
    char *problem;          /* the reason why it is not up; NULL: none is known */
    int64_t since;          /* nanoseconds that it has been up, or has not */
    int64_t silent;         /* nanoseconds since it last sent something; -1: never on this
                             * connection */
    unsigned outstanding;   /* calls without an answer */
    unsigned waiting;       /* calls that are not sent yet, since too many are outstanding */
    uint64_t calls;         /* that were sent */
    uint64_t sent, received; /* bytes */
    struct histogram round_trips; /* nanoseconds from a call to its answer, without locks */
};

/* Returns false if xl has no server. Clear the report afterwards. */
bool xlator_server (xlator_t *xl, struct server_report *ret_report);
void server_report_clear (struct server_report *report);

/* "up", "connecting", "down" */
const char *server_state_name (enum server_state state);

/* Appends lines of "key=value", for dumpops.priv. */
void server_report_dump (const struct server_report *report, GString *out);

/* --- calls ------------------------------------------------------------------------------------ */

struct server_call {
    xlator_t *xl;
    const char *server;        /* "server:/brick"; from g_intern_string: a recording keeps it */
    const char *name;          /* "WRITE"; constant */
    uint64_t request;          /* root->unique of the request for which it is made; 0: of none */
    const call_frame_t *frame; /* for which it is made, not answered yet; NULL: for none */
    /* Of an answer. */
    int64_t took;              /* nanoseconds from the call */
    int error;                 /* a positive errno if there was no answer: ENOTCONN ...; 0: none */
};

/* Tell a tracer of a call that is about to be sent; and a tracer, and a recording of a timeline, of
 * its answer, before the frame is answered. */
void server_call_sent (const struct server_call *call);
void server_call_answered (const struct server_call *call);

/* Called for each answer while it is set; NULL: no call. Atomic. */
extern void (*server_call_hook) (const struct server_call *call);

/* --- volumes ---------------------------------------------------------------------------------- */

/* An attribute of the root directory of each brick that glusterd has made: the volume's UUID, in
 * binary. To be asked for with a lookup of the root. */
#define VOLUME_ID "trusted.glusterfs.volume-id"

/* Returns whether the answers to a lookup of the root are of bricks of one volume. If not, the log
 * of this, whose children they are, says so. */
bool servers_are_of_one_volume (xlator_t *this, xlator_t *const *children,
                                const struct fan_out *fan);

#endif
