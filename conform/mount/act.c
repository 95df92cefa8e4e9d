/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions for writing cases. A child runs one case at a time, so its state is global to the
 * process. */
#include "conform/mount/mount.h"
#include "core/base/name.h"

#include <dirent.h>
#include <grp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

static const struct act_identity *actor;
static const struct run_place *place;
static pid_t runs_cases; /* not a child of a case */
static int observations, twin = -1;
static unsigned act_running; /* the number of the case */

void
act_begin (const struct act_identity *who, const struct run_place *where, int fd)
{
    actor = who;
    place = where;
    observations = fd;
    runs_cases = getpid ();
}

const struct act_identity *
act_actor (void)
{
    return actor;
}

void
act_case (unsigned number, int directory)
{
    act_running = number;
    twin = directory;
}

void
act_case_end (void)
{
    g_autofree char *text = g_strdup_printf ("%u", act_running);

    act_put ('<', text);
}

/* A call failed. If it was refused by design, the case ends, since what follows could not be
 * compared: another process goes on with the next case. */
static void
act_refused (int error)
{
    if (!place->refused || !place->refused (place->data, error))
        return;
    if (getpid () == runs_cases)
        act_case_end ();
    _exit (0);
}

/* --- output --------------------------------------------------------------------------------- */

/* In a single write, so that lines of several processes do not mix. */
void
act_put (char kind, const char *text)
{
    g_autoptr (GString) line = g_string_new (NULL);

    g_string_append_c (line, kind);
    for (; *text && line->len < 3000; text++) {
        if (g_ascii_isprint (*text))
            g_string_append_c (line, *text);
        else
            g_string_append_printf (line, "\\x%02x", (unsigned char) *text);
    }
    g_string_append_c (line, '\n');
    if (write (observations, line->str, line->len) < 0)
        _exit (1);
}

void
observe (const char *format, ...)
{
    g_autofree char *text = NULL;
    const int error = errno;
    va_list args;

    va_start (args, format);
    text = g_strdup_vprintf (format, args);
    va_end (args);
    act_put (' ', text);
    errno = error;
}

const char *
errno_name (int error)
{
    const char *name = strerrorname_np (error);

    return name ? name : "an unknown error";
}

long
observe_result (const char *what, long result)
{
    if (result < 0) {
        observe ("%s: %s", what, errno_name (errno));
        act_refused (errno);
    } else {
        observe ("%s: %ld", what, result);
    }
    return result;
}

int
tell_fd (const char *what, int fd)
{
    observe ("%s: %s", what, fd < 0 ? errno_name (errno) : "ok");
    if (fd < 0)
        act_refused (errno);
    return fd;
}

void
must (bool condition, const char *rule)
{
    if (!condition)
        act_put ('!', rule);
}

void
cannot (const char *reason)
{
    act_put ('?', reason);
}

void
need (const char *what, long result)
{
    g_autofree char *text = NULL;

    if (result >= 0)
        return;
    const int error = errno;
    text = g_strdup_printf ("preparation failed: %s: %s", what, errno_name (error));
    act_put ('!', text);
    act_refused (error);
}

/* --- showing -------------------------------------------------------------------------------- */

static char
type_letter_of_mode (mode_t mode)
{
    static const struct {
        mode_t type;
        char letter;
    } rows[] = { { S_IFREG, 'f' }, { S_IFDIR, 'd' }, { S_IFLNK, 'l' }, { S_IFIFO, 'p' },
                 { S_IFSOCK, 's' }, { S_IFCHR, 'c' }, { S_IFBLK, 'b' } };

    for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
        if ((mode & S_IFMT) == rows[i].type)
            return rows[i].letter;
    return '?';
}

/* Sizes of directories depend on the file system and on former entries, so they are not shown. */
void
show_stat (const char *what, const struct stat *st)
{
    g_autofree char *device = S_ISCHR (st->st_mode) || S_ISBLK (st->st_mode)
                                ? g_strdup_printf (", device %u:%u", major (st->st_rdev),
                                                   minor (st->st_rdev))
                                : g_strdup ("");

    if (S_ISDIR (st->st_mode))
        observe ("%s: d %04o, links %lu, owner %u:%u", what, st->st_mode & 07777,
                 (unsigned long) st->st_nlink, st->st_uid, st->st_gid);
    else
        observe ("%s: %c %04o, links %lu, owner %u:%u, size %jd%s", what,
                 type_letter_of_mode (st->st_mode), st->st_mode & 07777,
                 (unsigned long) st->st_nlink, st->st_uid, st->st_gid, (intmax_t) st->st_size,
                 device);
}

void
show (const char *what, const char *path)
{
    struct stat st;

    if (lstat (path, &st) < 0)
        observe ("%s: %s", what, errno_name (errno));
    else
        show_stat (what, &st);
}

static GPtrArray *
names_in (const char *path)
{
    GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
    DIR *dir = opendir (path);
    struct dirent *entry;

    while (dir && (entry = readdir (dir)))
        if (!name_is_dots (entry->d_name))
            g_ptr_array_add (names, g_strdup (entry->d_name));
    if (dir)
        closedir (dir);
    g_ptr_array_sort (names, conform_by_text);
    return names;
}

void
show_tree (const char *path)
{
    g_autoptr (GPtrArray) names = names_in (path);

    for (guint i = 0; i < names->len; i++) {
        g_autofree char *below = strcmp (path, ".") == 0
                                   ? g_strdup (names->pdata[i])
                                   : g_build_filename (path, names->pdata[i], NULL);
        struct stat st;

        show (below, below);
        if (lstat (below, &st) == 0 && S_ISDIR (st.st_mode))
            show_tree (below);
    }
}

void
show_content (const char *path)
{
    char text[256] = "";
    const int fd = open (path, O_RDONLY | O_NONBLOCK);
    const ssize_t n = fd < 0 ? -1 : read (fd, text, sizeof text - 1);

    if (n < 0)
        observe ("%s holds: %s", path, errno_name (errno));
    else
        observe ("%s holds %zd: %s", path, n, text);
    if (fd >= 0)
        close (fd);
}

/* --- making --------------------------------------------------------------------------------- */

/* Goes to the directory below the mount, if there is one. Returns a descriptor for make_end. */
static int
make_enter (void)
{
    const int here = twin < 0 ? -1 : open (".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (here >= 0)
        NEED (fchdir (twin));
    return here;
}

static void
make_end (int here)
{
    if (here < 0)
        return;
    NEED (fchdir (here));
    close (here);
}

static int
make_file_here (const char *path, const char *text)
{
    const int fd = open (path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    const size_t size = strlen (text);

    if (fd < 0 || write (fd, text, size) != (ssize_t) size)
        need (path, -1);
    return fd;
}

int
make_file (const char *path, const char *text)
{
    const int here = make_enter (), made = make_file_here (path, text);
    int fd = made;

    make_end (here);
    if (here >= 0) {
        close (made);
        fd = open (path, O_RDWR);
        need (path, fd);
    }
    return fd;
}

static int
make_thing (char kind, const char *name, const char *target)
{
    int fd;

    switch (kind) {
    case 'f': fd = make_file_here (name, ""); return close (fd);
    case 'F': fd = make_file_here (name, "0123456789"); return close (fd);
    case 'd': return mkdir (name, 0755);
    case 'l': return symlink (target, name);
    case 'h': return link (target, name);
    case 'p': return mkfifo (name, 0644);
    case 's': return mknod (name, S_IFSOCK | 0644, 0);
    case 'c': return mknod (name, S_IFCHR | 0644, makedev (1, 3));
    default: errno = EINVAL; return -1;
    }
}

/* The mode is set last: it may not permit making entries. */
void
make_tree (const char *spec)
{
    g_auto (GStrv) words = g_strsplit (spec, " ", -1);
    const int here = make_enter ();

    for (char **word = words; *word; word++) {
        g_auto (GStrv) parts = g_strsplit (*word, ":", 3);
        char *mode = **word ? strchr (*word, '=') : NULL;
        char *plain = **word && mode ? strrchr (parts[g_strv_length (parts) - 1], '=') : NULL;

        if (!**word)
            continue;
        if (plain)
            *plain = '\0';
        if (make_thing (**word, parts[1], parts[2]) < 0)
            need (*word, -1);
    }
    for (char **word = words; *word; word++) {
        char *mode = strchr (*word, '=');
        g_autofree char *name = mode ? g_strndup (*word + 2, mode - *word - 2) : NULL;

        if (mode && chmod (name, strtoul (mode + 1, NULL, 8)) < 0)
            need (*word, -1);
    }
    make_end (here);
}

/* --- times ---------------------------------------------------------------------------------- */

void
age (const char *path)
{
    const struct timespec times[2] = { { LONG_AGO, 1 }, { LONG_AGO, 1 } };
    const int here = make_enter ();

    NEED (utimensat (AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW));
    make_end (here);
}

void
show_age (const char *what, const char *path)
{
    struct stat st;

    if (lstat (path, &st) < 0)
        observe ("times of %s: %s", what, errno_name (errno));
    else
        observe ("times of %s: atime %s, mtime %s", what,
                 st.st_atim.tv_sec == LONG_AGO ? "stays" : "moves",
                 st.st_mtim.tv_sec == LONG_AGO ? "stays" : "moves");
}

void
wait_tick (const struct timespec *after)
{
    const struct timespec nap = { 0, 500000 };
    struct timespec now;

    do {
        nanosleep (&nap, NULL);
        clock_gettime (CLOCK_REALTIME_COARSE, &now);
    } while (now.tv_sec < after->tv_sec
             || (now.tv_sec == after->tv_sec && now.tv_nsec <= after->tv_nsec));
}

/* --- identity ------------------------------------------------------------------------------- */

/* The saved ids stay root's, so that the process can switch back; root's capabilities are dropped
 * while it has other ids. After a change of ids, a process must make itself dumpable again to own
 * its /proc files. */
void
act_become (uid_t uid, gid_t gid)
{
    if (!actor->privileged)
        return;
    NEED (setresuid (0, 0, 0));
    NEED (setresgid (gid, gid, 0));
    NEED (setresuid (uid, uid, 0));
    prctl (PR_SET_DUMPABLE, 1);
}

void
become_actor (void)
{
    act_become (actor->uid, actor->gid);
}

void
act_become_root (void)
{
    act_become (0, 0);
}

void
as_other (uid_t uid, gid_t gid, const gid_t *groups, size_t n, void (*fn) (void *), void *data)
{
    const pid_t pid = fork ();

    if (pid == 0) {
        if (actor->privileged) {
            NEED (setresuid (0, 0, 0));
            NEED (setgroups (n, groups));
            NEED (setresgid (gid, gid, gid));
            NEED (setresuid (uid, uid, uid));
        }
        fn (data);
        _exit (0);
    }
    child_end (pid);
}

pid_t
child_start (void (*fn) (void *), void *data)
{
    const pid_t pid = fork ();

    if (pid == 0) {
        fn (data);
        _exit (0);
    }
    NEED (pid);
    return pid;
}

void
child_end (pid_t pid)
{
    int status = 0;

    if (pid < 0 || waitpid (pid, &status, 0) != pid)
        need ("a child", -1);
    else if (status != 0)
        observe ("a child ended with status %#x", status);
}
