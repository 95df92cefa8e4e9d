/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside the daemon's end of the control socket: a listening socket, and its connections. They run
 * on the main thread, from its main context, and never wait. A connection reads one request, and
 * sends one answer. A client that is slow to send its request is refused, and one that takes
 * nothing of its answer for a while is disconnected.
 */
#ifndef WINDLASS_CONTROL_LISTENER_H
#define WINDLASS_CONTROL_LISTENER_H

#include "control/control.h"

#include <sys/stat.h>

struct connection;

/* What a listener allows its clients; constant. */
struct listener_rules {
    mode_t mode;              /* of the socket's file */
    unsigned connections_max; /* connections at a time; others wait in the kernel's queue */
    size_t request_max;       /* bytes of a request, with the header */
    size_t answer_max;        /* bytes of the text of an answer */
    unsigned patience;        /* seconds to send a request */
    int priority;             /* of the sources in the main context */
    /* Whether this socket is for ordinary users: a user has one connection, and further ones are
     * refused; and CONTROL_TAKE_SECONDS are for the whole answer. */
    bool for_users;
    /* Returns whether a client may ask; if not, ret_why says why. */
    bool (*admits) (const struct xlator_asked *asker, GString *ret_why);
    /* Serves a request, lent for the call: ends with connection_answer, or connection_await. */
    void (*serve) (struct connection *connection, const struct control_request *request);
};

struct listener {
    const struct listener_rules *rules;
    struct control_server *server;
    char *path;         /* of the socket */
    struct stat file;   /* of the socket; st_ino is 0 if there is none */
    int fd;             /* -1: none */
    guint watch;        /* source of fd; 0 while no clients are accepted */
    guint pause;        /* source that retries after a lack of descriptors; 0: none */
    GList *connections; /* of struct connection, those that count against connections_max */
};

struct connection {
    struct listener *listener;
    struct xlator_asked asker; /* the client, without input */
    gid_t *groups;             /* of asker, owned */
    int fd;                    /* -1: somebody else closes it */
    guint watch, timer;        /* sources; timer is 0 if there is none */
    GByteArray *in;
    GBytes *out;               /* NULL until there is an answer */
    size_t sent;               /* bytes of out */
    GList **list;              /* list that has the connection */
    /* Called if the client closes its direction while its request waits; NULL: no request waits. */
    void (*closes) (struct connection *connection);
};

/* Returns a listener without a socket. */
struct listener *listener_new (const struct listener_rules *rules, struct control_server *server);

/* Makes the socket at path. The folder is locked, or nobody else makes names there. Replaces an
 * existing socket, which is a remainder of a daemon that was killed. Returns 0, or a negative errno
 * and *ret_error (freed with g_free). */
int listener_bind (struct listener *listener, const char *path, char **ret_error);

/* Accepts clients if there is room. */
void listener_go_on (struct listener *listener);

/* Returns whether the file at listener->path is still the socket of this listener. */
bool listener_has_file (const struct listener *listener);

/* Accepts and reads what clients have sent so far, at most `most` clients. */
void listener_take_last (struct listener *listener, unsigned most);

/* Sends what the kernel takes at once, ends all connections, and closes the socket. Does not remove
 * the file. */
void listener_free (struct listener *listener);

void connection_answer (struct connection *connection, int status, const GString *text);
void connection_end (struct connection *connection);

/* The request waits: the connection goes to another list, and has no timer any more. */
void connection_await (struct connection *connection, GList **list,
                       void (*closes) (struct connection *connection));

#endif
