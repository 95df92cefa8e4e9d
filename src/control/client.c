/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The client's end of the socket. */
#include "control/control.h"

#include "core/base/path-question.h"
#include "core/base/printable.h"
#include "core/base/process.h"
#include "core/base/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SEND_SECONDS 5
#define LOOK_SECONDS (SEND_SECONDS + 1) /* to find the socket of another user's daemon */
#define ANSWER_SECONDS 30
#define BUSY_SECONDS 10  /* time for which a user's other command may be in the way */
#define BUSY_PAUSE 20000 /* microseconds until the next try then */
#define PIECE 65536

/* The daemon that is called, for messages. */
struct client_place {
    const char *mountpoint; /* as the user gave it */
    struct mount mount;
    bool open; /* the command is open to users, so the socket for users will do */
};

/* --- finding the daemon --- */

/* Returns whether the user has to take the socket for users. */
static bool
place_is_for_users (const struct client_place *place)
{
    return place->open && place->mount.user_id == 0 && geteuid () != 0;
}

static bool
mount_is_fuse (const struct mount *mount)
{
    return g_str_has_prefix (mount->type, "fuse") && mount->user_id >= 0;
}

static int
place_find (struct client_place *place, char **ret_error)
{
    g_autofree char *mountinfo = NULL, *path = NULL;
    g_autoptr (GError) error = NULL;
    struct mount view;
    int n;

    if (!g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, &error)) {
        *ret_error = g_strdup (error->message);
        return -EIO;
    }
    path = mount_path (mountinfo, place->mountpoint, ret_error);
    if (!path)
        return -EINVAL;
    if (mount_find (mountinfo, path, &place->mount) && mount_is_fuse (&place->mount))
        return 0;
    n = view_find (mountinfo, path, &view);
    if (n == 1) {
        mount_clear (&place->mount);
        place->mount = view;
        return 0;
    }
    if (n > 1) {
        *ret_error = g_strdup_printf ("'%s' has %d views; ask inside of one, or tell its daemon by "
                                      "signals: 'windlass list' has their numbers",
                                      place->mountpoint, n);
        return -EINVAL;
    }
    if (!place->mount.path) {
        *ret_error =
            g_strdup_printf ("'%s' is not a mount point%s; 'windlass list' shows them",
                             place->mountpoint,
                             access (path, F_OK) == 0 ? "" : ", and there is nothing of that name");
        return -ENXIO;
    }
    *ret_error = g_strdup_printf ("'%s' is not a Windlass mount, but one of type '%s'",
                                  place->mountpoint, place->mount.type);
    return -ENXIO;
}

static gint64
deadline_in (int seconds)
{
    return g_get_monotonic_time () + seconds * INT64_C (1000000);
}

/* file: the socket's, opened with O_PATH. The kernel waits for a place in the queue of the socket
 * until the deadline, and a millisecond at least: 0 means without an end. Returns a connected
 * socket, or a negative errno. */
static int
socket_connect (int file, gint64 until)
{
    const gint64 left = MAX (until - g_get_monotonic_time (), 1000);
    const struct timeval patience = { .tv_sec = left / 1000000, .tv_usec = left % 1000000 };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

    if (fd < 0)
        return -errno;
    g_snprintf (address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", file);
    setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect (fd, (struct sockaddr *) &address, sizeof address) == 0)
        return fd;
    r = -errno;
    close (fd);
    return r;
}

/* A name that is not a socket of the user is not there: a link would lead to another daemon. */
static int
socket_try (int folder, const char *name, uid_t user, gint64 until)
{
    const int file = openat (folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int r = file < 0 ? -errno : -ENOENT;

    if (file >= 0 && fstat (file, &st) == 0 && S_ISSOCK (st.st_mode) && st.st_uid == user)
        r = socket_connect (file, until);
    if (file >= 0)
        close (file);
    return r;
}

/* Returns whether the mount's user listens at the socket, and who it is. The kernel shows the user
 * that opened the device of the mount, whom fusermount3 acts for: the daemon's own. */
static bool
listener_of (int fd, const struct mount *mount, struct ucred *ret_who)
{
    socklen_t size = sizeof *ret_who;

    return getsockopt (fd, SOL_SOCKET, SO_PEERCRED, ret_who, &size) == 0
        && ret_who->uid == mount->user_id;
}

/* What there is at the sockets of a mount. */
struct found {
    int fd;           /* a connected socket, or a negative errno */
    struct ucred who; /* who listens there, if it is connected */
    char *log;        /* the daemon's log, as the daemon named it; or NULL */
};

static void
found_clear (struct found *found)
{
    if (found->fd >= 0)
        close (found->fd);
    g_free (found->log);
}

/* As control_log_hint. */
static char *
log_hint (const struct found *found)
{
    g_autoptr (GString) text = g_string_new ("");

    if (found->log) {
        g_string_append (text, "; its log is '");
        line_append (text, found->log, PATH_MAX);
        g_string_append_c (text, '\'');
    }
    return g_string_free (g_steal_pointer (&text), FALSE);
}

/* r: -ENOENT or another error without a message of its own. */
static char *
connect_error_missing (const struct client_place *place, int r)
{
    g_auto (GStrv) dirs = run_dirs (place->mount.user_id);
    g_autofree char *all = g_strjoinv (", ", dirs);
    const char *mountpoint = place->mountpoint;

    if (r == -ETIME)
        return g_strdup_printf ("the daemon of '%s' can't be reached: a look at the folders of "
                                "sockets of user %d (%s) was not answered; a file system that "
                                "hangs may be mounted there",
                                mountpoint, (int) place->mount.user_id, all);
    if (r != -ENOENT)
        return g_strdup_printf ("can't talk to the daemon of '%s': %s", mountpoint,
                                g_strerror (-r));
    if (!mount_is_windlass (&place->mount))
        return g_strdup_printf ("no Windlass daemon serves '%s', which is mounted with type '%s': "
                                "there is no socket '%u:%u.sock' in %s",
                                mountpoint, place->mount.type, place->mount.major,
                                place->mount.minor, all);
    return g_strdup_printf ("the daemon of '%s' can't be reached: it is gone, or could not make "
                            "its socket, which its log says; there is no '%u:%u.sock' in %s",
                            mountpoint, place->mount.major, place->mount.minor, all);
}

static char *
connect_error (const struct client_place *place, const struct found *found)
{
    const char *mountpoint = place->mountpoint;
    g_autofree char *log = log_hint (found);
    const int r = found->fd;

    if (r == -ENOENT && place_is_for_users (place))
        return g_strdup_printf ("the daemon of '%s' takes no commands of users: it is gone, its "
                                "mount lacks allow_other, or no volume has such a command",
                                mountpoint);
    if (r == -EPERM || r == -EACCES)
        return g_strdup_printf ("not permitted: the daemon of '%s' belongs to user %d, and only "
                                "that user and root may talk to it",
                                mountpoint, (int) place->mount.user_id);
    if (r == -EOWNERDEAD)
        return g_strdup_printf ("the daemon of '%s' was killed, and waits for a caller that waits "
                                "for the daemon; mount it again, or end the mount with 'umount "
                                "-f'%s",
                                mountpoint, log);
    if (r == -EBUSY)
        return g_strdup_printf ("the daemon of '%s', process %d, is stopped; 'kill -CONT %d' lets "
                                "it go on",
                                mountpoint, (int) found->who.pid, (int) found->who.pid);
    if (r == -ECONNREFUSED)
        return g_strdup_printf ("the daemon of '%s' is gone; mount it again%s", mountpoint, log);
    if (r == -EAGAIN || r == -ETIMEDOUT)
        return g_strdup_printf (
            "the daemon of '%s' doesn't answer: others talk to it, or it is stopped", mountpoint);
    return connect_error_missing (place, r);
}

/* A folder of another user is not looked into: who may read it is decided there. Returns a
 * connected socket, or a negative errno; *log is replaced if the folder names one. */
static int
folder_try (const char *dir, const struct mount *mount, gint64 until, char **log)
{
    const int folder = run_dir_look (dir, mount->user_id);
    g_autofree char *path = control_path (dir, mount), *link = control_log_link (path);
    char text[PATH_MAX];
    ssize_t size;
    int r;

    if (folder < 0)
        return folder;
    r = socket_try (folder, strrchr (path, '/') + 1, mount->user_id, until);
    size = readlinkat (folder, strrchr (link, '/') + 1, text, sizeof text);
    if (size > 0) {
        g_free (*log);
        *log = g_strndup (text, size);
    }
    close (folder);
    return r;
}

/* An error of an existing socket is preferred to the error of a missing one. */
static struct found
sockets_try (const struct mount *mount)
{
    g_auto (GStrv) dirs = run_dirs (mount->user_id);
    const gint64 until = deadline_in (SEND_SECONDS);
    struct found found = { .fd = -ENOENT };

    for (char **dir = dirs; *dir && found.fd < 0; dir++) {
        int r = folder_try (*dir, mount, until, &found.log);

        if (r >= 0 && !listener_of (r, mount, &found.who)) {
            close (r);
            r = -EPERM;
        }
        if (r != -ENOENT && r != -ENOTDIR)
            found.fd = r;
    }
    return found;
}

/* In a process of its own. data: struct mount. */
static void
sockets_ask (const char *path, const void *data, struct path_answer *answer)
{
    const struct found found = sockets_try (data);

    answer->error = found.fd < 0 ? -found.fd : 0;
    answer->fd = found.fd;
    g_strlcpy (answer->text, found.log ? found.log : "", sizeof answer->text);
}

/* Over the folders of another user, that user may have mounted a file system that never answers: a
 * process of its own looks there. */
static struct found
sockets_look (const struct mount *mount)
{
    struct found found = { .fd = -ETIME };
    struct path_answer answer;

    if (mount->user_id == geteuid ())
        return sockets_try (mount);
    if (path_ask (sockets_ask, "", mount, LOOK_SECONDS * 1000, &answer)) {
        found.fd = answer.error ? -answer.error : answer.fd >= 0 ? answer.fd : -EIO;
        found.log = *answer.text ? g_strdup (answer.text) : NULL;
    }
    if (found.fd >= 0 && !listener_of (found.fd, mount, &found.who)) {
        close (found.fd);
        found.fd = -EPERM;
    }
    return found;
}

/* Looks at the socket for users of root's daemon. Only root can make names in the folder, or
 * change it. */
static struct found
users_look (const struct mount *mount)
{
    g_autofree char *path = control_path (CONTROL_USERS_DIR, mount);
    const int folder = open (CONTROL_USERS_DIR, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct found found = { .fd = folder < 0 ? -errno : -ENOENT };
    struct stat st;

    if (folder < 0)
        return found;
    if (fstat (folder, &st) == 0 && st.st_uid == 0 && (st.st_mode & 022) == 0)
        found.fd = socket_try (folder, strrchr (path, '/') + 1, 0, deadline_in (SEND_SECONDS));
    close (folder);
    if (found.fd >= 0 && !listener_of (found.fd, mount, &found.who)) {
        close (found.fd);
        found.fd = -EPERM;
    }
    return found;
}

/* Returns a socket, or a negative errno and *ret_error. */
static int
daemon_connect (const struct client_place *place, char **ret_error)
{
    struct found found = place_is_for_users (place) ? users_look (&place->mount)
                                                    : sockets_look (&place->mount);
    int r;

    if (found.fd >= 0) {
        r = process_was_killed (found.who.pid)   ? -EOWNERDEAD
            : process_is_stopped (found.who.pid) ? -EBUSY
                                                 : 0;
        if (r < 0) {
            close (found.fd);
            found.fd = r;
        }
    }
    r = found.fd;
    if (r < 0)
        *ret_error = connect_error (place, &found);
    g_free (found.log);
    return r;
}

pid_t
control_daemon_pid (const struct mount *mount)
{
    struct found found = sockets_look (mount);
    const pid_t pid = found.fd >= 0 ? found.who.pid : 0;

    found_clear (&found);
    return pid;
}

char *
control_log_hint (const struct mount *mount)
{
    struct found found = sockets_look (mount);
    char *hint = log_hint (&found);

    found_clear (&found);
    return hint;
}

/* --- requests --- */

/* Returns 0 as soon as the socket is ready, or -ETIMEDOUT at the deadline. */
static int
control_await (int fd, short events, gint64 until)
{
    struct pollfd poll_fd = { .fd = fd, .events = events };
    int n;

    do
        n = poll (&poll_fd, 1, (int) (MAX (until - g_get_monotonic_time (), 0) / 1000));
    while (n < 0 && errno == EINTR);
    return n > 0 ? 0 : n == 0 ? -ETIMEDOUT : -errno;
}

/* A daemon that refuses a request may close before it has read all of it; its answer then gives the
 * reason. */
static int
send_all (int fd, GBytes *bytes)
{
    gsize size;
    const char *at = g_bytes_get_data (bytes, &size);
    const gint64 until = deadline_in (SEND_SECONDS);

    while (size > 0) {
        const int r = control_await (fd, POLLOUT, until);
        const ssize_t n = r < 0 ? 0 : send (fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (r < 0)
            return r;
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0)
            return errno == EPIPE || errno == ECONNRESET ? 0 : -errno;
        at += n;
        size -= n;
    }
    return 0;
}

/* The deadline is that of the whole answer, however it drips; what has come by then is still taken.
 * -ECONNRESET: the connection ended before the answer began; -ECONNABORTED: in the middle of it. */
static int
receive_answer (int fd, gint64 until, int *ret_status, GString *ret_text,
                char **ret_error)
{
    g_autoptr (GByteArray) in = g_byte_array_new ();
    guint8 piece[PIECE];
    int r = -EAGAIN;

    while (r == -EAGAIN) {
        const int ready = control_await (fd, POLLIN, until);
        const ssize_t n = ready < 0 ? 0 : recv (fd, piece, sizeof piece, MSG_DONTWAIT);

        if (ready < 0)
            return ready;
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0 && errno != ECONNRESET)
            return -errno;
        if (n <= 0)
            return in->len == 0 ? -ECONNRESET : -ECONNABORTED;
        g_byte_array_append (in, piece, n);
        r = control_parse_answer (in->data, in->len, ret_status, ret_text, ret_error);
    }
    return r;
}

/* r: of receive_answer or send_all. A daemon that has begun to answer and is still there has waited
 * long enough for this process, which was stopped or did not run. */
static char *
ask_error (const struct client_place *place, int r)
{
    struct found found = sockets_look (&place->mount);
    g_autofree char *log = log_hint (&found);
    const bool again = r == -ECONNABORTED && found.fd >= 0 && !process_was_killed (found.who.pid);

    found_clear (&found);
    if (again)
        return g_strdup_printf ("the daemon of '%s' is there, but nothing of its answer was taken "
                                "for %d seconds, and it waits no longer; try again",
                                place->mountpoint, CONTROL_TAKE_SECONDS);
    if (r == -ECONNRESET || r == -ECONNABORTED)
        return g_strdup_printf ("the daemon of '%s' ended before it %s%s", place->mountpoint,
                                r == -ECONNRESET ? "answered" : "had sent all of its answer", log);
    return g_strdup_printf ("the daemon of '%s' didn't answer: %s%s", place->mountpoint,
                            g_strerror (-r), log);
}

static int
control_ask (int fd, const struct client_place *place, GBytes *request, GString *answer,
             char **ret_error)
{
    g_autoptr (GString) text = g_string_new (NULL);
    int status = 0, r = send_all (fd, request);

    if (r == 0)
        r = receive_answer (fd, deadline_in (ANSWER_SECONDS), &status, text, ret_error);
    if (r < 0 && !*ret_error)
        *ret_error = ask_error (place, r);
    if (r == 0 && status < 0)
        *ret_error = g_strdup (text->len ? text->str : g_strerror (-status));
    if (r < 0 || status < 0)
        return r < 0 ? r : status;
    g_string_append_len (answer, text->str, text->len);
    return 0;
}

/* find: the mount of the place is not known yet. */
static int
place_call (struct client_place *place, bool find, const struct control_request *request,
            GString *answer, char **ret_error)
{
    g_autoptr (GBytes) bytes = NULL;
    int fd, r;

    *ret_error = NULL;
    bytes = control_pack (request, ret_error);
    if (!bytes)
        return -EINVAL;
    r = find ? place_find (place, ret_error) : 0;
    fd = r < 0 ? r : daemon_connect (place, ret_error);
    r = fd < 0 ? fd : control_ask (fd, place, bytes, answer, ret_error);
    if (fd >= 0)
        close (fd);
    return r;
}

int
control_call_open (const char *mountpoint, const char *target, const char *command, bool open,
                   GBytes *input, GString *answer, char **ret_error)
{
    g_autoptr (GBytes) nothing = g_bytes_new_static ("", 0);
    const struct control_request request = { (char *) command, target ? (char *) target : "",
                                             input ? input : nothing };
    struct client_place place = { .mountpoint = mountpoint, .open = open };
    const gint64 until = deadline_in (BUSY_SECONDS);
    int r = place_call (&place, true, &request, answer, ret_error);

    while (r == CONTROL_USER_IS_BUSY && g_get_monotonic_time () < until) {
        g_clear_pointer (ret_error, g_free);
        usleep (BUSY_PAUSE);
        r = place_call (&place, false, &request, answer, ret_error);
    }
    mount_clear (&place.mount);
    return r;
}

int
control_call (const char *mountpoint, const char *target, const char *command, GBytes *input,
              GString *answer, char **ret_error)
{
    return control_call_open (mountpoint, target, command, false, input, answer, ret_error);
}

int
control_call_mount (const struct mount *mount, const char *target, const char *command,
                    GBytes *input, GString *answer, char **ret_error)
{
    g_autoptr (GBytes) nothing = g_bytes_new_static ("", 0);
    const struct control_request request = { (char *) command, target ? (char *) target : "",
                                             input ? input : nothing };
    struct client_place place = { .mountpoint = mount->path, .mount = *mount };

    return place_call (&place, false, &request, answer, ret_error);
}

/* --- the end of a daemon --- */

int
control_await_begin (const struct mount *mount, pid_t *ret_pid)
{
    g_autoptr (GBytes) nothing = g_bytes_new_static ("", 0), bytes = NULL;
    const struct control_request request = { (char *) CONTROL_AWAIT_END, (char *) "", nothing };
    g_autofree char *error = NULL;
    struct found found = sockets_look (mount);
    int fd = found.fd, r;

    g_free (found.log);
    *ret_pid = fd < 0 ? 0 : found.who.pid;
    if (fd < 0)
        return fd;
    bytes = control_pack (&request, &error);
    r = bytes ? send_all (fd, bytes) : -EINVAL;
    if (r == 0)
        return fd;
    close (fd);
    return r;
}

void
control_await_unmounted (int fd)
{
    shutdown (fd, SHUT_WR);
}

int
control_await_end (int fd, int milliseconds, GString *ret_text)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
    g_autofree char *error = NULL;
    int status = 0, n, r;

    while ((n = poll (&poll_fd, 1, milliseconds)) < 0 && errno == EINTR)
        continue;
    if (n <= 0)
        return n < 0 ? -errno : -ETIMEDOUT;
    r = receive_answer (fd, deadline_in (SEND_SECONDS), &status, ret_text, &error);
    return r < 0 ? r : status;
}
