/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What server.c and users.c share. */
#ifndef WINDLASS_CONTROL_SERVER_INTERNAL_H
#define WINDLASS_CONTROL_SERVER_INTERNAL_H

#include "control/listener.h"

struct control_server {
    struct graph *graph;
    const struct control_command *commands;
    bool (*is_mounted) (void *data);
    void *data;
    struct mount mount;        /* as it was when the server began */
    struct listener *listener; /* for root and the daemon's own user */
    struct listener *users;    /* for all users of the mount; NULL: no command is open to them */
    GList *awaiting;           /* of struct connection: callers that await the end, at most
                                * AWAITING_MAX */
    bool stopping;             /* no command is run any more */
};

/* Returns whether the socket for users should exist: others use the mount of root's daemon, and the
 * graph has an open command. */
bool users_are_wanted (const struct control_server *server);

/* Makes or removes the socket for users, as users_are_wanted says. The folder of server->listener
 * is locked, and that lock also holds for the folder of users: a lock on the folder of users itself
 * could be taken by any user who may open it. A failure is logged. */
void server_update_users (struct control_server *server);

/* Removes the socket, under the same lock. Takes NULL. */
void users_free (struct listener *users);

#endif
