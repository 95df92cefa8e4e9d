/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Follows the volfile of a GlusterFS volume: a lasting connection to a server's glusterd, which
 * calls FETCHSPEC when it has changed. Then, and each time that it is connected, the volfile is
 * fetched and compared with the last one. STATEDUMP is heard, too: `gluster volume statedump VOLUME
 * client HOST:PID` makes glusterd call all clients of the host, with the process that is meant.
 */
#ifndef WINDLASS_RPC_VOLFILE_WATCH_H
#define WINDLASS_RPC_VOLFILE_WATCH_H

struct volfile_watch;

/* Called on the loop's thread. */
struct volfile_watch_events {
    void (*changed) (void);    /* there is another volfile */
    void (*dump_asked) (void); /* of this process; at most every ten seconds */
};

/* name: "SERVER[,SERVER...]:/VOLUME"; text: the volfile as it is known; events: static. NULL: a
 * thread could not be started, which is logged. */
struct volfile_watch *volfile_watch_new (const char *name, const char *text,
                                         const struct volfile_watch_events *events);

/* Returns the newest volfile, once; NULL: there is none since the last call. g_free it. Any
 * thread. */
char *volfile_watch_take (struct volfile_watch *watch);

/* Ends the connection, and waits for its end. Takes NULL. */
void volfile_watch_free (struct volfile_watch *watch);

#endif
