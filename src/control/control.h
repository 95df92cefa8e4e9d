/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Talking to a daemon that runs: a unix stream socket for each mount, served by the daemon's main
 * thread, so that it answers also when every thread that serves the kernel is stuck. Neither side
 * ever looks at anything in the mount, which could hang: the socket is called after the device
 * number that /proc/self/mountinfo has for the mount.
 *
 *   root's daemon      /run/windlass/MAJOR:MINOR.sock
 *   a user's           $XDG_RUNTIME_DIR/windlass/..., without that variable /tmp/windlass-UID/...
 *
 * One request and one answer for each connection: protocol.c.
 *
 * Reasons:
 *
 * - A socket, not a file in the mount: what asks about a stuck mount must not hang. The client
 *   finds the device number in /proc/self/mountinfo, and walks to a mount point by readlink, which
 *   asks no file system about the mount point itself.
 * - The name is the device number, so that bind mounts and other names of a mount work, and two
 *   mounts on top of each other are two.
 * - The main thread serves it, with glib's main context in place of poll. Signals wake it through
 *   their pipe. GSocketService was left out: it starts threads, and what remains is accept and
 *   SO_PEERCRED.
 * - Both sides check which user the other one is. The folder is closed to others, and refused where
 *   another user could have made it. A process that makes or removes a socket locks the folder: the
 *   next mount may have the same number.
 * - Limits: 8 connections at once, others wait; a request of 1 MiB within 5 s; an answer of 16 MiB
 *   taken within 5 s. A command with a long answer, or one that would hold the main thread, goes in
 *   pieces: control_piece_where, control_piece_next, and cli_call_pieces at the other end.
 * - Reload compares options as texts: 1MB -> 1024KB is a change. A refused reload says which
 *   changes would have been taken over, and its last line is always "nothing was changed".
 */
#ifndef WINDLASS_CONTROL_CONTROL_H
#define WINDLASS_CONTROL_CONTROL_H

#include "graph/graph.h"

/* --- protocol.c: the bytes --- */

#define CONTROL_REQUEST_MAX (1 << 20) /* bytes, with the header */
#define CONTROL_NAME_MAX 255          /* bytes of a command, or a target */
#define CONTROL_ANSWER_MAX (16 << 20) /* bytes of text */

/* What is asked. */
struct control_request {
    char *command; /* printable ASCII without a blank */
    char *target;  /* a volume's name, or a type; "": the daemon itself. No control characters */
    GBytes *input; /* may be empty */
};

/* Reads a request, and changes nothing else. 0 and *ret_request, which control_request_clear frees;
 * -EAGAIN when these are the first bytes of one; or -EINVAL, -EPROTO for another version, and
 * *ret_error (g_free it). */
int control_parse (const void *bytes, size_t size, struct control_request *ret_request,
                   char **ret_error);
void control_request_clear (struct control_request *request);

/* The bytes of a request. NULL when it is too large, or a name is no good: *ret_error (g_free
 * it). */
GBytes *control_pack (const struct control_request *request, char **ret_error);

/* Reads an answer. 0, the status (0, or a negative errno) and the text appended to ret_text; else
 * as control_parse. */
int control_parse_answer (const void *bytes, size_t size, int *ret_status, GString *ret_text,
                          char **ret_error);

/* The bytes of an answer; text beyond CONTROL_ANSWER_MAX is cut off. */
GBytes *control_pack_answer (int status, const GString *text);

/* --- mounts.c: what is mounted where --- */

/* A line of mountinfo. */
struct mount {
    unsigned major, minor;
    char *type;      /* "fuse.windlass" */
    char *source;
    int64_t user_id; /* whose daemon it is; -1: not a fuse mount */
};

/* Finds the topmost mount on path in the text of a mountinfo file. false when nothing is mounted
 * there. */
bool mount_find (const char *mountinfo, const char *path, struct mount *ret_mount);
void mount_clear (struct mount *mount);

/* The real path of a mount point, without looking at anything in a Windlass mount. NULL, and
 * *ret_error (g_free it). */
char *mount_path (const char *mountinfo, const char *path, char **ret_error);

/* The mount point of the Windlass mount that a path leads into, without looking at anything in
 * that, and what is left of the path there. g_free both. NULL, and *ret_error (g_free it), when
 * there is none. */
char *mount_around (const char *path, char **ret_rest, char **ret_error);

/* --- path.c: where sockets are --- */

/* Where the socket of a mount may be, the likeliest first. For the daemon itself it is the first.
 * user_id: whose daemon. g_ptr_array_unref it. */
GPtrArray *control_paths (const struct mount *mount);

/* Opens the folder of a socket, made if need be, and locks it (flock) until the descriptor is
 * closed. One that isn't for its owner alone is refused: somebody else could have made it. A
 * descriptor, or a negative errno and *ret_error (NULL before). */
int control_open_dir (const char *path, char **ret_error);

/* --- server.c: the daemon's side --- */

/* What the daemon itself can be told. */
struct control_command {
    const char *name;
    const char *about; /* one sentence, without a full stop */
    /* As of struct xlator_command. data: of control_serve. */
    int (*run) (void *data, GBytes *input, GString *answer);
};

struct control_server;

/* Serves the mount, from the default main context, until control_stop. commands: the last has no
 * name. NULL, and *ret_error says why (g_free it). */
struct control_server *
control_serve (struct graph *graph, const char *mountpoint, const struct control_command *commands,
               void *data, char **ret_error);
void control_stop (struct control_server *server); /* takes NULL; removes the socket */

/* --- dispatch.c: who is meant --- */

/* Runs a command of the daemon or of a translator; 0, or a negative errno. answer: text for the
 * user, in both cases. */
int control_dispatch (struct graph *graph, const struct control_command *commands, void *data,
                      const struct control_request *request, GString *answer);

/* --- client.c: who asks --- */

/* Asks the daemon of a mount point. target NULL: the daemon itself; input NULL: none. 0 when it did
 * what it was told, and its answer in answer; else a negative errno and *ret_error, which says all
 * there is to say (g_free it). Waits at most half a minute for each piece of the answer. */
int control_call (const char *mountpoint, const char *target, const char *command, GBytes *input,
                  GString *answer, char **ret_error);

/* --- pieces.c: answers longer than CONTROL_ANSWER_MAX, or slow for the main thread --- */

/* About so many bytes are a good piece: a millisecond's work. */
#define CONTROL_PIECE (1 << 20)

/* For a command that answers in pieces: where this one begins, "" for the first, else what
 * control_piece_next said; hostile, as all input. ret_rest: what was asked for, the same each time
 * (g_bytes_unref it); may be NULL. g_free it. */
char *control_piece_where (GBytes *input, GBytes **ret_rest);

/* The command's last step, with the piece in answer: where the next one begins (one line, not
 * empty), or NULL when this is the last. Nothing is kept in between, so what changes meanwhile is
 * the command's own matter. */
void control_piece_next (GString *answer, const char *next);

/* Takes a piece, without the line that says where the next one is. 0, or a negative errno and
 * *ret_error (g_free it) to ask no more. */
typedef int control_piece_fn (const char *bytes, size_t size, void *data, char **ret_error);

/* As control_call, for such a command: asks until it has all. */
int control_call_pieces (const char *mountpoint, const char *target, const char *command,
                         GBytes *input, control_piece_fn *take, void *data, char **ret_error);

#endif
