/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The socket for users: an ordinary user gives commands to root's daemon. It exists only while the
 * mount is open to other users, and a translator of the graph has a command that is open.
 *
 *   /run/windlass.users             root's, mode 0711: nobody can list or lock it
 *   /run/windlass.users/0:55.sock   mode 0666
 *
 * A user gets open commands of translators, and the answers of jobs that such commands have begun,
 * and nothing else. The kernel tells who connected (SO_PEERCRED), so a program that passes its
 * connection on answers for what is asked with it.
 *
 * Limits, since any user may connect: one connection a user, a request of 64 KiB within a second,
 * an answer of 1 MiB that is taken within CONTROL_TAKE_SECONDS, 16 connections; and by
 * core/work/job.c a few jobs a user, and half of all jobs of commands. The sources have a low
 * priority, so signals and the commands of root come first, whatever users do.
 */
#include "control/server-internal.h"

#include "core/work/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OVERFLOW_ID 65534 /* stands for each user that a user namespace lacks */

static const struct xlator_command *
command_open (const xlator_t *xl, const char *name)
{
    const struct xlator_command *command = xl->api->commands;

    for (; command && command->name; command++)
        if (command->open && (!name || strcmp (command->name, name) == 0))
            return command;
    return NULL;
}

bool
users_are_wanted (const struct control_server *server)
{
    bool open = false;

    for (guint i = 0; i < server->graph->xlators->len; i++)
        open |= command_open (server->graph->xlators->pdata[i], NULL) != NULL;
    return open && geteuid () == 0 && server->mount.allow_other;
}

/* --- requests --------------------------------------------------------------------------------- */

/* Returns whether each user of the machine has a number in the daemon's user namespace. */
static bool
users_are_all_mapped (void)
{
    g_autofree char *map = NULL;
    unsigned long inside, outside, n;

    return g_file_get_contents ("/proc/self/uid_map", &map, NULL, NULL)
        && sscanf (map, "%lu %lu %lu", &inside, &outside, &n) == 3 && n == UINT32_MAX;
}

static bool
users_admit (const struct xlator_asked *asker, GString *ret_why)
{
    g_string_assign (ret_why, "not permitted: you have no number in the daemon's user namespace");
    return asker->uid != OVERFLOW_ID || users_are_all_mapped ();
}

/* Finds the only translator with the open command whose name or type is the target. What else there
 * is in the graph is not for users. */
static xlator_t *
users_find (struct graph *graph, const struct control_request *request)
{
    xlator_t *found = NULL;
    unsigned n = 0;

    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];

        if ((strcmp (xl->name, request->target) != 0 && strcmp (xl->type, request->target) != 0)
            || !command_open (xl, request->command))
            continue;
        found = xl;
        n++;
    }
    return n == 1 ? found : NULL;
}

static int
users_run (struct connection *connection, const struct control_request *request, GString *answer)
{
    xlator_t *xl = users_find (connection->listener->server->graph, request);
    struct xlator_asked asked = connection->asker;

    if (!xl) {
        g_string_assign (answer, "not permitted: for users this mount has no such command, or "
                                 "several volumes have it");
        return -EPERM;
    }
    asked.input = request->input;
    return command_open (xl, request->command)->run (xl, &asked, answer);
}

static void
users_serve (struct connection *connection, const struct control_request *request)
{
    const bool answers = !*request->target && strcmp (request->command, CONTROL_JOB_ANSWER) == 0;
    g_autoptr (GString) answer = g_string_new (NULL);
    const int r = answers ? control_job_answer (request->input, connection->asker.uid, answer)
                          : users_run (connection, request, answer);

    connection_answer (connection, r, answer);
}

/* --- the socket ------------------------------------------------------------------------------- */

static const struct listener_rules users_rules = {
    .mode = 0666,
    .connections_max = 16,
    .request_max = 64 << 10,
    .answer_max = CONTROL_PIECE + (64 << 10),
    .patience = 1,
    .priority = G_PRIORITY_LOW,
    .for_users = true,
    .admits = users_admit,
    .serve = users_serve,
};

/* The folder lies in a folder of root's, so nobody else can have made it or can change it. */
static int
users_folder_make (char **ret_error)
{
    struct stat st;
    int fd = mkdir (CONTROL_USERS_DIR, 0711) < 0 && errno != EEXIST
               ? -1
               : open (CONTROL_USERS_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = fd < 0 || fstat (fd, &st) < 0 ? -errno : st.st_uid != 0 ? -EPERM : 0;

    if (r == 0 && fchmod (fd, 0711) < 0)
        r = -errno;
    if (fd >= 0)
        close (fd);
    if (r < 0)
        *ret_error = g_strdup_printf ("the folder '" CONTROL_USERS_DIR "': %s", g_strerror (-r));
    return r;
}

void
server_update_users (struct control_server *server)
{
    g_autofree char *path = control_path (CONTROL_USERS_DIR, &server->mount), *error = NULL;

    users_free (g_steal_pointer (&server->users));
    if (!users_are_wanted (server)) {
        if (geteuid () == 0)
            unlink (path); /* of a daemon that was killed: the number is this mount's */
        return;
    }
    server->users = listener_new (&users_rules, server);
    if (users_folder_make (&error) < 0 || listener_bind (server->users, path, &error) < 0) {
        gf_log (NULL, GF_LOG_INFO, "users can't give this daemon commands: %s", error);
        users_free (g_steal_pointer (&server->users));
        return;
    }
    listener_go_on (server->users);
}

void
users_free (struct listener *users)
{
    if (users && listener_has_file (users))
        unlink (users->path);
    if (users)
        listener_free (users);
}
