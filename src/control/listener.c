/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "control/listener.h"
#include "control/server-internal.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PIECE 65536
#define GROUPS_MAX 65536 /* NGROUPS_MAX of the kernel */
#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

/* --- one connection --------------------------------------------------------------------------- */

static void
connection_list_in (struct connection *connection, GList **list)
{
    *connection->list = g_list_remove (*connection->list, connection);
    connection->list = list;
    *list = g_list_prepend (*list, connection);
}

void
connection_end (struct connection *connection)
{
    *connection->list = g_list_remove (*connection->list, connection);
    g_source_remove (connection->watch);
    if (connection->timer)
        g_source_remove (connection->timer);
    if (connection->fd >= 0)
        close (connection->fd);
    g_byte_array_unref (connection->in);
    g_bytes_unref (connection->out);
    g_free (connection->groups);
    g_free (connection);
}

static void
connection_end_and_go_on (struct connection *connection)
{
    struct listener *listener = connection->listener;

    connection_end (connection);
    listener_go_on (listener);
}

static gboolean
connection_late (gpointer data)
{
    struct connection *connection = data;

    if (!connection->out) {
        g_autoptr (GString) text = g_string_new (NULL);

        g_string_printf (text, "the request did not arrive as a whole within %u seconds",
                         connection->listener->rules->patience);
        connection_answer (connection, -ETIMEDOUT, text);
        return G_SOURCE_CONTINUE; /* the source was replaced */
    }
    gf_log (NULL, GF_LOG_DEBUG, "control: a client took nothing of its answer for %d seconds and "
            "was dropped", CONTROL_TAKE_SECONDS);
    connection_end_and_go_on (connection);
    return G_SOURCE_CONTINUE; /* the source was removed with the connection */
}

static void
connection_timer (struct connection *connection, unsigned seconds)
{
    if (connection->timer)
        g_source_remove (connection->timer);
    connection->timer = g_timeout_add_seconds_full (connection->listener->rules->priority, seconds,
                                                    connection_late, connection, NULL);
}

static void
connection_watch (struct connection *connection, GIOCondition condition, GUnixFDSourceFunc on_ready)
{
    if (connection->watch)
        g_source_remove (connection->watch);
    connection->watch = g_unix_fd_add_full (connection->listener->rules->priority, connection->fd,
                                            condition, on_ready, connection, NULL);
}

static gboolean
connection_write (gint fd, GIOCondition condition, gpointer data)
{
    struct connection *connection = data;
    gsize size;
    const char *bytes = g_bytes_get_data (connection->out, &size);
    const ssize_t n = send (fd, bytes + connection->sent, size - connection->sent,
                            MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return G_SOURCE_CONTINUE;
    if (n >= 0)
        connection->sent += n;
    if (n >= 0 && connection->sent < size) {
        if (!connection->listener->rules->for_users)
            connection_timer (connection, CONTROL_TAKE_SECONDS);
        return G_SOURCE_CONTINUE;
    }
    connection_end_and_go_on (connection);
    return G_SOURCE_CONTINUE; /* the source was removed with the connection */
}

void
connection_answer (struct connection *connection, int status, const GString *text)
{
    const gsize size = MIN (text->len, connection->listener->rules->answer_max);
    g_autoptr (GString) cut = g_string_new_len (text->str, (gssize) size);

    connection->out = control_pack_answer (status, cut);
    connection_watch (connection, G_IO_OUT, connection_write);
    connection_timer (connection, CONTROL_TAKE_SECONDS);
}

void
connection_await (struct connection *connection, GList **list,
                  void (*closes) (struct connection *connection))
{
    if (connection->timer)
        g_source_remove (connection->timer);
    connection->timer = 0;
    connection->closes = closes;
    connection_list_in (connection, list);
    listener_go_on (connection->listener);
}

/* --- requests --------------------------------------------------------------------------------- */

/* Handles the bytes received so far. */
static void
connection_look (struct connection *connection)
{
    const struct listener_rules *rules = connection->listener->rules;
    struct control_request request = { 0 };
    g_autofree char *error = NULL;
    int r = control_parse (connection->in->data, connection->in->len, &request, &error);

    if (connection->in->len > rules->request_max) {
        error = error ? error : g_strdup_printf ("a request has at most %zu bytes",
                                                 rules->request_max);
        r = -EMSGSIZE;
    }
    if (r == -EAGAIN)
        return;
    if (r == 0) {
        rules->serve (connection, &request);
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
    guint8 piece[PIECE];
    const ssize_t n = recv (fd, piece, sizeof piece, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return G_SOURCE_CONTINUE;
    if (n == 0 && connection->closes && !(condition & G_IO_HUP)) {
        connection->closes (connection);
        return G_SOURCE_CONTINUE; /* the source was replaced */
    }
    if (n <= 0 || connection->closes) {
        connection_end_and_go_on (connection);
        return G_SOURCE_CONTINUE; /* the source was removed with the connection */
    }
    g_byte_array_append (connection->in, piece, n);
    connection_look (connection);
    return G_SOURCE_CONTINUE;
}

/* Reads the supplementary groups of the client, as they were when it connected. */
static bool
groups_read (struct connection *connection)
{
    socklen_t size = 0;
    gid_t *groups;

    if (getsockopt (connection->fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0)
        return true; /* it has none */
    if (errno != ERANGE || size > GROUPS_MAX * sizeof *groups)
        return false;
    connection->groups = groups = g_malloc (size);
    if (getsockopt (connection->fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
        return false;
    connection->asker.groups = groups;
    connection->asker.ngroups = (unsigned) (size / sizeof *groups);
    return true;
}

/* Reads the identity of the client. Returns false if the kernel does not report it. */
static bool
asker_read (struct connection *connection)
{
    struct ucred who;
    socklen_t size = sizeof who;

    if (getsockopt (connection->fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
        return false;
    connection->asker = (struct xlator_asked){ .uid = who.uid, .gid = who.gid, .pid = who.pid,
                                               .read_only =
                                                   connection->listener->server->mount.read_only };
    return groups_read (connection);
}

static bool
user_is_connected (const struct connection *connection)
{
    for (const GList *at = connection->listener->connections; at; at = at->next) {
        const struct connection *other = at->data;

        if (other != connection && other->asker.uid == connection->asker.uid)
            return true;
    }
    return false;
}

/* Answers a client that may not ask. */
static void
connection_check (struct connection *connection)
{
    const struct listener_rules *rules = connection->listener->rules;
    g_autoptr (GString) why = g_string_new (NULL);

    if (!asker_read (connection)) {
        g_string_assign (why, "the kernel does not report who asks");
        connection_answer (connection, -EPERM, why);
    } else if (!rules->admits (&connection->asker, why)) {
        connection_answer (connection, -EPERM, why);
    } else if (rules->for_users && user_is_connected (connection)) {
        g_string_assign (why, "another command of this user is being answered");
        connection_answer (connection, CONTROL_USER_IS_BUSY, why);
    }
}

static void
connection_begin (struct listener *listener, int fd)
{
    struct connection *connection = g_new0 (struct connection, 1);

    connection->listener = listener;
    connection->fd = fd;
    connection->in = g_byte_array_new ();
    connection->list = &listener->connections;
    listener->connections = g_list_prepend (listener->connections, connection);
    connection_watch (connection, G_IO_IN, connection_read);
    connection_timer (connection, listener->rules->patience);
    connection_check (connection);
}

/* --- all connections -------------------------------------------------------------------------- */

static bool
listener_has_room (const struct listener *listener)
{
    return g_list_length (listener->connections) < listener->rules->connections_max;
}

static gboolean
listener_resume (gpointer data)
{
    struct listener *listener = data;

    listener->pause = 0;
    listener_go_on (listener);
    return G_SOURCE_REMOVE;
}

/* Further clients wait in the kernel's queue. If descriptors are short, as in a busy mount, the
 * next try is a second later: the queue would wake the main thread at once. */
static gboolean
listener_accept (gint listening, GIOCondition condition, gpointer data)
{
    struct listener *listener = data;
    const int fd = accept4 (listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0)
        connection_begin (listener, fd);
    else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        listener->pause = g_timeout_add_seconds (1, listener_resume, listener);
    if (!listener->pause && listener_has_room (listener))
        return G_SOURCE_CONTINUE;
    listener->watch = 0;
    return G_SOURCE_REMOVE;
}

void
listener_go_on (struct listener *listener)
{
    if (listener->fd >= 0 && !listener->watch && !listener->pause && listener_has_room (listener))
        listener->watch = g_unix_fd_add_full (listener->rules->priority, listener->fd, G_IO_IN,
                                              listener_accept, listener, NULL);
}

void
listener_take_last (struct listener *listener, unsigned most)
{
    GList *next;
    int fd;

    for (unsigned i = 0; i < most
         && (fd = accept4 (listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0; i++)
        connection_begin (listener, fd);
    for (GList *l = listener->connections; l; l = next) {
        struct connection *connection = l->data;

        next = l->next;
        if (!connection->out)
            connection_read (connection->fd, G_IO_IN, connection);
    }
}

/* --- the socket ------------------------------------------------------------------------------- */

struct listener *
listener_new (const struct listener_rules *rules, struct control_server *server)
{
    struct listener *listener = g_new0 (struct listener, 1);

    listener->rules = rules;
    listener->server = server;
    listener->fd = -1;
    return listener;
}

/* The kernel takes the process's umask off the mode of a socket that bind makes, so chmod repeats
 * it. Nobody else makes names in the folder. */
int
listener_bind (struct listener *listener, const char *path, char **ret_error)
{
    const struct listener_rules *rules = listener->rules;
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    g_free (listener->path);
    listener->path = g_strdup (path);
    if (strlen (path) >= sizeof address.sun_path) {
        *ret_error = g_strdup_printf ("'%s' is too long for the name of a socket", path);
        return -ENAMETOOLONG;
    }
    strcpy (address.sun_path, path);
    unlink (path);
    listener->fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd >= 0 && fchmod (listener->fd, 0600) == 0
        && bind (listener->fd, (struct sockaddr *) &address, sizeof address) == 0
        && (rules->mode == 0600 || chmod (path, rules->mode) == 0)
        && listen (listener->fd, (int) rules->connections_max) == 0
        && lstat (path, &listener->file) == 0)
        return 0;
    *ret_error = g_strdup_printf ("'%s': %s", path, g_strerror (errno));
    if (listener->fd >= 0)
        close (listener->fd);
    listener->fd = -1;
    return -EIO;
}

/* A file system may give the next file the same inode number. */
bool
listener_has_file (const struct listener *listener)
{
    struct stat st;

    return listener->file.st_ino && lstat (listener->path, &st) == 0
        && st.st_ino == listener->file.st_ino
        && st.st_ctim.tv_sec == listener->file.st_ctim.tv_sec
        && st.st_ctim.tv_nsec == listener->file.st_ctim.tv_nsec;
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

void
listener_free (struct listener *listener)
{
    while (listener->connections) {
        connection_flush (listener->connections->data);
        connection_end (listener->connections->data);
    }
    if (listener->watch)
        g_source_remove (listener->watch);
    if (listener->pause)
        g_source_remove (listener->pause);
    if (listener->fd >= 0)
        close (listener->fd);
    g_free (listener->path);
    g_free (listener);
}
