/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/volfile/volfile-watch.h"

#include "core/base/log.h"
#include "core/time/clock.h"
#include "core/time/thread.h"
#include "core/time/timer.h"
#include "core/work/work.h"
#include "rpc/connection.h"
#include "rpc/loop.h"
#include "rpc/volfile/volfile-server.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE 30000000000LL   /* longest wait for a reply, in nanoseconds */
#define DUMP_PAUSE 10000000000LL /* least time between two state dumps, in nanoseconds, so that a
                                  * hostile server can't fill the disk with dumps */

struct volfile_watch {
    char **servers, *volume;
    struct tls_context *tls; /* NULL: connections are not encrypted */
    const struct volfile_watch_events *events;

    /* Members that only the event loop's thread uses. */
    char *known;      /* the volfile that was fetched last; before that, the one in use */
    char *problem;    /* problem that was logged since the last good reply, or NULL */
    bool asking;      /* a GETSPEC was sent and has no reply yet */
    bool ask_again;   /* glusterd has called FETCHSPEC while `asking` was true, so another GETSPEC
                       * is sent after the reply */
    int64_t dumped;   /* time (clock_now) when events->dump_asked was last called; 0: never */

    pthread_mutex_t lock; /* guards the members below; taken before the locks of connections, event
                           * loop and timers */
    pthread_cond_t ended; /* signalled when `connection` or `again` becomes NULL */
    struct rpc_connection *connection;
    core_timer_t *again;               /* timer of the next attempt to connect, or NULL */
    unsigned server;                   /* index of the server to connect to */
    unsigned attempts;                 /* number of failed attempts in a row */
    bool ending;                       /* volfile_watch_free was called */
    char *fresh;                       /* new volfile that volfile_watch_take will return, or
                                        * NULL */
};

struct watch_call {
    struct rpc_call rpc;
    struct volfile_watch *watch;
};

/* Returns the name of the server to connect to. Needs no lock, because only the event loop's thread
 * changes `server`, and only that thread calls this function. */
static const char *
watch_server (struct volfile_watch *w)
{
    return w->servers[w->server];
}

/* Logs a problem, unless one was logged since the last good reply. */
static void
volfile_watch_tell (struct volfile_watch *w, const char *problem)
{
    if (w->problem)
        return;
    w->problem = g_strdup (problem);
    gf_log (NULL, GF_LOG_WARNING, "changes of the volfile of '%s' go unseen for now: %s", w->volume,
            problem);
}

/* --- asking ----------------------------------------------------------------------------------- */

static void watch_ask (struct volfile_watch *w);

static void
watch_compare (struct volfile_watch *w, char *text)
{
    if (strcmp (w->known, text) == 0) {
        g_free (text);
        return;
    }
    g_free (w->known);
    w->known = text;
    pthread_mutex_lock (&w->lock);
    g_free (w->fresh);
    w->fresh = g_strdup (text);
    pthread_mutex_unlock (&w->lock);
    w->events->changed ();
}

static void
watch_read (struct volfile_watch *w, struct rpc_reply *reply)
{
    g_autofree char *problem = NULL;
    char *text = volfile_get_reply (&reply->results, watch_server (w), w->volume, &problem);

    if (!text) {
        volfile_watch_tell (w, problem);
        return;
    }
    pthread_mutex_lock (&w->lock);
    w->attempts = 0;
    pthread_mutex_unlock (&w->lock);
    if (w->problem)
        gf_log (NULL, GF_LOG_INFO, "changes of the volfile of '%s' are reported by %s again",
                w->volume, watch_server (w));
    g_clear_pointer (&w->problem, g_free);
    watch_compare (w, text);
}

/* Receives the reply to a GETSPEC. After an error it ends the connection; watch_closed then chooses
 * the next server. */
static void
watch_answered (struct rpc_call *rpc, struct rpc_reply *reply)
{
    struct volfile_watch *w = ((struct watch_call *) rpc)->watch;

    w->asking = false;
    if (reply->error == ENOTCONN)
        return;
    if (reply->error)
        rpc_hang_up (w->connection, "the server did not answer as a glusterd does");
    else
        watch_read (w, reply);
    if (w->ask_again)
        watch_ask (w);
}

static void
watch_call_free (struct rpc_call *rpc)
{
    g_free (rpc);
}

/* Sends GETSPEC, on the event loop's thread, while the connection is open. */
static void
watch_ask (struct volfile_watch *w)
{
    struct watch_call *call;

    w->ask_again = w->asking;
    if (w->asking)
        return;
    w->asking = true;
    call = g_new0 (struct watch_call, 1);
    call->watch = w;
    call->rpc.answered = watch_answered;
    call->rpc.free = watch_call_free;
    rpc_call_begin (&call->rpc, RPC_HANDSHAKE, 2, RPC_GETSPEC, NULL);
    volfile_put_getspec (&call->rpc.out, w->volume);
    rpc_send (w->connection, &call->rpc);
}

/* --- events of the connection ----------------------------------------------------------------- */

static void watch_connect_locked (struct volfile_watch *w);

static void
watch_connected (void *data)
{
    struct volfile_watch *w = data;

    pthread_mutex_lock (&w->lock); /* waits until the thread that called rpc_connect has stored its
                                    * result */
    pthread_mutex_unlock (&w->lock);
    watch_ask (w);
}

/* Handles glusterd's call for a state dump, and ignores it if it has another process's number.
 * glusterd doesn't know the process numbers of its clients, so it calls all its clients on the host
 * that the administrator named. */
static void
watch_dump (struct volfile_watch *w, struct xdr_in *arguments)
{
    const uint32_t pid = xdr_get_u32 (arguments);
    const int64_t now = clock_now ();

    if (arguments->failed || pid != (uint32_t) getpid ()
        || (w->dumped && now - w->dumped < DUMP_PAUSE))
        return;
    w->dumped = now;
    gf_log (NULL, GF_LOG_INFO, "glusterd of %s asks for a state dump", watch_server (w));
    w->events->dump_asked ();
}

static void
watch_called (void *data, uint32_t program, uint32_t procedure, struct xdr_in *arguments)
{
    if (program == RPC_CALLBACK && procedure == RPC_FETCHSPEC)
        watch_ask (data);
    else if (program == RPC_CALLBACK && procedure == RPC_STATEDUMP)
        watch_dump (data, arguments);
    else
        gf_log (NULL, GF_LOG_DEBUG, "glusterd called procedure %u of program %u; ignored",
                procedure, program);
}

static void
watch_again (void *data)
{
    struct volfile_watch *w = data;

    pthread_mutex_lock (&w->lock);
    w->again = NULL;
    if (!w->ending)
        watch_connect_locked (w);
    pthread_cond_broadcast (&w->ended);
    pthread_mutex_unlock (&w->lock);
}

/* Called when a connection has ended: starts the timer of the next attempt. Another thread may free
 * the watch as soon as `connection` and `again` are NULL and the lock is released. */
static void
watch_closed (void *data, const char *reason)
{
    struct volfile_watch *w = data;
    g_autofree char *problem = g_strdup_printf ("glusterd of %s: %s", watch_server (w), reason);
    struct rpc_connection *connection;

    w->asking = w->ask_again = false;
    pthread_mutex_lock (&w->lock);
    connection = g_steal_pointer (&w->connection);
    w->server = w->servers[w->server + 1] ? w->server + 1 : 0;
    if (++w->attempts > g_strv_length (w->servers) && !w->ending)
        volfile_watch_tell (w, problem); /* every server was tried */
    if (!w->ending)
        w->again = timer_after (rpc_pause (w->attempts), watch_again, w);
    pthread_cond_broadcast (&w->ended);
    pthread_mutex_unlock (&w->lock);
    rpc_connection_unref (connection);
}

static const struct rpc_events watch_rpc_events = {
    .connected = watch_connected,
    .closed = watch_closed,
    .called = watch_called,
};

static void
watch_connect_locked (struct volfile_watch *w)
{
    static const struct rpc_timeouts timeouts = { .frame = PATIENCE, .ping = PATIENCE };
    uint16_t port;
    g_autofree char *host = volfile_server_host (w->servers[w->server], &port);
    const struct rpc_address address = { .host = host, .port = port, .tls = w->tls };

    w->connection = rpc_connect (&address, &timeouts, &watch_rpc_events, w);
}

/* --- beginning and end ------------------------------------------------------------------------ */

struct volfile_watch *
volfile_watch_new (const char *name, const char *text, const struct volfile_watch_events *events)
{
    g_autofree char *error = NULL;
    struct tls_context *tls;
    struct volfile_watch *w;

    if (!volfile_tls (&tls, &error)) {
        gf_log (NULL, GF_LOG_WARNING, "changes of the volfile of '%s' go unseen: %s", name, error);
        return NULL;
    }
    work_use ();
    if (loop_use () < 0) {
        work_leave ();
        tls_context_unref (tls);
        return NULL;
    }
    w = g_new0 (struct volfile_watch, 1);
    w->servers = volfile_servers (name);
    w->volume = volfile_name_volume (name);
    w->tls = tls;
    w->events = events;
    w->known = g_strdup (text);
    pthread_mutex_init (&w->lock, NULL);
    thread_cond_init (&w->ended);
    pthread_mutex_lock (&w->lock);
    watch_connect_locked (w);
    pthread_mutex_unlock (&w->lock);
    return w;
}

char *
volfile_watch_take (struct volfile_watch *w)
{
    char *text;

    pthread_mutex_lock (&w->lock);
    text = g_steal_pointer (&w->fresh);
    pthread_mutex_unlock (&w->lock);
    return text;
}

static void
watch_end (struct volfile_watch *w)
{
    pthread_mutex_lock (&w->lock);
    w->ending = true;
    if (w->again && timer_cancel (w->again))
        w->again = NULL;
    if (w->connection)
        rpc_hang_up (w->connection, "the mount ends");
    while (w->connection || w->again)
        thread_cond_wait (&w->ended, &w->lock);
    pthread_mutex_unlock (&w->lock);
}

void
volfile_watch_free (struct volfile_watch *w)
{
    if (!w)
        return;
    watch_end (w);
    loop_leave ();
    work_leave ();
    pthread_cond_destroy (&w->ended);
    pthread_mutex_destroy (&w->lock);
    g_strfreev (w->servers);
    tls_context_unref (w->tls);
    g_free (w->volume);
    g_free (w->known);
    g_free (w->problem);
    g_free (w->fresh);
    g_free (w);
}
