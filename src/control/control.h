/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Commands to a running daemon: a unix stream socket for each mount, served by the daemon's main
 * thread, so that it answers even when every thread that serves the kernel is stuck. Neither side
 * accesses a file in the mount, which could hang: the socket's name is the device number that
 * /proc/self/mountinfo has for the mount.
 *
 *   root's daemon      /run/windlass/MAJOR:MINOR.sock
 *   a user's           $XDG_RUNTIME_DIR/windlass/..., or as core/base/rundir.h has it
 *
 * One request and one answer for each connection: protocol.c.
 *
 * Reasons:
 *
 * - A socket, not a file in the mount: a client that asks about a stuck mount must not hang. The
 *   client finds the device number in /proc/self/mountinfo, and walks to a mount point by readlink,
 *   which asks no file system about the mount point itself.
 * - The name is the device number, so that bind mounts and other names of a mount work, and two
 *   mounts on top of each other are two.
 * - The main thread serves it, with glib's main context in place of poll. Signals wake it through
 *   their pipe. GSocketService is not used: it starts threads, and the remainder is accept and
 *   SO_PEERCRED.
 * - Both sides check which user the other one is. The folder is closed to others, and refused if
 *   another user could have made it. A process that makes or removes a socket locks the folder: the
 *   next mount may have the same number.
 * - Ordinary users give root's daemon those commands of translators that are open to them, through
 *   a second socket: users.c.
 * - Limits for root and the daemon's user: 8 connections at once, others wait; 64 callers that
 *   await the end, others are refused; a request of 1 MiB within 5 s; an answer of 16 MiB, of which
 *   the client takes something every CONTROL_TAKE_SECONDS. A command with a long answer goes in
 *   pieces: control_piece_where, control_piece_next, and cli_call_pieces at the other end. A
 *   command that would hold the main thread begins a job (core/work/job.h), whose answer goes in
 *   pieces, too: control_job_answer and control_call_job.
 * - Reload compares options as texts: 1MB -> 1024KB is a change. A refused reload says which
 *   changes would have been taken over, and its last line is always "nothing was changed".
 */
#ifndef WINDLASS_CONTROL_CONTROL_H
#define WINDLASS_CONTROL_CONTROL_H

#include "graph/graph.h"

#include <errno.h>
#include <sys/types.h>

/* --- protocol.c: the bytes --- */

#define CONTROL_REQUEST_MAX (1 << 20) /* bytes, with the header */
#define CONTROL_NAME_MAX 255          /* bytes of a command, or a target */
#define CONTROL_ANSWER_MAX (16 << 20) /* bytes of text */
#define CONTROL_TAKE_SECONDS 30       /* seconds that a client may leave its answer unread */
#define CONTROL_USER_IS_BUSY (-EUSERS) /* status: another command of this user is being answered */
#define CONTROL_USERS_DIR "/run/windlass.users" /* folder of the sockets for users */
#define CONTROL_JOB_ANSWER "job-answer"         /* command of the daemon: control_job_answer */

/* A request. */
struct control_request {
    char *command; /* printable ASCII without a blank */
    char *target;  /* a volume's name, or a type; "": the daemon itself. No control characters */
    GBytes *input; /* may be empty */
};

/* Parses a request; has no other effect. Returns 0 and *ret_request, which control_request_clear
 * frees; -EAGAIN if the bytes are an incomplete request; or -EINVAL, -EPROTO for another version,
 * and *ret_error (freed with g_free). */
int control_parse (const void *bytes, size_t size, struct control_request *ret_request,
                   char **ret_error);
void control_request_clear (struct control_request *request);

/* Returns the bytes of a request. NULL if it is too large or a name is invalid, with *ret_error
 * (freed with g_free). */
GBytes *control_pack (const struct control_request *request, char **ret_error);

/* Parses an answer. Returns 0, the status (0, or a negative errno) and the text appended to
 * ret_text; else as control_parse. */
int control_parse_answer (const void *bytes, size_t size, int *ret_status, GString *ret_text,
                          char **ret_error);

/* Returns the bytes of an answer; text beyond CONTROL_ANSWER_MAX is cut off. */
GBytes *control_pack_answer (int status, const GString *text);

/* --- mounts.c: mounted file systems --- */

/* A line of mountinfo. */
struct mount {
    unsigned id, parent;   /* of the mount, and of the one that it is mounted on */
    unsigned major, minor; /* of the file system: several mounts may show it */
    char *path;       /* the mount point */
    char *type;       /* "fuse.windlass" */
    char *source;
    int64_t user_id;  /* the user of the daemon; -1: not a fuse mount */
    int64_t group_id; /* the daemon's group, or -1 */
    bool allow_other; /* other users may use it */
    bool read_only;   /* since it was mounted: -o ro */
    bool shared;      /* mounts on it appear in other mount namespaces too, and it itself did */
};

/* Finds the topmost mount on path in the text of a mountinfo file. Returns false if nothing is
 * mounted there. */
bool mount_find (const char *mountinfo, const char *path, struct mount *ret_mount);
void mount_clear (struct mount *mount);

/* All mounts, in the order of mountinfo: struct mount. Freed with g_ptr_array_unref. */
GPtrArray *mounts_all (const char *mountinfo);
/* The same of this process; empty if /proc/self/mountinfo can't be read. */
GPtrArray *mounts_now (void);

/* Returns the mount of mounts_all with a number, or NULL. */
const struct mount *mount_with_id (const GPtrArray *all, unsigned id);

bool mount_is_windlass (const struct mount *mount);
/* Returns whether both show the same file system. */
bool mount_is_same (const struct mount *one, const struct mount *other);
/* Returns whether no path leads to a mount of mounts_all, since another one is on top of it, or on
 * a folder above it. */
bool mount_is_covered (const GPtrArray *all, const struct mount *mount);

/* Returns the real path of a mount point, without accessing a Windlass mount. NULL on error, with
 * *ret_error (freed with g_free). */
char *mount_path (const char *mountinfo, const char *path, char **ret_error);

/* Returns the mount point of the Windlass mount that a path leads into, without accessing it, and
 * in *ret_rest the remainder of the path. Both are freed with g_free. NULL if there is none, with
 * *ret_error (freed with g_free). */
char *mount_around (const char *path, char **ret_rest, char **ret_error);

/* --- views.c: this user's mounts that this process does not see --- */

/* Returns the mounts (struct mount) of daemons of this user in other mount namespaces, as windlass
 * run makes them. mountinfo: the mounts that this process sees. Freed with g_ptr_array_unref. */
GPtrArray *views_all (const char *mountinfo);
/* Finds the view at a real path. Returns how many there are there; 1: *ret_mount. */
int view_find (const char *mountinfo, const char *path, struct mount *ret_mount);

/* --- path.c: locations of sockets --- */

/* The path of a mount's socket in one of run_dirs. Freed with g_free. */
char *control_path (const char *dir, const struct mount *mount);

/* The path of the symbolic link beside a socket that names the daemon's log: after the daemon has
 * crashed, its users are told of it. Freed with g_free. */
char *control_log_link (const char *socket);

/* Opens the folder of a socket with run_dir_open, and locks it (flock) until the descriptor is
 * closed. Returns a descriptor, or a negative errno and *ret_error (NULL before). */
int control_open_dir (const char *path, char **ret_error);

/* --- unmount.c --- */

#define UNMOUNT_LAZY 1  /* detach it now; it ends with its last user */
#define UNMOUNT_FORCE 2 /* abort the connection, for a daemon that was killed */

/* Unmounts a mount: umount2(2), and for an ordinary user fusermount3(1). Returns 0, or a negative
 * errno: -EBUSY; -ESTALE: its path leads to something else by now; -EPERM and, from fusermount3,
 * *ret_text, which says more (freed with g_free; NULL before). Waits for the kernel, which may wait
 * for the daemon. */
int unmount_path (const struct mount *mount, unsigned flags, char **ret_text);

/* Opens the file by which the owner of a mount aborts its connection; -1 if there is none. */
int unmount_abort_file (const struct mount *mount);

/* Returns why fusermount3 can unmount nothing for this user, and what to do; NULL: it can. */
const char *unmount_mtab_missing (void);

/* --- stale.c: mounts whose daemon is gone --- */

/* Unmounts the FUSE mounts at a mount point whose daemon is gone, or was killed and cannot end.
 * Returns 0; or a negative errno and *ret_error: a mount can't be unmounted, or its daemon, which
 * may live, does not answer within a few seconds. */
int stale_clear (const char *point, char **ret_error);

/* Opens the file by which this process ends its own mount's connection; -1 if there is none. */
int stale_abort_file (const char *mountpoint);

/* --- server.c: the daemon's side --- */

/* A command of the daemon itself. */
struct control_command {
    const char *name;
    const char *about; /* one sentence, without a full stop */
    /* As in struct xlator_command. input may be empty, never NULL. data: the argument of
     * control_serve. */
    int (*run) (void *data, GBytes *input, GString *answer);
};

struct control_server;

/* Serves the mount, from the default main context, until control_stop. commands ends with an entry
 * without a name. is_mounted tells whether the kernel can send requests. Returns NULL on error,
 * with *ret_error (freed with g_free). */
struct control_server *
control_serve (struct graph *graph, const char *mountpoint, const struct control_command *commands,
               bool (*is_mounted) (void *data), void *data, char **ret_error);
/* The daemon has another graph. */
void control_set_graph (struct control_server *server, struct graph *graph);

/* Removes the socket. Returns the callers of CONTROL_AWAIT_END, whom control_ended answers when the
 * daemon has nothing left to write. Both take NULL. */
struct control_ending *control_stop (struct control_server *server);
/* complete: nothing was left undone. The answer has the warnings and errors that were logged since
 * the caller asked. */
void control_ended (struct control_ending *ending, bool complete);

/* --- dispatch.c: targets and commands --- */

/* Runs a command of the daemon or of a translator. asker: the process that asks; its input is not
 * used. Returns 0 or a negative errno. answer: text for the user, in both cases. */
int control_dispatch (struct graph *graph, const struct control_command *commands, void *data,
                      const struct control_request *request,
                      const struct xlator_asked *asker, GString *answer);

/* --- client.c: requests --- */

/* A command of the daemon that is answered at its end. The caller sends it before it unmounts, and
 * closes its direction of the socket when it has unmounted: if the file system is then still
 * mounted elsewhere, the answer is -EBUSY. */
#define CONTROL_AWAIT_END "await-end"

/* Sends CONTROL_AWAIT_END to the daemon of a mount. Returns a descriptor, or a negative errno.
 * *ret_pid: as control_daemon_pid. */
int control_await_begin (const struct mount *mount, pid_t *ret_pid);
/* Tells the daemon that the mount was unmounted. */
void control_await_unmounted (int fd);
/* Waits so many milliseconds for the end of the daemon. Returns 0 and the text of its answer, or
 * the status of its answer: -EIO: requests are unanswered; -EBUSY: the file system is still mounted
 * elsewhere; -EAGAIN: too many callers wait. -ETIMEDOUT: it has not answered; -ECONNRESET: it
 * has ended without an answer. Does not close the descriptor. */
int control_await_end (int fd, int milliseconds, GString *ret_text);

/* Returns the process that listens at the socket of a Windlass mount, or 0 if that cannot be found
 * out. process_was_killed tells whether it can end. */
pid_t control_daemon_pid (const struct mount *mount);

/* Returns "; its log is '/var/log/...'" if the daemon of a mount, which may have crashed, named a
 * log beside its socket, or "". Freed with g_free. */
char *control_log_hint (const struct mount *mount);

/* Sends a request to the daemon of a mount point. target NULL: the daemon itself; input NULL: none.
 * Returns 0 with the answer in answer if the command succeeded; else a negative errno and
 * *ret_error, which is a complete message (freed with g_free). -ENXIO: no mount of Windlass is
 * there. Waits at most half a minute for each piece of the answer. */
int control_call (const char *mountpoint, const char *target, const char *command, GBytes *input,
                  GString *answer, char **ret_error);

/* The same for a command of a translator. open: an ordinary user may give the command (struct
 * xlator_command), also to root's daemon. */
int control_call_open (const char *mountpoint, const char *target, const char *command, bool open,
                       GBytes *input, GString *answer, char **ret_error);

/* As control_call, for a mount that was found, also if another one is on top of it. */
int control_call_mount (const struct mount *mount, const char *target, const char *command,
                        GBytes *input, GString *answer, char **ret_error);

/* --- pieces.c: answers longer than CONTROL_ANSWER_MAX, or slow for the main thread --- */

/* The size of a good piece, approximately: a millisecond's work. */
#define CONTROL_PIECE (1 << 20)

/* For a command that answers in pieces: returns where this piece begins, "" for the first, else the
 * text from control_piece_next, which is not trusted, like all input. Freed with g_free. ret_rest:
 * the rest of the input, the same for each piece (freed with g_bytes_unref); may be NULL. */
char *control_piece_where (GBytes *input, GBytes **ret_rest);

/* The command's last step, with the piece in answer. next: where the next piece begins (one line,
 * not empty), or NULL for the last piece. The server keeps no state in between; the command must
 * cope with changes. */
void control_piece_next (GString *answer, const char *next);

/* Takes a piece, without the line that tells where the next one begins. Returns 0, or a negative
 * errno and *ret_error (freed with g_free) to stop. */
typedef int control_piece_fn (const char *bytes, size_t size, void *data, char **ret_error);

/* Like control_call, for a command that answers in pieces: repeats the request until the last
 * piece. */
int control_call_pieces (const char *mountpoint, const char *target, const char *command,
                         GBytes *input, control_piece_fn *take, void *data, char **ret_error);

/* The daemon's command CONTROL_JOB_ANSWER, which answers in pieces. input: the number of a job,
 * after the line of the piece. uid: user who asks. Returns 0, the status of a job that has failed,
 * or -ESRCH if that user has no such job. */
int control_job_answer (GBytes *input, uid_t uid, GString *answer);

/* Gets the progress of a job, as in job_progress. unit: "" if there is none. */
typedef void control_progress_fn (uint64_t done, uint64_t total, const char *unit, void *data);

/* Takes the answer of a job (core/work/job.h) until the job has ended. number: text of the command
 * that has begun it. open: as for control_call_open. progress is called each time the job has not
 * ended. Returns the status of the job. */
int control_call_job (const char *mountpoint, const char *number, bool open,
                      control_piece_fn *take, control_progress_fn *progress, void *data,
                      char **ret_error);

#endif
