/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The daemon's end: the socket for root and the daemon's own user, with the callers that await the
 * end, and the socket for all users of the mount (users.c). control/listener.h has the connections.
 */
#include "control/listener.h"
#include "control/server-internal.h"

#include "core/base/rundir.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define AWAITING_MAX 64     /* callers of CONTROL_AWAIT_END */
#define ELSEWHERE_SECONDS 2 /* from an unmount until the file system counts as mounted elsewhere */

/* The sockets of callers of CONTROL_AWAIT_END. */
struct control_ending {
    GArray *fds;
};

/* --- a caller that awaits the end --- */

static gboolean
connection_look_elsewhere (gpointer data)
{
    struct connection *connection = data;
    struct listener *listener = connection->listener;
    const struct control_server *server = listener->server;
    g_autoptr (GString) nothing = g_string_new (NULL);

    connection->timer = 0;
    if (server->is_mounted (server->data)) {
        connection_await (connection, &listener->connections, NULL);
        connection_answer (connection, -EBUSY, nothing);
    }
    return G_SOURCE_REMOVE;
}

static gboolean
connection_hung_up (gint fd, GIOCondition condition, gpointer data)
{
    connection_end (data);
    return G_SOURCE_CONTINUE; /* the source was removed with the connection */
}

/* The caller has unmounted. The kernel closes the connection during the last unmount, and this
 * daemon then ends: if it is open after a while, the file system is still mounted elsewhere. */
static void
connection_unmounted (struct connection *connection)
{
    g_source_remove (connection->watch);
    connection->watch = g_unix_fd_add (connection->fd, G_IO_HUP, connection_hung_up, connection);
    connection->timer = g_timeout_add_seconds (ELSEWHERE_SECONDS, connection_look_elsewhere,
                                               connection);
}

/* The first caller that waits starts the collection of log lines; all callers get the same text. A
 * caller that leaves before the end no longer counts. */
static void
connection_await_end (struct connection *connection)
{
    struct control_server *server = connection->listener->server;

    if (g_list_length (server->awaiting) >= AWAITING_MAX) {
        g_autoptr (GString) text = g_string_new (NULL);

        g_string_printf (text, "%d callers wait for the end of this daemon already", AWAITING_MAX);
        connection_answer (connection, -EAGAIN, text);
        return;
    }
    if (!server->awaiting)
        log_collect (true);
    connection_await (connection, &server->awaiting, connection_unmounted);
}

/* --- requests --- */

static void
server_serve (struct connection *connection, const struct control_request *request)
{
    const struct control_server *server = connection->listener->server;
    g_autoptr (GString) answer = g_string_new (NULL);
    int r;

    if (strcmp (request->command, CONTROL_AWAIT_END) == 0 && !*request->target) {
        connection_await_end (connection);
        return;
    }
    if (server->stopping)
        return;
    r = control_dispatch (server->graph, server->commands, server->data, request,
                          &connection->asker, answer);

    gf_log (NULL, GF_LOG_DEBUG, "control: '%s' of '%s': %s", request->command, request->target,
            r < 0 ? g_strerror (-r) : "done");
    connection_answer (connection, r, answer);
}

/* --- the socket's file --- */

static bool
server_admits (const struct xlator_asked *asker, GString *ret_why)
{
    g_string_printf (ret_why, "not permitted: only root and user %u may talk to this daemon",
                     geteuid ());
    return asker->uid == 0 || asker->uid == geteuid ();
}

static const struct listener_rules server_rules = {
    .mode = 0600,
    .connections_max = 8,
    .request_max = CONTROL_REQUEST_MAX,
    .answer_max = CONTROL_ANSWER_MAX,
    .patience = 5,
    .priority = G_PRIORITY_DEFAULT,
    .admits = server_admits,
    .serve = server_serve,
};

/* A failure is no error: it costs a hint in a message. A log that is not a file has no name. */
static void
log_link_make (const struct control_server *server)
{
    g_autofree char *link = control_log_link (server->listener->path), *log = log_path ();

    unlink (link);
    if (log && symlink (log, link) < 0)
        gf_log (NULL, GF_LOG_DEBUG, "control: '%s': %s", link, g_strerror (errno));
}

static int
socket_make_in (struct control_server *server, const char *dir, const struct mount *mount,
                char **ret_error)
{
    g_autofree char *path = control_path (dir, mount);
    const int fd = control_open_dir (path, ret_error);
    int r = fd < 0 ? fd : listener_bind (server->listener, path, ret_error);

    if (r == 0) {
        log_link_make (server);
        server_update_users (server);
    }
    if (fd >= 0)
        close (fd);
    return r;
}

/* Tries all folders, the last resort, too. *ret_error has the reasons of all. */
static int
socket_make (struct control_server *server, const struct mount *mount, char **ret_error)
{
    g_auto (GStrv) dirs = run_dirs (geteuid ());
    g_autoptr (GString) reasons = g_string_new (NULL);
    int r = -ENOENT;

    for (char **dir = dirs; *dir && r < 0; dir++) {
        g_autofree char *error = NULL;

        r = socket_make_in (server, *dir, mount, &error);
        if (r < 0)
            g_string_append_printf (reasons, "%s; ", error);
    }
    if (r < 0) {
        g_autofree char *error = NULL, *made = run_dir_make (&error);

        r = made ? socket_make_in (server, made, mount, &error) : -EACCES;
        if (r < 0)
            g_string_append (reasons, error);
    }
    if (r < 0)
        *ret_error = g_strdup (reasons->str);
    else if (reasons->len)
        gf_log (NULL, GF_LOG_INFO, "the control socket is '%s': %s", server->listener->path,
                reasons->str);
    return r;
}

/* After the unmount, the next mount may have the same number, and its socket the same name. The
 * lock of the folder is also that of the folder for users. */
static void
files_remove (struct control_server *server)
{
    g_autofree char *error = NULL, *link = control_log_link (server->listener->path);
    const int dir = control_open_dir (server->listener->path, &error);

    if (dir < 0)
        return;
    users_free (g_steal_pointer (&server->users));
    if (listener_has_file (server->listener)) {
        unlink (server->listener->path);
        unlink (link);
    }
    close (dir);
}

static int
socket_serve (struct control_server *server, const char *mountpoint, char **ret_error)
{
    g_autofree char *mountinfo = NULL;

    if (!g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL)
        || !mount_find (mountinfo, mountpoint, &server->mount)) {
        *ret_error = g_strdup ("the mount is not in /proc/self/mountinfo");
        return -ENOENT;
    }
    return socket_make (server, &server->mount, ret_error);
}

struct control_server *
control_serve (struct graph *graph, const char *mountpoint, const struct control_command *commands,
               bool (*is_mounted) (void *data), void *data, char **ret_error)
{
    struct control_server *server = g_new0 (struct control_server, 1);

    server->graph = graph;
    server->commands = commands;
    server->is_mounted = is_mounted;
    server->data = data;
    server->listener = listener_new (&server_rules, server);
    if (socket_serve (server, mountpoint, ret_error) == 0) {
        listener_go_on (server->listener);
        return server;
    }
    control_stop (server); /* nobody waits for its end yet */
    return NULL;
}

/* Makes or removes the socket for users, under the lock of the folder. */
static void
users_update (struct control_server *server)
{
    g_autofree char *error = NULL;
    const int dir = control_open_dir (server->listener->path, &error);

    if (dir >= 0)
        server_update_users (server);
    else
        gf_log (NULL, GF_LOG_WARNING, "control: the socket for users is unchanged: %s", error);
    if (dir >= 0)
        close (dir);
}

void
control_set_graph (struct control_server *server, struct graph *graph)
{
    server->graph = graph;
    if (users_are_wanted (server) != (server->users != NULL))
        users_update (server);
}

/* The connection no longer closes the socket. */
static void
ending_add (struct control_ending **ending, struct connection *connection)
{
    if (!*ending) {
        *ending = g_new (struct control_ending, 1);
        (*ending)->fds = g_array_new (FALSE, FALSE, sizeof (int));
    }
    g_array_append_val ((*ending)->fds, connection->fd);
    connection->fd = -1;
}

/* Takes in the callers of CONTROL_AWAIT_END that this thread has not come to yet: a caller sends
 * its request, and the unmount that it then does may be noticed first. */
static void
server_take_last (struct control_server *server)
{
    server->stopping = true;
    listener_take_last (server->listener, AWAITING_MAX);
}

struct control_ending *
control_stop (struct control_server *server)
{
    struct control_ending *ending = NULL;

    if (!server)
        return NULL;
    server_take_last (server);
    while (server->awaiting) {
        ending_add (&ending, server->awaiting->data);
        connection_end (server->awaiting->data);
    }
    if (server->listener->file.st_ino)
        files_remove (server);
    users_free (server->users);
    listener_free (server->listener);
    mount_clear (&server->mount);
    g_free (server);
    return ending;
}

void
control_ended (struct control_ending *ending, bool complete)
{
    g_autofree char *collected = ending ? log_collected () : NULL;
    g_autoptr (GString) text = g_string_new (collected);
    g_autoptr (GBytes) bytes = control_pack_answer (complete ? 0 : -EIO, text);

    if (!ending)
        return;
    for (guint i = 0; i < ending->fds->len; i++) {
        const int fd = g_array_index (ending->fds, int, i);

        if (send (fd, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes),
                  MSG_NOSIGNAL | MSG_DONTWAIT)
            < 0)
            gf_log (NULL, GF_LOG_DEBUG, "control: a caller does not wait for the end: %s",
                    g_strerror (errno));
        close (fd);
    }
    g_array_unref (ending->fds);
    g_free (ending);
}
