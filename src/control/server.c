/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The daemon's end of the socket. It runs on the main thread, from its main context, and never
 * waits. A client that is slow to send its request is refused, and one that takes nothing of its
 * answer for a while is disconnected.
 */
#include "control/control.h"
#include "core/base/rundir.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECTIONS_MAX 8
#define AWAITING_MAX 64     /* callers of CONTROL_AWAIT_END */
#define ELSEWHERE_SECONDS 2 /* from an unmount until the file system counts as mounted elsewhere */
#define PATIENCE 5 /* seconds to send a request */
#define PIECE 65536

struct control_server {
    struct graph *graph;
    const struct control_command *commands;
    bool (*is_mounted) (void *data);
    void *data;
    char *path;
    struct stat file; /* of the socket; no inode: not made */
    int fd;
    guint watch;  /* source of fd; 0 while no more clients are accepted */
    guint pause;  /* source that retries after a lack of descriptors; 0: none */
    GList *connections; /* struct connection, at most CONNECTIONS_MAX while clients are accepted */
    GList *awaiting;    /* struct connection, those that await the end; at most AWAITING_MAX */
    bool stopping;      /* no command is run any more */
};

/* The sockets of callers of CONTROL_AWAIT_END. */
struct control_ending {
    GArray *fds;
};

struct connection {
    struct control_server *server;
    int fd;
    struct xlator_asked asker; /* the client, without input and groups */
    guint watch, timer;
    GByteArray *in;
    GBytes *out; /* NULL until there is an answer */
    size_t sent;
    bool awaits_end; /* it is in server->awaiting, and gets its answer from control_ended */
};

static void server_listen (struct control_server *server);

/* --- one connection --- */

static GList **
connection_list (const struct connection *connection)
{
    struct control_server *server = connection->server;

    return connection->awaits_end ? &server->awaiting : &server->connections;
}

static void
connection_set_awaits_end (struct connection *connection, bool awaits)
{
    GList **list = connection_list (connection);

    *list = g_list_remove (*list, connection);
    connection->awaits_end = awaits;
    list = connection_list (connection);
    *list = g_list_prepend (*list, connection);
}

static void
connection_end (struct connection *connection)
{
    GList **list = connection_list (connection);

    *list = g_list_remove (*list, connection);
    g_source_remove (connection->watch);
    if (connection->timer)
        g_source_remove (connection->timer);
    if (connection->fd >= 0)
        close (connection->fd);
    g_byte_array_unref (connection->in);
    g_bytes_unref (connection->out);
    g_free (connection);
}

static void connection_answer (struct connection *connection, int status, const GString *text);

static gboolean
connection_late (gpointer data)
{
    struct connection *connection = data;
    struct control_server *server = connection->server;

    if (!connection->out) {
        g_autoptr (GString) text = g_string_new (NULL);

        g_string_printf (text, "the request did not arrive as a whole within %d seconds", PATIENCE);
        connection_answer (connection, -ETIMEDOUT, text);
        return G_SOURCE_CONTINUE; /* the source was replaced */
    }
    gf_log (NULL, GF_LOG_DEBUG, "control: a client took nothing of its answer for %d seconds and "
            "was dropped", CONTROL_TAKE_SECONDS);
    connection_end (connection);
    server_listen (server);
    return G_SOURCE_CONTINUE; /* the source was removed with the connection */
}

/* From now on the client has CONTROL_TAKE_SECONDS to take more of its answer. */
static void
connection_wait (struct connection *connection)
{
    if (connection->timer)
        g_source_remove (connection->timer);
    connection->timer = g_timeout_add_seconds (CONTROL_TAKE_SECONDS, connection_late, connection);
}

static gboolean
connection_write (gint fd, GIOCondition condition, gpointer data)
{
    struct connection *connection = data;
    struct control_server *server = connection->server;
    gsize size;
    const char *bytes = g_bytes_get_data (connection->out, &size);
    const ssize_t n = send (fd, bytes + connection->sent, size - connection->sent,
                            MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return G_SOURCE_CONTINUE;
    if (n >= 0)
        connection->sent += n;
    if (n >= 0 && connection->sent < size) {
        connection_wait (connection);
        return G_SOURCE_CONTINUE;
    }
    connection_end (connection);
    server_listen (server);
    return G_SOURCE_CONTINUE;
}

static void
connection_answer (struct connection *connection, int status, const GString *text)
{
    connection->out = control_pack_answer (status, text);
    g_source_remove (connection->watch);
    connection->watch = g_unix_fd_add (connection->fd, G_IO_OUT, connection_write, connection);
    connection_wait (connection);
}

/* --- a caller that awaits the end --- */

/* The first caller that waits starts the collection of log lines; all callers get the same text. A
 * caller that leaves before the end no longer counts. */
static void
connection_await_end (struct connection *connection)
{
    struct control_server *server = connection->server;

    if (g_list_length (server->awaiting) >= AWAITING_MAX) {
        g_autoptr (GString) text = g_string_new (NULL);

        g_string_printf (text, "%d callers wait for the end of this daemon already", AWAITING_MAX);
        connection_answer (connection, -EAGAIN, text);
        return;
    }
    if (!server->awaiting)
        log_collect (true);
    g_source_remove (connection->timer);
    connection->timer = 0;
    connection_set_awaits_end (connection, true);
    server_listen (server);
}

static gboolean
connection_look_elsewhere (gpointer data)
{
    struct connection *connection = data;
    const struct control_server *server = connection->server;
    g_autoptr (GString) nothing = g_string_new (NULL);

    connection->timer = 0;
    if (server->is_mounted (server->data)) {
        connection_set_awaits_end (connection, false);
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

/* --- requests --- */

static void
connection_serve (struct connection *connection, const struct control_request *request)
{
    const struct control_server *server = connection->server;
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

/* Handles the bytes received so far. */
static void
connection_look (struct connection *connection)
{
    struct control_request request = { 0 };
    g_autofree char *error = NULL;
    int r = control_parse (connection->in->data, connection->in->len, &request, &error);

    if (r == -EAGAIN)
        return;
    if (r == 0) {
        connection_serve (connection, &request);
    } else {
        g_autoptr (GString) text = g_string_new (error);
        connection_answer (connection, r, text);
    }
    control_request_clear (&request);
}

static gboolean
connection_read (gint fd, GIOCondition condition, gpointer data)
{
    struct connection *connection = data;
    struct control_server *server = connection->server;
    guint8 piece[PIECE];
    const ssize_t n = recv (fd, piece, sizeof piece, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return G_SOURCE_CONTINUE;
    if (n == 0 && connection->awaits_end && !(condition & G_IO_HUP)) {
        connection_unmounted (connection);
        return G_SOURCE_CONTINUE; /* the source was replaced */
    }
    if (n <= 0 || connection->awaits_end) {
        connection_end (connection);
        server_listen (server);
        return G_SOURCE_CONTINUE;
    }
    g_byte_array_append (connection->in, piece, n);
    connection_look (connection);
    return G_SOURCE_CONTINUE;
}

/* Returns whether the client may ask, and who it is. */
static bool
may_ask (int fd, struct xlator_asked *ret_asked)
{
    struct ucred who = { .uid = (uid_t) -1 };
    socklen_t size = sizeof who;
    const bool known = getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
    *ret_asked = (struct xlator_asked){ .uid = who.uid, .gid = who.gid, .pid = who.pid };
    return known && (who.uid == 0 || who.uid == geteuid ());
}

static void
connection_begin (struct control_server *server, int fd)
{
    struct connection *connection = g_new0 (struct connection, 1);

    connection->server = server;
    connection->fd = fd;
    connection->in = g_byte_array_new ();
    connection->watch = g_unix_fd_add (fd, G_IO_IN, connection_read, connection);
    connection->timer = g_timeout_add_seconds (PATIENCE, connection_late, connection);
    server->connections = g_list_prepend (server->connections, connection);
    if (!may_ask (fd, &connection->asker)) {
        g_autoptr (GString) text = g_string_new (NULL);

        g_string_printf (text, "not permitted: only root and user %u may talk to this daemon",
                         geteuid ());
        connection_answer (connection, -EPERM, text);
    }
}

/* --- all connections --- */

static gboolean
server_resume (gpointer data)
{
    struct control_server *server = data;

    server->pause = 0;
    server_listen (server);
    return G_SOURCE_REMOVE;
}

/* Further clients wait in the kernel's queue. If descriptors are short, as in a busy mount, the
 * next try is a second later: the queue would wake the main thread at once. */
static gboolean
server_accept (gint listening, GIOCondition condition, gpointer data)
{
    struct control_server *server = data;
    const int fd = accept4 (listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0)
        connection_begin (server, fd);
    else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        server->pause = g_timeout_add_seconds (1, server_resume, server);
    if (!server->pause && g_list_length (server->connections) < CONNECTIONS_MAX)
        return G_SOURCE_CONTINUE;
    server->watch = 0;
    return G_SOURCE_REMOVE;
}

/* Accepts clients if there is room. */
static void
server_listen (struct control_server *server)
{
    if (!server->watch && !server->pause && g_list_length (server->connections) < CONNECTIONS_MAX)
        server->watch = g_unix_fd_add (server->fd, G_IO_IN, server_accept, server);
}

/* --- the socket's file --- */

/* An existing socket is a remainder of a daemon that was killed: the number is this mount's. */
static int
socket_bind (struct control_server *server, char **ret_error)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (strlen (server->path) >= sizeof address.sun_path) {
        *ret_error = g_strdup_printf ("'%s' is too long for the name of a socket", server->path);
        return -ENAMETOOLONG;
    }
    strcpy (address.sun_path, server->path);
    unlink (server->path);
    server->fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->fd >= 0 && fchmod (server->fd, 0600) == 0
        && bind (server->fd, (struct sockaddr *) &address, sizeof address) == 0
        && listen (server->fd, CONNECTIONS_MAX) == 0 && lstat (server->path, &server->file) == 0)
        return 0;
    *ret_error = g_strdup_printf ("'%s': %s", server->path, g_strerror (errno));
    if (server->fd >= 0)
        close (server->fd);
    server->fd = -1;
    return -EIO;
}

/* A failure is no error: it costs a hint in a message. A log that is not a file has no name. */
static void
log_link_make (const struct control_server *server)
{
    g_autofree char *link = control_log_link (server->path), *log = log_path ();

    unlink (link);
    if (log && symlink (log, link) < 0)
        gf_log (NULL, GF_LOG_DEBUG, "control: '%s': %s", link, g_strerror (errno));
}

static int
socket_make_in (struct control_server *server, const char *dir, const struct mount *mount,
                char **ret_error)
{
    int fd, r;

    g_free (server->path);
    server->path = control_path (dir, mount);
    fd = control_open_dir (server->path, ret_error);
    r = fd < 0 ? fd : socket_bind (server, ret_error);
    if (r == 0)
        log_link_make (server);
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
        gf_log (NULL, GF_LOG_INFO, "the control socket is '%s': %s", server->path, reasons->str);
    return r;
}

static void
files_remove (const struct control_server *server)
{
    g_autofree char *link = control_log_link (server->path);

    unlink (server->path);
    unlink (link);
}

/* After the unmount, the next mount may have the same number, and its socket the same name; a file
 * system may give that the same inode number. */
static void
socket_remove (const struct control_server *server)
{
    g_autofree char *error = NULL;
    const int dir = control_open_dir (server->path, &error);
    struct stat st;

    if (dir < 0)
        return;
    if (lstat (server->path, &st) == 0 && st.st_ino == server->file.st_ino
        && st.st_ctim.tv_sec == server->file.st_ctim.tv_sec
        && st.st_ctim.tv_nsec == server->file.st_ctim.tv_nsec)
        files_remove (server);
    close (dir);
}

static int
socket_serve (struct control_server *server, const char *mountpoint, char **ret_error)
{
    g_autofree char *mountinfo = NULL;
    struct mount mount;
    int r;

    if (!g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL)
        || !mount_find (mountinfo, mountpoint, &mount)) {
        *ret_error = g_strdup ("the mount is not in /proc/self/mountinfo");
        return -ENOENT;
    }
    r = socket_make (server, &mount, ret_error);
    mount_clear (&mount);
    return r;
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
    server->fd = -1;
    if (socket_serve (server, mountpoint, ret_error) == 0) {
        server_listen (server);
        return server;
    }
    control_stop (server); /* nobody waits for its end yet */
    return NULL;
}

void
control_set_graph (struct control_server *server, struct graph *graph)
{
    server->graph = graph;
}

/* Sends the rest of an answer, as far as the kernel takes it at once: it may be for the command
 * that ended the daemon. */
static void
connection_flush (const struct connection *connection)
{
    gsize size;
    const char *bytes = connection->out ? g_bytes_get_data (connection->out, &size) : NULL;

    if (bytes
        && send (connection->fd, bytes + connection->sent, size - connection->sent,
                 MSG_NOSIGNAL | MSG_DONTWAIT)
               < 0)
        gf_log (NULL, GF_LOG_DEBUG, "control: an answer was dropped at the end: %s",
                g_strerror (errno));
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
    GList *next;
    int fd;

    server->stopping = true;
    for (int i = 0; i < AWAITING_MAX
         && (fd = accept4 (server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0; i++)
        connection_begin (server, fd);
    for (GList *l = server->connections; l; l = next) {
        struct connection *connection = l->data;

        next = l->next;
        if (!connection->out)
            connection_read (connection->fd, G_IO_IN, connection);
    }
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
    while (server->connections) {
        connection_flush (server->connections->data);
        connection_end (server->connections->data);
    }
    if (server->watch)
        g_source_remove (server->watch);
    if (server->pause)
        g_source_remove (server->pause);
    if (server->file.st_ino)
        socket_remove (server);
    if (server->fd >= 0)
        close (server->fd);
    g_free (server->path);
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
