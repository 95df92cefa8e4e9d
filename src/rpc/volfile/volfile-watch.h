/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Watches the volfile of a GlusterFS volume over a lasting connection to glusterd. The watch
 * fetches the volfile whenever it has connected, and whenever glusterd calls FETCHSPEC, which means
 * that the volfile may have changed. It compares the volfile with the last one. It also serves
 * STATEDUMP: on `gluster volume statedump VOLUME client HOST:PID`, glusterd calls all its clients
 * on HOST with PID, and only the process with that number is meant.
 */
#ifndef WINDLASS_RPC_VOLFILE_WATCH_H
#define WINDLASS_RPC_VOLFILE_WATCH_H

struct volfile_watch;

/* Functions that the watch calls, on the event loop's thread. */
struct volfile_watch_events {
    void (*changed) (void);    /* volfile_watch_take has a new volfile */
    void (*dump_asked) (void); /* glusterd wants a state dump of this process; at most one in ten
                                * seconds */
};

/* name is "SERVER[,SERVER...]:/VOLUME", text the volfile that is in use, events a static struct.
 * Returns NULL after a failure, which is logged: TLS can't be used, or no thread could be
 * started. */
struct volfile_watch *volfile_watch_new (const char *name, const char *text,
                                         const struct volfile_watch_events *events);

/* Returns the newest volfile, to be freed with g_free; NULL if no other one has come since the last
 * call. Any thread may call this. */
char *volfile_watch_take (struct volfile_watch *watch);

/* Ends the connection, waits for its end, and frees the watch. Takes NULL. */
void volfile_watch_free (struct volfile_watch *watch);

#endif
